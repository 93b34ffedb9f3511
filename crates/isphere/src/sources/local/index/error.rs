//! Why an index cannot be used or built.

use thiserror::Error;

use crate::sources::SourceError;
use crate::sources::local::StoreError;

/// Why an index cannot be used or built. The library's own words are the source of the error, for the log.
#[derive(Debug, Error)]
pub enum IndexError {
    /// There is none.
    #[error("there is no search index; build it with `countersign isphere index`")]
    NotBuilt,
    /// It was built of another store, with another profile, or by another version.
    #[error(
        "the search index is of another store, profile or version; build it anew with `countersign isphere index`"
    )]
    OfAnotherStore,
    /// Another program is building it.
    #[error("another program is building this search index; wait until it has finished")]
    Busy,
    /// What is in its file is not what was written; without a source when a checksum says so.
    #[error("the search index is damaged; build it anew with `countersign isphere index --rebuild`")]
    Damaged(#[source] Option<rusqlite::Error>),
    /// The disk is full, or refused the file.
    #[error(
        "the search index cannot be read or written; check the disk and the permissions of the state folder"
    )]
    File(#[source] rusqlite::Error),
    /// The operating system refused.
    #[error("the folder of the search index cannot be written; check its permissions")]
    Folder(#[from] std::io::Error),
    /// The store that is indexed cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for IndexError {
    /// The index's own statements and types are right, so what the disk did not refuse is damage.
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        match error.sqlite_error_code() {
            Some(
                Code::CannotOpen
                | Code::DatabaseBusy
                | Code::DatabaseLocked
                | Code::DiskFull
                | Code::FileLockingProtocolFailed
                | Code::OutOfMemory
                | Code::PermissionDenied
                | Code::ReadOnly
                | Code::SystemIoFailure,
            ) => Self::File(error),
            _ => Self::Damaged(Some(error)),
        }
    }
}

impl From<IndexError> for SourceError {
    fn from(error: IndexError) -> Self {
        match error {
            IndexError::Store(error) => error.into(),
            error => {
                tracing::warn!(?error, "the search index did not answer");
                Self::Unavailable { message: error.to_string(), retryable: matches!(error, IndexError::Busy) }
            }
        }
    }
}
