//! `cargo xtask test`: every test, with what they need installed and started.

use std::time::Duration;

use crate::postgres::Postgres;
use crate::steps::Steps;
use crate::{browser, clients, conformance, packages, paths, process, windows};

/// How much to run.
#[derive(Clone, Copy, PartialEq)]
pub enum Extent {
    /// Only what needs nothing but Rust; the store is tested on SQLite alone.
    Quick,
    /// Everything, with a share of each campaign.
    Usual,
    /// Everything, with the campaigns in full.
    Long,
}

/// Runs the tests; fails when one of them fails or a needed piece is missing.
pub fn run(extent: Extent) -> Result<(), String> {
    let mut steps = Steps::default();
    if extent == Extent::Quick {
        steps.run("Rust tests", || rust_tests(extent, None));
        return steps.finish();
    }
    steps.run("set up", || {
        packages::debian()?;
        packages::npm()?;
        packages::python()?;
        browser::set_up()
    });
    steps.run("Rust tests", || {
        let postgres = Postgres::start()?;
        rust_tests(extent, Some(&postgres.url))
    });
    steps.run("Windows helper under Wine", || windows::test(&[]));
    steps.run("official clients", clients::run);
    steps.run("conformance", conformance::run);
    steps.run("console in Chromium", || browser::run(&[]));
    steps.finish()
}

/// Runs the Rust tests; those of the store take `postgres` beside SQLite where there is one.
fn rust_tests(extent: Extent, postgres: Option<&str>) -> Result<(), String> {
    let mut command = process::bounded(Duration::from_hours(1), "cargo");
    command.args(["test", "--workspace", "--no-fail-fast"]).current_dir(paths::workspace());
    match postgres {
        Some(url) => command.env("COUNTERSIGN_TEST_POSTGRES", url),
        None => command.env_remove("COUNTERSIGN_TEST_POSTGRES"),
    };
    if extent != Extent::Quick {
        // Mono's tools are installed then, so that a test may not do without them.
        command.env("COUNTERSIGN_TEST_MONO", "1");
    }
    if extent == Extent::Long {
        command.env("COUNTERSIGN_CAMPAIGN", "long");
    }
    process::run(&mut command)
}
