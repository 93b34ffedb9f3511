//! E-mail in: from raw bytes to a message that is safe to show to a person and to a model.
//!
//! Pure code: no store, no clock, no network. Every function here accepts any bytes, takes time linear in their
//! number, and never panics: what cannot be decoded is marked in [`Mail::warnings`] or [`Body::degraded`], never lost.
//!
//! The MIME tree is walked by this module ([`mime`]) and not by `mail-parser`, whose tree is recursive without a bound
//! and slow on hostile input; `mail-parser` reads addresses, dates, base64 and HTML entities.

mod charset;
mod demo;
mod header;
pub mod html;
mod mime;
mod param;
pub mod source;
mod text;
mod transfer;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use demo::demo;

/// One e-mail, decoded and made safe. Header names and meanings are those of RFC 5322.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mail {
    /// Message-ID without angle brackets; `None` when the mail has none.
    pub message_id: Option<String>,
    /// Message ids of In-Reply-To, in order, without angle brackets.
    pub in_reply_to: Vec<String>,
    /// Message ids of References, in order, each once, however many there are.
    pub references: Vec<String>,
    /// Subject on one line; empty when the mail has none.
    pub subject: String,
    /// The author: the first From entry that is an address.
    pub from: Option<Address>,
    /// To addresses, groups flattened.
    pub to: Vec<Address>,
    /// Cc addresses, groups flattened.
    pub cc: Vec<Address>,
    /// Date in milliseconds since the Unix epoch; `None` when absent or unreadable.
    pub date_ms: Option<i64>,
    /// What the sender wrote.
    pub body: Body,
    /// Everything that is not body, inline images and enclosed messages included.
    pub attachments: Vec<Attachment>,
    /// What a reader should know about how this mail was read.
    pub warnings: Vec<MailWarning>,
}

/// A mailbox. `Display` writes `Name <local@domain>`, or the bare address without a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Address {
    /// Display name, decoded.
    pub name: Option<String>,
    /// The address as written; may be malformed, since nothing is sent to it.
    pub email: String,
}

/// The body of a message in the two forms that are shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Body {
    /// Plain text with `\n` line ends: the sender's own, else made from the sanitised HTML.
    pub text: String,
    /// Sanitised HTML (see [`html::sanitise`]); `None` without HTML or past a cap.
    pub html: Option<String>,
    /// Which of the two a reader should be shown.
    pub render_mode: RenderMode,
    /// Why the body is less than what was sent, if it is.
    pub degraded: Option<DegradedReason>,
}

/// What a reader is shown. Contract: `html_render_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RenderMode {
    /// Sanitised HTML is there.
    SanitizedHtml,
    /// Only text is there.
    TextOnly,
    /// The message has no body.
    Empty,
}

/// Why a body is less than what was sent. Contract: `html_degraded_reason`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DegradedReason {
    /// The HTML exceeds [`html::MAX_BYTES`].
    TooLarge,
    /// The HTML nests deeper than [`html::MAX_DEPTH`], or the MIME parts deeper than is followed.
    TooDeep,
    /// Much of the text could not be decoded.
    Undecodable,
    /// The body is encrypted.
    Encrypted,
    /// The only body is in a winmail.dat.
    TnefUnreadable,
    /// The body was left out of an answer to stay within its byte budget.
    OverBudget,
}

/// A file that came with the mail. Its content stays in the raw message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// The name as sent, which may look like a path and must never be used as one; empty when there is none.
    pub name: String,
    /// Size in bytes after transfer decoding.
    pub size: u64,
    /// Media type in lower case, such as `application/pdf`.
    pub content_type: String,
}

/// Something a reader should know about how a mail was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MailWarning {
    /// Stable code, such as `HIDDEN_CONTENT_REMOVED`.
    pub code: &'static str,
    /// One sentence for a person.
    pub message: String,
}

/// What becomes of a URL in text. Configuration: `[hotel] text_links`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkPolicy {
    /// `https://example.com/a?b` becomes `[link: example.com]`.
    #[default]
    Host,
    /// URLs stay as written.
    Keep,
}

/// Reads a raw message (RFC 5322, MIME). Always answers; anything lost on the way is in the warnings.
pub fn parse(raw: &[u8], links: LinkPolicy) -> Mail {
    let raw = mime::with_line_feeds(raw);
    let message = mime::read(&raw);
    let headers = &message.headers;
    let mut warnings = message.warnings;
    let (mut body, body_warnings) = body(message.text.as_deref(), message.html.as_deref(), links);
    warnings.extend(body_warnings);
    body.degraded = message.degraded.or(body.degraded);
    if body.degraded == Some(DegradedReason::Undecodable) && body.html.take().is_some() {
        body.render_mode = RenderMode::TextOnly;
    }
    let date_ms = headers.date_ms();
    if date_ms.is_none() {
        warnings.push(MailWarning::new("NO_DATE", "The mail has no readable date."));
    }
    Mail {
        message_id: headers.ids("message-id").into_iter().next(),
        in_reply_to: headers.ids("in-reply-to"),
        references: headers.ids("references"),
        subject: text::one_line(&headers.text("subject"), links),
        from: headers.sender(),
        to: headers.addresses("to"),
        cc: headers.addresses("cc"),
        date_ms,
        body,
        attachments: message.attachments,
        warnings,
    }
}

/// Makes a body of text and HTML that came already decoded, as in an AgentBus message, by the same rules as [`parse`].
pub fn body(text: Option<&str>, html: Option<&str>, links: LinkPolicy) -> (Body, Vec<MailWarning>) {
    let sanitised = html.map(|html| html::sanitise(html, links));
    let plain = text.filter(|text| !text.trim().is_empty()).map(|text| text::clean(text, links));
    let hidden = sanitised.as_ref().is_some_and(|html| html.hidden_removed)
        || plain.as_ref().is_some_and(|plain| plain.hidden_removed);
    let dropped = sanitised.as_ref().is_some_and(|html| html.content_dropped);
    let degraded = sanitised.as_ref().and_then(|html| html.degraded);
    let from_html = sanitised.as_ref().map(|sanitised| html::to_text(&sanitised.html)).unwrap_or_default();
    let html =
        sanitised.filter(|_| degraded.is_none() && !from_html.is_empty()).map(|sanitised| sanitised.html);
    let text = plain.map(|plain| plain.text).filter(|text| !text.is_empty()).unwrap_or(from_html);
    let render_mode = match (&html, text.is_empty()) {
        (Some(_), _) => RenderMode::SanitizedHtml,
        (None, false) => RenderMode::TextOnly,
        (None, true) => RenderMode::Empty,
    };

    let mut warnings = Vec::new();
    if hidden {
        warnings.push(MailWarning::new(
            "HIDDEN_CONTENT_REMOVED",
            "The mail holds text or characters that a person would not see; they were removed.",
        ));
    }
    if dropped {
        warnings.push(MailWarning::new(
            "CONTENT_DROPPED",
            "The mail holds text inside elements that are not shown here, such as forms and embedded objects; it is \
             in the raw message only.",
        ));
    }
    (Body { text, html, render_mode, degraded }, warnings)
}

impl MailWarning {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl RenderMode {
    /// The contract's spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SanitizedHtml => "SANITIZED_HTML",
            Self::TextOnly => "TEXT_ONLY",
            Self::Empty => "EMPTY",
        }
    }
}

impl DegradedReason {
    /// The contract's spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TooLarge => "TOO_LARGE",
            Self::TooDeep => "TOO_DEEP",
            Self::Undecodable => "UNDECODABLE",
            Self::Encrypted => "ENCRYPTED",
            Self::TnefUnreadable => "TNEF_UNREADABLE",
            Self::OverBudget => "OVER_BUDGET",
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(formatter, "{name} <{}>", self.email),
            None => formatter.write_str(&self.email),
        }
    }
}

impl fmt::Display for RenderMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Display for DegradedReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
