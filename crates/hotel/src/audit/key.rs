//! The key of the audit trail: 32 random bytes in a file of their own, outside the database.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use govern::random::Random;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::{Event, hex};
use crate::error::Error;
use crate::store::{Db, boxed};

/// Name of the key file.
const FILE: &str = "audit.key";
/// Keeps what is authenticated as a fingerprint apart from events (JSON objects) and seals.
const FINGERPRINT: &[u8] = b"countersign audit key";

/// The key of the audit trail.
#[derive(Clone)]
pub struct AuditKey([u8; 32]);

/// Why there is no key to work with. The message is for the operator and names the file.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The database has a trail, so a new key would not be its key.
    #[error(
        "the audit key {0} is missing, but the database has an audit trail made with it; put the file back from \
         your copy"
    )]
    Missing(PathBuf),
    /// The file is there and cannot be read.
    #[error("the audit key {0} cannot be read: {1}; let the user that runs countersign read it")]
    Unreadable(PathBuf, io::Error),
    /// The file holds something else.
    #[error("the audit key {0} does not hold 64 hexadecimal digits; put the file back from your copy")]
    Malformed(PathBuf),
    /// A new key cannot be kept.
    #[error(
        "the audit key {0} cannot be written: {1}; let the user that runs countersign write to its folder"
    )]
    NotWritten(PathBuf, io::Error),
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
        Self(bytes)
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
            None => Self::create(path, random)?,
        };
        let kept = match kept {
            Some(kept) => kept,
            None => key.leave_fingerprint(db).await?,
        };
        if kept == key.fingerprint() { Ok(key) } else { Err(KeyError::Mismatch(path.to_owned())) }
    }

    /// The key in a file; none when there is no such file.
    pub fn load(path: &Path) -> Result<Option<Self>, KeyError> {
        match std::fs::read_to_string(path) {
            Ok(text) => match from_hex(text.trim_end()) {
                Some(bytes) => Ok(Some(Self(bytes))),
                None => Err(KeyError::Malformed(path.to_owned())),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(KeyError::Malformed(path.to_owned()))
            }
            Err(error) => Err(KeyError::Unreadable(path.to_owned(), error)),
        }
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
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        mac.update(bytes);
        hex(&mac.finalize().into_bytes())
    }

    fn create(path: &Path, random: &Random) -> Result<Self, KeyError> {
        let mut bytes = [0; 32];
        random.fill(&mut bytes);
        match write_new(path, &hex(&bytes), random) {
            Ok(()) => Ok(Self(bytes)),
            // Another process was first; its key is the one that counts.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Self::load(path)?.ok_or_else(|| KeyError::Missing(path.to_owned()))
            }
            Err(error) => Err(KeyError::NotWritten(path.to_owned(), error)),
        }
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

impl std::fmt::Debug for AuditKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("AuditKey(…)")
    }
}

/// Where a database's key lies unless configured: beside the SQLite file, for PostgreSQL in the data folder.
pub fn default_key_path(db: &Db, data_folder: &Path) -> PathBuf {
    match db {
        Db::Sqlite { path, .. } => path.with_file_name(FILE),
        Db::Postgres { .. } => data_folder.join(FILE),
    }
}

/// Writes a file that nobody else can read and that appears whole or not at all, unless there is one already.
fn write_new(path: &Path, text: &str, random: &Random) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut suffix = [0; 8];
    random.fill(&mut suffix);
    let draft = path.with_extension(format!("key.{}", hex(&suffix)));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&draft)?;
    // A link, unlike a rename, fails when the name is taken.
    let linked = writeln!(file, "{text}")
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::hard_link(&draft, path));
    std::fs::remove_file(&draft)?;
    linked?;
    // Without this the name could be lost in a crash that the database's first rows survive.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, index) in bytes.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&text[index..index + 2], 16).ok()?;
    }
    Some(bytes)
}
