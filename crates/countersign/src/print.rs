//! The only module that writes what a command prints on stdout.

use std::io::{self, Write};

use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// stdout did not take what was printed.
#[derive(Debug, thiserror::Error)]
#[error("the output cannot be written: {0}; what was asked for may have been done all the same")]
pub(crate) struct PrintError(pub(crate) io::Error);

/// Columns between two columns of a table.
const GAP: usize = 2;

/// Prints a text and a line end.
pub(crate) fn line(text: &str) -> Result<(), PrintError> {
    write_out(format!("{text}\n").as_bytes())
}

/// Prints a value as indented JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), PrintError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|error| PrintError(error.into()))?;
    text.push(b'\n');
    write_out(&text)
}

/// Prints rows under a heading, each column as wide as its widest cell on a terminal.
pub(crate) fn table<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> Result<(), PrintError> {
    write_out(table_text(heading, rows).as_bytes())
}

/// Prints names and values, one pair a line, values aligned; a value of several lines is indented below its name, and
/// a blank one is left out.
pub(crate) fn fields(pairs: &[(&str, String)]) -> Result<(), PrintError> {
    let pairs: Vec<_> = pairs.iter().filter(|(_, value)| !value.trim().is_empty()).collect();
    let widest = pairs.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, value) in pairs {
        let value = visible(value);
        if value.contains('\n') {
            text.push_str(name);
            text.push_str(":\n");
            for line in value.lines() {
                text.push_str(format!("    {line}").trim_end());
                text.push('\n');
            }
        } else {
            let padding = " ".repeat(widest - name.width() + GAP);
            text.push_str(format!("{name}:{padding}{value}").trim_end());
            text.push('\n');
        }
    }
    write_out(text.as_bytes())
}

/// The text on one line of at most `columns`, with an ellipsis when it was cut.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.width() <= columns {
        return text;
    }
    let mut used = 1;
    let fits = |character: &char| {
        used += character.width().unwrap_or(0);
        used <= columns
    };
    let mut short: String = text.chars().take_while(fits).collect();
    short.push('…');
    short
}

fn table_text<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    let cells = |row: &[String; N]| row.each_ref().map(|cell| visible(cell).replace(['\n', '\t'], " "));
    let mut lines = vec![heading.map(str::to_owned)];
    lines.extend(rows.iter().map(cells));
    let mut widths = [0; N];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.width());
        }
    }
    let mut text = String::new();
    for line in &lines {
        let padded: String = line
            .iter()
            .zip(widths)
            .map(|(cell, width)| cell.clone() + &" ".repeat(width - cell.width() + GAP))
            .collect();
        text.push_str(padded.trim_end());
        text.push('\n');
    }
    text
}

/// Without control characters, with which a text from outside could steer the terminal.
fn visible(text: &str) -> String {
    text.chars().filter(|character| !character.is_control() || matches!(character, '\n' | '\t')).collect()
}

fn write_out(bytes: &[u8]) -> Result<(), PrintError> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(PrintError)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_where_a_chinese_character_takes_two() {
        let rows = [["中文".to_owned(), "a".to_owned()], ["x".to_owned(), "b".to_owned()]];
        assert_eq!(table_text(["NAME", "V"], &rows), "NAME  V\n中文  a\nx     b\n");
    }

    #[test]
    fn a_cell_cannot_steer_the_terminal_or_break_the_line() {
        let rows = [["\u{1b}[2Ja\nb".to_owned()]];
        assert_eq!(table_text(["N"], &rows), "N\n[2Ja b\n");
    }

    #[test]
    fn a_long_text_is_cut_at_its_width_not_its_length() {
        assert_eq!(shorten("预订确认函", 10), "预订确认函");
        assert_eq!(shorten("预订确认函", 7), "预订确…");
        assert_eq!(shorten("a\n b", 10), "a b");
    }
}
