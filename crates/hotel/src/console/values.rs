//! Values of a task as its card shows and edits them.

use super::words;
use crate::app::tasks::MoveView;
use crate::domain::proposal::DATES;

/// Longest value that is edited on one line, in characters.
const LINE_CHARS: usize = 60;

/// What an input shows while it is empty. A date is typed as it is shown everywhere else, because an input for dates shows it in
/// the browser's own order of day and month.
pub(super) fn placeholder(field: &str) -> &'static str {
    if DATES.contains(&field) { "2027-01-31" } else { "" }
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
