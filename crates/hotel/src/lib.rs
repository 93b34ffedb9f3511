//! The hotel half: rules, store, http, mcp.

pub mod mail;
