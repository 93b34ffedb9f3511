//! What makes an MCP server governed. Knows no IM, no hotel, no SQL.

pub mod text;
