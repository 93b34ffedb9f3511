//! Terms: what a document is found by. A term is a kind and a short text in one number.
//!
//! Fields have their whole text, their first 1 to 8 characters, and the runs of 1, 2 and 3 characters at any place.
//! Pinyin and initials have their first letters, the whole when it is short, and runs of 4 letters with `^` and `$` at
//! the ends. So one term answers the short queries, which have many hits, and a few terms together leave little to
//! verify for the long ones.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::search::pinyin::{Spelling, Syllables};
use crate::search::{Class, Fields, Query, fold, fold_field};

/// What the text of a term is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Documents that are found on request only.
    Inactive,
    /// A run of characters of a message.
    Text,
    /// The conversation a message is in.
    Conversation,
    /// The type of that conversation.
    ConversationType,
    Name,
    NamePrefix,
    NamePart,
    Account,
    AccountPrefix,
    AccountPart,
    Department,
    DepartmentPrefix,
    DepartmentPart,
    Title,
    TitlePrefix,
    TitlePart,
    Pinyin,
    PinyinPrefix,
    PinyinPart,
    PinyinGram,
    Initials,
    InitialsPrefix,
    InitialsGram,
}

/// A kind and a text in 63 bits. Texts of one and two characters are kept as they are, longer ones hashed to 58
/// bits; a collision is taken out when the candidate is verified.
pub type Term = i64;

const KIND_BITS: u32 = 5;
const CHARACTER_BITS: u32 = 21;

/// Runs of three characters share this many terms, so that a chunk of messages has no more of them, whatever is
/// written. With the runs of two they leave few candidates that do not match.
const TEXT_BUCKETS: u64 = 1 << 14;

/// The longest run of characters that has a term.
const GRAM: usize = 3;
/// The longest beginning of a field that has a term.
const PREFIX: usize = 8;
/// The longest beginning of a name's pinyin that has a term; what is shorter as a whole has one as a whole.
const PINYIN_PREFIX: usize = 12;
/// The same for initials.
const INITIALS_PREFIX: usize = 4;
/// The longest beginning of the pinyin from a later syllable that has a term.
const PINYIN_PART: usize = 3;
/// The length of runs of letters.
const PINYIN_GRAM: usize = 4;

/// The term of this kind and text.
pub fn term(kind: Kind, text: &str) -> Term {
    let mut characters = text.chars();
    let value = match (characters.next(), characters.next(), characters.next()) {
        (first, second, None) => {
            let number = |character: Option<char>| character.map_or(0, u64::from);
            number(first) << CHARACTER_BITS | number(second)
        }
        _ if kind == Kind::Text => (hash(text) % TEXT_BUCKETS) << (2 * CHARACTER_BITS),
        _ => hash(text) >> 6,
    };
    (value << KIND_BITS | kind as u64).cast_signed()
}

/// The terms of the same text, of all kinds.
pub fn terms_of_same_text(term: Term) -> RangeInclusive<Term> {
    let kinds = (1 << KIND_BITS) - 1;
    term & !kinds..=term | kinds
}

/// One bit for the kind of a term.
pub fn kind_bit(term: Term) -> u32 {
    1 << (term & ((1 << KIND_BITS) - 1))
}

/// FNV-1a, then mixed so that all bits count.
fn hash(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
}

/// The terms of a message's text, some more than once.
pub fn message_terms(folded_text: &str, mut add: impl FnMut(Term)) {
    for length in 1..=GRAM {
        grams(folded_text, length).for_each(|gram| add(term(Kind::Text, gram)));
    }
}

/// The terms that a message with this keyword has, those of the longest runs first: they leave the fewest candidates.
pub fn keyword_terms(folded_keyword: &str) -> Vec<Term> {
    let length = folded_keyword.chars().count().min(GRAM);
    let mut terms: BTreeSet<Term> =
        grams(folded_keyword, length).map(|gram| term(Kind::Text, gram)).collect();
    if length == GRAM {
        terms.extend(grams(folded_keyword, GRAM - 1).map(|gram| term(Kind::Text, gram)));
    }
    terms.into_iter().rev().collect()
}

/// The terms of a person, group or conversation, some more than once.
pub fn entry_terms(fields: &Fields<'_>, active: bool, mut add: impl FnMut(Term)) {
    let name = fold_field(fields.name);
    if !active {
        add(term(Kind::Inactive, ""));
    }
    add(term(Kind::Account, &fold(fields.id)));
    let mut field = |text: &str, whole, prefix, part| {
        add(term(whole, text));
        (1..=PREFIX).filter_map(|length| grams(text, length).next()).for_each(|gram| add(term(prefix, gram)));
        for length in 1..=GRAM {
            grams(text, length).for_each(|gram| add(term(part, gram)));
        }
    };
    field(&name, Kind::Name, Kind::NamePrefix, Kind::NamePart);
    if let Some(account) = fields.account {
        field(&fold_field(account), Kind::Account, Kind::AccountPrefix, Kind::AccountPart);
    }
    if let Some(department) = fields.department {
        field(&fold_field(department), Kind::Department, Kind::DepartmentPrefix, Kind::DepartmentPart);
    }
    if let Some(title) = fields.title {
        field(&fold_field(title), Kind::Title, Kind::TitlePrefix, Kind::TitlePart);
    }
    let Some(syllables) = Syllables::of(&name) else { return };
    let mut beginnings = |start, spelling, letters, whole: Option<Kind>, prefix| {
        for beginning in syllables.beginnings(start, spelling, letters) {
            if let Some(whole) = whole.filter(|_| beginning.len() < letters) {
                add(term(whole, &beginning));
            }
            (1..=beginning.len()).for_each(|length| add(term(prefix, &beginning[..length])));
        }
    };
    beginnings(0, Spelling::Full, PINYIN_PREFIX, Some(Kind::Pinyin), Kind::PinyinPrefix);
    beginnings(0, Spelling::Initials, INITIALS_PREFIX, Some(Kind::Initials), Kind::InitialsPrefix);
    for start in 1..syllables.count() {
        beginnings(start, Spelling::Full, PINYIN_PART, None, Kind::PinyinPart);
    }
    for (spelling, kind) in [(Spelling::Full, Kind::PinyinGram), (Spelling::Initials, Kind::InitialsGram)] {
        syllables.grams(spelling, PINYIN_GRAM).iter().for_each(|gram| add(term(kind, gram)));
    }
}

/// How the documents of a class are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The documents that have all of these terms hold all that match.
    pub terms: Vec<Term>,
    /// They all match by this class or by a better one.
    pub exact: bool,
}

/// The plan for a class of a query; none when nothing can match.
pub fn plan(class: Class, query: &Query) -> Option<Plan> {
    let text = query.folded();
    Some(match class {
        Class::Name => whole(Kind::Name, text),
        Class::Account => whole(Kind::Account, text),
        Class::NamePrefix => prefix((Kind::NamePrefix, PREFIX), (Kind::NamePart, GRAM), text),
        Class::AccountPrefix => prefix((Kind::AccountPrefix, PREFIX), (Kind::AccountPart, GRAM), text),
        Class::NamePart => part(Kind::NamePart, text),
        Class::AccountPart => part(Kind::AccountPart, text),
        Class::Department => whole(Kind::Department, text),
        Class::DepartmentPrefix => {
            prefix((Kind::DepartmentPrefix, PREFIX), (Kind::DepartmentPart, GRAM), text)
        }
        Class::DepartmentPart => part(Kind::DepartmentPart, text),
        Class::Title => whole(Kind::Title, text),
        Class::TitlePrefix => prefix((Kind::TitlePrefix, PREFIX), (Kind::TitlePart, GRAM), text),
        Class::TitlePart => part(Kind::TitlePart, text),
        Class::Pinyin => typed_whole((Kind::Pinyin, PINYIN_PREFIX), Kind::PinyinGram, query.typed()?),
        Class::Initials => typed_whole((Kind::Initials, INITIALS_PREFIX), Kind::InitialsGram, query.typed()?),
        Class::PinyinPrefix => {
            typed_prefix((Kind::PinyinPrefix, PINYIN_PREFIX), Kind::PinyinGram, query.typed()?)
        }
        Class::InitialsPrefix => {
            typed_prefix((Kind::InitialsPrefix, INITIALS_PREFIX), Kind::InitialsGram, query.typed()?)
        }
        Class::PinyinPart => {
            prefix((Kind::PinyinPart, PINYIN_PART), (Kind::PinyinGram, PINYIN_GRAM), query.typed()?)
        }
    })
}

fn whole(kind: Kind, text: &str) -> Plan {
    Plan { terms: vec![term(kind, text)], exact: true }
}

fn prefix((kind, longest): (Kind, usize), (part, part_length): (Kind, usize), text: &str) -> Plan {
    let Some(first) = grams(text, longest).next().filter(|first| first.len() < text.len()) else {
        return whole(kind, text);
    };
    let mut terms = vec![term(kind, first)];
    terms.extend(grams(text, part_length).map(|gram| term(part, gram)));
    Plan { terms, exact: false }
}

fn part(kind: Kind, text: &str) -> Plan {
    let length = text.chars().count();
    Plan {
        terms: grams(text, length.min(GRAM)).map(|gram| term(kind, gram)).collect(),
        exact: length <= GRAM,
    }
}

fn typed_whole((kind, longest): (Kind, usize), part: Kind, typed: &str) -> Plan {
    if typed.len() < longest { whole(kind, typed) } else { anchored(part, &format!("^{typed}$")) }
}

fn typed_prefix((kind, longest): (Kind, usize), part: Kind, typed: &str) -> Plan {
    if typed.len() <= longest { whole(kind, typed) } else { anchored(part, &format!("^{typed}")) }
}

fn anchored(kind: Kind, text: &str) -> Plan {
    Plan { terms: grams(text, PINYIN_GRAM).map(|gram| term(kind, gram)).collect(), exact: false }
}

/// The runs of `length` characters, in the order in which they come.
fn grams(text: &str, length: usize) -> impl Iterator<Item = &str> {
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]).skip(length.max(1));
    text.char_indices().zip(ends).map(|((start, _), end)| &text[start..end])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn runs_of_characters_are_all_there() {
        assert_eq!(grams("张三丰a", 2).collect::<Vec<_>>(), ["张三", "三丰", "丰a"]);
        assert_eq!(grams("张", 2).count(), 0);
    }

    #[test]
    fn terms_of_other_kinds_and_texts_are_other_terms() {
        let texts = ["", "a", "b", "ab", "ba", "abc", "张", "张三", "张三丰"];
        let terms: BTreeSet<Term> =
            texts.iter().flat_map(|text| [term(Kind::Name, text), term(Kind::Text, text)]).collect();
        assert_eq!(terms.len(), 2 * texts.len());
    }

    #[test]
    fn the_terms_of_a_text_are_those_of_its_kinds() {
        for text in ["", "a", "张三", "张三丰"] {
            let (first, last) = (term(Kind::Inactive, text), term(Kind::InitialsGram, text));
            assert!(terms_of_same_text(last).contains(&first));
            assert_ne!(kind_bit(first), kind_bit(last));
            assert!(!terms_of_same_text(first).contains(&term(Kind::Name, "李四")));
        }
    }

    proptest! {
        /// Without this the index would not find what the scan finds.
        #[test]
        fn an_entry_has_all_terms_of_the_plan_for_the_class_it_matches_by(
            name in "[张三重庆单曾a1 .]{0,6}", account in "[zhangsq1.]{0,6}", department in "[研发部a/]{0,5}",
            query in "[张三重庆单曾zhcqsandge1./研发部]{1,6}",
        ) {
            let fields = Fields {
                id: "u1", name: &name, account: Some(&account), department: Some(&department), title: Some(&department),
            };
            let query = Query::new(&query);
            let mut terms = BTreeSet::new();
            entry_terms(&fields, true, |term| { terms.insert(term); });
            let found = query.rank(&fields).map(|found| found.class);
            for class in Class::ALL {
                let has_all = plan(class, &query)
                    .is_some_and(|plan| plan.terms.iter().all(|term| terms.contains(term)));
                let is_exact = plan(class, &query).is_some_and(|plan| plan.exact);
                if found == Some(class as u8) {
                    prop_assert!(has_all, "{class:?} is not found");
                }
                if has_all && is_exact {
                    prop_assert!(found.is_some_and(|found| found <= class as u8), "{class:?} is not exact");
                }
            }
        }

        #[test]
        fn a_message_has_all_terms_of_any_keyword_in_it(text in "[张三你好a1 ]{1,12}", from in 0_usize..12, length in 1_usize..8) {
            let characters: Vec<char> = text.chars().collect();
            let from = from % characters.len();
            let keyword: String = characters[from..(from + length).min(characters.len())].iter().collect();
            let mut terms = BTreeSet::new();
            message_terms(&text, |term| { terms.insert(term); });
            prop_assert!(keyword_terms(&keyword).iter().all(|term| terms.contains(term)));
        }
    }
}
