//! isphere_receive_files: lists, previews, downloads, and every way out of the inbound folder.
#![allow(clippy::needless_pass_by_value, reason = "a call of a test reads better with the value itself")]
#![allow(clippy::unwrap_used, reason = "a test may")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use common::{Fake, NOW_MS, Rig, ids, tree};
use govern::gate::Policy;
use govern::random::Random;
use isphere::files::inbound::{Folder, Inbound, InboundError};
use isphere::settings::Settings;
use isphere::sources::Download;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const TOOL: &str = "isphere_receive_files";

fn download(more: Value) -> Value {
    let mut arguments = json!({"mode": "download", "output_dir": ".", "file_id": "f0", "preview": false});
    for (name, value) in more.as_object().unwrap() {
        match value {
            Value::Null => arguments.as_object_mut().unwrap().remove(name),
            value => arguments.as_object_mut().unwrap().insert(name.clone(), value.clone()),
        };
    }
    arguments
}

/// A source with one file of this name.
fn named(name: &str) -> Fake {
    let mut source = Fake::organisation();
    source.files.clear();
    source.add_file(0, "c1", name, b"content".to_vec());
    source
}

fn saved(answer: &Value) -> Vec<String> {
    assert_eq!(answer["ok"], true, "{answer}");
    ids(&answer["files"], "saved_path")
}

#[tokio::test]
async fn a_list_is_answered_as_the_contract_writes_it() {
    let rig = Rig::new(Fake::organisation());
    insta::assert_json_snapshot!(rig.answer(TOOL, json!({"conversation_id": "c1", "limit": 1})).await);
    let (files, pages) = rig.all(TOOL, json!({"limit": 3}), "files").await;
    assert_eq!((files.len(), pages), (4, 2));
    assert_eq!(rig.answer(TOOL, json!({"message_id": "m1"})).await["files"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn arguments_that_do_not_go_together_are_refused() {
    let rig = Rig::new(Fake::organisation());
    for (arguments, field) in [
        (json!({"file_id": "f0"}), "file_id"),
        (json!({"mode": "download", "file_id": "f0"}), "output_dir"),
        (json!({"mode": "download", "output_dir": "a"}), "file_id"),
        (json!({"mode": "upload"}), "mode"),
        (json!({"limit": 0}), "limit"),
        (json!({"limit": 201}), "limit"),
        (json!({"limit": -1}), "limit"),
        (json!({"limit": "20"}), "limit"),
        (json!({"limit": 1e9}), "limit"),
        (json!({"conversation_id": ""}), "conversation_id"),
    ] {
        let answer = rig.answer(TOOL, arguments.clone()).await;
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["field"]),
            (&json!("INVALID_ARGUMENT"), &json!(field)),
            "{arguments}"
        );
        assert_eq!((&answer["files"], &answer["mode"]), (&json!([]), &json!(null)));
    }
    for arguments in [
        download(json!({"file_id": "nothing"})),
        download(json!({"conversation_id": "d1"})),
        download(json!({"file_id": null, "message_id": "nothing"})),
        json!({"conversation_id": "nothing"}),
        json!({"message_id": "nothing"}),
    ] {
        assert_eq!(rig.code(TOOL, arguments).await, "TARGET_NOT_FOUND");
    }
}

#[tokio::test]
async fn a_download_is_a_preview_unless_asked_otherwise() {
    let rig = Rig::new(Fake::organisation());
    let answer = rig.answer(TOOL, download(json!({"preview": null, "output_dir": "一月/二"}))).await;
    assert_eq!(saved(&answer), ["一月/二/报表0.txt"]);
    assert_eq!(
        (&answer["files"][0]["sha256"], &answer["audit"]["execution_mode"]),
        (&json!(null), &json!("preview"))
    );
    assert_eq!(fs::read_dir(rig.inbound()).unwrap().count(), 0, "nothing is written");
}

#[tokio::test]
async fn a_downloaded_file_has_the_bytes_and_the_digest_of_the_source() {
    let rig = Rig::new(Fake::organisation());
    let answer = rig.answer(TOOL, download(json!({"output_dir": "一月"}))).await;
    assert_eq!(saved(&answer), ["一月/报表0.txt"]);
    assert_eq!(tree(&rig.inbound()), BTreeMap::from([("一月/报表0.txt".to_owned(), b"content 0".to_vec())]));
    let digest = govern::hex::hex(&Sha256::digest(b"content 0"));
    assert_eq!(
        (&answer["files"][0]["sha256"], &answer["audit"]["file_sha256"]),
        (&json!(digest), &json!(digest))
    );
    assert_eq!(answer["audit"]["target_ref"], "file:f0");
    insta::assert_json_snapshot!(answer);
}

#[tokio::test]
async fn the_files_of_a_conversation_are_saved_page_by_page() {
    let rig = Rig::new(Fake::organisation());
    let arguments = download(json!({"file_id": null, "conversation_id": "c1", "limit": 3}));
    let (files, pages) = rig.all(TOOL, arguments, "files").await;
    assert_eq!((files.len(), pages, tree(&rig.inbound()).len()), (4, 2, 4));
}

#[tokio::test]
async fn without_permission_to_write_a_download_is_preview_only() {
    let unset = |settings: &mut Settings| settings.inbound_dir = None;
    let rig = Rig::with(Fake::organisation(), Policy::default(), unset);
    let answer = rig.answer(TOOL, download(json!({}))).await;
    assert_eq!(answer["error"]["code"], "PREVIEW_ONLY");
    assert!(answer["error"]["message"].as_str().unwrap().contains("inbound_dir"));
    assert_eq!(saved(&rig.answer(TOOL, download(json!({"preview": true}))).await), ["报表0.txt"]);
    let policy = Policy { read_only: true, ..Policy::default() };
    let rig = Rig::with(Fake::organisation(), policy, |_| ());
    let answer = rig.answer(TOOL, download(json!({}))).await;
    assert_eq!(answer["error"]["code"], "PREVIEW_ONLY");
    assert!(answer["error"]["message"].as_str().unwrap().contains("read_only"));
}

#[tokio::test]
async fn an_output_dir_that_leads_out_or_is_no_plain_folder_is_refused() {
    let rig = Rig::new(Fake::organisation());
    fs::write(rig.inbound().join("file"), "x").unwrap();
    let beside = rig.home.path().join("inbound-2");
    fs::create_dir(&beside).unwrap();
    let mut attacks: Vec<String> = [
        "..",
        "a/../../b",
        "/",
        "/etc",
        "\\\\server\\share",
        "C:\\a",
        "CON",
        "a/nul.txt",
        "com1",
        "a.",
        "a ",
        "a\0b",
        "a:stream",
        "file",
        "file/a",
        "",
        " ",
    ]
    .map(str::to_owned)
    .into();
    attacks.push("长".repeat(86));
    attacks.push(beside.to_str().unwrap().to_owned());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&beside, rig.inbound().join("out")).unwrap();
        fs::create_dir(rig.inbound().join("in")).unwrap();
        std::os::unix::fs::symlink("in", rig.inbound().join("link")).unwrap();
        attacks.extend(["out".to_owned(), "out/a".to_owned(), "link".to_owned(), "link/a".to_owned()]);
    }
    for attack in attacks {
        for preview in [true, false] {
            let answer = rig.answer(TOOL, download(json!({"output_dir": attack, "preview": preview}))).await;
            assert_eq!(
                (&answer["error"]["code"], &answer["error"]["field"]),
                (&json!("INVALID_ARGUMENT"), &json!("output_dir")),
                "{attack:?}"
            );
            let home = rig.home.path().to_str().unwrap();
            assert!(!answer["error"]["message"].as_str().unwrap().contains(home), "no path is told");
        }
    }
    assert_eq!(fs::read_dir(&beside).unwrap().count(), 0);
    assert_eq!(tree(&rig.inbound()).len(), 1, "nothing was written inside either");
}

#[tokio::test]
async fn an_absolute_output_dir_inside_is_taken() {
    let rig = Rig::new(Fake::organisation());
    let inside = rig.inbound().join("a");
    let answer = rig.answer(TOOL, download(json!({"output_dir": inside.to_str().unwrap()}))).await;
    assert_eq!(saved(&answer), ["a/报表0.txt"]);
}

#[tokio::test]
async fn a_name_that_leads_out_becomes_a_plain_one() {
    for (name, expected) in [
        ("../../evil.txt", ".._.._evil.txt"),
        ("/etc/passwd", "_etc_passwd"),
        ("..\\evil.txt", ".._evil.txt"),
        ("NUL", "_NUL"),
        ("con.txt", "_con.txt"),
        ("a.txt. ", "a.txt"),
        ("a:b.txt", "a_b.txt"),
        ("..", "file"),
    ] {
        let rig = Rig::new(named(name));
        assert_eq!(saved(&rig.answer(TOOL, download(json!({}))).await), [expected], "{name:?}");
        assert_eq!(tree(&rig.inbound()).into_keys().collect::<Vec<_>>(), [expected]);
    }
}

#[tokio::test]
async fn a_chinese_name_of_more_than_255_bytes_is_cut_between_characters() {
    let rig = Rig::new(named(&format!("{}.docx", "报".repeat(150))));
    let path = saved(&rig.answer(TOOL, download(json!({}))).await).remove(0);
    assert!(path.len() <= 255 && path.ends_with("报.docx"), "{path}");
}

#[tokio::test]
async fn a_name_that_is_taken_in_any_case_is_numbered_and_nothing_is_overwritten() {
    let rig = Rig::new(named("Report.TXT"));
    fs::write(rig.inbound().join("report.txt"), "mine").unwrap();
    assert_eq!(saved(&rig.answer(TOOL, download(json!({}))).await), ["Report (2).TXT"]);
    assert_eq!(saved(&rig.answer(TOOL, download(json!({}))).await), ["Report (3).TXT"]);
    assert_eq!(tree(&rig.inbound())["report.txt"], b"mine");
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_that_lies_in_wait_is_not_written_through() {
    let rig = Rig::new(named("a.txt"));
    let outside = rig.home.path().join("outside");
    fs::write(&outside, "mine").unwrap();
    fs::hard_link(&outside, rig.inbound().join("a.txt")).unwrap();
    std::os::unix::fs::symlink(&outside, rig.inbound().join("a (2).txt")).unwrap();
    assert_eq!(saved(&rig.answer(TOOL, download(json!({}))).await), ["a (3).txt"]);
    assert_eq!(fs::read(&outside).unwrap(), b"mine");
}

#[tokio::test]
async fn two_downloads_of_one_file_at_once_get_two_names() {
    let rig = Rig::new(named("a.txt"));
    let (one, other) =
        tokio::join!(rig.answer(TOOL, download(json!({}))), rig.answer(TOOL, download(json!({}))));
    let mut names = [saved(&one), saved(&other)].concat();
    names.sort();
    assert_eq!(names, ["a (2).txt", "a.txt"]);
}

#[tokio::test]
async fn a_download_that_breaks_off_at_any_byte_leaves_nothing() {
    for at in 0..=7 {
        let rig = Rig::new(Fake { breaks_after: Some(at), ..named("a.txt") });
        assert_eq!(rig.code(TOOL, download(json!({}))).await, "CONNECTOR_FAILED");
        assert_eq!(tree(&rig.inbound()), BTreeMap::new(), "after {at} bytes");
    }
}

#[tokio::test]
async fn a_download_that_is_cancelled_or_times_out_leaves_nothing() {
    for at in [0, 3, 7] {
        let stalling = Fake { breaks_after: Some(at), stalls: true, ..named("a.txt") };
        let rig = Rig::with(stalling, Policy::default(), |settings| settings.timeout_ms = 50);
        let call = rig.answer(TOOL, download(json!({})));
        drop(tokio::time::timeout(std::time::Duration::from_millis(20), call).await);
        assert_eq!(tree(&rig.inbound()), BTreeMap::new(), "cancelled after {at} bytes");
        assert_eq!(rig.code(TOOL, download(json!({}))).await, "TIMEOUT");
        assert_eq!(tree(&rig.inbound()), BTreeMap::new(), "timed out after {at} bytes");
    }
}

#[tokio::test]
async fn an_inbound_folder_that_is_gone_is_told_and_one_that_was_made_again_is_used() {
    let rig = Rig::new(named("a.txt"));
    let away = rig.home.path().join("away");
    fs::rename(rig.inbound(), &away).unwrap();
    for preview in [true, false] {
        let answer = rig.answer(TOOL, download(json!({"preview": preview}))).await;
        assert_eq!(answer["error"]["code"], "INTERNAL_ERROR");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("inbound_dir") && !message.contains("away"), "{message}");
    }
    fs::create_dir(rig.inbound()).unwrap();
    assert_eq!(saved(&rig.answer(TOOL, download(json!({}))).await), ["a.txt"]);
    assert_eq!(tree(&rig.inbound()).len(), 1);
    assert_eq!(tree(&away), BTreeMap::new(), "nothing goes to the folder of before");
}

/// The folder that is moved away is the inbound folder itself, or one below it.
#[cfg(unix)]
#[tokio::test]
async fn a_folder_that_is_moved_while_a_file_is_saved_keeps_nothing_of_it() {
    for moved in ["inbound", "inbound/below"] {
        let home = tempfile::tempdir().unwrap();
        let (root, from, away) =
            (home.path().join("inbound"), home.path().join(moved), home.path().join("away"));
        fs::create_dir_all(root.join("below")).unwrap();
        let inbound = Inbound::open(&root, 100, Random::seeded(7)).unwrap();
        let mut folder = Folder::new(Some(&inbound), "below").unwrap();
        let content = Download { size_bytes: None, content: Box::new(&b"content"[..]) };
        let on_bytes = |_| {
            fs::rename(&from, &away).unwrap();
            fs::create_dir_all(root.join("below")).unwrap();
        };
        let error = inbound.save(&mut folder, "a.txt", content, &on_bytes).await.unwrap_err();
        assert!(matches!(error, InboundError::FolderMoved), "{error}");
        assert_eq!((tree(&root), tree(&away)), (BTreeMap::new(), BTreeMap::new()), "{moved}");
    }
}

/// Tells a child process its inbound folder.
const INBOUND: &str = "COUNTERSIGN_TEST_INBOUND";

/// Gives some bytes, then nothing more.
struct Stalling(bool);

impl tokio::io::AsyncRead for Stalling {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        if std::mem::replace(&mut self.0, true) {
            return std::task::Poll::Pending;
        }
        buffer.put_slice(b"half");
        std::task::Poll::Ready(Ok(()))
    }
}

/// Saves a file that never ends, and says so with `+` on stdout: in a process of its own, which the next test starts.
#[tokio::test]
async fn child() {
    let Ok(root) = std::env::var(INBOUND) else { return };
    let inbound = Inbound::open(root.as_ref(), 100, Random::System).unwrap();
    let mut folder = Folder::new(Some(&inbound), ".").unwrap();
    let content = Download { size_bytes: None, content: Box::new(Stalling(false)) };
    let say = |_| {
        std::io::stdout().write_all(b"+").unwrap();
        std::io::stdout().flush().unwrap();
    };
    inbound.save(&mut folder, "a.txt", content, &say).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not() {
    let rig = Rig::new(named("a.txt"));
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(INBOUND, rig.inbound())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut byte = [0];
    while byte != *b"+" {
        child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
    }
    let temporary = || {
        let names = tree(&rig.inbound()).into_keys();
        names.filter(|name| name.starts_with(".countersign-")).collect::<Vec<_>>()
    };
    let of_child = temporary();
    assert_eq!(of_child.len(), 1);
    let foreign = [".countersign-notes.part", ".countersign-0123456789abcdef.txt", "0123456789abcdef.part"];
    for name in foreign {
        fs::write(rig.inbound().join(name), "mine").unwrap();
    }

    rig.answer(TOOL, download(json!({}))).await;
    assert_eq!(temporary().into_iter().filter(|name| of_child.contains(name)).count(), 1, "it lives");
    child.kill().unwrap();
    child.wait().unwrap();
    rig.answer(TOOL, download(json!({"preview": true}))).await;
    assert!(temporary().contains(&of_child[0]), "a preview changes nothing");
    assert_eq!(saved(&rig.answer(TOOL, download(json!({}))).await), ["a (2).txt"]);
    assert!(!temporary().contains(&of_child[0]), "it is dead");
    assert_eq!(tree(&rig.inbound()).len(), 2 + foreign.len(), "the two downloads and what is not ours");
}

#[tokio::test]
async fn a_file_that_is_too_large_or_of_another_size_than_promised_is_not_saved() {
    let rig = Rig::with(named("a.txt"), Policy::default(), |settings| settings.max_file_bytes = 6);
    assert_eq!(rig.code(TOOL, download(json!({}))).await, "PERMISSION_DENIED");
    for promised in [None, Some(8), Some(6)] {
        let mut source = named("a.txt");
        source.files[0].0.size_bytes = promised;
        let small =
            |settings: &mut Settings| settings.max_file_bytes = if promised.is_none() { 6 } else { 100 };
        let rig = Rig::with(source, Policy::default(), small);
        let code = rig.code(TOOL, download(json!({}))).await;
        assert_eq!(code, if promised.is_none() { "PERMISSION_DENIED" } else { "CONNECTOR_FAILED" });
        assert_eq!(tree(&rig.inbound()), BTreeMap::new());
    }
}

#[tokio::test]
async fn one_file_that_fails_among_others_is_told_and_the_others_are_saved() {
    let mut source = Fake::organisation();
    source.add_file(9, "c1", "large.bin", vec![0; 100]);
    let rig = Rig::with(source, Policy::default(), |settings| settings.max_file_bytes = 50);
    let answer = rig.answer(TOOL, download(json!({"file_id": null, "conversation_id": "c1"}))).await;
    assert_eq!((&answer["ok"], &answer["warnings"][0]["code"]), (&json!(true), &json!("FILES_NOT_SAVED")));
    let unsaved: Vec<_> =
        answer["files"].as_array().unwrap().iter().filter(|file| file["saved_path"].is_null()).collect();
    assert_eq!((unsaved.len(), &unsaved[0]["file_id"]), (1, &json!("f9")));
    assert_eq!(tree(&rig.inbound()).len(), 4);
}

#[tokio::test]
async fn files_of_a_denied_conversation_are_hidden_and_refused() {
    let policy = Policy { deny: vec!["group:g1".into()], ..Policy::default() };
    let mut source = Fake::organisation();
    source.add_file(9, "d1", "mine.txt", b"x".to_vec());
    let rig = Rig::with(source, policy, |_| ());
    assert_eq!(ids(&rig.answer(TOOL, json!({})).await["files"], "file_id"), ["f9"]);
    for arguments in
        [download(json!({})), download(json!({"preview": true})), json!({"conversation_id": "c1"})]
    {
        assert_eq!(rig.code(TOOL, arguments).await, "PERMISSION_DENIED");
    }
    assert_eq!(tree(&rig.inbound()), BTreeMap::new());
}

/// Files whose rows name no conversation, or an unknown one, go by the conversation of their message; those of neither are
/// nobody's.
#[tokio::test]
async fn a_file_without_a_known_conversation_is_hidden_unless_its_message_may_be_seen() {
    let source = |conversation: Option<&str>| {
        let mut source = Fake::organisation();
        source.files.clear();
        // m0 is in d1 with u1, m1 in c1 of g1; there is no m99.
        for (number, message) in [(0, Some("m0")), (1, Some("m1")), (2, Some("m99")), (3, None)] {
            source.add_file(number, "c1", "a.txt", b"x".to_vec());
            let entry = &mut source.files.last_mut().unwrap().0;
            (entry.conversation_id, entry.message_id) =
                (conversation.map(str::to_owned), message.map(str::to_owned));
        }
        source
    };
    let list = |entry: &str| vec![entry.to_owned()];
    for (policy, seen) in [
        (Policy { deny: list("group:g1"), ..Policy::default() }, "f0"),
        (Policy { deny: list("conversation:d1"), ..Policy::default() }, "f1"),
        (Policy { allow: list("contact:u1"), ..Policy::default() }, "f0"),
    ] {
        for conversation in [None, Some("unknown")] {
            let rig = Rig::with(source(conversation), policy.clone(), |_| ());
            assert_eq!(ids(&rig.answer(TOOL, json!({})).await["files"], "file_id"), [seen]);
            for hidden in ["f0", "f1", "f2", "f3"].into_iter().filter(|id| *id != seen) {
                assert_eq!(rig.code(TOOL, download(json!({"file_id": hidden}))).await, "PERMISSION_DENIED");
            }
            let other = if seen == "f0" { "m1" } else { "m0" };
            for of_message in
                [download(json!({"file_id": null, "message_id": other})), json!({"message_id": other})]
            {
                assert_eq!(rig.code(TOOL, of_message).await, "PERMISSION_DENIED");
            }
            assert_eq!(tree(&rig.inbound()), BTreeMap::new());
        }
    }
    let rig = Rig::new(source(None));
    assert_eq!(rig.answer(TOOL, json!({})).await["files"].as_array().unwrap().len(), 4, "without lists");
}

#[tokio::test]
async fn a_message_is_unknown_only_when_there_is_neither_it_nor_a_file_of_it() {
    let mut source = Fake::organisation();
    source.add_file(9, "c1", "a.txt", b"x".to_vec());
    source.files.last_mut().unwrap().0.message_id = Some("m99".to_owned());
    let rig = Rig::new(source);
    let files =
        async |message_id: &str| rig.answer(TOOL, json!({"message_id": message_id})).await["files"].clone();
    assert_eq!(files("m0").await, json!([]), "a message without files");
    assert_eq!(ids(&files("m99").await, "file_id"), ["f9"], "a file of a message that is not there");
    assert_eq!(rig.code(TOOL, json!({"message_id": "m98"})).await, "TARGET_NOT_FOUND");
}

#[tokio::test]
async fn times_are_told_in_utc() {
    let rig = Rig::new(Fake::organisation());
    let answer = rig.answer(TOOL, json!({"limit": 1})).await;
    assert_eq!(answer["files"][0]["created_at"], govern::time::iso(NOW_MS - 1_000));
}
