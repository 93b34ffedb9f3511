//! The units in which stores keep times, and how each is read and compared.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use rusqlite::types::{Value, ValueRef};
use serde::Deserialize;

use super::value::integer;

/// The first time that counts, Unix milliseconds: the beginning of the year 1.
pub const EARLIEST_MS: i64 = -62_135_596_800_000;
/// The last time that counts, Unix milliseconds: the end of the year 9998. Clients write the year 9999 for "never".
pub const LATEST_MS: i64 = 253_370_764_799_999;

/// The unit of a time column. In every unit that is a number, 0 and below mean that no time was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeUnit {
    /// Seconds since 1970.
    UnixS,
    /// Milliseconds since 1970.
    UnixMs,
    /// Microseconds since 1970.
    UnixUs,
    /// Text: year, month, day, and perhaps hour, minute, second, fraction and offset.
    Iso8601,
    /// .NET: tenths of microseconds since the year 1.
    DotnetTicks,
    /// Windows: tenths of microseconds since 1601.
    WindowsFiletime,
    /// Seconds since 2001.
    MacAbsolute,
    /// Days since noon of 24 November 4714 BC.
    JulianDay,
}

/// A number's unit: `ms = epoch_ms + value * numerator / denominator`.
struct Scale {
    epoch_ms: i64,
    numerator: i64,
    denominator: i64,
}

impl TimeUnit {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::UnixS,
        Self::UnixMs,
        Self::UnixUs,
        Self::Iso8601,
        Self::DotnetTicks,
        Self::WindowsFiletime,
        Self::MacAbsolute,
        Self::JulianDay,
    ];

    /// The word in a profile.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnixS => "unix_s",
            Self::UnixMs => "unix_ms",
            Self::UnixUs => "unix_us",
            Self::Iso8601 => "iso8601",
            Self::DotnetTicks => "dotnet_ticks",
            Self::WindowsFiletime => "windows_filetime",
            Self::MacAbsolute => "mac_absolute",
            Self::JulianDay => "julian_day",
        }
    }

    /// The Unix milliseconds of a stored value; none when no time was set, or none between the years 1 and 9998.
    /// A number kept as text counts as the number. `zone` is that of a text without an offset.
    pub fn milliseconds(self, value: ValueRef<'_>, zone: Offset) -> Option<i64> {
        let ms = match (self.scale(), value) {
            (Some(scale), ValueRef::Integer(number)) => scale.whole(number),
            (Some(scale), ValueRef::Real(number)) => scale.fraction(number),
            (Some(scale), ValueRef::Text(text)) => {
                let text = std::str::from_utf8(text).ok()?.trim();
                match text.parse::<i64>() {
                    Ok(number) => scale.whole(number),
                    Err(_) => scale.fraction(text.parse().ok()?),
                }
            }
            (None, ValueRef::Text(text)) => text_milliseconds(std::str::from_utf8(text).ok()?, zone),
            _ => None,
        }?;
        (EARLIEST_MS..=LATEST_MS).contains(&ms).then_some(ms)
    }

    /// Whether the value is a time between 1995 and 2060: numbers of one unit are no such times in another. Seconds since
    /// 2001 count from 2005 on, or small numbers would be times.
    pub(super) fn is_plausible(self, value: ValueRef<'_>, zone: Offset) -> bool {
        let from = if self == Self::MacAbsolute { YEAR_2005_MS } else { YEAR_1995_MS };
        self.milliseconds(value, zone).is_some_and(|ms| (from..YEAR_2060_MS).contains(&ms))
    }

    /// A value that stored times of `ms` and later are never below.
    pub(super) fn lower_bound(self, ms: i64) -> Value {
        match self.scale() {
            Some(scale) => Value::Integer(scale.stored(ms.saturating_sub(1)).saturating_sub(1).max(0)),
            None => Value::Text(written_date(ms.saturating_sub(TWO_DAYS_MS))),
        }
    }

    /// A value that stored times of `ms` and earlier are never above.
    pub(super) fn upper_bound(self, ms: i64) -> Value {
        match self.scale() {
            Some(scale) => Value::Integer(scale.stored(ms.saturating_add(1)).saturating_add(1)),
            // Above every way to write a day of that year, whatever separates the parts.
            None => Value::Text(format!("{}~", &written_date(ms.saturating_add(TWO_DAYS_MS))[..4])),
        }
    }

    fn scale(self) -> Option<Scale> {
        let (epoch_ms, numerator, denominator) = match self {
            Self::UnixS => (0, 1000, 1),
            Self::UnixMs => (0, 1, 1),
            Self::UnixUs => (0, 1, 1000),
            Self::DotnetTicks => (EARLIEST_MS, 1, 10_000),
            Self::WindowsFiletime => (-11_644_473_600_000, 1, 10_000),
            Self::MacAbsolute => (978_307_200_000, 1000, 1),
            Self::JulianDay => (-210_866_760_000_000, 86_400_000, 1),
            Self::Iso8601 => return None,
        };
        Some(Scale { epoch_ms, numerator, denominator })
    }
}

impl Scale {
    fn whole(&self, value: i64) -> Option<i64> {
        let scaled =
            (i128::from(value) * i128::from(self.numerator)).div_euclid(i128::from(self.denominator));
        if value <= 0 { None } else { i64::try_from(scaled + i128::from(self.epoch_ms)).ok() }
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "the range is checked first"
    )]
    fn fraction(&self, value: f64) -> Option<i64> {
        let scaled = (value * self.numerator as f64 / self.denominator as f64).round();
        (value > 0.0 && scaled < 9e17).then(|| scaled as i64 + self.epoch_ms)
    }

    fn stored(&self, ms: i64) -> i64 {
        let since_epoch = i128::from(ms) - i128::from(self.epoch_ms);
        let value = (since_epoch * i128::from(self.denominator)).div_euclid(i128::from(self.numerator));
        i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
    }
}

const YEAR_1995_MS: i64 = 788_918_400_000;
const YEAR_2005_MS: i64 = 1_104_537_600_000;
const YEAR_2060_MS: i64 = 2_840_140_800_000;

/// Whether a stored value says a time, in whatever unit: it is not NULL, not blank, and above 0.
pub(super) fn is_set(value: ValueRef<'_>) -> bool {
    match value {
        ValueRef::Null => false,
        ValueRef::Text(text) if text.trim_ascii().is_empty() => false,
        other => integer(other).is_none_or(|number| number > 0),
    }
}

/// Two texts of one moment can be written up to 26 hours apart.
const TWO_DAYS_MS: i64 = 2 * 86_400_000;

fn written_date(ms: i64) -> String {
    let ms = ms.clamp(EARLIEST_MS, LATEST_MS);
    let time = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
    TimeZone::UTC.to_datetime(time).date().to_string()
}

/// Year, month and day in digits with any separators, then perhaps hour, minute, second, fraction, and `Z` or an
/// offset.
fn text_milliseconds(text: &str, zone: Offset) -> Option<i64> {
    let (local, offset) = split_offset(text.trim());
    let (whole, fraction) = local.split_once('.').unwrap_or((local, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = if whole.len() >= 8 && digits(whole) {
        std::iter::once(&whole[..4])
            .chain((4..whole.len()).step_by(2).filter_map(|at| whole.get(at..at + 2)))
            .collect()
    } else {
        whole.split(|letter: char| !letter.is_ascii_digit()).filter(|part| !part.is_empty()).collect()
    };
    if !(3..=6).contains(&parts.len()) || parts[0].len() != 4 || !digits(fraction) {
        return None;
    }
    let part = |at: usize| parts.get(at).map_or(Some(0), |digits| digits.parse::<i8>().ok());
    let nanosecond: i32 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    let time =
        DateTime::new(parts[0].parse().ok()?, part(1)?, part(2)?, part(3)?, part(4)?, part(5)?, nanosecond)
            .ok()?;
    let offset = match offset {
        Some(written) => parse_offset(written)?,
        None => zone,
    };
    offset.to_timestamp(time).ok().map(Timestamp::as_millisecond)
}

/// Splits `…Z`, `…+08:00`, `…-0530` behind a time of day; a `-` of the date is none.
fn split_offset(text: &str) -> (&str, Option<&str>) {
    let Some(colon) = text.find(':') else { return (text.strip_suffix('Z').unwrap_or(text), None) };
    match text[colon..].find(['Z', 'z', '+', '-']) {
        Some(at) => (text[..colon + at].trim_end(), Some(&text[colon + at..])),
        None => (text, None),
    }
}

/// `Z`, `UTC`, `+08:00`, `-0530` or `+8`.
pub(super) fn parse_offset(text: &str) -> Option<Offset> {
    if text.eq_ignore_ascii_case("z") || text.eq_ignore_ascii_case("utc") {
        return Some(Offset::UTC);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits = text.strip_prefix(['+', '-'])?.replace(':', "");
    let (hours, minutes) = digits.split_at_checked(digits.len().min(2))?;
    let hours: i32 = hours.parse().ok()?;
    let minutes: i32 = if minutes.is_empty() { 0 } else { minutes.parse().ok()? };
    Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(unit: TimeUnit, value: &Value) -> Option<i64> {
        unit.milliseconds(value.into(), Offset::UTC)
    }

    proptest! {
        #[test]
        fn a_stored_time_lies_between_its_bounds(raw in 1_i64..200_000_000_000_000, at in 0..7_usize) {
            let units: Vec<TimeUnit> = TimeUnit::ALL.into_iter().filter(|unit| *unit != TimeUnit::Iso8601).collect();
            if let Some(ms) = read(units[at], &Value::Integer(raw)) {
                let bound = |value| if let Value::Integer(number) = value { number } else { unreachable!() };
                prop_assert!(bound(units[at].lower_bound(ms)) <= raw);
                prop_assert!(raw <= bound(units[at].upper_bound(ms)));
            }
        }

        #[test]
        fn a_later_value_is_never_an_earlier_time(raw in 1_i64..i64::MAX / 2, more in 1_i64..1_000_000_000) {
            for unit in TimeUnit::ALL {
                let (one, other) = (read(unit, &Value::Integer(raw)), read(unit, &Value::Integer(raw + more)));
                if let (Some(one), Some(other)) = (one, other) {
                    prop_assert!(one <= other);
                }
            }
        }

        #[test]
        fn written_times_are_read_back(ms in EARLIEST_MS..LATEST_MS, hours in -12_i8..=14) {
            let offset = Offset::from_seconds(i32::from(hours) * 3600).unwrap();
            let written = offset.to_datetime(Timestamp::from_millisecond(ms).unwrap());
            prop_assume!(written.year() > 0);
            let text = format!("{written}{offset}");
            prop_assert_eq!(read(TimeUnit::Iso8601, &Value::Text(text)), Some(ms));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}", digits in "[0-9:./TZ+ -]{0,40}") {
            for unit in TimeUnit::ALL {
                read(unit, &Value::Text(text.clone()));
                read(unit, &Value::Text(digits.clone()));
            }
        }
    }

    #[test]
    fn one_moment_is_the_same_in_every_unit() {
        let ms = Some(1_704_164_645_000);
        let zone = Offset::from_seconds(8 * 3600).unwrap();
        for (unit, value) in [
            (TimeUnit::UnixS, Value::Integer(1_704_164_645)),
            (TimeUnit::UnixS, Value::Text("1704164645".into())),
            (TimeUnit::UnixS, Value::Real(1_704_164_645.0)),
            (TimeUnit::UnixMs, Value::Integer(1_704_164_645_000)),
            (TimeUnit::UnixUs, Value::Integer(1_704_164_645_000_000)),
            (TimeUnit::DotnetTicks, Value::Integer(638_397_614_450_000_000)),
            (TimeUnit::WindowsFiletime, Value::Integer(133_486_382_450_000_000)),
            (TimeUnit::MacAbsolute, Value::Integer(725_857_445)),
            (TimeUnit::JulianDay, Value::Real(2_460_311.627_835_648)),
            (TimeUnit::Iso8601, Value::Text("2024-01-02T03:04:05Z".into())),
            (TimeUnit::Iso8601, Value::Text("2024-01-02 11:04:05".into())),
            (TimeUnit::Iso8601, Value::Text("2024/1/2 11:04:05".into())),
            (TimeUnit::Iso8601, Value::Text("20240102110405".into())),
            (TimeUnit::Iso8601, Value::Text("2024-01-02T05:04:05.000+02:00".into())),
        ] {
            assert_eq!(unit.milliseconds((&value).into(), zone), ms, "{unit:?} {value:?}");
        }
    }

    #[test]
    fn years_0_and_9999_and_unset_times_are_none() {
        for text in ["0000-00-00 00:00:00", "0000-01-01", "9999-12-31T23:59:59Z", "", "soon", "2024-13-01"] {
            assert_eq!(read(TimeUnit::Iso8601, &Value::Text(text.into())), None, "{text}");
        }
        for number in [0, -1, i64::MAX, i64::MIN, 253_402_300_799_000] {
            assert_eq!(read(TimeUnit::UnixMs, &Value::Integer(number)), None, "{number}");
        }
        assert_eq!(read(TimeUnit::UnixS, &Value::Real(f64::NAN)), None);
        assert_eq!(read(TimeUnit::UnixS, &Value::Real(f64::INFINITY)), None);
        assert_eq!(read(TimeUnit::UnixS, &Value::Null), None);
    }
}
