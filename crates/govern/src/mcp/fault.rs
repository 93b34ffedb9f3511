//! Protocol errors: what is wrong with the request itself. All else is a tool result.

use serde::Serialize;

use super::{Reply, era::Era};

/// A JSON-RPC error response in the making.
#[derive(Debug)]
pub(super) struct Fault {
    status: u16,
    code: i32,
    message: String,
    data: Data,
}

#[derive(Debug, Serialize)]
struct Data {
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    supported: Option<&'static [&'static str]>,
}

/// The request is malformed.
pub(super) const REQUEST_INVALID: &str = "MCP_REQUEST_INVALID";
/// No such tool.
pub(super) const TOOL_NOT_FOUND: &str = "MCP_TOOL_NOT_FOUND";
/// The server failed.
pub(super) const INTERNAL_ERROR: &str = "MCP_INTERNAL_ERROR";

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const INTERNAL: i32 = -32603;
/// Reserved by revision 2026-07-28 (HeaderMismatch).
const HEADER_MISMATCH: i32 = -32020;
/// Reserved by revision 2026-07-28 (UnsupportedProtocolVersion).
const UNSUPPORTED_VERSION: i32 = -32022;

impl Fault {
    pub(super) fn parse(message: impl Into<String>) -> Self {
        Self::new(400, PARSE_ERROR, REQUEST_INVALID, message)
    }

    pub(super) fn request(message: impl Into<String>) -> Self {
        Self::new(400, INVALID_REQUEST, REQUEST_INVALID, message)
    }

    pub(super) fn params(message: impl Into<String>) -> Self {
        Self::new(400, INVALID_PARAMS, REQUEST_INVALID, message)
    }

    pub(super) fn header(message: impl Into<String>) -> Self {
        Self::new(400, HEADER_MISMATCH, REQUEST_INVALID, message)
    }

    pub(super) fn too_large(message: impl Into<String>) -> Self {
        Self::new(413, INVALID_REQUEST, "MCP_REQUEST_BODY_TOO_LARGE", message)
    }

    pub(super) fn unauthenticated(message: impl Into<String>) -> Self {
        Self::new(401, INVALID_REQUEST, "MCP_AUTH_INVALID", message)
    }

    /// A request that HTTP itself refuses with `status`.
    pub(super) fn refused(status: u16, message: impl Into<String>) -> Self {
        Self::new(status, INVALID_REQUEST, REQUEST_INVALID, message)
    }

    pub(super) fn internal() -> Self {
        let message = "Something failed inside the server; the operator finds the reason in its log.";
        Self::new(500, INTERNAL, INTERNAL_ERROR, message)
    }

    pub(super) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(503, INTERNAL, INTERNAL_ERROR, message)
    }

    pub(super) fn method_not_found(method: &str, era: Era) -> Self {
        let status = if era == Era::Stateless { 404 } else { 200 };
        Self::new(
            status,
            METHOD_NOT_FOUND,
            "MCP_METHOD_NOT_FOUND",
            format!("unknown method: {}", shown(method)),
        )
    }

    pub(super) fn tool_not_found(name: &str, era: Era) -> Self {
        let status = if era == Era::Stateless { 400 } else { 200 };
        let message = format!("unknown tool: {}; tools/list names those there are", shown(name));
        Self::new(status, INVALID_PARAMS, TOOL_NOT_FOUND, message)
    }

    pub(super) fn unsupported_version(requested: &str, supported: &'static [&'static str]) -> Self {
        let message = "unsupported protocol version; data.supported names those that are";
        let mut fault = Self::new(400, UNSUPPORTED_VERSION, REQUEST_INVALID, message);
        fault.data.requested = Some(shown(requested).to_owned());
        fault.data.supported = Some(supported);
        fault
    }

    fn new(status: u16, code: i32, tag: &'static str, message: impl Into<String>) -> Self {
        let data = Data { code: tag, requested: None, supported: None };
        Self { status, code, message: message.into(), data }
    }

    /// The response, with the request's id when that could be read.
    pub(super) fn reply(&self, id: Option<&str>) -> Reply {
        #[derive(Serialize)]
        struct Error<'f> {
            code: i32,
            message: &'f str,
            data: &'f Data,
        }
        let mut body = br#"{"jsonrpc":"2.0","#.to_vec();
        if let Some(id) = id {
            body.extend_from_slice(br#""id":"#);
            body.extend_from_slice(id.as_bytes());
            body.push(b',');
        }
        body.extend_from_slice(br#""error":"#);
        let error = Error { code: self.code, message: &self.message, data: &self.data };
        serde_json::to_writer(&mut body, &error).expect("an error of strings and numbers serialises");
        body.push(b'}');
        Reply { status: self.status, body, cancels: None }
    }
}

/// A client's own words in an error, cut to what helps.
fn shown(text: &str) -> &str {
    text.char_indices().nth(100).map_or(text, |(end, _)| &text[..end])
}
