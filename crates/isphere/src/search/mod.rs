//! Finding people, groups and text as people expect: folding, pinyin, ranks.
//!
//! [`Query::rank`] is the one place that says what matches and how sure a match is. A source that scans and a source
//! that has an index both ask it, so that they find the same. Of a name, account, department or title, the first 256
//! characters are searched.

mod fold;
pub mod pinyin;
mod rank;

pub use fold::{fold, fold_field, text_contains};
pub use rank::{Class, Fields, Match, Query};
