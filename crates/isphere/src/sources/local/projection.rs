//! The profile's SELECTs, checked against the store and wrapped so that they yield the canonical columns in a fixed
//! order. SQLite flattens the wrapping, so the store's own indexes serve conditions put on it.

use std::fmt::Write;

use rusqlite::{Connection, ErrorCode, Statement};

use super::error::StoreError;
use super::profile::{ProfileError, Section, SectionFault, Table};

/// The most tables that one section may be split into: a century of months, and then some.
const MAX_PARTS: usize = 2_000;

/// One SELECT of the profile on one part of the store.
#[derive(Debug)]
pub(super) struct Projection {
    /// The table put in for `{table}`; empty when the section is not split.
    pub part: String,
    /// `SELECT <canonical columns> FROM (<select>)`, ready for a WHERE.
    pub sql: String,
    yields: Vec<String>,
}

impl Projection {
    /// Checks that the SELECT is exactly one statement that only reads, yields what it must, and wraps it.
    pub fn new(
        connection: &Connection,
        table: Table,
        section: &Section,
        part: &str,
    ) -> Result<Self, StoreError> {
        let select = section.select.replace("{table}", &quoted(part));
        let select = select.trim().trim_end_matches(';');
        let statement = prepare(connection, table, select)?;
        if !statement.readonly() || statement.column_count() == 0 {
            return Err(ProfileError::section(table, SectionFault::NotASelect).into());
        }
        if statement.parameter_count() > 0 {
            return Err(ProfileError::section(table, SectionFault::Parameter).into());
        }
        // SQLite takes the end of the text for the end of a comment. Nothing else hides a parenthesis too many.
        if connection.prepare(&format!("{select}\n)")).is_ok() {
            return Err(ProfileError::section(table, SectionFault::OpenComment).into());
        }
        let yields: Vec<String> = statement.column_names().into_iter().map(str::to_lowercase).collect();
        check_columns(table, section, &yields)?;
        let mut sql = String::from("SELECT ");
        for (at, column) in table.columns().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            let value =
                if yields.iter().any(|name| name == column) { quoted(column) } else { "NULL".to_owned() };
            let _ = write!(sql, "{comma}{value}");
        }
        // On lines of its own, so that a comment at the end of the SELECT does not swallow the parenthesis.
        let _ = write!(sql, " FROM (\n{select}\n)");
        prepare(connection, table, &sql)?;
        Ok(Self { part: part.to_owned(), sql, yields })
    }

    /// Whether the profile's SELECT yields this column.
    pub fn yields(&self, column: &str) -> bool {
        self.yields.iter().any(|name| name == column)
    }
}

/// The tables that a section reads, in the order of their names; one empty name when it is not split.
pub(super) fn parts(
    connection: &Connection,
    table: Table,
    section: &Section,
) -> Result<Vec<String>, StoreError> {
    let Some(pattern) = &section.tables else { return Ok(vec![String::new()]) };
    let mut statement = connection.prepare_cached(
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name GLOB ?1 ORDER BY name COLLATE BINARY",
    )?;
    let names: Vec<String> = statement.query_map([pattern], |row| row.get(0))?.collect::<Result<_, _>>()?;
    if names.len() > MAX_PARTS {
        return Err(ProfileError::section(table, SectionFault::TooManyTables(MAX_PARTS)).into());
    }
    Ok(names)
}

/// A name in SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn prepare<'c>(connection: &'c Connection, table: Table, sql: &str) -> Result<Statement<'c>, StoreError> {
    connection.prepare(sql).map_err(|error| {
        let fault = match &error {
            rusqlite::Error::MultipleStatement => SectionFault::SeveralStatements,
            rusqlite::Error::SqlInputError { msg, .. } => SectionFault::Fails(msg.clone()),
            _ if error.sqlite_error_code() == Some(ErrorCode::AuthorizationForStatementDenied) => {
                SectionFault::MoreThanReads
            }
            _ => return StoreError::of(error).in_select(table),
        };
        ProfileError::section(table, fault).into()
    })
}

fn check_columns(table: Table, section: &Section, yields: &[String]) -> Result<(), ProfileError> {
    let refuse = |fault: SectionFault| Err(ProfileError::section(table, fault));
    let has = |column: &str| yields.iter().any(|name| name == column);
    let missing: Vec<&str> = table.required().iter().copied().filter(|column| !has(column)).collect();
    if !missing.is_empty() {
        return refuse(SectionFault::MissingColumns(missing.join(", ")));
    }
    if let Some(column) = yields.iter().find(|column| !table.columns().any(|name| name == *column)) {
        let columns = table.columns().collect::<Vec<_>>().join(", ");
        return refuse(SectionFault::UnknownColumn { column: column.clone(), columns });
    }
    if let Some((_, column)) = yields.iter().enumerate().find(|(at, column)| yields[..*at].contains(column)) {
        return refuse(SectionFault::ColumnTwice(column.clone()));
    }
    match table.times().iter().find(|column| has(column) && !section.time.contains_key(**column)) {
        Some(column) => refuse(SectionFault::NoUnit((*column).to_owned())),
        None => Ok(()),
    }
}
