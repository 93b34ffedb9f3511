//! `cargo xtask windows`: the Windows helper, built and run on this Linux machine.
//!
//! Debian packages the compiler for `x86_64-pc-windows-gnu`, mingw and, in its next release, a Wine that can start
//! Rust programs and read UI Automation trees. `setup` unpacks them into one cache folder; the system itself gets
//! only debootstrap. That it works on Wine says little about speed on Windows, and nothing about WPF, Qt or
//! elevated windows: docs/windows-acceptance.md says which points want a real one.

mod cache;
mod fixture;
mod notices;
mod package;
mod sbom;
mod setup;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::steps::say;
use crate::{packages, paths, process};
use cache::Cache;

/// The target triple, which is also a folder of cargo's.
const TARGET: &str = "x86_64-pc-windows-gnu";
const CRATE: &str = "win-helper";
const PROGRAM: &str = "ISphereWinHelper.exe";

/// Far above what a build with all of the `windows` crate takes.
const BUILD_LIMIT: Duration = Duration::from_mins(30);
/// The tests wait for hanging windows, so they take minutes; more than this is a test that hangs itself.
const TEST_LIMIT: Duration = Duration::from_mins(20);

/// Installs what the other commands need; about six minutes, once per machine.
pub fn setup() -> Result<(), String> {
    ready().map(|_| ())
}

/// Builds the program and tells where it is.
pub fn build() -> Result<(), String> {
    say(&format!("built {}", program(&ready()?)?.display()));
    Ok(())
}

/// Lints what is compiled for Windows only, which `cargo xtask check` does not see. The compiler is Debian's and may
/// be newer than the project's, so that CI does not depend on it.
pub fn lint() -> Result<(), String> {
    let cache = ready()?;
    let mut command = cargo(&cache);
    command.args(["clippy", "--release", "--package", CRATE, "--all-targets", "--", "--deny", "warnings"]);
    process::run(&mut command)
}

/// Runs the tests of the helper's crate under Wine, with the fixture's windows on a virtual display.
///
/// `filter` are further words for cargo, such as `--test windows`.
pub fn test(filter: &[&str]) -> Result<(), String> {
    let mut command = vec!["test", "--release", "--package", CRATE];
    command.extend(filter);
    on_a_desktop(&command)
}

/// Measures the helper under Wine.
pub fn bench() -> Result<(), String> {
    on_a_desktop(&["bench", "--profile", "release", "--package", CRATE, "--bench", "desktop"])
}

/// Builds what a command of cargo runs, then runs it where Windows programs find a desktop.
fn on_a_desktop(command: &[&str]) -> Result<(), String> {
    let cache = ready()?;
    process::run(cargo(&cache).args(command).arg("--no-run"))?;
    let fixtures = fixture::build(&cache)?;

    let _turn = cache.lock("session")?;
    let mut session = process::bounded(TEST_LIMIT, "unshare");
    session.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]);
    session.arg(wine()).arg("session").arg(cache.tool("cargo")).args(command);
    environment(&cache, &mut session);
    process::run(session.env("COUNTERSIGN_TEST_FIXTURES", fixtures))
}

/// Packs the program with its papers; tells where the archive is.
pub fn package() -> Result<(), String> {
    let components = sbom::components(CRATE, TARGET)?;
    let generated =
        [("sbom.cdx.json", sbom::document(CRATE, &components)?), ("NOTICES.txt", notices::of(&components)?)];
    let archive = package::make(&program(&ready()?)?, PROGRAM, &generated)?;
    say(&format!("packed {}", archive.display()));
    Ok(())
}

/// Builds the program as the tests run it and returns its path. The profile `dist` would want a standard library with
/// bitcode in it.
fn program(cache: &Cache) -> Result<PathBuf, String> {
    process::run(cargo(cache).args(["build", "--release", "--package", CRATE]))?;
    Ok(target().join(TARGET).join("release").join(PROGRAM))
}

/// The cache, set up.
fn ready() -> Result<Cache, String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("the Windows helper is built and tested on Debian, x86-64; on Windows itself use cargo \
                    build and cargo test"
            .to_owned());
    }
    if !packages::is_root() {
        return Err("Wine runs in mount namespaces, for which this command must be run as root".to_owned());
    }
    let cache = Cache::open()?;
    setup::run(&cache)?;
    Ok(cache)
}

/// The folder that the Windows builds go to: their compiler is another one than the project's.
fn target() -> PathBuf {
    paths::target().join("windows")
}

/// The script that knows how Wine is installed and started.
fn wine() -> PathBuf {
    paths::workspace().join("xtask/windows/wine.sh")
}

/// A cargo that builds for Windows; its first argument, the command, is still to come.
fn cargo(cache: &Cache) -> Command {
    let mut command = process::bounded(BUILD_LIMIT, &cache.tool("cargo").to_string_lossy());
    environment(cache, &mut command);
    command
}

/// The environment of a cargo that builds for Windows and runs what it built under Wine.
fn environment(cache: &Cache, command: &mut Command) {
    cache.enter(command);
    command
        .current_dir(paths::workspace())
        .env("CARGO_BUILD_TARGET", TARGET)
        .env("CARGO_TARGET_DIR", target())
        .env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER", cache.tool("x86_64-w64-mingw32-gcc-win32"))
        .env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", format!("{} run", wine().display()));
}
