//! Folding: what people do not tell apart when they search becomes the same text.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// The text as it is compared: compatibility forms are unified (NFKC, so that full-width letters and digits are
/// half-width, and circled or composed forms are plain) and case is folded. Folding folded text changes nothing.
pub fn fold(text: &str) -> Cow<'_, str> {
    let folded = |character: char| fold_case(character).eq([character]);
    let is_folded = if text.is_ascii() {
        !text.bytes().any(|byte| byte.is_ascii_uppercase())
    } else {
        is_nfkc_quick(text.chars()) == IsNormalized::Yes && text.chars().all(folded)
    };
    if is_folded {
        return Cow::Borrowed(text);
    }
    // Folding case can leave letters that compose anew, hence the second normalisation.
    Cow::Owned(text.nfkc().flat_map(fold_case).nfkc().collect())
}

/// How much of a field of a person, group or conversation is searched, in characters: far more than a name has, and the
/// longest query. A field of a megabyte would take a search seconds.
const SEARCHED: usize = 256;

/// The beginning of a field that is searched, folded.
pub fn fold_field(field: &str) -> Cow<'_, str> {
    let end = field.char_indices().nth(SEARCHED).map_or(field.len(), |(end, _)| end);
    fold(&field[..end])
}

/// Whether the text holds the needle at any place, after folding. The needle is already folded.
pub fn text_contains(text: &str, folded_needle: &str) -> bool {
    fold(text).contains(folded_needle)
}

/// One character without its case. `ß` is `ss` and the Greek final sigma is sigma, which lower-casing alone leaves apart.
fn fold_case(character: char) -> impl Iterator<Item = char> {
    let (special, rest) = match character {
        'ß' | 'ẞ' => (Some(['s', 's']), None),
        'ς' => (None, Some('σ')),
        other => (None, Some(other)),
    };
    special.into_iter().flatten().chain(rest.into_iter().flat_map(char::to_lowercase))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn width_case_and_compatibility_forms_are_the_same() {
        for (text, expected) in [
            ("ＡＢＣ１２３", "abc123"),
            ("Zhang San", "zhang san"),
            ("ｶﾀｶﾅ", "カタカナ"),
            ("㈱", "(株)"),
            ("STRASSE", "strasse"),
            ("Straße", "strasse"),
            ("ΟΔΟΣ", "οδοσ"),
            ("οδος", "οδοσ"),
            ("张三", "张三"),
            ("👍🏽", "👍🏽"),
        ] {
            assert_eq!(fold(text), expected);
        }
    }

    #[test]
    fn folded_text_is_not_copied() {
        for text in ["zhangsan 123", "张三。你好", ""] {
            assert!(matches!(fold(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn every_single_character_folds_to_something_that_stays() {
        for character in '\0'..=char::MAX {
            let once = fold(character.encode_utf8(&mut [0; 4])).into_owned();
            assert_eq!(fold(&once), once, "{character:?}");
        }
    }

    #[test]
    fn a_keyword_is_found_whatever_its_width_and_case() {
        assert!(text_contains("请看ＲＦＣ６１２０", &fold("rfc6120")));
        assert!(!text_contains("请看ＲＦＣ６１２０", &fold("rfc6121")));
    }

    proptest! {
        #[test]
        fn folding_twice_is_folding_once(text in any::<String>()) {
            let once = fold(&text).into_owned();
            prop_assert_eq!(fold(&once), once.as_str());
        }
    }
}
