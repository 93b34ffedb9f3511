//! The SQL functions that put the product's own rules into the store's queries, so that a LIMIT counts what the
//! caller will see.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::Value;

use super::profile::{Profile, Section, Table};
use super::value::{filled_text, flag, text};
use crate::search::text_contains;

/// Makes them known on a connection:
/// - `messages_moment(created, received)`, `files_moment(created, NULL)`: Unix milliseconds as
///   [`crate::model::Message::at_ms`];
/// - `text_holds(text, deleted, needle)`: whether a message says a folded needle, as [`crate::model::Message::says`];
/// - `conversation_kind(type)`: the contract's word for the store's.
pub(super) fn register(connection: &Connection, profile: &Profile) -> rusqlite::Result<()> {
    for (table, section) in profile.sections() {
        match table {
            Table::Messages => {
                register_moment(connection, profile, table, section)?;
                let encoding = section.text;
                add(connection, "text_holds", 3, move |context| {
                    let retracted = flag(context.get_raw(1)).unwrap_or(false);
                    let text = text(context.get_raw(0), encoding).unwrap_or_default();
                    let needle = context.get_raw(2).as_str()?;
                    Ok(Value::Integer(i64::from(!retracted && text_contains(&text, needle))))
                })?;
            }
            Table::Files => register_moment(connection, profile, table, section)?,
            Table::Conversations => {
                let section = section.clone();
                add(connection, "conversation_kind", 1, move |context| {
                    let stored = filled_text(context.get_raw(0), section.text);
                    Ok(Value::Text(section.conversation_type(stored.as_deref()).as_str().to_owned()))
                })?;
            }
            Table::Contacts | Table::Groups | Table::Members => {}
        }
    }
    Ok(())
}

fn register_moment(
    connection: &Connection,
    profile: &Profile,
    table: Table,
    section: &Section,
) -> rusqlite::Result<()> {
    let units = ["created", "received"].map(|column| section.time.get(column).copied());
    let zone = profile.zone();
    add(connection, &format!("{}_moment", table.name()), 2, move |context| {
        let time = |at: usize| units[at].and_then(|unit| unit.milliseconds(context.get_raw(at), zone));
        Ok(Value::Integer(time(0).or_else(|| time(1)).unwrap_or(i64::MIN)))
    })
}

fn add(
    connection: &Connection,
    name: &str,
    arguments: i32,
    function: impl Fn(&Context<'_>) -> rusqlite::Result<Value> + Send + 'static,
) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function(name, arguments, flags, function)
}
