//! The iSphere half: through it an agent finds people and groups, reads messages and files, and previews sends.
//!
//! `tools → sources, sending, files`; a source knows nothing of tools. [`sources::Source`] is the one way to the
//! client's data; [`audit`] keeps the record of every call in chained JSON lines.

pub mod access;
pub mod app;
pub mod audit;
pub mod doctor;
pub mod error;
pub mod files;
pub mod helper;
pub mod model;
mod outside;
pub mod regular_file;
mod request_id;
pub mod sample;
pub mod search;
pub mod sending;
pub mod settings;
pub mod sources;
pub mod tools;

pub use error::Error;
