//! Where the elements end that go with their content. One whose end tag never comes goes alone: what follows it is the
//! rest of the mail.

use std::collections::HashMap;

use super::element::{DROPPED_WITH_CONTENT, is_code, is_foreign, is_never_shown, is_raw_text};
use super::entity;
use super::token::{Tag, Token, Tokens};

/// The ends of the dropped elements of one input.
pub(super) struct Dropped {
    /// What remains of the input after the start tag, and after the end tag.
    ends: HashMap<usize, usize>,
}

impl Dropped {
    /// Pairs start and end tags in one pass, so that no input costs more than linear time.
    pub fn find(input: &str) -> Self {
        let mut ends = HashMap::new();
        let mut open = [const { Vec::new() }; DROPPED_WITH_CONTENT.len()];
        let mut tokens = Tokens::new(input);
        while let Some(token) = tokens.next() {
            match token {
                Token::Start(tag) if is_raw_text(tag.name) => {
                    raw_text(&mut tokens, tag.name);
                }
                Token::Start(tag) => {
                    if let Some(kind) = kind(tag.name).filter(|_| !is_empty(&tag)) {
                        open[kind].push(tokens.remaining());
                    }
                }
                Token::End(name) => {
                    if let Some(start) = kind(name).and_then(|kind| open[kind].pop()) {
                        ends.insert(start, tokens.remaining());
                    }
                }
                Token::Text(_) => {}
            }
        }
        Self { ends }
    }

    /// Moves past the content of the element whose start tag was read last, when that goes with the element, and
    /// answers whether a person might have seen text there. `None`: the element has no content that goes.
    pub fn skip(&self, tokens: &mut Tokens, tag: &Tag) -> Option<bool> {
        if is_raw_text(tag.name) {
            let content = raw_text(tokens, tag.name)?;
            // Code without an end may have swallowed the rest of the mail.
            let is_seen = !is_never_shown(tag.name) || (is_code(tag.name) && tokens.remaining() == 0);
            return Some(is_seen && !content.trim().is_empty());
        }
        kind(tag.name)?;
        if is_empty(tag) {
            return Some(false);
        }
        let end = *self.ends.get(&tokens.remaining())?;
        Some(holds_text(tokens.skip_to(end)))
    }
}

fn kind(name: &str) -> Option<usize> {
    DROPPED_WITH_CONTENT.iter().position(|dropped| name.eq_ignore_ascii_case(dropped))
}

fn is_empty(tag: &Tag) -> bool {
    tag.closes_itself && is_foreign(tag.name)
}

/// Moves past raw text and answers it; `None` when it has no end and is to be read as markup.
fn raw_text<'a>(tokens: &mut Tokens<'a>, name: &str) -> Option<&'a str> {
    tokens.skip_raw_text(name).or_else(|| is_code(name).then(|| tokens.skip_to(0)))
}

fn holds_text(content: &str) -> bool {
    let mut tokens = Tokens::new(content);
    while let Some(token) = tokens.next() {
        let text = match token {
            Token::Text(raw) => raw,
            Token::Start(tag) if is_raw_text(tag.name) => match raw_text(&mut tokens, tag.name) {
                Some(text) if !is_never_shown(tag.name) => text,
                _ => continue,
            },
            Token::Start(_) | Token::End(_) => continue,
        };
        if !entity::decode(text).trim().is_empty() {
            return true;
        }
    }
    false
}
