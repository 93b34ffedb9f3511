//! The official Rust SDK as a client: both transports, both eras, every tool.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use rmcp::{
    RoleClient, ServiceExt,
    model::{CallToolRequestParams, ProtocolVersion},
    service::{ClientLifecycleMode, ClientServiceExt, RunningService},
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde_json::json;

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
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
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
