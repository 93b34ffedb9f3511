//! Text from sanitised HTML, laid out so that tables and lists can still be read.

use super::entity;
use super::token::{Token, Tokens};

/// Text of HTML that [`super::sanitise`] made: blocks on lines of their own, cells of a row separated by ` | `,
/// list items marked, no line longer broken than the sender broke it. Trimmed; at most one empty line in a row.
pub fn to_text(sanitised: &str) -> String {
    let mut layout = Layout::default();
    for token in Tokens::new(sanitised) {
        match token {
            Token::Text(raw) => layout.text(&entity::decode(raw)),
            Token::Start(tag) => layout.start(tag.name),
            Token::End(name) => layout.end(name),
        }
    }
    layout.output
}

/// What separates the text written so far from the text to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Gap {
    #[default]
    None,
    Space,
    Line,
    EmptyLine,
}

#[derive(Default)]
struct Layout {
    output: String,
    gap: Gap,
    /// Line breaks asked for by `br`, each of which counts.
    breaks: usize,
    /// A row began since the last text.
    new_row: bool,
    /// Cells ended in this row since its last text.
    cells: usize,
    preformatted: usize,
    /// Open lists, innermost last; the number of the next item, or `None` for bullets.
    lists: Vec<Option<usize>>,
    marker: Option<String>,
}

impl Layout {
    fn text(&mut self, text: &str) {
        if self.preformatted > 0 {
            if !text.is_empty() {
                self.write_gap();
                self.output.push_str(text);
            }
            return;
        }
        if text.starts_with(char::is_whitespace) {
            self.ask(Gap::Space);
        }
        for word in text.split_whitespace() {
            self.write_gap();
            self.output.push_str(word);
            self.ask(Gap::Space);
        }
        if !text.ends_with(char::is_whitespace) && self.gap == Gap::Space {
            self.gap = Gap::None;
        }
    }

    fn start(&mut self, name: &str) {
        match name {
            // At the start of a line it makes an empty one, as in `<div><br></div>`.
            "br" if self.gap >= Gap::Line || self.output.is_empty() => self.ask(Gap::EmptyLine),
            "br" => self.breaks += 1,
            "hr" => {
                self.ask(Gap::Line);
                self.write_gap();
                self.output.push_str("---");
                self.ask(Gap::Line);
            }
            "tr" | "table" => self.row(),
            "ul" | "ol" => {
                self.ask(Gap::Line);
                self.lists.push((name == "ol").then_some(1));
            }
            "li" => {
                self.ask(Gap::Line);
                self.marker = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "- ".to_owned(),
                });
            }
            "pre" => {
                self.ask(Gap::Line);
                self.preformatted += 1;
            }
            _ => self.block(name),
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "td" | "th" => {
                // What stands at the edges of a cell separates nothing.
                self.gap = Gap::None;
                self.breaks = 0;
                self.cells += 1;
            }
            "tr" | "table" => self.row(),
            "ul" | "ol" => {
                self.lists.pop();
                self.ask(Gap::Line);
            }
            "pre" => {
                self.preformatted = self.preformatted.saturating_sub(1);
                self.ask(Gap::Line);
            }
            _ => self.block(name),
        }
    }

    fn block(&mut self, name: &str) {
        match name {
            "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "blockquote" | "dl" => self.ask(Gap::EmptyLine),
            "div" | "li" | "dt" | "dd" | "caption" | "thead" | "tbody" | "tfoot" => self.ask(Gap::Line),
            _ => {}
        }
    }

    fn row(&mut self) {
        self.cells = 0;
        self.new_row = true;
    }

    fn ask(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// Writes what separates the text before from the text that follows, and forgets it.
    fn write_gap(&mut self) {
        let gap = match self.gap {
            // Inside a row only the cells separate.
            _ if self.cells > 0 => 0,
            Gap::None | Gap::Space => 0,
            Gap::Line => 1,
            Gap::EmptyLine => 2,
        };
        // A `br` at the end of a block adds no line to the block's own.
        let lines = gap.max(self.breaks).max(usize::from(self.new_row)).min(2);
        let present = self.output.len() - self.output.trim_end_matches('\n').len();
        if !self.output.is_empty() {
            self.output.extend(std::iter::repeat_n('\n', lines.saturating_sub(present)));
        }
        let at_line_start = self.output.is_empty() || self.output.ends_with('\n');
        if self.cells > 0 {
            let separators = " | ".repeat(self.cells);
            self.output.push_str(if at_line_start { separators.trim_start() } else { &separators });
        } else if self.gap == Gap::Space && !at_line_start {
            self.output.push(' ');
        }
        (self.gap, self.breaks, self.cells, self.new_row) = (Gap::None, 0, 0, false);
        if let Some(marker) = self.marker.take() {
            self.output.push_str(&marker);
        }
    }
}
