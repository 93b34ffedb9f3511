//! The hotel half: e-mails come in, a SuperAgent queries and submits, a person confirms.
//!
//! `http | mcp → app → store`; only [`store`] names sqlx, only `http` names axum, `http` and `mcp` hold no rules.

pub mod app;
pub mod audit;
pub mod catalog;
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
