//! The two tools that send, as a client sees them: previews, the closed gate, keys, and what is never told.
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test may panic, and json! makes values"
)]

mod desk;

use std::fs;

use desk::{Desk, Written, all_bytes, changed, file, message, sha256};
use govern::credentials::{Caller, Scope};
use govern::gate::Policy;
use isphere::settings::Settings;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

fn text(text: &str) -> Value {
    json!({"content_text": text, "content_sha256": sha256(text)})
}

fn code(answer: &Value) -> &str {
    answer["error"]["code"].as_str().unwrap_or("ok")
}

#[tokio::test]
async fn a_preview_of_a_message_has_every_field_of_the_contract() {
    insta::assert_json_snapshot!(Desk::new().send_message(json!({})).await);
}

#[tokio::test]
async fn a_preview_of_a_file_has_every_field_of_the_contract() {
    insta::assert_json_snapshot!(Desk::new().send_file(json!({})).await);
}

#[tokio::test]
async fn production_of_a_message_is_blocked_and_names_the_missing_evidence() {
    insta::assert_json_snapshot!(Desk::new().send_message(json!({"execution_mode": "production"})).await);
}

#[tokio::test]
async fn production_of_a_file_is_rejected_and_names_the_missing_evidence() {
    insta::assert_json_snapshot!(Desk::new().send_file(json!({"execution_mode": "production"})).await);
}

#[tokio::test]
async fn production_says_that_it_is_blocked_also_when_something_else_is_wrong() {
    let desk = Desk::new();
    let production = json!({"execution_mode": "production", "target_id": "nobody"});
    let message = desk.send_message(production.clone()).await;
    assert_eq!((code(&message), message["send_status"].as_str()), ("TARGET_NOT_FOUND", Some("blocked")));
    assert_eq!(message["side_effects"]["sent_message"], false);
    assert!(message["target"].is_null());
    let file = desk.send_file(production).await;
    assert_eq!((code(&file), file["send_status"].as_str()), ("TARGET_NOT_FOUND", Some("rejected")));

    let incomplete = json!({"execution_mode": "production", "target_id": "-", "target_type": 5});
    let message = desk.send_message(incomplete.clone()).await;
    assert_eq!((code(&message), message["send_status"].as_str()), ("INVALID_ARGUMENT", Some("blocked")));
    assert_eq!(message["audit"]["execution_mode"], "production");
    let file = desk.send_file(incomplete).await;
    assert_eq!((code(&file), file["send_status"].as_str()), ("INVALID_ARGUMENT", Some("rejected")));
}

#[tokio::test]
async fn production_that_is_not_let_through_says_that_it_is_blocked() {
    let policy = Policy { per_minute: std::num::NonZeroU32::new(1), ..Policy::default() };
    for (tool, arguments, status) in
        [("isphere_send_message", message(), "blocked"), ("isphere_send_file", file(), "rejected")]
    {
        let desk = Desk::with(policy.clone(), true);
        let production = changed(arguments.clone(), json!({"execution_mode": "production"}));
        desk.call_as(Caller::local(), tool, arguments.clone()).await;
        let answer = desk.call_as(Caller::local(), tool, production).await["structuredContent"].clone();
        assert_eq!((code(&answer), answer["send_status"].as_str()), ("WRITE_NOT_READY", Some(status)));
        assert_eq!(answer["audit"]["execution_mode"], "production");
        assert_eq!(
            (&answer["error"]["retryable"], &answer["error"]["retry_after_ms"]),
            (&json!(true), &json!(60_000))
        );
        let preview = desk.call_as(Caller::local(), tool, arguments).await["structuredContent"].clone();
        assert_eq!((code(&preview), &preview["send_status"]), ("WRITE_NOT_READY", &json!(null)));
    }
}

#[tokio::test]
async fn a_preview_that_fails_has_null_fields() {
    let answer = Desk::new().send_message(json!({"target_id": "nobody"})).await;
    let fields =
        ["execution_mode", "send_status", "connector", "target", "content", "idempotency", "side_effects"];
    assert!(fields.iter().all(|field| answer[field].is_null()), "{answer}");
    assert_eq!(answer["audit"]["target_ref"], "contact:nobody");
}

#[tokio::test]
async fn what_is_wrong_with_a_message_is_named_by_its_field() {
    let desk = Desk::new();
    let long = "长".repeat(20_001);
    let cases = [
        (json!({"target_type": "contact"}), "target_type"),
        (json!({"target_type": "-"}), "target_type"),
        (json!({"target_id": ""}), "target_id"),
        (json!({"target_id": "x".repeat(513)}), "target_id"),
        (json!({"target_id": 7}), "target_id"),
        (text(""), "content_text"),
        (text(&long), "content_text"),
        (json!({"content_text": null}), "content_text"),
        (json!({"content_sha256": sha256("another")}), "content_sha256"),
        (json!({"content_sha256": "abc"}), "content_sha256"),
        (json!({"content_sha256": "-"}), "content_sha256"),
        (json!({"idempotency_key": ""}), "idempotency_key"),
        (json!({"idempotency_key": "   "}), "idempotency_key"),
        (json!({"idempotency_key": "-"}), "idempotency_key"),
        (json!({"execution_mode": "PRODUCTION"}), "execution_mode"),
        (json!({"source_preference": "auto"}), "source_preference"),
        (json!({"urgent": true}), "urgent"),
    ];
    for (change, field) in cases {
        let answer = desk.send_message(change.clone()).await;
        assert_eq!(
            (code(&answer), answer["error"]["field"].as_str()),
            ("INVALID_ARGUMENT", Some(field)),
            "{change}"
        );
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_file_is_named_by_its_field() {
    let desk = Desk::new();
    fs::write(desk.home.path().join("outbound/large.bin"), [0; 1_001]).unwrap();
    let cases = [
        (json!({"target_type": "direct"}), "target_type"),
        (json!({"target_type": "conversation", "target_id": "notices"}), "target_id"),
        (json!({"file_path": ""}), "file_path"),
        (json!({"file_path": "../state/audit.key"}), "file_path"),
        (json!({"file_path": "/etc/passwd"}), "file_path"),
        (json!({"file_path": "报表.txt\u{0}"}), "file_path"),
        (json!({"file_path": "NUL.txt"}), "file_path"),
        (json!({"file_path": "."}), "file_path"),
        (json!({"file_path": "large.bin"}), "file_path"),
        (json!({"caption": "长".repeat(20_001)}), "caption"),
        (json!({"idempotency_key": ""}), "idempotency_key"),
        (json!({"source_preference": "local_readonly"}), "source_preference"),
    ];
    for (change, field) in cases {
        let answer = desk.send_file(change.clone()).await;
        assert_eq!(
            (code(&answer), answer["error"]["field"].as_str()),
            ("INVALID_ARGUMENT", Some(field)),
            "{change}"
        );
    }
}

#[tokio::test]
async fn null_means_the_same_as_absent_for_what_is_optional() {
    let desk = Desk::new();
    let message = json!({"execution_mode": null, "source_preference": null});
    assert_eq!(code(&desk.send_message(message).await), "ok");
    let file =
        json!({"caption": null, "execution_mode": null, "idempotency_key": null, "source_preference": null});
    let answer = desk.send_file(file).await;
    assert_eq!((code(&answer), &answer["audit"]["content_sha256"]), ("ok", &Value::Null));
}

#[tokio::test]
async fn a_mismatch_of_the_digest_tells_both_digests() {
    let answer = Desk::new().send_message(json!({"content_sha256": sha256("other")})).await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains(&sha256("other")) && message.contains(&sha256("你好 😀")), "{message}");
}

#[tokio::test]
async fn a_target_is_looked_up_and_what_is_odd_about_it_is_told() {
    let desk = Desk::new();
    let warned = |answer: &Value| answer["warnings"][0]["code"].as_str().map(str::to_owned);
    let cases = [
        (json!({"target_type": "contact", "target_id": "zhangsan"}), "ok", None),
        (json!({"target_type": "contact", "target_id": "left"}), "ok", Some("TARGET_INACTIVE")),
        (json!({"target_type": "group", "target_id": "closed"}), "ok", Some("TARGET_INACTIVE")),
        (json!({"target_type": "conversation", "target_id": "talk"}), "ok", None),
        (json!({"target_type": "contact", "target_id": "sales"}), "TARGET_NOT_FOUND", None),
        (json!({"target_type": "conversation", "target_id": "zhangsan"}), "TARGET_NOT_FOUND", None),
    ];
    for (mut change, expected, warning) in cases {
        change["idempotency_key"] = json!("-");
        let answer = desk.send_file(change.clone()).await;
        assert_eq!((code(&answer), warned(&answer).as_deref()), (expected, warning), "{change}");
    }
}

#[tokio::test]
async fn a_name_is_shown_without_hidden_characters() {
    let answer = Desk::new().send_file(json!({"target_type": "contact", "target_id": "zhangsan"})).await;
    assert_eq!(answer["target"]["display_name"], "张三");
}

#[tokio::test]
async fn what_the_policy_denies_is_refused() {
    let denied = Policy { deny: vec!["contact:zhangsan".into(), "group:sales".into()], ..Policy::default() };
    let desk = Desk::with(denied, true);
    assert_eq!(code(&desk.send_message(json!({})).await), "PERMISSION_DENIED");
    assert_eq!(code(&desk.send_file(json!({})).await), "PERMISSION_DENIED");
    let talk = json!({"target_type": "conversation", "target_id": "talk"});
    assert_eq!(code(&desk.send_file(talk).await), "PERMISSION_DENIED", "it is the group's conversation");
    let production = desk.send_message(json!({"execution_mode": "production"})).await;
    assert_eq!(
        (code(&production), production["send_status"].as_str()),
        ("PERMISSION_DENIED", Some("blocked"))
    );
}

#[tokio::test]
async fn a_file_that_is_not_there_and_a_server_without_a_folder_say_so() {
    let desk = Desk::new();
    assert_eq!(code(&desk.send_file(json!({"file_path": "四月.txt"})).await), "TARGET_NOT_FOUND");
    let home = tempfile::tempdir().unwrap();
    let settings = Settings { state_dir: home.path().join("state"), ..Settings::default() };
    let desk = Desk::over(home, settings, &Policy::default(), true);
    let answer = desk.send_file(json!({})).await;
    assert_eq!(code(&answer), "WRITE_NOT_READY");
    assert!(answer["error"]["message"].as_str().unwrap().contains("outbound_dir"));
}

#[tokio::test]
async fn without_a_source_no_target_can_be_looked_up() {
    let desk = Desk::with(Policy::default(), false);
    let answer = desk.send_message(json!({})).await;
    assert_eq!((code(&answer), answer["error"]["retryable"].as_bool()), ("WRITE_NOT_READY", Some(true)));
    assert!(answer["error"]["message"].as_str().unwrap().contains("the office is closed"), "{answer}");
    let answer = Desk::new().send_file(json!({"source_preference": "network"})).await;
    assert_eq!((code(&answer), answer["audit"]["source"].as_str()), ("WRITE_NOT_READY", Some("network")));
    assert_eq!(answer["error"]["retryable"], false);
}

#[tokio::test]
async fn the_same_call_again_is_answered_the_same_under_another_request_id() {
    let desk = Desk::new();
    for send in 0..2 {
        let (mut first, mut second) = match send {
            0 => (desk.send_message(json!({})).await, desk.send_message(json!({})).await),
            _ => (desk.send_file(json!({})).await, desk.send_file(json!({})).await),
        };
        assert_ne!(first["audit"]["request_id"], second["audit"]["request_id"]);
        first["audit"]["request_id"].take();
        second["audit"]["request_id"].take();
        assert_eq!(first, second);
    }
}

#[tokio::test]
async fn a_key_is_bound_to_target_and_content() {
    let desk = Desk::new();
    assert_eq!(code(&desk.send_message(json!({})).await), "ok");
    assert_eq!(code(&desk.send_file(json!({})).await), "ok", "keys of two tools are two keys");
    fs::write(desk.home.path().join("outbound/copy.txt"), "营收").unwrap();
    let production = json!({"execution_mode": "production"});
    for phase in [json!({}), production] {
        for change in [
            text("再见"),
            json!({"target_id": "left"}),
            json!({"target_type": "group", "target_id": "sales"}),
        ] {
            let answer = desk.send_message(changed(change.clone(), phase.clone())).await;
            let field = answer["error"]["field"].as_str();
            assert_eq!(
                (code(&answer), field),
                ("INVALID_ARGUMENT", Some("idempotency_key")),
                "{change} {phase}"
            );
        }
        for change in [json!({"caption": "四月"}), json!({"file_path": "copy.txt"}), json!({"caption": "-"})]
        {
            let answer = desk.send_file(changed(change.clone(), phase.clone())).await;
            let field = answer["error"]["field"].as_str();
            assert_eq!(
                (code(&answer), field),
                ("INVALID_ARGUMENT", Some("idempotency_key")),
                "{change} {phase}"
            );
        }
    }
    fs::write(desk.home.path().join("outbound/报表.txt"), "亏损").unwrap();
    assert_eq!(
        desk.send_file(json!({})).await["error"]["field"],
        "idempotency_key",
        "the file has other content now"
    );
}

#[tokio::test]
async fn a_preview_that_failed_and_production_that_was_blocked_leave_the_key_free() {
    let desk = Desk::new();
    assert_eq!(code(&desk.send_message(json!({"target_id": "nobody"})).await), "TARGET_NOT_FOUND");
    assert_eq!(code(&desk.send_message(json!({"execution_mode": "production"})).await), "WRITE_NOT_READY");
    let other = changed(text("再见"), json!({"target_id": "left"}));
    assert_eq!(code(&desk.send_message(other).await), "ok");
}

#[tokio::test]
async fn production_after_its_preview_is_blocked_by_the_gate_alone() {
    let desk = Desk::new();
    assert_eq!(code(&desk.send_message(json!({})).await), "ok");
    for _ in 0..2 {
        assert_eq!(
            code(&desk.send_message(json!({"execution_mode": "production"})).await),
            "WRITE_NOT_READY"
        );
    }
    assert_eq!(code(&desk.send_message(json!({})).await), "ok");
}

#[tokio::test]
async fn a_key_is_known_to_a_second_server_on_the_same_state_folder() {
    let desk = Desk::new();
    assert_eq!(code(&desk.send_message(json!({})).await), "ok");
    let settings = Settings { state_dir: desk.state(), ..Settings::default() };
    let second = Desk::over(tempfile::tempdir().unwrap(), settings, &Policy::default(), true);
    assert_eq!(code(&second.send_message(json!({})).await), "ok");
    assert_eq!(second.send_message(text("再见")).await["error"]["field"], "idempotency_key");
}

#[tokio::test]
async fn a_read_only_server_hides_and_refuses_sends() {
    let desk = Desk::with(Policy { read_only: true, ..Policy::default() }, true);
    let listed = desk.ask(Caller::local(), "tools/list", json!({})).await;
    let names: Vec<_> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(
        names.iter().all(|name| !name.contains("send")) && names.contains(&"isphere_receive_messages"),
        "{names:?}"
    );
    assert_eq!(code(&desk.send_message(json!({})).await), "WRITE_NOT_READY");
    assert_eq!(code(&desk.send_file(json!({})).await), "WRITE_NOT_READY");
}

#[tokio::test]
async fn a_caller_without_the_scope_does_not_send() {
    let desk = Desk::new();
    let reader = Caller { name: "reader".to_owned(), scopes: vec![Scope::new("read")] };
    let answer = desk.call_as(reader, "isphere_send_message", message()).await;
    assert_eq!(code(&answer["structuredContent"]), "PERMISSION_DENIED");
}

#[tokio::test]
async fn the_record_of_a_send_tells_target_digests_and_mode() {
    let desk = Desk::new();
    desk.send_message(json!({})).await;
    desk.send_file(json!({"execution_mode": "production"})).await;
    let (records, _home) = desk.stop().await;
    let members = ["operation", "effect", "outcome", "code", "target", "digest", "detail"];
    let told = |record: &Value| members.map(|member| (member.to_owned(), record[member].clone()));
    let told: Vec<Value> = records.iter().map(|record| told(record).into_iter().collect()).collect();
    insta::assert_json_snapshot!(told);
}

#[tokio::test]
async fn texts_captions_and_keys_are_in_no_answer_trail_ledger_or_log() {
    let log = Written::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    // Only this test sets it; other tests of this file may write to the log as well.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let desk = Desk::new();
    let (secret, key) = ("CANARY-TEXT-7f3a", "CANARY-KEY-91bc");
    let changes = [
        json!({}),
        json!({"execution_mode": "production"}),
        json!({"target_id": "nobody"}),
        json!({"idempotency_key": format!("{key} ").repeat(40)}),
        json!({"extra": secret}),
        json!({"source_preference": "auto"}),
        json!({"execution_mode": "production", "target_id": "nobody"}),
    ];
    let mut answers = String::new();
    for change in &changes {
        for text in [secret.to_owned(), format!("{secret} again"), secret.repeat(2_000)] {
            let sent = json!({"content_text": text, "content_sha256": sha256(&text), "idempotency_key": key});
            let arguments = changed(changed(message(), sent), change.clone());
            answers += &desk.call_as(Caller::local(), "isphere_send_message", arguments).await.to_string();
            let wrong = json!({"content_text": text, "content_sha256": text, "idempotency_key": key});
            let arguments = changed(changed(message(), wrong), change.clone());
            answers += &desk.call_as(Caller::local(), "isphere_send_message", arguments).await.to_string();
            let sent = json!({"caption": text, "idempotency_key": key});
            let arguments = changed(changed(file(), sent), change.clone());
            answers += &desk.call_as(Caller::local(), "isphere_send_file", arguments).await.to_string();
        }
    }
    // With the server's write-ahead log, which is gone once it has stopped.
    let mut state = all_bytes(&desk.state());
    let (records, home) = desk.stop().await;
    assert!(
        records.len() == changes.len() * 9 && answers.contains(&sha256(secret)),
        "the calls were really made"
    );
    state.extend(all_bytes(&home.path().join("state")));
    let planned = state.windows(32).any(|bytes| bytes == Sha256::digest(key).as_slice());
    assert!(planned, "the key's digest is in the ledger");
    let log = log.0.lock().unwrap().clone();
    for (place, bytes) in [("answers", answers.into_bytes()), ("state", state), ("log", log)] {
        let found = bytes.windows(6).position(|found| found == b"CANARY");
        let around = found.map(|at| String::from_utf8_lossy(&bytes[at.saturating_sub(200)..at + 6]));
        assert_eq!(around, None, "found in {place}");
    }
}
