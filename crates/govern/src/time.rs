//! Timestamps as text: RFC 3339 in UTC with milliseconds.

use jiff::Timestamp;

/// `2026-11-30T14:42:00.123Z` for Unix milliseconds. A value outside the years -9999 to 9999 is shown as the
/// nearest that is inside.
pub fn iso(ms: i64) -> String {
    let timestamp =
        Timestamp::from_millisecond(ms).unwrap_or(if ms < 0 { Timestamp::MIN } else { Timestamp::MAX });
    format!("{timestamp:.3}")
}

/// Unix milliseconds of an RFC 3339 timestamp with any offset; `None` when it is not one.
pub fn parse_iso(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_utc_with_milliseconds() {
        assert_eq!(iso(1_796_049_720_123), "2026-11-30T14:42:00.123Z");
        assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
        assert!(iso(i64::MAX).starts_with("9999-12-3"));
    }

    #[test]
    fn an_offset_is_honoured_and_nonsense_refused() {
        assert_eq!(parse_iso("2026-11-30T15:42:00.123+01:00"), Some(1_796_049_720_123));
        assert_eq!(parse_iso("2026-11-30"), None);
        assert_eq!(parse_iso("yesterday"), None);
    }
}
