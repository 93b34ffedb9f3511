//! Limits of size and time, and windows that hang or go away.

use std::time::Duration;

use serde_json::{Value, json};

use crate::desk::{ChatWindow, alone, ask, ask_within, shared};
use crate::tree::{find, outline};

/// How much later than its time limit an answer may come, the start of the process included.
const GRACE: Duration = Duration::from_millis(500);

#[test]
fn a_list_of_300_rows_is_read_whole() {
    let _desk = shared();
    let window = ChatWindow::open(&["--rows", "300"]);
    let answer = ask("dump_uia", &json!({ "hwnd": window.hwnd, "max_children": 400 }));
    let list = find(&answer.data()["root"], "lstContacts");
    assert_eq!(list["children"].as_array().unwrap().len(), 305);
    assert_eq!(list["children"][304]["name"], "联系人 300");
    assert_eq!(answer.data()["truncated"], false);
}

#[test]
fn past_the_most_children_the_first_ones_are_read_and_it_says_so() {
    let _desk = shared();
    let window = ChatWindow::open(&[]);
    let answer = ask("dump_uia", &json!({ "hwnd": window.hwnd, "max_children": 2 }));
    let list = find(&answer.data()["root"], "lstContacts");
    assert_eq!(
        outline(list),
        "List `联系人` #lstContacts LISTBOX\n  ListItem `张伟` #contact0\n  ListItem `王芳😀` #contact1\n"
    );
    assert_eq!(answer.data()["truncated"], true);
    assert_eq!(answer.warnings(), ["MAX_CHILDREN"]);
}

#[test]
fn past_the_most_elements_the_upper_levels_are_read_and_it_says_so() {
    let _desk = shared();
    let window = ChatWindow::open(&[]);
    let answer = ask("dump_uia", &json!({ "hwnd": window.hwnd, "max_nodes": 4 }));
    let expected = "\
Window `iSphere` #MainForm Window.8
  MenuBar `` #menuStripMain Window.8
  Pane `` #pnlLeft Window.8
  Pane `` #pnlChat Window.8
";
    assert_eq!(outline(&answer.data()["root"]), expected);
    assert_eq!(answer.data()["truncated"], true);
    assert_eq!(answer.warnings(), ["MAX_NODES"]);
}

#[test]
fn forty_levels_are_read_and_the_depth_that_is_asked_for_holds() {
    let _desk = shared();
    let window = ChatWindow::open(&["--depth", "40"]);
    let whole = ask("dump_uia", &json!({ "hwnd": window.hwnd, "max_depth": 41 }));
    assert_eq!(find(&whole.data()["root"], "nest39")["children"], json!([]));
    assert_eq!(whole.data()["truncated"], false);

    let part = ask("dump_uia", &json!({ "hwnd": window.hwnd, "max_depth": 10 }));
    assert_eq!(find(&part.data()["root"], "nest9")["children"], json!([]));
    assert_eq!(part.data()["truncated"], true);
    assert_eq!(part.warnings(), ["MAX_DEPTH"]);
}

#[test]
fn a_window_that_hangs_costs_no_more_than_the_time_limit_and_what_was_read_is_told() {
    // Alone, so that nothing but the limit decides when the answer comes.
    let _desk = alone();
    let window = ChatWindow::open(&["--hang", "btnSend"]);
    let answer = ask_within(5_000, "dump_uia", &json!({ "hwnd": window.hwnd }));
    assert!(answer.took < Duration::from_secs(5) + GRACE, "{:?}", answer.took);
    assert_eq!(answer.data()["truncated"], true);
    assert_eq!(answer.warnings(), ["DEADLINE"]);
    let root = &answer.data()["root"];
    assert_eq!(find(root, "menuFile")["name"], "文件");
    assert_eq!(find(root, "pnlChat")["children"], json!([]));
}

#[test]
fn a_window_that_hangs_from_the_start_is_a_timeout() {
    let _desk = alone();
    let window = ChatWindow::open(&["--hang", "MainForm"]);
    for op in ["dump_uia", "probe_send_uia_controls"] {
        let answer = ask_within(2_000, op, &json!({ "hwnd": window.hwnd }));
        assert!(answer.took < Duration::from_secs(2) + GRACE, "{:?}", answer.took);
        assert_eq!(answer.code(), "TIMEOUT");
    }
}

#[test]
fn a_window_that_hangs_is_listed_all_the_same() {
    let _desk = alone();
    let window = ChatWindow::open(&["--hang", "MainForm"]);
    let answer = ask("scan_windows", &json!({}));
    assert_eq!(answer.data()["windows"][0]["hwnd"], window.hwnd);
}

#[test]
fn a_window_that_closes_while_it_is_read_leaves_what_was_read() {
    let _desk = shared();
    let mut window = ChatWindow::open(&["--vanish", "btnSend"]);
    let answer = ask("dump_uia", &json!({ "hwnd": window.hwnd }));
    window.wait_for_its_end();
    let root: &Value = &answer.data()["root"];
    assert_eq!(find(root, "pnlChat")["children"], json!([]));
    assert_eq!(answer.data()["truncated"], true);
    assert_eq!(answer.warnings(), ["ELEMENT_NOT_READABLE"]);
}

#[test]
fn a_window_that_closes_before_anything_was_read_is_not_found() {
    let _desk = shared();
    let mut window = ChatWindow::open(&["--vanish", "MainForm"]);
    let answer = ask("dump_uia", &json!({ "hwnd": window.hwnd }));
    window.wait_for_its_end();
    assert_eq!(answer.code(), "WINDOW_NOT_FOUND");
}
