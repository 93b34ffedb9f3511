//! Logs go to stderr, never to stdout: that carries protocol only.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// Starts logging to stderr. `RUST_LOG` chooses what is shown; without it, `unless_set`, such as `info` or `off`. A
/// second call changes nothing.
pub fn init(unless_set: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(unless_set));
    // Fails only when a subscriber is there already, which then stays.
    let _ = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_env_filter(filter)
        .try_init();
}
