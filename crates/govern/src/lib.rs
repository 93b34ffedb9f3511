//! What makes an MCP server governed. Knows no IM, no hotel, no SQL.
//!
//! A half of the product implements [`tool::Service`] and lists its tools as data; [`mcp::Server`] speaks the
//! protocol, [`gate::Gate`] decides, [`audit::Recorder`] keeps the record, and the shells
//! ([`mcp::http`], [`mcp::stdio`]) carry bytes.

pub mod arguments;
pub mod audit;
pub mod budget;
pub mod clock;
pub mod config;
pub mod credentials;
pub mod gate;
pub mod hex;
pub mod http;
pub mod key;
pub mod language;
pub mod logging;
pub mod mcp;
pub mod private;
pub mod progress;
pub mod random;
mod strict;
pub mod text;
pub mod time;
pub mod tool;
pub mod trace;
