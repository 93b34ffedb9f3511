//! The only module that writes what a command prints on stdout.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

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

/// Prints bytes as they are.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), PrintError> {
    write_out(bytes)
}

/// Prints a value as indented JSON; what could hide something or steer the terminal is escaped, so that the value is the same.
pub(crate) fn json(value: &impl Serialize) -> Result<(), PrintError> {
    let text = serde_json::to_string_pretty(value).map_err(|error| PrintError(error.into()))?;
    line(&escaped(&text))
}

/// JSON with each character that could hide something or steer a terminal as `\uXXXX`. Such characters are in strings only.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        if govern::text::may_hide(character) || ['\u{2028}', '\u{2029}'].contains(&character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(character);
        }
    }
    text
}

/// Prints rows under a heading, each column as wide as its widest cell on a terminal.
pub(crate) fn table<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> Result<(), PrintError> {
    write_out(table_text(heading, rows).as_bytes())
}

/// The value of a field.
pub(crate) enum Field {
    /// Beside its name.
    Line(String),
    /// Indented below its name.
    Lines(Vec<String>),
}

impl Field {
    /// A text whose line breaks are kept.
    pub(crate) fn text(text: &str) -> Self {
        Self::Lines(text.lines().map(str::to_owned).collect())
    }

    fn is_blank(&self) -> bool {
        match self {
            Self::Line(line) => line.trim().is_empty(),
            Self::Lines(lines) => lines.iter().all(|line| line.trim().is_empty()),
        }
    }
}

/// Prints names and values, one pair a line, values aligned; a blank value is left out.
pub(crate) fn fields(pairs: &[(&str, Field)]) -> Result<(), PrintError> {
    write_out(fields_text(pairs).as_bytes())
}

fn fields_text(pairs: &[(&str, Field)]) -> String {
    let pairs: Vec<_> = pairs.iter().filter(|(_, value)| !value.is_blank()).collect();
    let widest = pairs.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, value) in pairs {
        match value {
            Field::Line(line) => {
                let padding = " ".repeat(widest - name.width() + GAP);
                text.push_str(format!("{name}:{padding}{}", one_line(line)).trim_end());
                text.push('\n');
            }
            Field::Lines(lines) => {
                text.push_str(name);
                text.push_str(":\n");
                for line in lines {
                    text.push_str(format!("    {}", one_line(line)).trim_end());
                    text.push('\n');
                }
            }
        }
    }
    text
}

/// A text from outside as it may stand on one line of a terminal: without characters that steer the terminal or hide
/// something, and with a sign for each line break, so that it cannot pass for lines of ours.
pub(crate) fn one_line(text: &str) -> String {
    let text = text.trim_end().replace("\r\n", "\n");
    let visible = govern::text::visible(&text).text;
    visible.replace(['\n', '\u{2028}', '\u{2029}'], "⏎").replace('\t', " ")
}

/// The text on one line of at most `columns`, with an ellipsis when it was cut.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    let text: String = one_line(text).split_whitespace().collect::<Vec<_>>().join(" ");
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
    let cells = |row: &[String; N]| row.each_ref().map(|cell| one_line(cell));
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
    fn a_text_from_outside_cannot_steer_the_terminal_hide_or_break_a_line() {
        for (hostile, shown) in [
            ("\u{1b}[2Ja\nb", "[2Ja⏎b"),
            ("a\u{9b}2Jb", "a2Jb"),
            ("a\r\nb\rc", "a⏎bc"),
            ("a\u{2028}b", "a⏎b"),
            ("\u{202e}txt.exe", "txt.exe"),
            ("pay\u{200b}pal", "paypal"),
            ("a\u{e0041}\tb\n", "a b"),
        ] {
            assert_eq!(one_line(hostile), shown, "{hostile:?}");
            assert_eq!(table_text(["N"], &[[hostile.to_owned()]]), format!("N\n{shown}\n"));
            let pairs =
                [("one", Field::Line(hostile.to_owned())), ("many", Field::Lines(vec![hostile.to_owned()]))];
            assert_eq!(fields_text(&pairs), format!("one:   {shown}\nmany:\n    {shown}\n"));
        }
    }

    #[test]
    fn json_shows_what_could_hide_or_steer_and_says_the_same() {
        for hostile in [
            "\u{1b}[2J",
            "a\u{9b}2J\u{7f}",
            "\u{202e}txt.exe",
            "pay\u{200b}pal",
            "a\u{e0041}\u{2028}b",
            "a\n\tb",
        ] {
            let json = serde_json::to_string(hostile).unwrap();
            let shown = escaped(&json);
            assert!(shown.chars().all(|it| it.is_ascii_graphic() || it == ' '), "{shown:?}");
            assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), hostile);
        }
        assert_eq!(escaped("{\n  \"张三\": \"é\"\n}"), "{\n  \"张三\": \"é\"\n}");
    }

    #[test]
    fn only_a_body_keeps_its_line_breaks() {
        let pairs = [("text", Field::text("a\n\n\u{1b}b\n")), ("none", Field::Lines(Vec::new()))];
        assert_eq!(fields_text(&pairs), "text:\n    a\n\n    b\n");
    }

    #[test]
    fn a_long_text_is_cut_at_its_width_not_its_length() {
        assert_eq!(shorten("预订确认函", 10), "预订确认函");
        assert_eq!(shorten("预订确认函", 7), "预订确…");
        assert_eq!(shorten("a\n b", 10), "a⏎ b");
    }
}
