//! Reading a trail as it stood at one moment, while others may append to it.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Take};
use std::path::{Path, PathBuf};

use govern::audit::head::Head;
use jiff::civil::Date;
use serde::Serialize;
use thiserror::Error;

use super::entry::{self, Entry, MOST_BYTES};
use super::folder;

/// Why a trail cannot be read. The message is for the operator and names the file.
#[derive(Debug, Error)]
pub enum ReadError {
    /// There is nothing to read.
    #[error(
        "there is no audit trail in {0}; name the audit folder, or the state folder that has it, with --dir"
    )]
    NoTrail(PathBuf),
    /// A file or the folder did not answer.
    #[error("the audit trail {0} cannot be read: {1}; let this user read it")]
    Unreadable(PathBuf, io::Error),
    /// Something that is not a record.
    #[error("line {line} of {file} is not an audit record; see `countersign audit verify`")]
    NotARecord {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
    },
}

/// How often an operation ended in an outcome, and how long it took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Statistics {
    /// The tool, or what was asked for in its stead.
    pub operation: String,
    /// ok, error or refused.
    pub outcome: String,
    /// How many calls.
    pub calls: usize,
    /// Half of them took at most this many microseconds.
    pub p50_us: u64,
    /// 99 of 100 took at most this many microseconds.
    pub p99_us: u64,
}

/// The audit folder that `path` names: the folder itself, or that of the state folder at `path`.
pub fn find(path: &Path) -> Result<PathBuf, ReadError> {
    let of_state = folder::of_state(path);
    let folder = if of_state.is_dir() { of_state } else { path.to_owned() };
    if folder::is_begun(&folder) { Ok(folder) } else { Err(ReadError::NoTrail(path.to_owned())) }
}

/// The last `count` records, the oldest first.
pub fn tail(folder: &Path, count: usize) -> Result<Vec<Entry>, ReadError> {
    let mut last = VecDeque::new();
    for file in DayFile::all(folder)?.into_iter().rev() {
        let missing = count - last.len();
        if missing == 0 {
            break;
        }
        let mut newest = VecDeque::new();
        file.each_entry(|_, entry| {
            newest.push_back(entry);
            if newest.len() > missing {
                newest.pop_front();
            }
        })?;
        newest.append(&mut last);
        last = newest;
    }
    Ok(last.into())
}

/// Where the trail ends now. It is not checked; that is for [`super::verify::verify`].
pub fn head(folder: &Path) -> Result<Head, ReadError> {
    for file in DayFile::all(folder)?.into_iter().rev() {
        let mut end = None;
        file.each_whole_line(|number, line| {
            let entry = file.entry(number, line)?;
            end = Some(Head { count: entry.place.seq, digest: entry::digest(line) });
            Ok(())
        })?;
        if let Some(end) = end {
            return Ok(end);
        }
    }
    Ok(Head::genesis())
}

/// Counts and durations by operation and outcome, in this order. Takes eight bytes of memory a record.
pub fn statistics(folder: &Path) -> Result<Vec<Statistics>, ReadError> {
    let mut durations: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
    for file in DayFile::all(folder)? {
        file.each_entry(|_, Entry { event, .. }| {
            durations.entry((event.operation, event.outcome)).or_default().push(event.duration_us);
        })?;
    }
    let row = |((operation, outcome), mut sorted): ((String, String), Vec<u64>)| {
        sorted.sort_unstable();
        let percentile = |hundredths: usize| sorted[(sorted.len() * hundredths).div_ceil(100) - 1];
        let (p50_us, p99_us) = (percentile(50), percentile(99));
        Statistics { operation, outcome, calls: sorted.len(), p50_us, p99_us }
    };
    Ok(durations.into_iter().map(row).collect())
}

/// Hands over every record, in the trail's order, as the bytes of its line.
pub fn export<E: From<ReadError>>(
    folder: &Path,
    mut each: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    for file in DayFile::all(folder)? {
        file.each_whole_line(|_, line| each(line))?;
    }
    Ok(())
}

/// The file of a day, up to where it reached when the reading began.
pub(super) struct DayFile {
    pub(super) day: Date,
    path: PathBuf,
    length: u64,
}

impl DayFile {
    /// The files of a trail in their order.
    pub(super) fn all(folder: &Path) -> Result<Vec<Self>, ReadError> {
        if !folder::is_begun(folder) {
            return Err(ReadError::NoTrail(folder.to_owned()));
        }
        let days = folder::days(folder).map_err(|error| ReadError::Unreadable(folder.to_owned(), error))?;
        let file = |day| {
            let path = folder::day_file(folder, day);
            match path.metadata() {
                Ok(metadata) => Ok(Self { day, length: metadata.len(), path }),
                Err(error) => Err(ReadError::Unreadable(path, error)),
            }
        };
        days.into_iter().map(file).collect()
    }

    /// The lines of the file.
    pub(super) fn lines(&self) -> Result<Lines, ReadError> {
        let file = File::open(&self.path).map_err(|error| self.unreadable(error))?;
        Ok(Lines { file: BufReader::with_capacity(MOST_BYTES, file.take(self.length)), line: Vec::new() })
    }

    pub(super) fn unreadable(&self, error: io::Error) -> ReadError {
        ReadError::Unreadable(self.path.clone(), error)
    }

    /// The lines that have their line end; what a crash left behind the last one is no record.
    fn each_whole_line<E: From<ReadError>>(
        &self,
        mut each: impl FnMut(usize, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut lines = self.lines()?;
        let mut number = 0;
        while let Some(line) = lines.next().map_err(|error| self.unreadable(error))? {
            number += 1;
            match line {
                Line::Whole(line) => each(number, line)?,
                Line::Torn => return Ok(()),
                Line::TooLong => return Err(self.not_a_record(number).into()),
            }
        }
        Ok(())
    }

    fn each_entry(&self, mut each: impl FnMut(usize, Entry)) -> Result<(), ReadError> {
        self.each_whole_line(|number, line| {
            each(number, self.entry(number, line)?);
            Ok(())
        })
    }

    fn entry(&self, number: usize, line: &[u8]) -> Result<Entry, ReadError> {
        serde_json::from_slice(line).map_err(|_| self.not_a_record(number))
    }

    fn not_a_record(&self, line: usize) -> ReadError {
        ReadError::NotARecord { file: self.path.clone(), line }
    }
}

/// Reads a file line by line, never more than a line at once.
pub(super) struct Lines {
    file: BufReader<Take<File>>,
    line: Vec<u8>,
}

/// One line.
pub(super) enum Line<'a> {
    /// With its line end, which is left off here.
    Whole(&'a [u8]),
    /// The file ends before the line does.
    Torn,
    /// Longer than any record.
    TooLong,
}

impl Lines {
    /// The next line; none at the end. After [`Line::TooLong`] the rest of that line comes as if it were the next.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        let bound = MOST_BYTES as u64 + 1;
        let read = (&mut self.file).take(bound).read_until(b'\n', &mut self.line)?;
        Ok(match self.line.strip_suffix(b"\n") {
            Some(line) => Some(Line::Whole(line)),
            None if read == 0 => None,
            None if read as u64 == bound => Some(Line::TooLong),
            None => Some(Line::Torn),
        })
    }
}
