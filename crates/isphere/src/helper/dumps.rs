//! Dumps that are kept: the helper's response as it came, or without text (boundary contract, section 6.4).

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use govern::clock::Clock;
use thiserror::Error;

use super::{Dump, HelperError, Reply, protocol};

/// A dump was not kept. For the operator: it names the folder.
#[derive(Debug, Error)]
#[error(
    "the dump cannot be kept in {}: {reason}; set [isphere.helper] dumps_dir to a folder that can be written", folder.display()
)]
pub struct DumpNotSaved {
    folder: PathBuf,
    reason: io::Error,
}

/// The reply to who asked for no text. That the helper left it out is not taken on trust: names are made empty, and the
/// document holds of the data what is known here and nothing else.
pub(super) fn without_text(mut reply: Reply<Dump>) -> Result<Reply<Dump>, HelperError> {
    reply.data.root.leave_out_names();
    reply.document = protocol::with_data(&reply.document, &reply.data)?;
    Ok(reply)
}

/// Writes the response of a dump into `folder`, which is made when it is not there, and gives the file's path. The file is
/// for its owner only, for it holds what was on the screen; no file is overwritten.
pub fn save(folder: &Path, reply: &Reply<Dump>, clock: &Clock) -> Result<PathBuf, DumpNotSaved> {
    let refused = |reason| DumpNotSaved { folder: folder.to_owned(), reason };
    govern::private::make_folder(folder).map_err(refused)?;
    // Only letters and digits, whatever the helper gave as the handle.
    let hwnd: String = reply.data.hwnd.chars().filter(char::is_ascii_alphanumeric).take(16).collect();
    let time: String =
        govern::time::iso(clock.now_ms()).chars().filter(char::is_ascii_alphanumeric).collect();
    let path = folder.join(format!("{time}-{hwnd}.json"));
    write_new(&path, reply.document.as_slice()).map_err(refused)?;
    Ok(path)
}

/// Writes a file that must not be there yet. One that cannot be written whole is removed, for a part of a dump is of no use and
/// looks like one.
fn write_new(path: &Path, mut content: impl Read) -> io::Result<()> {
    let mut file = govern::private::file_options().create_new(true).open(path)?;
    let written = io::copy(&mut content, &mut file);
    drop(file);
    if written.is_err() {
        // The first failure is the one to tell.
        let _ = fs::remove_file(path);
    }
    written.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct FullDisk;

    impl Read for FullDisk {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn a_dump_that_cannot_be_written_whole_is_removed_and_another_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dump.json");
        let error = write_new(&path, b"{\"protocol\"".chain(FullDisk)).unwrap_err();
        assert_eq!((error.kind(), path.exists()), (io::ErrorKind::StorageFull, false));
        write_new(&path, b"{}".as_slice()).unwrap();
        let error = write_new(&path, FullDisk).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"{}");
    }
}
