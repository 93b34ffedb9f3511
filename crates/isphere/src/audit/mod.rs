//! The audit trail: append-only JSON lines, chained and keyed.

mod folder;
pub mod key;
