//! Each field of each submit shape: missing, extra and ill-typed, named by its JSON path.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use hotel::app::submit::adapter;
use hotel::app::submit::shape::{Kind, Member, ROUTE, V2, V3};
use hotel::{Error, Fault};
use serde_json::{Value, json};

/// A valid value of a kind.
fn sample(kind: Kind) -> Value {
    match kind {
        Kind::Text | Kind::NullableText | Kind::Any => json!("text"),
        Kind::OneOf(words) => json!(words[0]),
        Kind::Index => json!("E1"),
        // A relation would have to name another event.
        Kind::NullableIndex => Value::Null,
        Kind::Number => json!(1),
        Kind::NullableConfidence => json!(0.5),
        Kind::NullableFree => json!({"anything": [1]}),
        Kind::Object(members) | Kind::NullableObject(members) => object(members),
        Kind::List(Kind::Index, _) | Kind::NullableList(Kind::Index, _) => json!([]),
        Kind::List(item, _) | Kind::NullableList(item, _) => json!([sample(*item)]),
    }
}

fn object(members: &[Member]) -> Value {
    members
        .iter()
        .map(|member| (member.name.to_owned(), sample(member.kind)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// A value that is not of a kind; none where every value is.
fn ill_typed(kind: Kind) -> Option<Value> {
    match kind {
        Kind::Any => None,
        Kind::Object(_) | Kind::NullableObject(_) | Kind::NullableFree => Some(json!([])),
        Kind::List(..) | Kind::NullableList(..) => Some(json!("[]")),
        Kind::Index | Kind::NullableIndex | Kind::Number => Some(json!(true)),
        Kind::NullableConfidence => Some(json!("0.5")),
        Kind::Text | Kind::NullableText | Kind::OneOf(_) => Some(json!(5)),
    }
}

fn is_nullable(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Text | Kind::OneOf(_) | Kind::Index | Kind::Number | Kind::Object(_) | Kind::List(..)
    )
}

/// Every member with its JSON pointer and the path that a fault names.
fn fields(members: &'static [Member], pointer: &str, path: &str) -> Vec<(String, String, &'static Member)> {
    let mut all = Vec::new();
    for member in members {
        let (pointer, path) = (format!("{pointer}/{}", member.name), format!("{path}.{}", member.name));
        match member.kind {
            Kind::Object(inner) | Kind::NullableObject(inner) => {
                all.append(&mut fields(inner, &pointer, &path));
            }
            Kind::List(Kind::Object(inner), _) | Kind::NullableList(Kind::Object(inner), _) => {
                all.append(&mut fields(inner, &format!("{pointer}/0"), &format!("{path}[0]")));
            }
            _ => {}
        }
        all.push((pointer, path, member));
    }
    all
}

fn faults(payload: Value) -> Vec<Fault> {
    match adapter::from_mcp(payload) {
        Ok(_) => Vec::new(),
        Err(Error::SubmitPayloadInvalid(faults)) => faults.listed().to_vec(),
        Err(other) => panic!("{other}"),
    }
}

/// The member that says which shape a payload has: without it, it is another payload.
fn tells_the_shape(path: &str) -> bool {
    ["$.message_events", "$.route_code", "$.ai_task_results"].contains(&path)
}

#[test]
fn a_complete_submission_of_each_shape_has_no_fault() {
    for members in [V3, ROUTE, V2] {
        assert_eq!(faults(object(members)), []);
    }
}

#[test]
fn an_ill_typed_field_is_refused_with_its_path() {
    for members in [V3, ROUTE, V2] {
        for (pointer, path, member) in fields(members, "", "$") {
            let Some(value) = ill_typed(member.kind) else { continue };
            let mut payload = object(members);
            *payload.pointer_mut(&pointer).unwrap() = value;
            let found = faults(payload);
            assert!(found.iter().any(|fault| fault.path == path), "{path}: {found:?}");
        }
    }
}

#[test]
fn a_missing_field_is_refused_with_its_path_unless_it_may_be_null() {
    for members in [V3, ROUTE, V2] {
        for (pointer, path, member) in fields(members, "", "$") {
            // A message without its id is the service's to refuse.
            if tells_the_shape(&path) || path == "$.source_message.source_message_id" {
                continue;
            }
            let mut payload = object(members);
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            payload.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name);
            let found = faults(payload);
            if member.required && !is_nullable(member.kind) {
                assert!(
                    found.iter().any(|fault| fault.path == path && fault.code == "MISSING_FIELD"),
                    "{path}: {found:?}"
                );
            } else {
                assert_eq!(found, [], "{path}");
            }
        }
    }
}

#[test]
fn an_extra_field_in_any_closed_object_is_refused_with_its_path() {
    for members in [V3, ROUTE, V2] {
        let mut closed = vec![(String::new(), "$".to_owned())];
        for (pointer, path, _) in fields(members, "", "$") {
            let (parent, _) = pointer.rsplit_once('/').unwrap();
            let (parent_path, _) = path.rsplit_once('.').unwrap();
            closed.push((parent.to_owned(), parent_path.to_owned()));
        }
        closed.dedup();
        for (pointer, path) in closed {
            let mut payload = object(members);
            payload.pointer_mut(&pointer).unwrap()["colour"] = json!("red");
            let found = faults(payload);
            let path = format!("{path}.colour");
            assert!(
                found.iter().any(|fault| fault.path == path && fault.code == "UNKNOWN_FIELD"),
                "{path}: {found:?}"
            );
        }
    }
}
