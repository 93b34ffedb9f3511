//! Checks of arguments that several tools have; limits are refused, not clamped.

use govern::arguments::{ArgumentFault, chars_within, within};
use jiff::Timestamp;
use jiff::civil::{DateTime, date};
use jiff::fmt::temporal::Pieces;
use jiff::tz::Offset;

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

/// A time with its offset, as Unix milliseconds; of the last and first days of the calendar, the nearest that can be told
/// in every zone.
pub fn time(text: &str) -> Result<i64, Error> {
    let since = |expected: &str, came: &str| Error::argument("since", expected, came);
    let expected =
        "an ISO-8601 time with an offset, such as 2026-11-30T09:00:00+08:00 or 2026-11-30T01:00:00Z";
    if text.len() > LONGEST_TIME {
        return Err(since(expected, "a longer text"));
    }
    let text = text.trim();
    let Ok(pieces) = Pieces::parse(text) else {
        let came = if is_time_with_more(text) { "a time with a bad offset" } else { "something else" };
        return Err(since(expected, came));
    };
    let Some(offset) = pieces.to_numeric_offset() else {
        return Err(since(expected, "a local time without one"));
    };
    if offset.seconds().abs() >= DAY_SECONDS {
        return Err(since(expected, "a time with a bad offset"));
    }
    let local = pieces.time().map(|time| pieces.date().to_datetime(time));
    local.map(|local| unix_ms(local, offset)).ok_or_else(|| since(expected, "a day without a time"))
}

const DAY_SECONDS: i32 = 24 * 3600;

/// Not by way of a [`Timestamp`], which cannot hold the ends of the calendar in every zone.
fn unix_ms(local: DateTime, offset: Offset) -> i64 {
    let since_1970 = local.duration_since(date(1970, 1, 1).at(0, 0, 0, 0)).as_millis();
    let ms = since_1970 - i128::from(offset.seconds()) * 1000;
    let (first, last) = (Timestamp::MIN.as_millisecond(), Timestamp::MAX.as_millisecond());
    i64::try_from(ms).map_or(last, |ms| ms.clamp(first, last))
}

/// Whether the text is a time up to a sign behind its `T`, where an offset begins.
fn is_time_with_more(text: &str) -> bool {
    let sign = text.rfind(['+', '-']).filter(|sign| *sign > "2026-11-30".len());
    sign.is_some_and(|sign| text[..sign].parse::<DateTime>().is_ok())
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
    fn the_ends_of_the_calendar_are_times_in_every_zone() {
        let last = Timestamp::MAX.as_millisecond();
        for offset in ["Z", "+14:00", "-12:00", "-23:00", "+23:59"] {
            let end = time(&format!("9999-12-31T23:59:59{offset}")).unwrap();
            assert!(end <= last && end > last - 86_400_000, "{offset}");
            assert!(time(&format!("0001-01-01T00:00:00{offset}")).unwrap() < -62_135_000_000_000, "{offset}");
        }
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
