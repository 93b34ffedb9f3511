//! Developer commands, run as `cargo xtask COMMAND`. No product code lives here.
//!
//! One file per command (`test`, `check`, `bench`, `docs`; `windows` is a folder); the rest are their parts. Errors are plain
//! sentences, because their only reader is the developer in front of the terminal.

mod bench;
mod browser;
mod check;
mod clients;
mod conformance;
mod docs;
mod packages;
mod paths;
mod postgres;
mod process;
mod scenario;
mod server;
mod steps;
mod test;
mod tidy;
mod windows;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [--quick | --long]   every test; installs and starts what they need and says so
                            --quick: only what needs nothing but Rust
                            --long:  campaigns (kills, mutations, large stores) in full
  clients                   of the tests, those with the official MCP clients alone
  conformance               of the tests, the MCP conformance suite alone
  browser [NAME ...]        of the tests, those of the console in Chromium alone; NAME is a part of a file's name
  check                     format, lints, licences, tidiness, generated docs
  docs [--check]            writes the generated pages under docs/ and takes the pictures of the console, or tells
                            whether the pages are up to date and the pictures there
  windows setup|build|lint|test|bench|package
                            the Windows helper, built and tested here under Wine (Debian on x86-64, as root);
                            test takes further words for cargo test, package makes the zip archive
  bench [--rounds N] [--seconds S]
                            our server beside its peers, as ratios

examples:
  cargo xtask test --quick
  cargo xtask check
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["test"] => test::run(test::Extent::Usual),
        ["test", "--quick"] => test::run(test::Extent::Quick),
        ["test", "--long"] => test::run(test::Extent::Long),
        ["clients"] => server::build().and_then(|()| clients::run()),
        ["conformance"] => server::build().and_then(|()| conformance::run()),
        ["browser", names @ ..] => browser::set_up().and_then(|()| browser::run(names)),
        ["check"] => check::run(),
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(),
        ["windows", "setup"] => windows::setup(),
        ["windows", "build"] => windows::build(),
        ["windows", "lint"] => windows::lint(),
        ["windows", "test", filter @ ..] => windows::test(filter),
        ["windows", "bench"] => windows::bench(),
        ["windows", "package"] => windows::package(),
        ["bench", options @ ..] => bench::run(options),
        _ => {
            steps::complain(USAGE);
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            steps::complain(&message);
            ExitCode::FAILURE
        }
    }
}
