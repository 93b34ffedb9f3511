//! Opening the client's file so that nothing on the disk changes.
//!
//! - Rollback journal: `mode=ro`; readers take shared locks only. A journal that a dead writer left would have to be
//!   rolled back by writing, which is refused as half-written.
//! - Write-ahead log with a writer: `mode=ro&readonly_shm=1`; the log is read through the writer's shared memory, which
//!   is mapped read-only. Such a connection is closed after each use: while it is open the client could not remove its
//!   log when it ends.
//! - Write-ahead log without a log on the disk: opening normally would create one, so the file is opened as immutable
//!   and compared before and after each use; when it changed, the result is thrown away ([`Opener::unchanged`]).
//!
//! One thing cannot be avoided: when the client removes its log between the look at the folder and the opening,
//! SQLite leaves an empty `-wal`, which every program treats as none.
//!
//! On Unix, closing any descriptor of a file drops all locks that the process has on it. So the header is read through
//! one descriptor that lives as long as the opener, and nothing else here opens the store's file.

use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::mem::discriminant;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::error::StoreError;

/// The largest value that is read or made by a profile's SELECT, in bytes.
const MOST_VALUE_BYTES: i32 = 64 << 20;

/// How long a statement waits for a writer's lock; the tools' own deadline is far longer.
const BUSY_TIMEOUT: Duration = Duration::from_millis(500);
/// How often it is tried to read a file that changes meanwhile.
const ATTEMPTS: u32 = 8;
/// The pause before the second attempt. Each is twice as long as the one before, all of them 254 ms.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// How much of the beginning is looked at to tell an encrypted file from another one.
const PROBE_BYTES: usize = 4096;
/// Prepared statements kept for each connection: a profile's, and those of some split tables.
const CACHED_STATEMENTS: usize = 128;

/// How the file can be read as it is now. Two equal plans can share a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// A rollback journal: shared locks.
    Journal { inode: u64 },
    /// A write-ahead log that is on the disk.
    Log { inode: u64 },
    /// A write-ahead log that is not on the disk: nobody writes.
    Immutable(Fingerprint),
}

/// What changes when a file is written or replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    inode: u64,
    bytes: u64,
    modified: Option<SystemTime>,
}

/// Tries to read a file until it does not change meanwhile.
///
/// A look at the folder and the opening after it are two steps, and a writer starts, ends and commits in several steps of
/// its own: between them a journal looks left over, a log has lost its memory, a file is shorter than its header says.
/// So what a file appears to be counts only when every attempt says the same.
pub(super) fn settled<T>(mut attempt: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let mut appears = None;
    for number in 0..ATTEMPTS {
        if number > 0 {
            std::thread::park_timeout(FIRST_PAUSE * 2_u32.pow(number - 1));
        }
        appears = match (attempt(), appears) {
            (Err(error), None) if error.may_pass() => Some(error),
            (Err(error), Some(before)) if error.may_pass() => {
                let same = discriminant(&error) == discriminant(&before);
                Some(if same { error } else { StoreError::Changed })
            }
            (result, _) => return result,
        };
    }
    Err(appears.unwrap_or(StoreError::Changed))
}

/// Opens connections to one file.
#[derive(Debug)]
pub(super) struct Opener {
    path: PathBuf,
    header: Mutex<Option<(u64, File)>>,
}

impl Opener {
    /// An opener for the file of this name, which must be there.
    pub fn new(path: &Path) -> Result<Self, StoreError> {
        // SQLite puts the log beside the file that a link leads to.
        let path = std::fs::canonicalize(path).map_err(StoreError::of_io)?;
        Ok(Self { path, header: Mutex::new(None) })
    }

    /// The file, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Looks at the file and its companions.
    pub fn plan(&self) -> Result<Plan, StoreError> {
        let metadata = std::fs::metadata(&self.path).map_err(StoreError::of_io)?;
        if !metadata.is_file() {
            return Err(StoreError::NotADatabase);
        }
        let fingerprint = Fingerprint::of(&metadata);
        let header = self.read_header(fingerprint.inode)?;
        check_header(&header, fingerprint.bytes, self.companion("-wal").is_some())?;
        if header[18] != 2 {
            return Ok(Plan::Journal { inode: fingerprint.inode });
        }
        match (self.companion("-wal"), self.companion("-shm")) {
            (None | Some(0), _) => Ok(Plan::Immutable(fingerprint)),
            (Some(_), Some(_)) => Ok(Plan::Log { inode: fingerprint.inode }),
            (Some(_), None) => Err(self.unopened_log(fingerprint.inode)),
        }
    }

    /// A connection that only reads, for a plan made just now.
    pub fn open(&self, plan: &Plan) -> Result<Connection, StoreError> {
        let mode = if matches!(plan, Plan::Immutable(_)) { "immutable=1" } else { "mode=ro&readonly_shm=1" };
        let uri = format!("file:{}?{mode}", encoded(&self.path));
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(uri, flags).map_err(|error| self.reason(plan, error.into()))?;
        restrict(&connection).map_err(|error| self.reason(plan, error.into()))?;
        Ok(connection)
    }

    /// Whether what was read under this plan is what was in the file. Locks see to that, except for an immutable one.
    pub fn unchanged(&self, plan: &Plan) -> bool {
        let Plan::Immutable(before) = plan else { return true };
        let now = std::fs::metadata(&self.path).map(|metadata| Fingerprint::of(&metadata));
        now.is_ok_and(|now| now == *before) && matches!(self.companion("-wal"), None | Some(0))
    }

    /// The reason behind an error under this plan, with what the folder says now.
    pub fn reason(&self, plan: &Plan, error: StoreError) -> StoreError {
        let is_refused = matches!(error, StoreError::Io(_));
        match plan {
            _ if !self.path.exists() => StoreError::NotThere,
            Plan::Journal { .. } if is_refused && self.companion("-journal").is_some() => {
                StoreError::HalfWritten
            }
            _ => error,
        }
    }

    /// What a log without shared memory means: a client that has the store for itself keeps that in its own memory, and
    /// otherwise the log was left over. Nothing is made by trying.
    fn unopened_log(&self, inode: u64) -> StoreError {
        match self.open(&Plan::Log { inode }) {
            Err(StoreError::Locked) => StoreError::Locked,
            _ => StoreError::UnopenedLog,
        }
    }

    /// The size of a file beside the store, when it is there.
    fn companion(&self, suffix: &str) -> Option<u64> {
        let mut name = self.path.clone().into_os_string();
        name.push(suffix);
        std::fs::metadata(name).ok().map(|metadata| metadata.len())
    }

    fn read_header(&self, inode: u64) -> Result<Vec<u8>, StoreError> {
        let mut held = self.header.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *held {
            Some((known, file)) if *known == inode => file,
            other => &mut other.insert((inode, File::open(&self.path).map_err(StoreError::of_io)?)).1,
        };
        let mut header = Vec::with_capacity(PROBE_BYTES);
        file.seek(SeekFrom::Start(0)).map_err(StoreError::of_io)?;
        file.take(PROBE_BYTES as u64).read_to_end(&mut header).map_err(StoreError::of_io)?;
        Ok(header)
    }
}

impl Fingerprint {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(metadata);
        #[cfg(not(unix))]
        let inode = 0;
        Self { inode, bytes: metadata.len(), modified: metadata.modified().ok() }
    }
}

/// Tells a database from what is none (SQLite file format, section 1.3).
fn check_header(header: &[u8], bytes: u64, has_log: bool) -> Result<(), StoreError> {
    if !header.starts_with(b"SQLite format 3\0") {
        let whole_pages = bytes >= 512 && bytes.is_multiple_of(512);
        return Err(if whole_pages && looks_random(header) {
            StoreError::Encrypted
        } else {
            StoreError::NotADatabase
        });
    }
    if header.len() < 100 {
        return Err(StoreError::Truncated);
    }
    let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => u64::from(size),
    };
    // The count of pages is only kept by writers that also keep the second number; a log may hold pages to come.
    let counted = number(24) == number(92) && !has_log;
    if counted && bytes < u64::from(number(28)) * page { Err(StoreError::Truncated) } else { Ok(()) }
}

/// Encrypted pages use all bytes about equally often; text and other formats do not.
fn looks_random(bytes: &[u8]) -> bool {
    let mut counts = [0_usize; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let most = counts.iter().max().copied().unwrap_or(0);
    let different = counts.iter().filter(|count| **count > 0).count();
    different > 180.min(bytes.len() / 3) && most <= 4 + bytes.len() / 64
}

/// Nothing but reading tables is possible on this connection afterwards, whatever SQL comes.
fn restrict(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;")?;
    // Else a misspelt column in double quotes would pass for a text.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES)?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    connection.authorizer(Some(authorize))?;
    // The first read finds a journal to roll back, a lock, or damage.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
}

fn authorize(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Function { function_name: "load_extension" } => Authorization::Deny,
        // A PRAGMA in the shape of a table.
        AuthAction::Read { table_name, .. } if table_name.to_ascii_lowercase().starts_with("pragma_") => {
            Authorization::Deny
        }
        AuthAction::Select
        | AuthAction::Read { .. }
        | AuthAction::Function { .. }
        | AuthAction::Recursive
        | AuthAction::Transaction { .. } => Authorization::Allow,
        _ => Authorization::Deny,
    }
}

/// A path in a `file:` URI.
fn encoded(path: &Path) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    let bytes = path.as_os_str().as_encoded_bytes();
    if !bytes.starts_with(b"/") {
        text.push('/');
    }
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b':' => {
                text.push(char::from(*byte));
            }
            b'\\' if cfg!(windows) => text.push('/'),
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_appears_to_be_counts_only_when_every_attempt_says_so() {
        let passing: [fn() -> StoreError; 7] = [
            || StoreError::HalfWritten,
            || StoreError::UnopenedLog,
            || StoreError::Truncated,
            || StoreError::NotADatabase,
            || StoreError::NotThere,
            || StoreError::Changed,
            || StoreError::Io(std::io::Error::other("refused")),
        ];
        for (number, error) in passing.iter().enumerate() {
            let mut attempts = 0;
            let passed = settled(|| {
                attempts += 1;
                if attempts < 3 { Err(error()) } else { Ok(attempts) }
            });
            assert_eq!(passed.unwrap(), 3);
            let always = settled(|| Err::<(), _>(error())).unwrap_err();
            assert_eq!(discriminant(&always), discriminant(&error()), "{always:?}");
            let other = passing[(number + 1) % passing.len()];
            let mut attempts = 0;
            let changing = settled(|| {
                attempts += 1;
                Err::<(), _>(if attempts == 4 { other() } else { error() })
            });
            assert!(matches!(changing, Err(StoreError::Changed)), "{changing:?}");
        }
    }

    #[test]
    fn what_no_waiting_changes_is_told_at_once() {
        let mut attempts = 0;
        let encrypted = settled(|| {
            attempts += 1;
            Err::<(), _>(StoreError::Encrypted)
        });
        assert!(matches!(encrypted, Err(StoreError::Encrypted)));
        assert_eq!(attempts, 1);
    }
}
