//! The submit adapter (contract section 7.4): checks what the transport needs, numbers the events and
//! rewrites their relations. It is pure, lists every fault at once, and decides nothing about business.

use std::collections::{HashMap, HashSet};

use govern::text::visible;
use serde_json::{Map, Value};

use super::normal;
use super::payload::{Mapping, Shape, Submission};
use super::shape::{self, Member};
use crate::error::{Error, Fault};
use crate::faults::Faults;

/// A submission that came over MCP: the agent's own event ids are mapped to 1..n.
pub fn from_mcp(arguments: Value) -> Result<Submission, Error> {
    adapt(arguments, true)
}

/// A submission that came over REST in the business form: indices are 1..n already and nothing is mapped.
pub fn from_rest(body: Value) -> Result<Submission, Error> {
    adapt(body, false)
}

fn adapt(mut value: Value, maps: bool) -> Result<Submission, Error> {
    let (shape, members) = choose_shape(&value)?;
    let mut faults = Faults::default();
    complete_a_message_without_id(&mut value);
    shape::check_object(&value, members, "$", &mut faults);
    normal::check_numbers(&value, &mut "$".to_owned(), &mut faults);
    let Value::Object(mut payload) = value else { return Err(Error::SubmitPayloadInvalid(faults)) };
    let mut mapping = Vec::new();
    // Relations can only be followed when each event is an object with an index.
    if faults.is_empty() {
        match shape {
            Shape::V3 => mapping = map_events(&mut payload, maps, &mut faults),
            Shape::V2 => check_result_indices(&payload, &mut faults),
            Shape::Route => {}
        }
    }
    if !faults.is_empty() {
        return Err(Error::SubmitPayloadInvalid(faults));
    }
    let hotel_id = payload.remove("hotel_id").and_then(|id| id.as_str().map(str::to_owned));
    payload.remove("source_provider");
    payload.remove("source_channel");
    // V3 and S10/S99 over MCP take the field for compatibility and do not read it.
    let hotel_id = hotel_id.filter(|_| !maps || shape == Shape::V2);
    let source_message_id = source_message_id(&payload, shape);
    normal::without_defaults(&mut payload);
    Ok(Submission { shape, hotel_id, source_message_id, payload: Value::Object(payload), mapping })
}

/// The shape is told by which of three members is there; a null one is not.
fn choose_shape(value: &Value) -> Result<(Shape, &'static [Member]), Error> {
    let there = |name: &str| value.get(name).is_some_and(|member| !member.is_null());
    let mut shapes = vec![
        ("message_events", Shape::V3, shape::V3),
        ("route_code", Shape::Route, shape::ROUTE),
        ("ai_task_results", Shape::V2, shape::V2),
    ];
    shapes.retain(|(name, ..)| there(name));
    if let [(_, shape, members)] = shapes[..] {
        return Ok((shape, members));
    }
    let found: Vec<&str> = shapes.iter().map(|(name, ..)| *name).collect();
    let found = if found.is_empty() { "none".to_owned() } else { found.join(" and ") };
    let code = if shapes.is_empty() { "SHAPE_MISSING" } else { "SHAPE_MIXED" };
    let expected = format!("exactly one of message_events, route_code and ai_task_results, got {found}");
    Err(Error::SubmitPayloadInvalid(fault("$", code, expected).into()))
}

/// A source_message without its id is the service's to refuse, whatever else it lacks.
fn complete_a_message_without_id(value: &mut Value) {
    let Some(Value::Object(message)) = value.get_mut("source_message") else { return };
    if message.get("source_message_id").is_none_or(Value::is_null) {
        message.insert("source_message_id".into(), "".into());
        message.entry("cc").or_insert_with(|| Value::Array(Vec::new()));
        message.entry("source_channel").or_insert_with(|| "Email".into());
    }
}

fn source_message_id(payload: &Map<String, Value>, shape: Shape) -> Option<String> {
    let holder = match shape {
        Shape::V2 => payload.get("source_message_id"),
        Shape::V3 | Shape::Route => {
            payload.get("source_message").and_then(|message| message.get("source_message_id"))
        }
    };
    let id = visible(holder?.as_str()?).text;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// Numbers the events from 1 in array order and rewrites what refers to them.
fn map_events(payload: &mut Map<String, Value>, maps: bool, faults: &mut Faults) -> Vec<Mapping> {
    let Some(Value::Array(events)) = payload.get_mut("message_events") else { return Vec::new() };
    let mut numbers: HashMap<String, u64> = HashMap::with_capacity(events.len());
    let mut mapping = Vec::with_capacity(events.len());
    for (number, event) in (1_u64..).zip(events.iter()) {
        let original = event.get("source_event_index").cloned().unwrap_or_default();
        let path = format!("$.message_events[{}].source_event_index", number - 1);
        if !maps && shape::positive(&original) != Some(number) {
            faults.push(fault(
                &path,
                "INDEX_NOT_IN_ORDER",
                format!("{number}, the place in the array, got {original}"),
            ));
        }
        if let Some(first) = numbers.insert(name_of(&original), number) {
            faults.push(fault(
                &path,
                "DUPLICATE_INDEX",
                format!("an index of its own; event {first} has {original} too"),
            ));
        }
        mapping.push(Mapping { original, source_event_index: number });
    }
    for (number, event) in (1_u64..).zip(events.iter_mut()) {
        if let Value::Object(event) = event {
            rewrite_relations(event, number, &numbers, faults);
        }
    }
    if faults.is_empty() {
        find_cycles(events, faults);
    }
    mapping
}

fn rewrite_relations(
    event: &mut Map<String, Value>,
    number: u64,
    numbers: &HashMap<String, u64>,
    faults: &mut Faults,
) {
    event.insert("source_event_index".into(), number.into());
    let base = format!("$.message_events[{}]", number - 1);
    let mut rewrite = |value: &mut Value, path: &str| match numbers.get(&name_of(value)) {
        Some(target) if *target == number => {
            faults.push(fault(path, "SELF_RELATION", "another event, got the event itself".into()));
        }
        Some(target) => *value = (*target).into(),
        None => faults.push(fault(
            path,
            "DANGLING_RELATION",
            format!("the index of an event of this submission, got {value}"),
        )),
    };
    for field in ["parent_source_event_index", "related_source_event_index"] {
        if let Some(value) = event.get_mut(field).filter(|value| !value.is_null()) {
            rewrite(value, &format!("{base}.{field}"));
        }
    }
    if let Some(Value::Array(related)) = event.get_mut("related_source_event_indices") {
        for (position, value) in related.iter_mut().enumerate() {
            rewrite(value, &format!("{base}.related_source_event_indices[{position}]"));
        }
        let mut seen = HashSet::new();
        for (position, value) in related.iter().enumerate() {
            if !seen.insert(name_of(value)) {
                let path = format!("{base}.related_source_event_indices[{position}]");
                faults.push(fault(
                    &path,
                    "DUPLICATE_RELATION",
                    format!("each event once, got {value} again"),
                ));
            }
        }
    }
}

/// Parents must lead to a root. Related events may name each other.
fn find_cycles(events: &[Value], faults: &mut Faults) {
    let parents: Vec<Option<usize>> = events
        .iter()
        .map(|event| event.get("parent_source_event_index").and_then(Value::as_u64))
        .map(|parent| parent.and_then(|number| usize::try_from(number).ok()?.checked_sub(1)))
        .collect();
    let mut leads_to_root = vec![false; events.len()];
    for start in 0..events.len() {
        let (mut trail, mut at) = (Vec::new(), Some(start));
        while let Some(event) = at.filter(|event| !leads_to_root[*event]) {
            if trail.len() > events.len() {
                let path = format!("$.message_events[{start}].parent_source_event_index");
                faults.push(fault(
                    &path,
                    "CYCLIC_RELATION",
                    "a parent that leads to a root, got a cycle".into(),
                ));
                // One fault names the cycle; its other members need none.
                break;
            }
            trail.push(event);
            at = parents[event];
        }
        for event in trail {
            leads_to_root[event] = true;
        }
    }
}

/// V2 indices are unique, as numbers.
fn check_result_indices(payload: &Map<String, Value>, faults: &mut Faults) {
    let results = payload.get("ai_task_results").and_then(Value::as_array);
    let mut seen = HashSet::new();
    for (position, result) in results.into_iter().flatten().enumerate() {
        let index = result.get("source_event_index").cloned().unwrap_or_default();
        if !seen.insert(name_of(&index)) {
            let path = format!("$.ai_task_results[{position}].source_event_index");
            faults.push(fault(&path, "DUPLICATE_INDEX", format!("an index of its own, got {index} again")));
        }
    }
}

/// 1 and "1" name the same event.
fn name_of(index: &Value) -> String {
    index.as_str().map_or_else(|| index.to_string(), |text| text.trim().to_owned())
}

fn fault(path: &str, code: &'static str, expected: String) -> Fault {
    Fault { path: path.to_owned(), code, expected }
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "json! makes values")]
mod tests {
    use serde_json::json;

    use super::*;

    fn v3(events: Value) -> Value {
        json!({
            "source_message": {"source_message_id": "m1", "subject": null, "from": null, "cc": [],
                "received_at": null, "source_channel": "Email"},
            "message_events": events, "case_candidates": [], "unhandled_current_intents": [],
        })
    }

    fn faults(payload: Value) -> Vec<(String, &'static str)> {
        match from_mcp(payload) {
            Err(Error::SubmitPayloadInvalid(faults)) => {
                faults.listed().iter().map(|fault| (fault.path.clone(), fault.code)).collect()
            }
            other => panic!("expected faults, got {other:?}"),
        }
    }

    fn fault_of_event(event: Value) -> Vec<(String, &'static str)> {
        faults(v3(json!([event])))
    }

    fn related(index: &str, field: &str, to: Value) -> Value {
        json!({"source_event_index": index, field: to})
    }

    #[test]
    fn events_are_numbered_in_array_order_and_relations_follow() {
        let submission = from_mcp(v3(json!([
            {"source_event_index": "E_CHILD_1", "parent_source_event_index": "E1"},
            {"source_event_index": "E1", "related_source_event_indices": ["E_CHILD_1"]},
        ])))
        .unwrap();
        let events = &submission.payload["message_events"];
        assert_eq!(events[0], json!({"source_event_index": 1, "parent_source_event_index": 2}));
        assert_eq!(events[1], json!({"source_event_index": 2, "related_source_event_indices": [1]}));
        assert_eq!(submission.mapping[0].original, "E_CHILD_1");
    }

    #[test]
    fn the_business_form_over_rest_is_the_mapped_form_over_mcp() {
        let agent =
            from_mcp(v3(json!([{"source_event_index": "E1", "summary": null}, {"source_event_index": "E2",
            "parent_source_event_index": "E1"}])));
        let business = from_rest(v3(json!([{"source_event_index": 1}, {"source_event_index": 2,
            "parent_source_event_index": 1}])));
        assert_eq!(agent.unwrap().payload, business.unwrap().payload);
    }

    #[test]
    fn over_rest_an_index_is_its_place_in_the_array() {
        let wrong = from_rest(v3(json!([{"source_event_index": 2}])));
        assert!(
            matches!(wrong, Err(Error::SubmitPayloadInvalid(faults)) if faults.listed()[0].code == "INDEX_NOT_IN_ORDER")
        );
    }

    #[test]
    fn relations_that_lead_nowhere_twice_to_themselves_or_in_circles_are_refused() {
        let index = "$.message_events[0].";
        let one = |field: &str, to: Value| fault_of_event(related("E1", field, to));
        assert_eq!(
            one("parent_source_event_index", json!("E9")),
            [(format!("{index}parent_source_event_index"), "DANGLING_RELATION")]
        );
        assert_eq!(
            one("related_source_event_index", json!("E1")),
            [(format!("{index}related_source_event_index"), "SELF_RELATION")]
        );
        let twice = v3(
            json!([related("E1", "related_source_event_indices", json!(["E2", "E2"])), {"source_event_index": "E2"}]),
        );
        assert_eq!(
            faults(twice),
            [(format!("{index}related_source_event_indices[1]"), "DUPLICATE_RELATION")]
        );
        let circle = v3(json!([
            related("E1", "parent_source_event_index", json!("E2")),
            related("E2", "parent_source_event_index", json!("E1")),
        ]));
        assert_eq!(faults(circle), [(format!("{index}parent_source_event_index"), "CYCLIC_RELATION")]);
    }

    #[test]
    fn related_events_may_name_each_other() {
        let mutual = v3(json!([
            related("E1", "related_source_event_index", json!("E2")),
            related("E2", "related_source_event_index", json!("E1")),
        ]));
        assert!(from_mcp(mutual).is_ok());
    }

    #[test]
    fn an_index_is_there_not_blank_and_of_its_own() {
        let path = "$.message_events[0].source_event_index".to_owned();
        assert_eq!(fault_of_event(json!({})), [(path.clone(), "MISSING_FIELD")]);
        assert_eq!(fault_of_event(json!({"source_event_index": " "})), [(path.clone(), "INVALID_VALUE")]);
        assert_eq!(fault_of_event(json!({"source_event_index": 0})), [(path.clone(), "INVALID_VALUE")]);
        assert_eq!(fault_of_event(json!({"source_event_index": null})), [(path, "WRONG_TYPE")]);
        let same = faults(v3(json!([{"source_event_index": 1}, {"source_event_index": "1"}])));
        assert_eq!(same, [("$.message_events[1].source_event_index".to_owned(), "DUPLICATE_INDEX")]);
    }

    #[test]
    fn every_fault_is_listed_at_once() {
        let payload = json!({
            "colour": "red",
            "source_message": {"source_message_id": "m1", "subject": 5, "from": null, "received_at": null,
                "source_channel": "Fax"},
            "message_events": [{"source_event_index": "E1", "event": "x"}, "E2"],
            "case_candidates": "[]",
        });
        let mut found = faults(payload);
        found.sort();
        let expected = [
            ("$.case_candidates", "WRONG_TYPE"),
            ("$.colour", "UNKNOWN_FIELD"),
            ("$.message_events[0].event", "UNKNOWN_FIELD"),
            ("$.message_events[1]", "WRONG_TYPE"),
            ("$.source_message.cc", "MISSING_FIELD"),
            ("$.source_message.source_channel", "UNKNOWN_VALUE"),
            ("$.source_message.subject", "WRONG_TYPE"),
            ("$.unhandled_current_intents", "MISSING_FIELD"),
        ];
        assert_eq!(found, expected.map(|(path, code)| (path.to_owned(), code)));
    }

    #[test]
    fn the_answer_to_any_number_of_faults_is_small_and_has_their_count() {
        let many = |name: &str| -> Value {
            let members = (0..50_000).map(|number| (format!("{name}{number}"), json!(1)));
            Value::Object(members.collect())
        };
        let events: Vec<Value> =
            (0..5_000).map(|number| json!({"source_event_index": number + 1, "x": {}})).collect();
        let mut root = many("f");
        root.as_object_mut().unwrap().extend(v3(json!([])).as_object().unwrap().clone());
        for (payload, count) in [
            (root, 50_000),
            (v3(json!([many("f")])), 50_001),
            (v3(json!([many(&"\u{7}\"名".repeat(50))])), 50_001),
            (v3(events.into()), 5_000),
        ] {
            let error = from_mcp(payload).unwrap_err();
            let details = error.details();
            assert_eq!(details["fault_count"], count);
            assert!(!details["faults"].as_array().unwrap().is_empty());
            assert!(details.to_string().len() < 32 << 10, "{}", details.to_string().len());
            assert_eq!(
                details.to_string().matches("current_or_history").count().min(2),
                usize::from(count != 50_000)
            );
        }
    }

    #[test]
    fn absent_is_the_same_as_null_and_as_the_default_wherever_a_member_may_be_null() {
        let full = |null: bool| {
            let mut event = json!({"source_event_index": "E1",
                "case_keys": {"group_code": "G", "confirmation_number": null, "reservation_no": null},
                "manual_review": {"reason_code": "R", "question": null, "candidates": null},
                "proposed_changes": [{"field": "room_type", "to": null}], "evidence": [{"quote": "q"}],
                "details": {"note": null}});
            let mut payload = v3(json!([]));
            payload["case_candidates"] = json!([{"case_keys": {"group_code": null}}]);
            payload["unhandled_current_intents"] = json!([{"intent": "i"}]);
            payload["extraction_warnings"] = json!([{"code": "c", "message": "m"}]);
            if null {
                event["proposed_changes"][0]["from"] = Value::Null;
                event["evidence"][0]["source_message_id"] = Value::Null;
                event["current_or_history"] = json!("current");
                event["summary"] = Value::Null;
                payload["case_candidates"][0]["object_id"] = Value::Null;
                payload["unhandled_current_intents"][0]["quote"] = Value::Null;
                payload["extraction_warnings"][0]["field"] = Value::Null;
            }
            payload["message_events"] = json!([event]);
            from_mcp(payload).unwrap().payload
        };
        assert_eq!(full(true), full(false));
        let event = &full(true)["message_events"][0];
        assert_eq!(event["manual_review"], json!({"reason_code": "R", "question": null, "candidates": null}));
        assert_eq!(event["case_keys"].as_object().unwrap().len(), 3);
        assert_eq!(event["proposed_changes"], json!([{"field": "room_type", "to": null}]));
        assert_eq!(event["details"], json!({"note": null}));
    }

    #[test]
    fn a_number_that_is_not_exact_is_refused_wherever_it_stands() {
        let payload =
            v3(json!([{"source_event_index": 1, "details": {"amount": [9_007_199_254_740_993_u64]}}]));
        let path = "$.message_events[0].details.amount[0]".to_owned();
        assert_eq!(faults(payload), [(path, "NUMBER_NOT_EXACT")]);
    }

    #[test]
    fn events_are_read_as_a_person_sees_them_and_kept_as_they_were_sent() {
        let mut payload = v3(json!([{"source_event_index": 1, "summary": "pay\u{200b}\u{e0041} now",
            "proposed_changes": [{"field": "note\u{200b}", "to": "\u{202e}x"}]}]));
        payload["source_message"]["source_message_id"] = json!("m1\u{200b}");
        let submission = from_mcp(payload).unwrap();
        assert_eq!(submission.source_message_id.as_deref(), Some("m1"));
        let events = submission.events().unwrap();
        assert_eq!(events[0].summary.as_deref(), Some("pay now"));
        let change = &events[0].proposed_changes.as_ref().unwrap()[0];
        assert_eq!((change.field.as_str(), &change.to), ("note", &Some(json!("x"))));
        assert_eq!(submission.payload["message_events"][0]["summary"], "pay\u{200b}\u{e0041} now");
    }

    #[test]
    fn a_stringified_array_is_refused_with_a_hint() {
        let Err(Error::SubmitPayloadInvalid(faults)) = from_mcp(v3(json!("[]"))) else { panic!("accepted") };
        let expected = &faults.listed()[0].expected;
        assert!(expected.contains("send the value itself"), "{expected}");
    }

    #[test]
    fn exactly_one_shape_is_sent() {
        assert_eq!(faults(json!({})), [("$".to_owned(), "SHAPE_MISSING")]);
        let mut mixed = v3(json!([]));
        mixed["ai_task_results"] = json!([]);
        assert_eq!(faults(mixed), [("$".to_owned(), "SHAPE_MIXED")]);
    }

    #[test]
    fn a_missing_source_message_is_left_to_the_service() {
        let mut without = v3(json!([]));
        without.as_object_mut().unwrap().remove("source_message");
        assert_eq!(from_mcp(without).unwrap().source_message_id, None);
        for message in [
            json!({}),
            json!({"source_message_id": null}),
            json!({"source_message_id": "  ", "subject": null,
            "from": null, "cc": [], "received_at": null, "source_channel": "Email"}),
        ] {
            let mut payload = v3(json!([]));
            payload["source_message"] = message;
            assert_eq!(from_mcp(payload).unwrap().source_message_id, None);
        }
    }

    #[test]
    fn compatibility_fields_are_removed_and_only_v2_and_rest_compare_the_hotel() {
        let with_hotel = |mut payload: Value| {
            payload["hotel_id"] = json!("99");
            payload["source_provider"] = json!("AGENTBUS");
            payload["source_channel"] = json!("EMAIL");
            payload
        };
        let v2 = json!({"source_message_id": "m1", "ai_task_results": []});
        let over_mcp = from_mcp(with_hotel(v3(json!([])))).unwrap();
        assert_eq!(over_mcp.hotel_id, None);
        assert_eq!(over_mcp.payload, from_mcp(v3(json!([]))).unwrap().payload);
        assert_eq!(from_mcp(with_hotel(v2)).unwrap().hotel_id.as_deref(), Some("99"));
        assert_eq!(from_rest(with_hotel(v3(json!([])))).unwrap().hotel_id.as_deref(), Some("99"));
    }

    #[test]
    fn more_than_the_most_events_are_refused() {
        let events = |count: usize| -> Value {
            (1..=count).map(|number| json!({"source_event_index": number})).collect()
        };
        assert!(from_mcp(v3(events(shape::MAX_EVENTS))).is_ok());
        assert_eq!(faults(v3(events(shape::MAX_EVENTS + 1))), [("$.message_events".to_owned(), "TOO_MANY")]);
    }
}
