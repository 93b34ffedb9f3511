//! The hotel's main job from end to end, through the binary: mail in, an agent reads and submits, a person confirms.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by a panic")]

mod support;

use serde_json::{Value, json};
use support::{Place, new_group, submission};

/// The first message of the thread and the four that follow, which refer to it in one way or another.
fn write_thread(place: &Place) {
    let head = |number: u32, more: &str| {
        format!(
            "From: Oliver Grant <oliver@harbour.example>\nTo: reservations@hotel.example\nSubject: Group HTB-0312\n\
             Date: Tue, 24 Nov 2026 08:0{number}:00 +0000\nMessage-ID: <m{number}@harbour.example>{more}"
        )
    };
    place.mail("5.eml", &head(1, ""), "We would like to book the group HTB-0312.");
    place.mail("1.eml", &head(5, "\nReferences: <m4@harbour.example>"), "Fifth.");
    place.mail("2.eml", &head(3, "\nIn-Reply-To: <m2@harbour.example>"), "Third.");
    place.mail("3.eml", &head(2, "\nIn-Reply-To: <m1@harbour.example>"), "Second.");
    let references = "\nReferences: <m1@harbour.example> <m2@harbour.example> <m3@harbour.example>";
    place.mail("4.eml", &head(4, references), "Fourth.");
}

#[test]
fn a_thread_becomes_a_task_that_a_person_confirms() {
    let place = Place::with_hotel();
    write_thread(&place);
    let counts = |summary: Value| (summary["new"].clone(), summary["already_there"].clone());
    assert_eq!(counts(place.json(&["hotel", "ingest", "mails", "--json"])), (json!(5), json!(0)));
    assert_eq!(counts(place.json(&["hotel", "ingest", "mails", "--json"])), (json!(0), json!(5)));

    let server = place.serve();
    let keys = json!({"group_code": "HTB-0312"});
    let before = server.call("th_hotel_query_case_context", &keys);
    assert_eq!(before["success"], true, "{before}");
    assert_eq!(before["data"]["matched_order_records"], json!([]));

    let of_message = json!({"source_message_id": "m5@harbour.example"});
    let messages = server.call("th_hotel_list_message_conversation_messages", &of_message);
    assert_eq!(messages["data"]["message_count"], 5, "{messages}");
    let ids: Vec<&str> = messages["data"]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["external_source_message_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids[0], "m1@harbour.example");
    assert_eq!(ids[4], "m5@harbour.example");

    let mut child = json!({
        "source_event_index": "E2", "event_type": "SPECIAL_REQUEST", "object_type": "GROUP",
        "case_keys": {"group_code": "HTB-0312", "confirmation_number": null, "reservation_no": null},
    });
    child["parent_source_event_index"] = "E1".into();
    let payload = submission("m1@harbour.example", &[new_group("E1", "HTB-0312"), child]);
    let submitted = server.call("th_hotel_submit_task_results", &payload);
    assert_eq!(submitted["success"], true, "{submitted}");
    assert_eq!(submitted["data"]["idempotent_replay"], false);
    assert_eq!(submitted["data"]["accepted_count"], 2, "{submitted}");

    let tasks = server.call("th_hotel_list_message_conversation_tasks", &of_message);
    assert_eq!(tasks["data"]["task_count"], 2, "{tasks}");
    let listed = place.json(&["hotel", "tasks", "list", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    let created = submitted["data"]["items"][0]["task_id"].as_str().unwrap();
    let reason = ["--reason", "checked with the agency"];
    let confirm = ["hotel", "tasks", "confirm", created, "--as", "Li Na", "--version", "1", "--json"];
    let confirmed = place.json(&[&confirm[..], &reason].concat());
    assert_eq!(confirmed["task_status"], "CONFIRMED");
    let stale = place.fails(&[
        "hotel",
        "tasks",
        "reject",
        created,
        "--as",
        "Li Na",
        "--version",
        "1",
        "--reason",
        "x",
    ]);
    assert!(stale.contains("[VERSION_CONFLICT]"), "{stale}");

    let after = server.call("th_hotel_query_case_context", &keys);
    let records = after["data"]["matched_order_records"].as_array().unwrap();
    assert_eq!(records.len(), 1, "{after}");
    assert_eq!(records[0]["order_id"], confirmed["order_id"]);

    let replay = server.call("th_hotel_submit_task_results", &payload);
    assert_eq!(replay["data"]["idempotent_replay"], true, "{replay}");
    assert_eq!(replay["data"]["batch_id"], submitted["data"]["batch_id"]);
    assert_eq!(replay["data"]["items"][1]["task_id"], submitted["data"]["items"][1]["task_id"]);
    assert_eq!(replay["data"]["items"][0]["task_status"], "CONFIRMED");
}

#[test]
fn a_message_shows_what_is_kept_of_it() {
    let place = Place::with_hotel();
    let headers = "From: =?utf-8?B?546L?= <wang@agency.example>\nTo: a@hotel.example, b@hotel.example\n\
                   Cc: c@hotel.example\nSubject: Rooms\nDate: Tue, 24 Nov 2026 16:00:00 +0800\n\
                   Message-ID: <1@agency.example>\nIn-Reply-To: <0@agency.example>\nReferences: <0@agency.example>";
    place.mail("1.eml", headers, "Two rooms, please. See https://agency.example/x?y=1");
    place.prints(&["hotel", "ingest", "mails"]);
    let message = place.json(&["hotel", "messages", "show", "1@agency.example", "--json"]);
    assert_eq!(message["message_id"], "1@agency.example");
    assert_eq!(message["in_reply_to"], json!(["0@agency.example"]));
    assert_eq!(message["references"], json!(["0@agency.example"]));
    assert_eq!(message["subject"], "Rooms");
    assert_eq!(message["from"], "王 <wang@agency.example>");
    assert_eq!(message["to"], json!(["a@hotel.example", "b@hotel.example"]));
    assert_eq!(message["cc"], json!(["c@hotel.example"]));
    assert_eq!(message["date"], "2026-11-24T08:00:00.000Z");
    assert_eq!(message["conversation"], "0@agency.example");
    assert_eq!(message["text"], "Two rooms, please. See [link: agency.example]");
    assert_eq!(message["html"], Value::Null);
    assert_eq!(message["render_mode"], "TEXT_ONLY");
    assert_eq!(message["attachments"], json!([]));
    assert_eq!(message["warnings"], json!([]));

    let listed = place.json(&["hotel", "messages", "list", "--json"]);
    let inbox_id = listed[0]["inbox_id"].as_str().unwrap();
    let same = place.json(&["hotel", "messages", "show", inbox_id, "--json"]);
    assert_eq!(same, message);
}

#[test]
fn a_path_that_does_not_exist_is_named_and_the_others_are_taken_in() {
    let place = Place::with_hotel();
    let mail = place.mail("1.eml", "Subject: a", "b");
    let output = place.run(&["hotel", "ingest", "nowhere", mail.to_str().unwrap(), "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["new"], 1);
    assert_eq!(summary["failed"][0]["file"], "nowhere");
    assert!(summary["failed"][0]["reason"].as_str().unwrap().starts_with("cannot be read"), "{summary}");
}

#[test]
fn ingest_without_a_hotel_names_the_command_that_adds_one() {
    let place = Place::empty();
    place.mail("1.eml", "Subject: a", "b");
    let error = place.fails(&["hotel", "ingest", "mails"]);
    assert!(error.contains("countersign hotel hotels add --name NAME --active"), "{error}");
}

#[test]
fn a_revoked_token_opens_nothing() {
    let place = Place::with_hotel();
    let server = place.serve();
    place.prints(&["hotel", "tokens", "revoke", "agent"]);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let (status, reply) = support::post(&server.address, "/mcp", &server.token, &ping).unwrap();
    assert_eq!(status, 401);
    assert_eq!(reply["error"]["data"]["code"], "MCP_AUTH_INVALID");
}
