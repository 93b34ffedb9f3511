//! What both eras promise a client.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by a panic")]

mod common;

use common::{Rig, Setup, call, request, stateless, stateless_headers};
use govern::{
    mcp::{McpOptions, TextBlock},
    tool::SchemaProfile,
};
use serde_json::{Value, json};

async fn over_both(setup: Setup, message: Value) -> [Value; 2] {
    let (status, answers) = Rig::new(setup).over_both(message.to_string().as_bytes()).await;
    assert_eq!(status, 200, "{answers:?}");
    answers
}

async fn stateless_result(setup: Setup, method: &str, name: &str, message: Value) -> Value {
    let rig = Rig::new(setup);
    let message = stateless(message).to_string();
    let http = rig.post(&stateless_headers(method, name), &message).await;
    let stdio = rig.pipe(format!("{message}\n")).await.remove(0);
    assert_eq!(http.json(), stdio, "both transports answer alike");
    stdio["result"].clone()
}

#[tokio::test]
async fn initialize_agrees_on_a_known_revision_and_offers_the_newest_for_others() {
    for (wanted, given) in
        [("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), ("2099-01-01", "2025-11-25")]
    {
        for answer in
            over_both(Setup::default(), request("initialize", json!({"protocolVersion": wanted}))).await
        {
            assert_eq!(answer["result"]["protocolVersion"], given);
            assert_eq!(
                answer["result"]["serverInfo"],
                json!({"name": "desk", "title": "Desk", "version": "1.2.3"})
            );
            assert_eq!(answer["result"]["capabilities"], json!({"tools": {}}));
            assert_eq!(answer["result"]["instructions"], "Be brief.");
        }
    }
}

#[tokio::test]
async fn the_id_comes_back_as_it_was_sent() {
    for id in [json!("a\"b"), json!(0), json!(-5), json!(u64::MAX)] {
        let mut ping = request("ping", json!({}));
        ping["id"] = id.clone();
        for answer in over_both(Setup::default(), ping).await {
            assert_eq!(answer, json!({"jsonrpc": "2.0", "id": id, "result": {}}));
        }
    }
}

#[tokio::test]
async fn discover_names_revisions_capabilities_and_server() {
    let result =
        stateless_result(Setup::default(), "server/discover", "", request("server/discover", json!({})))
            .await;
    assert_eq!(result["resultType"], "complete");
    assert!(result["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "desk");
    assert!(result["ttlMs"].is_u64() && result["cacheScope"] == "private");
}

#[tokio::test]
async fn tools_are_listed_in_order_with_schemas_and_true_annotations() {
    let [listed, _] = over_both(Setup::default(), request("tools/list", json!({}))).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["echo", "wait", "write", "steps", "flood", "panic", "own_record"]);
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert_eq!(tool["outputSchema"]["type"], "object");
        assert_eq!(tool["annotations"]["readOnlyHint"], tool["name"] != "write");
        for hint in ["destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{hint}");
        }
    }
    assert!(listed["result"].get("nextCursor").is_none());
    let result = stateless_result(Setup::default(), "tools/list", "", request("tools/list", json!({}))).await;
    assert_eq!(&result["tools"], &listed["result"]["tools"]);
    assert_eq!((&result["resultType"], &result["cacheScope"]), (&json!("complete"), &json!("private")));
}

#[tokio::test]
async fn the_schema_profile_decides_about_null_types() {
    let listed = |schema_profile| async move {
        let options = McpOptions { schema_profile, ..McpOptions::default() };
        let [answer, _] =
            over_both(Setup { options, ..Setup::default() }, request("tools/list", json!({}))).await;
        answer["result"]["tools"][0].clone()
    };
    let contract = listed(SchemaProfile::Contract).await;
    assert_eq!(contract["inputSchema"]["properties"]["text"]["type"], json!(["string", "null"]));
    let portable = listed(SchemaProfile::Portable).await;
    assert_eq!(portable["inputSchema"]["properties"]["text"]["type"], "string");
    assert!(portable["outputSchema"]["properties"]["error"].get("type").is_none());
}

#[tokio::test]
async fn a_result_has_structure_a_summary_and_its_trust() {
    for answer in over_both(Setup::default(), call("echo", json!({"text": "hi"}))).await {
        let result = &answer["result"];
        assert_eq!(result["structuredContent"]["text"], "hi");
        assert_eq!(result["content"], json!([{"type": "text", "text": "said hi"}]));
        assert_eq!(
            (&result["isError"], &result["_meta"]["content_trust"]),
            (&json!(false), &json!("untrusted"))
        );
    }
    let result =
        stateless_result(Setup::default(), "tools/call", "echo", call("echo", json!({"text": "hi"}))).await;
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["_meta"]["content_trust"], "untrusted");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["version"], "1.2.3");
}

#[tokio::test]
async fn the_text_block_holds_the_json_when_configured() {
    let options = McpOptions { text: TextBlock::Json, ..McpOptions::default() };
    for answer in over_both(Setup { options, ..Setup::default() }, call("echo", json!({"text": "hi"}))).await
    {
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), answer["result"]["structuredContent"]);
    }
}

#[tokio::test]
async fn bad_arguments_are_a_tool_result_with_the_path() {
    let bad = call("echo", json!({"text": "hi", "keys": {"group_code": 5}}));
    for answer in over_both(Setup::default(), bad).await {
        assert_eq!(answer["result"]["isError"], true);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("`$.keys.group_code` must be a string"), "{text}");
    }
}

#[tokio::test]
async fn the_trace_comes_from_meta_or_the_head() {
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let traceparent = format!("00-{trace}-b7ad6b7169203331-01");
    let mut message = call("echo", json!({"text": "hi"}));
    let rig = Rig::new(Setup::default());
    let seen = |answer: Value| answer["result"]["structuredContent"]["trace"].clone();
    assert_eq!(seen(rig.post(&[], message.to_string()).await.json()), Value::Null);
    assert_eq!(seen(rig.post(&[("X-Trace-Id", "t-1")], message.to_string()).await.json()), "t-1");
    assert_eq!(seen(rig.post(&[("traceparent", &traceparent)], message.to_string()).await.json()), trace);
    message["params"]["_meta"] = json!({"traceparent": traceparent});
    assert_eq!(seen(rig.pipe(format!("{message}\n")).await.remove(0)), trace);
}

#[tokio::test]
async fn stdio_takes_crlf_blank_lines_and_a_last_line_without_an_end() {
    let ping = request("ping", json!({})).to_string();
    let lines = Rig::new(Setup::default()).pipe(format!("\r\n{ping}\r\n\n   \n{ping}\n{ping}")).await;
    assert_eq!(lines.len(), 3);
}
