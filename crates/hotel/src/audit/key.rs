//! The key of the audit trail, in a file outside the database.

use std::path::{Path, PathBuf};

use govern::hex::hex;
use govern::key::{Key, KeyFileError};
use govern::random::Random;

use super::Event;
use crate::error::Error;
use crate::store::{Db, boxed};

/// Name of the key file.
const FILE: &str = "audit.key";
/// Keeps what is authenticated as a fingerprint apart from events (JSON objects) and seals.
const FINGERPRINT: &[u8] = b"countersign audit key";

/// The key of the audit trail.
#[derive(Clone, Debug)]
pub struct AuditKey(Key);

/// Why there is no key to work with. The message is for the operator and names the file.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The database has a trail, so a new key would not be its key.
    #[error(
        "the audit key {0} is missing, but the database has an audit trail made with it; put the file back from \
         your copy"
    )]
    Missing(PathBuf),
    /// The file does not serve.
    #[error(transparent)]
    File(#[from] KeyFileError),
    /// It is another trail's key.
    #[error(
        "the audit key {0} is not the key of this database's audit trail; use the key file of the node that \
         made the trail"
    )]
    Mismatch(PathBuf),
    /// The database did not answer.
    #[error(transparent)]
    Store(#[from] Error),
}

impl AuditKey {
    /// A key of 32 bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(Key::new(bytes))
    }

    /// The key for a database, which every process that writes to it must open before it writes.
    ///
    /// The file is made (mode 0600) while the database has no trail yet; the first key leaves its fingerprint in
    /// the database, and any other key is refused from then on.
    pub async fn open(db: &Db, path: &Path, random: &Random) -> Result<Self, KeyError> {
        let (kept, begun) = db
            .read(|tx| {
                boxed(async move { Ok((tx.audit_key_fingerprint().await?, tx.has_audit_rows().await?)) })
            })
            .await?;
        let key = match Self::load(path)? {
            Some(key) => key,
            None if begun || kept.is_some() => return Err(KeyError::Missing(path.to_owned())),
            None => Self(Key::create(path, random)?),
        };
        let kept = match kept {
            Some(kept) => kept,
            None => key.leave_fingerprint(db).await?,
        };
        if kept == key.fingerprint() { Ok(key) } else { Err(KeyError::Mismatch(path.to_owned())) }
    }

    /// The key in a file; none when there is no such file.
    pub fn load(path: &Path) -> Result<Option<Self>, KeyError> {
        Ok(Key::load(path)?.map(Self))
    }

    /// What tells this key from others without giving it away.
    pub fn fingerprint(&self) -> String {
        self.authenticate(FINGERPRINT)
    }

    /// Hex HMAC-SHA256 over the event's JSON.
    pub fn digest(&self, event: &Event) -> String {
        // An event is a flat struct of strings and numbers, which always serialises.
        self.authenticate(&serde_json::to_vec(event).unwrap_or_default())
    }

    /// Hex HMAC-SHA256 over bytes.
    pub fn authenticate(&self, bytes: &[u8]) -> String {
        hex(&self.0.authenticate(&[bytes]))
    }

    /// Leaves the fingerprint unless another process did so first; answers the one that is kept.
    async fn leave_fingerprint(&self, db: &Db) -> Result<String, Error> {
        let own = self.fingerprint();
        let kept = db.write(move |tx| {
            let own = own.clone();
            boxed(async move {
                tx.keep_audit_key_fingerprint(&own).await?;
                Ok(tx.audit_key_fingerprint().await?.unwrap_or(own))
            })
        });
        kept.await
    }
}

/// Where a database's key lies unless configured: beside the SQLite file, for PostgreSQL in the data folder.
pub fn default_key_path(db: &Db, data_folder: &Path) -> PathBuf {
    match db {
        Db::Sqlite { path, .. } => path.with_file_name(FILE),
        Db::Postgres { .. } => data_folder.join(FILE),
    }
}
