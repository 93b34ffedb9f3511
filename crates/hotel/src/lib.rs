//! The hotel half: rules, store, http, mcp.
