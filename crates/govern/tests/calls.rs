//! Calls under governance: the gate, the record, cancellation.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by a panic")]

mod common;

use common::{Rig, Setup, call, request};
use govern::{
    audit::{Channel, Ending},
    gate::Policy,
    tool::Effect,
};
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream};

#[tokio::test]
async fn every_call_is_recorded_however_it_ends() {
    let policy = Policy { disabled_tools: vec!["wait".into()], ..Policy::default() };
    let mut rig = Rig::new(Setup { policy, ..Setup::default() });
    let good = call("echo", json!({"text": "a", "keys": {"group_code": "G1"}}));
    let calls = [
        good,
        call("echo", json!({"text": 5})),
        call("wait", json!({})),
        call("panic", json!({})),
        call("no_such_tool", json!({})),
        call("echo", json!([])),
        call("own_record", json!({})),
    ];
    let lines: Vec<_> = calls.iter().map(Value::to_string).collect();
    rig.pipe(lines.join("\n")).await;
    let records = rig.records().await;
    let seen: Vec<_> = records
        .iter()
        .map(|record| (record.operation.as_ref(), record.effect, record.outcome, record.code.as_deref()))
        .collect();
    let read = Some(Effect::Read);
    assert_eq!(
        seen,
        [
            ("echo", read, Ending::Ok, None),
            ("echo", read, Ending::Error, Some("INVALID_ARGUMENT")),
            ("wait", read, Ending::Refused, Some("DISABLED")),
            ("panic", read, Ending::Error, Some("MCP_INTERNAL_ERROR")),
            ("no_such_tool", None, Ending::Refused, Some("MCP_TOOL_NOT_FOUND")),
            ("echo", read, Ending::Refused, Some("MCP_REQUEST_INVALID")),
        ],
        "own_record keeps its own"
    );
    assert_eq!(records[0].target.as_deref(), Some("G1"));
    assert_eq!(records[0].detail.as_deref(), Some(r#"{"length":1}"#));
    assert_eq!(records[2].detail.as_deref(), Some(r#"{"allowed":false}"#), "also of a refused call");
    assert_eq!((records[0].caller.as_str(), records[0].channel), ("local", Channel::McpStdio));
    assert!(records[0].request_id.starts_with("req-"));
}

#[tokio::test]
async fn a_caller_sees_and_may_call_only_what_its_token_allows() {
    let mut rig = Rig::new(Setup { bearer: true, ..Setup::default() });
    let reader = [("Authorization", "Bearer reader")];
    let listed = rig.post(&reader, request("tools/list", json!({})).to_string()).await.json();
    let names: Vec<_> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["echo", "wait", "steps", "flood", "panic", "own_record"]);
    let refused = rig.post(&reader, call("write", json!({})).to_string()).await.json();
    assert_eq!(refused["result"]["structuredContent"]["error"], "SCOPE_DENIED");
    assert_eq!(refused["result"]["isError"], true);
    let record = &rig.records().await[0];
    assert_eq!(
        (record.caller.as_str(), record.outcome, record.channel),
        ("reader", Ending::Refused, Channel::McpHttp)
    );
}

#[tokio::test]
async fn a_disabled_tool_is_hidden_and_its_call_is_a_tool_result() {
    let policy = Policy { read_only: true, disabled_tools: vec!["echo".into()], ..Policy::default() };
    let rig = Rig::new(Setup { policy, ..Setup::default() });
    let (_, answers) = rig.over_both(request("tools/list", json!({})).to_string().as_bytes()).await;
    for answer in answers {
        let listed = answer["result"]["tools"].to_string();
        assert!(!listed.contains("\"echo\"") && !listed.contains("\"write\""), "{listed}");
    }
    for (name, code) in [("echo", "DISABLED"), ("write", "READ_ONLY")] {
        let (status, answers) = rig.over_both(call(name, json!({})).to_string().as_bytes()).await;
        assert_eq!(status, 200);
        for answer in answers {
            assert_eq!(
                (&answer["result"]["isError"], &answer["result"]["structuredContent"]["error"]),
                (&json!(true), &json!(code))
            );
        }
    }
}

#[tokio::test]
async fn without_a_record_nothing_is_done() {
    let mut rig = Rig::new(Setup::default());
    rig.records().await;
    let (_, answers) = rig.over_both(call("write", json!({})).to_string().as_bytes()).await;
    for answer in answers {
        assert_eq!(answer["result"]["structuredContent"]["error"], "AUDIT_UNAVAILABLE");
    }
}

/// Sends a call and hangs up once it has begun.
async fn begin_and_hang_up(rig: &Rig, name: &str) {
    let address = rig.listen().await;
    let body = call(name, json!({})).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(&address).await.unwrap();
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    rig.desk.begun.notified().await;
}

#[tokio::test]
async fn a_read_is_cancelled_when_the_http_client_goes_away() {
    let mut rig = Rig::new(Setup::default());
    begin_and_hang_up(&rig, "wait").await;
    rig.desk.dropped.notified().await;
    let record = &rig.records().await[0];
    assert_eq!((record.outcome, record.code.as_deref()), (Ending::Error, Some("CANCELLED")));
}

#[tokio::test]
async fn a_write_is_finished_and_recorded_though_the_http_client_goes_away() {
    let mut rig = Rig::new(Setup::default());
    begin_and_hang_up(&rig, "write").await;
    rig.desk.go_on.notify_one();
    rig.desk.written.notified().await;
    let record = &rig.records().await[0];
    assert_eq!((record.operation.as_ref(), record.outcome), ("write", Ending::Ok));
}

fn cancelled(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

#[tokio::test]
async fn on_stdio_a_cancelled_read_is_dropped_and_not_answered() {
    let mut rig = Rig::new(Setup::default());
    let mut pipes = rig.open_pipes();
    pipes.send(&call("wait", json!({})));
    rig.desk.begun.notified().await;
    pipes.send(&cancelled(1));
    rig.desk.dropped.notified().await;
    let mut ping = request("ping", json!({}));
    ping["id"] = json!(2);
    pipes.send(&ping);
    let (pipes, answer) = pipes.receive().await;
    assert_eq!(answer["id"], 2, "the cancelled call is not answered");
    drop(pipes.input);
    pipes.ended.await.unwrap().unwrap();
    assert_eq!(rig.records().await[0].code.as_deref(), Some("CANCELLED"));
}

#[tokio::test]
async fn on_stdio_a_cancelled_write_still_happens() {
    let mut rig = Rig::new(Setup::default());
    let mut pipes = rig.open_pipes();
    pipes.send(&call("write", json!({})));
    rig.desk.begun.notified().await;
    pipes.send(&cancelled(1));
    rig.desk.go_on.notify_one();
    rig.desk.written.notified().await;
    assert_eq!(rig.records().await[0].outcome, Ending::Ok);
}

#[tokio::test]
async fn on_stdio_a_long_call_does_not_block_a_short_one() {
    let rig = Rig::new(Setup::default());
    let mut pipes = rig.open_pipes();
    pipes.send(&call("wait", json!({})));
    rig.desk.begun.notified().await;
    let mut ping = request("ping", json!({}));
    ping["id"] = json!(2);
    pipes.send(&ping);
    let (pipes, answer) = pipes.receive().await;
    assert_eq!(answer["id"], 2);
    rig.desk.go_on.notify_one();
    let (_, answer) = pipes.receive().await;
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(1), &json!(false)));
}

#[tokio::test]
async fn calls_that_still_run_when_the_input_ends_are_answered() {
    let rig = Rig::new(Setup::default());
    let mut pipes = rig.open_pipes();
    pipes.send(&call("write", json!({})));
    rig.desk.begun.notified().await;
    drop(std::mem::replace(&mut pipes.input, std::io::pipe().unwrap().1));
    rig.desk.go_on.notify_one();
    let (pipes, answer) = pipes.receive().await;
    assert_eq!(answer["result"]["content"][0]["text"], "written");
    pipes.ended.await.unwrap().unwrap();
}
