//! The process: what goes in and out byte for byte.

use serde_json::Value;

use crate::desk::{ChatWindow, run, shared};

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_accepted() {
    let request = "\u{feff}{\r\n\"protocol\": \"isphere.helper.v1\",\r\n\"request_id\": \"1\",\r\n\"op\": \
                   \"version\",\r\n\"args\": {}\r\n}\r\n";
    let response: Value = serde_json::from_slice(&run(request.as_bytes()).stdout).unwrap();
    assert_eq!(response["ok"], true, "{response}");
}

#[test]
fn text_goes_in_and_out_as_utf_8_whatever_the_code_page() {
    let _desk = shared();
    let window = ChatWindow::open(&["--title", "联系人 🙂"]);
    let request = format!(
        r#"{{"protocol":"isphere.helper.v1","request_id":"编号 🙂","op":"dump_uia","timeout_ms":60000,
            "args":{{"hwnd":"{}","max_depth":0}}}}"#,
        window.hwnd
    );
    let output = run(request.as_bytes()).stdout;
    let text = std::str::from_utf8(&output).unwrap();
    assert!(text.contains(r#""request_id":"编号 🙂""#) && text.contains(r#""name":"联系人 🙂""#), "{text}");
}

#[test]
fn one_line_is_written_and_it_ends_with_a_line_feed_alone() {
    for request in [&b"{"[..], b"", b"\xff\xfe", b"{\"protocol\":\"isphere.helper.v2\"}"] {
        let output = run(request);
        assert_eq!(output.status.code(), Some(0));
        let (end, line) = output.stdout.split_last().unwrap();
        assert!(line.ends_with(b"}") && *end == b'\n' && !line.contains(&b'\n'));
    }
}
