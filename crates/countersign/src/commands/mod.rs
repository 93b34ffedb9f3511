//! The commands, one file each.

pub(crate) mod fixture;

use std::io;

use thiserror::Error;

/// Why a command failed. The message tells what to do next.
#[derive(Debug, Error)]
pub(crate) enum CommandError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {reason}; choose another address with --listen")]
    Listen {
        /// The address.
        address: String,
        /// Why.
        reason: io::Error,
    },
    /// Serving ended with an error.
    #[error("serving ended: {0}")]
    Serve(io::Error),
    /// The asynchronous runtime did not start.
    #[error("the runtime did not start: {0}; the system may be out of threads or memory")]
    Runtime(io::Error),
}
