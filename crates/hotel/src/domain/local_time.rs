//! The hotel's own time: that of UTC+8, where its users are.

use govern::time::{iso, parse_iso};

const HOUR: i64 = 3_600_000;
const UTC_PLUS_8: i64 = 8 * HOUR;
const DAY: i64 = 24 * HOUR;

/// The ISO date of a moment (unix milliseconds).
pub fn date(ms: i64) -> String {
    iso(ms.saturating_add(UTC_PLUS_8)).chars().take(10).collect()
}

/// Date and minute of a moment, `2026-11-30 16:00`.
pub fn minute(ms: i64) -> String {
    iso(ms.saturating_add(UTC_PLUS_8))
        .chars()
        .take(16)
        .map(|sign| if sign == 'T' { ' ' } else { sign })
        .collect()
}

/// The moment at which a minute begins, from `2026-11-30T16:00`.
pub fn parse_minute(text: &str) -> Option<i64> {
    let is_minute = text.len() == 16 && text.is_ascii();
    if is_minute { parse_iso(&format!("{text}:00+08:00")) } else { None }
}

/// The hour of the day of a moment, 0 to 23.
pub fn hour_of_day(ms: i64) -> i64 {
    ms.saturating_add(UTC_PLUS_8).div_euclid(HOUR).rem_euclid(24)
}

/// The moment at which the day of a moment ends.
pub fn end_of_day(ms: i64) -> i64 {
    let local = ms.saturating_add(UTC_PLUS_8);
    (local.div_euclid(DAY) + 1).saturating_mul(DAY) - UTC_PLUS_8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_reads_back_as_it_is_shown() {
        let ms = parse_minute("2026-11-30T16:07").unwrap();
        assert_eq!((minute(ms).as_str(), hour_of_day(ms)), ("2026-11-30 16:07", 16));
        for bad in
            ["", "2026-11-30", "2026-13-30T16:07", "2026-11-30T16:07:00", "2026-11-30 25:07", "二二二二六x"]
        {
            assert_eq!(parse_minute(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_day_begins_at_midnight_of_utc_plus_8() {
        let last = parse_iso("2026-11-30T15:59:59.999Z").unwrap();
        assert_eq!((date(last).as_str(), minute(last).as_str()), ("2026-11-30", "2026-11-30 23:59"));
        assert_eq!(date(last + 1), "2026-12-01");
        assert_eq!((end_of_day(last), end_of_day(last + 1)), (last + 1, last + 1 + DAY));
    }
}
