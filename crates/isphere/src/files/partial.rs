//! A file under way: it has a temporary name, and its process has it locked until it gets its final name or is removed.
//!
//! The operating system gives the lock back when a process dies, so a file of such a name that nobody has locked was left
//! behind. Where files cannot be locked, none can be told for left behind either, and they stay.

use std::fs::File;
use std::io;

use cap_fs_ext::{FollowSymlinks, MetadataExt as _, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, OpenOptions};
use govern::hex::hex;
use govern::random::Random;

/// A file that has no final name yet; dropped, its temporary name is removed.
pub(super) struct Partial {
    dir: Dir,
    name: String,
    file: cap_std::fs::File,
}

/// How often a file is made whose name another process takes for left over before it is locked.
const ATTEMPTS: usize = 8;
const PREFIX: &str = ".countersign-";
const SUFFIX: &str = ".part";
const RANDOM_BYTES: usize = 8;

impl Partial {
    /// Makes and locks an empty file in `dir`.
    pub fn create(dir: Dir, random: &Random) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let mut bytes = [0; RANDOM_BYTES];
            random.fill(&mut bytes);
            let name = format!("{PREFIX}{}{SUFFIX}", hex(&bytes));
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            let file = dir.open_with(&name, &options)?.into_std();
            // Who takes it for left over holds the lock for a moment only. Without locks nobody does.
            file.lock().ok();
            let file = cap_std::fs::File::from_std(file);
            if file.metadata()?.nlink() > 0 {
                return Ok(Self { dir, name, file });
            }
        }
        Err(io::Error::other("each temporary file was removed at once"))
    }

    /// The file, to write to.
    pub fn writer(&self) -> io::Result<File> {
        Ok(self.file.try_clone()?.into_std())
    }

    /// Gives the file a name more, for good; false when another file has it.
    pub fn give_name(&self, name: &str) -> io::Result<bool> {
        match self.dir.hard_link(&self.name, &self.dir, name) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(error),
        }
        self.make_durable().inspect_err(|_| {
            // What was not promised is not left there either.
            self.dir.remove_file(name).ok();
        })?;
        Ok(true)
    }

    /// Whether `dir` has this file under its temporary name.
    pub fn is_in(&self, dir: &Dir) -> io::Result<bool> {
        let (this, other) = (self.file.metadata()?, open_plain(dir, &self.name)?.metadata()?);
        Ok((this.dev(), this.ino()) == (other.dev(), other.ino()))
    }

    /// Makes the new name outlast a crash. Only Unix can do that to a folder; elsewhere the file system's journal does.
    fn make_durable(&self) -> io::Result<()> {
        if cfg!(unix) { self.dir.open(".").and_then(|folder| folder.sync_all()) } else { Ok(()) }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if let Err(error) = self.dir.remove_file(&self.name) {
            tracing::warn!(%error, name = self.name, "a temporary file of a download stays");
        }
    }
}

/// Whether a file of this name is one under way, or was.
pub(super) fn is_temporary(name: &str) -> bool {
    let digits = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(SUFFIX));
    digits.is_some_and(|digits| {
        digits.len() == 2 * RANDOM_BYTES && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Removes a file of a temporary name, unless the process that writes it lives.
pub(super) fn remove_left_over(dir: &Dir, name: &str) {
    let removed = open_plain(dir, name).and_then(|file| {
        let file = file.into_std();
        file.try_lock()?;
        dir.remove_file(name)
    });
    match removed {
        Ok(()) => tracing::info!(name, "removed what a download that was interrupted left behind"),
        Err(error) => tracing::debug!(%error, name, "a temporary file is in use"),
    }
}

/// Opens a file to look at it, through no link and without waiting for a pipe.
fn open_plain(dir: &Dir, name: &str) -> io::Result<cap_std::fs::File> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    dir.open_with(name, &options)
}
