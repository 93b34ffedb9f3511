//! Mail HTML reduced to structure and text.
//!
//! The output is made only of a fixed set of tags without attributes (but integer colspan and rowspan) and of escaped
//! text, so that it is safe by construction, whatever the input; how well the input is understood decides only how
//! much of its text survives. Time is linear in the input.

mod entity;
mod plain;
mod style;
mod token;

use govern::text::visible;

use self::style::Look;
use self::token::{Tag, Token, Tokens};
use super::{DegradedReason, LinkPolicy, text};

pub use plain::to_text;

/// Bytes of HTML that are read; the rest is left out and the result is [`DegradedReason::TooLarge`].
pub const MAX_BYTES: usize = 2 * 1024 * 1024;
/// Emitted elements inside each other; deeper is [`DegradedReason::TooDeep`].
pub const MAX_DEPTH: usize = 64;
/// Bytes of sanitised HTML: escaping and closing tags may make the output longer than the input.
const MAX_OUTPUT: usize = 2 * MAX_BYTES;
/// Open elements of any kind. Senders leave inline elements open, so this is well above [`MAX_DEPTH`].
const MAX_OPEN: usize = 512;

/// The outcome of [`sanitise`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sanitised {
    /// Well-nested HTML. When `degraded`, incomplete or flattened: good for text, not for showing.
    pub html: String,
    /// Text that a person would not have seen was left out.
    pub hidden_removed: bool,
    /// Why the HTML should not be shown, if so.
    pub degraded: Option<DegradedReason>,
}

/// Reduces HTML to what may be shown. URLs in text follow `links`; URLs in attributes are gone with the attributes.
/// Sanitising twice gives the same as once.
pub fn sanitise(html: &str, links: LinkPolicy) -> Sanitised {
    let input = &html[..html.floor_char_boundary(MAX_BYTES)];
    let mut sanitiser =
        Sanitiser { links, has_style_sheet: token::contains_tag(input, "style"), ..Sanitiser::default() };
    if input.len() < html.len() {
        sanitiser.degraded = Some(DegradedReason::TooLarge);
    }
    let mut tokens = Tokens::new(input);
    while let Some(token) = tokens.next() {
        match token {
            Token::Text(raw) => sanitiser.text(raw),
            Token::End(name) => sanitiser.end(name),
            Token::Start(tag) if is_raw_text(tag.name) => tokens.skip_raw_text(tag.name),
            Token::Start(tag) => sanitiser.start(&tag),
        }
        if sanitiser.output.len() > MAX_OUTPUT {
            sanitiser.degraded = Some(DegradedReason::TooLarge);
            break;
        }
    }
    sanitiser.finish()
}

/// Escapes text for use between tags.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// An open element.
struct Frame<'a> {
    name: &'a str,
    /// The tag written for it, if any.
    written: Option<&'static str>,
    look: Look,
    /// Nothing inside is kept.
    dropped: bool,
}

#[derive(Default)]
struct Sanitiser<'a> {
    output: String,
    /// Decoded text since the last written tag. Kept together so that a dropped tag cannot split what is looked for.
    pending: String,
    open: Vec<Frame<'a>>,
    written_depth: usize,
    links: LinkPolicy,
    has_style_sheet: bool,
    hidden_removed: bool,
    degraded: Option<DegradedReason>,
}

impl<'a> Sanitiser<'a> {
    fn text(&mut self, raw: &str) {
        let text = entity::decode(raw);
        let (dropped, look) = self.state();
        if !dropped && !look.hides_text() {
            self.pending.push_str(&text);
        } else if look.hides_text() && text.chars().any(|character| !character.is_whitespace()) {
            self.hidden_removed = true;
        }
    }

    fn start(&mut self, tag: &Tag<'a>) {
        let written = written_as(tag.name);
        self.close_implied(tag.name, written);
        let (parent_dropped, parent_look) = self.state();
        let look = parent_look.within(tag, self.has_style_sheet);
        let dropped = parent_dropped || look.is_removed || is_dropped_with_content(tag.name);
        if is_void(tag.name) {
            if let (Some(name @ ("br" | "hr")), false) = (written, dropped) {
                self.flush();
                self.write_tag(name, "");
            }
            return;
        }
        if self.open.len() >= MAX_OPEN {
            self.degraded = self.degraded.or(Some(DegradedReason::TooDeep));
            self.close_last();
        }
        let mut written = written.filter(|_| !dropped);
        if written.is_some() && self.written_depth >= MAX_DEPTH {
            self.degraded = self.degraded.or(Some(DegradedReason::TooDeep));
            self.pending.push('\n');
            written = None;
        }
        if let Some(name) = written {
            self.flush();
            self.write_tag(name, &spans(name, tag));
            self.written_depth += 1;
        }
        self.open.push(Frame { name: tag.name, written, look, dropped });
    }

    fn end(&mut self, name: &str) {
        let crosses_cells = is_table_part(name);
        for (depth, frame) in self.open.iter().enumerate().rev() {
            if frame.name.eq_ignore_ascii_case(name) {
                self.close_to(depth);
                return;
            }
            if !crosses_cells && is_cell_or_table(frame.name) {
                return;
            }
        }
    }

    /// Closes the elements that a start tag ends without an end tag (HTML, "optional tags").
    fn close_implied(&mut self, name: &str, written: Option<&'static str>) {
        if !is_allowed_in_head(name)
            && let Some(head) = self.open.iter().position(|frame| frame.name.eq_ignore_ascii_case("head"))
        {
            self.close_to(head);
        }
        let (ended, barrier): (&[&str], &[&str]) = match written {
            Some("li") => (&["li"], &["ul", "ol", "table", "td", "th"]),
            Some("dt" | "dd") => (&["dt", "dd"], &["dl", "table", "td", "th"]),
            Some("td" | "th") => (&["td", "th"], &["tr", "table"]),
            Some("tr") => (&["tr"], &["table"]),
            Some("thead" | "tbody" | "tfoot") => (&["thead", "tbody", "tfoot"], &["table"]),
            Some(block) if is_block(block) => {
                (&["p"], &["div", "blockquote", "li", "dt", "dd", "table", "td", "th", "caption", "pre"])
            }
            _ => return,
        };
        for (depth, frame) in self.open.iter().enumerate().rev() {
            let Some(open) = frame.written else { continue };
            if ended.contains(&open) {
                self.close_to(depth);
                return;
            }
            if barrier.contains(&open) {
                return;
            }
        }
    }

    fn state(&self) -> (bool, Look) {
        self.open.last().map_or_else(|| (false, Look::default()), |frame| (frame.dropped, frame.look))
    }

    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            self.close_last();
        }
    }

    fn close_last(&mut self) {
        if let Some(name) = self.open.pop().and_then(|frame| frame.written) {
            self.flush();
            self.output.push_str("</");
            self.output.push_str(name);
            self.output.push('>');
            self.written_depth -= 1;
        }
    }

    fn flush(&mut self) {
        let visible = visible(&self.pending);
        self.hidden_removed |= visible.removed;
        self.output.push_str(&escape(&text::apply_link_policy(&visible.text, self.links)));
        self.pending.clear();
    }

    fn write_tag(&mut self, name: &str, attributes: &str) {
        self.output.push('<');
        self.output.push_str(name);
        self.output.push_str(attributes);
        self.output.push('>');
    }

    fn finish(mut self) -> Sanitised {
        self.close_to(0);
        self.flush();
        Sanitised { html: self.output, hidden_removed: self.hidden_removed, degraded: self.degraded }
    }
}

/// ` colspan="2" rowspan="3"` of a cell, whole numbers from 1 to 1000 only.
fn spans(name: &str, tag: &Tag) -> String {
    if !matches!(name, "td" | "th") {
        return String::new();
    }
    ["colspan", "rowspan"]
        .into_iter()
        .filter_map(|span| {
            let number = tag.attribute(span)?.trim().parse::<u16>().ok()?;
            (1..=1000).contains(&number).then(|| format!(" {span}=\"{number}\""))
        })
        .collect()
}

/// The tag written for an element; `None` when its content stands without it.
fn written_as(name: &str) -> Option<&'static str> {
    const WRITTEN: &[(&str, &str)] = &[
        ("p", "p"),
        ("div", "div"),
        ("br", "br"),
        ("hr", "hr"),
        ("table", "table"),
        ("caption", "caption"),
        ("thead", "thead"),
        ("tbody", "tbody"),
        ("tfoot", "tfoot"),
        ("tr", "tr"),
        ("td", "td"),
        ("th", "th"),
        ("b", "b"),
        ("strong", "strong"),
        ("i", "i"),
        ("em", "em"),
        ("u", "u"),
        ("s", "s"),
        ("sub", "sub"),
        ("sup", "sup"),
        ("ul", "ul"),
        ("ol", "ol"),
        ("li", "li"),
        ("dl", "dl"),
        ("dt", "dt"),
        ("dd", "dd"),
        ("blockquote", "blockquote"),
        ("pre", "pre"),
        ("code", "code"),
        ("h1", "h1"),
        ("h2", "h2"),
        ("h3", "h3"),
        ("h4", "h4"),
        ("h5", "h5"),
        ("h6", "h6"),
        ("del", "s"),
        ("strike", "s"),
        ("ins", "u"),
        ("kbd", "code"),
        ("samp", "code"),
        ("tt", "code"),
        // Blocks whose only meaning here is that they begin on a line of their own.
        ("address", "div"),
        ("article", "div"),
        ("aside", "div"),
        ("center", "div"),
        ("details", "div"),
        ("fieldset", "div"),
        ("figcaption", "div"),
        ("figure", "div"),
        ("footer", "div"),
        ("form", "div"),
        ("header", "div"),
        ("legend", "div"),
        ("main", "div"),
        ("nav", "div"),
        ("section", "div"),
        ("summary", "div"),
    ];
    WRITTEN.iter().find(|(read, _)| name.eq_ignore_ascii_case(read)).map(|(_, written)| *written)
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|candidate| name.eq_ignore_ascii_case(candidate))
}

/// Elements whose content is not markup; it goes with them.
fn is_raw_text(name: &str) -> bool {
    is_one_of(
        name,
        &["script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes", "plaintext"],
    )
}

fn is_dropped_with_content(name: &str) -> bool {
    is_one_of(name, &["head", "noscript", "template", "object", "svg", "math", "select", "video", "audio"])
}

fn is_allowed_in_head(name: &str) -> bool {
    is_one_of(
        name,
        &["head", "meta", "link", "base", "noscript", "template", "object", "basefont", "bgsound", "xml"],
    ) || name.contains(':')
}

fn is_void(name: &str) -> bool {
    is_one_of(
        name,
        &[
            "br", "hr", "img", "link", "meta", "base", "input", "col", "area", "embed", "source", "track",
            "wbr", "param", "frame",
        ],
    )
}

fn is_block(written: &str) -> bool {
    is_one_of(
        written,
        &[
            "p",
            "div",
            "table",
            "ul",
            "ol",
            "dl",
            "blockquote",
            "pre",
            "hr",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
        ],
    )
}

fn is_table_part(name: &str) -> bool {
    is_one_of(name, &["table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th", "body", "html"])
}

fn is_cell_or_table(name: &str) -> bool {
    is_one_of(name, &["table", "td", "th", "caption"])
}
