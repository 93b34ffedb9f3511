//! The schemas of the tools: those of the six as the contract writes them, and satisfied by every answer. The answers of the
//! auxiliary tools are in `win_helper_tools.rs`.
#![allow(clippy::unwrap_used, reason = "a test may")]

mod common;

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use common::{Fake, Rig};
use govern::credentials::Caller;
use govern::gate::Policy;
use govern::tool::{Outcome, Refusal, SchemaProfile, Service as _, Tool};
use isphere::model::SourceName;
use isphere::sources::SourceError;
use isphere::tools::IsphereTools;
use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const PROFILES: [(SchemaProfile, &str); 2] =
    [(SchemaProfile::Portable, "portable"), (SchemaProfile::Contract, "contract")];

#[test]
fn the_schemas_are_as_they_were_last_agreed() {
    for (profile, name) in PROFILES {
        for tool in IsphereTools::tools() {
            let schemas = json!({
                "name": tool.name, "title": tool.title, "description": tool.description, "scope": tool.scope,
                "effect": tool.effect.as_str(), "inputSchema": (tool.input)(profile),
                "outputSchema": (tool.output)(profile),
            });
            insta::assert_json_snapshot!(format!("{}_{name}", tool.name), schemas);
        }
    }
}

#[test]
fn the_portable_profile_has_nothing_that_model_apis_refuse() {
    fn walk(schema: &Value, path: &str) {
        match schema {
            Value::Object(members) => {
                for (name, member) in members {
                    let refused = ["oneOf", "anyOf", "allOf", "$ref"].contains(&name.as_str())
                        || (name == "type" && !path.ends_with(".properties") && member.is_array());
                    assert!(!refused, "{path}.{name}");
                    walk(member, &format!("{path}.{name}"));
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, path)),
            _ => {}
        }
    }
    for tool in IsphereTools::tools() {
        walk(&(tool.input)(SchemaProfile::Portable), tool.name);
        walk(&(tool.output)(SchemaProfile::Portable), tool.name);
    }
}

/// The contract's own words, copied: for each tool its name, errors, inputs and output.
static CONTRACT: LazyLock<Vec<Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("contract.json")).unwrap());

/// For each tool its name, inputs and output.
fn contract() -> Vec<(String, Value, Value)> {
    let part = |tool: &Value, name: &str| tool[name].clone();
    CONTRACT
        .iter()
        .map(|tool| (tool["tool"].as_str().unwrap().to_owned(), part(tool, "input"), part(tool, "output")))
        .collect()
}

/// Whether the contract has this code for the tool; that a name may mean several is an addition of the design.
fn may_answer(tool: &str, code: &str) -> bool {
    // Of the auxiliary tools the contract says nothing.
    let Some(known) = CONTRACT.iter().find(|known| known["tool"] == tool) else { return true };
    let errors = known["errors"].as_str().unwrap();
    errors.split(", ").any(|known| known == code)
        || (tool, code) == ("isphere_receive_messages", "AMBIGUOUS_TARGET")
}

/// The tools that the contract is about.
fn six() -> impl Iterator<Item = &'static Tool<IsphereTools>> {
    IsphereTools::tools().iter().filter(|tool| tool.toolset == "isphere")
}

fn tool(name: &str) -> &'static Tool<IsphereTools> {
    IsphereTools::tools().iter().find(|tool| tool.name == name).unwrap()
}

fn words(text: &str) -> BTreeSet<String> {
    text.split(',').next().unwrap().split('|').map(|word| word.trim().to_owned()).collect()
}

fn enumerated(schema: &Value) -> BTreeSet<String> {
    schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[test]
fn the_tools_are_those_of_the_contract_in_its_order() {
    let names: Vec<_> = six().map(|tool| tool.name.to_owned()).collect();
    assert_eq!(names, contract().into_iter().map(|(name, ..)| name).collect::<Vec<_>>());
}

#[test]
fn the_arguments_are_those_of_the_contract_field_by_field() {
    for (name, inputs, _) in contract() {
        for (profile, _) in PROFILES {
            let schema = (tool(&name).input)(profile);
            let known: BTreeSet<_> = schema["properties"].as_object().unwrap().keys().cloned().collect();
            let inputs =
                inputs.as_object().unwrap().iter().map(|(field, text)| (field, text.as_str().unwrap()));
            let inputs: Vec<_> = inputs.filter(|(_, text)| !text.starts_with("not accepted")).collect();
            assert_eq!(known, inputs.iter().map(|(field, _)| (*field).clone()).collect(), "{name}");
            for (field, text) in inputs {
                let (property, here) = (&schema["properties"][field], format!("{name}.{field}"));
                let needed = schema["required"].as_array().unwrap().contains(&json!(field));
                assert_eq!(needed, !text.contains("optional") && text.contains("required"), "{here}");
                if text.split(',').next().unwrap().contains('|') {
                    assert_eq!(enumerated(property), words(text), "{here}");
                } else {
                    let kind = ["integer", "boolean"].into_iter().find(|kind| text.starts_with(kind));
                    assert_eq!(property["type"], kind.unwrap_or("string"), "{here}");
                }
                if let Some((_, default)) = text.split_once("default ") {
                    let default = default.split(',').next().unwrap();
                    // `default true for download` depends on the mode and is no default of the schema.
                    if !default.contains(' ') {
                        assert_eq!(property["default"].to_string().trim_matches('"'), default, "{here}");
                    }
                }
                if let Some((_, most)) = text.split_once("max ") {
                    assert_eq!(property["maximum"].to_string(), most, "{here}");
                }
            }
        }
    }
}

/// What the design adds to outputs.
const ADDED: [&str; 5] = ["warnings", "error", "truncated", "preview", "conversation_id"];

fn compare(schema: &Value, contract: &Value, here: &str, top: bool) {
    match contract {
        Value::Object(fields) => {
            let properties = schema["properties"].as_object().unwrap();
            for field in properties.keys().filter(|field| !fields.contains_key(*field)) {
                assert!(ADDED.contains(&field.as_str()), "{here}.{field} is not in the contract");
            }
            for (field, inner) in fields {
                let property = properties.get(field).unwrap_or_else(|| panic!("{here}.{field} is missing"));
                assert!(schema["required"].as_array().unwrap().contains(&json!(field)), "{here}.{field}");
                compare(property, inner, &format!("{here}.{field}"), here.is_empty() || !here.contains('.'));
            }
        }
        Value::Array(items) => compare(&schema["items"], &items[0], here, false),
        Value::String(text) => {
            let kinds = words(text);
            let type_names = ["string", "integer", "boolean", "null"];
            let nullable = schema["type"].as_array().is_some_and(|types| types.contains(&json!("null")));
            // The fields of the tool itself may be null, for on an error they are.
            assert!(top || nullable == kinds.contains("null") || text.starts_with("optional"), "{here}");
            if kinds.iter().all(|kind| !type_names.contains(&kind.as_str()))
                && text.contains('|')
                && !text.contains('<')
            {
                assert!(enumerated(schema).is_superset(&kinds), "{here}: {schema}");
            }
            if kinds.contains("integer") {
                assert!(schema["type"].to_string().contains("integer"), "{here}");
            }
        }
        Value::Null => assert!(schema["type"].to_string().contains("null"), "{here}"),
        Value::Bool(_) => assert!(schema["type"].to_string().contains("boolean"), "{here}"),
        Value::Number(number) => {
            let kind = if number.is_f64() { "number" } else { "integer" };
            assert!(schema["type"].to_string().contains(kind), "{here}");
        }
    }
}

#[test]
fn the_outputs_are_those_of_the_contract_field_by_field() {
    for (name, _, output) in contract() {
        compare(&(tool(&name).output)(SchemaProfile::Contract), &output, &name, true);
    }
}

fn check(tool: &Tool<IsphereTools>, outcome: &Outcome, what: &str) -> Value {
    let answer: Value = serde_json::from_str(outcome.structured()).unwrap();
    for (profile, name) in PROFILES {
        let schema = jsonschema::validator_for(&(tool.output)(profile)).unwrap();
        let faults: Vec<String> = schema.iter_errors(&answer).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{} {what} {name}: {faults:?}\n{answer}", tool.name);
    }
    assert_eq!(outcome.code().is_none(), answer["ok"] == true);
    assert_eq!(outcome.code(), answer["error"]["code"].as_str());
    assert!(outcome.code().is_none_or(|code| may_answer(tool.name, code)), "{} {what}: {answer}", tool.name);
    assert!(!outcome.text().is_empty());
    answer
}

/// Arguments with which each tool succeeds over [`Fake::organisation`].
fn good(tool: &str) -> Value {
    let text = "你好";
    match tool {
        "isphere_receive_messages" => json!({"conversation_id": "d1"}),
        "isphere_receive_files" => json!({}),
        "isphere_send_message" => json!({"target_type": "direct", "target_id": "u1", "content_text": text,
            "content_sha256": govern::hex::hex(&Sha256::digest(text)), "idempotency_key": "key-1"}),
        "isphere_send_file" => json!({"target_type": "group", "target_id": "g1", "file_path": "a.txt"}),
        _ => json!({"query": "张三"}),
    }
}

#[tokio::test]
async fn every_failure_of_a_source_satisfies_the_schema_with_empty_lists_and_nulls() {
    let failures = [
        (SourceError::Unavailable { message: "down".into(), retryable: true }, "SOURCE_UNAVAILABLE"),
        (SourceError::NotLoggedIn("log in".into()), "NOT_LOGGED_IN"),
        (SourceError::Failed("broken".into()), "CONNECTOR_FAILED"),
        (SourceError::Timeout("slow".into()), "TIMEOUT"),
        (SourceError::NotFound("gone".into()), "TARGET_NOT_FOUND"),
        (SourceError::StalePosition, "INVALID_ARGUMENT"),
    ];
    for (error, code) in failures {
        let rig = Rig::new(Fake { fails: Some(error), ..Fake::organisation() });
        for tool in six() {
            if tool.name == "isphere_send_file" {
                continue; // It looks at the file first; see the tests of sending.
            }
            if !may_answer(tool.name, "TARGET_NOT_FOUND") && code == "TARGET_NOT_FOUND" {
                continue; // A search that finds nothing succeeds.
            }
            let answer = check(tool, &rig.outcome(tool.name, good(tool.name)).await, code);
            let code = if tool.scope == "send" {
                code.replace("SOURCE_UNAVAILABLE", "WRITE_NOT_READY")
            } else {
                code.to_owned()
            };
            assert_eq!(answer["error"]["code"], code, "{}", tool.name);
            for (field, value) in answer.as_object().unwrap() {
                let around = ["ok", "warnings", "error", "audit"].contains(&field.as_str());
                let empty = *value == json!(null) || *value == json!([]) || *value == json!(false);
                assert!(around || empty, "{} {field}: {value}", tool.name);
            }
        }
    }
}

#[tokio::test]
async fn every_fault_of_arguments_and_every_success_satisfies_the_schema() {
    let rig = Rig::new(Fake::organisation());
    for tool in six() {
        check(tool, &rig.outcome(tool.name, good(tool.name)).await, "success");
        for bad in [
            json!({}),
            json!({"colour": "red"}),
            json!({"limit": "20"}),
            json!({"query": [], "target_id": 5}),
        ] {
            check(tool, &rig.outcome(tool.name, bad.clone()).await, &bad.to_string());
        }
    }
    let messages = tool("isphere_receive_messages");
    for arguments in
        [json!({"query": "李四"}), json!({"query": "报表"}), json!({"query": "张三", "preview": true})]
    {
        check(messages, &rig.outcome(messages.name, arguments.clone()).await, &arguments.to_string());
    }
}

#[tokio::test]
async fn every_tool_that_hangs_ends_in_timeout() {
    for tool in six().filter(|tool| tool.name != "isphere_send_file") {
        let source = Fake::organisation();
        source.hangs.store(true, std::sync::atomic::Ordering::SeqCst);
        let rig = Rig::with(source, Policy::default(), |settings| settings.timeout_ms = 20);
        let answer = check(tool, &rig.outcome(tool.name, good(tool.name)).await, "hanging");
        let error = &answer["error"];
        assert_eq!((&error["code"], &error["retryable"]), (&json!("TIMEOUT"), &json!(true)), "{}", tool.name);
    }
}

#[tokio::test]
async fn every_refusal_satisfies_the_schema_and_has_its_code() {
    let rig = Rig::new(Fake::organisation());
    let caller = Caller { name: "agent".to_owned(), scopes: Vec::new() };
    let none = serde_json::value::to_raw_value(&json!({})).unwrap();
    let refusals = [
        (Refusal::Disabled, "PERMISSION_DENIED", "WRITE_NOT_READY"),
        (Refusal::ReadOnly, "PERMISSION_DENIED", "WRITE_NOT_READY"),
        (Refusal::ScopeDenied { needs: "send" }, "PERMISSION_DENIED", "PERMISSION_DENIED"),
        (Refusal::RateLimited { retry_after_ms: 1_500 }, "SOURCE_UNAVAILABLE", "WRITE_NOT_READY"),
        (Refusal::AuditUnavailable, "INTERNAL_ERROR", "INTERNAL_ERROR"),
    ];
    for (refusal, of_reads, of_sends) in refusals {
        for tool in IsphereTools::tools() {
            let outcome = rig.tools.refuse(tool, &refusal, &rig.call(&none, &caller));
            let error = check(tool, &outcome, refusal.code())["error"].clone();
            assert_eq!(
                error["code"],
                if tool.scope == "send" { of_sends } else { of_reads },
                "{}",
                tool.name
            );
            let again = matches!(refusal, Refusal::RateLimited { .. } | Refusal::AuditUnavailable);
            assert_eq!(error["retryable"], again);
            let wait =
                if matches!(refusal, Refusal::RateLimited { .. }) { json!(1_500) } else { json!(null) };
            assert_eq!(error["retry_after_ms"], wait);
        }
    }
}

#[tokio::test]
async fn the_audit_object_names_the_caller_and_the_source_that_was_or_would_have_been_used() {
    let down = || SourceError::Unavailable { message: "down".into(), retryable: true };
    let sources = vec![
        (SourceName::LocalReadonly, Err(down())),
        (SourceName::Mock, Ok(Arc::new(Fake::organisation()) as Arc<dyn isphere::sources::Source>)),
    ];
    let mut rig = Rig::over(sources, Policy::default(), |_| ());
    let answer = rig.answer("isphere_search_contacts", json!({"query": "张三"})).await;
    assert_eq!(
        (&answer["audit"]["source"], &answer["audit"]["operator_id"]),
        (&json!("mock"), &json!("op-1"))
    );
    assert_eq!(answer["warnings"][0]["code"], "SOURCE_SKIPPED");
    rig.channel = govern::audit::Channel::McpHttp;
    let answer = rig.answer("isphere_search_contacts", json!({"query": ""})).await;
    assert_eq!(
        (&answer["audit"]["source"], &answer["audit"]["operator_id"]),
        (&json!("local_readonly"), &json!("agent"))
    );
    let uia = json!({"query": "张三", "source_preference": "uia"});
    let answer = rig.answer("isphere_search_contacts", uia).await;
    assert_eq!(
        (&answer["error"]["code"], &answer["audit"]["source"]),
        (&json!("SOURCE_UNAVAILABLE"), &json!("uia"))
    );
}

/// Any value that JSON has, some of them such as callers send.
fn any_value() -> impl Strategy<Value = Value> {
    let words = [
        "",
        ".",
        "..",
        "张三",
        "d1",
        "c1",
        "u1",
        "g1",
        "f0",
        "m1",
        "报表",
        "direct",
        "group",
        "contact",
        "list",
        "download",
        "preview",
        "production",
        "auto",
        "network",
        "a.txt",
        "2026-11-30T07:27:00+08:00",
        "\0",
        "\u{202E}",
    ];
    prop_oneof![
        6 => proptest::sample::select(words.map(|word| json!(word)).to_vec()),
        2 => any::<bool>().prop_map(Value::from),
        2 => (-2_i64..300).prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => "\\PC{0,30}".prop_map(Value::from),
        1 => Just(json!(null)),
        1 => Just(json!([])),
        1 => Just(json!({"a": [1]})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn whatever_is_asked_the_answer_satisfies_the_schema_and_has_a_code_of_the_contract(
        which in 0..6_usize,
        drawn in proptest::collection::vec((any::<bool>(), any_value()), 12),
    ) {
        let tool = &IsphereTools::tools()[which];
        let mut arguments = good(tool.name);
        let schema = (tool.input)(SchemaProfile::Portable);
        for (field, (changed, value)) in schema["properties"].as_object().unwrap().keys().zip(drawn) {
            if changed {
                arguments[field] = value;
            }
        }
        let rig = Rig::new(Fake::organisation());
        let outcome = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(rig.outcome(tool.name, arguments.clone()));
        check(tool, &outcome, &arguments.to_string());
    }
}
