//! Postings of people, groups and conversations, with as few looks into the file as can be.
//!
//! The terms of one text stand side by side in the file, whatever their kind. So one look tells as what a chunk knows a
//! text, and for most of a query's classes that is the answer: nothing.

use std::collections::HashMap;

use super::error::IndexError;
use super::file::{IndexFile, Space};
use super::offsets::Offsets;
use super::terms::{Term, kind_bit, terms_of_same_text};

/// The postings of a space, and which of them one query found to be there.
pub(super) struct Lookup<'a> {
    file: &'a IndexFile,
    space: Space,
    /// By chunk and the first term of a text: a bit for each kind.
    kinds: HashMap<(i64, Term), u32>,
}

impl<'a> Lookup<'a> {
    /// For one query, while the file stays in one state.
    pub fn new(file: &'a IndexFile, space: Space) -> Self {
        Self { file, space, kinds: HashMap::new() }
    }

    /// The documents of a chunk that have all the terms; none when there is no such document.
    pub fn candidates(&mut self, chunk: i64, terms: &[Term]) -> Result<Option<Offsets>, IndexError> {
        for term in terms {
            if !self.is_there(chunk, *term)? {
                return Ok(None);
            }
        }
        self.file.candidates(self.space, chunk, terms)
    }

    fn is_there(&mut self, chunk: i64, term: Term) -> Result<bool, IndexError> {
        let same_text = terms_of_same_text(term);
        let text = (chunk, *same_text.start());
        if !self.kinds.contains_key(&text) {
            let terms = self.file.terms_there(self.space, chunk, &same_text)?;
            self.kinds.insert(text, terms.into_iter().fold(0, |kinds, term| kinds | kind_bit(term)));
        }
        Ok(self.kinds[&text] & kind_bit(term) != 0)
    }
}
