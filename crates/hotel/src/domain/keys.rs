//! The three business keys of an order.

use govern::text::visible;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

/// Keys as they came or as an order has them. They are 1:N: a block code need not be unique in OPERA.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseKeys {
    /// Group or allotment code.
    #[serde(default)]
    pub group_code: Option<String>,
    /// FIT confirmation number.
    #[serde(default)]
    pub confirmation_number: Option<String>,
    /// OPERA reservation number.
    #[serde(default)]
    pub reservation_no: Option<String>,
}

/// Most characters of a key; a longer one is not a key of any hotel system.
pub const MAX_KEY_CHARS: usize = 200;

/// The names of the three keys, in the contract's order.
pub const KEY_NAMES: [&str; 3] = ["group_code", "confirmation_number", "reservation_no"];

impl CaseKeys {
    /// Trimmed and in Unicode NFKC, blank ones removed: the form in which keys are stored and compared.
    #[must_use]
    pub fn normalised(&self) -> Self {
        Self {
            group_code: normalise(self.group_code.as_deref()),
            confirmation_number: normalise(self.confirmation_number.as_deref()),
            reservation_no: normalise(self.reservation_no.as_deref()),
        }
    }

    /// The keys that are there, with their names.
    pub fn present(&self) -> impl Iterator<Item = (&'static str, &str)> {
        KEY_NAMES.into_iter().zip(self.values()).filter_map(|(name, value)| Some((name, value?)))
    }

    /// Whether no key is there.
    pub fn is_empty(&self) -> bool {
        self.present().next().is_none()
    }

    /// The name of a key that is longer than [`MAX_KEY_CHARS`].
    pub fn too_long(&self) -> Option<&'static str> {
        self.present().find(|(_, value)| value.chars().nth(MAX_KEY_CHARS).is_some()).map(|(name, _)| name)
    }

    /// The names of the keys in which both have the same value.
    pub fn matched_by(&self, other: &Self) -> Vec<&'static str> {
        KEY_NAMES
            .into_iter()
            .zip(self.values().into_iter().zip(other.values()))
            .filter(|(_, (own, theirs))| own.is_some() && own == theirs)
            .map(|(name, _)| name)
            .collect()
    }

    fn values(&self) -> [Option<&str>; 3] {
        [self.group_code.as_deref(), self.confirmation_number.as_deref(), self.reservation_no.as_deref()]
    }
}

/// A key as it is stored and compared: in Unicode NFKC, without what cannot be seen, trimmed; none when nothing is left.
pub fn normalise(value: Option<&str>) -> Option<String> {
    let seen: String = visible(value?).text.nfkc().collect();
    // Composing can bring out a filler that was hidden in a compatibility form.
    let key = visible(&seen).text.trim().to_owned();
    (!key.is_empty()).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_width_and_padded_keys_are_the_same_key() {
        let typed = CaseKeys { group_code: Some(" ＧＲ１２\u{3000}".into()), ..CaseKeys::default() };
        assert_eq!(typed.normalised().group_code.as_deref(), Some("GR12"));
    }

    #[test]
    fn a_character_that_cannot_be_seen_tells_no_keys_apart() {
        for hidden in [
            "FW-1\u{200b}",
            "\u{feff}FW-1",
            "FW\u{2060}-1",
            "\u{202e}FW-1\u{202c}",
            "FW-1\u{e0041}",
            "FW-1\u{ad}",
        ] {
            assert_eq!(normalise(Some(hidden)).as_deref(), Some("FW-1"), "{hidden:?}");
        }
        assert_eq!(normalise(Some("\u{200b}\u{ffa0}")), None);
    }

    #[test]
    fn a_blank_key_is_no_key() {
        let blank = CaseKeys { reservation_no: Some(" \u{3000} ".into()), ..CaseKeys::default() };
        assert!(blank.normalised().is_empty());
    }

    #[test]
    fn keys_match_exactly_and_never_by_substring() {
        let own = CaseKeys { group_code: Some("GR1".into()), ..CaseKeys::default() };
        let longer = CaseKeys { group_code: Some("GR12".into()), ..CaseKeys::default() };
        assert!(own.matched_by(&longer).is_empty());
        assert_eq!(own.matched_by(&own.clone()), ["group_code"]);
    }
}
