//! How a search compares: texts and queries as rows of words, and what an index must know of a text to find it.
//!
//! Characters are folded one by one: NFKD, lower case, without accents. A script that writes no blanks between words
//! (Chinese, Japanese, Thai and others) gives a word for each character, any other script one for each run of letters
//! and digits. What is neither stands between words and does not count, so that a line break inside a Chinese word
//! hides nothing.
//!
//! A query is phrases that must all be found, each in one field: words that follow one another, the last of which need
//! only begin so. Blanks part phrases, quotes hold one together.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Most characters of a document that are searched; what comes after them is not found.
pub const MAX_CHARS: usize = 100_000;
/// Most characters of a query.
pub const MAX_QUERY_CHARS: usize = 200;
/// A longer run of letters and digits is several words; no index takes words of any length.
const MAX_WORD_CHARS: usize = 40;
/// Most terms that an index is asked for at once; the phrases themselves decide anyway.
const MAX_TERMS: usize = 32;
/// Characters of an excerpt, and of them those before the first mark.
const EXCERPT_CHARS: usize = 160;
const EXCERPT_LEAD: usize = 40;

/// What can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A message of the inbox.
    Mail,
    /// An order.
    Order,
    /// A task.
    Task,
}

/// All of them.
pub const KINDS: [Kind; 3] = [Kind::Mail, Kind::Order, Kind::Task];

/// A text as it is searched.
#[derive(Debug, Clone)]
pub struct Folded {
    /// Each word between blanks: ` 客 人 wang `.
    words: String,
    places: Vec<Place>,
}

/// Where a word comes from.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The blank before it in the folded text.
    at: usize,
    /// Its bytes in the text.
    start: usize,
    end: usize,
}

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Query {
    phrases: Vec<Phrase>,
}

/// Words that follow one another.
#[derive(Debug, Clone)]
struct Phrase {
    /// As it stands in a folded text.
    pattern: String,
    words: Vec<String>,
    /// Whether the last word need only begin so.
    is_open: bool,
}

/// What an index is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    /// Letters and digits only.
    pub text: String,
    /// Whether terms that begin so are meant as well.
    pub is_prefix: bool,
}

/// A piece of a text that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Text.
    pub text: String,
    /// Whether it is what was looked for.
    pub is_marked: bool,
}

/// The fields of one document, of which the first [`MAX_CHARS`] characters count.
pub fn fold_all<'t>(fields: impl Iterator<Item = &'t str>) -> Vec<Folded> {
    let mut budget = MAX_CHARS;
    fields.map(|text| Folded::new(text, &mut budget)).collect()
}

/// The terms by which an index finds a document: each word, but of words that are one character each two and two, and
/// the last of them alone.
pub fn terms(fields: &[Folded]) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    for field in fields {
        let mut words = field.words.split(' ').filter(|word| !word.is_empty()).peekable();
        while let Some(word) = words.next() {
            let next = words.peek().filter(|next| is_one_character(word) && is_one_character(next));
            terms.insert(next.map_or_else(|| word.to_owned(), |next| format!("{word}{next}")));
        }
    }
    terms
}

impl Kind {
    /// The stored word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mail => "MAIL",
            Self::Order => "ORDER",
            Self::Task => "TASK",
        }
    }

    /// Reads the stored word.
    pub fn parse(word: &str) -> Option<Self> {
        KINDS.into_iter().find(|kind| kind.as_str() == word)
    }
}

impl Folded {
    /// A text that is no part of a document.
    fn of(text: &str) -> Self {
        Self::new(text, &mut { MAX_CHARS })
    }

    /// As much of a text as the budget of characters allows, which is then less.
    fn new(text: &str, budget: &mut usize) -> Self {
        let mut folded = Self { words: " ".to_owned(), places: Vec::new() };
        // Characters of the word that is not over yet.
        let mut open = 0;
        for (start, original) in text.char_indices() {
            let end = start + original.len_utf8();
            for character in fold(original) {
                if *budget == 0 {
                    folded.close(&mut open);
                    return folded;
                }
                *budget -= 1;
                let stands_alone = is_dense(character);
                if stands_alone || open == MAX_WORD_CHARS || !is_of_word(character) {
                    folded.close(&mut open);
                }
                if is_of_word(character) {
                    if open == 0 {
                        folded.places.push(Place { at: folded.words.len() - 1, start, end });
                    }
                    folded.words.push(character);
                    open += 1;
                }
                if stands_alone {
                    folded.close(&mut open);
                }
            }
            if let Some(place) = folded.places.last_mut().filter(|_| open > 0) {
                place.end = end;
            }
        }
        folded.close(&mut open);
        folded
    }

    fn close(&mut self, open: &mut usize) {
        if *open > 0 {
            self.words.push(' ');
            *open = 0;
        }
    }

    /// Where the phrase stands in the text.
    fn spans(&self, phrase: &Phrase) -> impl Iterator<Item = (usize, usize)> {
        let last = phrase.words.len() - 1;
        self.words.match_indices(&phrase.pattern).filter_map(move |(at, _)| {
            let first = self.places.binary_search_by_key(&at, |place| place.at).ok()?;
            Some((self.places[first].start, self.places.get(first + last)?.end))
        })
    }
}

impl Query {
    /// Reads what somebody typed; none when there is no letter and no digit in it.
    pub fn parse(text: &str) -> Option<Self> {
        let parts = text.split(['"', '\u{201c}', '\u{201d}', '\u{ff02}']).enumerate();
        let phrases = parts.flat_map(|(number, part)| {
            let is_quoted = number % 2 == 1;
            let phrases: Vec<&str> = if is_quoted { vec![part] } else { part.split_whitespace().collect() };
            phrases.into_iter().filter_map(move |text| Phrase::new(text, is_quoted))
        });
        let phrases: Vec<Phrase> = phrases.collect();
        (!phrases.is_empty()).then_some(Self { phrases })
    }

    /// Whether a document with these fields is meant.
    pub fn matches(&self, fields: &[Folded]) -> bool {
        self.phrases.iter().all(|phrase| fields.iter().any(|field| field.words.contains(&phrase.pattern)))
    }

    /// What every document that is meant has among its [`terms`]; others may have it too.
    pub fn terms(&self) -> Vec<Term> {
        let all: BTreeSet<Term> = self.phrases.iter().flat_map(Phrase::terms).collect();
        all.into_iter().take(MAX_TERMS).collect()
    }

    /// The whole text with the marks.
    pub fn mark(&self, text: &str) -> Vec<Piece> {
        pieces(text, &self.spans(text))
    }

    /// A part of the text around what was looked for; none when nothing of it stands there.
    pub fn excerpt(&self, text: &str) -> Option<Vec<Piece>> {
        let spans = self.spans(text);
        let &(first, _) = spans.first()?;
        let start = text[..first].char_indices().rev().nth(EXCERPT_LEAD - 1).map_or(0, |(at, _)| at);
        let end = text[start..].char_indices().nth(EXCERPT_CHARS).map_or(text.len(), |(at, _)| start + at);
        let inside = |&(from, to): &(usize, usize)| (from < end).then(|| (from - start, to.min(end) - start));
        let spans: Vec<_> = spans.iter().map_while(inside).collect();
        let mut pieces = pieces(&text[start..end], &spans);
        let dots = |text: &str| Piece { text: text.to_owned(), is_marked: false };
        if start > 0 {
            pieces.insert(0, dots("… "));
        }
        if end < text.len() {
            pieces.push(dots(" …"));
        }
        Some(pieces)
    }

    /// Where phrases stand in the text, in order; they may overlap.
    fn spans(&self, text: &str) -> Vec<(usize, usize)> {
        let folded = Folded::of(text);
        let mut spans: Vec<_> = self.phrases.iter().flat_map(|phrase| folded.spans(phrase)).collect();
        spans.sort_unstable();
        spans
    }
}

impl Phrase {
    fn new(text: &str, is_quoted: bool) -> Option<Self> {
        let folded = Folded::of(text);
        let words: Vec<String> = folded.words.split_whitespace().map(str::to_owned).collect();
        let last = words.last()?;
        // One letter begins too many words to be worth a search.
        let is_open = !is_quoted && last.chars().nth(1).is_some();
        let pattern = if is_open { folded.words.trim_end() } else { &folded.words };
        Some(Self { pattern: pattern.to_owned(), words, is_open })
    }

    fn terms(&self) -> Vec<Term> {
        let exact = |text: String| Term { text, is_prefix: false };
        let mut terms = Vec::with_capacity(self.words.len());
        for (place, word) in self.words.iter().enumerate() {
            let (previous, next) =
                (place.checked_sub(1).map(|place| &self.words[place]), self.words.get(place + 1));
            if !is_one_character(word) {
                terms.push(Term { text: word.clone(), is_prefix: next.is_none() && self.is_open });
            } else if let Some(next) = next {
                let pair = if is_one_character(next) { next } else { "" };
                terms.push(exact(format!("{word}{pair}")));
            } else if !previous.is_some_and(|previous| is_one_character(previous)) {
                terms.push(Term { text: word.clone(), is_prefix: true });
            }
        }
        terms
    }
}

/// Whether a word is of a script that writes no blanks.
fn is_one_character(word: &str) -> bool {
    word.starts_with(is_dense)
}

fn fold(character: char) -> impl Iterator<Item = char> {
    // Most characters by far need no table.
    let is_plain = character.is_ascii() || matches!(character, '\u{4e00}'..='\u{9fff}');
    let plain = is_plain.then(|| character.to_ascii_lowercase());
    let other = (!is_plain).then(|| std::iter::once(character).nfkd().flat_map(char::to_lowercase));
    plain.into_iter().chain(other.into_iter().flatten().filter(|folded| !is_accent(*folded)))
}

/// The accents of Latin, Greek and Cyrillic letters; other marks change what a character is.
fn is_accent(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || (!character.is_ascii() && is_combining_mark(character))
}

/// Whether a character is of a script that writes no blanks between words. NFKD takes Hangul apart, into the range that
/// is first here.
fn is_dense(character: char) -> bool {
    let is_listed = matches!(
        character,
        '\u{1100}'..='\u{11ff}' | '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
            | '\u{2e80}'..='\u{312f}' | '\u{31a0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{a4cf}'
            | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
    );
    is_listed && is_of_word(character)
}

fn pieces(text: &str, spans: &[(usize, usize)]) -> Vec<Piece> {
    let (mut pieces, mut done) = (Vec::new(), 0);
    let mut push = |from: usize, to: usize, is_marked| {
        if from < to {
            pieces.push(Piece { text: text[from..to].to_owned(), is_marked });
        }
    };
    for &(from, to) in spans {
        push(done, from, false);
        push(from.max(done), to, true);
        done = done.max(to);
    }
    push(done, text.len(), false);
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn finds(query: &str, text: &str) -> bool {
        Query::parse(query).is_some_and(|query| query.matches(&fold_all([text].into_iter())))
    }

    #[test]
    fn chinese_is_found_by_any_part_of_one_two_or_more_characters_and_across_line_breaks() {
        let text = "请为王芳小姐预\n订 3月12日的大床房。";
        for query in ["王", "王芳", "芳小姐", "预订", "12日的大床房", "大床 王芳", "3月12"]
        {
            assert!(finds(query, text), "{query}");
        }
        for query in ["芳王", "小芳", "大房", "王芳 双床"] {
            assert!(!finds(query, text), "{query}");
        }
    }

    #[test]
    fn latin_words_are_found_by_how_they_begin_in_any_case_and_width_and_without_accents() {
        let text = "Dear Ｍr. Müller, GR-2027/A for wang@sunny.example";
        for query in ["dear", "DEA", "muller", "MÜLL", "ｍｒ", "gr-2027", "2027/a", "sunny", "wang@sunny.ex"]
        {
            assert!(finds(query, text), "{query}");
        }
        for query in ["ear", "uller", "gr-27", "27/a", "wang@unny"] {
            assert!(!finds(query, text), "{query}");
        }
    }

    #[test]
    fn one_letter_and_the_last_word_in_quotes_are_whole_words() {
        assert!(finds("a", "Tower A") && !finds("a", "Tower Alpha"));
        assert!(finds("\"two nights\"", "for two nights.") && !finds("\"two night\"", "for two nights"));
        assert!(!finds("\"nights two\"", "for two nights") && finds("nights two", "for two nights"));
        assert!(finds("“大床房”", "大床房"));
    }

    #[test]
    fn a_query_without_letters_and_digits_is_none() {
        for text in ["", "  ", "\"", "*", "。，", "\u{202e}\u{0}\r\n", "'; --", "\u{301}"] {
            assert!(Query::parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn a_phrase_lies_within_one_field() {
        let query = Query::parse("\"two nights\"").unwrap();
        assert!(!query.matches(&fold_all(["two", "nights"].into_iter())));
        assert!(Query::parse("two nights").unwrap().matches(&fold_all(["nights", "two"].into_iter())));
    }

    #[test]
    fn only_so_many_characters_of_all_fields_together_are_searched() {
        let long = "a ".repeat(MAX_CHARS / 2);
        let fields = fold_all([long.as_str(), "later"].into_iter());
        assert!(!Query::parse("later").unwrap().matches(&fields));
        let fields = fold_all([&long[2..], "later"].into_iter());
        assert!(
            !Query::parse("later").unwrap().matches(&fields) && Query::parse("la").unwrap().matches(&fields)
        );
    }

    #[test]
    fn an_excerpt_is_short_shows_the_first_place_and_marks_whole_words() {
        let text = format!("{}王芳 Wangfu{}", "前".repeat(100), "后".repeat(300));
        let pieces = Query::parse("王芳 wang").unwrap().excerpt(&text).unwrap();
        let marked: Vec<&str> =
            pieces.iter().filter(|piece| piece.is_marked).map(|piece| piece.text.as_str()).collect();
        assert_eq!(marked, ["王芳", "Wangfu"]);
        let shown: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        assert!(shown.starts_with("… 前") && shown.ends_with("后 …"), "{shown}");
        assert_eq!(shown.chars().count(), EXCERPT_CHARS + 4);
        assert_eq!(Query::parse("王芳").unwrap().excerpt("没有"), None);
    }

    #[test]
    fn marks_that_overlap_or_come_from_one_character_do_not_repeat_text() {
        let shown = |query: &str, text: &str| -> String {
            let pieces = Query::parse(query).unwrap().mark(text);
            pieces
                .iter()
                .map(|piece| if piece.is_marked { format!("[{}]", piece.text) } else { piece.text.clone() })
                .collect()
        };
        assert_eq!(shown("大床 床房", "大床房间"), "[大床][房]间");
        assert_eq!(shown("mu\u{308}l", "Mu\u{308}ller"), "[Mu\u{308}ller]");
        assert_eq!(shown("5k", "5㎏"), "[5㎏]");
        assert_eq!(shown("1 2", "½"), "[½]");
    }

    /// Texts and queries of few characters, so that many of them meet.
    fn text(most: usize) -> impl Strategy<Value = String> {
        prop::collection::vec(
            prop::sample::select("王芳大床abA1é가がﾊ ㎏½-\"\n\u{301}\u{3099}".chars().collect::<Vec<_>>()),
            0..most,
        )
        .prop_map(|characters| characters.into_iter().collect())
    }

    proptest! {
        #[test]
        fn the_terms_of_a_query_are_among_those_of_every_text_that_it_matches(text in text(30), query in text(6)) {
            let fields = fold_all([text.as_str()].into_iter());
            if let Some(query) = Query::parse(&query).filter(|query| query.matches(&fields)) {
                let terms = terms(&fields);
                for term in query.terms() {
                    let found = terms.iter().any(|own| *own == term.text || (term.is_prefix && own.starts_with(&term.text)));
                    prop_assert!(found, "{term:?} {terms:?}");
                }
                let excerpt = query.excerpt(&text).unwrap();
                prop_assert!(excerpt.iter().any(|piece| piece.is_marked));
                let whole: String = query.mark(&text).into_iter().map(|piece| piece.text).collect();
                prop_assert_eq!(whole, text);
            }
        }

        #[test]
        fn terms_are_letters_digits_and_marks_of_bounded_length(text in any::<String>()) {
            for term in terms(&fold_all([text.as_str()].into_iter())) {
                prop_assert!(term.chars().all(is_of_word) && term.chars().count() <= MAX_WORD_CHARS, "{term:?}");
            }
        }
    }
}
