//! Tags and text, found as a browser finds them (HTML, "tokenization").

/// A piece of HTML. Comments, doctypes and processing instructions are no pieces.
pub(super) enum Token<'a> {
    /// Text with its character references still in it.
    Text(&'a str),
    Start(Tag<'a>),
    /// The name in an end tag.
    End(&'a str),
}

/// A start tag.
pub(super) struct Tag<'a> {
    /// As written, in any case.
    pub name: &'a str,
    /// Written `<name/>`, which ends some elements at once.
    pub closes_itself: bool,
    attributes: Vec<(&'a str, &'a str)>,
}

impl<'a> Tag<'a> {
    /// The raw value of the first attribute of that lower-case name; empty for an attribute without a value.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }
}

/// Attributes kept of one tag; the rest is read over, so that a tag costs linear time.
const MAX_ATTRIBUTES: usize = 64;

/// The tokens of an input.
pub(super) struct Tokens<'a> {
    rest: &'a str,
    /// Elements with raw text whose end tag does not come any more; looked for once.
    without_end: Vec<String>,
    /// The input ended inside a tag or a comment that may have swallowed text.
    pub has_swallowed_text: bool,
}

impl<'a> Tokens<'a> {
    pub fn new(input: &'a str) -> Self {
        Self { rest: input, without_end: Vec::new(), has_swallowed_text: false }
    }

    /// Bytes that are still to be read.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Moves on until so many bytes remain and answers what was passed.
    pub fn skip_to(&mut self, remaining: usize) -> &'a str {
        let (passed, rest) = self.rest.split_at(self.rest.len().saturating_sub(remaining));
        self.rest = rest;
        passed
    }

    /// Moves to the end tag of an element whose content is not markup and answers the content; stays when there is
    /// no such end tag.
    pub fn skip_raw_text(&mut self, name: &str) -> Option<&'a str> {
        if self.without_end.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return None;
        }
        let mut from = 0;
        while let Some(at) = self.rest[from..].find("</") {
            let after = &self.rest.as_bytes()[from + at + 2..];
            let is_name =
                after.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()));
            if is_name && after.get(name.len()).is_none_or(|byte| ends_name(*byte)) {
                return Some(self.skip_to(self.rest.len() - from - at));
            }
            from += at + 2;
        }
        self.without_end.push(name.to_owned());
        None
    }

    /// Reads the attributes up to and including the `>`. An input that ends inside a tag has no such tag.
    fn attributes(&mut self, name: &'a str) -> Option<Tag<'a>> {
        let mut attributes = Vec::new();
        loop {
            let before = self.rest;
            self.rest = self
                .rest
                .trim_start_matches(|character: char| character.is_ascii_whitespace() || character == '/');
            if let Some(rest) = self.rest.strip_prefix('>') {
                let closes_itself = before[..before.len() - self.rest.len()].ends_with('/');
                self.rest = rest;
                return Some(Tag { name, closes_itself, attributes });
            }
            // A leading `=` belongs to the name.
            let searched = self.rest.get(1..).filter(|_| self.rest.starts_with('=')).map_or(0, |_| 1);
            let end = self.rest[searched..]
                .find(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>' | '='))?
                + searched;
            let name = &self.rest[..end];
            self.rest = &self.rest[end..];
            let value = self.attribute_value()?;
            if attributes.len() < MAX_ATTRIBUTES {
                attributes.push((name, value));
            }
        }
    }

    fn attribute_value(&mut self) -> Option<&'a str> {
        let Some(value) = self.rest.trim_ascii_start().strip_prefix('=') else { return Some("") };
        let value = value.trim_ascii_start();
        let (value, rest) = match value.as_bytes().first()? {
            b'"' => value[1..].split_once('"')?,
            b'\'' => value[1..].split_once('\'')?,
            _ => value
                .split_at(value.find(|character: char| character.is_ascii_whitespace() || character == '>')?),
        };
        self.rest = rest;
        Some(value)
    }

    fn skip_declaration(&mut self) {
        let end = if let Some(comment) = self.rest.strip_prefix("<!--") {
            let start = self.rest.len() - comment.len();
            if comment.starts_with('>') || comment.starts_with("->") {
                self.rest.find('>').map(|at| at + 1)
            } else {
                comment_end(comment).map(|at| at + start)
            }
        } else {
            self.rest.find('>').map(|at| at + 1)
        };
        self.has_swallowed_text |= end.is_none();
        self.rest = end.map_or("", |end| &self.rest[end..]);
    }

    fn tag(&mut self, is_end: bool) -> Option<Token<'a>> {
        let from = if is_end { 2 } else { 1 };
        let length = self.rest.as_bytes()[from..].iter().position(|byte| ends_name(*byte));
        let Some(length) = length else {
            self.rest = "";
            return None;
        };
        let name = &self.rest[from..from + length];
        self.rest = &self.rest[from + length..];
        let inside = self.rest;
        let Some(tag) = self.attributes(name) else {
            // Without a `>` it is only the tag itself that is missing.
            self.has_swallowed_text |= inside.contains('>');
            self.rest = "";
            return None;
        };
        Some(if is_end { Token::End(name) } else { Token::Start(tag) })
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let bytes = self.rest.as_bytes();
            match (bytes.first()?, bytes.get(1), bytes.get(2)) {
                (b'<', Some(letter), _) if letter.is_ascii_alphabetic() => return self.tag(false),
                (b'<', Some(b'/'), Some(letter)) if letter.is_ascii_alphabetic() => return self.tag(true),
                (b'<', Some(b'!' | b'?'), _) | (b'<', Some(b'/'), Some(_)) => self.skip_declaration(),
                _ => {
                    let end = self.rest.char_indices().skip(1).find(|(_, character)| *character == '<');
                    let (text, rest) = self.rest.split_at(end.map_or(self.rest.len(), |(at, _)| at));
                    self.rest = rest;
                    return Some(Token::Text(text));
                }
            }
        }
    }
}

/// Whether a start tag of that name seems to be there; a quick look, not a parse.
pub(super) fn contains_tag(input: &str, name: &str) -> bool {
    input
        .split('<')
        .skip(1)
        .any(|piece| piece.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name)))
}

fn ends_name(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>')
}

/// Length of a comment up to and including `-->` or `--!>`.
fn comment_end(comment: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = comment[from..].find("--") {
        let after = &comment[from + found + 2..];
        if after.starts_with('>') {
            return Some(from + found + 3);
        }
        if after.starts_with("!>") {
            return Some(from + found + 4);
        }
        from += found + 1;
    }
    None
}
