//! The client's files: opened only inside the configured folder, and only as what they seem to be.

use std::path::{Component, Path, PathBuf};

use cap_std::fs::{File, Metadata};

use super::store::FilesFolder;

impl FilesFolder {
    /// Whether the file that the store names can be opened.
    pub fn holds(&self, stored: &str) -> bool {
        self.inside(stored)
            .and_then(|path| self.folder.metadata(path).ok())
            .is_some_and(|metadata| is_plain_file(&metadata))
    }

    /// Opens the file that the store names, and its size. None for what is not there, lies outside of the folder by
    /// whatever path or link, is not a regular file, or has another name elsewhere (a hard link leads out as well).
    pub fn open_file(&self, stored: &str) -> Option<(File, u64)> {
        if !self.holds(stored) {
            return None;
        }
        let file = self.folder.open(self.inside(stored)?).ok()?;
        let metadata = file.metadata().ok()?;
        is_plain_file(&metadata).then(|| (file, metadata.len()))
    }

    /// The path below the folder; clients write `\` and absolute paths too.
    fn inside(&self, stored: &str) -> Option<PathBuf> {
        let stored = stored.replace('\\', "/");
        let path = Path::new(&stored);
        let path = if path.is_absolute() { path.strip_prefix(&self.path).ok()? } else { path };
        let plain = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        (plain && !stored.contains('\0') && !stored.is_empty()).then(|| path.to_owned())
    }
}

fn is_plain_file(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    let single = cap_std::fs::MetadataExt::nlink(metadata) == 1;
    #[cfg(not(unix))]
    let single = true;
    metadata.is_file() && single
}
