//! Pinyin: the ways in which a Chinese name can be typed on a Latin keyboard.
//!
//! A name is a row of syllables. A Chinese character has all its readings (重庆 is `chongqing` and `zhongqing`), `ü`
//! both as `v` and as `u`. A letter or digit between them reads as itself, so `IT支持` is `itzhichi` and `itzc`.
//! Anything else (spaces, dots, emoji) is silent. Matching walks the readings side by side, so no combination of
//! readings is left out and none is written down.

use std::borrow::Cow;
use std::collections::BTreeSet;

use ::pinyin::ToPinyinMulti;

/// Syllables of a name that are considered; the rest of a longer name is found by its characters only.
pub const MAX_SYLLABLES: usize = 64;

/// Whether syllables are written out or by their first letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// `zhangsan`.
    Full,
    /// `zs`.
    Initials,
}

/// How far a typed text must reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// To the end of the last syllable.
    Exact,
    /// Anywhere, in the middle of a syllable too.
    Prefix,
}

/// The syllables of a name.
#[derive(Clone, Debug)]
pub struct Syllables(Vec<Vec<Cow<'static, str>>>);

impl Syllables {
    /// The syllables of a folded name; none when no Chinese character is in it, for then letters are all there is.
    pub fn of(folded_name: &str) -> Option<Self> {
        let mut has_chinese = false;
        let mut syllables = Vec::new();
        for character in folded_name.chars() {
            if character.is_ascii() {
                if character.is_ascii_alphanumeric() {
                    syllables.push(vec![Cow::Owned(character.to_string())]);
                }
            } else if let Some(readings) = readings(character) {
                has_chinese = true;
                syllables.push(readings);
            }
            if syllables.len() == MAX_SYLLABLES {
                break;
            }
        }
        has_chinese.then_some(Self(syllables))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether the name, from the syllable `start` on, can be typed as `typed` (see [`typed`]).
    pub fn matches(&self, start: usize, spelling: Spelling, reach: Reach, typed: &str) -> bool {
        // How much of the text each way of reading has used up so far.
        let mut used = BTreeSet::from([0]);
        for syllable in &self.0[start..] {
            let mut next = BTreeSet::new();
            for rest in used.iter().map(|used| &typed[*used..]) {
                for reading in syllable.iter().map(|reading| spell(reading, spelling)) {
                    if reach == Reach::Prefix && reading.starts_with(rest) {
                        return true;
                    }
                    if rest.starts_with(reading) {
                        next.insert(typed.len() - rest.len() + reading.len());
                    }
                }
            }
            if next.is_empty() {
                return false;
            }
            used = next;
        }
        used.contains(&typed.len())
    }

    /// All beginnings of at most `letters` letters of what can be typed from the syllable `start` on. Shorter ones only
    /// where the name ends.
    pub fn beginnings(&self, start: usize, spelling: Spelling, letters: usize) -> BTreeSet<String> {
        let mut done = BTreeSet::new();
        let mut open = BTreeSet::from([String::new()]);
        for syllable in &self.0[start..] {
            let mut next = BTreeSet::new();
            for beginning in &open {
                for reading in syllable {
                    let mut longer = format!("{beginning}{}", spell(reading, spelling));
                    if longer.len() < letters {
                        next.insert(longer);
                    } else {
                        longer.truncate(letters);
                        done.insert(longer);
                    }
                }
            }
            open = next;
        }
        done.extend(open);
        done
    }

    /// All runs of `letters` letters in what can be typed, where `^` stands before the first and `$` after
    /// the last letter.
    pub fn grams(&self, spelling: Spelling, letters: usize) -> BTreeSet<String> {
        let mut grams = BTreeSet::new();
        // The last letters before this syllable, one less than a gram has, for each way of reading.
        let mut before = BTreeSet::from(["^".to_owned()]);
        let end = [Cow::Borrowed("$")];
        for syllable in self.0.iter().map(Vec::as_slice).chain([&end[..]]) {
            let mut next = BTreeSet::new();
            for (head, reading) in
                before.iter().flat_map(|head| syllable.iter().map(move |reading| (head, reading)))
            {
                let text = format!("{head}{}", spell(reading, spelling));
                for first in 0..(text.len() + 1).saturating_sub(letters) {
                    grams.insert(text[first..first + letters].to_owned());
                }
                next.insert(text[text.len().saturating_sub(letters - 1)..].to_owned());
            }
            before = next;
        }
        grams
    }
}

/// What was typed, if it can be pinyin: letters and digits with at least one letter; spaces, apostrophes and hyphens
/// between syllables are left out and `ü` is `v`.
pub fn typed(folded_query: &str) -> Option<String> {
    let mut typed = String::with_capacity(folded_query.len());
    for character in folded_query.chars() {
        match character {
            ' ' | '\'' | '’' | '-' => {}
            'ü' => typed.push('v'),
            _ if character.is_ascii_alphanumeric() => typed.push(character),
            _ => return None,
        }
    }
    typed.bytes().any(|byte| byte.is_ascii_lowercase()).then_some(typed)
}

fn spell(reading: &str, spelling: Spelling) -> &str {
    match spelling {
        Spelling::Full => reading,
        Spelling::Initials => &reading[..1],
    }
}

/// The readings of a Chinese character without tones, each once.
fn readings(character: char) -> Option<Vec<Cow<'static, str>>> {
    let mut readings: Vec<Cow<'static, str>> = Vec::new();
    let mut add = |reading: Cow<'static, str>| {
        if !reading.is_empty()
            && reading.bytes().all(|byte| byte.is_ascii_lowercase())
            && !readings.contains(&reading)
        {
            readings.push(reading);
        }
    };
    for reading in character.to_pinyin_multi()? {
        let plain = reading.plain();
        if plain.contains('ü') {
            add(Cow::Owned(plain.replace('ü', "v")));
            add(Cow::Owned(plain.replace('ü', "u")));
        } else {
            add(Cow::Borrowed(plain));
        }
    }
    (!readings.is_empty()).then_some(readings)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(name: &str, spelling: Spelling, reach: Reach, text: &str) -> bool {
        Syllables::of(name).unwrap().matches(0, spelling, reach, text)
    }

    #[test]
    fn a_heteronym_matches_by_each_of_its_readings() {
        for (name, texts) in [
            ("重庆", &["chongqing", "zhongqing"][..]),
            ("单雄", &["shanxiong", "danxiong"]),
            ("曾国", &["zengguo", "cengguo"]),
            ("吕布", &["lvbu", "lubu"]),
        ] {
            for text in texts {
                assert!(matches(name, Spelling::Full, Reach::Exact, text), "{name} {text}");
            }
        }
        assert!(matches("重庆", Spelling::Initials, Reach::Exact, "cq"));
        assert!(matches("重庆", Spelling::Initials, Reach::Exact, "zq"));
    }

    #[test]
    fn many_heteronyms_in_one_name_lose_no_reading() {
        let name = "重单曾乐行长朝重单曾乐行长朝";
        assert!(matches(
            name,
            Spelling::Full,
            Reach::Exact,
            "zhongdancengyuehangchangzhaochongshanzenglexingzhangchao"
        ));
    }

    #[test]
    fn letters_between_characters_read_as_themselves() {
        assert!(matches("it支持-2组", Spelling::Full, Reach::Exact, "itzhichi2zu"));
        assert!(matches("it支持-2组", Spelling::Initials, Reach::Exact, "itzc2z"));
        assert!(Syllables::of("plain latin").is_none());
    }

    #[test]
    fn a_prefix_may_end_within_a_syllable_and_an_exact_match_may_not() {
        assert!(matches("张三", Spelling::Full, Reach::Prefix, "zhangs"));
        assert!(!matches("张三", Spelling::Full, Reach::Exact, "zhangs"));
        assert!(!matches("张三", Spelling::Full, Reach::Prefix, "zhangsanx"));
    }

    #[test]
    fn what_is_typed_may_have_separators_but_no_other_signs() {
        assert_eq!(typed("xi'an").as_deref(), Some("xian"));
        assert_eq!(typed("zhang san").as_deref(), Some("zhangsan"));
        assert_eq!(typed("nü").as_deref(), Some("nv"));
        assert_eq!(typed("张san"), None);
        assert_eq!(typed("123"), None);
    }

    #[test]
    fn no_character_has_more_readings_than_the_index_can_take() {
        let most =
            ('\u{3400}'..='\u{9fff}').filter_map(readings).map(|readings| readings.len()).max().unwrap();
        assert!((2..=12).contains(&most), "{most}");
    }

    proptest! {
        /// The index looks a name up by these, so none may be missing.
        #[test]
        fn beginnings_and_grams_cover_each_way_to_type_a_name(
            name in "[张重单曾乐行长吕a1 ]{1,6}", choices in proptest::collection::vec(0_usize..8, 6),
        ) {
            let Some(syllables) = Syllables::of(&name) else { return Ok(()) };
            let text: String = syllables.0.iter().zip(choices)
                .map(|(readings, choice)| readings[choice % readings.len()].as_ref()).collect();
            prop_assert!(syllables.matches(0, Spelling::Full, Reach::Exact, &text));
            let beginnings = syllables.beginnings(0, Spelling::Full, 4);
            prop_assert!(beginnings.contains(&text[..text.len().min(4)]));
            let grams = syllables.grams(Spelling::Full, 4);
            let anchored = format!("^{text}$");
            for first in 0..(anchored.len() + 1).saturating_sub(4) {
                prop_assert!(grams.contains(&anchored[first..first + 4]), "{}", &anchored[first..first + 4]);
            }
        }
    }
}
