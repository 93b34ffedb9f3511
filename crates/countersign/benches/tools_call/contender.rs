//! The servers that are compared, and the requests that they get.

use std::process::Stdio;

use serde::Deserialize;
use tokio::process::{Child, Command};

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    Http,
    Stdio,
}

/// What a server speaks.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    #[serde(rename = "2025-11-25")]
    Legacy,
    #[serde(rename = "2026-07-28")]
    Modern,
    /// HTTP without MCP.
    #[serde(rename = "plain")]
    Plain,
}

impl Revision {
    pub fn name(self) -> &'static str {
        match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
            Self::Plain => "plain",
        }
    }
}

/// One server. `{port}` in its command is replaced with a free port.
#[derive(Clone, Debug, Deserialize)]
pub struct Contender {
    pub name: String,
    pub transport: Transport,
    pub revision: Revision,
    pub path: String,
    pub command: Vec<String>,
}

impl Contender {
    /// Starts the server; it is killed when the child is dropped.
    pub fn start(&self, port: u16) -> std::io::Result<Child> {
        let words: Vec<String> =
            self.command.iter().map(|word| word.replace("{port}", &port.to_string())).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).kill_on_drop(true).stderr(Stdio::null());
        // The peers may lie in a folder that must stay as it is.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        if self.transport == Transport::Stdio {
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
        } else {
            command.stdin(Stdio::null()).stdout(Stdio::null());
        }
        command.spawn()
    }

    /// The first message: it opens the protocol, or is simply a call where there is none to open.
    pub fn hello(&self) -> String {
        match self.revision {
            Revision::Legacy => format!(
                r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{CLIENT}}}}}"#
            ),
            Revision::Modern => {
                format!(r#"{{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{{{META}}}}}"#)
            }
            Revision::Plain => self.call(0),
        }
    }

    /// One call of `search_items`.
    pub fn call(&self, id: u64) -> String {
        let meta = if self.revision == Revision::Modern { format!(",{META}") } else { String::new() };
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"search_items","arguments":{{"query":"bolt","limit":6}}{meta}}}}}"#
        )
    }

    /// A message as an HTTP request.
    pub fn request(&self, port: u16, message: &str) -> Vec<u8> {
        let revision = match self.revision {
            Revision::Plain => String::new(),
            Revision::Legacy if message.contains("initialize") => String::new(),
            Revision::Legacy => "MCP-Protocol-Version: 2025-11-25\r\n".to_owned(),
            Revision::Modern if message.contains("server/discover") => {
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n".to_owned()
            }
            Revision::Modern => {
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: search_items\r\n"
                    .to_owned()
            }
        };
        format!(
            "POST {} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{revision}Content-Length: {}\r\n\r\n{message}",
            self.path,
            message.len()
        )
        .into_bytes()
    }

    /// Whether the answer to a call is the right one.
    pub fn is_right(answer: &[u8]) -> bool {
        let has = |part: &[u8]| answer.windows(part.len()).any(|window| window == part);
        has(b"itm_00000") && !has(br#""isError":true"#)
    }
}

const CLIENT: &str = r#"{"name":"bench","version":"1"}"#;
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
