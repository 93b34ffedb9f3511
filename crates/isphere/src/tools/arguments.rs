//! Checks of arguments that several tools have; limits are refused, not clamped.

use govern::arguments::{ArgumentFault, chars_within, within};

use super::cursor;
use crate::error::Error;

/// The longest query, in characters.
pub const LONGEST_QUERY: usize = 200;
/// The longest id, in characters.
pub const LONGEST_ID: usize = 512;

/// The number of items of a page.
pub fn limit(limit: Option<u64>, default: u64, most: u64) -> Result<usize, ArgumentFault> {
    let limit = within("$.limit", limit.unwrap_or(default), 1..=most)?;
    Ok(usize::try_from(limit).unwrap_or(usize::MAX))
}

/// A query, trimmed; not blank.
pub fn query(query: &str) -> Result<&str, Error> {
    chars_within("$.query", query, 1..=LONGEST_QUERY)?;
    let query = query.trim();
    if query.is_empty() { Err(Error::argument("query", "a text", "only white space")) } else { Ok(query) }
}

/// An id that may be left out.
pub fn id(field: &str, id: Option<&str>) -> Result<(), Error> {
    bounded(field, id, LONGEST_ID)
}

/// A cursor that may be left out.
pub fn cursor(cursor: Option<&str>) -> Result<(), Error> {
    bounded("cursor", cursor, cursor::LONGEST)
}

fn bounded(field: &str, text: Option<&str>, most: usize) -> Result<(), Error> {
    text.map_or(Ok(()), |text| Ok(chars_within(&format!("$.{field}"), text, 1..=most)?))
}
