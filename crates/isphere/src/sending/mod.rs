//! Sending: what may be sent, the gate that keeps production closed, and the ledger by which a send happens at most
//! once.
//!
//! A send has two phases under one idempotency key. A *preview* checks everything and records a plan; a *production*
//! call of the same target and content acts. No connector can act in this release, so production ends at the
//! [`gate`].

pub mod content;
pub mod gate;
pub mod ledger;
pub mod target;

use serde::Deserialize;

/// `execution_mode` of a send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Says what would be sent.
    #[default]
    Preview,
    /// Sends.
    Production,
}
