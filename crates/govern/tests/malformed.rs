//! Malformed requests: a JSON-RPC error with a string code, on both transports.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by a panic")]

mod common;

use common::{Rig, Setup, call, http_request, request, stateless, stateless_headers};
use govern::mcp::McpOptions;
use serde_json::{Value, json};

/// Asserts the error of `message` on both transports, and its HTTP status.
async fn refused(message: impl AsRef<[u8]>, status: u16, code: i32, tag: &str, id: Option<Value>) {
    let message = message.as_ref();
    let shown = String::from_utf8_lossy(message).chars().take(120).collect::<String>();
    let (http_status, answers) = Rig::new(Setup::default()).over_both(message).await;
    assert_eq!(http_status, status, "{shown}");
    for answer in answers {
        assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
        assert_eq!(answer["error"]["data"]["code"], tag, "{shown}: {answer}");
        assert_eq!(answer.get("id").cloned(), id, "{shown}: {answer}");
        assert_eq!(answer["jsonrpc"], "2.0");
    }
}

const INVALID: &str = "MCP_REQUEST_INVALID";

#[tokio::test]
async fn what_is_not_json() {
    for message in ["nope", "{", r#"{"jsonrpc":"2.0","id":1,"method":"ping""#, "{}{}", r#""\ud800""#] {
        refused(message, 400, -32700, INVALID, None).await;
    }
    refused(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xff\"}", 400, -32700, INVALID, None).await;
}

#[tokio::test]
async fn what_is_json_and_not_a_request() {
    refused(format!("[{}]", request("ping", json!({}))), 400, -32600, INVALID, None).await;
    for message in [json!([]), json!(["2.0", 1, "ping"]), json!(1), json!("ping"), Value::Null] {
        refused(message.to_string(), 400, -32600, INVALID, None).await;
    }
    for message in [
        json!({"id": 1, "method": "ping"}),
        json!({"jsonrpc": "1.0", "id": 1, "method": "ping"}),
        json!({"jsonrpc": 2.0, "id": 1, "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": 1}),
        json!({"jsonrpc": "2.0", "id": 1, "method": 5}),
        json!({"jsonrpc": "2.0", "id": 1, "method": null}),
    ] {
        refused(message.to_string(), 400, -32600, INVALID, Some(json!(1))).await;
    }
}

#[tokio::test]
async fn a_bad_id() {
    for id in ["null", "1.5", "true", "[1]", "{}", "1e3"] {
        refused(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#), 400, -32600, INVALID, None)
            .await;
    }
}

#[tokio::test]
async fn duplicate_keys_and_too_many_levels() {
    let twice = r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo","arguments":{"a":1,"a":1}}}"#;
    refused(twice, 400, -32600, INVALID, Some(json!("x"))).await;
    refused(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, 400, -32600, INVALID, None).await;
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{}1{}}}"#,
        "[".repeat(64),
        "]".repeat(64)
    );
    refused(deep, 400, -32600, INVALID, Some(json!(7))).await;
}

#[tokio::test]
async fn a_number_that_no_double_holds_is_refused_with_its_path_to_the_one_who_asked() {
    for number in ["1e400", "-1e400", &"9".repeat(401)] {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"echo","arguments":{{"limit":{number}}}}}}}"#
        );
        refused(&message, 400, -32602, INVALID, Some(json!(7))).await;
        let (_, answers) = Rig::new(Setup::default()).over_both(message.as_bytes()).await;
        for answer in answers {
            let told = answer["error"]["message"].as_str().unwrap();
            assert!(told.contains("`$.params.arguments.limit`"), "{told}");
        }
    }
}

/// What `JSON.stringify` makes of a text that was cut within an emoji.
#[tokio::test]
async fn half_a_surrogate_pair_is_refused_to_the_one_who_asked() {
    for half in [r"\ud83d", r"\ude00", r"\ud83d\ud83d"] {
        for id in [json!(7), json!("x\"y")] {
            let message = format!(
                r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"name":"echo","arguments":{{"text":"a{half}"}}}},"id":{id}}}"#
            );
            refused(message, 400, -32700, INVALID, Some(id)).await;
        }
        refused(format!(r#"{{"jsonrpc":"2.0","id":"{half}","method":"ping"}}"#), 400, -32700, INVALID, None)
            .await;
    }
    refused(r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {"id":2}"#, 400, -32700, INVALID, None).await;
}

#[tokio::test]
async fn params_that_are_not_what_the_method_needs() {
    for params in [json!([]), json!("x"), json!(1)] {
        refused(request("tools/call", params).to_string(), 400, -32602, INVALID, Some(json!(1))).await;
    }
    for params in [
        json!({}),
        json!({"name": 5}),
        json!({"name": null}),
        json!({"name": "echo", "arguments": []}),
        json!({"name": "echo", "arguments": "{}"}),
        json!({"name": "echo", "_meta": []}),
    ] {
        refused(request("tools/call", params).to_string(), 400, -32602, INVALID, Some(json!(1))).await;
    }
    refused(request("tools/list", json!({"cursor": "x"})).to_string(), 400, -32602, INVALID, Some(json!(1)))
        .await;
    refused(request("initialize", json!({})).to_string(), 400, -32602, INVALID, Some(json!(1))).await;
}

/// Clients whose languages have no absent fields send `null`.
#[tokio::test]
async fn null_is_as_good_as_absent() {
    let good = [
        request("ping", Value::Null),
        request("tools/list", Value::Null),
        request("tools/list", json!({"cursor": null, "_meta": null})),
        call("own_record", Value::Null),
        request("tools/call", json!({"name": "own_record", "_meta": null})),
    ];
    for message in good {
        let (status, answers) = Rig::new(Setup::default()).over_both(message.to_string().as_bytes()).await;
        assert_eq!(status, 200, "{message}");
        assert!(answers.iter().all(|answer| answer["result"].is_object()), "{message}: {answers:?}");
    }
    refused(request("tools/call", Value::Null).to_string(), 400, -32602, INVALID, Some(json!(1))).await;
}

#[tokio::test]
async fn an_unknown_method() {
    let message = request("resources/list", json!({}));
    refused(message.to_string(), 200, -32601, "MCP_METHOD_NOT_FOUND", Some(json!(1))).await;
    let rig = Rig::new(Setup::default());
    let headers = stateless_headers("resources/list", "");
    let answer = rig.post(&headers, stateless(message).to_string()).await;
    assert_eq!((answer.status, answer.json()["error"]["code"].clone()), (404, json!(-32601)));
}

#[tokio::test]
async fn an_unknown_tool() {
    let message = call("no_such_tool", json!({}));
    refused(message.to_string(), 200, -32602, "MCP_TOOL_NOT_FOUND", Some(json!(1))).await;
    let rig = Rig::new(Setup::default());
    let headers = stateless_headers("tools/call", "no_such_tool");
    let answer = rig.post(&headers, stateless(message).to_string()).await;
    assert_eq!(
        (answer.status, answer.json()["error"]["data"]["code"].clone()),
        (400, json!("MCP_TOOL_NOT_FOUND"))
    );
}

#[tokio::test]
async fn a_body_over_the_limit_announced_or_chunked() {
    let options = McpOptions { body_limit_bytes: 1000, ..McpOptions::default() };
    let rig = Rig::new(Setup { options, ..Setup::default() });
    let body = call("echo", json!({"text": "x".repeat(2000)})).to_string();
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let chunked_headers = [("Transfer-Encoding", "chunked"), ("Content-Length", "")];
    let answers = [rig.post(&[], &body).await, rig.post(&chunked_headers, &chunked).await];
    for answer in &answers {
        assert_eq!(answer.status, 413, "{answer:?}");
        assert_eq!(answer.json()["error"]["code"], -32600);
        assert_eq!(answer.json()["error"]["data"]["code"], "MCP_REQUEST_BODY_TOO_LARGE");
    }
    let lines = rig.pipe(format!("{body}\n{}\n", request("ping", json!({})))).await;
    assert_eq!(lines[0]["error"]["data"]["code"], "MCP_REQUEST_BODY_TOO_LARGE");
    assert_eq!(lines[1]["result"], json!({}), "the next line is served");
}

#[tokio::test]
async fn a_missing_or_wrong_token() {
    let rig = Rig::new(Setup { bearer: true, ..Setup::default() });
    let ping = request("ping", json!({})).to_string();
    let good = ("Authorization", "Bearer reader");
    for headers in [
        vec![],
        vec![("Authorization", "Bearer nobody")],
        vec![("Authorization", "Basic cmVhZGVy")],
        vec![good, good],
        vec![good, ("Authorization", "Bearer nobody")],
    ] {
        let answer = rig.post(&headers, &ping).await;
        assert_eq!(answer.status, 401);
        assert!(answer.head.contains("www-authenticate: bearer"), "{answer:?}");
        assert_eq!(answer.json()["error"]["code"], -32600);
        assert_eq!(answer.json()["error"]["data"]["code"], "MCP_AUTH_INVALID");
    }
    assert_eq!(rig.post(&[good], &ping).await.status, 200);
}

#[tokio::test]
async fn a_foreign_host_or_origin() {
    let rig = Rig::new(Setup::default());
    let ping = request("ping", json!({})).to_string();
    for header in [
        ("Host", "evil.example"),
        ("Host", "localhost:evil"),
        ("Origin", "https://evil.example"),
        ("Origin", "http://localhost:1@evil.example"),
        ("Origin", "null"),
    ] {
        let answer = rig.post(&[header], &ping).await;
        assert_eq!(answer.status, 403, "{header:?}");
        assert_eq!(answer.json()["error"]["code"], -32600);
        assert_eq!(answer.json()["error"]["data"]["code"], INVALID);
    }
    assert_eq!(rig.post(&[("Origin", "http://localhost:3000")], &ping).await.status, 200);
}

#[tokio::test]
async fn a_panic_in_a_tool() {
    refused(call("panic", json!({})).to_string(), 500, -32603, "MCP_INTERNAL_ERROR", Some(json!(1))).await;
}

#[tokio::test]
async fn other_http_methods_and_types() {
    let rig = Rig::new(Setup::default());
    let address = rig.listen().await;
    let ping = request("ping", json!({})).to_string();
    for method in ["GET", "DELETE", "PUT"] {
        let answer = http_request(&address, method, &[], b"").await;
        assert_eq!(answer.status, 405, "{method}");
        assert!(answer.head.contains("allow: post"));
    }
    for other in ["text/plain", "application/json; charset=latin1"] {
        assert_eq!(rig.post(&[("Content-Type", other)], &ping).await.status, 415, "{other}");
    }
    for accept in ["text/html", "application/json;q=0"] {
        assert_eq!(rig.post(&[("Accept", accept)], &ping).await.status, 406, "{accept}");
    }
    // The rig leaves a header of no value out; of one space it sends an empty header.
    for accept in ["", " ", "*/*", "application/json", "text/event-stream, application/json;q=0.9"] {
        assert_eq!(rig.post(&[("Accept", accept)], &ping).await.status, 200, "{accept}");
    }
}

#[tokio::test]
async fn a_header_that_may_come_once_only() {
    let rig = Rig::new(Setup::default());
    let message = stateless(call("echo", json!({"text": "a"}))).to_string();
    let good = stateless_headers("tools/call", "echo");
    for twice in good.into_iter().chain([("Content-Type", "application/json")]) {
        let mut headers = good.to_vec();
        headers.extend(if twice.0 == "Content-Type" { vec![twice; 2] } else { vec![twice] });
        let answer = rig.post(&headers, &message).await;
        assert_eq!(answer.status, 400, "{twice:?}");
        assert_eq!(answer.json()["error"]["data"]["code"], INVALID);
    }
}

#[tokio::test]
async fn headers_that_contradict_the_body() {
    let rig = Rig::new(Setup::default());
    let message = stateless(call("echo", json!({"text": "a"}))).to_string();
    let wrong = [
        [("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "echo")],
        stateless_headers("tools/list", "echo"),
        stateless_headers("tools/call", "other"),
        stateless_headers("tools/call", ""),
    ];
    for headers in wrong {
        let answer = rig.post(&headers, &message).await;
        assert_eq!(
            (answer.status, answer.json()["error"]["code"].clone()),
            (400, json!(-32020)),
            "{headers:?}"
        );
        assert_eq!(answer.json()["error"]["data"]["code"], INVALID);
    }
    for name in ["echo", "=?base64?ZWNobw==?="] {
        assert_eq!(rig.post(&stateless_headers("tools/call", name), &message).await.status, 200, "{name}");
    }
}

#[tokio::test]
async fn an_unsupported_revision_is_told_the_supported_ones() {
    let rig = Rig::new(Setup::default());
    let mut message = stateless(call("echo", json!({})));
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let headers =
        [("MCP-Protocol-Version", "2099-01-01"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "echo")];
    let answer = rig.post(&headers, message.to_string()).await;
    let error = &answer.json()["error"];
    assert_eq!((answer.status, &error["code"]), (400, &json!(-32022)));
    assert_eq!(error["data"]["requested"], "2099-01-01");
    assert!(error["data"]["supported"].as_array().unwrap().contains(&json!("2026-07-28")));
}

#[tokio::test]
async fn notifications_and_stray_responses_are_not_answered() {
    let rig = Rig::new(Setup::default());
    let silent = [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "panic"}}),
        json!({"jsonrpc": "2.0", "id": 4, "result": {}}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "none"}}),
    ];
    for message in &silent {
        let answer = rig.post(&[], message.to_string()).await;
        assert_eq!((answer.status, answer.body.as_str()), (202, ""), "{message}");
        assert!(rig.pipe(format!("{message}\n")).await.is_empty(), "{message}");
    }
}
