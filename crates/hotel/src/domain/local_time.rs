//! The hotel's own time: that of UTC+8, where its users are.

use govern::time::iso;

const UTC_PLUS_8: i64 = 8 * 3_600_000;
const DAY: i64 = 24 * 3_600_000;

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

/// The moment at which the day of a moment ends.
pub fn end_of_day(ms: i64) -> i64 {
    let local = ms.saturating_add(UTC_PLUS_8);
    (local.div_euclid(DAY) + 1).saturating_mul(DAY) - UTC_PLUS_8
}

#[cfg(test)]
mod tests {
    use govern::time::parse_iso;

    use super::*;

    #[test]
    fn the_day_begins_at_midnight_of_utc_plus_8() {
        let last = parse_iso("2026-11-30T15:59:59.999Z").unwrap();
        assert_eq!((date(last).as_str(), minute(last).as_str()), ("2026-11-30", "2026-11-30 23:59"));
        assert_eq!(date(last + 1), "2026-12-01");
        assert_eq!((end_of_day(last), end_of_day(last + 1)), (last + 1, last + 1 + DAY));
    }
}
