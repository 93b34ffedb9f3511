//! The hotel half: e-mails come in, a SuperAgent queries and submits, a person confirms.
//!
//! `http | mcp | console → app → store`; only [`store`] names sqlx, only `http` and `console` name axum, and none of the
//! three holds rules.

pub mod app;
pub mod audit;
pub mod catalog;
pub mod console;
pub mod domain;
mod envelope;
mod error;
mod faults;
pub mod http;
pub mod mail;
pub mod mcp;
pub mod metrics;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;

pub use error::{Error, Fault, SourceMessageChoice};
pub use faults::Faults;
pub use govern::language;
