//! The MIME tree (RFC 2045, 2046): which parts are the body, which are attachments.
//!
//! Each level scans its bytes once and the depth is bounded, so that no message costs more than linear time.

use std::borrow::Cow;

use super::header::{Headers, next_line};
use super::param::Parameterised;
use super::{Attachment, DegradedReason, LinkPolicy, MailWarning, charset, html, text, transfer};

/// Multiparts inside multiparts; a deeper one is kept whole as an attachment.
const MAX_DEPTH: usize = 30;
/// Parts in a message; what follows is kept whole as an attachment.
const MAX_PARTS: usize = 1000;

/// A message taken apart, not yet made safe.
pub(super) struct Message<'a> {
    pub headers: Headers<'a>,
    pub text: Option<String>,
    pub html: Option<String>,
    pub attachments: Vec<Attachment>,
    pub degraded: Option<DegradedReason>,
    pub warnings: Vec<MailWarning>,
}

/// Old Macintosh files end their lines with a carriage return alone.
pub(super) fn with_line_feeds(raw: &[u8]) -> Cow<'_, [u8]> {
    let raw = raw.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(raw);
    if raw.contains(&b'\n') {
        return Cow::Borrowed(raw);
    }
    Cow::Owned(raw.iter().map(|byte| if *byte == b'\r' { b'\n' } else { *byte }).collect())
}

/// Takes a message apart.
pub(super) fn read(raw: &[u8]) -> Message<'_> {
    let (headers, content) = Headers::split(raw);
    let mut walk = Walk::default();
    let place = Place { depth: 0, in_alternative: false, is_root: true, in_digest: false };
    let pieces = walk.part(&headers, content, place);
    let (text, html) = assemble(pieces);
    let has_body = text.is_some() || html.is_some();
    Message {
        degraded: walk.degraded(has_body),
        warnings: walk.warnings(),
        attachments: walk.attachments,
        headers,
        text,
        html,
    }
}

/// One contribution to the body, in either or both forms.
#[derive(Default)]
struct Piece {
    text: Option<String>,
    html: Option<String>,
}

/// Where in the tree a part stands.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    in_alternative: bool,
    is_root: bool,
    in_digest: bool,
}

/// What was met on the way through the tree.
#[derive(Default)]
struct Walk {
    parts: usize,
    attachments: Vec<Attachment>,
    /// Characters of the body, and those of them that could not be decoded.
    characters: usize,
    undecoded: usize,
    guessed: bool,
    cut_short: bool,
    /// Why a body may be inside a part that cannot be read.
    sealed: Option<DegradedReason>,
}

impl Walk {
    fn part(&mut self, headers: &Headers, content: &[u8], place: Place) -> Vec<Piece> {
        self.parts += 1;
        let mut content_type = headers.parameterised("content-type");
        if !content_type.value.contains('/') {
            content_type.value = String::from(if place.in_digest { "message/rfc822" } else { "text/plain" });
        }
        let disposition = headers.parameterised("content-disposition");
        if let Some(kind) = content_type.value.strip_prefix("multipart/") {
            let is_within_bounds = place.depth < MAX_DEPTH && self.parts < MAX_PARTS;
            self.cut_short |= !is_within_bounds;
            if kind == "encrypted" {
                self.sealed = Some(DegradedReason::Encrypted);
            }
            if is_within_bounds && let Some(children) = split_multipart(&content_type, content) {
                return self.multipart(kind, children, place);
            }
            if is_within_bounds {
                content_type.value = String::from("text/plain");
            }
        }
        let decoded = transfer::decode(&headers.text("content-transfer-encoding"), content);
        if is_body(&content_type, &disposition, place) {
            return vec![self.body_piece(&content_type, &decoded)];
        }
        self.attach(&content_type, &disposition, &decoded);
        Vec::new()
    }

    fn multipart(&mut self, kind: &str, children: Vec<&[u8]>, place: Place) -> Vec<Piece> {
        let in_alternative = kind == "alternative" || (place.in_alternative && kind == "related");
        let inner =
            Place { depth: place.depth + 1, in_alternative, is_root: false, in_digest: kind == "digest" };
        let mut pieces = Vec::new();
        for child in children {
            let (headers, content) = Headers::split(child);
            if self.parts < MAX_PARTS {
                pieces.push(self.part(&headers, content, inner));
            } else {
                self.cut_short = true;
                self.attach(
                    &headers.parameterised("content-type"),
                    &headers.parameterised("content-disposition"),
                    content,
                );
            }
        }
        if kind == "alternative" { vec![choose(pieces)] } else { pieces.into_iter().flatten().collect() }
    }

    fn body_piece(&mut self, content_type: &Parameterised, bytes: &[u8]) -> Piece {
        let is_html = content_type.value == "text/html";
        let named = content_type.parameter("charset").unwrap_or_default();
        let label = if named.is_empty() && is_html { charset_in_html(bytes) } else { named.to_owned() };
        let decoded = charset::decode(&label, bytes);
        self.guessed |= decoded.guessed;
        self.characters += decoded.text.chars().count();
        self.undecoded +=
            decoded.text.chars().filter(|character| *character == char::REPLACEMENT_CHARACTER).count();
        if is_html {
            return Piece { text: None, html: Some(decoded.text) };
        }
        let has = |name, value: &str| {
            content_type.parameter(name).is_some_and(|found| found.eq_ignore_ascii_case(value))
        };
        let text = if has("format", "flowed") {
            text::unflow(&decoded.text, has("delsp", "yes"))
        } else {
            decoded.text
        };
        Piece { text: Some(text), html: None }
    }

    fn attach(&mut self, content_type: &Parameterised, disposition: &Parameterised, bytes: &[u8]) {
        let given =
            disposition.parameter("filename").or_else(|| content_type.parameter("name")).unwrap_or_default();
        let mut name = text::one_line(given, LinkPolicy::Keep);
        if name.is_empty() && content_type.value == "message/rfc822" {
            let subject = text::one_line(&Headers::split(bytes).0.text("subject"), LinkPolicy::Host);
            name = format!("{}.eml", if subject.is_empty() { "message" } else { &subject });
        }
        let kind = content_type.value.strip_prefix("application/").unwrap_or_default();
        if matches!(kind, "pkcs7-mime" | "x-pkcs7-mime") {
            self.sealed = Some(DegradedReason::Encrypted);
        } else if matches!(kind, "ms-tnef" | "vnd.ms-tnef") || name.eq_ignore_ascii_case("winmail.dat") {
            self.sealed = self.sealed.or(Some(DegradedReason::TnefUnreadable));
        }
        let content_type = if content_type.value.is_empty() { "text/plain" } else { &content_type.value };
        self.attachments.push(Attachment {
            name,
            size: bytes.len() as u64,
            content_type: content_type.to_owned(),
        });
    }

    fn degraded(&self, has_body: bool) -> Option<DegradedReason> {
        // A few damaged characters leave a text readable; a tenth of them does not.
        if self.undecoded * 10 > self.characters {
            Some(DegradedReason::Undecodable)
        } else {
            self.sealed.filter(|_| !has_body).or(self.cut_short.then_some(DegradedReason::TooDeep))
        }
    }

    fn warnings(&self) -> Vec<MailWarning> {
        let mut warnings = Vec::new();
        if self.guessed {
            warnings.push(MailWarning::new(
                "CHARSET_GUESSED",
                "The mail does not say truly how its text is encoded; the encoding was guessed.",
            ));
        }
        if self.undecoded > 0 {
            let message = format!("Characters of the body that could not be decoded: {}.", self.undecoded);
            warnings.push(MailWarning::new("CHARACTERS_UNDECODED", message));
        }
        if self.cut_short {
            warnings.push(MailWarning::new(
                "PARTS_NOT_OPENED",
                "The mail has too many parts or nests them too deeply; those beyond the limit are listed as attachments.",
            ));
        }
        warnings
    }
}

/// Whether a leaf is read as body rather than listed as an attachment.
fn is_body(content_type: &Parameterised, disposition: &Parameterised, place: Place) -> bool {
    let is_text = matches!(content_type.value.as_str(), "text/plain" | "text/html");
    let is_file = disposition.parameter("filename").is_some() || content_type.parameter("name").is_some();
    is_text && disposition.value != "attachment" && (!is_file || place.in_alternative || place.is_root)
}

/// Of alternatives, the first text and the richest HTML.
fn choose(alternatives: Vec<Vec<Piece>>) -> Piece {
    let mut chosen = Piece::default();
    for pieces in alternatives {
        let (text, html) = assemble(pieces);
        if chosen.text.is_none() {
            chosen.text = text;
        }
        chosen.html = html.or(chosen.html);
    }
    chosen
}

/// Joins pieces in order. When one has no text of its own the joined HTML holds all of them, and text is made from it.
fn assemble(pieces: Vec<Piece>) -> (Option<String>, Option<String>) {
    let is_filled = |form: &Option<String>| form.as_ref().is_some_and(|form| !form.trim().is_empty());
    let pieces: Vec<Piece> =
        pieces.into_iter().filter(|piece| is_filled(&piece.text) || is_filled(&piece.html)).collect();
    let text = pieces
        .iter()
        .all(|piece| is_filled(&piece.text))
        .then(|| pieces.iter().filter_map(|piece| piece.text.as_deref()).collect::<Vec<_>>().join("\n"));
    let html = pieces.iter().any(|piece| is_filled(&piece.html)).then(|| {
        pieces
            .iter()
            .map(|piece| match (&piece.html, &piece.text) {
                (Some(html), _) => Cow::Borrowed(html.as_str()),
                (None, Some(text)) => Cow::Owned(format!("<pre>{}</pre>", html::escape(text))),
                (None, None) => Cow::Borrowed(""),
            })
            .collect::<String>()
    });
    (text.filter(|text| !text.is_empty()), html)
}

/// The parts between boundary lines; `None` when there is no such line. A missing last boundary ends with the content.
fn split_multipart<'a>(content_type: &Parameterised, content: &'a [u8]) -> Option<Vec<&'a [u8]>> {
    let boundary = match content_type.parameter("boundary") {
        Some(boundary) => boundary.trim_end().as_bytes().to_vec(),
        None => sniff_boundary(content)?,
    };
    let mut parts = Vec::new();
    let mut start = None;
    let mut rest = content;
    while !rest.is_empty() {
        let line_start = content.len() - rest.len();
        let (line, after) = next_line(rest);
        rest = after;
        let Some(mark) = line.strip_prefix(b"--").and_then(|line| line.strip_prefix(boundary.as_slice()))
        else {
            continue;
        };
        let mark = mark.trim_ascii_end();
        if !mark.is_empty() && mark != b"--" {
            continue;
        }
        if let Some(start) = start.replace(content.len() - rest.len()) {
            parts.push(without_last_line_end(&content[start..line_start]));
        }
        if mark == b"--" {
            return Some(parts);
        }
    }
    parts.push(&content[start?..]);
    Some(parts)
}

/// The boundary of a multipart that does not name it: its first line that looks like one.
fn sniff_boundary(content: &[u8]) -> Option<Vec<u8>> {
    let mut rest = content;
    while !rest.is_empty() {
        let (line, after) = next_line(rest);
        rest = after;
        if let Some(boundary) = line.strip_prefix(b"--").filter(|boundary| boundary.len() > 4) {
            return Some(boundary.trim_ascii_end().to_vec());
        }
    }
    None
}

fn without_last_line_end(part: &[u8]) -> &[u8] {
    let part = part.strip_suffix(b"\n").unwrap_or(part);
    part.strip_suffix(b"\r").unwrap_or(part)
}

/// The charset that an HTML page declares about itself, for senders that leave it out of Content-Type.
fn charset_in_html(bytes: &[u8]) -> String {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(2048)]).to_ascii_lowercase();
    let Some((_, after)) = head.split_once("charset=") else { return String::new() };
    after
        .trim_start_matches(['"', '\'', ' '])
        .chars()
        .take_while(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_'))
        .collect()
}
