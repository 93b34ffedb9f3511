//! The names that chat clients give to tables and columns: `words.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::sources::local::profile::Table;

static WORDS: LazyLock<HashMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
    include_str!("words.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(':'))
        .map(|(key, words)| (key, words.split_whitespace().collect()))
        .collect()
});

/// Names of a canonical table, the likelier ones first.
pub(super) fn table_words(table: Table) -> &'static [&'static str] {
    words(table.name())
}

/// Names of a canonical column of a table, the likelier ones first. `left` stands for columns that are set for people
/// who left.
pub(super) fn column_words(table: Table, column: &str) -> &'static [&'static str] {
    words(&format!("{}.{column}", table.name()))
}

/// The contract's type for a client's word, if it is a usual one.
pub(super) fn contract_type(table: Table, word: &str) -> Option<&'static str> {
    let types: &[&str] = match table {
        Table::Messages => &["text", "image", "file", "rich", "notify"],
        _ => &["direct", "group", "system"],
    };
    let called = |name: &&str| words(&format!("{}.type.{name}", table.name())).contains(&word);
    types.iter().copied().find(called)
}

fn words(key: &str) -> &'static [&'static str] {
    WORDS.get(key).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_and_column_has_names() {
        for table in Table::ALL {
            assert!(!table_words(table).is_empty(), "{table:?}");
            // `seq` is the rowid, whatever it is called.
            for column in table.required().iter().chain(table.optional()).filter(|column| **column != "seq") {
                assert!(!column_words(table, column).is_empty(), "{table:?} {column}");
            }
        }
        assert!(!column_words(Table::Contacts, "left").is_empty());
    }
}
