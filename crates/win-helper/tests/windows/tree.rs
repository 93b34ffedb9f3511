//! `dump_uia`: the tree as the window has it.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::desk::{ChatWindow, OtherWindow, alone, ask, shared};

const CHAT: &str = "\
Window `iSphere` #MainForm Window.8
  MenuBar `` #menuStripMain Window.8
    MenuItem `文件` #menuFile
  Pane `` #pnlLeft Window.8
    Edit `搜索` #txtSearch EDIT
    List `联系人` #lstContacts LISTBOX
      ListItem `张伟` #contact0
      ListItem `王芳😀` #contact1
      ListItem `李娜` #contact2
      ListItem `佐藤さん` #contact3
      ListItem `김민수` #contact4
  Pane `` #pnlChat Window.8
    Document `消息` #txtReceive RichEdit20W
      Text `张伟: 合同在附件里` #message0
      Text `王芳: 收到 👍` #message1
    Edit `输入` #txtSend EDIT
    Button `发送` #btnSend BUTTON
";

#[test]
fn the_tree_of_a_64_bit_window_is_read_exactly() {
    let _desk = shared();
    let window = ChatWindow::open(&[]);
    let answer = ask("dump_uia", &json!({ "hwnd": window.hwnd }));
    assert_eq!(outline(&answer.data()["root"]), CHAT);
    assert_eq!(answer.data()["hwnd"], window.hwnd);
    assert_eq!(answer.data()["truncated"], false);
    assert_eq!(answer.warnings(), Vec::<&str>::new());
}

#[test]
fn the_tree_of_a_32_bit_window_is_read_exactly() {
    let _desk = shared();
    let window = ChatWindow::open_32_bit(&[]);
    let answer = ask("dump_uia", &json!({ "hwnd": window.hwnd }));
    assert_eq!(outline(&answer.data()["root"]), CHAT);
}

#[test]
fn an_element_tells_framework_state_and_place() {
    let _desk = shared();
    let window = ChatWindow::open(&["--offline"]);
    let answer = ask("dump_uia", &json!({ "hwnd": window.hwnd }));
    let button = find(&answer.data()["root"], "btnSend");
    assert_eq!(button["framework_id"], "WinForm");
    assert_eq!(button["is_enabled"], false);
    assert_eq!(button["is_offscreen"], false);
    assert_eq!(button["class_name"], "WindowsForms10.BUTTON.app.0.2bf8098_r7_ad1");
    // The fixture, whose window is at 100, 100, puts its 17th element there.
    assert_eq!(button["bounds"], json!({ "x": 110, "y": 450, "width": 200, "height": 18 }));
    assert_eq!(find(&answer.data()["root"], "txtSend")["is_enabled"], true);
    assert_eq!(answer.data()["root"]["bounds"]["x"], 100);
}

#[test]
fn names_are_left_out_on_request_and_nothing_else_is() {
    let _desk = shared();
    let window = ChatWindow::open(&["--title", "秘密"]);
    let answer = ask("dump_uia", &json!({ "hwnd": window.hwnd, "include_text": false }));
    let mut unnamed = String::new();
    for line in CHAT.lines() {
        let parts: Vec<&str> = line.split('`').collect();
        writeln!(unnamed, "{}``{}", parts[0], parts[2]).unwrap();
    }
    assert_eq!(outline(&answer.data()["root"]), unnamed);
}

#[test]
fn a_password_field_is_listed_and_never_read() {
    let _desk = shared();
    let window = ChatWindow::open(&["--login"]);
    let answer = ask("dump_uia", &json!({ "hwnd": window.hwnd }));
    assert_eq!(find(&answer.data()["root"], "txtPassword")["name"], "");
    assert_eq!(find(&answer.data()["root"], "txtAccount")["name"], "账号");
    assert!(!answer.response.to_string().contains("hunter2"), "{}", answer.response);
}

#[test]
fn a_title_of_any_script_comes_through_whole() {
    let _desk = shared();
    let title = "iSphere 协作 🚀 – Ωμέγα «ñ»";
    let window = ChatWindow::open(&["--title", title]);
    let answer = ask("dump_uia", &json!({ "hwnd": window.hwnd, "max_depth": 0 }));
    assert_eq!(answer.data()["root"]["name"], title);
}

#[test]
fn a_request_without_a_handle_means_the_only_candidate() {
    let _desk = alone();
    let _other = OtherWindow::open();
    let window = ChatWindow::open(&[]);
    let answer = ask("dump_uia", &json!({ "max_depth": 1 }));
    assert_eq!(answer.data()["hwnd"], window.hwnd);
}

#[test]
fn two_candidates_are_ambiguous_and_both_are_named() {
    let _desk = alone();
    let windows = [ChatWindow::open(&[]), ChatWindow::open_32_bit(&["--offline"])];
    let answer = ask("dump_uia", &json!({}));
    assert_eq!(answer.code(), "AMBIGUOUS_WINDOW");
    let message = answer.response["error"]["message"].as_str().unwrap();
    assert!(windows.iter().all(|window| message.contains(&window.hwnd)), "{message}");
}

#[test]
fn no_candidate_and_no_such_window_are_not_found() {
    let _desk = alone();
    let _other = OtherWindow::open();
    assert_eq!(ask("dump_uia", &json!({})).code(), "WINDOW_NOT_FOUND");
    assert_eq!(ask("dump_uia", &json!({ "hwnd": "0x7FFFFFF0" })).code(), "WINDOW_NOT_FOUND");
}

#[test]
fn the_window_of_notepad_is_read_as_far_as_the_system_tells() {
    let _desk = alone();
    let notepad = OtherWindow::open();
    let answer = ask("dump_uia", &json!({ "hwnd": notepad.hwnd }));
    assert_eq!(answer.data()["root"]["control_type"], "Window");
}

/// The tree as text, an element a line: control type, name, id, and of the class what tells it from others.
pub fn outline(root: &Value) -> String {
    let mut text = String::new();
    write_outline(root, 0, &mut text);
    text
}

fn write_outline(element: &Value, depth: usize, text: &mut String) {
    let of = |field: &str| element[field].as_str().unwrap();
    let class =
        of("class_name").trim_start_matches("WindowsForms10.").trim_end_matches(".app.0.2bf8098_r7_ad1");
    let line = format!("{} `{}` #{} {class}", of("control_type"), of("name"), of("automation_id"));
    writeln!(text, "{:1$}{2}", "", 2 * depth, line.trim_end()).unwrap();
    for child in element["children"].as_array().unwrap() {
        write_outline(child, depth + 1, text);
    }
}

/// The element with this automation id.
pub fn find<'a>(root: &'a Value, automation_id: &str) -> &'a Value {
    let mut waiting = vec![root];
    while let Some(element) = waiting.pop() {
        if element["automation_id"] == automation_id {
            return element;
        }
        waiting.extend(element["children"].as_array().unwrap());
    }
    panic!("there is no {automation_id}");
}
