//! What an operator meets when things go wrong: a clear line, the right exit code, and nothing half-written.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by a panic")]

mod support;

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
    sync::mpsc,
};

use serde_json::{Value, json};
use support::{BINARY, Place, failure, new_group, post, submission, tool_call};

#[test]
fn wrong_usage_exits_with_2_and_prints_nothing_on_stdout() {
    let place = Place::empty();
    for arguments in [
        &["hotel"][..],
        &["hotel", "nothing"],
        &["hotel", "tasks", "confirm", "1"],
        &["hotel", "tasks", "confirm", "1", "--as", " "],
        &["hotel", "ingest"],
        &["hotel", "hotels", "add", "--name", " "],
        &["hotel", "tokens", "add", "--name", ""],
        &["hotel", "serve", "--listen", "8750"],
        &["demo", "--listen", "localhost:99999"],
        &["hotel", "hotels", "list", "--db", "mysql://u@h/x"],
        &["hotel", "hotels", "list", "--db", "sqlite:a.db?mode=ro"],
    ] {
        let output = place.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(output.stdout, b"", "{arguments:?}");
    }
}

#[test]
fn a_url_of_no_known_database_says_what_to_write() {
    let place = Place::empty();
    for url in ["mysql://u:secret@h/x", "sqlite:secret.db?mode=ro"] {
        let by_flag = place.run(&["hotel", "hotels", "list", "--db", url]);
        let by_flag = String::from_utf8(by_flag.stderr).unwrap();
        fs::write(place.path().join("countersign.toml"), format!("[hotel]\ndb = '{url}'")).unwrap();
        for error in [by_flag, place.fails(&["hotel", "hotels", "list"])] {
            assert!(error.contains("sqlite:PATH") && !error.contains("secret"), "{error}");
        }
    }
}

#[test]
fn under_a_read_only_policy_nothing_is_taken_in_decided_or_administered() {
    let place = Place::with_hotel();
    place.mail("1.eml", "Message-ID: <1@agency.example>", "Groups.");
    fs::write(place.path().join("countersign.toml"), "[policy]\nread_only = true").unwrap();
    for arguments in [
        &["hotel", "ingest", "mails"][..],
        &["hotel", "tasks", "confirm", "1", "--as", "Li Na"],
        &["hotel", "tasks", "reject", "1", "--as", "Li Na", "--reason", "double"],
        &["hotel", "hotels", "activate", "1"],
        &["hotel", "tokens", "add", "--name", "agent"],
        &["hotel", "tokens", "rotate", "agent"],
        &["hotel", "users", "add", "--name", "mei", "--role", "clerk"],
    ] {
        let error = place.fails(arguments);
        assert!(error.contains("[policy] read_only"), "{error}");
    }
    assert_eq!(place.json(&["hotel", "messages", "list", "--json"]), json!([]));
}

#[test]
fn a_pipe_among_the_mails_is_a_failure_that_is_named_on_one_line() {
    let place = Place::with_hotel();
    place.mail("1.eml", "Message-ID: <1@agency.example>", "Groups.");
    let pipe = place.path().join("mails/a\nnew 9.eml");
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let output = place.run(&["hotel", "ingest", "mails"]);
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(printed.contains("failed: mails/a⏎new 9.eml: is no file but a pipe"), "{printed}");
    assert!(printed.contains("new 1 · already there 0 · degraded 0 · failed 1"), "{printed}");
    assert!(failure(output).contains("1 of 2 messages failed"));
}

#[test]
fn a_key_that_is_not_known_is_named_with_its_file() {
    let place = Place::empty();
    fs::write(place.path().join("countersign.toml"), "[hotel]\ndatabase = 'x'").unwrap();
    let error = place.fails(&["hotel", "hotels", "list"]);
    assert!(error.contains("countersign.toml: `hotel.database`: unknown field"), "{error}");
}

#[test]
fn a_port_in_use_names_the_flag_that_chooses_another() {
    let place = Place::with_hotel();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for command in [&["hotel", "serve"][..], &["demo"]] {
        let error = place.fails(&[command, &["--listen", &address]].concat());
        assert!(error.contains(&address) && error.contains("--listen"), "{error}");
    }
    let error = place.fails(&["isphere", "serve", "--http", &address]);
    assert!(error.contains(&address) && error.contains("--http"), "{error}");
    assert!(!place.path().join("countersign-demo").exists());
}

/// Root may write to any file, so the command runs as a user that may not.
#[test]
fn a_read_only_database_is_named_so_and_left_alone() {
    let place = Place::with_hotel();
    let (folder, data) = (place.path(), place.path().join("countersign-data"));
    let file = data.join("hotel.db");
    let allow =
        |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let program = folder.join("countersign");
    fs::copy(BINARY, &program).unwrap();
    allow(folder, 0o755);
    allow(&program, 0o755);
    allow(&data.join("audit.key"), 0o644);
    for entry in fs::read_dir(&data).unwrap() {
        let path = entry.unwrap().path();
        if path != data.join("audit.key") {
            allow(&path, 0o444);
        }
    }
    allow(&data, 0o555);
    let before = fs::read(&file).unwrap();
    let root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let mut command = place.command(if root { "setpriv".into() } else { program.clone() });
    if root {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
    }
    let error = failure(command.args(["hotel", "hotels", "add", "--name", "B"]).output().unwrap());
    allow(&data, 0o755);
    assert!(error.contains("read-only") || error.contains("permissions"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), before);
}

/// A limit on the size of files stands in for a full disk: the write fails in the same place.
#[test]
fn a_full_disk_is_named_so_and_leaves_whole_messages_only() {
    let place = Place::with_hotel();
    for number in 0..40 {
        let head = format!("Subject: {number}\nMessage-ID: <{number}@agency.example>");
        place.mail(&format!("{number}.eml"), &head, &"Rooms, please. ".repeat(4_000));
    }
    // The trap makes the write fail, where the signal would end the process.
    let script = r#"trap '' XFSZ; ulimit -f 2400; exec "$0" hotel ingest mails --json"#;
    let output = place.command("sh").args(["-c", script, BINARY]).output().unwrap();
    let kept: Value = serde_json::from_slice(&output.stdout).unwrap();
    let error = failure(output);
    assert!(error.contains("disk is full"), "{error}");

    let listed = place.json(&["hotel", "messages", "list", "--json"]).as_array().unwrap().len();
    assert!(listed < 40, "the limit was not reached");
    assert!(listed >= usize::try_from(kept["new"].as_u64().unwrap()).unwrap(), "{kept}");
    let again = place.json(&["hotel", "ingest", "mails", "--json"]);
    assert_eq!(again["already_there"], listed);
    assert_eq!(again["new"], 40 - listed);
}

#[test]
fn sigterm_lets_submissions_finish_or_leaves_them_absent() {
    const EVENTS: usize = 300;
    let place = Place::with_hotel();
    for number in 0..4 {
        place.mail(&format!("{number}.eml"), &format!("Message-ID: <{number}@agency.example>"), "Groups.");
    }
    place.prints(&["hotel", "ingest", "mails"]);
    let mut server = place.serve();
    let (answered, answers) = mpsc::channel();
    let clients: Vec<_> = (0..4)
        .map(|number| {
            let events =
                (0..EVENTS).map(|event| new_group(&format!("E{event}"), &format!("G{number}-{event}")));
            let payload = submission(&format!("{number}@agency.example"), &events.collect::<Vec<_>>());
            let (address, token, answered) = (server.address.clone(), server.token.clone(), answered.clone());
            std::thread::spawn(move || {
                let reply =
                    post(&address, "/mcp", &token, &tool_call("th_hotel_submit_task_results", &payload));
                // The test has all it waits for after the first answer.
                answered.send(number).ok();
                reply.is_ok_and(|(_, reply)| reply["result"]["structuredContent"]["success"] == true)
            })
        })
        .collect();
    answers.recv().unwrap();
    server.terminate();
    assert_eq!(server.wait(), Some(0));
    let succeeded: Vec<bool> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    assert!(succeeded.contains(&true));

    let tasks = place.json(&["hotel", "tasks", "list", "--json", "--limit", "10000"]);
    for (number, succeeded) in succeeded.into_iter().enumerate() {
        let message = format!("{number}@agency.example");
        let of_message = |task: &&Value| task["external_source_message_id"] == *message;
        let written = tasks.as_array().unwrap().iter().filter(of_message).count();
        assert!(written == EVENTS || (written == 0 && !succeeded), "{written} tasks of message {number}");
    }
}

#[test]
fn serve_over_stdio_writes_protocol_only_and_ends_with_its_input() {
    let place = Place::with_hotel();
    let mut process = place
        .command(BINARY)
        .env("RUST_LOG", "trace")
        .args(["hotel", "serve", "--stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }});
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let context = tool_call("th_hotel_query_case_context", &json!({"group_code": "X"}));
    let mut input = process.stdin.take().unwrap();
    writeln!(input, "{initialize}\nnot json\r\n{list}\n{context}").unwrap();
    drop(input);
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let replies: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(replies.len(), 4, "{text}");
    assert!(replies.iter().all(|reply| reply["jsonrpc"] == "2.0"), "{text}");
    assert!(text.contains(r#""name":"th_hotel_submit_task_results""#));
}
