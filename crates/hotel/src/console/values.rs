//! Values of a task as its card shows and edits them.

use super::words;
use crate::app::tasks::MoveView;
use crate::domain::proposal::{DATES, is_date};

/// Longest value that is edited on one line, in characters.
const LINE_CHARS: usize = 60;

/// The type of the input for a value; a text that is no date would be lost in an input for dates.
pub(super) fn input_type(field: &str, value: &str) -> &'static str {
    if DATES.contains(&field) && (value.is_empty() || is_date(value)) { "date" } else { "text" }
}

/// Whether a value needs more than one line.
pub(super) fn is_long(value: &str) -> bool {
    value.contains('\n') || value.chars().count() > LINE_CHARS
}

/// The values that a move set in the place of the agent's: field, proposed, to.
pub(super) fn edits_of(step: &MoveView) -> Vec<(&str, String, String)> {
    let edits = step.detail["edits"].as_array().into_iter().flatten();
    edits
        .map(|edit| {
            let field = edit["field"].as_str().unwrap_or_default();
            (field, words::plain(&edit["proposed"]), words::plain(&edit["to"]))
        })
        .collect()
}

/// Whom a move gave the task to; `—` is everyone.
pub(super) fn assigned_to(step: &MoveView) -> Option<String> {
    step.detail.get("assignee").map(|change| words::plain(&change["to"]))
}
