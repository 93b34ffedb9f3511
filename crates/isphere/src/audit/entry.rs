//! What one line of the trail holds, and how it is sealed.
//!
//! A line is one JSON object. Its last member is `mac`: the HMAC over all bytes of the line before `,"mac"`. The next
//! line's `prev` is the SHA-256 over all bytes of this one, without its line end.

use std::io::Write as _;

use govern::audit::Record;
use govern::hex::hex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::key::StateKey;

/// No line is longer, in bytes; the bounds of its texts see to that.
pub const MOST_BYTES: usize = 64 << 10;
/// Most characters that a text keeps. Ids and names are far shorter; what an agent made up may not be.
const MOST_CHARACTERS: usize = 1_000;
/// Most bytes of `detail`.
const MOST_DETAIL: usize = 16 << 10;
/// What the MAC of a line is made for.
const DOMAIN: &str = "audit record";
/// Bytes of `,"mac":"`, 64 digits and `"}`.
const MAC_MEMBER: usize = 8 + 64 + 2;

/// What a record says: who called what, how it ended. Ids, codes and digests; never content or secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When the call came, RFC 3339 in UTC.
    pub at: String,
    /// Our id for it.
    pub request_id: String,
    /// The caller's id of the whole undertaking.
    pub trace_id: Option<String>,
    /// The operator.
    pub caller: String,
    /// mcp-http, mcp-stdio, rest or cli; `repair` for what the trail itself records.
    pub channel: String,
    /// The tool, or what was asked for in its stead.
    pub operation: String,
    /// read or write; none for a tool that does not exist.
    pub effect: Option<String>,
    /// ok, error or refused.
    pub outcome: String,
    /// The error code.
    pub code: Option<String>,
    /// The id of what it was about.
    pub target: Option<String>,
    /// The digest of what was acted with.
    pub digest: Option<String>,
    /// How long it took, microseconds.
    pub duration_us: u64,
    /// Further fields of the contract's audit object: source, execution_mode, content_sha256 and the like.
    pub detail: Option<Value>,
}

/// A record as the trail keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its place in the trail.
    #[serde(flatten)]
    pub place: Place,
    /// What it says.
    #[serde(flatten)]
    pub event: Event,
    /// Hex HMAC of the line.
    pub mac: String,
}

/// The place of a record in the trail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its number, from 1.
    pub seq: i64,
    /// The digest of the line before; 64 zeros for the first.
    pub prev: String,
    /// The UTC day in whose file it stands, so that a renamed file is noticed.
    pub day: String,
}

impl Event {
    /// The event of a call. Texts that are too long are cut; a detail that is too long gives way to its length.
    pub fn of_call(record: &Record) -> Self {
        let optional = |text: Option<&str>| text.map(bounded);
        Self {
            at: govern::time::iso(record.at_ms),
            request_id: bounded(&record.request_id),
            trace_id: optional(record.trace_id.as_deref()),
            caller: bounded(&record.caller),
            channel: record.channel.as_str().to_owned(),
            operation: bounded(&record.operation),
            effect: record.effect.map(|effect| effect.as_str().to_owned()),
            outcome: record.outcome.as_str().to_owned(),
            code: optional(record.code.as_deref()),
            target: optional(record.target.as_deref()),
            digest: optional(record.digest.as_deref()),
            duration_us: record.duration_us,
            detail: record.detail.as_deref().map(bounded_detail),
        }
    }

    /// The event of a torn end that was cut off.
    pub(super) fn of_repair(at_ms: i64, bytes: u64, sha256: &str) -> Self {
        Self {
            at: govern::time::iso(at_ms),
            request_id: "-".to_owned(),
            trace_id: None,
            caller: "countersign".to_owned(),
            channel: "repair".to_owned(),
            operation: "audit_repair".to_owned(),
            effect: None,
            outcome: "ok".to_owned(),
            code: None,
            target: None,
            digest: None,
            duration_us: 0,
            detail: Some(json!({"cut_bytes": bytes, "cut_sha256": sha256})),
        }
    }

    /// The line of this event at a place, with its line end.
    pub(super) fn to_line(&self, place: &Place, key: &StateKey) -> Vec<u8> {
        #[derive(Serialize)]
        struct Body<'a> {
            #[serde(flatten)]
            place: &'a Place,
            #[serde(flatten)]
            event: &'a Event,
        }
        let mut line =
            serde_json::to_vec(&Body { place, event: self }).expect("strings and numbers always serialise");
        line.pop();
        let mac = hex(&key.authenticate(DOMAIN, &line));
        writeln!(line, r#","mac":"{mac}"}}"#).expect("writing to memory cannot fail");
        line
    }
}

/// Whether a line (without its line end) was made with the key and is unchanged.
pub(super) fn is_authentic(line: &[u8], key: &StateKey) -> bool {
    let Some((body, member)) = line.len().checked_sub(MAC_MEMBER).map(|at| line.split_at(at)) else {
        return false;
    };
    member == format!(r#","mac":"{}"}}"#, hex(&key.authenticate(DOMAIN, body))).as_bytes()
}

/// The digest of a line, without its line end, for the line after it.
pub(super) fn digest(line: &[u8]) -> String {
    hex(&Sha256::digest(line))
}

fn bounded(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn bounded_detail(text: &str) -> Value {
    if text.len() > MOST_DETAIL {
        return json!({"left_out_bytes": text.len()});
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(bounded(text)))
}

#[cfg(test)]
mod tests {
    use govern::audit::{Channel, Ending};
    use govern::tool::Effect;

    use super::*;

    fn record() -> Record {
        Record {
            at_ms: 1_796_049_720_123,
            request_id: "req-1".into(),
            trace_id: None,
            caller: "desk".into(),
            channel: Channel::McpStdio,
            operation: "isphere_search_contacts".into(),
            effect: Some(Effect::Read),
            outcome: Ending::Ok,
            code: None,
            target: Some("contact:u-1".into()),
            digest: None,
            duration_us: 42,
            detail: Some("{\n\"source\": \"mock\"}".into()),
        }
    }

    fn place() -> Place {
        Place { seq: 1, prev: govern::audit::head::GENESIS.into(), day: "2026-11-30".into() }
    }

    #[test]
    fn a_line_reads_as_documented() {
        let line = Event::of_call(&record()).to_line(&place(), &StateKey::new([7; 32]));
        insta::assert_snapshot!(String::from_utf8(line).unwrap());
    }

    #[test]
    fn a_line_is_read_back_as_it_was_written() {
        let event = Event::of_call(&record());
        let line = event.to_line(&place(), &StateKey::new([7; 32]));
        let entry: Entry = serde_json::from_slice(&line).unwrap();
        assert_eq!((entry.place, entry.event), (place(), event));
    }

    #[test]
    fn only_the_unchanged_line_under_its_own_key_is_authentic() {
        let key = StateKey::new([7; 32]);
        let mut line = Event::of_call(&record()).to_line(&place(), &key);
        line.pop();
        assert!(is_authentic(&line, &key));
        assert!(!is_authentic(&line, &StateKey::new([8; 32])));
        assert!(!is_authentic(&line[1..], &key));
        assert!(!is_authentic(b"{}", &key));
        for index in 0..line.len() {
            line[index] ^= 0x20;
            assert!(!is_authentic(&line, &key), "byte {index}");
            line[index] ^= 0x20;
        }
    }

    #[test]
    fn whatever_a_record_holds_its_line_is_bounded() {
        // A control character takes six bytes as JSON.
        let long = "\u{1}".repeat(100_000);
        for detail in [format!("{{\"a\":\"{}\"}}", "x".repeat(MOST_DETAIL)), "\u{1}".repeat(MOST_DETAIL)] {
            let record = Record {
                request_id: long.clone(),
                trace_id: Some(long.clone()),
                caller: long.clone(),
                operation: long.clone().into(),
                code: Some(long.clone().into()),
                target: Some(long.clone()),
                digest: Some(long.clone()),
                detail: Some(detail),
                ..record()
            };
            let line = Event::of_call(&record).to_line(&place(), &StateKey::new([7; 32]));
            assert!(line.len() <= MOST_BYTES + 1, "{}", line.len());
        }
    }
}
