//! The ledger: under one idempotency key of one tool there is one operation, for ever and for all processes that share
//! a state folder.
//!
//! The first preview under a key records a plan: the digest of the key, the digest of target and content, the outcome
//! and two times, never the key or the text. Target and content are bound to the key from then on: the same preview
//! again is answered the same and moves the time of the last one; any other target or content is refused. Production
//! is the second phase of the same operation, so a plan never stands in its way; while the gate is closed it is only
//! compared with the plan and records nothing, so that it can be done under the same key once the gate is open. A
//! preview that fails records nothing either.
//!
//! A row has less than 200 bytes and none is ever removed, for a key must not become free again. When the file itself is
//! removed or replaced under a running server, all that it answers is a refusal until the file is back.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use govern::arguments::ArgumentFault;
use govern::private::{file_options, make_folder};
use rusqlite::{Connection, OptionalExtension as _, params};
use thiserror::Error;

use super::content::Sha256Digest;
use crate::files::FileNumber;

/// The ledger of one state folder.
#[derive(Clone, Debug)]
pub struct Ledger(Arc<Opened>);

#[derive(Debug)]
struct Opened {
    path: PathBuf,
    numbers: Numbers,
    connection: Mutex<Connection>,
}

/// The numbers of SQLite's three files: the database, its log and the log's shared memory. All stay as long as one process
/// has them open.
type Numbers = [Option<FileNumber>; 3];

/// One send, as the ledger knows it.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The tool; keys of different tools are different keys.
    pub tool: &'static str,
    /// The digest of the idempotency key.
    pub key_sha256: Sha256Digest,
    /// The digest of target and content.
    pub sha256: Sha256Digest,
}

/// Why an operation cannot go on.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// The key belongs to another target or content.
    #[error(
        "`$.idempotency_key` was used before for another target or content; take a new key for a new send, or repeat \
         the first one unchanged"
    )]
    OtherOperation,
    /// It is not the file any more that was opened, so another process sees another ledger.
    #[error("the ledger {0} was removed or replaced while this process runs; put it back, and start again")]
    Gone(PathBuf),
    /// The file could not be read or written.
    #[error("the ledger cannot be read or written: {0}")]
    Failed(#[from] rusqlite::Error),
}

/// Why there is no ledger to work with. The message is for the operator and names the file.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The folder or the file cannot be made or locked.
    #[error("the ledger {0} cannot be made: {1}; let the user that runs countersign write to its folder")]
    NotMade(PathBuf, io::Error),
    /// It is there and is not a ledger that can be written.
    #[error("the ledger {0} cannot be opened: {1}; put it back from your copy, or let this user write to it")]
    NotOpened(PathBuf, rusqlite::Error),
    /// It was taken away, and the files that SQLite keeps beside it were not. A new one would not know the keys that were used.
    #[error(
        "the ledger {0} is not there, but its -wal or -shm file is; put it back from where it was moved to, or from your copy; if it is \
         lost, move these two files away as well, and a new ledger begins, to which all keys are new"
    )]
    TakenAway(PathBuf),
    /// A newer release made it.
    #[error(
        "the ledger {path} has version {version}, which is newer than this release; use the newer release"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
    },
}

/// Name of the file in the state folder.
const FILE: &str = "ledger.db";
/// Held while the file is opened, for SQLite does not wait when two processes switch to WAL at once.
const LOCK: &str = "ledger.lock";
/// `user_version` of the file.
const VERSION: i64 = 1;
/// How long a statement waits for another process. A write takes one fsync.
const BUSY: Duration = Duration::from_secs(5);

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS operation (
        tool TEXT NOT NULL,
        key_sha256 BLOB NOT NULL CHECK (length(key_sha256) = 32),
        operation_sha256 BLOB NOT NULL CHECK (length(operation_sha256) = 32),
        outcome TEXT NOT NULL,
        first_ms INTEGER NOT NULL,
        last_ms INTEGER NOT NULL,
        PRIMARY KEY (tool, key_sha256)
    ) STRICT, WITHOUT ROWID";

impl Ledger {
    /// Opens the ledger in `state_dir`; makes both when they are not there.
    pub fn open(state_dir: &Path) -> Result<Self, OpenError> {
        let path = state_dir.join(FILE);
        let not_made = |error| OpenError::NotMade(path.clone(), error);
        make_folder(state_dir).map_err(not_made)?;
        let lock = private_file(&state_dir.join(LOCK)).map_err(not_made)?;
        lock.lock().map_err(not_made)?;
        if was_taken_away(&path) {
            return Err(OpenError::TakenAway(path));
        }
        drop(private_file(&path).map_err(not_made)?);
        let not_opened = |error| OpenError::NotOpened(path.clone(), error);
        let connection = Connection::open(&path).map_err(not_opened)?;
        let version = prepare(&connection).map_err(not_opened)?;
        if version > VERSION {
            return Err(OpenError::Newer { path, version });
        }
        let numbers = numbers(&path);
        Ok(Self(Arc::new(Opened { path, numbers, connection: Mutex::new(connection) })))
    }

    /// Records a preview at `now_ms`, the first or the same again.
    pub async fn plan(&self, operation: Operation, now_ms: i64) -> Result<(), LedgerError> {
        self.run(move |connection| {
            // One statement finds, compares and writes, so that nothing comes between.
            let rows = connection.execute(
                "INSERT INTO operation (tool, key_sha256, operation_sha256, outcome, first_ms, last_ms)
                 VALUES (?1, ?2, ?3, 'planned', ?4, ?4)
                 ON CONFLICT (tool, key_sha256) DO UPDATE SET last_ms = max(last_ms, excluded.last_ms)
                 WHERE operation_sha256 = excluded.operation_sha256",
                params![operation.tool, operation.key_sha256, operation.sha256, now_ms],
            )?;
            if rows == 1 { Ok(()) } else { Err(LedgerError::OtherOperation) }
        })
        .await
    }

    /// Refuses an operation whose key belongs to another; records nothing.
    pub async fn check(&self, operation: Operation) -> Result<(), LedgerError> {
        self.run(move |connection| {
            let known: Option<Sha256Digest> = connection
                .query_row(
                    "SELECT operation_sha256 FROM operation WHERE tool = ?1 AND key_sha256 = ?2",
                    params![operation.tool, operation.key_sha256],
                    |row| row.get(0),
                )
                .optional()?;
            if known.is_none_or(|known| known == operation.sha256) {
                Ok(())
            } else {
                Err(LedgerError::OtherOperation)
            }
        })
        .await
    }

    /// Runs `work` where it may block.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let opened = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || {
            // Each use is one statement, so a panic leaves nothing half done.
            let result = work(&opened.connection.lock().unwrap_or_else(PoisonError::into_inner));
            // Looked at afterwards, so that nothing is answered that was written to a file without a name.
            if numbers(&opened.path) == opened.numbers {
                result
            } else {
                Err(LedgerError::Gone(opened.path.clone()))
            }
        });
        done.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }
}

impl From<LedgerError> for crate::Error {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::OtherOperation => Self::InvalidArgument(ArgumentFault {
                path: "$.idempotency_key".to_owned(),
                expected: "a key that was not used for another target or content".to_owned(),
                message: error.to_string(),
            }),
            LedgerError::Gone(_) => Self::Internal {
                message: "the ledger of sends was removed or replaced while the server runs, so nothing is planned or sent; \
                          tell the operator, who has to put it back and start the server again",
                cause: error.to_string(),
            },
            LedgerError::Failed(cause) => Self::Internal {
                message: "the ledger of sends cannot be used right now, so nothing was recorded; try again, and tell \
                          the operator the request_id when it stays so",
                cause: cause.to_string(),
            },
        }
    }
}

/// Sets the connection up and makes the table; answers the version that the file has.
fn prepare(connection: &Connection) -> rusqlite::Result<i64> {
    connection.busy_timeout(BUSY)?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version > VERSION {
        return Ok(version);
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A plan that was answered must survive a power cut.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch(SCHEMA)?;
    connection.pragma_update(None, "user_version", VERSION)?;
    Ok(VERSION)
}

fn numbers(path: &Path) -> Numbers {
    ["", "-wal", "-shm"].map(|ending| FileNumber::of(&beside(path, ending)))
}

/// Whether SQLite's companions are there without the database. An empty one is none: SQLite fills it before it makes them.
fn was_taken_away(path: &Path) -> bool {
    let is_empty = path.metadata().map_or(true, |file| file.len() == 0);
    is_empty && ["-wal", "-shm"].iter().any(|ending| beside(path, ending).exists())
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Opens a file that nobody else can read, and makes it when it is not there. SQLite gives -wal and -shm the same mode.
fn private_file(path: &Path) -> io::Result<File> {
    file_options().read(true).create(true).truncate(false).open(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn operation(key: u8, content: u8) -> Operation {
        Operation { tool: "isphere_send_message", key_sha256: [key; 32], sha256: [content; 32] }
    }

    fn rows(folder: &Path) -> Vec<(String, i64, i64)> {
        let connection = Connection::open(folder.join(FILE)).unwrap();
        let mut statement =
            connection.prepare("SELECT outcome, first_ms, last_ms FROM operation ORDER BY first_ms").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        rows.map(Result::unwrap).collect()
    }

    #[tokio::test]
    async fn the_same_preview_again_is_the_same_plan_with_a_later_time() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        ledger.plan(operation(1, 1), 100).await.unwrap();
        ledger.plan(operation(1, 1), 200).await.unwrap();
        assert_eq!(rows(folder.path()), [("planned".to_owned(), 100, 200)]);
    }

    #[tokio::test]
    async fn a_key_stays_with_its_first_operation_also_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        Ledger::open(folder.path()).unwrap().plan(operation(1, 1), 100).await.unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        assert!(matches!(ledger.plan(operation(1, 2), 200).await, Err(LedgerError::OtherOperation)));
        assert!(matches!(ledger.check(operation(1, 2)).await, Err(LedgerError::OtherOperation)));
        ledger.check(operation(1, 1)).await.unwrap();
        assert_eq!(rows(folder.path()), [("planned".to_owned(), 100, 100)], "a refusal changes nothing");
    }

    #[tokio::test]
    async fn keys_of_two_tools_are_two_keys() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        ledger.plan(operation(1, 1), 100).await.unwrap();
        ledger.plan(Operation { tool: "isphere_send_file", ..operation(1, 2) }, 200).await.unwrap();
        assert_eq!(rows(folder.path()).len(), 2);
    }

    #[tokio::test]
    async fn a_check_records_nothing_so_that_the_key_stays_free() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        ledger.check(operation(1, 1)).await.unwrap();
        ledger.plan(operation(1, 2), 100).await.unwrap();
        assert_eq!(rows(folder.path()).len(), 1);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_ledger_that_was_removed_or_replaced_refuses_until_it_is_back() {
        for name in [FILE, "ledger.db-wal", "ledger.db-shm"] {
            let folder = tempfile::tempdir().unwrap();
            let (file, away) = (folder.path().join(name), folder.path().join("away"));
            let ledger = Ledger::open(folder.path()).unwrap();
            ledger.plan(operation(1, 1), 100).await.unwrap();
            fs::rename(&file, &away).unwrap();
            assert!(matches!(ledger.plan(operation(1, 1), 200).await, Err(LedgerError::Gone(_))), "{name}");
            fs::copy(&away, &file).unwrap();
            assert!(matches!(ledger.check(operation(1, 1)).await, Err(LedgerError::Gone(_))), "{name}");
            fs::rename(&away, &file).unwrap();
            ledger.plan(operation(1, 1), 300).await.unwrap();
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_second_server_that_makes_a_new_ledger_does_not_share_keys_with_one_that_lost_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let first = Ledger::open(&state).unwrap();
        first.plan(operation(1, 1), 100).await.unwrap();
        fs::remove_dir_all(&state).unwrap();
        assert!(matches!(first.plan(operation(2, 1), 200).await, Err(LedgerError::Gone(_))));
        let second = Ledger::open(&state).unwrap();
        second.plan(operation(2, 2), 300).await.unwrap();
        assert!(matches!(first.plan(operation(2, 1), 400).await, Err(LedgerError::Gone(_))));
    }

    #[tokio::test]
    async fn a_ledger_that_is_gone_while_its_log_is_left_is_missed_and_not_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let (file, away) = (folder.path().join(FILE), folder.path().join("away"));
        let running = Ledger::open(folder.path()).unwrap();
        running.plan(operation(1, 1), 100).await.unwrap();
        fs::rename(&file, &away).unwrap();
        for _ in 0..2 {
            let error = Ledger::open(folder.path()).unwrap_err();
            assert!(matches!(error, OpenError::TakenAway(_)), "{error}");
            assert!(error.to_string().contains("put it back") && !file.exists(), "{error}");
        }
        // What an earlier release made of it.
        fs::write(&file, "").unwrap();
        assert!(matches!(Ledger::open(folder.path()), Err(OpenError::TakenAway(_))));
        fs::rename(&away, &file).unwrap();
        let second = Ledger::open(folder.path()).unwrap();
        assert!(matches!(second.check(operation(1, 2)).await, Err(LedgerError::OtherOperation)));
    }

    #[test]
    fn what_is_no_ledger_is_refused_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), "not a database, but long enough to be taken for one".repeat(40))
            .unwrap();
        let error = Ledger::open(folder.path()).unwrap_err();
        assert!(matches!(error, OpenError::NotOpened(..)) && error.to_string().contains(FILE), "{error}");
    }

    #[test]
    fn a_ledger_of_a_newer_release_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        drop(Ledger::open(folder.path()).unwrap());
        let connection = Connection::open(folder.path().join(FILE)).unwrap();
        connection.pragma_update(None, "user_version", 2).unwrap();
        assert!(matches!(Ledger::open(folder.path()), Err(OpenError::Newer { version: 2, .. })));
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_read_the_ledger() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let _ledger = Ledger::open(folder.path()).unwrap();
        for name in [FILE, LOCK] {
            let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }
}
