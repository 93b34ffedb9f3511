//! Checks of arguments that several tools have; limits are refused, not clamped.

use govern::arguments::{ArgumentFault, chars_within, within};
use govern::time::parse_iso;
use jiff::civil::DateTime;

use super::cursor;
use crate::error::Error;
use crate::files::names;

/// The longest query, in characters.
pub const LONGEST_QUERY: usize = 200;
/// The longest path, in bytes.
pub const LONGEST_PATH: usize = names::PATH_BYTES;
/// The longest time, in bytes.
pub const LONGEST_TIME: usize = 64;
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

/// A time with its offset, as Unix milliseconds.
pub fn time(text: &str) -> Result<i64, Error> {
    let since = |expected: &str, came: &str| Error::argument("since", expected, came);
    let expected =
        "an ISO-8601 time with an offset, such as 2026-11-30T09:00:00+08:00 or 2026-11-30T01:00:00Z";
    if text.len() > LONGEST_TIME {
        return Err(since(expected, "a longer text"));
    }
    match parse_iso(text.trim()) {
        Some(ms) => Ok(ms),
        None if text.trim().parse::<DateTime>().is_ok() => Err(since(expected, "a local time without one")),
        None => Err(since(expected, "something else")),
    }
}

/// A cursor that may be left out.
pub fn cursor(cursor: Option<&str>) -> Result<(), Error> {
    bounded("cursor", cursor, cursor::LONGEST)
}

fn bounded(field: &str, text: Option<&str>, most: usize) -> Result<(), Error> {
    text.map_or(Ok(()), |text| Ok(chars_within(&format!("$.{field}"), text, 1..=most)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_may_have_any_offset_that_iso_8601_allows() {
        for text in [
            "2026-11-30T01:00:00Z",
            "2026-11-30T09:00:00+08:00",
            "2026-11-30T09:00:00.000+0800",
            "2026-11-30T09:00+08",
            "2026-11-29T20:00-05:00",
            "20261130T010000Z",
            "2026-11-30 01:00:00Z",
        ] {
            assert_eq!(time(text).unwrap(), 1_796_000_400_000, "{text}");
        }
    }

    #[test]
    fn a_local_time_is_refused_and_told_so() {
        for text in ["2026-11-30T09:00:00", "2026-11-30"] {
            let message = time(text).unwrap_err().to_string();
            assert!(message.contains("local time without one"), "{message}");
        }
        assert!(time("yesterday").unwrap_err().to_string().contains("something else"));
        assert!(time(&"9".repeat(65)).is_err());
    }
}
