//! Text that a person would not see, and therefore an agent must not read.
//!
//! Invisible characters carry instructions past a human reader, or make two different strings look the same.
//! Everything that reaches a model passes through [`visible`].

use std::borrow::Cow;

/// Text without the characters that hide something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visible<'a> {
    /// The text, borrowed when nothing had to go.
    pub text: Cow<'a, str>,
    /// Whether a character that can hide text was removed. Control characters go too, but hide nothing.
    pub removed: bool,
}

/// Removes zero-width characters, bidirectional controls, tag characters and control characters.
///
/// Kept because writing needs them: `\n`, `\t`, variation selectors after a character, U+200D between emoji,
/// U+200C and U+200D between letters of a script that joins, and the bidirectional marks in text that holds
/// right-to-left letters. Applying it twice changes nothing more.
pub fn visible(text: &str) -> Visible<'_> {
    if !text.chars().any(is_suspect) {
        return Visible { text: Cow::Borrowed(text), removed: false };
    }
    let right_to_left = text.chars().any(is_right_to_left);
    let mut kept = String::with_capacity(text.len());
    let mut removed = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let before = kept.chars().next_back();
        if !is_suspect(character) || is_needed(character, before, characters.peek().copied(), right_to_left) {
            kept.push(character);
        } else {
            removed |= !character.is_control();
        }
    }
    Visible { text: Cow::Owned(kept), removed }
}

/// Whether a character may hide or reorder what stands beside it, or steer a terminal. Line breaks and tabs do not.
pub fn may_hide(character: char) -> bool {
    is_suspect(character)
}

/// A character that is removed unless [`is_needed`] finds a reason for it.
fn is_suspect(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{00AD}' // soft hyphen
        | '\u{034F}' // combining grapheme joiner
        | '\u{061C}' // Arabic letter mark
        | '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' // Hangul fillers
        | '\u{17B4}' | '\u{17B5}' // Khmer inherent vowels
        | '\u{180B}'..='\u{180F}' // Mongolian selectors and separator
        | '\u{200B}'..='\u{200F}' // zero-width space, joiners, direction marks
        | '\u{202A}'..='\u{202E}' // bidirectional embeddings and overrides
        | '\u{2060}'..='\u{206F}' // word joiner, invisible operators, isolates
        | '\u{FE00}'..='\u{FE0F}' // variation selectors
        | '\u{FEFF}' // byte order mark
        | '\u{FFF9}'..='\u{FFFB}' // interlinear annotation
        | '\u{1D173}'..='\u{1D17A}' // musical format characters
        | '\u{E0000}'..='\u{E0FFF}' => true, // tags, supplementary variation selectors
        other => other.is_control(),
    }
}

fn is_needed(character: char, before: Option<char>, after: Option<char>, right_to_left: bool) -> bool {
    let between = |wanted: fn(char) -> bool| before.is_some_and(wanted) && after.is_some_and(wanted);
    match character {
        // One selector alters the character before it; a run of them carries hidden bytes.
        '\u{FE00}'..='\u{FE0F}' | '\u{180B}'..='\u{180D}' | '\u{180F}' | '\u{E0100}'..='\u{E01EF}' => {
            before.is_some_and(|before| !is_suspect(before) && !before.is_whitespace())
        }
        // A selector may stand before a joiner, but one after it has no character of its own and will go.
        '\u{200D}' => (between(is_emoji) && after != Some('\u{FE0F}')) || between(is_joining),
        '\u{200C}' => between(is_joining),
        '\u{200E}' | '\u{200F}' | '\u{061C}' => right_to_left,
        _ => false,
    }
}

fn is_right_to_left(character: char) -> bool {
    matches!(character,
        '\u{0590}'..='\u{061B}' | '\u{061D}'..='\u{08FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}'
        | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}')
}

/// Scripts whose letters change shape with their neighbours: Arabic and its relatives, the Indic scripts, Mongolian.
fn is_joining(character: char) -> bool {
    matches!(character, '\u{0600}'..='\u{061B}' | '\u{061D}'..='\u{0DFF}' | '\u{0E80}'..='\u{109F}' | '\u{1780}'..='\u{17B3}'
        | '\u{17B6}'..='\u{180A}' | '\u{1810}'..='\u{18AF}' | '\u{A840}'..='\u{A8FF}' | '\u{FB50}'..='\u{FDFF}'
        | '\u{FE70}'..='\u{FEFC}' | '\u{11000}'..='\u{11FFF}')
}

/// Emoji, skin tones and the variation selector that may stand before a joiner.
fn is_emoji(character: char) -> bool {
    matches!(character, '\u{FE0F}' | '\u{200D}' | '\u{2190}'..='\u{21FF}' | '\u{2300}'..='\u{23FF}' | '\u{2600}'..='\u{27BF}'
        | '\u{2B00}'..='\u{2BFF}' | '\u{1F000}'..='\u{1FAFF}')
        && character != '\u{200D}'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cleaned(text: &str) -> (String, bool) {
        let visible = visible(text);
        (visible.text.into_owned(), visible.removed)
    }

    #[test]
    fn ordinary_text_is_borrowed_unchanged() {
        let text = "Dear team,\n\t请确认 2 间房。";
        assert!(matches!(visible(text).text, Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn zero_width_bidi_and_tag_characters_go() {
        assert_eq!(
            cleaned("pay\u{200B}pal \u{202E}txt\u{202C} \u{E0041}\u{FEFF}x"),
            ("paypal txt x".to_owned(), true)
        );
    }

    #[test]
    fn control_characters_go_without_counting_as_hidden() {
        assert_eq!(cleaned("a\0b\u{7}c\u{85}\n"), ("abc\n".to_owned(), false));
    }

    #[test]
    fn a_family_emoji_stays_whole() {
        let family = "👨\u{200D}👩\u{200D}👧 ❤\u{FE0F}\u{200D}🔥";
        assert_eq!(cleaned(family), (family.to_owned(), false));
    }

    #[test]
    fn a_joiner_between_latin_letters_goes() {
        assert_eq!(cleaned("ad\u{200D}min"), ("admin".to_owned(), true));
    }

    #[test]
    fn persian_and_hindi_keep_their_joiners() {
        for text in ["می\u{200C}خواهم", "क्\u{200D}ष"] {
            assert_eq!(cleaned(text), (text.to_owned(), false));
        }
    }

    #[test]
    fn direction_marks_stay_only_beside_right_to_left_letters() {
        assert_eq!(cleaned("שלום\u{200F}!"), ("שלום\u{200F}!".to_owned(), false));
        assert_eq!(cleaned("hello\u{200F}!"), ("hello!".to_owned(), true));
    }

    #[test]
    fn a_run_of_variation_selectors_carries_no_bytes() {
        assert_eq!(cleaned("☀\u{FE0F}\u{FE00}\u{FE01}\u{E0101}"), ("☀\u{FE0F}".to_owned(), true));
    }

    proptest! {
        #[test]
        fn cleaning_twice_changes_nothing_more(text in "\\PC*|[\u{200B}-\u{200F}a👩\u{FE0F}م\u{202E} ]*") {
            let once = cleaned(&text).0;
            prop_assert_eq!(cleaned(&once), (once, false));
        }
    }
}
