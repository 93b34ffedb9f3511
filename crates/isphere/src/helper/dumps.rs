//! Dumps that are kept: the helper's response as it came, or without text (boundary contract, section 6.4).

use std::fs::OpenOptions;
use std::io::{self, Write as _};
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
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&path).and_then(|mut file| file.write_all(&reply.document));
    written.map(|()| path).map_err(refused)
}
