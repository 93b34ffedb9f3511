//! Reports of progress on their way to the client, over both transports.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by a panic")]

mod common;

use std::time::Duration;

use common::{Rig, Setup, call, call_with_token, request, stateless, stateless_headers};
use govern::audit::Ending;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};

/// Longer than any test runs that does not hang.
const HANGS: Duration = Duration::from_mins(1);

fn notification(token: &Value, done: u64, message: &str) -> Value {
    let params = json!({"progressToken": token, "progress": done, "total": 3, "message": message});
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
}

/// A connection on which `message` was posted by a client that takes event streams.
async fn post(rig: &Rig, message: &Value) -> BufReader<TcpStream> {
    let (address, body) = (rig.listen().await, message.to_string());
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(&address).await.unwrap();
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    BufReader::new(stream)
}

async fn next_event(stream: &mut BufReader<TcpStream>) -> Option<Value> {
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.unwrap() == 0 {
            return None;
        }
        if let Some(data) = line.strip_prefix("data: ") {
            return Some(serde_json::from_str(data).unwrap());
        }
    }
}

/// Checks that `rest` is reports up to the last, which none may overtake, and then the answer.
fn ends_with_the_last_report_and_the_answer(rest: &[Value], token: &Value) {
    let (answer, reports) = rest.split_last().unwrap();
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(1), &json!("waited")));
    assert_eq!(reports.last(), Some(&notification(token, 3, "three")));
    let done: Vec<_> = reports.iter().map(|report| report["params"]["progress"].as_u64()).collect();
    assert!(done.is_sorted(), "{done:?}");
}

#[tokio::test]
async fn over_http_reports_are_events_before_the_answer_while_the_call_runs() {
    for message in [call_with_token("steps", json!("t")), call_with_token("steps", json!(7))] {
        let rig = Rig::new(Setup::default());
        let mut stream = post(&rig, &message).await;
        let token = &message["params"]["_meta"]["progressToken"];
        assert_eq!(next_event(&mut stream).await, Some(notification(token, 1, "one")));
        rig.desk.go_on.notify_one();
        let mut rest = Vec::new();
        while let Some(event) = next_event(&mut stream).await {
            rest.push(event);
        }
        ends_with_the_last_report_and_the_answer(&rest, token);
    }
}

#[tokio::test]
async fn a_call_that_reported_and_ended_at_once_is_a_stream_in_both_eras() {
    let message = call_with_token("steps", json!("t"));
    let headers = stateless_headers("tools/call", "steps");
    for (headers, message) in [(&[][..], message.clone()), (&headers[..], stateless(message))] {
        let rig = Rig::new(Setup::default());
        rig.desk.go_on.notify_one();
        let answer = rig.post(headers, message.to_string()).await;
        assert!(answer.head.contains("content-type: text/event-stream"), "{}", answer.head);
        ends_with_the_last_report_and_the_answer(&answer.events(), &json!("t"));
    }
}

#[tokio::test]
async fn without_token_stream_or_report_the_answer_is_one_document() {
    let json_only = [("Accept", "application/json")];
    for (headers, message) in [
        (&[][..], call("steps", json!({}))),
        (&[][..], call_with_token("steps", json!(null))),
        (&json_only[..], call_with_token("steps", json!("t"))),
        (&[][..], call_with_token("wait", json!("t"))),
    ] {
        let rig = Rig::new(Setup::default());
        rig.desk.go_on.notify_one();
        let answer = rig.post(headers, message.to_string()).await;
        assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
        assert_eq!(answer.json()["result"]["content"][0]["text"], "waited");
    }
}

#[tokio::test]
async fn a_read_is_cancelled_when_the_client_goes_away_from_its_stream() {
    let mut rig = Rig::new(Setup::default());
    let mut stream = post(&rig, &call_with_token("steps", json!("t"))).await;
    assert!(next_event(&mut stream).await.is_some());
    drop(stream);
    rig.desk.dropped.notified().await;
    let record = &rig.records().await[0];
    assert_eq!((record.outcome, record.code.as_deref()), (Ending::Error, Some("CANCELLED")));
}

#[tokio::test]
async fn on_stdio_reports_are_lines_before_the_answer_while_the_call_runs() {
    let rig = Rig::new(Setup::default());
    let mut pipes = rig.open_pipes();
    pipes.send(&call_with_token("steps", json!("t")));
    let (mut pipes, first) = pipes.receive().await;
    assert_eq!(first, notification(&json!("t"), 1, "one"));
    pipes.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
    let (mut pipes, ping) = pipes.receive().await;
    assert_eq!(ping["id"], 2, "the call that runs blocks no other");
    rig.desk.go_on.notify_one();
    let mut rest = Vec::new();
    while rest.last().is_none_or(|last: &Value| last["id"].is_null()) {
        let (next, line) = pipes.receive().await;
        pipes = next;
        rest.push(line);
    }
    ends_with_the_last_report_and_the_answer(&rest, &json!("t"));
}

#[tokio::test]
async fn on_stdio_a_call_that_reports_can_be_cancelled() {
    let mut rig = Rig::new(Setup::default());
    let mut pipes = rig.open_pipes();
    pipes.send(&call_with_token("steps", json!("t")));
    let (mut pipes, _) = pipes.receive().await;
    pipes.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    rig.desk.dropped.notified().await;
    assert_eq!(rig.records().await[0].code.as_deref(), Some("CANCELLED"));
}

#[tokio::test]
async fn a_client_that_does_not_read_does_not_hold_up_the_call() {
    let rig = Rig::new(Setup::default());
    let flood = call_with_token("flood", json!("t"));
    let unread = post(&rig, &flood).await;
    timeout(HANGS, rig.desk.written.notified()).await.expect("the call ends over HTTP");
    drop(unread);
    let mut unread = rig.open_pipes();
    unread.send(&flood);
    timeout(HANGS, rig.desk.written.notified()).await.expect("the call ends on stdio");
    drop(unread);
}

#[tokio::test]
async fn a_token_that_is_no_string_and_no_integer_is_malformed() {
    for token in [json!(1.5), json!(true), json!([1]), json!({}), json!("x".repeat(1023))] {
        let rig = Rig::new(Setup::default());
        let (status, answers) = rig.over_both(call_with_token("echo", token).to_string().as_bytes()).await;
        assert_eq!(status, 400);
        for answer in answers {
            assert_eq!(answer["error"]["data"]["code"], "MCP_REQUEST_INVALID");
            assert!(answer["error"]["message"].as_str().unwrap().contains("progressToken"), "{answer}");
        }
    }
}

#[tokio::test]
async fn what_is_no_call_reports_nothing() {
    let rig = Rig::new(Setup::default());
    let message = request("tools/list", json!({"_meta": {"progressToken": "t"}}));
    let (_, answers) = rig.over_both(message.to_string().as_bytes()).await;
    assert!(answers.iter().all(|answer| answer["result"]["tools"].is_array()));
}
