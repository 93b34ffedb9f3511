//! Which values fit which fields of an order, so that what a person confirms is what the order gets.

use serde_json::Value;

use super::keys::{KEY_NAMES, MAX_KEY_CHARS, normalise};

/// The dates of an order: each is a real day, written YYYY-MM-DD.
pub const DATES: [&str; 3] = ["arrival", "departure", "cutoff"];
/// How many of something there are.
const COUNTS: [&str; 3] = ["rooms", "guests", "adults"];
/// What follows from a task's own move and is never proposed as a value.
pub const RESERVED: [&str; 2] = ["status", "cancellation"];

/// What `field` wants instead of `to`, for people; none when it fits. A null clears a field, but a key, a date
/// and a reserved name cannot be cleared.
pub fn misfit(field: &str, to: &Value) -> Option<String> {
    let text = to.as_str();
    if RESERVED.contains(&field) {
        return Some("不能作为字段直接修改".to_owned());
    }
    if DATES.contains(&field) {
        return (!text.is_some_and(is_date)).then(|| "必须是真实存在的日期 YYYY-MM-DD".to_owned());
    }
    if KEY_NAMES.contains(&field) {
        let fits = text
            .and_then(|text| normalise(Some(text)))
            .is_some_and(|key| key.chars().count() <= MAX_KEY_CHARS);
        return (!fits).then(|| format!("必须是 1 到 {MAX_KEY_CHARS} 个字符的文本"));
    }
    let fits = !COUNTS.contains(&field) || to.is_null() || count(to).is_some();
    (!fits).then(|| "必须是正整数".to_owned())
}

/// What a person typed in the place of a value, in the kind of that value: a blank text is null, and what does not read as the
/// kind stays a text, for [`misfit`] to judge.
pub fn typed(value: &Value, text: &str) -> Value {
    let text = text.trim();
    if text.is_empty() {
        return Value::Null;
    }
    let is_like = |read: &Value| std::mem::discriminant(read) == std::mem::discriminant(value);
    let read = if value.is_string() || value.is_null() { None } else { serde_json::from_str(text).ok() };
    read.filter(is_like).unwrap_or_else(|| text.into())
}

/// The positive integer that a JSON number is, or whose decimal form a text is.
pub fn count(value: &Value) -> Option<u64> {
    let number = match value {
        Value::String(text) => text.parse().ok().filter(|number: &u64| number.to_string() == *text),
        value => value.as_u64(),
    };
    number.filter(|number| *number > 0)
}

/// Whether a text is a day of the calendar as YYYY-MM-DD, so that dates compare as text.
pub fn is_date(text: &str) -> bool {
    let written = text.len() == 10
        && text.bytes().enumerate().all(|(place, byte)| match place {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    written && text.parse::<jiff::civil::Date>().is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_date_is_a_real_day_in_one_form() {
        assert!(is_date("2028-02-29"));
        for wrong in [
            "2027-02-29",
            "2027-02-31",
            "2027-13-01",
            "2020/01/01",
            "2027-1-1",
            " 2027-01-01",
            "20270101",
            "",
        ] {
            assert!(!is_date(wrong), "{wrong}");
            for field in DATES {
                assert!(misfit(field, &json!(wrong)).is_some(), "{field} {wrong}");
            }
        }
    }

    #[test]
    fn keys_and_dates_are_texts_and_cannot_be_cleared() {
        for field in KEY_NAMES.into_iter().chain(DATES) {
            for wrong in
                [json!(null), json!(20_270_101), json!(true), json!(["x"]), json!({"x": 1}), json!(" ")]
            {
                assert!(misfit(field, &wrong).is_some(), "{field} {wrong}");
            }
        }
        assert!(misfit("group_code", &json!("x".repeat(MAX_KEY_CHARS))).is_none());
        assert!(misfit("group_code", &json!("x".repeat(MAX_KEY_CHARS + 1))).is_some());
    }

    #[test]
    fn counts_are_positive_integers_or_their_decimal_form() {
        for field in COUNTS {
            for right in [json!(2), json!("2"), json!(null)] {
                assert_eq!(misfit(field, &right), None, "{field} {right}");
            }
            for wrong in [json!(0), json!(-1), json!(1.5), json!("02"), json!("two"), json!([2])] {
                assert!(misfit(field, &wrong).is_some(), "{field} {wrong}");
            }
        }
    }

    #[test]
    fn what_is_typed_keeps_the_kind_of_the_value_it_replaces() {
        for (value, text, expected) in [
            (json!("2"), "3", json!("3")),
            (json!(2), " 3 ", json!(3)),
            (json!(2), "three", json!("three")),
            (json!(null), "3", json!("3")),
            (json!(true), "false", json!(false)),
            (json!({"eur": 90}), "{\"eur\": 95}", json!({"eur": 95})),
            (json!({"eur": 90}), "[95]", json!("[95]")),
            (json!("x"), "  ", json!(null)),
        ] {
            assert_eq!(typed(&value, text), expected, "{value} {text}");
        }
    }

    proptest! {
        #[test]
        fn only_days_of_the_calendar_are_dates(year in 1_i16..=9999, month in 0_i8..=13, day in 0_i8..=32) {
            let real = jiff::civil::Date::new(year, month, day).is_ok();
            prop_assert_eq!(is_date(&format!("{year:04}-{month:02}-{day:02}")), real);
        }
    }
}
