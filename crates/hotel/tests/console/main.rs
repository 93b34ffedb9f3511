//! The console as a browser meets it, on each database.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod access;
mod admin;
mod audit;
mod board;
mod browser;
mod charts;
mod desk;
mod edits;
mod inbox;
mod live;
mod log_in;
mod orders;
mod search;
mod tasks;
mod typed;
