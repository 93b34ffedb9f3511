//! The iSphere server as agents start it, on stdin and stdout: line ends, the purity of stdout, how it ends, and what
//! it leaves in its state folder.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod support;

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Lines, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};
use support::{BINARY, Place};

/// A running server and its two pipes.
struct Session {
    process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Session {
    fn start(place: &Place) -> Self {
        let mut process = serve(place).stderr(Stdio::null()).spawn().unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, input, output }
    }

    fn send(&mut self, id: usize, tool: &str, arguments: &Value) {
        writeln!(self.input, "{}", call(id, tool, arguments)).unwrap();
    }

    fn receive(&mut self) -> Value {
        serde_json::from_str(&self.output.next().unwrap().unwrap()).unwrap()
    }

    /// Calls a tool and returns its structured content.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.send(1, tool, arguments);
        self.receive()["result"]["structuredContent"].take()
    }

    /// Ends the input and returns the exit code.
    fn end(mut self) -> Option<i32> {
        drop(self.input);
        assert!(self.output.next().is_none(), "there is an answer to nothing");
        self.process.wait().unwrap().code()
    }
}

/// The server with everything it can log.
fn serve(place: &Place) -> Command {
    let mut command = place.command(BINARY);
    command.args(["isphere", "serve"]).env("RUST_LOG", "trace");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn call(id: usize, tool: &str, arguments: &Value) -> Value {
    request(id, "tools/call", &json!({"name": tool, "arguments": arguments}))
}

fn request(id: usize, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// All files below a folder, with their bytes.
fn files(folder: &Path) -> HashMap<String, Vec<u8>> {
    let mut found = HashMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.display().to_string(), std::fs::read(&path).unwrap());
        }
    }
    found
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn windows_line_ends_are_accepted_and_stdout_carries_protocol_only() {
    let place = Place::with_isphere();
    let mut server = serve(&place).spawn().unwrap();
    let lines = [
        request(0, "initialize", &json!({"protocolVersion": "2025-11-25"})).to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        String::new(),
        request(1, "tools/list", &json!({})).to_string(),
        call(2, "isphere_search_contacts", &json!({"query": "张"})).to_string(),
        "\"not a request\"".to_owned(),
    ];
    let input = lines.map(|line| line + "\r\n").concat();
    server.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = server.wait_with_output().unwrap();

    assert_eq!(output.status.code(), Some(0), "the end of the input is a clean end");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not protocol: {line}")))
        .collect();
    assert_eq!(answers.len(), 4, "{stdout}");
    assert!(answers.iter().all(|answer| answer["jsonrpc"] == "2.0"));
    let answer = |id: usize| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert_eq!(answer(1)["result"]["tools"].as_array().unwrap().len(), 6);
    assert_eq!(answer(2)["result"]["structuredContent"]["ok"], true);
}

#[cfg(unix)]
#[test]
fn sigterm_ends_it_cleanly_and_what_was_answered_is_in_the_trail() {
    let place = Place::with_isphere();
    let mut session = Session::start(&place);
    assert_eq!(session.call("isphere_search_contacts", &json!({"query": "张"}))["ok"], true);
    support::terminate(&session.process);
    assert_eq!(session.process.wait().unwrap().code(), Some(0));
    assert_eq!(recorded_calls(&place), 1);
}

#[test]
fn two_servers_on_one_state_folder_keep_one_chain() {
    const CALLS: usize = 25;
    let place = Place::with_isphere();
    let mut sessions = [Session::start(&place), Session::start(&place)];
    for id in 0..CALLS {
        for session in &mut sessions {
            session.send(id, "isphere_search_contacts", &json!({"query": "li"}));
        }
        for session in &mut sessions {
            assert_eq!(session.receive()["id"], id);
        }
    }
    assert_eq!(sessions.map(Session::end), [Some(0), Some(0)]);
    assert_eq!(recorded_calls(&place), 2 * CALLS);
}

/// How many searches the trail holds; it must verify.
fn recorded_calls(place: &Place) -> usize {
    let report = place.json(&["audit", "verify", "--dir", "state", "--json"]);
    assert_eq!(report["ok"], true, "{report}");
    let records = place.prints(&["audit", "export", "--dir", "state"]);
    records.lines().filter(|record| record.contains(r#""isphere_search_contacts""#)).count()
}

#[test]
fn no_text_no_caption_no_key_and_no_secret_is_in_answers_log_and_state_folder() {
    const TEXT: &str = "canary-正文-🦜-4711";
    const TEXT_SHA256: &str = "e0a788dde375bef54e851ab92acb8f21a6974a739badad4adb9cca38adb90f2b";
    const KEY: &str = "canary-key-4712";
    const CAPTION: &str = "canary-caption-4713";
    let place = Place::with_isphere();
    std::fs::write(place.path().join("out/offer.txt"), "an offer").unwrap();
    let secret =
        place.prints(&["isphere", "tokens", "add", "--name", "agent", "--scope", "read", "--scope", "send"]);
    let mut session = Session::start(&place);
    let contact =
        session.call("isphere_search_contacts", &json!({"query": "li"}))["contacts"][0]["contact_id"].take();
    assert_eq!(session.end(), Some(0));

    let message = |mode: &str, digest: &str| {
        json!({
            "target_type": "direct", "target_id": contact, "content_text": TEXT, "content_sha256": digest,
            "idempotency_key": KEY, "execution_mode": mode,
        })
    };
    let file = |mode: &str| {
        json!({
            "target_type": "contact", "target_id": contact, "file_path": "offer.txt", "caption": CAPTION,
            "execution_mode": mode, "idempotency_key": KEY,
        })
    };
    let calls = [
        ("isphere_send_message", message("preview", TEXT_SHA256)),
        ("isphere_send_message", message("production", TEXT_SHA256)),
        ("isphere_send_message", message("preview", &"0".repeat(64))),
        ("isphere_send_file", file("preview")),
        ("isphere_send_file", file("production")),
    ];
    let mut server = serve(&place).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    for (id, (tool, arguments)) in calls.iter().enumerate() {
        writeln!(input, "{}", call(id, tool, arguments)).unwrap();
    }
    drop(input);
    let output = server.wait_with_output().unwrap();

    let mut places = files(&place.path().join("state"));
    assert!(places.values().any(|bytes| holds(bytes, TEXT_SHA256)), "the digest of the text is recorded");
    assert!(holds(&output.stdout, TEXT_SHA256), "the digest of the text is answered");
    places.extend([("stdout".to_owned(), output.stdout), ("stderr".to_owned(), output.stderr)]);
    for (name, bytes) in places {
        for hidden in [TEXT, "正文", KEY, CAPTION, &secret] {
            assert!(!holds(&bytes, hidden), "{hidden} is in {name}");
        }
    }
}
