//! MCP over a pair of pipes, one message a line.
