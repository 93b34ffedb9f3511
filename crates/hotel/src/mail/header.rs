//! Header fields: the block (RFC 5322), encoded words (RFC 2047), message ids, addresses, dates.

use std::borrow::Cow;
use std::collections::HashSet;

use govern::text::visible;
use jiff::fmt::rfc2822;
use mail_parser::parsers::MessageStream;
use mail_parser::{DateTime, HeaderValue};

use super::param::Parameterised;
use super::{Address, charset, transfer};

/// The fields of one header block, in order, unfolded but not decoded.
pub(super) struct Headers<'a> {
    fields: Vec<(&'a str, Cow<'a, [u8]>)>,
}

impl<'a> Headers<'a> {
    /// Splits a part into its header block and its body. Bytes without a header are all body.
    pub fn split(part: &'a [u8]) -> (Self, &'a [u8]) {
        let mut fields: Vec<(&str, Cow<[u8]>)> = Vec::new();
        let mut rest = part;
        while !rest.is_empty() {
            let (line, after) = next_line(rest);
            if line.trim_ascii().is_empty() {
                return (Self { fields }, after);
            }
            let folded = matches!(line[0], b' ' | b'\t');
            match (field(line).filter(|_| !folded), fields.last_mut()) {
                (Some((name, value)), _) => fields.push((name, Cow::Borrowed(value))),
                // A line that lost its indentation is followed by another field; anything else begins the body.
                (None, Some((_, value))) if folded || field(next_line(after).0).is_some() => {
                    value.to_mut().extend_from_slice(if folded { b"" } else { b" " });
                    value.to_mut().extend_from_slice(line);
                }
                (None, None) if is_mbox_mark(line) => {}
                (None, _) => return (Self { fields }, rest),
            }
            rest = after;
        }
        (Self { fields }, rest)
    }

    /// The raw value of the first field of that name (lower case).
    pub fn raw(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    /// The first field of that name as text, encoded words decoded; empty when absent.
    pub fn text(&self, name: &str) -> String {
        self.raw(name).map(decode_words).unwrap_or_default().trim().to_owned()
    }

    /// The first field of that name as a value with parameters, such as Content-Type.
    pub fn parameterised(&self, name: &str) -> Parameterised {
        self.raw(name).map(Parameterised::parse).unwrap_or_default()
    }

    /// The message ids in all fields of that name, each once, without angle brackets.
    pub fn ids(&self, name: &str) -> Vec<String> {
        let mut seen = HashSet::new();
        self.all(name).flat_map(message_ids).filter(|id| seen.insert(id.clone())).collect()
    }

    /// The addresses in all fields of that name, groups flattened.
    pub fn addresses(&self, name: &str) -> Vec<Address> {
        self.all(name).flat_map(addresses).collect()
    }

    /// The author: the first From entry that is an address, else the first.
    pub fn sender(&self) -> Option<Address> {
        let mut authors = self.addresses("from");
        let first = authors.iter().position(|author| author.email.contains('@')).unwrap_or_default();
        (first < authors.len()).then(|| authors.swap_remove(first))
    }

    /// The Date field, in milliseconds since the Unix epoch.
    pub fn date_ms(&self) -> Option<i64> {
        let text = without_zone_names(&self.text("date"));
        let lenient = |date: Option<DateTime>| date.filter(|date| date.is_valid() && date.year >= 1970);
        lenient(DateTime::parse_rfc822(&format!("{text}\n")))
            .or_else(|| lenient(DateTime::parse_rfc3339(&text)))
            .map(|date| date.to_timestamp() * 1000)
            // The only reader of the three that knows a time without seconds.
            .or_else(|| Some(rfc2822::DateTimeParser::new().parse_timestamp(&text).ok()?.as_millisecond()))
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.fields
            .iter()
            .filter(move |(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_ref())
    }
}

/// `GMT+08:00` as `+0800`, which is how the zone should have been written.
fn without_zone_names(date: &str) -> String {
    let Some((time, offset)) = date.split_once("GMT").or_else(|| date.split_once("UTC")) else {
        return date.to_owned();
    };
    let digits: String = offset.chars().filter(char::is_ascii_digit).collect();
    match (offset.chars().next(), digits.len()) {
        (Some(sign @ ('+' | '-')), 4) => format!("{time}{sign}{digits}"),
        (Some(sign @ ('+' | '-')), 1 | 2) => format!("{time}{sign}{digits:0>2}00"),
        _ => date.to_owned(),
    }
}

/// A field value as text. Adjacent encoded words of one charset are joined before decoding, because senders split them
/// inside a character; bytes outside encoded words are decoded by guess, because senders leave them raw.
pub(super) fn decode_words(value: &[u8]) -> String {
    segments(value).into_iter().map(|segment| segment.text).collect()
}

/// The first line of `bytes` without its line end, and what follows it.
pub(super) fn next_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
    let line = bytes[..end].strip_suffix(b"\n").unwrap_or(&bytes[..end]);
    (line.strip_suffix(b"\r").unwrap_or(line), &bytes[end..])
}

/// `Name: value`, if the line is a field.
pub(super) fn field(line: &[u8]) -> Option<(&str, &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = line[..colon].trim_ascii_end();
    let is_name = !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    let name = std::str::from_utf8(name).ok().filter(|_| is_name)?;
    Some((name, &line[colon + 1..]))
}

fn is_mbox_mark(line: &[u8]) -> bool {
    line.starts_with(b"From ") || line.starts_with(b">From ")
}

/// A stretch of a field value.
struct Segment {
    text: String,
    encoded: bool,
}

/// One encoded word: charset label, encoding letter, text.
struct Word<'a> {
    charset: &'a [u8],
    is_base64: bool,
    text: &'a [u8],
}

fn segments(value: &[u8]) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut run: Vec<Word> = Vec::new();
    let mut plain_start = 0;
    let mut at = 0;
    while at < value.len() {
        let Some((word, length)) =
            (value[at..].starts_with(b"=?")).then(|| encoded_word(&value[at..])).flatten()
        else {
            at += 1;
            continue;
        };
        let gap = &value[plain_start..at];
        let adjacent = !run.is_empty() && gap.trim_ascii().is_empty();
        if !adjacent || run.last().is_some_and(|last| !last.charset.eq_ignore_ascii_case(word.charset)) {
            flush_words(&mut run, &mut segments);
        }
        if !adjacent {
            push_plain(gap, &mut segments);
        }
        run.push(word);
        at += length;
        plain_start = at;
    }
    flush_words(&mut run, &mut segments);
    push_plain(&value[plain_start..], &mut segments);
    segments
}

fn push_plain(bytes: &[u8], segments: &mut Vec<Segment>) {
    if !bytes.is_empty() {
        segments.push(Segment { text: charset::decode("", bytes).text, encoded: false });
    }
}

fn flush_words(run: &mut Vec<Word>, segments: &mut Vec<Segment>) {
    let Some(label) = run.first().map(|word| String::from_utf8_lossy(word.charset).into_owned()) else {
        return;
    };
    let mut bytes = Vec::new();
    // Base64 that was cut between words at no boundary of its own is one base64 text.
    let mut open_base64: Vec<u8> = Vec::new();
    for word in run.drain(..) {
        if word.is_base64 {
            open_base64.extend_from_slice(word.text);
            if word.text.ends_with(b"=") || open_base64.len().is_multiple_of(4) {
                bytes.extend(transfer::base64(&open_base64).unwrap_or_default());
                open_base64.clear();
            }
        } else {
            let spaced: Vec<u8> =
                word.text.iter().map(|byte| if *byte == b'_' { b' ' } else { *byte }).collect();
            bytes.extend(transfer::unescape(b'=', &spaced));
        }
    }
    bytes.extend(transfer::base64(&open_base64).unwrap_or_default());
    segments.push(Segment { text: charset::decode(&label, &bytes).text, encoded: true });
}

/// The encoded word at the start of `bytes` and its length. Longer than the RFC's 75 characters is accepted.
fn encoded_word(bytes: &[u8]) -> Option<(Word<'_>, usize)> {
    const LONGEST_CHARSET: usize = 64;
    let charset_end = 2 + bytes[2..].iter().take(LONGEST_CHARSET).position(|byte| *byte == b'?')?;
    let charset = bytes[2..charset_end].split(|byte| *byte == b'*').next().unwrap_or_default();
    let is_base64 = match bytes.get(charset_end + 1)? {
        b'B' | b'b' => true,
        b'Q' | b'q' => false,
        _ => return None,
    };
    if charset.is_empty() || bytes.get(charset_end + 2) != Some(&b'?') {
        return None;
    }
    let text = &bytes[charset_end + 3..];
    // A word holds no `?`; one is allowed for senders who do not know, and no more, so that the whole stays linear.
    let mut end = text.iter().position(|byte| *byte == b'?')?;
    if text.get(end + 1) != Some(&b'=') && !is_base64 {
        end += 1 + text[end + 1..].iter().position(|byte| *byte == b'?')?;
    }
    (text.get(end + 1) == Some(&b'='))
        .then(|| (Word { charset, is_base64, text: &text[..end] }, charset_end + 3 + end + 2))
}

/// Ids between angle brackets; from a field without any, its words.
fn message_ids(value: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(value);
    let compact = |id: &str| {
        visible(id).text.chars().filter(|character| !character.is_whitespace()).collect::<String>()
    };
    let bracketed: Vec<String> = text
        .split('<')
        .skip(1)
        .filter_map(|piece| piece.split_once('>'))
        .map(|(id, _)| compact(id))
        .collect();
    let ids = if bracketed.is_empty() {
        text.split_whitespace()
            .map(|word| compact(word.trim_matches(['<', '>'])))
            .filter(|word| word.contains('@'))
            .collect()
    } else {
        bracketed
    };
    ids.into_iter().filter(|id| !id.is_empty()).collect()
}

fn addresses(value: &[u8]) -> Vec<Address> {
    let recoded = recode(value);
    let HeaderValue::Address(list) = MessageStream::new(&recoded).parse_address() else { return Vec::new() };
    let clean = |text: &str| visible(text).text.split_whitespace().collect::<Vec<_>>().join(" ");
    list.iter()
        .filter_map(|address| {
            let name = address.name.as_deref().map(clean).filter(|name| !name.is_empty());
            let email =
                address.address.as_deref().map(|email| clean(email).replace(' ', "")).unwrap_or_default();
            match (name, email.is_empty()) {
                (None, true) => None,
                // `<>` or a name alone: what is there is kept where a reader looks for it.
                (Some(name), true) => Some(Address { name: None, email: name }),
                (name, false) => Some(Address { name: name.filter(|name| *name != email), email }),
            }
        })
        .collect()
}

/// The field as UTF-8 with each run of encoded words as one, which is what the address reader understands.
fn recode(value: &[u8]) -> Vec<u8> {
    use base64::Engine as _;
    let mut recoded = String::with_capacity(value.len() + 1);
    for segment in segments(value) {
        if segment.encoded {
            let encoded = base64::engine::general_purpose::STANDARD.encode(&segment.text);
            // The reader looks for a word only where a token begins.
            if !recoded.ends_with([' ', '"', '(']) {
                recoded.push(' ');
            }
            recoded.push_str("=?utf-8?B?");
            recoded.push_str(&encoded);
            recoded.push_str("?=");
        } else {
            recoded.push_str(&segment.text.replace(['\r', '\n'], " "));
        }
    }
    recoded.push('\n');
    recoded.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(text: &str) -> Headers<'_> {
        Headers::split(text.as_bytes()).0
    }

    #[test]
    fn words_split_inside_a_character_are_joined() {
        // 中文 in UTF-8 base64, cut after four of its six bytes; in GBK quoted-printable, cut after three of four.
        assert_eq!(decode_words(b"=?UTF-8?B?5Lit5g==?=\r\n =?utf-8?B?loc=?= ok"), "中文 ok");
        assert_eq!(decode_words(b"=?gb2312?Q?=D6=D0=CE?= =?gb2312?Q?=C4?="), "中文");
    }

    #[test]
    fn base64_cut_at_no_boundary_is_joined() {
        assert_eq!(decode_words(b"=?utf-8?B?5Lit5pa?= =?utf-8?B?H?="), "中文");
    }

    #[test]
    fn space_between_words_goes_and_around_them_stays() {
        assert_eq!(decode_words(b"Re: =?utf-8?Q?a_b?= =?iso-8859-1?Q?=E9?= c"), "Re: a bé c");
    }

    #[test]
    fn what_only_looks_like_a_word_stays() {
        for text in ["=?utf-8?X?abc?=", "=?utf-8?B?abc", "a=?b", "=??Q?x?="] {
            assert_eq!(decode_words(text.as_bytes()), text);
        }
    }

    #[test]
    fn raw_gbk_in_a_header_is_read() {
        let raw = encoding_rs::GBK.encode("预订确认函").0.into_owned();
        assert_eq!(decode_words(&raw), "预订确认函");
    }

    #[test]
    fn references_keep_order_and_drop_repeats() {
        let headers = headers("References: <a@x> <b@x>\r\n\t<a@x>\r\n <c@x>\r\nReferences: <d@x>\r\n\r\n");
        assert_eq!(headers.ids("references"), ["a@x", "b@x", "c@x", "d@x"]);
    }

    #[test]
    fn an_id_without_brackets_is_accepted_and_prose_is_not() {
        assert_eq!(headers("Message-ID: a1@x\n\n").ids("message-id"), ["a1@x"]);
        assert_eq!(headers("In-Reply-To: your message of Monday\n\n").ids("in-reply-to"), [""; 0]);
    }

    #[test]
    fn addresses_come_with_names_groups_and_comments() {
        let headers = headers(concat!(
            "To: \"=?gb2312?B?1cXI/Q==?=\" <zhang@example.cn>, team: a@example.com, b@example.com;,\r\n",
            " =?utf-8?Q?Li=2C_Si?= <li@example.cn>, plain@example.org (Front Desk)\r\n\r\n"
        ));
        let shown: Vec<String> = headers.addresses("to").iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "张三 <zhang@example.cn>",
                "a@example.com",
                "b@example.com",
                "Li, Si <li@example.cn>",
                "Front Desk <plain@example.org>"
            ]
        );
    }

    #[test]
    fn an_unquoted_comma_does_not_hide_the_sender() {
        let headers = headers("From: Smith, John <john@example.com>\n\n");
        assert_eq!(headers.sender().unwrap().email, "john@example.com");
    }

    #[test]
    fn dates_are_read_leniently() {
        for text in [
            "Mon, 30 Nov 2026 08:00:00 +0800 (CST)",
            "30 Nov 2026 00:00 GMT",
            "Mon, 30 Nov 2026 8:00:00 GMT+08:00",
            "30 Nov 2026 08:00:00 UTC+8",
            "Mon, 30 Nov 2026 00:00:00 -0000",
            "2026-11-30T00:00:00Z",
        ] {
            assert_eq!(headers(&format!("Date: {text}\n\n")).date_ms(), Some(1_795_996_800_000), "{text}");
        }
        assert_eq!(headers("Date: soon\n\n").date_ms(), None);
    }

    #[test]
    fn a_line_that_lost_its_indentation_stays_in_the_header() {
        let (headers, body) = Headers::split(b"Subject: long\ncontinued\nFrom: a@x\n\nbody");
        assert_eq!((headers.text("subject").as_str(), body), ("long continued", &b"body"[..]));
    }

    #[test]
    fn a_missing_blank_line_loses_no_body() {
        let (_, body) = Headers::split(b"Subject: x\nHello there\nbye");
        assert_eq!(body, b"Hello there\nbye");
    }

    #[test]
    fn bytes_without_a_header_are_body() {
        let (headers, body) = Headers::split(b"Just text here\nmore");
        assert!(headers.fields.is_empty());
        assert_eq!(body, b"Just text here\nmore");
    }
}
