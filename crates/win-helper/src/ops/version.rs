//! `version`: tells that the helper runs (boundary contract, section 6.1).

use serde::Serialize;

use crate::protocol::PROTOCOL;

/// The op's name.
pub const NAME: &str = "version";

/// What it answers.
#[derive(Debug, Serialize)]
pub struct Data {
    helper_name: &'static str,
    helper_version: &'static str,
    protocol: &'static str,
    runtime: &'static str,
}

/// Tells name, version, protocol, and for which target it was built.
pub fn run() -> Data {
    Data {
        helper_name: "ISphereWinHelper",
        helper_version: env!("CARGO_PKG_VERSION"),
        protocol: PROTOCOL,
        runtime: concat!("Rust ", env!("BUILD_TARGET")),
    }
}
