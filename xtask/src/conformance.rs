//! The MCP conformance suite against `countersign fixture`, for both requirement sets.

use std::time::Duration;

use crate::server::{self, Target};
use crate::{packages, paths, process, steps};

/// Each is a revision of the protocol whose requirements the suite knows.
const REQUIREMENT_SETS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// Fails when a check fails that `tests/conformance/expected-failures.yml` does not name, and when one that it
/// names passes. The suite speaks to loopback addresses without a token, which is what the fixture serves.
pub fn run() -> Result<(), String> {
    let npm = packages::npm()?;
    let suite = npm.file("@modelcontextprotocol/conformance", "dist/index.js");
    let expected = paths::workspace().join("tests/conformance/expected-failures.yml");
    let fixture = server::fixture()?;
    let Target::Http { url, .. } = &fixture.target else {
        return Err("the suite speaks HTTP only".to_owned());
    };
    let mut failed = Vec::new();
    for set in REQUIREMENT_SETS {
        steps::say(&format!("requirement set {set}"));
        let mut command = process::bounded(Duration::from_mins(5), &npm.node.to_string_lossy());
        command.arg(&suite).args(["server", "--url", url, "--requirements", set]);
        command.arg("--expected-failures").arg(&expected);
        if process::run(&mut command).is_err() {
            failed.push(set);
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("not as expected: requirement set {}", failed.join(", ")))
    }
}
