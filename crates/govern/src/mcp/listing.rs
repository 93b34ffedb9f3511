//! The results that never change while the server runs, serialised once.

use serde::Serialize;
use serde_json::{Value, json};

use super::era::{Era, HANDSHAKE, REVISIONS};
use crate::tool::{Effect, SchemaProfile, ServerInfo, Tool};

/// How long a client of the stateless era may keep a list, in milliseconds.
const TTL_MS: u32 = 60_000;

pub(super) struct Listing {
    initialize: Vec<String>,
    discover: String,
    tools: Vec<String>,
    stateless_tail: String,
    meta: String,
}

impl Listing {
    pub(super) fn new<S>(tools: &[Tool<S>], info: &ServerInfo, profile: SchemaProfile) -> Self {
        let server = json!({"name": info.name, "title": info.title, "version": info.version});
        let meta = json!({"io.modelcontextprotocol/serverInfo": server});
        let capabilities = json!({"tools": {}});
        let initialize = |version: &&str| {
            json!({
                "protocolVersion": version, "capabilities": capabilities, "serverInfo": server,
                "instructions": info.instructions,
            })
            .to_string()
        };
        let discover = json!({
            "resultType": "complete", "supportedVersions": REVISIONS, "capabilities": capabilities,
            "instructions": info.instructions, "ttlMs": TTL_MS, "cacheScope": "private", "_meta": meta,
        });
        Self {
            initialize: HANDSHAKE.iter().map(initialize).collect(),
            discover: discover.to_string(),
            tools: tools.iter().map(|tool| describe(tool, profile)).collect(),
            stateless_tail: format!(
                r#","resultType":"complete","ttlMs":{TTL_MS},"cacheScope":"private","_meta":{meta}"#
            ),
            meta: meta.to_string(),
        }
    }

    /// The result of `initialize`: the wanted revision when it is known, else the newest with that handshake.
    pub(super) fn initialize(&self, wanted: &str) -> &str {
        let known = HANDSHAKE.iter().position(|version| *version == wanted);
        &self.initialize[known.unwrap_or(HANDSHAKE.len() - 1)]
    }

    /// The result of `server/discover`.
    pub(super) fn discover(&self) -> &str {
        &self.discover
    }

    /// The `_meta` of every result of the stateless era: who answered.
    pub(super) fn meta(&self) -> &str {
        &self.meta
    }

    /// Writes the result of `tools/list` with those tools that are `visible`, in the order of the service.
    pub(super) fn tools(&self, era: Era, visible: impl Iterator<Item = bool>, body: &mut Vec<u8>) {
        body.extend_from_slice(br#"{"tools":["#);
        let shown = self.tools.iter().zip(visible).filter_map(|(tool, visible)| visible.then_some(tool));
        for (index, tool) in shown.enumerate() {
            if index > 0 {
                body.push(b',');
            }
            body.extend_from_slice(tool.as_bytes());
        }
        body.push(b']');
        if era == Era::Stateless {
            body.extend_from_slice(self.stateless_tail.as_bytes());
        }
        body.push(b'}');
    }
}

/// One entry of `tools/list`. The order of the fields is that in which people read them.
fn describe<S>(tool: &Tool<S>, profile: SchemaProfile) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Entry<'t> {
        name: &'t str,
        title: &'t str,
        description: &'t str,
        input_schema: Value,
        output_schema: Value,
        annotations: Value,
    }
    let annotations = json!({
        "title": tool.title,
        "readOnlyHint": tool.effect == Effect::Read,
        "destructiveHint": tool.hints.destructive,
        "idempotentHint": tool.hints.idempotent,
        "openWorldHint": tool.hints.open_world,
    });
    let entry = Entry {
        name: tool.name,
        title: tool.title,
        description: tool.description,
        input_schema: (tool.input)(profile),
        output_schema: (tool.output)(profile),
        annotations,
    };
    serde_json::to_string(&entry).expect("JSON values serialise")
}
