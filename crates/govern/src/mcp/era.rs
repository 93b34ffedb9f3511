//! Which revision a request speaks, and whether its head agrees with its body.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{
    RequestHead,
    fault::Fault,
    message::{Params, is_object},
};

/// All revisions, oldest first; the last is the stateless one.
pub(super) const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", STATELESS];
/// Those with the `initialize` handshake.
pub(super) const HANDSHAKE: &[&str] = REVISIONS.split_at(4).0;
const STATELESS: &str = "2026-07-28";

/// The two ways to speak MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// Up to 2025-11-25: `initialize`, then requests.
    Handshake,
    /// 2026-07-28: each request carries its revision and capabilities in `_meta`.
    Stateless,
}

/// The era of a request. Checks `params._meta` and, over HTTP, that the `MCP-*` headers say the same as the body
/// (revision 2026-07-28, Streamable HTTP, request metadata).
pub(super) fn of(head: Option<&RequestHead<'_>>, method: &str, params: &Params<'_>) -> Result<Era, Fault> {
    let meta = &params.meta;
    let header = head.and_then(|head| head.protocol_version).map(str::trim);
    let stateless = meta.protocol_version.is_some()
        || meta.client_capabilities.is_some()
        || header == Some(STATELESS)
        || method == "server/discover";
    if !stateless {
        return match header {
            Some(version) if !HANDSHAKE.contains(&version) => {
                Err(Fault::unsupported_version(version, &REVISIONS))
            }
            _ => Ok(Era::Handshake),
        };
    }
    let missing = |key: &str| Fault::params(format!("params._meta must carry io.modelcontextprotocol/{key}"));
    let version = meta.protocol_version.as_deref().ok_or_else(|| missing("protocolVersion"))?;
    if !meta.client_capabilities.is_some_and(|capabilities| is_object(capabilities.get())) {
        return Err(missing("clientCapabilities"));
    }
    if head.is_some() && header != Some(version) {
        let message = "the MCP-Protocol-Version header and params._meta must name the same revision";
        return Err(Fault::header(message));
    }
    if HANDSHAKE.contains(&version) {
        return Ok(Era::Handshake);
    }
    if version != STATELESS {
        return Err(Fault::unsupported_version(version, &REVISIONS));
    }
    if let Some(head) = head {
        check_head(head, method, params)?;
    }
    Ok(Era::Stateless)
}

fn check_head(head: &RequestHead<'_>, method: &str, params: &Params<'_>) -> Result<(), Fault> {
    if head.method.map(str::trim) != Some(method) {
        return Err(Fault::header("the Mcp-Method header must be there and equal to the method of the body"));
    }
    if method == "tools/call" && head.name.and_then(decoded).as_deref() != params.name.as_deref() {
        return Err(Fault::header("the Mcp-Name header must be there and equal to params.name of the body"));
    }
    Ok(())
}

/// A header value that no header could carry as it is comes as `=?base64?…?=`.
fn decoded(value: &str) -> Option<Cow<'_, str>> {
    let value = value.trim();
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        None => Some(Cow::Borrowed(value)),
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok().map(Cow::Owned),
    }
}
