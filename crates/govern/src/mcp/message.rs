//! From bytes to one JSON-RPC message, strictly.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{Reply, RequestHead, fault::Fault};
use crate::{
    strict::{self, DocumentFault},
    trace,
};

/// One message from a client.
pub(super) enum Message<'a> {
    /// A request with its id as JSON.
    Request {
        /// The id as it stood in the request.
        id: &'a str,
        /// The method.
        method: Cow<'a, str>,
        /// The params, unread.
        params: Option<&'a RawValue>,
    },
    /// A notification, or a response that nobody waits for.
    Notification {
        /// The id that `notifications/cancelled` names.
        cancels: Option<String>,
    },
}

/// The params of all methods in one, for no two disagree about a name. Clients send `null` for what they leave out.
#[derive(Default, Deserialize)]
pub(super) struct Params<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) cursor: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "protocolVersion")]
    pub(super) protocol_version: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "_meta")]
    raw_meta: Option<&'a RawValue>,
    #[serde(skip)]
    pub(super) meta: Meta<'a>,
}

/// The `_meta` keys that matter here.
#[derive(Default, Deserialize)]
pub(super) struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    pub(super) protocol_version: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    pub(super) client_capabilities: Option<&'a RawValue>,
    /// A string or an integer.
    #[serde(borrow, rename = "progressToken")]
    pub(super) progress_token: Option<&'a RawValue>,
    #[serde(borrow)]
    traceparent: Option<Cow<'a, str>>,
}

/// The longest progress token, in bytes, for every report repeats it.
const LONGEST_TOKEN: usize = 1024;

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

impl<'a> Message<'a> {
    /// The message in `raw`, or the error response that says what is wrong with it.
    pub(super) fn parse(raw: &'a [u8]) -> Result<Self, Box<Reply>> {
        let refuse = |fault: Fault, id: Option<&str>| Box::new(fault.reply(id));
        let text = std::str::from_utf8(raw)
            .map_err(|_| refuse(Fault::parse("the request is not valid UTF-8"), None))?;
        strict::check(text).map_err(|fault| {
            let fault = match fault {
                DocumentFault::NotJson(reason) => Fault::parse(format!("the request is not JSON: {reason}")),
                DocumentFault::DuplicateKey => {
                    Fault::request("the request has an object with the same key twice")
                }
                DocumentFault::TooDeep => Fault::request("the request is nested deeper than 64 levels"),
                DocumentFault::NumberTooLarge(path) => Fault::params(format!(
                    "the number at `{path}` is too large; send one that a double can hold"
                )),
            };
            refuse(fault, readable_id(raw).as_deref())
        })?;
        if !is_object(text) {
            let message = "a request must be one JSON-RPC object; batches are not supported";
            return Err(refuse(Fault::request(message), None));
        }
        let envelope: Envelope = serde_json::from_str(text)
            .map_err(|_| refuse(Fault::request("the request is not a JSON-RPC object"), None))?;
        let id = match envelope.id.map(RawValue::get) {
            Some(id) if is_id(id) => Some(id),
            Some(_) => return Err(refuse(Fault::request("id must be a string or an integer"), None)),
            None => None,
        };
        if envelope.jsonrpc.and_then(string).as_deref() != Some("2.0") {
            return Err(refuse(Fault::request(r#"jsonrpc must be "2.0""#), id));
        }
        let Some(method) = envelope.method.and_then(string) else {
            // This server asks nothing, so a response answers nothing. Answering it could go on for ever.
            if envelope.method.is_none() && (envelope.result.is_some() || envelope.error.is_some()) {
                return Ok(Self::Notification { cancels: None });
            }
            return Err(refuse(Fault::request("method must be a string"), id));
        };
        Ok(match id {
            Some(id) => Self::Request { id, method, params: envelope.params },
            None => Self::Notification { cancels: cancelled_id(&method, envelope.params) },
        })
    }
}

impl<'a> Params<'a> {
    pub(super) fn parse(params: Option<&'a RawValue>) -> Result<Self, Fault> {
        let Some(raw) = params else { return Ok(Self::default()) };
        let mut params: Self = object(raw, "params")?;
        if let Some(meta) = params.raw_meta {
            params.meta = object(meta, "params._meta")?;
        }
        if params.meta.progress_token.is_some_and(|token| !is_token(token.get())) {
            let message = format!(
                "params._meta.progressToken must be a string or an integer of at most {LONGEST_TOKEN} bytes"
            );
            return Err(Fault::params(message));
        }
        Ok(params)
    }
}

/// The caller's trace id: by `traceparent` of `_meta` or the head, else by `X-Trace-Id`.
pub(super) fn trace_id(head: Option<&RequestHead<'_>>, meta: &Meta<'_>) -> Option<String> {
    let traceparent = meta.traceparent.as_deref().or_else(|| head.and_then(|head| head.traceparent));
    trace::trace_id(traceparent, head.and_then(|head| head.trace_id))
}

/// Whether `json` is an object. Derived structs accept arrays too, so this comes before every typed parse.
pub(super) fn is_object(json: &str) -> bool {
    json.trim_ascii_start().starts_with('{')
}

fn object<'a, T: Deserialize<'a>>(raw: &'a RawValue, what: &str) -> Result<T, Fault> {
    if !is_object(raw.get()) {
        return Err(Fault::params(format!("{what} must be an object")));
    }
    serde_json::from_str(raw.get()).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(before, _)| before);
        Fault::params(format!("{what}: {reason}"))
    })
}

/// Keeps an explicit `null` visible, which `Option` would swallow.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let json = raw.get();
    let plain = json.strip_prefix('"')?.strip_suffix('"')?;
    if plain.contains('\\') {
        return serde_json::from_str(json).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(plain))
}

fn is_id(json: &str) -> bool {
    json.starts_with('"') || json.parse::<i64>().is_ok() || json.parse::<u64>().is_ok()
}

fn is_token(json: &str) -> bool {
    is_id(json) && json.len() <= LONGEST_TOKEN
}

fn cancelled_id(method: &str, params: Option<&RawValue>) -> Option<String> {
    #[derive(Deserialize)]
    struct Cancelled<'a> {
        #[serde(borrow, rename = "requestId")]
        request_id: &'a RawValue,
    }
    let raw = params.filter(|raw| method == "notifications/cancelled" && is_object(raw.get()))?;
    let cancelled: Cancelled = serde_json::from_str(raw.get()).ok()?;
    Some(cancelled.request_id.get().to_owned())
}

/// The id in a request that is not read further, when it has exactly one that is good: without it, a client would wait for
/// ever. What follows the JSON grammar is enough, so a text with half of a surrogate pair elsewhere does no harm.
pub(super) fn readable_id(raw: &[u8]) -> Option<String> {
    struct Ids;
    impl<'de> Visitor<'de> for Ids {
        type Value = Vec<&'de RawValue>;
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut ids = Vec::new();
            while let Some(key) = entries.next_key::<String>()? {
                if key == "id" {
                    ids.push(entries.next_value()?);
                } else {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
            Ok(ids)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_slice(raw);
    let ids = deserializer.deserialize_map(Ids).ok()?;
    deserializer.end().ok()?;
    match ids.as_slice() {
        // Parsed as well: an id with half of a surrogate pair is no text.
        [id] if is_id(id.get()) && serde_json::from_str::<serde_json::Value>(id.get()).is_ok() => {
            Some(id.get().to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_method_with_escapes_is_the_same_method() {
        let raw = br#"{"jsonrpc":"2.0","id":1,"method":"pi\u006eg"}"#;
        let Ok(Message::Request { id, method, params }) = Message::parse(raw) else { panic!("a request") };
        assert_eq!((id, method.as_ref(), params.is_none()), ("1", "ping", true));
    }

    #[test]
    fn a_cancellation_names_its_request_as_json() {
        let raw = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#;
        assert!(
            matches!(Message::parse(raw), Ok(Message::Notification { cancels: Some(id) }) if id == "\"a\"")
        );
    }

    proptest! {
        /// Bytes near to a request, with single bytes replaced.
        #[test]
        fn whatever_comes_is_a_message_or_a_well_formed_error(at in 0usize..60, byte in any::<u8>()) {
            let mut raw = br#"{"jsonrpc":"2.0","id":"x","method":"ping","params":{"a":[1]}}"#.to_vec();
            raw[at] = byte;
            if let Err(reply) = Message::parse(&raw) {
                let error: Value = serde_json::from_slice(&reply.body).unwrap();
                prop_assert!(error["error"]["code"].is_i64() && error["error"]["data"]["code"].is_string());
            }
        }
    }
}
