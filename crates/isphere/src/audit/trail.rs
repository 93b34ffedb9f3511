//! Appending: batches of records, whole or not at all, from several processes on one state folder.

use std::fs::{File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use govern::audit::head::Head;
use govern::audit::{Record, Sink, SinkError};
use govern::clock::Clock;
use govern::private::{file_options, make_folder};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use thiserror::Error;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::entry::{self, Event, Place};
use super::folder;
use super::head::{self, Found};
use super::key::StateKey;
use super::tail::{Tail, TailError};

/// How long a batch waits for the other processes' batches.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);
const LOCK_RETRY: Duration = Duration::from_millis(5);

/// The trail of one state folder, to which this process and others append.
#[derive(Clone, Debug)]
pub struct Trail(Arc<Writer>);

/// Why nothing can be appended. The message is for the operator and names the folder.
#[derive(Debug, Error)]
pub enum TrailError {
    /// A file or the folder does not do what it must.
    #[error(
        "the audit folder {0} cannot be used: {1}; let the user that runs countersign write there, and see that the \
         disk has room"
    )]
    Unusable(PathBuf, io::Error),
    /// The key beside it is another trail's.
    #[error("the audit trail in {0} was made with another key; put the audit.key back that belongs to it")]
    OtherKey(PathBuf),
    /// To append would cover up what was done.
    #[error(
        "the audit trail in {folder} is not as it was written: {what}; see `countersign audit verify --dir {folder}`, \
         then move the folder away for safekeeping, and a new trail begins"
    )]
    Altered {
        /// The audit folder.
        folder: PathBuf,
        /// What was found.
        what: &'static str,
    },
    /// It reached further before.
    #[error(
        "the audit trail in {0} was removed, or replaced by an older one, while this process runs; put it back as it was, \
         or end this process, and the next one begins where it finds the trail"
    )]
    Shorter(PathBuf),
    /// Another process does not let go of the lock.
    #[error("another process has kept the audit trail in {0} locked for 5 seconds; find it and end it")]
    Locked(PathBuf),
    /// The process is ending.
    #[error("the process is ending, so nothing is appended to the audit trail any more")]
    Ending,
}

impl Trail {
    /// Opens the trail of a state folder; makes the audit folder (mode 0700) when it is not there. Refuses a trail
    /// that was made with another key or whose end is not as its head says.
    pub fn open(state_dir: &Path, key: StateKey, clock: Clock) -> Result<Self, TrailError> {
        let folder = folder::of_state(state_dir);
        make_folder(&folder).map_err(|error| TrailError::Unusable(folder.clone(), error))?;
        let reached = Mutex::new(Head::genesis());
        let writer = Writer { folder, key, clock, reached, unfinished: Mutex::default() };
        // Without the lock the end may be that of a batch under way, but never one before the head.
        writer.end()?;
        Ok(Self(Arc::new(writer)))
    }
}

impl Sink for Trail {
    fn append<'a>(&'a self, batch: &'a [Record]) -> BoxFuture<'a, Result<(), SinkError>> {
        let events: Vec<Event> = batch.iter().map(Event::of_call).collect();
        let writer = Arc::clone(&self.0);
        Box::pin(async move {
            let appended = async {
                let lock = writer.lock().await?;
                spawn_blocking(move || {
                    let appended = writer.append(&events);
                    drop(lock);
                    appended
                })
                .await
                .map_err(|_| TrailError::Ending)?
            };
            appended.await.map_err(|error: TrailError| SinkError(error.to_string()))
        })
    }
}

#[derive(Debug)]
struct Writer {
    folder: PathBuf,
    key: StateKey,
    clock: Clock,
    /// How far the trail is known to have reached.
    reached: Mutex<Head>,
    /// What a failed batch left behind, when it could not be taken back at once.
    unfinished: Mutex<Option<Unfinished>>,
}

/// Bytes of a batch that failed.
#[derive(Debug)]
struct Unfinished {
    file: PathBuf,
    from: u64,
    /// Where the file ended after the failure: while it still does, nobody has appended since.
    to: u64,
}

impl Writer {
    /// Waits for the lock that all writers share; it is held until the file is dropped.
    async fn lock(&self) -> Result<File, TrailError> {
        let file = folder::lock_file(&self.folder).map_err(|error| self.unusable(error))?;
        let waiting = async {
            loop {
                match file.try_lock() {
                    Ok(()) => return Ok(()),
                    Err(TryLockError::WouldBlock) => sleep(LOCK_RETRY).await,
                    Err(TryLockError::Error(error)) => return Err(self.unusable(error)),
                }
            }
        };
        timeout(LOCK_PATIENCE, waiting).await.map_err(|_| TrailError::Locked(self.folder.clone()))??;
        Ok(file)
    }

    /// Appends a batch after whatever other processes appended; the caller holds the lock.
    fn append(&self, events: &[Event]) -> Result<(), TrailError> {
        self.take_back_unfinished().map_err(|error| self.unusable(error))?;
        let tail = self.end()?;
        let now = self.clock.now_ms();
        let day = tail.day.max(Some(utc_day(now))).unwrap_or_default();
        let mut batch = Batch { head: tail.head, day: day.to_string(), lines: Vec::new() };
        if let (Some(torn), Some(torn_day)) = (tail.torn, tail.day) {
            cut(&folder::day_file(&self.folder, torn_day), torn.from)
                .map_err(|error| self.unusable(error))?;
            tracing::warn!(
                bytes = torn.bytes,
                sha256 = torn.sha256,
                "the audit trail ended in a torn record, which was cut off"
            );
            batch.add(&Event::of_repair(now, torn.bytes, &torn.sha256), &self.key);
        }
        for event in events {
            batch.add(event, &self.key);
        }
        if tail.day.is_none() {
            // The first head comes before the first record, so that records without a head are a fault.
            head::replace(&self.folder, &Head::genesis(), &self.key).map_err(|error| self.unusable(error))?;
        }
        let file = folder::day_file(&self.folder, day);
        self.write(&file, &batch.lines).map_err(|error| self.unusable(error))?;
        *self.reached() = batch.head.clone();
        if let Err(error) = head::replace(&self.folder, &batch.head, &self.key) {
            // The records are kept, so the batch must not come again; until then only a cut of this batch is unnoticed.
            tracing::error!(%error, "the head of the audit trail was not replaced; the next batch tries again");
        }
        Ok(())
    }

    /// Where the trail ends, if that is as its head says.
    fn end(&self) -> Result<Tail, TrailError> {
        let altered = |what| TrailError::Altered { folder: self.folder.clone(), what };
        // In this order, for a process without the lock: each head is written after the records it counts.
        let begun = !folder::days(&self.folder).map_err(|error| self.unusable(error))?.is_empty();
        let head = match head::read(&self.folder, Some(&self.key)).map_err(|error| self.unusable(error))? {
            Found::Head(head) => head,
            Found::Nothing if begun => return Err(altered("head.json is missing")),
            Found::Nothing => Head::genesis(),
            Found::OtherKey => return Err(TrailError::OtherKey(self.folder.clone())),
            Found::Altered => return Err(altered("head.json was changed")),
        };
        let tail = Tail::read(&self.folder, &self.key).map_err(|error| match error {
            TailError::Unreadable(error) => self.unusable(error),
            TailError::Altered(what) => altered(what),
        })?;
        if tail.head.count < head.count {
            return Err(altered("its end was cut off"));
        }
        if tail.head.count == head.count && tail.head != head {
            return Err(altered("its last record is not the one that head.json names"));
        }
        // A folder that was removed and made again has no head that would tell.
        let mut reached = self.reached();
        if tail.head.count < reached.count || tail.head.count == reached.count && tail.head != *reached {
            return Err(TrailError::Shorter(self.folder.clone()));
        }
        // The tail may be that of another process's batch, which it may still take back; what a head counts stays.
        if head.count > reached.count {
            *reached = head;
        }
        Ok(tail)
    }

    fn reached(&self) -> MutexGuard<'_, Head> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes all of a batch and makes it last, or leaves nothing of it.
    fn write(&self, path: &Path, lines: &[u8]) -> io::Result<()> {
        let mut file = file_options().append(true).create(true).open(path)?;
        let from = file.metadata()?.len();
        let mut written = file.write_all(lines).and_then(|()| file.sync_data());
        if from == 0 {
            written = written.and_then(|()| folder::sync(&self.folder));
        }
        if written.is_err() && cut(path, from).is_err() {
            let to = file.metadata()?.len();
            *self.unfinished.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(Unfinished { file: path.to_owned(), from, to });
        }
        written
    }

    fn take_back_unfinished(&self) -> io::Result<()> {
        let mut unfinished = self.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Unfinished { file, from, to }) = &*unfinished
            && file.metadata()?.len() == *to
        {
            cut(file, *from)?;
        }
        *unfinished = None;
        Ok(())
    }

    fn unusable(&self, error: io::Error) -> TrailError {
        TrailError::Unusable(self.folder.clone(), error)
    }
}

/// Lines that are written at once.
struct Batch {
    head: Head,
    day: String,
    lines: Vec<u8>,
}

impl Batch {
    fn add(&mut self, event: &Event, key: &StateKey) {
        let count = self.head.count + 1;
        let place = Place { seq: count, prev: self.head.digest.clone(), day: self.day.clone() };
        let line = event.to_line(&place, key);
        self.head = Head { count, digest: entry::digest(&line[..line.len() - 1]) };
        self.lines.extend(line);
    }
}

fn cut(path: &Path, length: u64) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    file.set_len(length)?;
    file.sync_data()
}

/// The day to whose file a record goes that is written now. A clock that goes back does not lead back to an older
/// file, for the order of the files is that of the records.
fn utc_day(now_ms: i64) -> Date {
    let now = Timestamp::from_millisecond(now_ms).unwrap_or_default();
    TimeZone::UTC.to_datetime(now).date()
}
