//! Proposing a profile: the canonical tables and columns are recognised by their names, and by what the values are.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::conversations;
use super::words::{column_words, contract_type, table_words};
use super::{InspectedColumn, InspectedTable, Inspection};
use crate::sources::local::profile::Table;
use crate::sources::local::projection::quoted;
use crate::sources::local::value::BlobText;

/// A profile for what was found, in TOML, with comments that say which tables, columns and counts there are, what was
/// guessed and what is missing. It loads when contacts or messages were recognised; the operator is meant to read it
/// before use.
pub fn propose(inspection: &Inspection) -> String {
    let choices = choose(inspection);
    let mut profile = String::from(
        "# Proposed by `countersign isphere inspect`: a guess by names and values. Read it before use.\n\
         # timezone = \"+08:00\"   # of written times without an offset\n",
    );
    let is_read = |table: &&InspectedTable| choices.values().any(|choice| std::ptr::eq(choice.table, *table));
    let (read, not_read): (Vec<_>, Vec<_>) = inspection.tables.iter().partition(is_read);
    for (heading, tables) in [
        ("Tables that are read, the number of their rows, and their columns with what they hold", read),
        (
            "Tables that were not recognised, and are not read; what is missing below may be in one of them",
            not_read,
        ),
    ] {
        if !tables.is_empty() {
            let _ = writeln!(profile, "#\n# {heading}:");
        }
        for table in tables {
            let _ = writeln!(profile, "{}", overview(table));
        }
    }
    if inspection.tables.is_empty() {
        profile.push_str("#\n# The store has no tables.\n");
    }
    for table in Table::ALL {
        let _ = writeln!(profile);
        match choices.get(&table) {
            Some(choice) => profile.push_str(&choice.section(table, &choices)),
            None => profile.push_str(&without(table, &choices)),
        }
    }
    profile
}

/// A table in one line of comment, whatever its names hold.
fn overview(table: &InspectedTable) -> String {
    let columns = table.columns.iter().map(|column| {
        let unit = column.time.map_or_else(String::new, |unit| format!(", perhaps {}", unit.as_str()));
        format!("{} ({}{unit})", column.name.escape_debug(), column.holds)
    });
    let several = match table.parts.len() {
        0 => String::new(),
        count => format!("{count} tables, "),
    };
    let columns: Vec<String> = columns.collect();
    let rows = if table.rows == 1 { "row" } else { "rows" };
    format!("# - {}: {several}{} {rows}; {}", table.name.escape_debug(), table.rows, columns.join(", "))
}

/// What was recognised.
pub(super) type Choices<'a> = BTreeMap<Table, Choice<'a>>;

/// A table that was recognised, and its columns by their canonical names.
pub(super) struct Choice<'a> {
    pub table: &'a InspectedTable,
    columns: BTreeMap<&'static str, &'a InspectedColumn>,
    score: usize,
}

/// Each canonical table gets the table that fits it best; the best fits choose first.
fn choose(inspection: &Inspection) -> Choices<'_> {
    let mut fits: Vec<(Table, Choice<'_>)> = inspection
        .tables
        .iter()
        .flat_map(|table| {
            Table::ALL.into_iter().filter_map(move |canonical| Some((canonical, fit(canonical, table)?)))
        })
        .collect();
    fits.sort_by_key(|(_, choice)| std::cmp::Reverse(choice.score));
    let mut choices: Choices<'_> = BTreeMap::new();
    for (canonical, choice) in fits {
        let taken = choices.values().any(|other| std::ptr::eq(other.table, choice.table));
        if !taken && !choices.contains_key(&canonical) {
            choices.insert(canonical, choice);
        }
    }
    choices
}

/// How well a table fits; none when a column that must be there is not.
fn fit(canonical: Table, table: &InspectedTable) -> Option<Choice<'_>> {
    let splittable = matches!(canonical, Table::Messages | Table::Files);
    // Names that would need escapes in TOML are nobody's.
    let plain = |name: &str| !name.contains(|letter: char| letter == '\'' || letter.is_control());
    let writable = plain(&table.name) && table.columns.iter().all(|column| plain(&column.name));
    if (!table.parts.is_empty() && !splittable) || !writable {
        return None;
    }
    let mut columns: BTreeMap<&'static str, &InspectedColumn> = BTreeMap::new();
    for column in canonical.required().iter().chain(canonical.optional()) {
        let found = column_words(canonical, column).iter().find_map(|word| {
            table.columns.iter().find(|candidate| {
                let free = !columns.values().any(|taken| taken.name == candidate.name);
                free && is_named(canonical, &candidate.name, word) && can_be(canonical, column, candidate)
            })
        });
        if let Some(found) = found {
            columns.insert(column, found);
        }
    }
    let numbered = splittable && table.has_rowid;
    let complete = canonical
        .required()
        .iter()
        .all(|column| columns.contains_key(column) || (*column == "id" && numbered));
    let named = name_score(canonical, &table.name);
    let fits = complete && (named > 0 || columns.len() >= 4);
    fits.then(|| Choice { table, score: named + 5 * columns.len() + usize::from(table.rows > 0), columns })
}

/// Whether a column has this name, perhaps with one of its table, or a letter, before it: `user_name`, `f_name`.
fn is_named(canonical: Table, name: &str, word: &str) -> bool {
    let rest = name.split_once('_').filter(|(prefix, _)| {
        let prefix = bare(prefix);
        prefix.chars().count() == 1 || table_words(canonical).contains(&prefix.as_str())
    });
    bare(name) == word || rest.is_some_and(|(_, rest)| bare(rest) == word)
}

/// Whether the values of a column can be what the name says.
fn can_be(canonical: Table, column: &str, candidate: &InspectedColumn) -> bool {
    if canonical.times().contains(&column) {
        return candidate.time.is_some();
    }
    match column {
        "text" => matches!(candidate.holds, "text" | "null") || candidate.blob_text.is_some(),
        "active" | "archived" | "deleted" | "size" | "member_count" => candidate.holds != "blob",
        _ => true,
    }
}

fn name_score(canonical: Table, name: &str) -> usize {
    let name = bare(name.trim_end_matches("[0-9]*"));
    let names =
        ["", "t", "tb", "tbl", "tab", "im", "app"].map(|prefix| name.strip_prefix(prefix).unwrap_or(&name));
    let words = table_words(canonical);
    if words.iter().any(|word| names.contains(word)) {
        return 100;
    }
    // The longer the word, the less likely by chance: `groupmember` is a member before it is a group.
    words
        .iter()
        .filter(|word| name.contains(*word))
        .map(|word| 20 + word.chars().count().min(20))
        .max()
        .unwrap_or(0)
}

/// A name as it is compared.
fn bare(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// What is said of a canonical table that no table fits.
fn without(table: Table, choices: &Choices<'_>) -> String {
    if table == Table::Conversations
        && let Some(section) = conversations::without_a_table(choices)
    {
        return section;
    }
    let may = match table.optional() {
        [] => String::new(),
        columns => format!("; and may yield: {}", columns.join(", ")),
    };
    format!(
        "# No table was recognised as {}. Its SELECT would yield: {}{may}.\n",
        table.name(),
        table.required().join(", ")
    )
}

impl Choice<'_> {
    fn section(&self, canonical: Table, choices: &Choices<'_>) -> String {
        let mut comments = String::new();
        let mut fields: Vec<String> = Vec::new();
        if canonical == Table::Messages && self.table.has_rowid {
            fields.push("rowid AS seq".to_owned());
        }
        for column in
            canonical.required().iter().chain(canonical.optional()).filter(|column| **column != "seq")
        {
            match self.field(canonical, column, choices) {
                Some(field) => fields.push(field),
                None => {
                    let _ = writeln!(comments, "# No column was recognised as {column}.");
                }
            }
        }
        let used: Vec<&str> = self.columns.values().map(|column| column.name.as_str()).collect();
        let unused: Vec<&str> = self
            .table
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .filter(|name| !used.contains(name))
            .collect();
        if !unused.is_empty() {
            let _ = writeln!(comments, "# Not used: {}.", unused.join(", "));
        }
        let is_split = !self.table.parts.is_empty();
        let from = if is_split { "{table}".to_owned() } else { quoted(&self.table.name) };
        let mut section = format!("{comments}[{}]\n", canonical.name());
        if is_split {
            let _ = writeln!(section, "tables = '{}'", self.table.name);
        }
        let _ = writeln!(section, "select = '''\nSELECT {}\nFROM {from}'''", fields.join(",\n       "));
        self.settings(canonical, &mut section);
        section
    }

    /// The expression of a column that was recognised.
    pub fn value(&self, column: &str) -> Option<String> {
        let found = self.columns.get(column)?;
        let name = quoted(&found.name);
        // Ids that are bytes have no letters; their hex does.
        let is_id = found.holds == "blob" && found.blob_text.is_none();
        Some(if is_id { format!("hex({name})") } else { name })
    }

    /// `expression AS column`.
    fn field(&self, canonical: Table, column: &str, choices: &Choices<'_>) -> Option<String> {
        let alias = quoted(column);
        if let Some(found) = self.columns.get(column) {
            if (canonical, column) == (Table::Conversations, "type") && types(canonical, found).is_empty() {
                return self
                    .type_by_groups(choices)
                    .or_else(|| Some(format!("{} AS {alias}", quoted(&found.name))));
            }
            return Some(format!("{} AS {alias}", self.value(column)?));
        }
        match (canonical, column) {
            (Table::Messages | Table::Files, "id") => Some(format!("rowid AS {alias}")),
            (Table::Conversations, "type") => self.type_by_groups(choices),
            (Table::Contacts, "active") => {
                let left = column_words(canonical, "left").iter().find_map(|word| {
                    self.table.columns.iter().find(|found| is_named(canonical, &found.name, word))
                })?;
                Some(format!("NOT coalesce({}, 0) AS {alias}", quoted(&left.name)))
            }
            _ => None,
        }
    }

    /// A conversation is one of a group when its id, or whom it is with, is a group's.
    fn type_by_groups(&self, choices: &Choices<'_>) -> Option<String> {
        let groups = choices.get(&Table::Groups)?;
        let (group, from) = (quoted(&groups.columns.get("id")?.name), quoted(&groups.table.name));
        let of = quoted(&self.columns.get("peer").or(self.columns.get("id"))?.name);
        Some(format!("CASE WHEN {of} IN (SELECT {group} FROM {from}) THEN 'group' ELSE 'direct' END AS type"))
    }

    /// The units, types and encoding.
    fn settings(&self, canonical: Table, section: &mut String) {
        let times: Vec<String> = canonical
            .times()
            .iter()
            .filter_map(|column| Some(format!("{column} = \"{}\"", self.columns.get(column)?.time?.as_str())))
            .collect();
        if !times.is_empty() {
            let _ = writeln!(section, "time = {{ {} }}", times.join(", "));
        }
        if let Some(column) = self.columns.get("type") {
            let mut words = types(canonical, column);
            if words.is_empty() && canonical == Table::Messages && !column.kinds.is_empty() {
                let _ = writeln!(
                    section,
                    "# Guessed: the most frequent type is text. All types: {}.",
                    column.kinds.join(", ")
                );
                words.push((column.kinds[0].clone(), "text"));
            }
            let words: Vec<String> =
                words.iter().map(|(stored, word)| format!("'{stored}' = \"{word}\"")).collect();
            if !words.is_empty() {
                let _ = writeln!(section, "types = {{ {} }}", words.join(", "));
            }
        }
        let encoding = self.columns.get("text").and_then(|column| column.blob_text);
        match encoding {
            Some(BlobText::Utf16le) => section.push_str("text = \"utf16le\"\n"),
            Some(BlobText::Gbk) => section.push_str("text = \"gbk\"\n"),
            Some(BlobText::Utf8) | None => {}
        }
    }
}

/// The store's words for types that are known, and the contract's.
fn types(canonical: Table, column: &InspectedColumn) -> Vec<(String, &'static str)> {
    column
        .kinds
        .iter()
        .filter_map(|stored| Some((stored.clone(), contract_type(canonical, &bare(stored))?)))
        .collect()
}
