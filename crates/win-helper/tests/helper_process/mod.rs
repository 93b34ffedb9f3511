//! Runs the helper as its callers do: a process, one request on stdin, one response on stdout.

#![allow(dead_code, reason = "each test program uses its part")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// The program under test.
pub const HELPER: &str = env!("CARGO_BIN_EXE_ISphereWinHelper");

/// What `program` does with these bytes on its stdin.
pub fn run(program: &Path, stdin: &[u8]) -> Output {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A request that is too large is not read to its end.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    child.wait_with_output().unwrap()
}

/// The response to these bytes; checks what holds for every response.
pub fn answer(stdin: &[u8]) -> Value {
    response(run(Path::new(HELPER), stdin))
}

/// The response to a request of this op.
pub fn ask(op: &str, args: &Value) -> Value {
    let answer = answer(request(op, args).to_string().as_bytes());
    assert_eq!(answer["request_id"], "r-1");
    assert_eq!(answer["op"], op);
    answer
}

/// A request of this op.
pub fn request(op: &str, args: &Value) -> Value {
    json!({"protocol": "isphere.helper.v1", "request_id": "r-1", "op": op, "args": args})
}

/// The one document on stdout of a process that ended well.
pub fn response(output: Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(stdout.matches('\n').count(), 1, "one line: {stdout}");
    assert!(stdout.ends_with('\n'));
    let response: Value = serde_json::from_str(&stdout).unwrap();
    let fields: Vec<&str> = response.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = ["protocol", "request_id", "op", "ok", "data", "error", "warnings"];
    expected.sort_unstable();
    assert_eq!(fields, expected);
    assert_eq!(response["protocol"], "isphere.helper.v1");
    assert_eq!(response["ok"], response["error"].is_null());
    assert_eq!(response["ok"], !response["data"].is_null());
    response
}

/// The error code of a response.
pub fn code(response: &Value) -> &str {
    response["error"]["code"].as_str().unwrap_or("none")
}

/// The error message of a response.
pub fn message(response: &Value) -> &str {
    response["error"]["message"].as_str().unwrap_or("none")
}

/// The codes of the warnings of a response.
pub fn warnings(response: &Value) -> Vec<&str> {
    response["warnings"].as_array().unwrap().iter().map(|warning| warning["code"].as_str().unwrap()).collect()
}
