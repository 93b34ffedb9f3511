//! The task catalogue as data: which event becomes which task, on which target, with which needs.

use std::path::Path;

use serde::Deserialize;

use crate::domain::order::ObjectType;

/// What a task asks of the orders that its keys match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// No order may exist yet; one is created.
    NoneExisting,
    /// Exactly one order that the action may change.
    ExactlyOne,
    /// One group.
    Group,
    /// One cancelled or no-show order.
    Cancelled,
    /// One order of any status.
    One,
    /// One order, or none.
    NoneOrOne,
    /// No order at all.
    None,
}

impl Target {
    /// Whether an event must carry a key that is not null.
    pub fn needs_key(self) -> bool {
        matches!(self, Self::ExactlyOne | Self::Group | Self::Cancelled | Self::One)
    }
}

/// What confirming a task does to its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The order was created as a draft at submit; confirming fills it.
    Create,
    /// Applies the proposed changes; needs can_update.
    Update,
    /// Cancels; needs can_cancel.
    Cancel,
    /// Applies the proposed changes, whatever the status.
    Other,
}

/// What kind of work a result is (contract section 7.4, result_type).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultType {
    /// A person confirms it.
    NormalTask,
    /// A person decides it.
    ManualReview,
    /// A person reads it.
    InformationalMessage,
}

impl ResultType {
    /// The wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NormalTask => "normal_task",
            Self::ManualReview => "manual_review",
            Self::InformationalMessage => "informational_message",
        }
    }
}

/// One line of the catalogue.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// catalog_code, such as C01.
    pub code: String,
    /// task_type, shown as system_task_type.
    pub task_type: String,
    /// What kind of work.
    pub result_type: ResultType,
    /// Which order it is about.
    pub target: Target,
    /// What confirming does.
    pub action: Action,
    /// FIT or GROUP, where the event alone does not tell.
    #[serde(default)]
    pub object_type: Option<ObjectType>,
    /// Fields a clerk will miss; `a|b` means one of them.
    pub needs: Vec<String>,
    /// Event types and route codes that lead here.
    pub events: Vec<String>,
    /// LOW, NORMAL or HIGH.
    pub priority: Priority,
    /// Hours from receipt until the task is due; none means never.
    #[serde(default)]
    pub due_hours: Option<u32>,
}

/// How soon a task wants a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Priority {
    /// Can wait.
    Low,
    /// The usual.
    Normal,
    /// First.
    High,
}

impl Priority {
    /// The stored word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "LOW",
            Self::Normal => "NORMAL",
            Self::High => "HIGH",
        }
    }
}

/// Why a catalogue file is not usable.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The file cannot be read.
    #[error("the catalogue {0} cannot be read: {1}")]
    Read(String, std::io::Error),
    /// It is not TOML of the expected form.
    #[error("the catalogue is not valid: {0}")]
    Parse(#[from] toml::de::Error),
    /// Two entries have one code.
    #[error("the catalogue has the code {0} twice")]
    DuplicateCode(String),
    /// Two entries would take the same event.
    #[error("the catalogue sends the event {0} to both {1} and {2}; give them different object_type values")]
    AmbiguousEvent(String, String, String),
    /// An entry the program itself needs is missing.
    #[error("the catalogue lacks an entry for {0}")]
    Missing(&'static str),
}

/// All entries.
#[derive(Debug, Clone)]
pub struct Catalog {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    entry: Vec<Entry>,
}

impl Catalog {
    /// The catalogue that ships with the program.
    pub fn embedded() -> Result<Self, CatalogError> {
        Self::parse(include_str!("../catalog.toml"))
    }

    /// The catalogue in a file of the operator's.
    pub fn from_file(path: &Path) -> Result<Self, CatalogError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| CatalogError::Read(path.display().to_string(), error))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, CatalogError> {
        let entries = toml::from_str::<File>(text)?.entry;
        for (position, entry) in entries.iter().enumerate() {
            for other in &entries[..position] {
                if other.code == entry.code {
                    return Err(CatalogError::DuplicateCode(entry.code.clone()));
                }
                let told_apart = entry.object_type.is_some()
                    && other.object_type.is_some()
                    && entry.object_type != other.object_type;
                if let Some(event) = entry.events.iter().find(|event| other.events.contains(event))
                    && !told_apart
                {
                    return Err(CatalogError::AmbiguousEvent(
                        event.clone(),
                        other.code.clone(),
                        entry.code.clone(),
                    ));
                }
            }
        }
        let catalog = Self { entries };
        for needed in ["INFORMATIONAL", "UNCLASSIFIED", "S10", "S99"] {
            if catalog.entries_for(needed).is_empty() {
                return Err(CatalogError::Missing(needed));
            }
        }
        Ok(catalog)
    }

    /// All entries, in the catalogue's order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of a catalog_code.
    pub fn entry(&self, code: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.code == code)
    }

    /// The entries that an event type or route code leads to: none, one, or one for each object type.
    pub fn entries_for(&self, event: &str) -> Vec<&Entry> {
        self.entries.iter().filter(|entry| entry.events.iter().any(|own| own == event)).collect()
    }

    /// The entry for `event`, `object_type` telling several apart.
    pub fn resolve(&self, event: &str, object_type: Option<ObjectType>) -> Option<&Entry> {
        let mut candidates = self.entries_for(event);
        if candidates.len() > 1 {
            candidates.retain(|entry| entry.object_type == object_type);
        }
        candidates.first().copied()
    }

    /// Every event type in the catalogue, for messages.
    pub fn event_types(&self) -> Vec<&str> {
        let mut events: Vec<&str> =
            self.entries.iter().flat_map(|entry| &entry.events).map(String::as_str).collect();
        events.sort_unstable();
        events.dedup();
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amend_is_told_apart_by_object_type() {
        let catalog = Catalog::embedded().unwrap();
        let code = |object| catalog.resolve("BOOKING_AMEND", object).map(|entry| entry.code.as_str());
        assert_eq!(code(Some(ObjectType::Fit)), Some("C03"));
        assert_eq!(code(Some(ObjectType::Group)), Some("C04"));
        assert_eq!(code(None), None);
    }

    #[test]
    fn an_event_with_one_entry_ignores_object_type() {
        let catalog = Catalog::embedded().unwrap();
        assert_eq!(catalog.resolve("PAYMENT_PROOF", Some(ObjectType::Group)).unwrap().code, "C09");
    }

    #[test]
    fn two_entries_for_one_event_are_refused_unless_object_type_tells_them_apart() {
        let twice = include_str!("../catalog.toml").replace("\"ROOMING_LIST_SUBMIT\"", "\"PAYMENT_PROOF\"");
        assert!(matches!(Catalog::parse(&twice), Err(CatalogError::AmbiguousEvent(..))));
    }

    #[test]
    fn an_unknown_key_is_refused() {
        let extra = format!("{}\ncolour = \"red\"\n", include_str!("../catalog.toml"));
        assert!(matches!(Catalog::parse(&extra), Err(CatalogError::Parse(_))));
    }
}
