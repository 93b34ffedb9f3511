//! Proposing `[conversations]` for a store that has no table of them.

use super::propose::{Choice, Choices};
use crate::sources::local::profile::Table;
use crate::sources::local::projection::quoted;

/// SQLite takes no more SELECTs in one UNION.
const MAX_UNION: usize = 500;

/// A section of the conversations that messages name, or, when a new table of messages begins each month, of the groups
/// and people: those stay complete. None when nothing says which conversations there are.
pub(super) fn without_a_table(choices: &Choices<'_>) -> Option<String> {
    let messages = choices.get(&Table::Messages)?;
    let owners: Vec<Owner<'_>> = [(Table::Groups, "group"), (Table::Contacts, "direct")]
        .into_iter()
        .filter_map(|(table, kind)| Some(Owner { choice: choices.get(&table)?, kind }))
        .collect();
    let is_split = !messages.table.parts.is_empty();
    if is_split && !owners.is_empty() {
        Some(of_owners(&owners, messages)?)
    } else {
        of_messages(&owners, messages)
    }
}

/// The groups or the people, whose ids a conversation may have.
struct Owner<'a> {
    choice: &'a Choice<'a>,
    kind: &'static str,
}

impl Owner<'_> {
    /// `SELECT id AS id, name AS name FROM table`.
    fn select(&self) -> Option<String> {
        let (id, name) = (self.choice.value("id")?, self.choice.value("name")?);
        Some(format!("SELECT {id} AS id, {name} AS name FROM {}", quoted(&self.choice.table.name)))
    }
}

fn of_owners(owners: &[Owner<'_>], messages: &Choice<'_>) -> Option<String> {
    let selects = owners
        .iter()
        .map(|owner| {
            Some(format!("SELECT id, name, '{}' AS type, id AS peer FROM ({})", owner.kind, owner.select()?))
        })
        .collect::<Option<Vec<_>>>()?;
    Some(format!(
        "# No table of conversations was recognised. Guessed: {} of a message is the id of its group or person.\n\
         [conversations]\nselect = '''\n{}'''\n",
        messages.value("conversation")?,
        selects.join("\nUNION ALL ")
    ))
}

fn of_messages(owners: &[Owner<'_>], messages: &Choice<'_>) -> Option<String> {
    let ids = named_by(messages, &messages.value("conversation")?);
    let mut section =
        "# No table of conversations was recognised: those that messages name are listed.\n".to_owned();
    if !messages.table.parts.is_empty() {
        section.push_str(
            "# A new table of messages has to be added here, for conversations that begin in it.\n",
        );
    }
    if owners.is_empty() {
        section.push_str("# They have no names; nothing says whose they are, so a policy cannot tell.\n");
    }
    let known = if owners.is_empty() {
        "said.id AS name".to_owned()
    } else {
        let of_each = |text: fn(&str) -> String| {
            owners.iter().map(|owner| text(owner.kind)).collect::<Vec<_>>().join(" ")
        };
        format!(
            "coalesce({} said.id) AS name,\n  CASE {} ELSE 'direct' END AS type, coalesce({} NULL) AS peer",
            of_each(|kind| format!("{kind}s.name,")),
            of_each(|kind| format!("WHEN {kind}s.id IS NOT NULL THEN '{kind}'")),
            of_each(|kind| format!("{kind}s.id,")),
        )
    };
    let joins = owners
        .iter()
        .map(|owner| {
            Some(format!("\n  LEFT JOIN ({0}) AS {1}s ON {1}s.id = said.id", owner.select()?, owner.kind))
        })
        .collect::<Option<String>>()?;
    Some(format!(
        "{section}[conversations]\nselect = '''\nSELECT said.id AS id, {known}\nFROM ({ids}) AS said{joins}'''\n"
    ))
}

/// A SELECT of the ids that this expression has in the table of messages, or in the newest of its parts.
fn named_by(messages: &Choice<'_>, conversation: &str) -> String {
    let parts = match messages.table.parts.as_slice() {
        [] => std::slice::from_ref(&messages.table.name),
        several => &several[several.len().saturating_sub(MAX_UNION)..],
    };
    let selects: Vec<String> =
        parts.iter().map(|part| format!("SELECT {conversation} AS id FROM {}", quoted(part))).collect();
    // UNION leaves out doubles; a single SELECT has to be told.
    match selects.as_slice() {
        [one] => one.replacen("SELECT", "SELECT DISTINCT", 1),
        several => several.join("\n  UNION "),
    }
}
