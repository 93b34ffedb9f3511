//! Reads a file of which nothing is known but its path.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use thiserror::Error;

/// Why a file was not read. The text goes on after the file's name, and holds no path.
#[derive(Debug, Error, PartialEq)]
pub enum Unread {
    /// Nothing has this path.
    #[error("it is not there")]
    Missing,
    /// A link, folder, pipe, socket or device has this path.
    #[error("it is no regular file; put the file itself there, not a link to it")]
    NotRegular,
    /// The system refused.
    #[error("it cannot be read; may this user read it?")]
    Refused,
    /// It has more bytes than may be read.
    #[error("it is larger than {} KiB", .0 / 1024)]
    TooLarge(u64),
}

/// All bytes of a regular file of at most `most` bytes. A link is not followed, wherever it leads, and what is no
/// regular file is not opened.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, Unread> {
    // Asked before it is opened: opening something else, such as a pipe, can wait for ever.
    let about = path.symlink_metadata().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Unread::Missing,
        _ => Unread::Refused,
    })?;
    if !about.is_file() {
        return Err(Unread::NotRegular);
    }
    let file = File::open(path).map_err(|_| Unread::Refused)?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(|_| Unread::Refused)?;
    if bytes.len() as u64 > most {
        return Err(Unread::TooLarge(most));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "four").unwrap();
        assert_eq!(read(&path, 4), Ok(b"four".to_vec()));
        assert_eq!(read(&path, 3), Err(Unread::TooLarge(3)));
    }

    #[test]
    fn a_path_with_nothing_is_told_from_one_with_something_else() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(&folder.path().join("file"), 4), Err(Unread::Missing));
        assert_eq!(read(folder.path(), 4), Err(Unread::NotRegular));
    }

    #[cfg(unix)]
    #[test]
    fn links_pipes_sockets_and_devices_are_not_opened() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "four").unwrap();
        symlink(path("file"), path("link")).unwrap();
        symlink(path("nothing"), path("dangling")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        let device = Path::new("/dev/zero").to_owned();
        for path in [path("link"), path("dangling"), path("pipe"), path("socket"), device] {
            assert_eq!(read(&path, 4), Err(Unread::NotRegular), "{}", path.display());
        }
    }
}
