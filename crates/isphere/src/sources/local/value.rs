//! Reading a column leniently: a value of the wrong type never fails a page.

use encoding_rs::Encoding;
use rusqlite::types::ValueRef;
use serde::Deserialize;

use crate::model::{LONGEST_ID, is_usable_id};

/// The encoding of text that a store keeps in BLOB columns. TEXT columns are always UTF-8, that is SQLite's rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlobText {
    /// UTF-8.
    #[default]
    Utf8,
    /// UTF-16, little-endian, as .NET and Windows write it.
    Utf16le,
    /// GBK and its superset GB18030.
    Gbk,
}

impl BlobText {
    fn encoding(self) -> &'static Encoding {
        match self {
            Self::Utf8 => encoding_rs::UTF_8,
            Self::Utf16le => encoding_rs::UTF_16LE,
            Self::Gbk => encoding_rs::GB18030,
        }
    }
}

/// No encoding takes more bytes for a character.
const CHARACTER_BYTES: usize = 4;

/// The value as text: numbers in digits, what is not of its encoding replaced, NUL left out. None for NULL.
pub fn text(value: ValueRef<'_>, blob: BlobText) -> Option<String> {
    let mut text = decoded(value, blob)?;
    text.retain(|letter| letter != '\0');
    Some(text)
}

/// The value as an id; none when it is not one that an agent can use ([`is_usable_id`]).
pub fn id(value: ValueRef<'_>, blob: BlobText) -> Option<String> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) if bytes.len() > LONGEST_ID * CHARACTER_BYTES => None,
        _ => decoded(value, blob).filter(|id| is_usable_id(id)),
    }
}

fn decoded(value: ValueRef<'_>, blob: BlobText) -> Option<String> {
    Some(match value {
        ValueRef::Null => return None,
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        ValueRef::Blob(bytes) => blob.encoding().decode_without_bom_handling(bytes).0.into_owned(),
    })
}

/// The same, and none for a blank one: clients write the empty string for "unknown".
pub fn filled_text(value: ValueRef<'_>, blob: BlobText) -> Option<String> {
    text(value, blob).filter(|text| !text.trim().is_empty())
}

/// The value as a whole number; text counts by its digits.
pub fn integer(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Integer(number) => Some(number),
        #[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and the range is checked")]
        ValueRef::Real(number) => (number.abs() < 9e18).then_some(number as i64),
        ValueRef::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

/// The value as a count; none when it is negative.
pub fn count(value: ValueRef<'_>) -> Option<u64> {
    integer(value).and_then(|number| u64::try_from(number).ok())
}

/// The value as yes or no: a number that is not 0, or a word. None for NULL and for what is no answer.
pub fn flag(value: ValueRef<'_>) -> Option<bool> {
    if let Some(number) = integer(value) {
        return Some(number != 0);
    }
    let word = text(value, BlobText::Utf8)?.trim().to_lowercase();
    match word.as_str() {
        "true" | "t" | "yes" | "y" | "是" | "\u{1}" => Some(true),
        "false" | "f" | "no" | "n" | "否" | "" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_any_type_is_read_and_nul_is_left_out() {
        assert_eq!(text(ValueRef::Integer(7), BlobText::Utf8).unwrap(), "7");
        assert_eq!(text(ValueRef::Text(b"a\0b\xff"), BlobText::Utf8).unwrap(), "ab\u{fffd}");
        assert_eq!(text(ValueRef::Blob("张三".as_bytes()), BlobText::Utf8).unwrap(), "张三");
        assert_eq!(text(ValueRef::Blob(b"\xd5\xc5\xc8\xfd"), BlobText::Gbk).unwrap(), "张三");
        assert_eq!(text(ValueRef::Blob(b"\x20\x5f\x09\x4e"), BlobText::Utf16le).unwrap(), "张三");
        assert_eq!(filled_text(ValueRef::Text(b"  "), BlobText::Utf8), None);
    }

    #[test]
    fn numbers_and_flags_may_be_text() {
        assert_eq!(integer(ValueRef::Text(b" 12 ")), Some(12));
        assert_eq!(count(ValueRef::Integer(-1)), None);
        assert_eq!(flag(ValueRef::Text(b"0")), Some(false));
        assert_eq!(flag(ValueRef::Text("是".as_bytes())), Some(true));
        assert_eq!(flag(ValueRef::Blob(b"\x01")), Some(true));
        assert_eq!(flag(ValueRef::Null), None);
    }
}
