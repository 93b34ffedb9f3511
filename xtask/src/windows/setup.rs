//! Sets the cache up in four steps: compiler, standard library, Wine, Wine's Windows folders.
//!
//! A step that is done is skipped, an interrupted one starts afresh. To get newer packages, delete the cache.

use std::fs::{self, File};
use std::process::Command;
use std::time::{Duration, Instant};

use super::cache::{Cache, clear};
use super::{TARGET, wine};
use crate::steps::say;
use crate::{packages, paths, process};

/// One step over a slow connection; a fast one needs two minutes at most.
const STEP_LIMIT: Duration = Duration::from_mins(30);

/// The Debian release with Wine 10. The one before has Wine 8, which cannot start Rust programs.
const WINE_RELEASE: &str = "trixie";

/// Compiler, cargo, sources of the standard library, mingw for 64 and 32 bits. Each is unpacked even when the
/// system has it, for the toolchain must be whole.
const PACKAGES: [&str; 15] = [
    "rustc-web",
    "cargo-web",
    "rust-web-src",
    "rust-web-clippy",
    "libstd-rust-web-dev",
    "gcc-mingw-w64-base",
    "gcc-mingw-w64-x86-64-win32",
    "gcc-mingw-w64-x86-64-win32-runtime",
    "binutils-mingw-w64-x86-64",
    "mingw-w64-x86-64-dev",
    "mingw-w64-common",
    "gcc-mingw-w64-i686-win32",
    "gcc-mingw-w64-i686-win32-runtime",
    "binutils-mingw-w64-i686",
    "mingw-w64-i686-dev",
];

/// Runs the steps that are not done yet; another process that does so is waited for.
pub fn run(cache: &Cache) -> Result<(), String> {
    let _turn = cache.lock("setup")?;
    step(cache, "toolchain", &PACKAGES.join(" "), toolchain)?;
    step(cache, "std", TARGET, standard_library)?;
    step(cache, "debian", WINE_RELEASE, debian)?;
    step(cache, "prefix", "1", prefix)
}

type Step = fn(&Cache, &Log) -> Result<(), String>;

/// Runs a step unless it was completed with this `version` before.
fn step(cache: &Cache, name: &str, version: &str, work: Step) -> Result<(), String> {
    let stamp = cache.stamp(name);
    if fs::read_to_string(&stamp).is_ok_and(|done| done == version) {
        return Ok(());
    }
    cache.undo(name)?;
    let log = cache.path(&format!("{name}.log"));
    say(&format!("setting up for Windows: {name} (log: {})", log.display()));
    let start = Instant::now();
    let file = File::create(&log).map_err(|error| format!("cannot write {}: {error}", log.display()))?;
    work(cache, &Log(file)).map_err(|error| format!("{error}\nthe whole log is {}", log.display()))?;
    fs::write(&stamp, version).map_err(|error| format!("cannot write {}: {error}", stamp.display()))?;
    say(&format!("setting up for Windows: {name} took {} s", start.elapsed().as_secs()));
    Ok(())
}

/// Downloads the packages and unpacks them into the cache, without installing them.
fn toolchain(cache: &Cache, log: &Log) -> Result<(), String> {
    let (packages, unpacked) = (cache.path("packages"), cache.path("toolchain"));
    cache.undo("std")?;
    clear(&packages)?;
    clear(&unpacked)?;
    fs::create_dir_all(&packages).map_err(|error| format!("cannot make {}: {error}", packages.display()))?;
    log.run(process::bounded(STEP_LIMIT, "apt-get").args(["update", "-q"]))?;

    // What apt would install with them is what the system lacks: `'address' name_version_architecture.deb size hash`.
    let mut ask = process::bounded(STEP_LIMIT, "apt-get");
    ask.args(["install", "--print-uris", "-q", "-y", "--no-install-recommends"]).args(PACKAGES);
    let answer = process::output(&mut ask)?;
    let files =
        answer.lines().filter(|line| line.starts_with('\'')).filter_map(|line| line.split(' ').nth(1));
    let mut names: Vec<&str> = files.filter_map(|file| file.split('_').next()).chain(PACKAGES).collect();
    names.sort_unstable();
    names.dedup();
    let mut download = process::bounded(STEP_LIMIT, "apt-get");
    log.run(download.args(["download", "-q"]).args(names).current_dir(&packages))?;

    let files = fs::read_dir(&packages).map_err(|error| format!("cannot list the packages: {error}"))?;
    for file in files.flatten() {
        let mut unpack = process::bounded(STEP_LIMIT, "dpkg-deb");
        log.run(unpack.arg("--extract").arg(file.path()).arg(&unpacked))?;
    }
    clear(&packages)
}

/// Builds Rust's standard library for Windows, which Debian ships as source only, and puts it where a ready-made
/// one would lie, so that cargo finds it without an unstable option.
fn standard_library(cache: &Cache, log: &Log) -> Result<(), String> {
    let seed = cache.path("std-build");
    let libraries = cache.toolchain().join("lib/rustlib").join(TARGET).join("lib");
    clear(&seed)?;
    clear(&libraries)?;
    let manifest = "[package]\nname = \"std-seed\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n";
    fs::create_dir_all(seed.join("src"))
        .and_then(|()| fs::write(seed.join("src/lib.rs"), ""))
        .and_then(|()| fs::write(seed.join("Cargo.toml"), manifest))
        .map_err(|error| format!("cannot write {}: {error}", seed.display()))?;

    let mut command = process::bounded(STEP_LIMIT, &cache.tool("cargo").to_string_lossy());
    cache.enter(&mut command);
    // The standard library is built with the compiler's own unstable features, and so is this option.
    command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_DIR", seed.join("target")).current_dir(&seed);
    command.args(["build", "--release", "--target", TARGET]);
    command.arg("-Zbuild-std=std,panic_unwind,panic_abort,test,proc_macro");
    log.run(&mut command)?;

    let built = seed.join("target").join(TARGET).join("release/deps");
    let found = fs::read_dir(&built).map_err(|error| format!("cannot list {}: {error}", built.display()))?;
    fs::create_dir_all(&libraries)
        .map_err(|error| format!("cannot make {}: {error}", libraries.display()))?;
    for file in found.flatten() {
        let (path, name) = (file.path(), file.file_name());
        let library = path.extension().is_some_and(|extension| extension == "rlib");
        if library && !name.to_string_lossy().contains("std_seed") {
            packages::copy(&path, &libraries.join(name))?;
        }
    }
    clear(&seed)
}

/// Makes a Debian system in a folder and installs Wine and a virtual display into it.
fn debian(cache: &Cache, log: &Log) -> Result<(), String> {
    let system = cache.path("debian");
    cache.undo("prefix")?;
    clear(&system)?;
    if !process::exists("debootstrap") {
        log.run(process::bounded(STEP_LIMIT, "apt-get").args(["update", "-q"]))?;
        let mut install = process::bounded(STEP_LIMIT, "apt-get");
        install.args(["install", "-q", "-y", "--no-install-recommends", "debootstrap"]);
        log.run(install.env("DEBIAN_FRONTEND", "noninteractive"))?;
    }
    let mut bootstrap = process::bounded(STEP_LIMIT, "unshare");
    bootstrap.args(["--mount", "--", "debootstrap", "--variant=minbase", "--include=ca-certificates"]);
    log.run(bootstrap.arg(WINE_RELEASE).arg(&system))?;
    // Names and proxies are this machine's. No manuals or translations, and no waiting for the disk per file.
    log.run(process::bounded(STEP_LIMIT, "sh").arg("-euc").arg(CONFIGURE).arg("sh").arg(&system))?;
    log.run(namespace(cache).arg("install").arg(&system))
}

const CONFIGURE: &str = "
for file in /etc/resolv.conf /etc/hosts $(grep -lis proxy /etc/apt/apt.conf.d/* || true); do
    [ ! -e \"$file\" ] || cp -L \"$file\" \"$1$file\"
done
printf '%s\\n' force-unsafe-io 'path-exclude=/usr/share/doc/*' 'path-exclude=/usr/share/man/*' \\
    'path-exclude=/usr/share/locale/*' > \"$1/etc/dpkg/dpkg.cfg.d/countersign\"
";

/// Makes Wine's Windows folders, and the small program that holds a session open.
fn prefix(cache: &Cache, log: &Log) -> Result<(), String> {
    let folder = cache.path("prefix");
    clear(&folder)?;
    log.run(namespace(cache).arg("prefix").arg(&folder))?;
    let compiler = cache.tool("x86_64-w64-mingw32-gcc-win32");
    let mut command = process::bounded(STEP_LIMIT, &compiler.to_string_lossy());
    cache.enter(&mut command);
    command.args(["-O2", "-Wall", "-s", "-o"]).arg(cache.path("session-keeper.exe"));
    log.run(command.arg(paths::workspace().join("xtask/windows/session-keeper.c")))
}

/// Wine's script in mount and process namespaces of its own: nothing stays mounted or running.
fn namespace(cache: &Cache) -> Command {
    let mut command = process::bounded(STEP_LIMIT, "unshare");
    cache.enter(&mut command);
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]).arg(wine());
    command
}

/// Where the output of a step goes.
struct Log(File);

impl Log {
    fn run(&self, command: &mut Command) -> Result<(), String> {
        let copy = || self.0.try_clone().map_err(|error| format!("cannot write the log: {error}"));
        process::run(command.stdout(copy()?).stderr(copy()?))
    }
}
