//! Looking at a store of unknown layout: its tables, columns and counts, and what kind of values the columns hold; and
//! proposing a profile for it. No value of a row is kept, except short words and small numbers that few rows share
//! (types).

mod conversations;
mod propose;
mod words;

use std::collections::BTreeMap;
use std::path::Path;

use jiff::tz::Offset;
use rusqlite::Connection;
use rusqlite::types::{Value, ValueRef};

pub use propose::propose;

use super::error::StoreError;
use super::open::{Opener, settled};
use super::projection::quoted;
use super::time::{TimeUnit, is_set};
use super::value::{BlobText, text};

/// The most tables that are looked at.
const MAX_TABLES: u32 = 5_000;
/// How many rows at the beginning and at the end of a table are looked at.
const SAMPLED_ROWS: usize = 200;
/// A column with more different values than this holds no types.
const MAX_KINDS: usize = 12;
/// The longest word for a type, in characters.
const MAX_KIND_CHARS: usize = 16;

/// What is in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Its tables in the order of their names; tables that differ in their number only are one.
    pub tables: Vec<InspectedTable>,
}

/// A table, or several that differ in their number only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectedTable {
    /// Its name; with several tables a GLOB pattern that fits them.
    pub name: String,
    /// The tables that fit, in the order of their names, when it is a pattern; empty otherwise.
    pub parts: Vec<String>,
    /// Rows of all of them.
    pub rows: u64,
    /// Whether its rows have a rowid.
    pub has_rowid: bool,
    /// Its columns, in order.
    pub columns: Vec<InspectedColumn>,
}

/// A column and what its sampled values have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InspectedColumn {
    /// Its name.
    pub name: String,
    /// The type of most values: `integer`, `real`, `text`, `blob`, or `null` when all are.
    pub holds: &'static str,
    /// The unit when all values could be times.
    pub time: Option<TimeUnit>,
    /// The encoding when the values are BLOBs of text.
    pub blob_text: Option<BlobText>,
    /// The values, the most frequent first, when they could be types; empty otherwise.
    pub kinds: Vec<String>,
}

/// Looks at the store of this name without changing anything.
pub fn inspect(path: &Path) -> Result<Inspection, StoreError> {
    let opener = Opener::new(path)?;
    settled(|| {
        let plan = opener.plan()?;
        let inspection = look(&opener.open(&plan)?).map_err(|error| opener.reason(&plan, error));
        if opener.unchanged(&plan) { inspection } else { Err(StoreError::Changed) }
    })
}

fn look(connection: &Connection) -> Result<Inspection, StoreError> {
    let mut statement = connection.prepare(
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
         ORDER BY name LIMIT ?1",
    )?;
    let names: Vec<String> =
        statement.query_map([MAX_TABLES], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut families: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in names {
        families.entry(family(&name)).or_default().push(name);
    }
    let mut tables = Vec::new();
    for (pattern, names) in families {
        let looked = names.iter().map(|name| look_at(connection, name)).collect::<Result<Vec<_>, _>>()?;
        let same = |table: &InspectedTable| column_names(table) == column_names(&looked[0]);
        if names.len() > 1 && looked.iter().all(same) {
            let rows = looked.iter().map(|table| table.rows).sum();
            let fullest = looked.into_iter().max_by_key(|table| table.rows);
            tables.extend(fullest.map(|table| InspectedTable { name: pattern, parts: names, rows, ..table }));
        } else {
            tables.extend(looked);
        }
    }
    Ok(Inspection { tables })
}

/// The pattern that a name fits together with those that differ in their number only: `msg_202401` → `msg_[0-9]*`.
fn family(name: &str) -> String {
    let letters =
        name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '_' || letter == '-');
    let rest = &name[letters.len()..];
    match rest.find(|letter: char| letter.is_ascii_digit()) {
        Some(first) if !letters.is_empty() && !letters.contains(['*', '?', '[']) => {
            format!("{letters}{}[0-9]*", &rest[..first])
        }
        _ => name.to_owned(),
    }
}

fn column_names(table: &InspectedTable) -> Vec<&str> {
    table.columns.iter().map(|column| column.name.as_str()).collect()
}

fn look_at(connection: &Connection, name: &str) -> Result<InspectedTable, StoreError> {
    let table = quoted(name);
    let has_rowid = connection.prepare(&format!("SELECT rowid FROM {table} LIMIT 0")).is_ok();
    let rows: i64 = connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?;
    let mut samples = sample(connection, &format!("SELECT * FROM {table} LIMIT {SAMPLED_ROWS}"))?;
    if has_rowid {
        let last = format!("SELECT * FROM {table} ORDER BY rowid DESC LIMIT {SAMPLED_ROWS}");
        for (column, (_, more)) in samples.iter_mut().zip(sample(connection, &last)?) {
            column.1.extend(more);
        }
    }
    let columns = samples.into_iter().map(|(name, values)| look_at_values(name, &values)).collect();
    Ok(InspectedTable {
        name: name.to_owned(),
        parts: Vec::new(),
        rows: rows.unsigned_abs(),
        has_rowid,
        columns,
    })
}

/// The names of the columns with sampled values that are not NULL.
fn sample(connection: &Connection, sql: &str) -> Result<Vec<(String, Vec<Value>)>, StoreError> {
    let mut statement = connection.prepare(sql)?;
    let mut columns: Vec<(String, Vec<Value>)> =
        statement.column_names().into_iter().map(|name| (name.to_owned(), Vec::new())).collect();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        for (at, (_, values)) in columns.iter_mut().enumerate() {
            match row.get_ref(at)? {
                ValueRef::Null => {}
                // Not `Value::try_from`, which refuses text that is not UTF-8.
                ValueRef::Text(bytes) => {
                    values.push(Value::Text(String::from_utf8_lossy(bytes).into_owned()));
                }
                other => values.extend(Value::try_from(other).ok()),
            }
        }
    }
    Ok(columns)
}

fn look_at_values(name: String, values: &[Value]) -> InspectedColumn {
    let count = |is: fn(&Value) -> bool| values.iter().filter(|value| is(value)).count();
    let types = [
        ("integer", count(|value| matches!(value, Value::Integer(_)))),
        ("real", count(|value| matches!(value, Value::Real(_)))),
        ("text", count(|value| matches!(value, Value::Text(_)))),
        ("blob", count(|value| matches!(value, Value::Blob(_)))),
    ];
    let holds = types.into_iter().max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 0);
    let holds = holds.map_or("null", |(name, _)| name);
    let blob_text = if holds == "blob" { blob_encoding(values) } else { None };
    InspectedColumn { name, holds, time: time_unit(values), blob_text, kinds: kinds(values) }
}

/// The unit in which all values that are set are times of our age.
pub(super) fn time_unit(values: &[Value]) -> Option<TimeUnit> {
    let set: Vec<ValueRef<'_>> = values.iter().map(ValueRef::from).filter(|value| is_set(*value)).collect();
    let fits = |unit: &TimeUnit| set.iter().all(|value| unit.is_plausible(*value, Offset::UTC));
    if set.is_empty() { None } else { TimeUnit::ALL.into_iter().find(fits) }
}

/// The encoding whose reading of the BLOBs has neither replacements nor control characters, and the most Chinese.
fn blob_encoding(values: &[Value]) -> Option<BlobText> {
    let readable = |encoding: BlobText| {
        let read: String = values.iter().filter_map(|value| text(value.into(), encoding)).collect();
        let strange = |letter: char| letter == '\u{fffd}' || (letter.is_control() && !letter.is_whitespace());
        let usual = |letter: &char| {
            letter.is_whitespace()
                || matches!(letter, ' '..='~' | '\u{3000}'..='\u{303f}' | '\u{4e00}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}')
        };
        let common = read.chars().filter(usual);
        (!read.chars().any(strange)).then(|| common.count() * 100 / read.chars().count().max(1))
    };
    // Only UTF-16 has NUL in text.
    let nul = values.iter().any(|value| matches!(value, Value::Blob(bytes) if bytes.contains(&0)));
    let candidates: &[BlobText] =
        if nul { &[BlobText::Utf16le] } else { &[BlobText::Utf8, BlobText::Gbk, BlobText::Utf16le] };
    candidates.iter().copied().find(|encoding| readable(*encoding).is_some_and(|percent| percent > 60))
}

fn kinds(values: &[Value]) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for value in values {
        let word = match value {
            Value::Integer(number) if (-1..1000).contains(number) => number.to_string(),
            Value::Text(text)
                if text.chars().count() <= MAX_KIND_CHARS && text.chars().all(char::is_alphanumeric) =>
            {
                text.clone()
            }
            _ => return Vec::new(),
        };
        *counts.entry(word).or_default() += 1;
        if counts.len() > MAX_KINDS {
            return Vec::new();
        }
    }
    let mut kinds: Vec<(String, usize)> = counts.into_iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    kinds.into_iter().map(|(word, _)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_differ_in_their_number_are_one_family() {
        assert_eq!(family("msg_202401"), "msg_[0-9]*");
        assert_eq!(family("消息2024_01"), "消息[0-9]*");
        assert_eq!(family("message"), "message");
        assert_eq!(family("2024"), "2024");
    }

    #[test]
    fn the_magnitude_tells_the_unit() {
        let unit = |values: &[i64]| {
            time_unit(&values.iter().map(|value| Value::Integer(*value)).collect::<Vec<_>>())
        };
        assert_eq!(unit(&[1_704_164_645, 0]), Some(TimeUnit::UnixS));
        assert_eq!(unit(&[1_704_164_645_000]), Some(TimeUnit::UnixMs));
        assert_eq!(unit(&[1_704_164_645_000_000]), Some(TimeUnit::UnixUs));
        assert_eq!(unit(&[638_397_614_450_000_000]), Some(TimeUnit::DotnetTicks));
        assert_eq!(unit(&[133_486_382_450_000_000]), Some(TimeUnit::WindowsFiletime));
        assert_eq!(unit(&[725_857_445]), Some(TimeUnit::MacAbsolute));
        assert_eq!(unit(&[1, 2, 3]), None);
        assert_eq!(unit(&[0]), None);
        assert_eq!(time_unit(&[Value::Text("2024-01-02 03:04:05".into())]), Some(TimeUnit::Iso8601));
    }
}
