//! The parts of ISphereWinHelper, which speaks the protocol `isphere.helper.v1` (docs/isphere/helper.en.md).
//!
//! A process answers one request and ends. It only looks: nothing here clicks, types, sends or hooks.
//!
//! `program → ops → desktop, assembly`: an op holds its arguments, its data and its rules, and calls no operating
//! system itself. [`desktop`] is the one door to Windows, and on other systems a closed one.

pub mod assembly;
pub mod client;
pub mod data_file;
pub mod desktop;
pub mod entrypoints;
pub mod fault;
pub mod labels;
pub mod ops;
pub mod program;
pub mod progress;
pub mod protocol;
pub mod regular_file;
pub mod score;
pub mod tree;
pub mod watchdog;
#[cfg(windows)]
pub mod windows;
