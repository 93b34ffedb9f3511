//! The protocol, spoken with the program itself: what it accepts, what it refuses and how, and how it ends.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::path::Path;
use std::process::{Command, Stdio};

#[cfg(not(windows))]
use helper_process::warnings;
use helper_process::{HELPER, answer, ask, code, message, request, response, run};
use serde_json::{Value, json};
use win_helper::ops;

mod helper_process;

const MEBIBYTE: usize = 1024 * 1024;

fn version_request() -> Value {
    request("version", &json!({}))
}

/// The version request with one field changed.
fn with(field: &str, value: Value) -> Value {
    let mut request = version_request();
    request[field] = value;
    request
}

fn answer_to(request: &Value) -> Value {
    answer(request.to_string().as_bytes())
}

fn assert_refused(request: &Value, part_of_message: &str) {
    let answer = answer_to(request);
    assert_eq!(code(&answer), "INVALID_REQUEST", "{request}");
    assert!(message(&answer).contains(part_of_message), "{request}: {}", message(&answer));
}

#[test]
fn version_tells_name_version_protocol_and_target() {
    let data = &ask("version", &json!({}))["data"];
    assert_eq!(data["helper_name"], "ISphereWinHelper");
    assert_eq!(data["helper_version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(data["protocol"], "isphere.helper.v1");
    let runtime = data["runtime"].as_str().unwrap();
    assert!(runtime.starts_with("Rust ") && runtime.contains(std::env::consts::ARCH), "{runtime}");
}

#[test]
fn a_byte_order_mark_and_line_breaks_of_any_kind_are_accepted() {
    let plain = version_request().to_string();
    let spread = serde_json::to_string_pretty(&version_request()).unwrap().replace('\n', "\r\n");
    for text in [format!("\u{feff}{plain}"), format!("{plain}\r\n"), format!("\r\n \t{plain}\n\n"), spread] {
        assert_eq!(answer(text.as_bytes())["ok"], true, "{text:?}");
    }
}

#[test]
fn request_id_and_text_of_any_script_come_back_as_they_were() {
    let answer = answer_to(&with("request_id", json!("请求-😀-①")));
    assert_eq!(answer["request_id"], "请求-😀-①");
}

#[test]
fn what_is_not_json_is_refused_with_an_empty_identity() {
    let good = version_request().to_string();
    let inputs: [&[u8]; 9] = [
        b"",
        b"  \r\n",
        b"\xef\xbb\xbf",
        b"{",
        b"not JSON",
        format!("{good}{good}").leak().as_bytes(),
        format!("{good},").leak().as_bytes(),
        b"\xff\xfe{\0}\0",
        b"{\"request_id\":\"\xe5\xbc\"}",
    ];
    for input in inputs {
        let answer = answer(input);
        assert_eq!(code(&answer), "INVALID_REQUEST", "{input:?}");
        assert_eq!((&answer["request_id"], &answer["op"]), (&json!(""), &json!("")), "{input:?}");
    }
}

#[test]
fn json_of_another_shape_is_refused() {
    for input in ["[]", "null", "1", "\"text\"", "[\"isphere.helper.v1\",\"r-1\",\"version\",5000,{}]"] {
        assert_eq!(code(&answer(input.as_bytes())), "INVALID_REQUEST", "{input}");
    }
}

#[test]
fn json_nested_deeper_than_any_request_is_refused() {
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    assert_eq!(code(&answer(deep.as_bytes())), "INVALID_REQUEST");
}

#[test]
fn a_request_that_is_refused_is_named_as_far_as_it_could_be_read() {
    let answer = answer_to(&with("protocol", json!("isphere.helper.v2")));
    assert_eq!(code(&answer), "INVALID_REQUEST");
    assert_eq!((&answer["request_id"], &answer["op"]), (&json!("r-1"), &json!("version")));
    let answer = answer_to(&with("request_id", json!(7)));
    assert_eq!((&answer["request_id"], &answer["op"]), (&json!(""), &json!("version")));
}

#[test]
fn another_protocol_is_refused_with_the_one_that_is_spoken() {
    for protocol in ["isphere.helper.v2", "isphere.helper.V1", "", "2.0"] {
        assert_refused(&with("protocol", json!(protocol)), "isphere.helper.v1");
    }
}

#[test]
fn every_required_field_is_asked_for_by_name() {
    for field in ["protocol", "request_id", "op", "args"] {
        let mut request = version_request();
        request.as_object_mut().unwrap().remove(field);
        assert_refused(&request, field);
    }
}

#[test]
fn an_unknown_field_beside_the_known_ones_is_refused() {
    assert_refused(&with("timeout", json!(1)), "unknown field `timeout`");
}

#[test]
fn an_unknown_argument_is_refused_by_every_op() {
    for op in ops::NAMES {
        assert_refused(&request(op, &json!({"out_path": "x"})), "unknown field `out_path`");
    }
}

#[test]
fn arguments_that_are_no_object_are_refused_by_every_op() {
    for op in ops::NAMES {
        for args in [json!([]), json!(null), json!("{}"), json!([false])] {
            assert_refused(&request(op, &args), "args must be a JSON object");
        }
    }
}

#[test]
fn a_field_that_is_there_twice_is_refused() {
    let twice = version_request().to_string().replacen('{', "{\"op\":\"version\",", 1);
    assert_eq!(code(&answer(twice.as_bytes())), "INVALID_REQUEST");
}

#[test]
fn an_unknown_op_is_told_which_there_are() {
    for op in ["send_message", "Version", "", "version "] {
        let answer = answer_to(&with("op", json!(op)));
        assert_eq!(code(&answer), "UNSUPPORTED_OP", "{op}");
        assert!(ops::NAMES.iter().all(|name| message(&answer).contains(name)));
    }
}

#[test]
fn an_id_or_op_beyond_its_length_is_refused_and_not_repeated() {
    let long = "x".repeat(129);
    assert_refused(&with("request_id", json!(long)), "1 to 128 characters");
    assert_refused(&with("request_id", json!("")), "1 to 128 characters");
    assert_eq!(answer_to(&with("request_id", json!(long)))["request_id"], "");
    assert_eq!(answer_to(&with("op", json!(long)))["op"], "");
}

#[test]
fn a_number_out_of_its_range_or_of_another_kind_is_refused() {
    for timeout in [json!(0), json!(600_001), json!(-1), json!(1.5), json!("5000"), json!(u64::MAX)] {
        assert_eq!(code(&answer_to(&with("timeout_ms", timeout.clone()))), "INVALID_REQUEST", "{timeout}");
    }
    for (op, field, values) in [
        ("dump_uia", "max_depth", [json!(61), json!(-1), json!("8")]),
        ("dump_uia", "max_children", [json!(0), json!(5_001), json!(1.0)]),
        ("dump_uia", "max_nodes", [json!(0), json!(20_001), json!(null)]),
        ("probe_send_uia_controls", "max_depth", [json!(61), json!(-1), json!([])]),
        ("probe_send_uia_controls", "max_children", [json!(0), json!(5_001), json!(true)]),
        ("probe_client_runtime", "max_modules", [json!(0), json!(2_001), json!("120")]),
    ] {
        for value in values {
            let answer = ask(op, &json!({field: value}));
            assert_eq!(code(&answer), "INVALID_REQUEST", "{op} {field} {value}");
        }
    }
}

#[test]
fn null_is_no_value_of_any_field() {
    for field in ["protocol", "request_id", "op", "timeout_ms", "args"] {
        assert_eq!(code(&answer_to(&with(field, json!(null)))), "INVALID_REQUEST", "{field}");
    }
    for (op, fields) in [
        ("scan_windows", &["include_all_visible"][..]),
        ("dump_uia", &["hwnd", "max_depth", "max_children", "max_nodes", "include_text"]),
        ("probe_client_runtime", &["process_names", "include_modules", "max_modules"]),
        ("probe_send_entrypoints", &["install_dir"]),
        ("probe_send_uia_controls", &["hwnd", "max_depth", "max_children"]),
    ] {
        for field in fields {
            assert_eq!(code(&ask(op, &json!({*field: null}))), "INVALID_REQUEST", "{op} {field}");
        }
    }
}

#[test]
fn a_name_of_the_request_comes_back_cut_and_without_what_hides_text() {
    let name = format!("\u{202e}\u{200b}\u{1b}[2J{}", "x".repeat(50_000));
    let mut unknown = version_request();
    unknown[&name] = json!(1);
    for request in [
        unknown,
        with("timeout_ms", json!(name)),
        with("args", json!({&name: 1})),
        request("dump_uia", &json!({"max_depth": name})),
    ] {
        let answer = answer_to(&request);
        assert_eq!(code(&answer), "INVALID_REQUEST");
        let message = message(&answer);
        assert!(message.chars().count() <= 601, "{message}");
        assert!(!message.contains(['\u{202e}', '\u{200b}', '\u{1b}']), "{message}");
        assert!(message.contains(" at line 1 column "), "the end stays: {message}");
    }
}

#[test]
fn the_handle_of_no_window_is_told_from_one_that_is_ill_formed() {
    let answer = ask("dump_uia", &json!({"hwnd": "0x00000000"}));
    assert!(message(&answer).contains("is no window"), "{}", message(&answer));
}

#[test]
fn a_list_of_names_has_bounds() {
    let long = "x".repeat(101);
    for names in [json!([]), json!([""]), json!([long]), json!(vec!["x"; 33]), json!("x"), json!([1])] {
        assert_eq!(
            code(&ask("probe_client_runtime", &json!({"process_names": names}))),
            "INVALID_REQUEST",
            "{names}"
        );
    }
}

#[test]
fn a_window_handle_is_a_text_of_eight_hexadecimal_digits() {
    for op in ["dump_uia", "probe_send_uia_controls"] {
        for hwnd in
            [json!("0x1A"), json!("001A0B2C"), json!("0x+01A0B2C"), json!("0x00000000"), json!(1_706_796)]
        {
            assert_eq!(code(&ask(op, &json!({"hwnd": hwnd}))), "INVALID_REQUEST", "{op} {hwnd}");
        }
    }
}

#[test]
fn a_request_that_is_too_large_is_refused_without_being_read_to_its_end() {
    let mut request = version_request();
    request["padding"] = json!("x".repeat(8 * MEBIBYTE));
    let answer = answer_to(&request);
    assert_eq!(code(&answer), "INVALID_REQUEST");
    assert!(message(&answer).contains("larger than 65536 bytes"));
}

#[test]
fn a_request_of_just_the_largest_size_is_read() {
    let request = version_request().to_string();
    let padded = format!("{}{request}", " ".repeat(65_536 - request.len()));
    assert_eq!(answer(padded.as_bytes())["ok"], true);
    assert_eq!(answer(format!("{padded} ").as_bytes())["ok"], false);
}

#[test]
fn a_closed_stdin_is_answered() {
    let output = Command::new(HELPER).stdin(Stdio::null()).output().unwrap();
    assert!(message(&response(output)).contains("stdin was empty"));
}

#[test]
fn command_line_arguments_are_refused_on_stderr_alone() {
    let output = Command::new(HELPER).arg("--version").stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stdout, b"");
    assert!(String::from_utf8(output.stderr).unwrap().contains("stdin"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_response_that_cannot_be_written_is_a_failure_of_the_process() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(HELPER).stdin(Stdio::null()).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("could not be written"));
}

#[test]
fn nothing_is_written_to_stderr_when_all_is_well() {
    let output = run(Path::new(HELPER), version_request().to_string().as_bytes());
    assert_eq!(output.stderr, b"");
}

#[cfg(not(windows))]
#[test]
fn without_windows_self_check_says_so_and_is_fine() {
    let answer = ask("self_check", &json!({}));
    assert_eq!(answer["data"], json!({"desktop_access": false, "uia_available": false}));
    assert_eq!(warnings(&answer), ["NOT_WINDOWS"]);
}

#[cfg(not(windows))]
#[test]
fn without_windows_the_ops_that_need_a_desktop_say_where_to_run_them() {
    for (op, args) in [
        ("scan_windows", json!({})),
        ("scan_windows", json!({"include_all_visible": true})),
        ("dump_uia", json!({})),
        ("dump_uia", json!({"hwnd": "0x001a0B2C", "max_depth": 0, "max_children": 1, "include_text": false})),
        ("probe_client_runtime", json!({"process_names": ["a"], "include_modules": false, "max_modules": 1})),
        ("probe_send_uia_controls", json!({"hwnd": "0x001A0B2C", "max_depth": 60, "max_children": 5000})),
    ] {
        let answer = ask(op, &args);
        assert_eq!(code(&answer), "HELPER_FAILED", "{op}");
        assert!(message(&answer).contains("needs a Windows desktop"), "{}", message(&answer));
    }
}
