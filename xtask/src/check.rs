//! `cargo xtask check`: everything that can be said about the code without running its tests.

use std::time::Duration;

use crate::steps::Steps;
use crate::{docs, packages, paths, process, tidy};

const LIMIT: Duration = Duration::from_hours(1);

/// Runs the checks; fails when one of them fails.
pub fn run() -> Result<(), String> {
    let mut steps = Steps::default();
    steps.run("tidy", tidy::run);
    steps.run("format", || cargo(&["fmt", "--all", "--check"]));
    steps.run("lints", || {
        cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"])
    });
    steps.run("licences, bans and sources", || {
        let mut command = process::bounded(LIMIT, &packages::cargo_deny()?.to_string_lossy());
        // Advisories come from a database on the network, and a new one would break an old commit.
        command.args(["--locked", "--workspace", "check", "--hide-inclusion-graph"]);
        process::run(command.args(["licenses", "bans", "sources"]).current_dir(paths::workspace()))
    });
    steps.run("generated docs", docs::check);
    steps.finish()
}

fn cargo(arguments: &[&str]) -> Result<(), String> {
    let mut command = process::bounded(LIMIT, "cargo");
    process::run(command.args(arguments).current_dir(paths::workspace()))
}
