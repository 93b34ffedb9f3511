//! `scan_windows`: which windows there are, and which may be the client's.

use serde_json::{Value, json};

use crate::desk::{ChatWindow, OtherWindow, alone, ask};

#[test]
fn the_clients_window_is_described_as_in_the_contract() {
    let _desk = alone();
    let window = ChatWindow::open(&[]);
    let answer = ask("scan_windows", &json!({}));
    let expected = json!([{
        "hwnd": window.hwnd,
        "pid": window.pid,
        "process_name": "IMPlatformClient",
        "title": "iSphere",
        "class_name": "WindowsForms10.Window.8.app.0.2bf8098_r7_ad1",
        "visible": true,
        "bounds": { "x": 100, "y": 100, "width": 640, "height": 480 },
        "score": 90,
    }]);
    assert_eq!(answer.data()["windows"], expected);
    assert_eq!(answer.data()["truncated"], false);
}

#[test]
fn other_windows_are_listed_only_when_all_are_asked_for_and_after_the_clients() {
    let _desk = alone();
    let window = ChatWindow::open_32_bit(&["--title", "张伟 - 聊天"]);
    let other = OtherWindow::open();

    let candidates = ask("scan_windows", &json!({ "include_all_visible": false }));
    assert_eq!(handles(candidates.data()), [window.hwnd.as_str()]);
    assert_eq!(candidates.data()["windows"][0]["title"], "张伟 - 聊天");
    assert_eq!(candidates.data()["windows"][0]["score"], 70);

    let all = ask("scan_windows", &json!({ "include_all_visible": true }));
    assert_eq!(handles(all.data())[0], window.hwnd);
    assert!(handles(all.data()).contains(&other.hwnd.as_str()), "{}", all.response);
    assert!(all.data()["windows"].as_array().unwrap().iter().all(|window| window["visible"] == true));
}

#[test]
fn a_client_that_was_put_away_is_listed_and_is_read_only_by_its_handle() {
    let _desk = alone();
    let window = ChatWindow::open(&["--hidden"]);
    let answer = ask("scan_windows", &json!({}));
    assert_eq!(handles(answer.data()), [window.hwnd.as_str()]);
    assert_eq!(answer.data()["windows"][0]["visible"], false);
    assert_eq!(ask("dump_uia", &json!({})).code(), "WINDOW_NOT_FOUND");
    assert_eq!(ask("dump_uia", &json!({ "hwnd": window.hwnd })).data()["root"]["automation_id"], "MainForm");
}

#[test]
fn no_candidate_is_an_empty_list() {
    let _desk = alone();
    let answer = ask("scan_windows", &json!({}));
    assert_eq!(answer.data()["windows"], json!([]));
}

fn handles(data: &Value) -> Vec<&str> {
    data["windows"].as_array().unwrap().iter().map(|window| window["hwnd"].as_str().unwrap()).collect()
}
