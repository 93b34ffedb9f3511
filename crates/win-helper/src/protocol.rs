//! The protocol `isphere.helper.v1`: one request, one response (boundary contract, section 5).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::fault::Fault;
use crate::ops::{Data, Operation};

/// The protocol's name; a request with another one is refused.
pub const PROTOCOL: &str = "isphere.helper.v1";
/// The most bytes a request may have.
pub const MOST_REQUEST_BYTES: usize = 64 * 1024;
/// The time limit of a request that names none, in milliseconds.
pub const DEFAULT_TIMEOUT_MS: u64 = 5_000;
/// The longest time limit that may be asked for, in milliseconds.
pub const MOST_TIMEOUT_MS: u64 = 600_000;

/// The most characters of a request_id.
const MOST_ID_CHARS: usize = 128;
/// The most characters of a message that are shown; a message can repeat a name of the request or of a file.
const MOST_MESSAGE_CHARS: usize = 600;

/// A request that was understood.
#[derive(Debug)]
pub struct Request {
    /// By what the response names the request.
    pub identity: Identity,
    /// The time limit, in milliseconds from the start of the process.
    pub timeout_ms: u64,
    /// What to do.
    pub operation: Operation,
}

/// What a response repeats of its request; empty where the request could not be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// The caller's id of the request.
    pub request_id: String,
    /// The op's name.
    pub op: String,
}

/// The one document that is written to stdout.
#[derive(Debug, Serialize)]
pub struct Response {
    protocol: &'static str,
    request_id: String,
    op: String,
    ok: bool,
    data: Option<Data>,
    error: Option<ErrorObject>,
    warnings: Vec<Warning>,
}

#[derive(Debug, Serialize)]
struct ErrorObject {
    code: &'static str,
    message: String,
}

/// Something that the answer leaves out or is unsure of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Warning {
    /// A fixed word (docs/isphere/helper.en.md lists them).
    pub code: &'static str,
    /// A sentence for a person.
    pub message: String,
}

impl Response {
    /// The answer to the request of this identity.
    pub fn new(identity: Identity, outcome: Result<Data, Fault>, warnings: Vec<Warning>) -> Self {
        let (data, error) = match outcome {
            Ok(data) => (Some(data), None),
            Err(fault) => {
                (None, Some(ErrorObject { code: fault.code(), message: shown(&fault.to_string()) }))
            }
        };
        let warnings = warnings
            .into_iter()
            .map(|Warning { code, message }| Warning { code, message: shown(&message) })
            .collect();
        let Identity { request_id, op } = identity;
        Self { protocol: PROTOCOL, request_id, op, ok: data.is_some(), data, error, warnings }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    protocol: String,
    request_id: String,
    op: String,
    #[serde(default, deserialize_with = "present")]
    timeout_ms: Option<u64>,
    #[serde(borrow)]
    args: &'a RawValue,
}

/// Reads a request; a refusal comes with what could be read of its identity. A byte order mark before it and white
/// space around it are accepted.
pub fn parse(bytes: &[u8]) -> Result<Request, (Identity, Fault)> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let refused = |reason: &str| (Identity::default(), Fault::InvalidRequest(reason.to_owned()));
    if bytes.len() > MOST_REQUEST_BYTES {
        return Err(refused(&format!("the request is larger than {MOST_REQUEST_BYTES} bytes")));
    }
    let text =
        std::str::from_utf8(bytes).map_err(|_| refused("the request is not UTF-8; encode it as UTF-8"))?;
    if text.trim().is_empty() {
        return Err(refused("stdin was empty; write one JSON object to it"));
    }
    let identity = identity(text).map_err(|error| refused(&format!("the request is not JSON: {error}")))?;
    match understand(text) {
        Ok((timeout_ms, operation)) => Ok(Request { identity, timeout_ms, operation }),
        Err(fault) => Err((identity, fault)),
    }
}

/// JSON (an object) as `T`; arrays, which serde takes for structs, are refused.
pub fn object<'a, T: Deserialize<'a>>(what: &str, json: &'a str) -> Result<T, Fault> {
    if !json.trim_start().starts_with('{') {
        return Err(Fault::InvalidRequest(format!("{what} must be a JSON object")));
    }
    serde_json::from_str(json).map_err(|error| Fault::InvalidRequest(format!("{what}: {error}")))
}

/// Reads a field that may be left out, but not be null, as no other field may.
pub fn present<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(
    field: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(field).map(Some)
}

fn understand(text: &str) -> Result<(u64, Operation), Fault> {
    let envelope: Envelope = object("the request", text)?;
    if envelope.protocol != PROTOCOL {
        return Err(Fault::InvalidRequest(format!("this helper speaks the protocol {PROTOCOL} only")));
    }
    if !is_id(&envelope.request_id) {
        let limit = format!("request_id must have 1 to {MOST_ID_CHARS} characters");
        return Err(Fault::InvalidRequest(limit));
    }
    let timeout_ms = envelope.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
    within("timeout_ms", timeout_ms, 1..=MOST_TIMEOUT_MS)?;
    let operation = Operation::parse(&envelope.op, envelope.args.get())?;
    Ok((timeout_ms, operation))
}

/// Refuses a number outside `range`; numbers are refused, not clamped.
pub fn within<N: Copy + PartialOrd + std::fmt::Display>(
    field: &str,
    number: N,
    range: std::ops::RangeInclusive<N>,
) -> Result<(), Fault> {
    if range.contains(&number) {
        return Ok(());
    }
    let (least, most) = (range.start(), range.end());
    Err(Fault::InvalidRequest(format!("{field} must be between {least} and {most}, but is {number}")))
}

/// A message as it may be shown to a person: what steers a terminal or hides text is written as an escape, and what is
/// longer than [`MOST_MESSAGE_CHARS`] loses its middle, for the end tells what was expected.
fn shown(message: &str) -> String {
    let mut clean: Vec<char> = Vec::new();
    for character in message.chars() {
        match character {
            '"' | '\'' | '\\' => clean.push(character),
            other => clean.extend(other.escape_debug()),
        }
    }
    if clean.len() > MOST_MESSAGE_CHARS {
        let half = MOST_MESSAGE_CHARS / 2;
        clean.splice(half..clean.len() - half, ['…']);
    }
    clean.into_iter().collect()
}

/// Reads `request_id` and `op` of any JSON value; where they are not short texts they stay empty.
fn identity(text: &str) -> Result<Identity, serde_json::Error> {
    let value: serde_json::Value = serde_json::from_str(text)?;
    let short = |field: &str| {
        let text = value.get(field).and_then(serde_json::Value::as_str).filter(|text| is_id(text));
        text.unwrap_or_default().to_owned()
    };
    Ok(Identity { request_id: short("request_id"), op: short("op") })
}

fn is_id(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= MOST_ID_CHARS
}
