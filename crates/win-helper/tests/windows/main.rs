//! The helper on a desktop with windows, run as its callers run it: one process, one request.
//!
//! The windows are those of `tests/fixture/chat_window.c`. `cargo xtask windows test` builds it and runs this under
//! Wine; on Windows, docs/windows-acceptance.md says how.

#![cfg(windows)]
#![allow(clippy::unwrap_used, reason = "a test may")]

mod bounds;
mod controls;
mod desk;
mod process;
mod runtime;
mod scan;
mod tree;
