//! Files that come in and go out: always inside one configured folder, never through a link.

pub mod inbound;
pub mod names;
pub mod outbound;
