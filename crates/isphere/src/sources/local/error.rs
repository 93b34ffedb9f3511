//! Why the local store cannot be read, and what each reason is to a caller.

use thiserror::Error;

use super::profile::{ProfileError, Table};
use crate::sources::SourceError;

/// Why the local store cannot be read. The messages hold no path and no SQL; the library's own words are the source
/// of the error, for the log.
#[derive(Debug, Error)]
pub enum StoreError {
    /// No file has this name, or it was taken away while it was read.
    #[error(
        "the local store is not there; check local_readonly.store, and that the client has run on this machine"
    )]
    NotThere,
    /// The file is something else.
    #[error("the local store is not an SQLite database; check local_readonly.store")]
    NotADatabase,
    /// The file has no readable header and looks like noise.
    #[error(
        "the local store is encrypted, or not a database at all; it can only be read after the client exported it unencrypted"
    )]
    Encrypted,
    /// The file is shorter than its header says.
    #[error(
        "the local store is cut short: the file is smaller than its header says; copy it again or restore it"
    )]
    Truncated,
    /// The pages contradict each other.
    #[error("the local store is damaged; let the client repair it, or restore a copy")]
    Damaged(#[source] rusqlite::Error),
    /// A writer died in the middle of a transaction, and only a writer may roll it back. One that keeps its journal and is
    /// at work right now looks the same.
    #[error(
        "the local store is half-written: a writer was interrupted, or is at work; try again, and start the client once when \
         that does not help"
    )]
    HalfWritten,
    /// There is a write-ahead log without its shared memory: reading it would create a file beside the store. A copy, or a
    /// client that locks its store exclusively.
    #[error(
        "the local store has a write-ahead log that nobody has open; start the client once and close it; if this is a copy, copy again while the client is closed"
    )]
    UnopenedLog,
    /// Another program holds it exclusively.
    #[error("the local store is locked exclusively by another program; try again")]
    Locked,
    /// It changed during each of several attempts to read it.
    #[error("the local store changed while it was read; try again")]
    Changed,
    /// The profile has no section for what was asked.
    #[error("the profile of the local store has no [{}] section; add one to read them", .0.name())]
    NoSection(Table),
    /// The position is none of this source's.
    #[error("the cursor is not one of this source; start again without a cursor")]
    Position,
    /// No store was configured.
    #[error("no local store is configured; set local_readonly.store to the client's SQLite file")]
    NotConfigured,
    /// The caller went away.
    #[error(
        "reading the local store was interrupted; ask for less, or build the index with `countersign isphere index`"
    )]
    Interrupted,
    /// The operating system refused.
    #[error("the local store cannot be read from the disk; check the permissions of the file and its folder")]
    Io(#[source] std::io::Error),
    /// SQLite refused for another reason.
    #[error("the local store refused a query of the profile; run `countersign isphere doctor`")]
    Query(#[source] rusqlite::Error),
    /// The profile does not fit the store.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The folder with the client's files cannot be opened.
    #[error("the folder of the client's files cannot be opened; check local_readonly.files_dir")]
    FilesFolder(#[source] std::io::Error),
}

impl StoreError {
    /// The reason behind what SQLite said.
    pub(super) fn of(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        match error.sqlite_error_code() {
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => Self::Locked,
            Some(Code::NotADatabase) => Self::NotADatabase,
            Some(Code::DatabaseCorrupt) => Self::Damaged(error),
            Some(Code::OperationInterrupted) => Self::Interrupted,
            Some(Code::ReadOnly) => Self::HalfWritten,
            Some(Code::CannotOpen | Code::SystemIoFailure) => Self::Io(std::io::Error::other(error)),
            _ => Self::Query(error),
        }
    }

    /// Whether a writer in the middle of its work can make a good store look like this.
    pub(super) fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::NotThere
                | Self::NotADatabase
                | Self::Truncated
                | Self::HalfWritten
                | Self::UnopenedLog
                | Self::Changed
                | Self::Io(_)
        )
    }

    /// The reason behind what the operating system said.
    pub(super) fn of_io(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::NotFound { Self::NotThere } else { Self::Io(error) }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::of(error)
    }
}

impl From<StoreError> for SourceError {
    fn from(error: StoreError) -> Self {
        tracing::warn!(error = ?error, "the local store did not answer");
        let message = error.to_string();
        match error {
            StoreError::Position => Self::StalePosition,
            StoreError::Interrupted => Self::Timeout(message),
            StoreError::Damaged(_) | StoreError::Query(_) => Self::Failed(message),
            StoreError::Locked | StoreError::Changed | StoreError::HalfWritten => {
                Self::Unavailable { message, retryable: true }
            }
            // A profile's fault quotes SQL; the operator sees it when the store is opened.
            StoreError::Profile(_) => Self::Unavailable {
                message: "the profile does not fit the local store; run `countersign isphere doctor`"
                    .to_owned(),
                retryable: false,
            },
            _ => Self::Unavailable { message, retryable: false },
        }
    }
}
