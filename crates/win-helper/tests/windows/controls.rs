//! `probe_send_uia_controls`: what a window would need to have for sending, without a word of what it shows.

use serde_json::json;

use crate::desk::{ChatWindow, ask, shared};

#[test]
fn a_window_that_is_online_has_all_controls() {
    let _desk = shared();
    let window = ChatWindow::open(&[]);
    let answer = ask("probe_send_uia_controls", &json!({ "hwnd": window.hwnd }));
    let expected = json!({
        "has_search_edit": true,
        "has_receive_document": true,
        "has_send_editor": true,
        "has_send_button": true,
        "has_file_menu": true,
        "offline_blocker_visible": false,
        "send_button_enabled": true,
        "route_hint": "A_ROUTE_READY",
    });
    assert_eq!(answer.data()["flags"], expected);
}

#[test]
fn an_offline_banner_and_a_disabled_button_block_the_route() {
    let _desk = shared();
    let window = ChatWindow::open_32_bit(&["--offline"]);
    let answer = ask("probe_send_uia_controls", &json!({ "hwnd": window.hwnd }));
    let flags = &answer.data()["flags"];
    assert_eq!(flags["offline_blocker_visible"], true);
    assert_eq!(flags["send_button_enabled"], false);
    assert_eq!(flags["route_hint"], "A_ROUTE_OFFLINE_BLOCKED");
}

#[test]
fn a_window_without_the_controls_says_that_they_are_missing() {
    let _desk = shared();
    let window = ChatWindow::open(&["--login"]);
    let answer = ask("probe_send_uia_controls", &json!({ "hwnd": window.hwnd }));
    assert_eq!(answer.data()["flags"]["has_send_button"], false);
    assert_eq!(answer.data()["flags"]["route_hint"], "A_ROUTE_CONTROLS_MISSING");
}

#[test]
fn nothing_that_the_window_shows_is_in_the_answer() {
    let _desk = shared();
    let window = ChatWindow::open(&["--title", "iSphere - 秘密"]);
    let answer = ask("probe_send_uia_controls", &json!({ "hwnd": window.hwnd }));
    assert_eq!(answer.data()["safety"]["sent_message"], false);
    let text = answer.response.to_string();
    for shown in ["秘密", "张伟", "王芳", "合同", "收到", "김민수"] {
        assert!(!text.contains(shown), "{shown} is in {text}");
    }
}
