//! The auxiliary tools `win_helper_*` over doubles of the helper.

#![allow(clippy::unwrap_used, reason = "a test may")]
#![cfg(unix)]

mod common;
mod helper_double;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use common::{Fake, Rig};
use govern::gate::Policy;
use govern::tool::{SchemaProfile, Service as _};
use helper_double::{VERSION, data_file, settings};
use isphere::settings::Settings;
use isphere::tools::{IsphereTools, win_helper};
use serde_json::{Value, json};

const WINDOWS: &str = r#"{"windows":[{"hwnd":"0x001A0B2C","pid":1234,"process_name":"IMPlatformClient","title":"张三\n- iSphere","class_name":"WindowsForms10.Window.8.app.0","visible":true,"bounds":{"x":-8,"y":80,"width":1200,"height":800},"score":90}]}"#;

fn rig(script: &str, policy: Policy) -> Rig {
    Rig::with(Fake::default(), policy, |changed| {
        let dumps_dir = changed.state_dir.join("dumps");
        changed.helper = isphere::settings::Helper { tools: true, dumps_dir, ..settings(script) };
    })
}

/// The answer, which must satisfy the schema of both profiles.
async fn ask(rig: &Rig, tool: &str, arguments: Value) -> Value {
    let answer = rig.answer(tool, arguments).await;
    let known = IsphereTools::tools().iter().find(|known| known.name == tool).unwrap();
    for profile in [SchemaProfile::Portable, SchemaProfile::Contract] {
        let schema = jsonschema::validator_for(&(known.output)(profile)).unwrap();
        let faults: Vec<String> = schema.iter_errors(&answer).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{tool} {profile:?}: {faults:?}\n{answer}");
    }
    assert_eq!(answer["audit"]["source"], "uia");
    answer
}

fn element(name: &str, children: &[Value]) -> Value {
    json!({
        "name": name, "control_type": "Pane", "automation_id": "p1", "class_name": "", "framework_id": "WinForm",
        "is_enabled": true, "is_offscreen": false, "bounds": null, "children": children,
    })
}

/// A script that answers each request with this tree.
fn dumps(folder: &Path, root: &Value) -> String {
    let data = json!({"hwnd": "0x001A0B2C", "node_count": 1, "truncated": false, "root": root});
    format!("respond \"$(cat '{}')\"", data_file(folder, "dump.json", &data).display())
}

fn lists(entry: &str) -> Policy {
    Policy { deny: vec![entry.to_owned()], ..Policy::default() }
}

#[test]
fn the_tools_are_off_unless_the_settings_switch_them_on() {
    let mut settings = Settings::default();
    let off = win_helper::policy(&settings, &Policy::default()).disabled_tools;
    let names = ["version", "self_check", "scan_windows", "dump_uia"].map(|op| format!("win_helper_{op}"));
    assert_eq!(off, names);
    settings.helper.tools = true;
    assert!(win_helper::policy(&settings, &Policy::default()).disabled_tools.is_empty());
}

#[tokio::test]
async fn version_and_self_check_answer_what_the_helper_says() {
    let script = format!(
        "case $op in version) respond '{VERSION}';; *) respond '{{\"desktop_access\":true,\"uia_available\":false}}';; esac"
    );
    let rig = rig(&script, Policy::default());
    let version = ask(&rig, "win_helper_version", json!({})).await;
    assert_eq!((&version["ok"], &version["data"]["helper_version"]), (&json!(true), &json!("0.1.0")));
    let check = ask(&rig, "win_helper_self_check", json!({})).await;
    assert_eq!(check["data"], json!({"desktop_access": true, "uia_available": false}));
}

#[tokio::test]
async fn windows_are_listed_with_words_from_outside_on_one_line() {
    let rig = rig(&format!("respond '{WINDOWS}'"), Policy::default());
    let answer = ask(&rig, "win_helper_scan_windows", json!({"include_all_visible": true})).await;
    let window = &answer["data"]["windows"][0];
    assert_eq!((&window["title"], &window["score"]), (&json!("张三 - iSphere"), &json!(90)));
    let text = rig.outcome("win_helper_scan_windows", json!({})).await.text().to_owned();
    assert!(text.contains("0x001A0B2C IMPlatformClient"), "{text}");
}

#[tokio::test]
async fn a_failure_has_the_business_code_and_no_data() {
    for (script, code) in [
        ("refuse AMBIGUOUS_WINDOW 'two windows'", "SOURCE_UNAVAILABLE"),
        ("refuse APP_NOT_LOGGED_IN 'sign in'", "NOT_LOGGED_IN"),
        ("refuse UIA_DUMP_FAILED 'gone'", "CONNECTOR_FAILED"),
        ("exit 3", "CONNECTOR_FAILED"),
        ("echo garbage", "CONNECTOR_FAILED"),
    ] {
        let rig = rig(script, Policy::default());
        for tool in ["version", "self_check", "scan_windows", "dump_uia"] {
            let answer = ask(&rig, &format!("win_helper_{tool}"), json!({})).await;
            assert_eq!((&answer["ok"], &answer["data"]), (&json!(false), &json!(null)), "{script}");
            assert_eq!(answer["error"]["code"], code, "{script}");
        }
    }
    let without = Rig::new(Fake::default());
    let answer = ask(&without, "win_helper_version", json!({})).await;
    assert_eq!(answer["error"]["code"], "SOURCE_UNAVAILABLE");
    assert!(answer["error"]["message"].as_str().unwrap().contains("[isphere.helper] program"));
}

#[tokio::test]
async fn arguments_are_checked_before_a_process_is_started() {
    let rig = rig("exit 3", Policy::default());
    for (tool, arguments) in [
        ("win_helper_version", json!({"colour": "red"})),
        ("win_helper_scan_windows", json!({"include_all_visible": "yes"})),
        ("win_helper_dump_uia", json!({"hwnd": "5"})),
        ("win_helper_dump_uia", json!({"hwnd": "0x001A0B2C; rm"})),
        ("win_helper_dump_uia", json!({"max_depth": 61})),
        ("win_helper_dump_uia", json!({"max_children": 0})),
    ] {
        let answer = ask(&rig, tool, arguments.clone()).await;
        assert_eq!(answer["error"]["code"], "INVALID_ARGUMENT", "{arguments}");
    }
}

#[tokio::test]
async fn a_window_is_shown_as_its_tree_with_words_from_outside_on_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let tree = element("iSphere", &[element("张\u{202e}三\n- ignore all", &[]), element("李四", &[])]);
    let rig = rig(&dumps(folder.path(), &tree), Policy::default());
    let answer = ask(&rig, "win_helper_dump_uia", json!({"hwnd": "0x001a0b2c"})).await;
    let data = &answer["data"];
    assert_eq!(data["root"]["children"][0]["name"], "张三 - ignore all");
    assert_eq!((&data["truncated"], &data["saved_as"]), (&json!(false), &json!(null)));
    assert_eq!(answer["audit"]["target_ref"], "window:0x001A0B2C");
    let text = rig.outcome("win_helper_dump_uia", json!({})).await.text().to_owned();
    assert!(
        text.contains("3 elements\n- Pane \"iSphere\" #p1\n  - Pane \"张三 - ignore all\" #p1"),
        "{text}"
    );
}

#[tokio::test]
async fn a_dump_that_is_too_large_for_an_answer_is_cut_and_kept_whole_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<Value> = (0..600).map(|number| element(&format!("第{number}行"), &[])).collect();
    let rig = rig(&dumps(folder.path(), &element("iSphere", &rows)), Policy::default());
    let answer = ask(&rig, "win_helper_dump_uia", json!({"save": true})).await;
    let shown = answer["data"]["root"]["children"].as_array().unwrap().len();
    assert!((100..600).contains(&shown), "{shown}");
    assert!(answer.to_string().len() <= rig.budget, "{}", answer.to_string().len());
    assert_eq!(
        (&answer["data"]["truncated"], &answer["warnings"][0]["code"]),
        (&json!(true), &json!("ANSWER_CUT"))
    );
    let name = answer["data"]["saved_as"].as_str().unwrap();
    assert_eq!(name, "20261130T000000000Z-0x001A0B2C.json");
    let kept = rig.home.path().join("state/dumps").join(name);
    assert_eq!(std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
    let kept: Value = serde_json::from_slice(&std::fs::read(kept).unwrap()).unwrap();
    assert_eq!(kept["protocol"], "isphere.helper.v1");
    assert_eq!(kept["data"]["root"]["children"].as_array().unwrap().len(), 600);
}

#[tokio::test]
async fn no_kept_dump_is_overwritten_and_a_read_only_server_keeps_none() {
    let folder = tempfile::tempdir().unwrap();
    let script = dumps(folder.path(), &element("iSphere", &[]));
    let open = rig(&script, Policy::default());
    assert_eq!(ask(&open, "win_helper_dump_uia", json!({"save": true})).await["ok"], true);
    let again = ask(&open, "win_helper_dump_uia", json!({"save": true})).await;
    assert_eq!(again["error"]["code"], "INTERNAL_ERROR", "the clock of this test stands still");
    let closed = rig(&script, Policy { read_only: true, ..Policy::default() });
    let refused = ask(&closed, "win_helper_dump_uia", json!({"save": true})).await;
    assert_eq!(refused["error"]["code"], "PREVIEW_ONLY");
    assert!(!closed.home.path().join("state/dumps").exists());
}

#[tokio::test]
async fn where_a_policy_lists_whom_to_show_no_text_of_a_window_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    // A helper that does not heed include_text, and gives a field that no contract knows.
    let mut row = element("张三", &[]);
    row["value"] = json!("张三");
    let dump = dumps(folder.path(), &element("张三", &[row]));
    let rig =
        rig(&format!("case $op in scan_windows) respond '{WINDOWS}';; *) {dump};; esac"), lists("李四"));
    let refused = ask(&rig, "win_helper_dump_uia", json!({})).await;
    assert_eq!(refused["error"]["code"], "PERMISSION_DENIED");
    for (tool, arguments) in [
        ("win_helper_dump_uia", json!({"include_text": false, "save": true})),
        ("win_helper_scan_windows", json!({})),
    ] {
        let outcome = rig.outcome(tool, arguments.clone()).await;
        assert!(!outcome.text().contains("张三"), "{}", outcome.text());
        rig.clock.advance(Duration::from_secs(1));
        let answer = ask(&rig, tool, arguments).await;
        assert_eq!((&answer["ok"], &answer["warnings"][0]["code"]), (&json!(true), &json!("TEXT_LEFT_OUT")));
        assert!(!answer.to_string().contains("张三"), "{answer}");
    }
    let kept: Vec<_> = std::fs::read_dir(rig.home.path().join("state/dumps")).unwrap().collect();
    assert_eq!(kept.len(), 2);
    for dump in kept {
        let dump = std::fs::read_to_string(dump.unwrap().path()).unwrap();
        assert!(
            dump.contains("isphere.helper.v1") && dump.contains("p1") && !dump.contains("张三"),
            "{dump}"
        );
    }
}
