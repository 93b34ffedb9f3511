//! The console as a browser meets it, on each database.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod access;
mod browser;
mod desk;
mod inbox;
mod live;
mod log_in;
mod tasks;
