//! Mail HTML reduced to structure and text.
//!
//! The output is made only of a fixed set of tags without attributes (but integer colspan and rowspan) and of escaped
//! text, so that it is safe by construction, whatever the input; how well the input is understood decides only how
//! much of its text survives. Time is linear in the input.

mod css;
mod dropped;
mod element;
mod entity;
mod plain;
mod style;
mod token;

use govern::text::visible;

use self::dropped::Dropped;
use self::element::{is_allowed_in_head, is_block, is_cell_or_table, is_table_part, is_void, written_as};
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
    /// Text that a person might have seen was left out with an element that is not shown here.
    pub content_dropped: bool,
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
    let dropped = Dropped::find(input);
    let mut tokens = Tokens::new(input);
    while let Some(token) = tokens.next() {
        match token {
            Token::Text(raw) => sanitiser.text(raw),
            Token::End(name) => sanitiser.end(name),
            Token::Start(tag) => match dropped.skip(&mut tokens, &tag) {
                Some(held_text) => sanitiser.leave_out(&tag, held_text),
                None => sanitiser.start(&tag),
            },
        }
        if sanitiser.output.len() > MAX_OUTPUT {
            sanitiser.degraded = Some(DegradedReason::TooLarge);
            break;
        }
    }
    sanitiser.content_dropped |= tokens.has_swallowed_text;
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
    content_dropped: bool,
    degraded: Option<DegradedReason>,
}

impl<'a> Sanitiser<'a> {
    fn text(&mut self, raw: &str) {
        let text = entity::decode(raw);
        let is_blank = text.trim().is_empty();
        if !is_blank && self.open.last().is_some_and(|frame| frame.name.eq_ignore_ascii_case("head")) {
            // Text ends a head that was left open.
            self.close_last();
        }
        let (dropped, look) = self.state();
        if !dropped && !look.hides_text() {
            self.pending.push_str(&text);
        } else if look.hides_text() && !is_blank {
            self.hidden_removed = true;
        }
    }

    /// Notes that an element is left out with its content.
    fn leave_out(&mut self, tag: &Tag<'a>, held_text: bool) {
        self.close_implied(tag.name, None);
        let (dropped, look) = self.state();
        if held_text && !dropped {
            let is_hidden = tag.name.eq_ignore_ascii_case("template")
                || look.within(tag, self.has_style_sheet).hides_text();
            self.hidden_removed |= is_hidden;
            self.content_dropped |= !is_hidden;
        }
    }

    fn start(&mut self, tag: &Tag<'a>) {
        let written = written_as(tag.name);
        self.close_implied(tag.name, written);
        let (parent_dropped, parent_look) = self.state();
        let look = parent_look.within(tag, self.has_style_sheet);
        let dropped = parent_dropped || look.is_removed || tag.name.eq_ignore_ascii_case("head");
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
        Sanitised {
            html: self.output,
            hidden_removed: self.hidden_removed,
            content_dropped: self.content_dropped,
            degraded: self.degraded,
        }
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
    fn an_element_without_an_end_does_not_swallow_the_rest() {
        for start in [
            "<svg/>",
            "<math />",
            "<svg>",
            "<math>",
            "<object>",
            "<object/>",
            "<select>",
            "<video>",
            "<audio>",
            "<noscript>",
            "<template>",
            "<title>",
            "<textarea>",
            "<xmp>",
            "<iframe>",
            "<noembed>",
            "<noframes>",
            "<plaintext>",
            "<head>",
            "<svg><td></svg>",
            "<select><select></select>",
            "<svg/><svg></svg>",
        ] {
            let result = sanitise(&format!("{start}Two rooms, <b>please</b>"), LinkPolicy::Host);
            assert_eq!(
                (to_text(&result.html).as_str(), result.content_dropped),
                ("Two rooms, please", false),
                "{start}"
            );
        }
    }

    #[test]
    fn visible_text_that_goes_with_its_element_is_reported() {
        for (html, reported) in [
            ("<object>x</object>", true),
            ("<video><p>x</p></video>", true),
            ("<select><option>x</select>", true),
            ("<textarea>x</textarea>", true),
            ("<xmp>x</xmp>", true),
            ("<noscript>x</noscript>", true),
            ("<iframe>x</iframe>", true),
            ("<svg><text>x</text></svg>", true),
            ("<object><textarea>x</textarea></object>", true),
            ("<script>x", true),
            ("<style>x", true),
            ("<!-- x", true),
            ("<a href=\"x>y</a>", true),
            ("<script>x</script><style>x</style><title>x</title>", false),
            ("<head><noscript>x</noscript></head>", false),
            ("<svg><title>x</title><path d=x></svg>", false),
            ("<object> &nbsp; <param name=x></object>", false),
            ("<select hidden><option>x</select>", false),
            ("<!-- x -->", false),
        ] {
            let result = sanitise(&format!("a{html}"), LinkPolicy::Host);
            assert_eq!((result.html.as_str(), result.content_dropped), ("a", reported), "{html}");
        }
        assert!(sanitise("<template>x</template>", LinkPolicy::Host).hidden_removed);
        assert!(sanitise("<select hidden><option>x</select>", LinkPolicy::Host).hidden_removed);
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
            "<p>a<span style='DISPLAY : NONE ! Important'>x</span></p>",
            "<p>a<span style='display:none!important;display:block'>x</span></p>",
            r"<p>a<span style='d\69 splay:none'>x</span></p>",
            r"<p>a<span style='d\000069splay:n\6Fne'>x</span></p>",
            r"<p>a<span style='di\splay:none'>x</span></p>",
            "<p>a<span style='display/* ; */:none'>x</span></p>",
            "<p>a<span style='font-family:\";\";display:none'>x</span></p>",
            "<p>a<span style='font-size:1.9px'>x</span></p>",
            "<p>a<span style='font-size:1PT'>x</span></p>",
            "<p>a<span style='font-size:.1em'>x</span></p>",
            "<p>a<span style='font-size:5%'>x</span></p>",
            "<p>a<span style='font-size:0'><span style='font-size:2em'>x</span></span></p>",
            "<p>a<span style='font:bold 0/0 Arial'>x</span></p>",
            "<p>a<span style='opacity:1%'>x</span></p>",
            "<p>a<span style='position:absolute;left:-9999px'>x</span></p>",
            "<p>a<span style='position: fixed; top: -100em'>x</span></p>",
            "<p>a<span style='text-indent:-1000px'>x</span></p>",
            "<p>a<span style='margin:0 0 0 -9999px'>x</span></p>",
            "<p>a<span style='mso-hide:all'>x</span></p>",
            "<p>a<span style='max-height:0px;overflow:hidden'>x</span></p>",
            "<p>a<span style='height:0 !important;overflow : HIDDEN'>x</span></p>",
            "<p>a<span style='width:1px;overflow-x:clip'>x</span></p>",
            "<p>a<span style='position:absolute;clip:rect(0,0,0,0)'>x</span></p>",
            "<p>a<span style='position:absolute;clip:rect(1px 1px 1px 1px)'>x</span></p>",
            "<p>a<span style='clip-path:inset(50%)'>x</span></p>",
            "<p>a<span style='clip-path:circle(0)'>x</span></p>",
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
            "<table><tr><td style='font:400 12px Arial'>x</td></tr></table>",
            "<table><tr style='font-size:0'><td><font size=2>x</font></td></tr></table>",
            "<table><tr><td style='font-size:calc(1px + 1vw)'>x</td></tr></table>",
            "<table><tr><td style='font-size:80%;height:0'>x</td></tr></table>",
            "<table><tr><td style='font-family:\"a;display:none\"'>x</td></tr></table>",
            "<table><tr><td style='background:url(data:a;display:none)'>x</td></tr></table>",
            "<table><tr><td style='position:relative;left:-20px;text-indent:-18.0pt'>x</td></tr></table>",
            "<table><tr><td style='display:none;display:block!important'>x</td></tr></table>",
            "<table><tr><td style='clip:rect(0,100px,100px,0);overflow:hidden;max-height:100%'>x</td></tr></table>",
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
            "<title>".repeat(50_000),
            "<svg>".repeat(50_000),
            "<svg>".repeat(25_000) + &"</svg>".repeat(25_000),
            "<object><object></object>".repeat(25_000),
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
            html in "(<|>|/|=|'|\"| |&|;|&lt;|&#60;|</?(p|div|td|tr|table|b|li|ul|script|title|svg|object|a|head|font|pre)( style='?display:none'?| colspan=2| href=javascript:x)?/?>|<!--|-->|http://|www\\.|cid:a|\u{200B}|x|中){0,40}"
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
