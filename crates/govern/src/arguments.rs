//! Strict arguments: each fault names its JSON path, what was expected and what came.

use std::{fmt::Display, ops::RangeInclusive};

use serde::Deserialize;
use serde_path_to_error::{Path, Segment};
use thiserror::Error;

use crate::strict::{DocumentFault, ObjectsOnly, check};

/// One thing wrong with the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ArgumentFault {
    /// The JSON path of the fault, such as `$.case_keys.group_code`.
    pub path: String,
    /// What would have been right, such as `an array`.
    pub expected: String,
    /// A complete sentence for the author of the call.
    pub message: String,
}

impl ArgumentFault {
    /// A fault that a tool found itself: `path` must be `expected`, `came` is what was there instead.
    pub fn new(path: impl Into<String>, expected: impl Into<String>, came: impl Display) -> Self {
        let (path, expected) = (path.into(), expected.into());
        let message = format!("`{path}` must be {expected}, but {came} came.");
        Self { path, expected, message }
    }
}

/// Refuses a `value` outside `range`; limits are refused, not clamped.
pub fn within<T: PartialOrd + Display>(
    path: &str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<T, ArgumentFault> {
    if range.contains(&value) {
        return Ok(value);
    }
    let expected = format!("between {} and {}", range.start(), range.end());
    Err(ArgumentFault::new(path, expected, value))
}

/// Refuses a text outside `range` characters.
pub fn chars_within(path: &str, text: &str, range: RangeInclusive<usize>) -> Result<(), ArgumentFault> {
    let count = text.chars().count();
    if range.contains(&count) {
        return Ok(());
    }
    let expected = format!("{} to {} characters long", range.start(), range.end());
    Err(ArgumentFault::new(path, expected, format_args!("{count} characters")))
}

/// `bytes` as the text of one JSON object without duplicate keys and at most 64 levels deep: what a REST body
/// must be before [`parse`] may believe it.
pub fn document(bytes: &[u8]) -> Result<&str, ArgumentFault> {
    let not = |came: &str| ArgumentFault::new("$", "one JSON object", came);
    let text = std::str::from_utf8(bytes).map_err(|_| not("text that is not UTF-8"))?;
    if !text.trim_start().starts_with('{') {
        return Err(not("something else"));
    }
    check(text).map_err(|fault| match fault {
        DocumentFault::NotJson(reason) => not(&format!("malformed JSON ({reason})")),
        DocumentFault::DuplicateKey => not("an object with a duplicate key"),
        DocumentFault::TooDeep => not("a document nested deeper than 64 levels"),
        DocumentFault::NumberTooLarge(path) => {
            ArgumentFault::new(path, "a number that a double can hold", "a larger one")
        }
    })?;
    Ok(text)
}

/// `json` (an object) as `T`, strictly. The path is tracked only when something is wrong, so that a good call
/// does not pay for it.
pub fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, ArgumentFault> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    if let Ok(value) = T::deserialize(ObjectsOnly(&mut deserializer)) {
        return Ok(value);
    }
    let mut deserializer = serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(ObjectsOnly(&mut deserializer))
        .map_err(|error| explain(error.path(), &error.inner().to_string()))
}

/// Turns serde's message into a fault. The phrases are serde's, fixed since 1.0; an unknown one is passed on.
fn explain(path: &Path, message: &str) -> ArgumentFault {
    let message = message.rsplit_once(" at line ").map_or(message, |(before, _)| before);
    let path = json_path(path);
    if let Some(field) = quoted_after(message, "missing field ") {
        let path = format!("{path}.{field}");
        let message = format!("`{path}` is required, but is missing.");
        return ArgumentFault { path, expected: "present".to_owned(), message };
    }
    if let Some(field) = quoted_after(message, "unknown field ") {
        // The path tracker may or may not have entered the field already.
        let path = if path.ends_with(&format!(".{field}")) { path } else { format!("{path}.{field}") };
        let known = message.split_once(", ").map_or("", |(_, known)| known);
        let message = format!("`{path}` is not a known field: {}.", known.replace("expected", "known here:"));
        return ArgumentFault {
            path,
            expected: known.to_owned(),
            message: message.replace(": known here:", "; known here:"),
        };
    }
    for start in ["invalid type: ", "invalid value: "] {
        if let Some((came, expected)) =
            message.strip_prefix(start).and_then(|rest| rest.rsplit_once(", expected "))
        {
            return mismatch(path, came, expected);
        }
    }
    let expected = message.split_once("expected ").map_or(message, |(_, expected)| expected).to_owned();
    let message = format!("`{path}`: {message}.");
    ArgumentFault { path, expected, message }
}

fn mismatch(path: String, came: &str, expected: &str) -> ArgumentFault {
    let expected = plain_words(expected);
    let structured = ["an array", "an object", "a boolean"].contains(&expected.as_str())
        || expected.contains("integer")
        || expected.contains("number");
    if came.starts_with("string ") && structured {
        let message = format!(
            "`{path}` must be {expected}, but came as a string. Send the value itself, not its JSON text in quotes."
        );
        return ArgumentFault { path, expected, message };
    }
    let came = match came.split_once(' ').map_or(came, |(kind, _)| kind) {
        "sequence" => "an array",
        "map" => "an object",
        "null" => "null",
        "string" => "a string",
        "boolean" => "a boolean",
        _ => came,
    };
    ArgumentFault::new(path, expected, came)
}

/// What serde expected, in the words of JSON instead of those of Rust.
fn plain_words(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a non-negative integer".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "an integer".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a sequence" => "an array".to_owned(),
        "a map" => "an object".to_owned(),
        "a borrowed string" | "str" => "a string".to_owned(),
        _ if expected.starts_with("struct ") => "an object".to_owned(),
        _ => expected.to_owned(),
    }
}

fn quoted_after<'m>(message: &'m str, start: &str) -> Option<&'m str> {
    message.strip_prefix(start)?.strip_prefix('`')?.split('`').next()
}

/// `$.events[3].type`. A part of the path that serde cannot name (an enum's inside) is left out.
pub(crate) fn json_path(path: &Path) -> String {
    path.iter().fold("$".to_owned(), |path, segment| match segment {
        Segment::Seq { index } => format!("{path}[{index}]"),
        Segment::Map { key } => format!("{path}.{key}"),
        Segment::Enum { .. } | Segment::Unknown => path,
    })
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Search<'a> {
        #[serde(borrow)]
        query: Cow<'a, str>,
        limit: Option<u32>,
        keys: Option<Keys>,
        events: Option<Vec<Event>>,
        exact: Option<bool>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Keys {
        group_code: Option<String>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Event {
        kind: Kind,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Created,
        Cancelled,
    }

    fn fault(json: &str) -> (String, String) {
        let fault = parse::<Search>(json).unwrap_err();
        (fault.path, fault.message)
    }

    #[test]
    fn good_arguments_are_borrowed() {
        let search: Search =
            parse(r#"{"query":"螺丝","limit":3,"keys":{"group_code":null},"events":[{"kind":"created"}]}"#)
                .unwrap();
        assert!(matches!(search.query, Cow::Borrowed("螺丝")));
        assert_eq!(search.limit, Some(3));
        assert!(search.keys.unwrap().group_code.is_none());
        assert!(matches!(search.events.unwrap()[0].kind, Kind::Created));
        assert!(search.exact.is_none());
        let _ = Kind::Cancelled;
    }

    #[test]
    fn parts_can_be_kept_as_raw_json_or_as_a_value() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Kept<'a> {
            #[serde(borrow)]
            raw: &'a serde_json::value::RawValue,
            value: serde_json::Value,
        }
        let kept: Kept =
            parse(r#"{"raw":[1, {"a":null}],"value":{"b":[18446744073709551615,-1,0.5]}}"#).unwrap();
        assert_eq!(kept.raw.get(), r#"[1, {"a":null}]"#);
        assert_eq!(kept.value.to_string(), r#"{"b":[18446744073709551615,-1,0.5]}"#);
    }

    #[test]
    fn a_missing_field_is_named_with_its_path() {
        assert_eq!(fault("{}"), ("$.query".into(), "`$.query` is required, but is missing.".into()));
        assert_eq!(fault(r#"{"query":"a","events":[{}]}"#).0, "$.events[0].kind");
    }

    #[test]
    fn an_unknown_field_is_named_with_those_that_are_known() {
        let (path, message) = fault(r#"{"query":"a","keys":{"groupcode":"G"}}"#);
        assert_eq!(path, "$.keys.groupcode");
        assert_eq!(message, "`$.keys.groupcode` is not a known field; known here: `group_code`.");
    }

    #[test]
    fn values_that_came_as_strings_are_refused_and_told_so() {
        let told = |path: &str, what: &str| {
            (
                path.to_owned(),
                format!(
                    "`{path}` must be {what}, but came as a string. Send the value itself, not its JSON text in quotes."
                ),
            )
        };
        assert_eq!(fault(r#"{"query":"a","limit":"3"}"#), told("$.limit", "a non-negative integer"));
        assert_eq!(fault(r#"{"query":"a","events":"[]"}"#), told("$.events", "an array"));
        assert_eq!(fault(r#"{"query":"a","keys":"{}"}"#), told("$.keys", "an object"));
        assert_eq!(fault(r#"{"query":"a","exact":"true"}"#), told("$.exact", "a boolean"));
    }

    #[test]
    fn an_integer_may_have_a_fraction_of_zero() {
        #[derive(Debug, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Whole {
            few: Option<u8>,
            many: u64,
            signed: Vec<i64>,
        }
        let whole: Whole =
            parse(r#"{"few":20.0,"many":2e3,"signed":[-5.0,-0.0,9007199254740992.0]}"#).unwrap();
        assert_eq!(whole, Whole { few: Some(20), many: 2000, signed: vec![-5, 0, 9_007_199_254_740_992] });
        for (json, path) in [
            (r#"{"many":20.5,"signed":[]}"#, "$.many"),
            (r#"{"many":-1.0,"signed":[]}"#, "$.many"),
            (r#"{"many":1e300,"signed":[]}"#, "$.many"),
            (r#"{"many":1,"few":256.0,"signed":[]}"#, "$.few"),
            (r#"{"many":1,"signed":[9007199254740994.0]}"#, "$.signed[0]"),
        ] {
            assert_eq!(parse::<Whole>(json).unwrap_err().path, path, "{json}");
        }
        assert_eq!(
            fault(r#"{"query":"a","limit":20.5}"#).1,
            "`$.limit` must be a non-negative integer, but floating point `20.5` came."
        );
    }

    #[test]
    fn an_array_is_not_taken_for_an_object() {
        assert_eq!(
            fault(r#"{"query":"a","keys":["G"]}"#),
            ("$.keys".into(), "`$.keys` must be an object, but an array came.".into())
        );
        assert_eq!(fault(r#"{"query":"a","events":[["created"]]}"#).0, "$.events[0]");
    }

    #[test]
    fn other_mismatches_say_what_came() {
        assert_eq!(fault(r#"{"query":5}"#).1, "`$.query` must be a string, but integer `5` came.");
        assert_eq!(fault(r#"{"query":null}"#).1, "`$.query` must be a string, but null came.");
        assert_eq!(
            fault(r#"{"query":"a","limit":-1}"#).1,
            "`$.limit` must be a non-negative integer, but integer `-1` came."
        );
        let (path, message) = fault(r#"{"query":"a","events":[{"kind":"gone"}]}"#);
        assert_eq!(path, "$.events[0].kind");
        assert!(message.contains("`created`"), "{message}");
    }

    #[test]
    fn limits_are_refused_not_clamped() {
        assert_eq!(within("$.limit", 50, 1..=50), Ok(50));
        assert_eq!(
            within("$.limit", 51, 1..=50).unwrap_err().message,
            "`$.limit` must be between 1 and 50, but 51 came."
        );
        assert!(chars_within("$.query", "四个汉字", 1..=4).is_ok());
        assert_eq!(
            chars_within("$.query", "", 1..=4).unwrap_err().message,
            "`$.query` must be 1 to 4 characters long, but 0 characters came."
        );
    }
}
