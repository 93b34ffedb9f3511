//! The iSphere server over HTTP, and over stdio where the two must agree: scopes of tokens, who is recorded, the rate
//! limit, and progress of downloads.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod support;

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    process::Stdio,
};

use serde_json::{Value, json};
use support::{BINARY, Place, Server, post, tool_call};

const READS: [&str; 4] =
    ["isphere_search_contacts", "isphere_search_groups", "isphere_receive_messages", "isphere_receive_files"];
const SENDS: [&str; 2] = ["isphere_send_message", "isphere_send_file"];

fn token(place: &Place, name: &str, scope: &str) -> String {
    place.prints(&["isphere", "tokens", "add", "--name", name, "--scope", scope])
}

fn structured(server: &Server, token: &str, tool: &str, arguments: &Value) -> Value {
    let (status, reply) = post(&server.address, "/mcp", token, &tool_call(tool, arguments)).unwrap();
    assert_eq!(status, 200, "{reply}");
    reply["result"]["structuredContent"].clone()
}

fn listed(server: &Server, token: &str) -> Vec<String> {
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let (_, reply) = post(&server.address, "/mcp", token, &list).unwrap();
    let tools = reply["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// The records of calls, after the server has ended.
fn records(place: &Place, mut server: Server) -> Vec<Value> {
    server.terminate();
    assert_eq!(server.wait(), Some(0));
    assert_eq!(place.json(&["audit", "verify", "--dir", "state", "--json"])["ok"], true);
    let exported = place.prints(&["audit", "export", "--dir", "state"]);
    exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Talks to a server on its stdin and stdout until the end of this input; returns the lines of its output.
fn over_stdio(place: &Place, input: &[Value]) -> Vec<Value> {
    let mut command = place.command(BINARY);
    command.args(["isphere", "serve"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = command.spawn().unwrap();
    let mut stdin = server.stdin.take().unwrap();
    for message in input {
        writeln!(stdin, "{message}").unwrap();
    }
    drop(stdin);
    let output = server.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_token_sees_and_calls_only_the_tools_of_its_scope() {
    let place = Place::with_isphere();
    let (reader, sender) = (token(&place, "reader", "read"), token(&place, "sender", "send"));
    let server = place.serve_isphere();
    assert_eq!(listed(&server, &reader), READS);
    assert_eq!(listed(&server, &sender), SENDS);
    assert_eq!(listed(&server, &server.token), [&READS[..], &SENDS].concat());
    for (token, refused, scope) in [(&reader, &SENDS[..], "send"), (&sender, &READS, "read")] {
        for tool in refused {
            let answer = structured(&server, token, tool, &json!({}));
            assert_eq!(answer["error"]["code"], "PERMISSION_DENIED", "{tool}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains(&format!("lacks the scope `{scope}`")), "{message}");
        }
    }
    assert_eq!(structured(&server, &reader, READS[0], &json!({"query": "li"}))["ok"], true);
    for (wrong, status) in [("", 401), ("cs_wrong", 401)] {
        let call = tool_call(READS[0], &json!({"query": "li"}));
        assert_eq!(post(&server.address, "/mcp", wrong, &call).unwrap().0, status);
    }
}

#[test]
fn every_record_over_http_names_the_token_and_over_stdio_the_configured_operator() {
    let place = Place::with_isphere();
    let reader = token(&place, "林 reader", "read");
    let server = place.serve_isphere();
    let calls = [
        (READS[0], json!({"query": "li"})),
        (READS[2], json!({})),
        (READS[3], json!({"conversation_id": "nowhere"})),
        (SENDS[0], json!({})),
    ];
    for (tool, arguments) in &calls {
        let answer = structured(&server, &reader, tool, arguments);
        assert_eq!(answer["audit"]["operator_id"], "林 reader", "{tool}");
    }
    let recorded = records(&place, server);
    assert_eq!(recorded.len(), calls.len());
    for (record, (tool, _)) in recorded.iter().zip(&calls) {
        assert_eq!(
            (&record["operation"], &record["caller"], &record["detail"]["operator_id"]),
            (&json!(tool), &json!("林 reader"), &json!("林 reader"))
        );
    }

    let input = calls.map(|(tool, arguments)| tool_call(tool, &arguments));
    for answer in over_stdio(&place, &input) {
        assert_eq!(answer["result"]["structuredContent"]["audit"]["operator_id"], "li.na");
    }
    let exported = place.prints(&["audit", "export", "--dir", "state"]);
    let later: Vec<Value> =
        exported.lines().skip(recorded.len()).map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(later.len(), input.len());
    for record in later {
        assert_eq!((&record["caller"], &record["detail"]["operator_id"]), (&json!("li.na"), &json!("li.na")));
    }
}

#[test]
fn calls_past_the_limit_of_a_minute_are_refused_with_the_time_to_wait_for_each_caller_apart() {
    let place = Place::with_isphere();
    let file = place.path().join("countersign.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}[policy]\nper_minute = 2\n")).unwrap();
    let other = token(&place, "other", "read");
    let server = place.serve_isphere();
    let search = json!({"query": "li"});
    for _ in 0..2 {
        assert_eq!(server.call(READS[0], &search)["ok"], true);
    }
    for (tool, code) in
        [(READS[0], "SOURCE_UNAVAILABLE"), (READS[3], "SOURCE_UNAVAILABLE"), (SENDS[0], "WRITE_NOT_READY")]
    {
        let error = server.call(tool, &search)["error"].clone();
        assert_eq!((&error["code"], &error["retryable"]), (&json!(code), &json!(true)), "{tool}");
        let wait = error["retry_after_ms"].as_u64().unwrap();
        assert!((1..=30_000).contains(&wait), "{wait}");
        assert!(error["message"].as_str().unwrap().contains("too many calls in a minute"), "{error}");
    }
    assert_eq!(structured(&server, &other, READS[0], &search)["ok"], true);
}

/// A download of files that lie in the store, and how many bytes they have together.
fn download(place: &Place) -> (Value, u64) {
    let server = place.serve_isphere();
    let files = server.call(READS[3], &json!({"limit": 200}))["files"].take();
    let there = files.as_array().unwrap().iter().find(|file| file["download_ref"].is_string()).unwrap();
    let arguments = json!({
        "mode": "download", "file_id": there["file_id"], "output_dir": "received", "preview": false,
    });
    place.prints(&["isphere", "tokens", "revoke", "agent"]);
    (arguments, there["size_bytes"].as_u64().unwrap())
}

fn with_progress(arguments: &Value) -> Value {
    let mut call = tool_call(READS[3], arguments);
    call["params"]["_meta"] = json!({"progressToken": "下载-1"});
    call
}

/// Checks that reports under the token of the client come first, then the answer with the file that was saved.
fn assert_reported(place: &Place, messages: &[Value], bytes: u64) {
    let (answer, reports) = messages.split_last().unwrap();
    assert!(!reports.is_empty());
    for report in reports {
        assert_eq!(report["method"], "notifications/progress", "{report}");
        assert_eq!(
            (&report["params"]["progressToken"], &report["params"]["total"]),
            (&json!("下载-1"), &json!(bytes))
        );
    }
    assert_eq!(reports.last().unwrap()["params"]["progress"], bytes);
    let file = &answer["result"]["structuredContent"]["files"][0];
    assert!(file["sha256"].is_string(), "{answer}");
    let saved = place.path().join("in").join(file["saved_path"].as_str().unwrap());
    assert_eq!(fs::metadata(saved).unwrap().len(), bytes);
}

#[test]
fn a_download_over_stdio_reports_its_progress() {
    let place = Place::with_isphere();
    let (arguments, bytes) = download(&place);
    assert_reported(&place, &over_stdio(&place, &[with_progress(&arguments)]), bytes);
    let without_token = over_stdio(&place, &[tool_call(READS[3], &arguments)]);
    assert_eq!(without_token.len(), 1, "who gave no token gets no reports");
}

#[test]
fn a_download_over_http_reports_its_progress_as_events() {
    let place = Place::with_isphere();
    let (arguments, bytes) = download(&place);
    let server = place.serve_isphere();
    let body = with_progress(&arguments).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        server.address,
        server.token,
        body.len()
    );
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("text/event-stream"), "{answer}");
    let events: Vec<Value> = answer
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    assert_reported(&place, &events, bytes);
}

#[test]
fn both_schema_profiles_are_served() {
    let place = Place::with_isphere();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let next_cursor = || {
        let answers = over_stdio(&place, std::slice::from_ref(&list));
        answers[0]["result"]["tools"][0]["outputSchema"]["properties"]["next_cursor"]["type"].clone()
    };
    assert_eq!(next_cursor(), json!(null), "model APIs refuse a list of types");
    let file = place.path().join("countersign.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}[mcp]\nschema_profile = 'contract'\n")).unwrap();
    assert_eq!(next_cursor(), json!(["string", "null"]));
}

#[test]
fn a_server_without_any_configuration_says_what_to_configure() {
    let answers = over_stdio(&Place::empty(), &[tool_call(READS[0], &json!({"query": "li"}))]);
    let error = &answers[0]["result"]["structuredContent"]["error"];
    assert_eq!((&error["code"], &error["retryable"]), (&json!("SOURCE_UNAVAILABLE"), &json!(false)));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("set [isphere.local_readonly] store"), "{message}");
}
