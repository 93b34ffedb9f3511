//! Files that are sent: only from the outbound folder, and only plain files that nothing else points at.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::SystemTime;

use cap_fs_ext::{FollowSymlinks, MetadataExt as _, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions};
use govern::arguments::ArgumentFault;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::names::{NameFault, below, open_folder};

/// A file that may be sent, as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboundFile {
    /// Its name, without folders.
    pub name: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// The digest of its bytes.
    pub sha256: [u8; 32],
}

/// Why a file cannot be sent.
#[derive(Debug, Error)]
pub enum OutboundError {
    /// No outbound folder is configured.
    #[error(
        "no file can be sent, for no outbound folder is configured; the operator sets [isphere] outbound_dir"
    )]
    NotConfigured,
    /// The outbound folder is not there or not readable.
    #[error(
        "the outbound folder cannot be opened; the operator makes the folder of [isphere] outbound_dir readable"
    )]
    NoFolder(io::Error),
    /// The path itself is not allowed.
    #[error("{0}")]
    Path(#[from] NameFault),
    /// Nothing has this name.
    #[error("there is no such file in the outbound folder; put it there and call again")]
    NotFound,
    /// The path leads through a link, or other names point at the file.
    #[error(
        "a path without links to a file without further hard links; copy the file into the outbound folder"
    )]
    Link,
    /// A folder, a device, a pipe.
    #[error("a regular file")]
    NotAFile,
    /// It is larger than `[isphere] max_file_bytes`.
    #[error("a file of at most {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// It changed while it was read.
    #[error("a file that is complete: it changed while it was read. Call again when nobody writes to it")]
    Changed,
    /// The operating system did not let it be read.
    #[error("the file cannot be read; the operator lets the user that runs countersign read it")]
    Unreadable(io::Error),
}

/// Reads the file at `path` below `folder` once, for its size and digest. Blocks.
pub fn inspect(folder: Option<&Path>, path: &str, max_bytes: u64) -> Result<OutboundFile, OutboundError> {
    let folder = folder.ok_or(OutboundError::NotConfigured)?;
    let relative = below(folder, path)?;
    let name = relative.file_name().and_then(|name| name.to_str()).ok_or(OutboundError::NotAFile)?;
    let root = Dir::open_ambient_dir(folder, ambient_authority()).map_err(OutboundError::NoFolder)?;
    let parent = relative.parent().unwrap_or(Path::new(""));
    let parent = open_folder(&root, parent).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => OutboundError::NotFound,
        io::ErrorKind::PermissionDenied => OutboundError::Unreadable(error),
        // A link is refused with different errors by different systems.
        _ => OutboundError::Link,
    })?;
    let file = open(&parent, name)?;
    let before = metadata(&file)?;
    if before.size > max_bytes {
        return Err(OutboundError::TooLarge { limit: max_bytes });
    }
    let (size_bytes, sha256) = digest(&file, before.size).map_err(OutboundError::Unreadable)?;
    if size_bytes != before.size || metadata(&file)? != before {
        return Err(OutboundError::Changed);
    }
    Ok(OutboundFile { name: name.to_owned(), size_bytes, sha256 })
}

/// Opens the regular file `name` that no other name points at.
fn open(parent: &Dir, name: &str) -> Result<File, OutboundError> {
    let found = parent.symlink_metadata(name).map_err(not_opened)?;
    if found.is_symlink() {
        return Err(OutboundError::Link);
    }
    if !found.is_file() {
        return Err(OutboundError::NotAFile);
    }
    // What was put in its place meanwhile is neither followed nor, when it is a pipe, waited for.
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = parent.open_with(name, &options).map_err(not_opened)?;
    let opened = file.metadata().map_err(OutboundError::Unreadable)?;
    check_kind(&opened)?;
    Ok(file.into_std())
}

fn check_kind(opened: &Metadata) -> Result<(), OutboundError> {
    if !opened.is_file() {
        return Err(OutboundError::NotAFile);
    }
    if opened.nlink() == 1 { Ok(()) } else { Err(OutboundError::Link) }
}

fn not_opened(error: io::Error) -> OutboundError {
    match error.kind() {
        io::ErrorKind::NotFound => OutboundError::NotFound,
        _ => OutboundError::Unreadable(error),
    }
}

/// What is compared before and after the reading.
#[derive(PartialEq)]
struct State {
    size: u64,
    modified: Option<SystemTime>,
}

fn metadata(file: &File) -> Result<State, OutboundError> {
    let metadata = file.metadata().map_err(OutboundError::Unreadable)?;
    Ok(State { size: metadata.len(), modified: metadata.modified().ok() })
}

/// How many bytes there are, and their digest; stops behind `expected`, for a file that grows need not be read on.
fn digest(file: &File, expected: u64) -> io::Result<(u64, [u8; 32])> {
    let mut reader = file.take(expected.saturating_add(1));
    let (mut hasher, mut size) = (Sha256::new(), 0);
    let mut buffer = vec![0; 64 << 10];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok((size, hasher.finalize().into())),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                size += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    struct Outbox {
        home: tempfile::TempDir,
        folder: PathBuf,
    }

    impl Outbox {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let folder = home.path().join("outbound");
            fs::create_dir_all(folder.join("报表")).unwrap();
            fs::write(folder.join("报表/三月.txt"), "营收").unwrap();
            fs::write(home.path().join("secret.txt"), "outside").unwrap();
            Self { home, folder }
        }

        fn inspect(&self, path: &str) -> Result<OutboundFile, OutboundError> {
            inspect(Some(&self.folder), path, 1000)
        }
    }

    #[test]
    fn a_file_in_the_folder_is_known_by_name_size_and_digest() {
        let outbox = Outbox::new();
        let relative = outbox.inspect("报表/三月.txt").unwrap();
        assert_eq!((relative.name.as_str(), relative.size_bytes), ("三月.txt", 6));
        assert_eq!(relative.sha256, <[u8; 32]>::from(Sha256::digest("营收")));
        let absolute = outbox.folder.join("报表/三月.txt");
        assert_eq!(outbox.inspect(absolute.to_str().unwrap()).unwrap(), relative);
    }

    #[test]
    fn what_is_not_in_the_folder_is_refused() {
        let outbox = Outbox::new();
        let secret = outbox.home.path().join("secret.txt");
        assert!(matches!(outbox.inspect("../secret.txt"), Err(OutboundError::Path(NameFault::Parent))));
        let outside = outbox.inspect(secret.to_str().unwrap());
        assert!(matches!(outside, Err(OutboundError::Path(NameFault::Outside))));
        assert!(matches!(outbox.inspect("报表/四月.txt"), Err(OutboundError::NotFound)));
        assert!(matches!(outbox.inspect("没有/三月.txt"), Err(OutboundError::NotFound)));
    }

    #[test]
    fn what_is_no_plain_file_is_refused() {
        let outbox = Outbox::new();
        assert!(matches!(outbox.inspect("报表"), Err(OutboundError::NotAFile)));
        assert!(matches!(outbox.inspect("."), Err(OutboundError::NotAFile)));
        assert!(outbox.inspect("报表/三月.txt/x").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_refused_wherever_they_lead() {
        use std::os::unix::fs::symlink;
        let outbox = Outbox::new();
        symlink("../secret.txt", outbox.folder.join("out.txt")).unwrap();
        symlink("报表/三月.txt", outbox.folder.join("in.txt")).unwrap();
        symlink("报表", outbox.folder.join("folder")).unwrap();
        fs::hard_link(outbox.home.path().join("secret.txt"), outbox.folder.join("hard.txt")).unwrap();
        for path in ["out.txt", "in.txt", "folder/三月.txt", "hard.txt"] {
            assert!(matches!(outbox.inspect(path), Err(OutboundError::Link)), "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_socket_is_refused_and_not_waited_for() {
        let outbox = Outbox::new();
        let _socket = std::os::unix::net::UnixListener::bind(outbox.folder.join("s")).unwrap();
        assert!(matches!(outbox.inspect("s"), Err(OutboundError::NotAFile)));
    }

    #[test]
    fn the_size_is_capped() {
        let outbox = Outbox::new();
        fs::write(outbox.folder.join("fits"), [0; 1000]).unwrap();
        fs::write(outbox.folder.join("large"), [0; 1001]).unwrap();
        assert_eq!(outbox.inspect("fits").unwrap().size_bytes, 1000);
        assert!(matches!(outbox.inspect("large"), Err(OutboundError::TooLarge { limit: 1000 })));
    }

    #[test]
    fn a_file_that_grew_gives_another_size_than_was_seen_before() {
        let outbox = Outbox::new();
        let file = File::open(outbox.folder.join("报表/三月.txt")).unwrap();
        assert_eq!(digest(&file, 3).unwrap().0, 4, "one byte more than expected shows the growth");
    }

    #[test]
    fn without_a_folder_no_file_can_be_sent() {
        assert!(matches!(inspect(None, "a.txt", 1), Err(OutboundError::NotConfigured)));
        let gone = Outbox::new().folder;
        assert!(matches!(inspect(Some(&gone), "a.txt", 1), Err(OutboundError::NoFolder(_))));
    }
}
