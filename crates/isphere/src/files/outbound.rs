//! The outbound folder: files that are sent come from it alone, and only plain files that nothing else points at. It is
//! opened anew for each use, for it may be moved away and made again while the server runs.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cap_fs_ext::{FollowSymlinks, MetadataExt as _, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use govern::arguments::ArgumentFault;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::names::{NameFault, below, open_folder};

/// The configured folder for files that are sent; clones share it.
#[derive(Clone, Debug)]
pub struct Outbound {
    path: PathBuf,
    max_bytes: u64,
}

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

/// Why a file cannot be sent. Messages hold no path.
#[derive(Debug, Error)]
pub enum OutboundError {
    /// `file_path` is not a path that may be used.
    #[error(transparent)]
    Path(#[from] ArgumentFault),
    /// Nothing has this name.
    #[error("there is no such file in the outbound folder; put it there and call again")]
    NotFound,
    /// The path leads through a link, or other names point at the file.
    #[error(
        "`$.file_path` leads through a link, or its file has another hard link; copy the file into the outbound folder"
    )]
    Link,
    /// A folder, a device, a pipe.
    #[error("`$.file_path` must name a regular file")]
    NotAFile,
    /// It is larger than allowed.
    #[error("the file is larger than the {limit} bytes that the operator allows ([isphere] max_file_bytes)")]
    TooLarge {
        /// The configured limit, in bytes.
        limit: u64,
    },
    /// It changed while it was read.
    #[error("the file changed while it was read; call again when nobody writes to it")]
    Changed,
    /// The configured folder cannot be opened any more.
    #[error(
        "the server's folder for files to send is not there; its operator has to make it again ([isphere] outbound_dir)"
    )]
    NoFolder {
        /// Why, for the log.
        #[source]
        cause: io::Error,
    },
    /// The operating system did not let it be read.
    #[error("the file cannot be read on the server; the operator finds the reason in its log")]
    Unreadable {
        /// Why, for the log.
        #[source]
        cause: io::Error,
    },
}

impl Outbound {
    /// The configured folder, which must be there.
    pub fn open(path: &Path, max_bytes: u64) -> io::Result<Self> {
        Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(Self { path: path.to_owned(), max_bytes })
    }

    /// Reads the file at `path` (relative to the folder, or absolute inside it) once, for its size and digest.
    pub async fn inspect(&self, path: &str) -> Result<OutboundFile, OutboundError> {
        let relative =
            below(&self.path, path).map_err(|fault: NameFault| fault.of_argument("$.file_path"))?;
        let (path, max_bytes) = (self.path.clone(), self.max_bytes);
        let read = tokio::task::spawn_blocking(move || {
            let root = Dir::open_ambient_dir(&path, ambient_authority())
                .map_err(|cause| OutboundError::NoFolder { cause })?;
            inspect(&root, &relative, max_bytes)
        });
        read.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }
}

impl OutboundError {
    /// The code of the contract.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Path(_) | Self::Link | Self::NotAFile | Self::TooLarge { .. } | Self::Changed => {
                "INVALID_ARGUMENT"
            }
            Self::NotFound => "TARGET_NOT_FOUND",
            Self::NoFolder { .. } | Self::Unreadable { .. } => "INTERNAL_ERROR",
        }
    }

    /// The argument that is wrong, when it is one.
    pub fn field(&self) -> Option<&str> {
        (self.code() == "INVALID_ARGUMENT").then_some("file_path")
    }
}

fn inspect(root: &Dir, relative: &Path, max_bytes: u64) -> Result<OutboundFile, OutboundError> {
    let name = relative.file_name().and_then(|name| name.to_str()).ok_or(OutboundError::NotAFile)?;
    let parent = open_folder(root, relative.parent().unwrap_or(Path::new(""))).map_err(|cause| {
        match cause.kind() {
            io::ErrorKind::NotFound => OutboundError::NotFound,
            io::ErrorKind::PermissionDenied => OutboundError::Unreadable { cause },
            // A link is refused with different errors by different systems.
            _ => OutboundError::Link,
        }
    })?;
    let file = open(&parent, name)?;
    let before = state(&file)?;
    if before.size > max_bytes {
        return Err(OutboundError::TooLarge { limit: max_bytes });
    }
    let (size_bytes, sha256) = digest(&file, before.size).map_err(unreadable)?;
    if size_bytes != before.size || state(&file)? != before {
        return Err(OutboundError::Changed);
    }
    Ok(OutboundFile { name: name.to_owned(), size_bytes, sha256 })
}

/// Opens the regular file `name` that no other name points at.
fn open(parent: &Dir, name: &str) -> Result<File, OutboundError> {
    let found = parent.symlink_metadata(name).map_err(unreadable)?;
    if found.is_symlink() {
        return Err(OutboundError::Link);
    }
    if !found.is_file() {
        return Err(OutboundError::NotAFile);
    }
    // What was put in its place meanwhile is neither followed nor, when it is a pipe, waited for.
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = parent.open_with(name, &options).map_err(unreadable)?;
    let opened = file.metadata().map_err(unreadable)?;
    if !opened.is_file() {
        return Err(OutboundError::NotAFile);
    }
    if opened.nlink() == 1 { Ok(file.into_std()) } else { Err(OutboundError::Link) }
}

fn unreadable(cause: io::Error) -> OutboundError {
    match cause.kind() {
        io::ErrorKind::NotFound => OutboundError::NotFound,
        _ => OutboundError::Unreadable { cause },
    }
}

/// What is compared before and after the reading.
#[derive(PartialEq)]
struct State {
    size: u64,
    modified: Option<SystemTime>,
}

fn state(file: &File) -> Result<State, OutboundError> {
    let metadata = file.metadata().map_err(unreadable)?;
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

        async fn inspect(&self, path: &str) -> Result<OutboundFile, OutboundError> {
            Outbound::open(&self.folder, 1000).unwrap().inspect(path).await
        }
    }

    #[tokio::test]
    async fn a_file_in_the_folder_is_known_by_name_size_and_digest() {
        let outbox = Outbox::new();
        let relative = outbox.inspect("报表/三月.txt").await.unwrap();
        assert_eq!((relative.name.as_str(), relative.size_bytes), ("三月.txt", 6));
        assert_eq!(relative.sha256, <[u8; 32]>::from(Sha256::digest("营收")));
        let absolute = outbox.folder.join("报表/三月.txt");
        assert_eq!(outbox.inspect(absolute.to_str().unwrap()).await.unwrap(), relative);
    }

    #[tokio::test]
    async fn what_is_not_in_the_folder_is_refused() {
        let outbox = Outbox::new();
        let secret = outbox.home.path().join("secret.txt");
        assert!(matches!(outbox.inspect("../secret.txt").await, Err(OutboundError::Path(_))));
        let outside = outbox.inspect(secret.to_str().unwrap()).await;
        assert!(matches!(outside, Err(OutboundError::Path(_))));
        assert!(matches!(outbox.inspect("报表/四月.txt").await, Err(OutboundError::NotFound)));
        assert!(matches!(outbox.inspect("没有/三月.txt").await, Err(OutboundError::NotFound)));
    }

    #[tokio::test]
    async fn a_folder_that_is_gone_is_told_and_one_that_was_made_again_is_used() {
        let outbox = Outbox::new();
        let outbound = Outbound::open(&outbox.folder, 1000).unwrap();
        fs::rename(&outbox.folder, outbox.home.path().join("away")).unwrap();
        let gone = outbound.inspect("报表/三月.txt").await;
        assert!(matches!(gone, Err(OutboundError::NoFolder { .. })));
        fs::create_dir(&outbox.folder).unwrap();
        fs::write(outbox.folder.join("new.txt"), "新").unwrap();
        assert_eq!(outbound.inspect("new.txt").await.unwrap().size_bytes, 3);
        assert!(matches!(outbound.inspect("报表/三月.txt").await, Err(OutboundError::NotFound)));
    }

    #[tokio::test]
    async fn what_is_no_plain_file_is_refused() {
        let outbox = Outbox::new();
        assert!(matches!(outbox.inspect("报表").await, Err(OutboundError::NotAFile)));
        assert!(matches!(outbox.inspect(".").await, Err(OutboundError::NotAFile)));
        assert!(outbox.inspect("报表/三月.txt/x").await.is_err());
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn links_are_refused_wherever_they_lead() {
        use std::os::unix::fs::symlink;
        let outbox = Outbox::new();
        symlink("../secret.txt", outbox.folder.join("out.txt")).unwrap();
        symlink("报表/三月.txt", outbox.folder.join("in.txt")).unwrap();
        symlink("报表", outbox.folder.join("folder")).unwrap();
        fs::hard_link(outbox.home.path().join("secret.txt"), outbox.folder.join("hard.txt")).unwrap();
        for path in ["out.txt", "in.txt", "folder/三月.txt", "hard.txt"] {
            assert!(matches!(outbox.inspect(path).await, Err(OutboundError::Link)), "{path}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_socket_is_refused_and_not_waited_for() {
        let outbox = Outbox::new();
        let _socket = std::os::unix::net::UnixListener::bind(outbox.folder.join("s")).unwrap();
        assert!(matches!(outbox.inspect("s").await, Err(OutboundError::NotAFile)));
    }

    #[tokio::test]
    async fn the_size_is_capped() {
        let outbox = Outbox::new();
        fs::write(outbox.folder.join("fits"), [0; 1000]).unwrap();
        fs::write(outbox.folder.join("large"), [0; 1001]).unwrap();
        assert_eq!(outbox.inspect("fits").await.unwrap().size_bytes, 1000);
        assert!(matches!(outbox.inspect("large").await, Err(OutboundError::TooLarge { limit: 1000 })));
    }

    #[test]
    fn a_file_that_grew_gives_another_size_than_was_seen_before() {
        let outbox = Outbox::new();
        let file = File::open(outbox.folder.join("报表/三月.txt")).unwrap();
        assert_eq!(digest(&file, 3).unwrap().0, 4, "one byte more than expected shows the growth");
    }

    #[test]
    fn other_bytes_of_the_same_size_show_as_another_state() {
        let outbox = Outbox::new();
        let path = outbox.folder.join("报表/三月.txt");
        let file = File::open(&path).unwrap();
        let before = state(&file).unwrap();
        let written = File::options().write(true).open(&path).unwrap();
        written.set_modified(before.modified.unwrap() + std::time::Duration::from_millis(20)).unwrap();
        assert!(state(&file).unwrap() != before);
    }

    #[test]
    fn a_folder_that_is_not_there_is_not_opened() {
        assert!(Outbound::open(&Outbox::new().folder.join("gone"), 1).is_err());
    }
}
