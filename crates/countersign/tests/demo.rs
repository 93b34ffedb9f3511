//! The demo as a newcomer meets it.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by a panic")]

mod support;

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::PermissionsExt,
    process::{Child, Stdio},
};

use serde_json::{Value, json};
use support::{BINARY, Place, get, post, post_form, terminate};

/// Starts the demo and returns what it prints before it serves.
fn start(place: &Place) -> (Child, String) {
    let mut process = place
        .command(BINARY)
        .args(["demo", "--data", "the data", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut printed = String::new();
    let mut lines = BufReader::new(process.stdout.take().unwrap());
    while !printed.contains("Ctrl-C ends the demo") {
        assert_ne!(lines.read_line(&mut printed).unwrap(), 0, "the demo ended: {printed}");
    }
    (process, printed)
}

fn after<'t>(printed: &'t str, label: &str) -> &'t str {
    printed.lines().find_map(|line| line.strip_prefix(label)).unwrap()
}

#[test]
fn the_demo_serves_its_mails_and_finds_its_token_again() {
    let place = Place::empty();
    let (mut process, printed) = start(&place);
    let (url, token) = (after(&printed, "MCP: ").to_owned(), after(&printed, "Token: ").to_owned());
    let json_text = &printed[printed.find('{').unwrap()..printed.find("\n\nTry").unwrap()];
    let servers: Value = serde_json::from_str(json_text).unwrap();
    let server = &servers["mcpServers"]["th-hotel"];
    assert_eq!(server["type"], "http");
    assert_eq!(server["url"], *url);
    assert_eq!(server["headers"]["Authorization"], format!("Bearer {token}"));

    let address = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let (status, reply) = post(address, "/mcp", &token, &list).unwrap();
    assert_eq!(status, 200, "{reply}");
    assert_eq!(reply["result"]["tools"].as_array().unwrap().len(), 5);

    let file = place.path().join("the data/demo-token");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&file).unwrap().trim(), token);
    terminate(&process);
    assert_eq!(process.wait().unwrap().code(), Some(0));

    let (mut process, printed) = start(&place);
    assert_eq!(after(&printed, "Token: "), token);
    terminate(&process);
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

#[test]
fn the_log_in_that_is_printed_opens_the_console() {
    let place = Place::empty();
    let (mut process, printed) = start(&place);
    let (name, password) = after(&printed, "Log-in: ").split_once(" / ").unwrap();
    let address = after(&printed, "Console: http://").trim_end_matches("/console/");
    let form = get(address, "/console/login", "");
    let cookie = after(&form, "set-cookie: ").split(';').next().unwrap();
    let token = form.split("name=\"token\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let body = format!("token={token}&name={name}&password={password}");
    let answer = post_form(address, "/console/login", cookie, &body);
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    let cookie = after(&answer, "set-cookie: ").split(';').next().unwrap();
    let page = get(address, after(&answer, "location: ").trim(), cookie);
    assert!(page.starts_with("HTTP/1.1 200") && page.contains(">demo<"), "{page}");
    terminate(&process);
    process.wait().unwrap();
}

#[test]
fn a_second_demo_on_the_same_folder_is_refused_and_spoils_nothing() {
    let place = Place::empty();
    let arguments = ["demo", "--data", "the data", "--listen", "127.0.0.1:0"];
    let (mut process, printed) = start(&place);
    let error = place.fails(&arguments);
    assert!(error.contains("another demo runs") && error.contains("--data"), "{error}");
    terminate(&process);
    assert_eq!(process.wait().unwrap().code(), Some(0));

    let (mut process, again) = start(&place);
    assert_eq!(after(&again, "Token: "), after(&printed, "Token: "));
    terminate(&process);
    process.wait().unwrap();
}

#[test]
fn the_log_names_the_addresses_of_both_halves() {
    let place = Place::empty();
    let mut command = place.command(BINARY);
    command.args(["demo", "--data", "the data", "--listen", "127.0.0.1:0"]);
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut named = Vec::new();
    for line in BufReader::new(process.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        named.extend(line.split_once("listening on http://").map(|(_, url)| url.to_owned()));
        if named.len() == 2 {
            break;
        }
    }
    terminate(&process);
    process.wait().unwrap();
    assert!(named.iter().any(|url| url.ends_with("/isphere/mcp")), "{named:?}");
    assert!(named.iter().any(|url| url.ends_with("/mcp") && !url.contains("isphere")), "{named:?}");
}

#[test]
fn a_token_that_others_may_read_is_put_back_to_its_owner() {
    let place = Place::empty();
    let file = place.path().join("the data/demo-token");
    for _ in 0..2 {
        let (mut process, _) = start(&place);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        terminate(&process);
        process.wait().unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    }
}

#[test]
fn the_demo_speaks_the_language_of_the_environment() {
    let place = Place::empty();
    let (mut process, printed) = start(&place);
    let address = after(&printed, "MCP: ").trim_start_matches("http://").trim_end_matches("/mcp");
    let call = support::tool_call("th_hotel_query_object_detail", &json!({"order_id": "7"}));
    let (_, reply) = post(address, "/mcp", after(&printed, "Token: "), &call).unwrap();
    terminate(&process);
    process.wait().unwrap();
    let text = reply.to_string();
    assert!(text.is_ascii(), "{text}");
}

#[test]
fn the_commands_work_as_they_are_printed() {
    let place = Place::empty();
    let (mut process, printed) = start(&place);
    let commands = printed.lines().skip_while(|line| !line.starts_with("Try in")).skip(1);
    let commands: Vec<&str> =
        commands.filter(|line| !line.starts_with('#') && !line.is_empty()).take(5).collect();
    let outputs: Vec<String> = commands
        .iter()
        .map(|command| {
            let output = place.command("sh").args(["-c", command]).output().unwrap();
            assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        })
        .collect();
    terminate(&process);
    process.wait().unwrap();
    assert!(outputs[0].contains("jiangnan-travel.example"), "{}", outputs[0]);
    let reply: Value = serde_json::from_str(&outputs[1]).unwrap();
    assert_eq!(reply["result"]["structuredContent"]["success"], true, "{reply}");
    assert!(outputs[2].contains("PENDING_CONFIRMATION"), "{}", outputs[2]);
    let reply: Value = serde_json::from_str(&outputs[3]).unwrap();
    assert_eq!(reply["result"]["structuredContent"]["contacts"][0]["source"], "mock", "{reply}");
    assert!(outputs[4].contains("[isphere] sources: mock"), "{}", outputs[4]);
}

#[test]
fn the_pasted_configurations_of_isphere_serve_the_six_tools_while_the_demo_runs() {
    let place = Place::empty();
    let (mut process, printed) = start(&place);
    let json_text = &printed[printed.find('{').unwrap()..printed.find("\n\nTry").unwrap()];
    let servers = serde_json::from_str::<Value>(json_text).unwrap()["mcpServers"].take();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let url = servers["isphere"]["url"].as_str().unwrap();
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let (status, over_http) = post(address, &format!("/{path}"), after(&printed, "Token: "), &list).unwrap();
    assert_eq!((status, path), (200, "isphere/mcp"));

    let stdio = &servers["isphere-stdio"];
    let arguments = stdio["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap());
    let mut client = place.command(stdio["command"].as_str().unwrap());
    client.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut client = client.spawn().unwrap();
    writeln!(client.stdin.take().unwrap(), "{list}").unwrap();
    let over_stdio: Value = serde_json::from_slice(&client.wait_with_output().unwrap().stdout).unwrap();
    terminate(&process);
    process.wait().unwrap();
    assert_eq!(over_http["result"]["tools"].as_array().unwrap().len(), 6, "{over_http}");
    assert_eq!(over_http["result"]["tools"], over_stdio["result"]["tools"]);
}
