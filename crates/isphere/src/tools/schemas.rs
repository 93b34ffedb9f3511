//! The parts of schemas that several tools share.

use govern::mcp::schema::{array, nullable_object, nullable_result, object, typed};
use govern::tool::SchemaProfile;
use serde_json::{Map, Value, json};

use super::cursor;
use crate::model::SourceName;

/// An answer with these fields of its own; all fields are always there.
pub fn answer<const N: usize>(body: [(&'static str, Value); N], profile: SchemaProfile) -> Value {
    let around = [
        ("ok", typed("boolean", "Whether the call did what was asked.")),
        ("warnings", array(&warning(), "What you should know though the call may have succeeded.")),
        ("error", nullable_object(error(), profile)),
        ("audit", audit(profile)),
    ];
    record(body.into_iter().chain(around))
}

/// An object whose properties are always there.
pub fn record(properties: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let properties: Map<String, Value> =
        properties.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// One of these words.
pub fn one_of(words: &[&str], description: &str) -> Value {
    json!({"type": "string", "enum": words, "description": description})
}

/// One of these words, or null.
pub fn nullable_one_of(words: &[&str], description: &str, profile: SchemaProfile) -> Value {
    match profile {
        SchemaProfile::Portable => nullable_result("string", description, profile),
        SchemaProfile::Contract => {
            let words: Vec<Option<&str>> = words.iter().copied().map(Some).chain([None]).collect();
            json!({"type": ["string", "null"], "enum": words, "description": description})
        }
    }
}

/// Where something was read.
pub fn source() -> Value {
    one_of(&SourceName::ALL.map(SourceName::as_str), "Where it was read.")
}

/// `next_cursor` and `truncated` of a list.
pub fn page_fields(profile: SchemaProfile) -> [(&'static str, Value); 2] {
    [
        (
            "next_cursor",
            nullable_result("string", "Send it as cursor for the next page; null at the end.", profile),
        ),
        (
            "truncated",
            typed("boolean", "The page was cut to the size that an answer may have; next_cursor goes on."),
        ),
    ]
}

/// The argument `source_preference`.
pub fn source_preference() -> Value {
    json!({
        "type": "string", "enum": ["bridge", "local_readonly", "uia", "network", "auto"], "default": "auto",
        "description": "Which source to read; auto takes the first that is available.",
    })
}

/// The argument `limit`.
pub fn limit(default: u64, most: u64) -> Value {
    json!({
        "type": "integer", "minimum": 1, "maximum": most, "default": default,
        "description": "How many items a page has at most.",
    })
}

/// The argument `cursor`.
pub fn cursor() -> Value {
    text(
        "next_cursor of the page before, with the same other arguments; absent for the first page.",
        cursor::LONGEST,
    )
}

/// A text argument of at most so many characters.
pub fn text(description: &str, most: usize) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": most, "description": description})
}

/// A boolean argument.
pub fn flag(default: bool, description: &str) -> Value {
    json!({"type": "boolean", "default": default, "description": description})
}

fn warning() -> Value {
    record([
        ("code", typed("string", "Stable code.")),
        ("message", typed("string", "What it means and what to do.")),
    ])
}

fn error() -> Value {
    let candidate = record([
        ("conversation_id", typed("string", "Call again with this id.")),
        ("conversation_type", one_of(&["direct", "group", "system"], "Between whom it is.")),
        ("display_name", typed("string", "The name people see.")),
        ("confidence", typed("number", "How sure the match is, 0 to 1.")),
    ]);
    // Without types for what may be null, under both profiles: the whole object is an addition to the contract.
    object(
        [
            ("code", typed("string", "Stable code.")),
            ("message", typed("string", "What is wrong and what to do.")),
            ("field", json!({"description": "The argument that is wrong, or null."})),
            ("retryable", typed("boolean", "Whether the same call may succeed later.")),
            (
                "retry_after_ms",
                json!({"description": "How long to wait before that, in milliseconds, or null."}),
            ),
            ("candidates", array(&candidate, "The targets that the name may mean.")),
        ],
        &["code", "message", "field", "retryable", "retry_after_ms"],
    )
}

fn audit(profile: SchemaProfile) -> Value {
    let text = |description| nullable_result("string", description, profile);
    record([
        ("tool", typed("string", "The tool's name.")),
        ("request_id", typed("string", "The id of this call in the audit trail.")),
        ("source", source()),
        ("operator_id", text("Who answers for the call.")),
        ("execution_mode", one_of(&["read", "preview", "production"], "How far the call went.")),
        ("target_ref", text("What was acted on.")),
        ("content_sha256", text("Digest of the text that was acted with.")),
        ("file_sha256", text("Digest of the file that was acted with.")),
        ("started_at", typed("string", "ISO-8601.")),
        ("finished_at", typed("string", "ISO-8601.")),
        ("result", one_of(&["ok", "error"], "How the call ended.")),
    ])
}
