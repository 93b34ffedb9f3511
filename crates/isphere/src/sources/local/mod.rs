//! The client's local store, read through a profile.

mod download;
mod error;
mod open;
pub mod profile;
mod projection;
mod reader;
mod store;
pub mod time;
mod value;

pub use error::StoreError;
pub use reader::Reader;
pub use store::{Store, StoreIdentity};
