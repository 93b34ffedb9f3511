//! The tools as a client sees them: schemas, answers that satisfy them, refusals, and the REST twins.
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test may panic, and json! makes values"
)]

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use govern::audit::{Record, Recorder, RecorderHandle, Sink, SinkError};
use govern::credentials::{Bearer, Caller, Credentials, CredentialsUnavailable, Scope, digest};
use govern::gate::{Gate, Policy};
use govern::mcp::McpOptions;
use govern::tool::{SchemaProfile, Service};
use hotel::app::ingest;
use hotel::console::ConsoleOptions;
use hotel::http::{Interfaces, router};
use hotel::mcp::HotelTools;
use hotel::testing::{Rig, on_each_database};
use serde_json::{Value, json};
use tower::ServiceExt as _;

const MAIL: &[u8] =
    b"From: Lin <lin@sunny.example>\r\nMessage-ID: <m1@sunny.example>\r\nSubject: New booking\r\n\
    Date: Mon, 30 Nov 2026 15:00:00 +0800\r\n\r\nPlease book.\r\n";

#[derive(Default)]
struct Kept(Mutex<Vec<Record>>);

impl Sink for Kept {
    fn append<'a>(&'a self, batch: &'a [Record]) -> BoxFuture<'a, Result<(), SinkError>> {
        self.0.lock().unwrap().extend_from_slice(batch);
        async { Ok(()) }.boxed()
    }
}

/// The token `all` may do everything, `reader` may only read.
struct TwoTokens;

impl Credentials for TwoTokens {
    fn find(&self, secret: [u8; 32]) -> BoxFuture<'_, Result<Option<Caller>, CredentialsUnavailable>> {
        let caller = |name: &str, scope: Scope| Caller { name: name.to_owned(), scopes: vec![scope] };
        let found = if secret == digest("all") {
            Some(caller("all", Scope::all()))
        } else {
            (secret == digest("reader")).then(|| caller("reader", Scope::new("read")))
        };
        async move { Ok(found) }.boxed()
    }
}

struct Client {
    _rig: Rig,
    router: Router,
    kept: Arc<Kept>,
    recorder: RecorderHandle,
}

impl Client {
    async fn new(rig: Rig, profile: SchemaProfile, policy: Policy) -> Self {
        rig.activate().await;
        ingest::mail(&rig.hotel, rig.request("test"), "FILE", MAIL.to_vec()).await.unwrap();
        let kept = Arc::new(Kept::default());
        let (sender, recorder) = Recorder::start(Arc::clone(&kept) as Arc<dyn Sink>);
        let gate = Arc::new(Gate::new(&policy, HotelTools::tools()));
        let bearer = Arc::new(Bearer::new(Arc::new(TwoTokens), rig.hotel.clock.clone()));
        let options =
            McpOptions { schema_profile: profile, body_limit_bytes: 100_000, ..McpOptions::default() };
        let hotel = Arc::clone(&rig.hotel);
        let router = router(Interfaces {
            hotel,
            gate,
            recorder: sender,
            bearer,
            options,
            console: ConsoleOptions::default(),
            loopback_only: true,
        });
        Self { _rig: rig, router, kept, recorder }
    }

    async fn post(&self, path: &str, token: &str, body: Value) -> (StatusCode, Value) {
        self.post_with(path, token, &[("x-trace-id", "trace-9")], &body).await
    }

    async fn post_with(
        &self,
        path: &str,
        token: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> (StatusCode, Value) {
        let mut request = Request::post(path)
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {token}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.to_string())).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), 1 << 24).await.unwrap();
        (status, serde_json::from_slice(&bytes).unwrap())
    }

    /// A request without a body; the status, what `Allow` says, and the answer.
    async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> (StatusCode, String, Value) {
        let mut request = Request::builder().method(method).uri(path).header("host", "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let status = response.status();
        let allow = response.headers().get("allow").map(|allow| allow.to_str().unwrap().to_owned());
        let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, allow.unwrap_or_default(), serde_json::from_slice(&bytes).unwrap())
    }

    async fn call(&self, token: &str, tool: &str, arguments: Value) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        self.post("/mcp", token, call).await.1["result"].clone()
    }

    async fn list(&self, token: &str) -> Value {
        self.post("/mcp", token, json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await.1["result"]
            ["tools"]
            .clone()
    }

    /// What was recorded outside the writes' own transactions, by operation and code.
    async fn recorded(self) -> Vec<(String, String, String)> {
        self.recorder.shutdown().await;
        let records = self.kept.0.lock().unwrap();
        let code = |record: &Record| record.code.as_ref().map(ToString::to_string).unwrap_or_default();
        records
            .iter()
            .map(|record| (record.operation.to_string(), record.outcome.as_str().to_owned(), code(record)))
            .collect()
    }
}

fn v3() -> Value {
    json!({
        "source_message": {"source_message_id": "m1@sunny.example", "subject": null, "from": null, "cc": [],
            "received_at": null, "source_channel": "Email"},
        "message_events": [{"source_event_index": "E1", "event_type": "BOOKING_NEW_GROUP",
            "case_keys": {"group_code": "GR1", "confirmation_number": null, "reservation_no": null}}],
        "case_candidates": [], "extraction_warnings": [], "unhandled_current_intents": [],
    })
}

/// One call of each tool that succeeds, and some that fail.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("th_hotel_query_case_context", json!({"group_code": "GR1"})),
        ("th_hotel_query_case_context", json!({})),
        ("th_hotel_query_case_context", json!({"group_code": 5})),
        ("th_hotel_query_case_context", json!({"colour": "red"})),
        ("th_hotel_query_object_detail", json!({"object_id": "ORDER:1"})),
        ("th_hotel_query_object_detail", json!({})),
        ("th_hotel_list_message_conversation_tasks", json!({"source_message_id": "m1@sunny.example"})),
        ("th_hotel_list_message_conversation_messages", json!({"source_message_id": "m1@sunny.example"})),
        ("th_hotel_list_message_conversation_messages", json!({"source_message_id": "nobody"})),
        ("th_hotel_submit_task_results", v3()),
        ("th_hotel_submit_task_results", json!({"message_events": "[]"})),
    ]
}

#[tokio::test]
async fn every_answer_satisfies_the_listed_output_schema_in_both_profiles() {
    for profile in [SchemaProfile::Portable, SchemaProfile::Contract] {
        on_each_database(async |rig| {
            let client = Client::new(rig, profile, Policy::default()).await;
            let tools = client.list("all").await;
            for (name, arguments) in calls() {
                let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
                let schema = jsonschema::validator_for(&tool["outputSchema"]).unwrap();
                for token in ["all", "reader"] {
                    let result = client.call(token, name, arguments.clone()).await;
                    let faults: Vec<String> = schema
                        .iter_errors(&result["structuredContent"])
                        .map(|fault| fault.to_string())
                        .collect();
                    assert!(faults.is_empty(), "{name} {arguments}: {faults:?}\n{result}");
                    assert_eq!(result["isError"], !result["structuredContent"]["success"].as_bool().unwrap());
                    assert_eq!(result["structuredContent"]["trace_id"], "trace-9");
                    assert!(!result["content"][0]["text"].as_str().unwrap().is_empty());
                }
            }
            let detail =
                client.call("all", "th_hotel_query_case_context", json!({"group_code": "GR1"})).await;
            let object_id =
                detail["structuredContent"]["data"]["matched_order_records"][0]["object_id"].clone();
            let detail =
                client.call("all", "th_hotel_query_object_detail", json!({"object_id": object_id})).await;
            assert_eq!(detail["structuredContent"]["data"]["status"], "DRAFT");
        })
        .await;
    }
}

#[tokio::test]
async fn the_schemas_are_as_they_were_last_agreed() {
    for (profile, name) in [(SchemaProfile::Portable, "portable"), (SchemaProfile::Contract, "contract")] {
        for tool in HotelTools::tools() {
            let schemas = json!({
                "name": tool.name, "title": tool.title, "description": tool.description, "scope": tool.scope,
                "effect": tool.effect.as_str(), "inputSchema": (tool.input)(profile),
                "outputSchema": (tool.output)(profile),
            });
            insta::assert_json_snapshot!(format!("{}_{name}", tool.name), schemas);
        }
    }
    insta::assert_json_snapshot!("openapi", hotel::http::openapi());
}

#[test]
fn the_portable_profile_has_nothing_that_model_apis_refuse() {
    fn walk(schema: &Value, path: &str) {
        match schema {
            Value::Object(members) => {
                for (name, member) in members {
                    let here = format!("{path}.{name}");
                    let refused = ["oneOf", "anyOf", "allOf", "$ref"].contains(&name.as_str())
                        || (name == "type" && !path.ends_with(".properties") && member.is_array());
                    assert!(!refused, "{here}");
                    walk(member, &here);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, path)),
            _ => {}
        }
    }
    for tool in HotelTools::tools() {
        walk(&(tool.input)(SchemaProfile::Portable), tool.name);
        walk(&(tool.output)(SchemaProfile::Portable), tool.name);
    }
}

#[tokio::test]
async fn a_tool_outside_the_tokens_scope_is_hidden_and_answers_scope_denied() {
    on_each_database(async |rig| {
        let client = Client::new(rig, SchemaProfile::Portable, Policy::default()).await;
        let names: Vec<Value> =
            client.list("reader").await.as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(names.len(), 4);
        let refused = client.call("reader", "th_hotel_submit_task_results", v3()).await;
        assert_eq!(refused["structuredContent"]["error"]["code"], "SCOPE_DENIED");
        let (status, twin) = client.post("/api/integrations/superagent/task-results", "reader", v3()).await;
        assert_eq!((status, &twin["error"]["code"]), (StatusCode::FORBIDDEN, &json!("SCOPE_DENIED")));
    })
    .await;
}

#[tokio::test]
async fn read_only_is_an_upper_bound_on_both_interfaces() {
    on_each_database(async |rig| {
        let policy = Policy { read_only: true, ..Policy::default() };
        let client = Client::new(rig, SchemaProfile::Portable, policy).await;
        let refused = client.call("all", "th_hotel_submit_task_results", v3()).await;
        assert_eq!(refused["structuredContent"]["error"]["code"], "MCP_TOOL_DISABLED");
        for path in ["/api/integrations/superagent/task-results", "/api/integrations/agentbus/messages"] {
            let (status, twin) = client.post(path, "all", v3()).await;
            assert_eq!(
                (status, &twin["error"]["code"]),
                (StatusCode::SERVICE_UNAVAILABLE, &json!("MCP_TOOL_DISABLED"))
            );
        }
    })
    .await;
}

#[tokio::test]
async fn a_submission_over_rest_is_a_replay_of_the_one_over_mcp() {
    on_each_database(async |rig| {
        let client = Client::new(rig, SchemaProfile::Portable, Policy::default()).await;
        let first =
            client.call("all", "th_hotel_submit_task_results", v3()).await["structuredContent"]["data"]
                .clone();
        assert_eq!(first["mapping_diagnostics"], json!([{"original": "E1", "source_event_index": 1}]));
        let mut business = v3();
        business["message_events"][0]["source_event_index"] = 1.into();
        let (status, twin) = client.post("/api/integrations/superagent/task-results", "all", business).await;
        assert_eq!(status, StatusCode::OK);
        let mut expected = first.clone();
        expected.as_object_mut().unwrap().remove("mapping_diagnostics");
        expected["idempotent_replay"] = true.into();
        assert_eq!(twin["data"], expected);
    })
    .await;
}

#[tokio::test]
async fn queries_answer_the_same_over_rest() {
    on_each_database(async |rig| {
        let client = Client::new(rig, SchemaProfile::Portable, Policy::default()).await;
        client.call("all", "th_hotel_submit_task_results", v3()).await;
        let anchor = json!({"source_message_id": "m1@sunny.example"});
        for (tool, path, query) in [
            ("th_hotel_query_case_context", "/api/ai-query/v1/case-context", json!({"group_code": "GR1"})),
            (
                "th_hotel_query_object_detail",
                "/api/ai-query/v1/object-detail",
                json!({"object_id": "ORDER:99999"}),
            ),
            (
                "th_hotel_list_message_conversation_tasks",
                "/api/ai-query/v1/message-conversation/tasks",
                anchor.clone(),
            ),
            (
                "th_hotel_list_message_conversation_messages",
                "/api/ai-query/v1/message-conversation/messages",
                anchor,
            ),
        ] {
            let mut over_mcp = client.call("all", tool, query.clone()).await["structuredContent"].clone();
            let (_, mut over_rest) = client.post(path, "all", query).await;
            over_mcp["request_id"] = Value::Null;
            over_rest["request_id"] = Value::Null;
            assert_eq!(over_mcp, over_rest, "{tool}");
        }
    })
    .await;
}

#[tokio::test]
async fn rest_refuses_what_is_malformed_in_the_envelope() {
    on_each_database(async |rig| {
        let client = Client::new(rig, SchemaProfile::Portable, Policy::default()).await;
        let path = "/api/ai-query/v1/case-context";
        let (status, body) = client.post(path, "wrong", json!({"group_code": "GR1"})).await;
        assert_eq!(
            (status, &body["error"]["code"]),
            (StatusCode::UNAUTHORIZED, &json!("AUTH_SIGNATURE_INVALID"))
        );
        let (status, body) = client.post(path, "all", json!([])).await;
        assert_eq!((status, &body["error"]["code"]), (StatusCode::BAD_REQUEST, &json!("INVALID_ARGUMENT")));
        let (status, body) = client.post(path, "all", json!({"group_code": "x".repeat(100_001)})).await;
        let code = json!("MCP_REQUEST_BODY_TOO_LARGE");
        assert_eq!((status, &body["error"]["code"]), (StatusCode::PAYLOAD_TOO_LARGE, &code));
        let request = Request::post(path).header("host", "evil.example").body(Body::empty()).unwrap();
        assert_eq!(client.router.clone().oneshot(request).await.unwrap().status(), StatusCode::FORBIDDEN);
    })
    .await;
}

#[tokio::test]
async fn a_path_or_a_method_that_there_is_not_is_refused_in_the_envelope() {
    on_each_database(async |rig| {
        let client = Client::new(rig, SchemaProfile::Portable, Policy::default()).await;
        for path in ["/", "/api", "/api/ai-query/v1/case-context/", "/mcp/", "/%00"] {
            let (status, _, body) = client.send("POST", path, &[("x-trace-id", "t-1")]).await;
            assert_eq!(
                (status, &body["error"]["code"]),
                (StatusCode::NOT_FOUND, &json!("NOT_FOUND")),
                "{path}"
            );
            assert!(body["request_id"].is_string() && body["trace_id"] == "t-1", "{body}");
        }
        let paths = hotel::http::ROUTES.iter().map(|route| (route.path, "GET", "POST"));
        let looks =
            ["/healthz", "/readyz", "/metrics", "/openapi.json"].map(|path| (path, "POST", "GET,HEAD"));
        for (path, method, allowed) in paths.chain(looks) {
            let (status, allow, body) = client.send(method, path, &[]).await;
            assert_eq!((status, allow.as_str()), (StatusCode::METHOD_NOT_ALLOWED, allowed), "{path}");
            assert_eq!(
                (&body["error"]["code"], &body["success"]),
                (&json!("METHOD_NOT_ALLOWED"), &json!(false))
            );
        }
    })
    .await;
}

#[tokio::test]
async fn a_trace_id_is_the_same_over_rest_and_over_mcp() {
    on_each_database(async |rig| {
        let client = Client::new(rig, SchemaProfile::Portable, Policy::default()).await;
        let id = "0af7651916cd43dd8448eb211c80319c";
        let (traceparent, long) = (format!("00-{id}-b7ad6b7169203331-01"), "x".repeat(129));
        let query = json!({"group_code": "GR1"});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "th_hotel_query_case_context", "arguments": query}});
        for (headers, expected) in [
            (vec![("traceparent", traceparent.as_str()), ("x-trace-id", "t-1")], json!(id)),
            (vec![("traceparent", "00-nonsense"), ("x-trace-id", "t-1")], json!("t-1")),
            (vec![("x-trace-id", " t-1 ")], json!("t-1")),
            (vec![("x-trace-id", "a b")], Value::Null),
            (vec![("x-trace-id", &long)], Value::Null),
            (vec![], Value::Null),
        ] {
            let (_, rest) = client.post_with("/api/ai-query/v1/case-context", "all", &headers, &query).await;
            let (_, mcp) = client.post_with("/mcp", "all", &headers, &call).await;
            assert_eq!(rest["trace_id"], expected, "{headers:?}");
            assert_eq!(mcp["result"]["structuredContent"]["trace_id"], expected, "{headers:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_token_given_twice_is_refused_on_every_route() {
    on_each_database(async |rig| {
        let client = Client::new(rig, SchemaProfile::Portable, Policy::default()).await;
        for path in hotel::http::ROUTES.iter().map(|route| route.path).chain(["/mcp"]) {
            let again = [("authorization", "Bearer all")];
            let (status, _) = client.post_with(path, "all", &again, &json!({})).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn every_tool_and_every_route_is_authorised_and_recorded() {
    on_each_database(async |rig| {
        let client = Client::new(rig, SchemaProfile::Portable, Policy::default()).await;
        for route in &hotel::http::ROUTES {
            let (status, _) = client.post(route.path, "wrong", json!({})).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{}", route.path);
            let (status, _) = client.post(route.path, "all", json!({"no such field": 1})).await;
            assert!(status.is_client_error(), "{}", route.path);
        }
        for tool in HotelTools::tools() {
            client.call("all", tool.name, json!({"no such field": 1})).await;
        }
        let recorded = client.recorded().await;
        for route in &hotel::http::ROUTES {
            let twin = usize::from(HotelTools::tools().iter().any(|tool| tool.name == route.operation));
            let count = recorded.iter().filter(|(operation, ..)| operation == route.operation).count();
            assert_eq!(count, 1 + twin, "{}: {recorded:?}", route.operation);
        }
    })
    .await;
}

#[tokio::test]
async fn metrics_count_calls_and_are_shown_on_loopback_only_to_this_machine() {
    on_each_database(async |rig| {
        let client = Client::new(rig, SchemaProfile::Portable, Policy::default()).await;
        client.call("all", "th_hotel_submit_task_results", v3()).await;
        let get = async |host: &str| {
            let request = Request::get("/metrics").header("host", host).body(Body::empty()).unwrap();
            let response = client.router.clone().oneshot(request).await.unwrap();
            let status = response.status();
            (
                status,
                String::from_utf8(to_bytes(response.into_body(), 1 << 20).await.unwrap().to_vec()).unwrap(),
            )
        };
        let (status, text) = get("localhost").await;
        assert_eq!(status, StatusCode::OK);
        let counted = "countersign_calls_total{operation=\"th_hotel_submit_task_results\",outcome=\"ok\"} 1";
        assert!(text.contains(counted), "{text}");
        assert_eq!(get("evil.example").await.0, StatusCode::UNAUTHORIZED);
    })
    .await;
}
