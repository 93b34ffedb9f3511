//! Files that come in and go out: always inside one configured folder, never through a link.

pub mod inbound;
pub mod names;
mod number;
pub mod outbound;
mod partial;

pub(crate) use number::FileNumber;
