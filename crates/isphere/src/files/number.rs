//! What tells a file from another one of the same name.

use std::path::Path;

/// The number of a file or folder. While it is open, no other one has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileNumber {
    device: u64,
    inode: u64,
}

impl FileNumber {
    /// The number of what has this name; none when nothing has. On Windows an open file keeps its name, so there all have
    /// the same number.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        #[cfg(unix)]
        let (device, inode) = {
            use std::os::unix::fs::MetadataExt as _;
            (metadata.dev(), metadata.ino())
        };
        #[cfg(not(unix))]
        let (device, inode) = (0, metadata.file_type().is_file().into());
        Some(Self { device, inode })
    }
}
