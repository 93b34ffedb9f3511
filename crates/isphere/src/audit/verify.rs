//! Verifying: walks the lines of all files and stops at the first that is not as it was written.

use std::path::Path;

use govern::audit::head::Head;
use serde::Serialize;

use super::entry::{self, Place};
use super::folder;
use super::head::{self, Found};
use super::key::StateKey;
use super::read::{DayFile, Line, ReadError};

/// What verifying found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether the trail is as it was written.
    pub ok: bool,
    /// How many records were found good, from the first on.
    pub records: i64,
    /// The number (from 1) of the first bad record; none when no record is at fault.
    pub first_bad: Option<i64>,
    /// What is wrong there.
    pub reason: Option<String>,
    /// `COUNT:DIGEST` of the last good record.
    pub head: String,
    /// Whether the last file ends in the middle of a record that was never counted: a write is under way, or a crash
    /// broke it off, and the next one repairs that. No fault.
    pub torn_tail: bool,
    /// Whether the records were checked with the key. Without it, who changes a record and all after it goes unnoticed.
    pub key_checked: bool,
}

/// Verifies the trail in a folder as it stands at one moment; records may be appended meanwhile.
///
/// With `head`, also that the trail still holds all that it held when that head was printed. Memory use does not grow
/// with the trail.
pub fn verify(folder: &Path, key: Option<&StateKey>, head: Option<&Head>) -> Result<Report, ReadError> {
    // First the head: it never counts more than the files that are read after it.
    let kept = head::read(folder, key).map_err(|error| ReadError::Unreadable(folder::head(folder), error))?;
    let files = DayFile::all(folder)?;
    let mut walk =
        Walk { key, heads: head.cloned().into_iter().collect(), good: Head::genesis(), torn: false };
    let (first_bad, reason) = match walk.all(&files, kept) {
        Ok(()) => (None, None),
        Err(Stop::Fault { at, reason }) => (at, Some(reason)),
        Err(Stop::Failed(error)) => return Err(error),
    };
    Ok(Report {
        ok: reason.is_none(),
        records: walk.good.count,
        first_bad,
        reason,
        head: walk.good.to_string(),
        torn_tail: walk.torn,
        key_checked: key.is_some(),
    })
}

/// What ends a walk early.
enum Stop {
    /// Something is not as it was written.
    Fault {
        at: Option<i64>,
        reason: String,
    },
    Failed(ReadError),
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        Self::Failed(error)
    }
}

fn fault<T>(at: impl Into<Option<i64>>, reason: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Fault { at: at.into(), reason: reason.into() })
}

struct Walk<'w> {
    key: Option<&'w StateKey>,
    /// What the trail must have held at some time.
    heads: Vec<Head>,
    /// The last good record.
    good: Head,
    torn: bool,
}

impl Walk<'_> {
    fn all(&mut self, files: &[DayFile], kept: Found) -> Result<(), Stop> {
        let head_fault = match kept {
            Found::Head(head) => {
                self.heads.push(head);
                None
            }
            Found::OtherKey => {
                return fault(None, "the key is not the one the trail was made with; use the right key file");
            }
            // The records are looked at first, for a place says more than this.
            Found::Altered => Some("head.json was changed, or made without the key"),
            Found::Nothing => Some("head.json is missing, without which a cut end goes unnoticed"),
        };
        for (index, file) in files.iter().enumerate() {
            self.check_file(file, index + 1 == files.len())?;
        }
        if let Some(head) = self.heads.iter().max_by_key(|head| head.count)
            && head.count > self.good.count
        {
            let (next, last) = (self.good.count + 1, head.count);
            return fault(next, format!("records {next} to {last} are missing: the end was cut off"));
        }
        head_fault.map_or(Ok(()), |reason| fault(None, reason))
    }

    fn check_file(&mut self, file: &DayFile, is_last: bool) -> Result<(), Stop> {
        let day = file.day.to_string();
        let mut lines = file.lines()?;
        while let Some(line) = lines.next().map_err(|error| file.unreadable(error))? {
            let number = self.good.count + 1;
            match line {
                Line::Whole(line) => self.check_line(number, line, &day)?,
                Line::Torn if is_last => self.torn = true,
                Line::Torn => {
                    return fault(number, format!("the file of {day} ends in the middle of record {number}"));
                }
                Line::TooLong => return fault(number, format!("record {number} is longer than any record")),
            }
        }
        Ok(())
    }

    fn check_line(&mut self, number: i64, line: &[u8], day: &str) -> Result<(), Stop> {
        if self.key.is_some_and(|key| !entry::is_authentic(line, key)) {
            return fault(number, format!("record {number} was changed, or made without the key"));
        }
        let Ok(place) = serde_json::from_slice::<Place>(line) else {
            return fault(number, format!("record {number} cannot be read"));
        };
        if place.day != day {
            let written = place.day.get(..10).unwrap_or_default();
            return fault(
                number,
                format!("the file of {day} has a record of the file of {written}: it was renamed"),
            );
        }
        if place.seq > number {
            return fault(
                number,
                format!("record {number} is missing; record {} stands in its place", place.seq),
            );
        }
        if place.seq < number {
            return fault(
                number,
                format!("record {} stands again in the place of record {number}", place.seq),
            );
        }
        if place.prev != self.good.digest {
            return fault(
                number,
                format!(
                    "record {number} does not continue the one before it: one of the two is not the one that was written"
                ),
            );
        }
        self.good = Head { count: number, digest: entry::digest(line) };
        if self.heads.iter().any(|head| head.count == number && *head != self.good) {
            return fault(
                number,
                format!("up to record {number} this is not the trail that the head was taken from"),
            );
        }
        Ok(())
    }
}
