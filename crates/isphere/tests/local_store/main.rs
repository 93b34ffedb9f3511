//! The local store, from the outside: what is read, that nothing is changed, what is refused, and proposed profiles.
#![allow(clippy::unwrap_used, reason = "a test may")]
#![allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "small numbers")]

mod bad_input;
mod doctor;
mod hostile;
mod inspecting;
mod reading;
mod support;
mod untouched;
