//! Files that an operator names, read within a bound.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The bytes of a regular file of at most `most` bytes. A pipe or a device is [`io::ErrorKind::InvalidInput`], for reading it may
/// never end; a larger file, or one that grows past it meanwhile, is [`io::ErrorKind::FileTooLarge`].
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than any such file"));
    }
    Ok(bytes)
}

/// The text of such a file; one that is not UTF-8 is [`io::ErrorKind::InvalidData`].
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let text = String::from_utf8(read(path, most)?);
    text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(read(&path, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read_text(&path, 5).unwrap(), "12345");
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!(read_text(&path, 5).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(read(&folder.path().join("none"), 4).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn what_may_never_end_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for endless in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            assert_eq!(read(endless, 4).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{endless:?}");
        }
    }
}
