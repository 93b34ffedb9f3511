//! Sending: what may be sent, the gate that keeps production closed, and the ledger by which a send happens at most
//! once.
//!
//! A send has two phases under one idempotency key. A *preview* checks everything and records a plan; a *production*
//! call of the same target and content acts. No connector can act in this release, so production ends at the
//! [`gate`].

pub mod content;
pub mod gate;
pub mod ledger;
