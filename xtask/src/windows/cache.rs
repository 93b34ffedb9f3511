//! The folder that holds the compiler and Wine between runs, shared by all working copies of one user.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, io};

/// Debian keeps shared libraries in a folder per architecture.
const LIBRARIES: &str = "lib/x86_64-linux-gnu";

/// The cache folder, which exists.
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// `COUNTERSIGN_WINDOWS_CACHE`, else `countersign-windows` in the user's cache folder.
    pub fn open() -> Result<Self, String> {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = set("COUNTERSIGN_WINDOWS_CACHE")
            .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("countersign-windows")))
            .or_else(|| set("HOME").map(|folder| folder.join(".cache/countersign-windows")))
            .ok_or("set COUNTERSIGN_WINDOWS_CACHE to a folder that may grow to 4 GB")?;
        let made = fs::create_dir_all(folder.join("stamps"))
            .and_then(|()| fs::create_dir_all(folder.join("home")))
            .and_then(|()| folder.canonicalize());
        match made {
            Ok(folder) => Ok(Self { folder }),
            Err(error) => Err(format!("cannot make the cache folder {}: {error}", folder.display())),
        }
    }

    /// A path in the cache.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// What the Debian packages put under `/usr`.
    pub fn toolchain(&self) -> PathBuf {
        self.path("toolchain/usr")
    }

    /// A program of the toolchain.
    pub fn tool(&self, name: &str) -> PathBuf {
        self.toolchain().join("bin").join(name)
    }

    /// Puts the toolchain first for a command, and takes away what the cargo that runs xtask has set for its own.
    pub fn enter(&self, command: &mut Command) {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = [self.toolchain().join("bin")].into_iter().chain(env::split_paths(&path));
        for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTUP_TOOLCHAIN"] {
            command.env_remove(name);
        }
        command
            .env("COUNTERSIGN_WINDOWS_CACHE", &self.folder)
            .env("PATH", env::join_paths(folders).unwrap_or(path))
            .env("LD_LIBRARY_PATH", self.toolchain().join(LIBRARIES))
            .env("CARGO", self.tool("cargo"))
            .env("RUSTC", self.tool("rustc"))
            .env("RUSTDOC", self.tool("rustdoc"));
    }

    /// Waits until no other process holds the lock of this name, and holds it until the file is dropped.
    pub fn lock(&self, name: &str) -> Result<File, String> {
        let path = self.path(&format!("{name}.lock"));
        let locked = || -> io::Result<File> {
            let file = File::create(&path)?;
            file.lock()?;
            Ok(file)
        };
        locked().map_err(|error| format!("cannot lock {}: {error}", path.display()))
    }

    /// The file that says with which version a step of the set-up was completed.
    pub fn stamp(&self, step: &str) -> PathBuf {
        self.path("stamps").join(step)
    }

    /// Lets a step count as not completed.
    pub fn undo(&self, step: &str) -> Result<(), String> {
        let stamp = self.stamp(step);
        unless_missing(fs::remove_file(&stamp))
            .map_err(|error| format!("cannot remove {}: {error}", stamp.display()))
    }
}

/// Removes a folder with all in it, if it is there.
pub fn clear(folder: &Path) -> Result<(), String> {
    unless_missing(fs::remove_dir_all(folder))
        .map_err(|error| format!("cannot clear {}: {error}", folder.display()))
}

/// What is not there is removed already.
fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}
