//! `countersign isphere helper …` with a double of the Windows helper, and what `doctor` and a server make of it.

#![allow(clippy::unwrap_used, reason = "a test may")]
#![cfg(unix)]

mod support;

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    process::{Child, Stdio},
};

use serde_json::{Value, json};
use support::{BINARY, Place, post};

/// Answers each op with `OP.json` beside it, and fails where there is none.
const DOUBLE: &str = r#"#!/bin/sh
read -r line
id=${line#*'"request_id":"'}; id=${id%%'"'*}
op=${line#*'"op":"'}; op=${op%%'"'*}
echo "$line" >>requests
[ -f "$op.json" ] || { echo "no $op here" >&2; exit 3; }
printf '{"protocol":"isphere.helper.v1","request_id":"%s","op":"%s","ok":true,"data":%s,"error":null,"warnings":[{"code":"W","message":"m"}]}' \
    "$id" "$op" "$(cat "$op.json")"
"#;

/// A place whose configuration names the double, with these further lines.
fn desk(lines: &str) -> Place {
    let place = Place::empty();
    let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
    write("double.sh", DOUBLE);
    write(
        "countersign.toml",
        &format!(
            "[isphere]\nsources = ['uia']\nstate_dir = 'state'\noperator_id = 'li.na'\nlanguage = 'en'\n\
             [isphere.helper]\nprogram = '/bin/sh'\narguments = ['double.sh']\n{lines}\n"
        ),
    );
    let row = |name: &str| json!({"name": name, "control_type": "ListItem", "automation_id": "", "class_name": "", "children": []});
    let list = |id, rows: &[&str]| {
        let rows: Vec<Value> = rows.iter().copied().map(row).collect();
        json!({"name": "", "control_type": "List", "automation_id": id, "class_name": "", "children": rows})
    };
    let lists = [list("lstContacts", &["张三", "李四"]), list("lstMessages", &["你好"])];
    let root = json!({"name": "财务部", "control_type": "Window", "automation_id": "", "class_name": "", "children": lists});
    let version = json!({"helper_name": "ISphereWinHelper", "helper_version": "0.1.0", "protocol": "isphere.helper.v1", "runtime": "sh"});
    for (op, data) in [
        ("version", version),
        ("self_check", json!({"desktop_access": true, "uia_available": true})),
        ("dump_uia", json!({"hwnd": "0x001A0B2C", "truncated": false, "root": root})),
        ("probe_send_uia_controls", json!({"flags": {"has_send_button": true}})),
    ] {
        write(&format!("{op}.json"), &data.to_string());
    }
    place
}

fn helper(place: &Place, arguments: &[&str]) -> Value {
    place.json(&[&["isphere", "helper"], arguments].concat())
}

fn last_request(place: &Place) -> Value {
    let requests = fs::read_to_string(place.path().join("requests")).unwrap();
    serde_json::from_str(requests.lines().last().unwrap()).unwrap()
}

#[test]
fn each_command_asks_one_op_prints_its_data_and_is_recorded() {
    let place = desk("");
    let version = helper(&place, &["version"]);
    assert_eq!(version["data"]["runtime"], "sh");
    assert_eq!(version["warnings"], json!([{"code": "W", "message": "m"}]));
    assert_eq!(helper(&place, &["self-check"])["data"]["uia_available"], true);
    helper(&place, &["dump", "--hwnd", "0x001A0B2C", "--max-depth", "3", "--no-text"]);
    assert_eq!(
        last_request(&place)["args"],
        json!({"hwnd": "0x001A0B2C", "max_depth": 3, "include_text": false})
    );
    let probed = helper(&place, &["probe-send-uia-controls", "--max-children", "9"]);
    assert_eq!(probed["data"]["flags"]["has_send_button"], true);
    assert_eq!(last_request(&place)["args"], json!({"max_children": 9}));

    let exported = place.prints(&["audit", "export", "--dir", "state"]);
    let records: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = records.iter().map(|record| record["operation"].as_str().unwrap()).collect();
    let expected =
        ["win_helper_version", "win_helper_self_check", "win_helper_dump_uia", "probe_send_uia_controls"];
    assert_eq!(told, expected);
    assert_eq!((&records[2]["caller"], &records[2]["channel"]), (&json!("li.na"), &json!("cli")));
    assert_eq!(records[2]["target"], "window:0x001A0B2C");

    helper(&place, &["dump"]);
    let exported = place.prints(&["audit", "export", "--dir", "state"]);
    let last: Value = serde_json::from_str(exported.lines().last().unwrap()).unwrap();
    assert_eq!(last["target"], "window:0x001A0B2C", "which window was read is known from the answer");
}

#[test]
fn a_failure_says_what_the_helper_said_and_is_recorded() {
    let place = desk("");
    let output = place.run(&["isphere", "helper", "probe-client-runtime"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    assert!(told.contains("exit code 3") && told.contains("no probe_client_runtime here"), "{told}");
    let records = place.prints(&["audit", "export", "--dir", "state"]);
    assert!(records.contains("CONNECTOR_FAILED"), "{records}");
}

#[test]
fn a_helper_that_cannot_be_started_is_told_with_the_reason() {
    let place = Place::empty();
    assert!(place.fails(&["isphere", "helper", "version"]).contains("[isphere.helper] program"));
    fs::write(place.path().join("countersign.toml"), "[isphere.helper]\nprogram = 'nowhere.exe'").unwrap();
    assert!(place.fails(&["isphere", "helper", "version"]).contains("No such file"));
}

#[test]
fn a_saved_dump_gives_a_profile_with_which_the_window_is_a_source() {
    let place = desk("[isphere.uia]\nprofile = 'isphere.uia.toml'");
    let saved = place.prints(&["isphere", "helper", "dump", "--save"]);
    assert!(saved.starts_with("runs/real-loggedin-lab/uia-dumps/"), "{saved}");
    let proposed = place.prints(&["isphere", "helper", "propose-profile", &saved]);
    let printed = place.prints(&["isphere", "helper", "dump"]);
    fs::write(place.path().join("printed.json"), printed).unwrap();
    assert_eq!(place.prints(&["isphere", "helper", "propose-profile", "printed.json"]), proposed);
    fs::write(place.path().join("isphere.uia.toml"), proposed).unwrap();

    let server = place.serve_isphere();
    let found = server.call("isphere_search_contacts", &json!({"query": "张三"}));
    assert_eq!(
        (&found["contacts"][0]["contact_id"], &found["audit"]["source"]),
        (&json!("张三"), &json!("uia"))
    );
    let read = server.call("isphere_receive_messages", &json!({"conversation_id": "财务部"}));
    assert_eq!(read["messages"][0]["content_text"], "你好", "{read}");

    fs::write(place.path().join("text.json"), "[]").unwrap();
    let output = place.run(&["isphere", "helper", "propose-profile", "text.json"]);
    assert_eq!(output.status.code(), Some(2));
    let told = place.fails(&["isphere", "helper", "propose-profile", "/dev/zero"]);
    assert!(told.contains("not a regular file"), "{told}");
}

#[test]
fn agents_have_the_tools_only_where_the_settings_say_so() {
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    for (lines, count) in [("", 6), ("tools = true", 10)] {
        let server = desk(lines);
        let server = (server.serve_isphere(), server);
        let (status, reply) = post(&server.0.address, "/mcp", &server.0.token, &list).unwrap();
        assert_eq!((status, reply["result"]["tools"].as_array().unwrap().len()), (200, count), "{reply}");
        let answer = server.0.call("win_helper_version", &json!({}));
        let code = if count == 6 { json!("PERMISSION_DENIED") } else { json!(null) };
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
}

#[test]
fn doctor_says_whether_the_helper_runs_and_the_window_can_be_read() {
    let place = desk("[isphere.uia]\nprofile = 'isphere.uia.toml'");
    let findings =
        || -> Value { serde_json::from_slice(&place.run(&["isphere", "doctor", "--json"]).stdout).unwrap() };
    let state = |findings: &Value, subject: &str| {
        let found =
            findings.as_array().unwrap().iter().find(|finding| finding["subject"] == subject).unwrap();
        (found["state"].as_str().unwrap().to_owned(), found["message"].as_str().unwrap().to_owned())
    };
    let before = findings();
    assert_eq!(
        state(&before, "[isphere.helper]"),
        ("ok".to_owned(), "ISphereWinHelper 0.1.0 (sh)".to_owned())
    );
    let (word, message) = state(&before, "[isphere] sources: uia");
    assert!(word == "problem" && message.contains("isphere.uia.toml"), "{message}");
    let profile = "[contacts]\nautomation_id = 'lstContacts'\nrows = 'ListItem'";
    fs::write(place.path().join("isphere.uia.toml"), profile).unwrap();
    assert_eq!(state(&findings(), "[isphere] sources: uia").0, "ok");
    fs::remove_file(place.path().join("version.json")).unwrap();
    assert_eq!(state(&findings(), "[isphere.helper]").0, "problem");
}

#[test]
fn a_server_serves_at_once_whatever_the_helper_does() {
    let place = desk("timeout_ms = 600000");
    fs::write(place.path().join("double.sh"), "exec sleep 60").unwrap();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let mut server = place.serve_isphere();
    let (status, reply) = post(&server.address, "/mcp", &server.token, &list).unwrap();
    assert_eq!((status, reply["result"]["tools"].as_array().unwrap().len()), (200, 6), "{reply}");
    server.terminate();
    assert_eq!(server.wait(), Some(0));

    let mut command = place.command(BINARY);
    command.args(["isphere", "serve"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.spawn().unwrap();
    writeln!(process.stdin.take().unwrap(), "{list}").unwrap();
    let output = process.wait_with_output().unwrap();
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &reply["id"]), (Some(0), &json!(1)));
}

/// A place whose helper hangs with a child, both of which hold the pipe `held` open for writing.
fn hanging_desk() -> Place {
    let place = desk("tools = true\ntimeout_ms = 600000");
    assert!(place.command("mkfifo").arg("held").status().unwrap().success());
    fs::write(place.path().join("double.sh"), "exec 3>held; (sleep 60) & exec sleep 60").unwrap();
    place
}

/// Sends a signal while the helper hangs; returns once nothing of it is left.
fn signal_while_it_hangs(place: &Place, process: &Child, signal: &str) {
    let mut held = File::open(place.path().join("held")).unwrap();
    let sent = place.command("kill").args([signal, &process.id().to_string()]).status().unwrap();
    assert!(sent.success());
    held.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn no_signal_that_ends_a_command_leaves_a_helper_behind() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        for arguments in [&["isphere", "helper", "dump"][..], &["isphere", "doctor"]] {
            let place = hanging_desk();
            let mut command = place.command(BINARY);
            command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
            let process = command.spawn().unwrap();
            signal_while_it_hangs(&place, &process, signal);
            let told = support::failure(process.wait_with_output().unwrap());
            assert!(told.contains("broken off"), "{told}");
            if arguments[1] == "helper" {
                let records = place.prints(&["audit", "export", "--dir", "state"]);
                assert!(records.contains("win_helper_dump_uia"), "a look that was broken off is recorded");
            }
        }
    }
}

#[test]
fn no_signal_that_ends_a_server_over_stdio_leaves_a_helper_behind() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        for calls in [false, true] {
            let place = hanging_desk();
            if calls {
                // The look at the start has nothing to look at, so that the call is what hangs.
                let config = fs::read_to_string(place.path().join("countersign.toml")).unwrap();
                fs::write(place.path().join("countersign.toml"), config.replace("'uia'", "'local_readonly'"))
                    .unwrap();
            }
            let mut command = place.command(BINARY);
            command
                .args(["isphere", "serve"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null());
            let mut process = command.spawn().unwrap();
            let mut input = process.stdin.take().unwrap();
            if calls {
                writeln!(input, "{}", support::tool_call("win_helper_version", &json!({}))).unwrap();
            }
            signal_while_it_hangs(&place, &process, signal);
            assert_eq!(process.wait().unwrap().code(), Some(0), "{signal}");
            drop(input);
        }
    }
}
