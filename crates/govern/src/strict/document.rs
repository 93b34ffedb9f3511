//! One walk over a whole JSON document before anything in it is believed.

use std::{borrow::Cow, cell::Cell, collections::HashSet, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_path_to_error::Track;

use crate::arguments::json_path;

/// How many levels of arrays and objects a document may have.
const MAX_DEPTH: u8 = 64;

/// Up to this many keys, comparing each with each is faster than hashing.
const FEW_KEYS: usize = 16;

/// Why a document is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DocumentFault {
    /// Not JSON; the parser's reason with its line and column.
    NotJson(String),
    /// An object has the same key twice.
    DuplicateKey,
    /// More than [`MAX_DEPTH`] levels.
    TooDeep,
    /// JSON with a number beyond all doubles, such as `1e400`; its path.
    NumberTooLarge(String),
}

/// Accepts `text` when it is one JSON document with no duplicate key at any depth, at most 64 levels, and numbers that a
/// double holds.
pub(crate) fn check(text: &str) -> Result<(), DocumentFault> {
    let fault = Cell::new(None);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    Walk { depth: 0, fault: &fault }
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end())
        .map_err(|error| fault.take().unwrap_or_else(|| explain(text, &error)))
}

/// What the parser's error means. It takes a number that is too large for malformed, while JSON has no largest one
/// (RFC 8259, section 6); where the number is, is looked up only then.
fn explain(text: &str, error: &serde_json::Error) -> DocumentFault {
    let reason = error.to_string();
    // The phrase is serde_json's, fixed since 1.0.
    if !reason.starts_with("number out of range") || serde_json::from_str::<IgnoredAny>(text).is_err() {
        return DocumentFault::NotJson(reason);
    }
    let mut track = Track::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let tracked = serde_path_to_error::Deserializer::new(&mut deserializer, &mut track);
    // It fails again where it failed before.
    let _ = Walk { depth: 0, fault: &Cell::new(None) }.deserialize(tracked);
    DocumentFault::NumberTooLarge(json_path(&track.path()))
}

#[derive(Clone, Copy)]
struct Walk<'f> {
    depth: u8,
    fault: &'f Cell<Option<DocumentFault>>,
}

impl Walk<'_> {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            return Err(self.refuse(DocumentFault::TooDeep));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }

    /// Keeps the reason aside, for serde's error can only carry text.
    fn refuse<E: Error>(self, fault: DocumentFault) -> E {
        self.fault.set(Some(fault));
        E::custom("refused")
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let inner = self.deeper()?;
        while items.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let inner = self.deeper()?;
        let mut keys = Keys::default();
        while let Some(Key(key)) = entries.next_key()? {
            if !keys.insert(key) {
                return Err(self.refuse(DocumentFault::DuplicateKey));
            }
            entries.next_value_seed(inner)?;
        }
        Ok(())
    }
}

/// The keys of one object so far.
#[derive(Default)]
struct Keys<'de> {
    few: Vec<Cow<'de, str>>,
    many: HashSet<Cow<'de, str>>,
}

impl<'de> Keys<'de> {
    /// False when the key was there.
    fn insert(&mut self, key: Cow<'de, str>) -> bool {
        if self.few.contains(&key) {
            return false;
        }
        if self.few.len() < FEW_KEYS {
            self.few.push(key);
            return true;
        }
        self.many.insert(key)
    }
}

/// A key that borrows from the document unless it has escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Key<'k>(#[serde(borrow)] Cow<'k, str>);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_duplicate_key_is_found_at_any_depth_and_behind_escapes() {
        assert_eq!(check(r#"{"a":1,"a":2}"#), Err(DocumentFault::DuplicateKey));
        assert_eq!(check(r#"{"x":[{"a":1,"\u0061":2}]}"#), Err(DocumentFault::DuplicateKey));
        assert_eq!(check(r#"{"a":{"a":{"a":1}}}"#), Ok(()));
        let many: Vec<String> = (0..40).map(|key| format!("\"k{key}\":0")).collect();
        assert_eq!(check(&format!("{{{}}}", many.join(","))), Ok(()));
        assert_eq!(check(&format!("{{{},\"k39\":0}}", many.join(","))), Err(DocumentFault::DuplicateKey));
    }

    #[test]
    fn sixty_four_levels_are_accepted_and_no_more() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(check(&nested(64)), Ok(()));
        assert_eq!(check(&nested(65)), Err(DocumentFault::TooDeep));
        assert_eq!(check(&nested(100_000)), Err(DocumentFault::TooDeep));
    }

    #[test]
    fn a_number_that_no_double_holds_is_json_and_told_with_its_path() {
        let digits = "9".repeat(401);
        for number in ["1e400", "-1e400", "1.5E+999999999999", &digits] {
            for (text, path) in [
                (format!(r#"{{"a":[0,{{"b":{number},"c":0}}]}}"#), "$.a[1].b"),
                (format!(r#"{{"a":1,"b":{number}}}"#), "$.b"),
                (number.to_owned(), "$"),
            ] {
                assert_eq!(check(&text), Err(DocumentFault::NumberTooLarge(path.to_owned())), "{text}");
                assert!(matches!(check(&format!("{text}]")), Err(DocumentFault::NotJson(_))), "{text}");
            }
        }
        for text in ["1e308", "-1e-400", "0e400", "123456789012345678901234567890"] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_is_not_json_is_said_to_be_so() {
        for text in ["", "{", "{}x", "{'a':1}", "[1,]", "nul", r#""\ud800""#, "{\"a\":1}{}"] {
            assert!(matches!(check(text), Err(DocumentFault::NotJson(_))), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_passes_parses(text in "[\\[\\]{}\",:a0 \\\\]{0,40}") {
            let accepted = check(&text).is_ok();
            let parsed = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            prop_assert!(!accepted || parsed);
        }
    }
}
