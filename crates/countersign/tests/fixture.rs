//! The fixture as a process: what is on stdout, how it ends, and that results keep their schemas.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by a panic")]

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Output, Stdio},
};

use serde_json::{Value, json};

fn fixture(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.arg("fixture").args(arguments).env("RUST_LOG", "trace");
    command
}

/// Sends `messages` over stdio, ends the input and waits for the end of the process.
fn pipe(messages: &[Value]) -> Output {
    let mut child = fixture(&["--stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: Vec<_> = messages.iter().map(Value::to_string).collect();
    child.stdin.take().unwrap().write_all(lines.join("\n").as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn answers(output: &Output) -> Vec<Value> {
    let stdout = std::str::from_utf8(&output.stdout).unwrap();
    stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not protocol: {line}")))
        .collect()
}

fn request(id: usize, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[test]
fn stdout_carries_protocol_only_and_the_end_of_the_input_is_a_clean_exit() {
    let output = pipe(&[
        request(0, "initialize", &json!({"protocolVersion": "2025-11-25"})),
        request(1, "tools/call", &json!({"name": "search_items", "arguments": {"query": "bolt"}})),
        json!("not a request"),
    ]);
    assert_eq!(output.status.code(), Some(0));
    let answers = answers(&output);
    assert_eq!(answers.len(), 3);
    assert!(answers.iter().all(|answer| answer["jsonrpc"] == "2.0"));
    assert_eq!(answers[1]["result"]["structuredContent"]["items"].as_array().unwrap().len(), 6);
}

#[test]
fn every_result_satisfies_its_output_schema() {
    let listed = answers(&pipe(&[request(0, "tools/list", &json!({}))]));
    let tools = listed[0]["result"]["tools"].as_array().unwrap().clone();
    let calls = tools.iter().enumerate().flat_map(|(index, tool)| {
        [json!({}), json!({"query": "bolt", "limit": 50}), json!({"query": "bolt", "limit": 51})].map(
            |arguments| request(index, "tools/call", &json!({"name": tool["name"], "arguments": arguments})),
        )
    });
    let answers = answers(&pipe(&calls.collect::<Vec<_>>()));
    assert_eq!(answers.len(), tools.len() * 3);
    for answer in answers {
        let index = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
        let schema = &tools[index]["outputSchema"];
        let content = &answer["result"]["structuredContent"];
        assert!(jsonschema::is_valid(schema, content), "{}: {content}", tools[index]["name"]);
    }
}

#[test]
fn wrong_usage_exits_with_2_and_says_so_on_stderr() {
    for arguments in [&[][..], &["--listen", "0.0.0.0:0"], &["--stdio", "--listen", "127.0.0.1:0"]] {
        let output = fixture(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
}

#[cfg(unix)]
#[test]
fn sigterm_ends_the_http_server_cleanly() {
    let mut server = fixture(&["--listen", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(server.stderr.take().unwrap()).lines();
    let listening =
        |line: &std::io::Result<String>| line.as_ref().unwrap().contains("listening on http://127.0.0.1:");
    assert!(log.any(|line| listening(&line)));
    terminate(&server);
    // Its log is read on, so that it never waits for a reader.
    log.for_each(drop);
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[cfg(unix)]
fn terminate(process: &Child) {
    let killed = Command::new("kill").args(["-TERM", &process.id().to_string()]).status().unwrap();
    assert!(killed.success());
}
