//! The audit trail: rows with a keyed digest each, later chained by the sealer.

use govern::audit::Record;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Serialize;
use sha2::Sha256;

/// The key of the audit trail, kept outside the database.
#[derive(Clone)]
pub struct AuditKey([u8; 32]);

impl std::fmt::Debug for AuditKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("AuditKey(…)")
    }
}

/// A row of audit_event without its digest. Its JSON, in the order of the fields, is what the digest covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Internal id.
    pub audit_id: i64,
    /// When the call began, unix milliseconds.
    pub at: i64,
    /// Our id of the call.
    pub request_id: String,
    /// The caller's.
    pub trace_id: Option<String>,
    /// The token's or the person's name.
    pub caller: String,
    /// mcp-http, mcp-stdio, rest or cli.
    pub channel: String,
    /// The tool, route or command.
    pub operation: String,
    /// read or write; empty when the operation is not known.
    pub effect: String,
    /// ok, error or refused.
    pub outcome: String,
    /// The error code.
    pub code: Option<String>,
    /// The object it was about.
    pub target: Option<String>,
    /// The digest of what was submitted; never the content.
    pub content_sha256: Option<String>,
    /// How long it took, microseconds.
    pub duration_us: i64,
}

impl Event {
    /// The row for a record.
    pub fn from_record(audit_id: i64, record: &Record) -> Self {
        Self {
            audit_id,
            at: record.at_ms,
            request_id: record.request_id.clone(),
            trace_id: record.trace_id.clone(),
            caller: record.caller.clone(),
            channel: record.channel.as_str().to_owned(),
            operation: record.operation.to_string(),
            effect: record.effect.map_or("", govern::tool::Effect::as_str).to_owned(),
            outcome: record.outcome.as_str().to_owned(),
            code: record.code.as_ref().map(ToString::to_string),
            target: record.target.clone(),
            content_sha256: record.digest.clone(),
            duration_us: i64::try_from(record.duration_us).unwrap_or(i64::MAX),
        }
    }
}

impl AuditKey {
    /// A key of 32 bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Hex HMAC-SHA256 over the event's JSON.
    pub fn digest(&self, event: &Event) -> String {
        // An event is a flat struct of strings and numbers, which always serialises.
        self.authenticate(&serde_json::to_vec(event).unwrap_or_default())
    }

    /// Hex HMAC-SHA256 over bytes.
    pub fn authenticate(&self, bytes: &[u8]) -> String {
        let mut mac = self.mac();
        mac.update(bytes);
        hex(&mac.finalize().into_bytes())
    }
}

impl AuditKey {
    /// HMAC takes a key of any length, so this cannot fail.
    fn mac(&self) -> Hmac<Sha256> {
        Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length")
    }
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        write!(text, "{byte:02x}").ok();
        text
    })
}
