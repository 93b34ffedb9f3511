//! The Model Context Protocol, tools only, for both eras: the handshake revisions up to 2025-11-25 and the
//! stateless revision 2026-07-28. `Server::dispatch` is the whole protocol; [`http`] and [`stdio`] carry bytes.

mod call;
mod era;
mod exchange;
mod fault;
pub mod http;
mod listing;
mod message;
pub mod schema;
pub mod stdio;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use self::{
    call::CallRequest,
    era::Era,
    fault::Fault,
    listing::Listing,
    message::{Message, Params},
};
use crate::{
    audit::{Channel, Recorder},
    clock::Clock,
    credentials::Caller,
    gate::Gate,
    progress::{Progress, Reports},
    random::Random,
    tool::{SchemaProfile, Service},
};

/// The `[mcp]` section.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpOptions {
    /// The shape of the schemas in `tools/list`.
    pub schema_profile: SchemaProfile,
    /// What the text block of a result holds.
    pub text: TextBlock,
    /// How many bytes the structured content of a result may have.
    pub result_budget_bytes: usize,
    /// How many bytes a request may have.
    pub body_limit_bytes: usize,
    /// Names besides the loopback names under which the server may be addressed.
    pub allowed_hosts: Vec<String>,
    /// Web origins besides loopback from which it may be addressed.
    pub allowed_origins: Vec<String>,
}

/// What the text block of a result holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextBlock {
    /// A short summary to act on.
    #[default]
    Summary,
    /// The structured content, for clients that do not read that.
    Json,
}

impl Default for McpOptions {
    fn default() -> Self {
        Self {
            schema_profile: SchemaProfile::default(),
            text: TextBlock::default(),
            result_budget_bytes: 64 << 10,
            body_limit_bytes: 10 << 20,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
        }
    }
}

/// What the HTTP shell hands on of a request's head.
#[derive(Debug)]
struct RequestHead<'a> {
    /// `MCP-Protocol-Version`
    protocol_version: Option<&'a str>,
    /// `Mcp-Method`
    method: Option<&'a str>,
    /// `Mcp-Name`
    name: Option<&'a str>,
    /// `traceparent`
    traceparent: Option<&'a str>,
    /// `X-Trace-Id`
    trace_id: Option<&'a str>,
}

/// The answer to one message.
#[derive(Debug)]
struct Reply {
    /// The HTTP status.
    status: u16,
    /// The JSON-RPC response; empty for a notification.
    body: Vec<u8>,
    /// The JSON id of the request that this notification cancels.
    cancels: Option<String>,
}

impl Reply {
    fn accepted() -> Self {
        Self { status: 202, body: Vec::new(), cancels: None }
    }

    fn result(id: &str, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut body = Vec::with_capacity(1536);
        body.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        body.extend_from_slice(id.as_bytes());
        body.extend_from_slice(br#","result":"#);
        write(&mut body);
        body.push(b'}');
        Self { status: 200, body, cancels: None }
    }
}

/// The protocol over one service. Keeps no state between messages, so that any node may answer any request.
pub struct Server<S: Service> {
    service: Arc<S>,
    gate: Arc<Gate>,
    recorder: Recorder,
    options: McpOptions,
    clock: Clock,
    random: Random,
    listing: Listing,
}

impl<S: Service> Server<S> {
    /// A server for `service`, which shares `gate` and `recorder` with the other doors to it.
    pub fn new(
        service: Arc<S>,
        gate: Arc<Gate>,
        recorder: Recorder,
        options: McpOptions,
        clock: Clock,
        random: Random,
    ) -> Self {
        let listing = Listing::new(S::tools(), &S::info(), options.schema_profile);
        Self { service, gate, recorder, options, clock, random, listing }
    }

    /// The options it was made with.
    pub fn options(&self) -> &McpOptions {
        &self.options
    }

    /// Answers one message. `head` is `None` on stdio; a call reports to `reports` when its client asks for that.
    /// Dropping the future cancels a tool that reads; a tool that writes goes on to its end.
    async fn dispatch(
        &self,
        head: Option<&RequestHead<'_>>,
        caller: &Arc<Caller>,
        raw: &[u8],
        reports: &Reports,
    ) -> Reply {
        let message = match Message::parse(raw) {
            Ok(message) => message,
            Err(fault) => return *fault,
        };
        match message {
            Message::Notification { cancels } => Reply { cancels, ..Reply::accepted() },
            Message::Request { id, method, params } => {
                match self.answer(head, caller, id, &method, params, reports).await {
                    Ok(reply) => reply,
                    Err(fault) => fault.reply(Some(id)),
                }
            }
        }
    }

    async fn answer(
        &self,
        head: Option<&RequestHead<'_>>,
        caller: &Arc<Caller>,
        id: &str,
        method: &str,
        params: Option<&RawValue>,
        reports: &Reports,
    ) -> Result<Reply, Fault> {
        let params = Params::parse(params)?;
        let era = era::of(head, method, &params)?;
        match (method, era) {
            ("tools/call", _) => {
                let channel = if head.is_some() { Channel::McpHttp } else { Channel::McpStdio };
                let name =
                    params.name.as_deref().ok_or_else(|| Fault::params("params.name must be a string"))?;
                let request = CallRequest {
                    name,
                    arguments: params.arguments,
                    trace_id: message::trace_id(head, &params.meta),
                    channel,
                    era,
                    progress: params
                        .meta
                        .progress_token
                        .map_or_else(Progress::default, |token| reports.progress(token)),
                };
                self.call(id, caller, request).await
            }
            ("tools/list", _) => {
                if params.cursor.is_some() {
                    return Err(Fault::params("the list of tools has one page; leave params.cursor out"));
                }
                let visible = S::tools().iter().map(|tool| self.gate.listed(tool, caller));
                Ok(Reply::result(id, |body| self.listing.tools(era, visible, body)))
            }
            ("server/discover", Era::Stateless) => {
                Ok(Reply::result(id, |body| body.extend_from_slice(self.listing.discover().as_bytes())))
            }
            ("initialize", Era::Handshake) => {
                let wanted = params
                    .protocol_version
                    .as_deref()
                    .ok_or_else(|| Fault::params("params.protocolVersion must be a string"))?;
                Ok(Reply::result(id, |body| {
                    body.extend_from_slice(self.listing.initialize(wanted).as_bytes());
                }))
            }
            ("ping", Era::Handshake) => Ok(Reply::result(id, |body| body.extend_from_slice(b"{}"))),
            _ => Err(Fault::method_not_found(method, era)),
        }
    }
}
