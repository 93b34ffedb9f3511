//! Checks of arguments that several tools have; limits are refused, not clamped.

use govern::arguments::{ArgumentFault, chars_within, within};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;

use super::cursor;
use crate::error::Error;
use crate::files::names;
pub use crate::model::LONGEST_ID;

/// The longest query, in characters.
pub const LONGEST_QUERY: usize = 200;
/// The longest path, in bytes.
pub const LONGEST_PATH: usize = names::PATH_BYTES;
/// The longest time, in bytes.
pub const LONGEST_TIME: usize = 64;

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

/// A time with its offset, as Unix milliseconds. One before or after all times that can be reckoned with is the first or
/// last of them.
pub fn time(text: &str) -> Result<i64, Error> {
    let since = |expected: &str, came: &str| Error::argument("since", expected, came);
    let expected =
        "an ISO-8601 time with an offset, such as 2026-11-30T09:00:00+08:00 or 2026-11-30T01:00:00Z";
    if text.len() > LONGEST_TIME {
        return Err(since(expected, "a longer text"));
    }
    let text = text.trim();
    let bad_offset = || since(expected, "a time with a bad offset");
    let pieces = Pieces::parse(text).map_err(|_| match local_part(text) {
        Some(_) => bad_offset(),
        None => since(expected, "something else"),
    })?;
    let offset = pieces.to_numeric_offset().ok_or_else(|| since(expected, "a local time without one"))?;
    if offset.seconds().abs() >= DAY_SECONDS {
        return Err(bad_offset());
    }
    let written = pieces.date().to_datetime(pieces.time().unwrap_or_default());
    let reckoned = offset.to_timestamp(written);
    let nearest = if written.year() > 0 { Timestamp::MAX } else { Timestamp::MIN };
    Ok(reckoned.unwrap_or(nearest).as_millisecond())
}

const DAY_SECONDS: i32 = 24 * 3600;

/// What stands before the sign of an offset, when it is a time.
fn local_part(text: &str) -> Option<DateTime> {
    let sign = text.rfind(['+', '-']).filter(|sign| *sign > "2026-11-30".len())?;
    text[..sign].parse().ok()
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
            "2026-11-30T06:45:00+05:45",
            "2026-11-29T21:30:00-03:30",
            "2026-11-30T01:00:00+00:00",
            "2026-11-30t01:00:00,000z",
            "2026-11-30T15:00+14:00",
            "20261130T010000Z",
            "2026-11-30 01:00:00Z",
        ] {
            assert_eq!(time(text).unwrap(), 1_796_000_400_000, "{text}");
        }
    }

    #[test]
    fn a_time_beyond_all_that_can_be_reckoned_with_is_the_nearest() {
        assert!(time("0000-01-01T00:00:00Z").unwrap() < -62_135_596_800_000);
        assert_eq!(time("-009999-01-01T00:00:00+14:00").unwrap(), Timestamp::MIN.as_millisecond());
        assert_eq!(time("9999-12-31T23:59:59.999Z").unwrap(), Timestamp::MAX.as_millisecond());
    }

    #[test]
    fn a_local_time_and_a_bad_offset_are_refused_and_told_so() {
        for text in ["2026-11-30T09:00:00", "2026-11-30"] {
            let message = time(text).unwrap_err().to_string();
            assert!(message.contains("local time without one"), "{message}");
        }
        for text in ["2026-11-30T09:00:00+25:00", "2026-11-30T09:00:00+8x", "2026-11-30T09:00:00-24:00"] {
            assert!(time(text).unwrap_err().to_string().contains("bad offset"), "{text}");
        }
        assert!(time("yesterday").unwrap_err().to_string().contains("something else"));
        assert!(time(&"9".repeat(65)).is_err());
    }
}
