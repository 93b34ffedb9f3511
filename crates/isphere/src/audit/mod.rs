//! The audit trail of a state folder: append-only JSON lines, a file a day, chained and keyed.
//!
//! - Each line holds its number, the SHA-256 of the line before and the HMAC of itself ([`entry`]).
//! - [`trail::Trail`] appends batches, under a lock that processes share, and then replaces `head.json`, which says how
//!   far the trail reaches.
//! - [`verify::verify`] finds what was changed since; [`read`] shows records. What the trail promises and what
//!   not: `docs/audit.md`.

pub mod entry;
pub mod folder;
mod head;
pub mod key;
pub mod read;
mod tail;
pub mod trail;
pub mod verify;
