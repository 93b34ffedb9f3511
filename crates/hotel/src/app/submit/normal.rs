//! The one form of a submission: what means the same is written the same, so that it has one digest.

use std::fmt::Write as _;

use govern::text::visible;
use serde_json::{Map, Number, Value};

use crate::error::Fault;
use crate::faults::Faults;

/// The largest magnitude up to which each integer is a double of its own: 2^53 − 1 (RFC 7493, section 2.2).
const MOST_EXACT: u64 = (1 << 53) - 1;
const MOST_EXACT_DOUBLE: f64 = 9_007_199_254_740_991.0;

/// Adds a fault for each number that the canonical form (RFC 8785) could not tell from its neighbours: two
/// submissions with different numbers must not have one digest. Fractions are doubles from the start.
pub fn check_numbers(value: &Value, path: &mut String, faults: &mut Faults) {
    let length = path.len();
    match value {
        Value::Number(number) if !is_exact(number) => faults.push(Fault {
            path: path.clone(),
            code: "NUMBER_NOT_EXACT",
            expected: format!("a number from -{MOST_EXACT} to {MOST_EXACT}, or a string; got {number}"),
        }),
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                // Writing to a String cannot fail.
                let _ = write!(path, "[{position}]");
                check_numbers(item, path, faults);
                path.truncate(length);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                path.push('.');
                path.push_str(name);
                check_numbers(member, path, faults);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

fn is_exact(number: &Number) -> bool {
    match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(number), ..) => number <= MOST_EXACT,
        (_, Some(number), _) => number.unsigned_abs() <= MOST_EXACT,
        // An integer beyond 64 bits comes as a double too.
        (.., double) => double.is_some_and(|double| double.abs() <= MOST_EXACT_DOUBLE),
    }
}

/// Removes what says no more than its absence: nulls of members that may be null, and current_or_history `current`.
///
/// Inside case_keys and manual_review a null is said on purpose, a null `to` clears a field, and free objects are
/// kept as sent.
pub fn without_defaults(payload: &mut Map<String, Value>) {
    drop_nulls(payload);
    drop_current(payload);
    for (name, value) in payload.iter_mut() {
        match (name.as_str(), value) {
            ("source_message" | "agent_assessment" | "notification", Value::Object(object)) => {
                drop_nulls(object);
            }
            ("case_candidates" | "unhandled_current_intents" | "extraction_warnings", list) => {
                objects(list).for_each(drop_nulls);
            }
            ("message_events" | "ai_task_results", list) => objects(list).for_each(event_without_defaults),
            _ => {}
        }
    }
    payload.entry("extraction_warnings").or_insert_with(|| Value::Array(Vec::new()));
}

fn event_without_defaults(event: &mut Map<String, Value>) {
    drop_nulls(event);
    drop_current(event);
    if let Some(evidence) = event.get_mut("evidence") {
        objects(evidence).for_each(drop_nulls);
    }
    if let Some(changes) = event.get_mut("proposed_changes") {
        objects(changes).for_each(|change| change.retain(|name, member| name != "from" || !member.is_null()));
    }
}

fn drop_nulls(object: &mut Map<String, Value>) {
    object.retain(|_, member| !member.is_null());
}

fn drop_current(object: &mut Map<String, Value>) {
    object.retain(|name, member| name != "current_or_history" || *member != "current");
}

fn objects(list: &mut Value) -> impl Iterator<Item = &mut Map<String, Value>> {
    list.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut)
}

/// The same value with each text and each name as a person sees it.
pub fn as_seen(value: &Value) -> Value {
    let seen = |text: &str| visible(text).text.into_owned();
    match value {
        Value::String(text) => seen(text).into(),
        Value::Array(items) => items.iter().map(as_seen).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (seen(name), as_seen(member))).collect()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faulty(document: &str) -> Vec<String> {
        let mut faults = Faults::default();
        check_numbers(&serde_json::from_str(document).unwrap(), &mut "$".to_owned(), &mut faults);
        faults.listed().iter().map(|fault| fault.path.clone()).collect()
    }

    #[test]
    fn a_number_that_a_double_takes_for_its_neighbour_is_a_fault_at_its_path() {
        for number in
            ["9007199254740992", "9007199254740993", "-9007199254740993", "18446744073709551616", "1e300"]
        {
            assert_eq!(faulty(&format!(r#"{{"a":[{{"b":{number}}}]}}"#)), ["$.a[0].b"], "{number}");
        }
        for number in ["9007199254740991", "-9007199254740991", "0", "-1", "0.1", "1e3"] {
            assert!(faulty(&format!("[{number}]")).is_empty(), "{number}");
        }
    }

    #[test]
    fn texts_and_names_lose_what_cannot_be_seen_at_any_depth() {
        let sent = json!({"a\u{200b}": ["x\u{202e}", {"b": "y\u{e0041}\n"}], "n": 1});
        assert_eq!(as_seen(&sent), json!({"a": ["x", {"b": "y\n"}], "n": 1}));
    }
}
