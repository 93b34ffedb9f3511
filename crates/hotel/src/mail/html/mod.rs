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
const MAX_OPEN: usize = 256;

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clean(html: &str) -> String {
        sanitise(html, LinkPolicy::Host).html
    }

    /// The whole language of the output.
    fn is_regular(html: &str) -> bool {
        html.split('<').skip(1).all(|piece| {
            let Some((tag, text)) = piece.split_once('>') else { return false };
            let mut words = tag.trim_start_matches('/').split(' ');
            let is_span = |word: &str| {
                let number = word.strip_prefix("colspan=\"").or_else(|| word.strip_prefix("rowspan=\""));
                number
                    .and_then(|number| number.strip_suffix('"'))
                    .is_some_and(|number| number.parse::<u16>().is_ok())
            };
            written_as(words.next().unwrap_or_default()).is_some()
                && words.all(is_span)
                && !text.contains('>')
        })
    }

    #[test]
    fn structure_stays_and_attributes_go() {
        assert_eq!(
            clean(
                "<TABLE class=x><tr><td colspan=2 onclick=evil() style='color:red'>A<td rowspan=\"0\">B</table>"
            ),
            "<table><tr><td colspan=\"2\">A</td><td>B</td></tr></table>"
        );
    }

    #[test]
    fn links_and_fonts_leave_their_text() {
        assert_eq!(
            clean("<a href='https://x.example/t'>Book <font color=red>now</font></a><o:p></o:p>"),
            "Book now"
        );
    }

    #[test]
    fn urls_in_text_follow_the_policy_even_across_dropped_tags() {
        assert_eq!(clean("see htt<img src=x>ps://a.example/p?q"), "see [link: a.example]");
        assert_eq!(sanitise("https://a.example/p", LinkPolicy::Keep).html, "https://a.example/p");
    }

    #[test]
    fn scripts_styles_comments_and_foreign_content_go_with_their_content() {
        let html = "<head><title>t</title><meta x></head><!--[if mso]>mso<![endif]--><script>a<b</script ><style>p{}</style>\
                    <svg><p>s</p></svg><math>m</math><select><option>o</select><![if !mso]>kept<![endif]>";
        assert_eq!(clean(html), "kept");
    }

    #[test]
    fn a_head_left_open_does_not_swallow_the_body() {
        assert_eq!(clean("<html><head><meta charset=x><p>Hello"), "<p>Hello</p>");
        assert_eq!(clean("<head><body>Hello</body>"), "Hello");
    }

    #[test]
    fn hidden_text_goes_and_is_reported() {
        for html in [
            "<p>a<span style='display: none !important'>x</span></p>",
            "<p>a<span hidden>x</span></p>",
            "<p>a<span style='VISIBILITY:hidden'>x</span></p>",
            "<p>a<span style='font-size:0px'>x</span></p>",
            "<p>a<span style='opacity:0'>x</span></p>",
            "<p>a<font color='#FFFFFF'>x</font></p>",
            "<p>a<span style='color:#fffffe'>x</span></p>",
            "<p>a<span style='background:#336699;color:rgb(51,102,153)'>x</span></p>",
            "<p>a<span style='max-height:0;overflow:hidden'>x</span></p>",
            "<p>a<span style='color:rgb(255, 255, 255); background: rgb(255, 255, 255) none'>x</span></p>",
            "<p>a<span style='color:white'><span style='color:inherit'>x</span></span></p>",
            "<p>a<span style='disp/**/lay:block;display:/* */none'>x</span></p>",
        ] {
            let result = sanitise(html, LinkPolicy::Host);
            assert_eq!((result.html.as_str(), result.hidden_removed), ("<p>a</p>", true), "{html}");
        }
    }

    #[test]
    fn readable_text_is_not_taken_for_hidden() {
        for html in [
            "<table bgcolor=#003366><tr><td><font color=white>x</font></td></tr></table>",
            "<style>.dark{background:#000}</style><table class=dark><tr><td style='color:#fff'>x</td></tr></table>",
            "<table><tr style='font-size:0'><td style='font-size:14px'>x</td></tr></table>",
            "<table><tr><td style='background:url(a.png);color:white'>x</td></tr></table>",
            "<table><tr><td style='background-color:rgba(0, 0, 0, 0);color:rgb(0, 0, 0)'>x</td></tr></table>",
            "<table><tr><td style='font:12px/0 Arial'>x</td></tr></table>",
        ] {
            let result = sanitise(html, LinkPolicy::Host);
            assert_eq!(
                (result.html.as_str(), result.hidden_removed),
                ("<table><tr><td>x</td></tr></table>", false),
                "{html}"
            );
        }
    }

    #[test]
    fn a_hidden_image_is_no_hidden_text() {
        assert!(
            !sanitise("a<div style='display:none'><img src=x> &nbsp;</div>", LinkPolicy::Host).hidden_removed
        );
    }

    #[test]
    fn elements_close_in_order_and_optional_end_tags_are_supplied() {
        assert_eq!(
            clean("<ul><li>a<li>b</ul><p>c<p>d<b>e<i>f</b>g"),
            "<ul><li>a</li><li>b</li></ul><p>c</p><p>d<b>e<i>f</i></b>g</p>"
        );
    }

    #[test]
    fn past_a_cap_the_reason_is_named_and_the_text_survives() {
        let deep = sanitise(&format!("{}x", "<div>".repeat(100)), LinkPolicy::Host);
        assert_eq!((deep.degraded, to_text(&deep.html).as_str()), (Some(DegradedReason::TooDeep), "x"));
        let large = sanitise(&"y".repeat(MAX_BYTES + 1), LinkPolicy::Host);
        assert_eq!((large.degraded, large.html.len()), (Some(DegradedReason::TooLarge), MAX_BYTES));
    }

    #[test]
    fn the_known_attacks_take_linear_time() {
        let attacks = [
            "<font><p>".repeat(25_000),
            "<a>".repeat(50_000) + &"</b>".repeat(50_000),
            format!("<p {}>", "a=b ".repeat(100_000)),
            "<!--".repeat(100_000),
            "<script>".repeat(50_000),
            "<div style='display:none".repeat(20_000),
            "&".repeat(400_000),
            "<table><tr><td>".repeat(25_000),
            "www.".repeat(100_000),
            "a:".repeat(200_000),
        ];
        for attack in attacks {
            let start = std::time::Instant::now();
            let result = sanitise(&attack, LinkPolicy::Host);
            to_text(&result.html);
            // Unoptimised; a quadratic pass over these would take minutes.
            assert!(start.elapsed().as_secs() < 10, "{} took {:?}", &attack[..20], start.elapsed());
        }
    }

    #[test]
    fn text_is_laid_out_for_reading() {
        let html = clean(
            "<p>Dear team,</p><p>see below:<br>two lines</p><table><tr><th>Guest</th><th>Room</th></tr>\
             <tr><td></td><td><p>DLX</p></td></tr></table><div>a</div><div><br></div><div>b<br></div><ol><li>one<li>two</ol><ul><li>x</ul>Regards&nbsp; Li",
        );
        assert_eq!(
            to_text(&html),
            "Dear team,\n\nsee below:\ntwo lines\n\nGuest | Room\n| DLX\na\n\nb\n1. one\n2. two\n- x\nRegards Li"
        );
    }

    proptest! {
        #[test]
        fn output_is_regular_and_stable(
            html in "(<|>|/|=|'|\"| |&|;|&lt;|&#60;|</?(p|div|td|tr|table|b|li|ul|script|svg|a|head|font|pre)( style='?display:none'?| colspan=2| href=javascript:x)?/?>|<!--|-->|http://|www\\.|cid:a|\u{200B}|x|中){0,40}"
        ) {
            let once = clean(&html);
            prop_assert!(is_regular(&once), "{}", once);
            prop_assert_eq!(clean(&once), once);
        }

        #[test]
        fn anything_is_survived(html in "\\PC*") {
            prop_assert!(is_regular(&clean(&html)));
            to_text(&html);
        }
    }
}
