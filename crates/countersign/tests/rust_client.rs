//! The official Rust SDK as a client: both transports, both eras, every tool of the fixture and of iSphere.

mod support;

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use rmcp::{
    RoleClient, ServiceExt,
    model::{CallToolRequestParams, ProtocolVersion},
    service::{ClientLifecycleMode, ClientServiceExt, RunningService},
    transport::{
        StreamableHttpClientTransport, TokioChildProcess,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::{Value, json};
use support::{BINARY, Place};

type Client = RunningService<RoleClient, ()>;

/// A fixture over HTTP that ends with the test.
struct HttpFixture {
    process: Child,
    url: String,
}

impl HttpFixture {
    fn start() -> Self {
        let mut process =
            fixture(&["--listen", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut log = BufReader::new(process.stderr.take().expect("stderr is piped")).lines();
        let url = log
            .find_map(|line| Some(line.ok()?.split_once("listening on ")?.1.trim().to_owned()))
            .expect("the log names the address");
        // Its log is read on, so that it never waits for a reader.
        std::thread::spawn(move || log.for_each(drop));
        Self { process, url }
    }
}

impl Drop for HttpFixture {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn fixture(arguments: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.arg("fixture").args(arguments).env("RUST_LOG", "info").env("NO_COLOR", "1");
    command
}

fn stateless() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

/// Lists the tools and calls each, as a program that uses the server would.
async fn use_every_tool(client: Client) {
    let tools = client.list_all_tools().await.expect("tools are listed");
    assert_eq!(tools.first().map(|tool| tool.name.as_ref()), Some("search_items"));
    for tool in tools {
        let arguments = json!({"query": "bolt", "limit": 2}).as_object().cloned().expect("an object");
        let request = CallToolRequestParams::new(tool.name.clone()).with_arguments(arguments);
        let result = client.call_tool(request).await.unwrap_or_else(|error| panic!("{}: {error}", tool.name));
        assert_eq!(result.is_error, Some(tool.name == "test_error_handling"), "{}", tool.name);
        assert!(result.structured_content.is_some(), "{}", tool.name);
        if tool.name == "search_items" {
            assert_eq!(
                result.structured_content.expect("checked")["items"].as_array().map(Vec::len),
                Some(2)
            );
        }
    }
    client.cancel().await.expect("the client ends");
}

#[tokio::test]
async fn http_with_a_handshake() {
    let server = HttpFixture::start();
    let transport = StreamableHttpClientTransport::from_uri(server.url.clone());
    use_every_tool(
        ().serve_with_lifecycle(transport, ClientLifecycleMode::Initialize).await.expect("it connects"),
    )
    .await;
}

#[tokio::test]
async fn http_without_a_handshake() {
    let server = HttpFixture::start();
    let transport = StreamableHttpClientTransport::from_uri(server.url.clone());
    use_every_tool(().serve_with_lifecycle(transport, stateless()).await.expect("it connects")).await;
}

#[tokio::test]
async fn stdio_with_a_handshake() {
    let transport =
        TokioChildProcess::new(tokio::process::Command::from(fixture(&["--stdio"]))).expect("it starts");
    use_every_tool(
        ().serve_with_lifecycle(transport, ClientLifecycleMode::Initialize).await.expect("it connects"),
    )
    .await;
}

#[tokio::test]
async fn stdio_without_a_handshake() {
    let transport =
        TokioChildProcess::new(tokio::process::Command::from(fixture(&["--stdio"]))).expect("it starts");
    use_every_tool(().serve_with_lifecycle(transport, stateless()).await.expect("it connects")).await;
}

#[tokio::test]
async fn a_client_that_does_not_know_the_era_finds_it() {
    let server = HttpFixture::start();
    let transport = StreamableHttpClientTransport::from_uri(server.url.clone());
    use_every_tool(().serve(transport).await.expect("it connects")).await;
}

/// Calls a tool that must succeed; returns its structured content.
async fn call(client: &Client, tool: &str, arguments: &Value) -> Value {
    let arguments = arguments.as_object().cloned().expect("an object");
    let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let result = client.call_tool(request).await.unwrap_or_else(|error| panic!("{tool}: {error}"));
    let content = result.structured_content.expect("there is structured content");
    assert_eq!(result.is_error, Some(false), "{tool}: {content}");
    content
}

/// An agent's whole work: find a person and a group, read, look at files, and preview what it would send.
async fn use_every_isphere_tool(client: Client) {
    let tools = client.list_all_tools().await.expect("tools are listed");
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(
        names,
        [
            "isphere_search_contacts",
            "isphere_search_groups",
            "isphere_receive_messages",
            "isphere_receive_files",
            "isphere_send_message",
            "isphere_send_file",
        ]
    );
    let found = call(&client, "isphere_search_contacts", &json!({"query": "li"})).await;
    let contact = &found["contacts"][0]["contact_id"];
    assert!(contact.is_string(), "{found}");
    let found = call(&client, "isphere_search_groups", &json!({"query": "群"})).await;
    assert!(found["groups"].is_array(), "{found}");
    let files = call(&client, "isphere_receive_files", &json!({"limit": 1})).await;
    let conversation = &files["files"][0]["conversation_id"];
    let read = json!({"conversation_id": conversation, "limit": 2});
    let messages = call(&client, "isphere_receive_messages", &read).await;
    assert_eq!(&messages["conversation"]["conversation_id"], conversation);
    assert_eq!(messages["messages"].as_array().map(Vec::len), Some(2));
    let message = json!({
        "target_type": "direct", "target_id": contact, "content_text": "明天见 👋", "idempotency_key": "k-1",
        "content_sha256": "cc359778e78ea109499336869f4c8922e02d52469d7b0f51345d11545e38d47c",
    });
    let planned = call(&client, "isphere_send_message", &message).await;
    assert_eq!(
        (&planned["send_status"], &planned["content"]["content_length"]),
        (&json!("planned"), &json!(5))
    );
    let file = json!({"target_type": "contact", "target_id": contact, "file_path": "offer.txt"});
    let planned = call(&client, "isphere_send_file", &file).await;
    assert_eq!((&planned["send_status"], &planned["file_size_bytes"]), (&json!("planned"), &json!(8)));
    client.cancel().await.expect("the client ends");
}

/// iSphere with a file that could be sent.
fn isphere() -> Place {
    let place = Place::with_isphere();
    std::fs::write(place.path().join("out/offer.txt"), "an offer").expect("it is written");
    place
}

#[tokio::test]
async fn isphere_over_http_in_both_eras() {
    let place = isphere();
    let server = place.serve_isphere();
    for lifecycle in [ClientLifecycleMode::Initialize, stateless()] {
        let config = StreamableHttpClientTransportConfig::with_uri(format!("http://{}/mcp", server.address))
            .auth_header(server.token.clone());
        let transport = StreamableHttpClientTransport::from_config(config);
        let client = ().serve_with_lifecycle(transport, lifecycle).await.expect("it connects");
        use_every_isphere_tool(client).await;
    }
}

#[tokio::test]
async fn isphere_over_stdio_in_both_eras() {
    let place = isphere();
    for lifecycle in [ClientLifecycleMode::Initialize, stateless()] {
        let mut command = place.command(BINARY);
        command.args(["isphere", "serve"]);
        let transport = TokioChildProcess::new(tokio::process::Command::from(command)).expect("it starts");
        let client = ().serve_with_lifecycle(transport, lifecycle).await.expect("it connects");
        use_every_isphere_tool(client).await;
    }
}
