//! Where the trail ends: its last whole record, and what a crash left behind it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use govern::audit::head::Head;
use govern::hex::hex;
use jiff::civil::Date;
use sha2::{Digest as _, Sha256};

use super::entry::{self, MOST_BYTES, Place};
use super::folder;
use super::key::StateKey;

/// The end of a trail.
#[derive(Debug)]
pub(super) struct Tail {
    /// The last whole record; genesis when there is none.
    pub head: Head,
    /// The newest day that has a file.
    pub day: Option<Date>,
    /// What a crash left of a record at the end of the newest file.
    pub torn: Option<Torn>,
}

/// A record that was not written to its end.
#[derive(Debug)]
pub(super) struct Torn {
    /// Where in the file it begins.
    pub from: u64,
    /// How many bytes are there.
    pub bytes: u64,
    /// Their SHA-256, hexadecimal.
    pub sha256: String,
}

/// Why the end cannot be told.
#[derive(Debug)]
pub(super) enum TailError {
    /// A file or the folder did not answer.
    Unreadable(io::Error),
    /// It is not as the trail writes it.
    Altered(&'static str),
}

impl From<io::Error> for TailError {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

impl Tail {
    /// Reads the end of the trail in a folder.
    pub(super) fn read(folder: &Path, key: &StateKey) -> Result<Self, TailError> {
        let days = folder::days(folder)?;
        let mut tail = Self { head: Head::genesis(), day: days.last().copied(), torn: None };
        for day in days.into_iter().rev() {
            let mut file = File::open(folder::day_file(folder, day))?;
            let length = file.metadata()?.len();
            let (line, end) = last_line(&mut file, length)?;
            if end < length {
                if tail.day != Some(day) {
                    return Err(TailError::Altered(
                        "a file that is not the newest ends in the middle of a record",
                    ));
                }
                tail.torn = Some(torn(&mut file, end, length)?);
            }
            if let Some(line) = line {
                tail.head = head_of(&line, key)?;
                break;
            }
        }
        Ok(tail)
    }
}

fn head_of(line: &[u8], key: &StateKey) -> Result<Head, TailError> {
    let place: Option<Place> = serde_json::from_slice(line).ok();
    match place.filter(|_| entry::is_authentic(line, key)) {
        Some(place) => Ok(Head { count: place.seq, digest: entry::digest(line) }),
        None => Err(TailError::Altered("its last record was changed, or made without its key")),
    }
}

/// The last line that has its line end, and where the file goes on after it.
fn last_line(file: &mut File, length: u64) -> io::Result<(Option<Vec<u8>>, u64)> {
    let mut window = 2 * MOST_BYTES as u64;
    loop {
        let from = length.saturating_sub(window);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        (&*file).take(length - from).read_to_end(&mut bytes)?;
        let line_end = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n');
        if let Some(end) = line_end(&bytes) {
            let start = line_end(&bytes[..end]).map(|before| before + 1).or((from == 0).then_some(0));
            if let Some(start) = start {
                return Ok((Some(bytes[start..end].to_vec()), from + end as u64 + 1));
            }
        } else if from == 0 {
            return Ok((None, 0));
        }
        if window > MOST_TORN {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "there is no record at the end of the file",
            ));
        }
        window *= 2;
    }
}

/// A crash leaves at most a batch; more than this is something else.
const MOST_TORN: u64 = 64 << 20;

fn torn(file: &mut File, from: u64, length: u64) -> io::Result<Torn> {
    file.seek(SeekFrom::Start(from))?;
    let mut sha256 = Sha256::new();
    let mut rest = (&*file).take(length - from);
    let mut block = [0; 8 << 10];
    let mut bytes = 0;
    loop {
        let read = rest.read(&mut block)?;
        if read == 0 {
            return Ok(Torn { from, bytes, sha256: hex(&sha256.finalize()) });
        }
        sha256.update(&block[..read]);
        bytes += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn last(content: &[u8]) -> (Option<Vec<u8>>, u64) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        last_line(&mut file, content.len() as u64).unwrap()
    }

    #[test]
    fn the_last_whole_line_is_found_whatever_follows_it() {
        assert_eq!(last(b""), (None, 0));
        assert_eq!(last(b"torn"), (None, 0));
        assert_eq!(last(b"a\n"), (Some(b"a".to_vec()), 2));
        assert_eq!(last(b"a\nbc\nto"), (Some(b"bc".to_vec()), 5));
        let torn = [b"a\nbc\n".to_vec(), vec![0; 5 * MOST_BYTES]].concat();
        assert_eq!(last(&torn), (Some(b"bc".to_vec()), 5));
        let long = [b"a\n".to_vec(), vec![b'x'; 3 * MOST_BYTES], b"\n".to_vec()].concat();
        assert_eq!(last(&long).0.unwrap().len(), 3 * MOST_BYTES);
    }
}
