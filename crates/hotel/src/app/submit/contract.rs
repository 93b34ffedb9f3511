//! Which events break the business contract. They are kept as CONTRACT_ERROR beside the accepted ones
//! (contract section 7.4; design: submit).

use serde_json::Value;

use super::payload::{Event, Shape};
use crate::catalog::{Catalog, Entry, ResultType};
use crate::domain::keys::{KEY_NAMES, MAX_KEY_CHARS};
use crate::domain::order::ObjectType;

/// Code and message of a contract error.
pub type ContractError = (&'static str, String);

/// The first thing in which the event breaks the contract; else the catalogue entries that it may mean.
pub fn check<'a>(event: &Event, shape: Shape, catalog: &'a Catalog) -> Result<Vec<&'a Entry>, ContractError> {
    let entries = match shape {
        Shape::V2 => vec![entry_of_result(event, catalog)?],
        Shape::V3 | Shape::Route => entries_of_event(event, catalog)?,
    };
    if !matches!(event.current_or_history.as_deref(), None | Some("current" | "history")) {
        return Err(("UNSUPPORTED_CURRENT_OR_HISTORY", "current_or_history is current or history".into()));
    }
    if let Some(word) = event.object_type.as_deref()
        && ObjectType::parse(word).is_none()
    {
        return Err(("UNSUPPORTED_OBJECT_TYPE", format!("object_type is FIT, GROUP or null, not {word:?}")));
    }
    let needs_key = shape == Shape::V3 && entries.iter().all(|entry| entry.target.needs_key());
    check_keys(event, needs_key)?;
    check_manual_review(event)?;
    Ok(entries)
}

fn entries_of_event<'a>(event: &Event, catalog: &'a Catalog) -> Result<Vec<&'a Entry>, ContractError> {
    let Some(event_type) = event.event_type.as_deref() else {
        return Err((
            "EVENT_TYPE_MISSING",
            format!("event_type is one of {}", catalog.event_types().join(", ")),
        ));
    };
    let entries: Vec<&Entry> = catalog.entries_for(event_type);
    if entries.is_empty() {
        let known = catalog.event_types().join(", ");
        return Err(("UNSUPPORTED_EVENT_TYPE", format!("event_type {event_type:?} is not one of {known}")));
    }
    Ok(entries)
}

fn entry_of_result<'a>(event: &Event, catalog: &'a Catalog) -> Result<&'a Entry, ContractError> {
    let code = event.catalog_code.as_deref().unwrap_or("");
    let Some(entry) = catalog.entry(code) else {
        return Err(("UNSUPPORTED_CATALOG_CODE", format!("catalog_code {code:?} is not in the catalogue")));
    };
    if event.task_type.as_deref() != Some(&entry.task_type) {
        return Err(("TASK_TYPE_MISMATCH", format!("task_type of {code} is {}", entry.task_type)));
    }
    let asked = event.result_type.as_deref();
    if asked == Some(ResultType::NormalTask.as_str()) && entry.result_type != ResultType::NormalTask {
        let right = entry.result_type.as_str();
        return Err(("RESULT_TYPE_MISMATCH", format!("result_type of {code} is {right}, not normal_task")));
    }
    Ok(entry)
}

/// Complete keys are all three named, and one of them not null when the task needs a target.
fn check_keys(event: &Event, needs_key: bool) -> Result<(), ContractError> {
    const CODE: &str = "INCOMPLETE_CASE_KEYS";
    if let Some(Value::Object(keys)) = &event.case_keys
        && let Some(missing) = KEY_NAMES.into_iter().find(|name| !keys.contains_key(*name))
    {
        return Err((
            CODE,
            format!("case_keys names all three keys, null where there is none; {missing} is missing"),
        ));
    }
    let keys = event.keys();
    if let Some(name) = keys.too_long() {
        return Err(("INVALID_CASE_KEYS", format!("{name} has at most {MAX_KEY_CHARS} characters")));
    }
    if needs_key && keys.is_empty() {
        return Err((CODE, "case_keys has at least one key that is not null for this event_type".into()));
    }
    Ok(())
}

fn check_manual_review(event: &Event) -> Result<(), ContractError> {
    const CODE: &str = "INCOMPLETE_MANUAL_REVIEW";
    let needed = event.event_type.as_deref() == Some("S99");
    match &event.manual_review {
        None | Some(Value::Null) if needed => {
            Err((CODE, "S99 needs manual_review with reason_code, question and candidates".into()))
        }
        Some(Value::Object(review)) => {
            let text = |name: &str| {
                review.get(name).and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
            };
            let complete = text("reason_code")
                && text("question")
                && review.get("candidates").is_some_and(Value::is_array);
            if complete {
                Ok(())
            } else {
                Err((CODE, "manual_review has reason_code, question and candidates".into()))
            }
        }
        _ => Ok(()),
    }
}
