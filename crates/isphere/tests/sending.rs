//! The two tools that send, as a client sees them: previews, the closed gate, keys, and what is never told.
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test may panic, and json! makes values"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use govern::audit::{Recorder, RecorderHandle};
use govern::clock::Clock;
use govern::credentials::{Caller, Scope};
use govern::gate::{Gate, Policy};
use govern::hex::hex;
use govern::mcp::{McpOptions, Server, stdio};
use govern::random::Random;
use govern::tool::{SchemaProfile, Service as _};
use isphere::app::Isphere;
use isphere::audit::Trail;
use isphere::model::{Contact, Conversation, ConversationType, FileEntry, Group, Message, SourceName};
use isphere::settings::Settings;
use isphere::sources::choice::Sources;
use isphere::sources::{Answer, Download, FileQuery, Hit, Lookup, MessageQuery, Page, Source, SourceError};
use isphere::tools::IsphereTools;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

const NOW_MS: i64 = 1_796_049_720_000;

/// An office of one person, one who left, one group, one that was closed, and the client's notices. Only what a send looks
/// up is there.
struct Office {
    up: bool,
}

fn nothing<T: Send + 'static>() -> Answer<'static, Page<T>> {
    std::future::ready(Ok(Page { items: Vec::new(), next: None, warnings: Vec::new() })).boxed()
}

fn found<T: Send + 'static>(item: Option<T>) -> Answer<'static, Option<T>> {
    std::future::ready(Ok(item)).boxed()
}

impl Source for Office {
    fn name(&self) -> SourceName {
        SourceName::Mock
    }

    fn health(&self) -> BoxFuture<'_, Result<(), SourceError>> {
        let down = SourceError::Unavailable { message: "the office is closed".to_owned(), retryable: true };
        std::future::ready(if self.up { Ok(()) } else { Err(down) }).boxed()
    }

    fn contact<'a>(&'a self, contact_id: &'a str) -> Answer<'a, Option<Contact>> {
        found(matches!(contact_id, "zhangsan" | "left").then(|| Contact {
            contact_id: contact_id.to_owned(),
            display_name: "张三\u{202E}".to_owned(),
            account: None,
            department: None,
            title: None,
            active: contact_id != "left",
            raw_ref: "mock:contacts#000000000001".to_owned(),
        }))
    }

    fn group<'a>(&'a self, group_id: &'a str) -> Answer<'a, Option<Group>> {
        found(matches!(group_id, "sales" | "closed").then(|| Group {
            group_id: group_id.to_owned(),
            display_name: "销售部".to_owned(),
            member_count: Some(12),
            owner_ref: None,
            archived: group_id == "closed",
            raw_ref: "mock:groups#000000000001".to_owned(),
        }))
    }

    fn conversation<'a>(&'a self, conversation_id: &'a str) -> Answer<'a, Option<Conversation>> {
        found(matches!(conversation_id, "talk" | "notices").then(|| Conversation {
            conversation_id: conversation_id.to_owned(),
            conversation_type: match conversation_id {
                "talk" => ConversationType::Group,
                _ => ConversationType::System,
            },
            display_name: "周会".to_owned(),
            peer_id: (conversation_id == "talk").then(|| "sales".to_owned()),
        }))
    }

    fn contacts<'a>(&'a self, _: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Contact>>> {
        nothing()
    }

    fn groups<'a>(&'a self, _: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Group>>> {
        nothing()
    }

    fn conversations<'a>(&'a self, _: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Conversation>>> {
        nothing()
    }

    fn messages<'a>(&'a self, _: &'a MessageQuery<'a>) -> Answer<'a, Page<Message>> {
        nothing()
    }

    fn files<'a>(&'a self, _: &'a FileQuery<'a>) -> Answer<'a, Page<FileEntry>> {
        nothing()
    }

    fn file<'a>(&'a self, _: &'a str) -> Answer<'a, Option<FileEntry>> {
        found(None)
    }

    fn download<'a>(&'a self, _: &'a str) -> Answer<'a, Download> {
        std::future::ready(Err(SourceError::NotFound("there is no such file".to_owned()))).boxed()
    }
}

/// Keeps what is written to any of its clones.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A server over the office, with a file `报表.txt` to send.
struct Desk {
    home: tempfile::TempDir,
    server: Arc<Server<IsphereTools>>,
    recorder: RecorderHandle,
}

impl Desk {
    fn new() -> Self {
        Self::with(Policy::default(), true)
    }

    fn with(policy: Policy, up: bool) -> Self {
        let home = tempfile::tempdir().unwrap();
        let outbound = home.path().join("outbound");
        fs::create_dir(&outbound).unwrap();
        fs::write(outbound.join("报表.txt"), "营收").unwrap();
        let settings = Settings {
            state_dir: home.path().join("state"),
            outbound_dir: Some(outbound),
            operator_id: Some("ops-7".to_owned()),
            max_file_bytes: 1_000,
            ..Settings::default()
        };
        Self::over(home, settings, &policy, up)
    }

    fn over(home: tempfile::TempDir, settings: Settings, policy: &Policy, up: bool) -> Self {
        let (clock, random) = (Clock::manual(NOW_MS), Random::seeded(1));
        let office: Arc<dyn Source> = Arc::new(Office { up });
        let sources = Sources::new([(SourceName::Mock, Ok(office))], clock.clone());
        let app = Isphere::with_sources(settings, policy, sources, clock.clone(), random.clone()).unwrap();
        let trail = Trail::open(&app.settings.state_dir, app.key.clone(), clock.clone()).unwrap();
        let (queue, recorder) = Recorder::start(Arc::new(trail));
        let gate = Arc::new(Gate::new(policy, IsphereTools::tools()));
        let service = Arc::new(IsphereTools(Arc::new(app)));
        let server = Arc::new(Server::new(service, gate, queue, McpOptions::default(), clock, random));
        Self { home, server, recorder }
    }

    fn state(&self) -> PathBuf {
        self.home.path().join("state")
    }

    /// The result of one request over stdio.
    async fn ask(&self, caller: Caller, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let (server, written, runtime) = (Arc::clone(&self.server), Written::default(), Handle::current());
        let output = written.clone();
        let served = spawn_blocking(move || {
            stdio::serve(&server, &Arc::new(caller), request.as_bytes(), output, &runtime)
        });
        served.await.unwrap().unwrap();
        let reply = written.0.lock().unwrap().clone();
        serde_json::from_slice::<Value>(&reply).unwrap()["result"].clone()
    }

    /// The whole result of a call, whose structured content satisfies both output schemas.
    async fn call_as(&self, caller: Caller, tool: &str, arguments: Value) -> Value {
        let result = self.ask(caller, "tools/call", json!({"name": tool, "arguments": arguments})).await;
        let tool = IsphereTools::tools().iter().find(|known| known.name == tool).unwrap();
        for profile in [SchemaProfile::Portable, SchemaProfile::Contract] {
            let schema = jsonschema::validator_for(&(tool.output)(profile)).unwrap();
            let faults: Vec<_> =
                schema.iter_errors(&result["structuredContent"]).map(|fault| fault.to_string()).collect();
            assert!(faults.is_empty(), "{profile:?}: {faults:?}\n{result}");
        }
        assert_eq!(result["isError"].as_bool().unwrap_or(false), result["structuredContent"]["ok"] == false);
        result
    }

    async fn send_message(&self, change: Value) -> Value {
        let arguments = changed(message(), change);
        self.call_as(Caller::local(), "isphere_send_message", arguments).await["structuredContent"].clone()
    }

    async fn send_file(&self, change: Value) -> Value {
        let arguments = changed(file(), change);
        self.call_as(Caller::local(), "isphere_send_file", arguments).await["structuredContent"].clone()
    }

    /// Stops the server; the records in its trail, and the folder it leaves behind.
    async fn stop(self) -> (Vec<Value>, tempfile::TempDir) {
        self.recorder.shutdown().await;
        let mut records = Vec::new();
        for file in fs::read_dir(self.home.path().join("state/audit")).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                let lines = fs::read_to_string(path).unwrap();
                records.extend(lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
            }
        }
        (records, self.home)
    }
}

/// All bytes of all files below `folder`.
fn all_bytes(folder: &Path) -> Vec<u8> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { all_bytes(&path) } else { fs::read(path).unwrap() }).collect()
}

fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text))
}

fn message() -> Value {
    json!({"target_type": "direct", "target_id": "zhangsan", "content_text": "你好 😀",
        "content_sha256": sha256("你好 😀"), "idempotency_key": "key-1"})
}

fn file() -> Value {
    json!({"target_type": "group", "target_id": "sales", "file_path": "报表.txt", "caption": "三月",
        "idempotency_key": "key-1"})
}

/// `arguments` with the members of `change`; a member `"-"` is taken away.
fn changed(mut arguments: Value, change: Value) -> Value {
    for (name, value) in change.as_object().unwrap() {
        if value == "-" {
            arguments.as_object_mut().unwrap().remove(name);
        } else {
            arguments[name] = value.clone();
        }
    }
    arguments
}

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
    assert_eq!((code(&answer), answer["error"]["retryable"].as_bool()), ("SOURCE_UNAVAILABLE", Some(true)));
    let answer = Desk::new().send_file(json!({"source_preference": "network"})).await;
    assert_eq!((code(&answer), answer["audit"]["source"].as_str()), ("SOURCE_UNAVAILABLE", Some("network")));
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
