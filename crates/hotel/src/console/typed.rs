//! What a person had typed when their session ended or changed, carried through the log-in and back to the card.
//!
//! The fields travel in the pages themselves: nobody is logged in whose row of the database they could be, and a cookie would
//! be too small. A form that comes back so only shows the card again; the person decides once more.

use super::fields::{Fields, path_inside};
use super::visit::Visit;

/// Marks the fields in a form of another purpose, such as the log-in.
const PREFIX: &str = "typed:";
/// The act of a form that only brings back what was typed.
pub(super) const SHOW_AGAIN: &str = "show_again";

/// A form that was not taken, and where it belongs.
#[derive(Debug, Clone)]
pub(super) struct Typed {
    /// The card's path.
    pub(super) path: String,
    /// Its fields as they were sent, without the token and what was to be done.
    pub(super) fields: Vec<(String, String)>,
}

impl Typed {
    /// The form that this request sent to a card and that was not taken.
    pub(super) fn of_form(visit: &Visit) -> Option<Self> {
        let fields: Vec<(String, String)> = visit
            .fields
            .pairs()
            .filter(|(name, _)| !["token", "act", "version"].contains(name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let typed = fields.iter().any(|(_, value)| !value.trim().is_empty());
        // The card shows it all again, whichever of its forms was sent.
        let path = format!("/console/tasks/{}", visit.id?);
        (visit.is_at("/console/tasks/") && typed).then_some(Self { path, fields })
    }

    /// The form that a log-in carried along.
    pub(super) fn of_log_in(fields: &Fields) -> Option<Self> {
        let own = fields.pairs().filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?, value)));
        let fields_of_card: Vec<_> = own.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let path = path_inside(fields.text("next")).filter(|path| path.starts_with("/console/tasks/"))?;
        (!fields_of_card.is_empty()).then(|| Self { path: path.to_owned(), fields: fields_of_card })
    }

    /// The name of a field in a form of another purpose.
    #[expect(clippy::unused_self, reason = "templates ask the value for all they need")]
    pub(super) fn carried(&self, name: &str) -> String {
        format!("{PREFIX}{name}")
    }
}
