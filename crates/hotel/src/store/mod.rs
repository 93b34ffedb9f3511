//! The database: SQLite or PostgreSQL, one SQL text for both. Only this module names sqlx.
//!
//! Reads borrow a pooled connection. Writes go through [`Db::write`], which runs a job in one
//! transaction and answers when it is durable. On SQLite one writer task commits whatever has
//! queued up together (group commit), so that one flush of the disk serves many callers.

mod advice;
pub mod audit;
pub mod batches;
pub mod board;
pub mod changes;
pub mod conversations;
pub mod hotels;
mod ids;
pub mod inbox;
mod lease;
mod migrate;
pub mod order_history;
pub mod orders;
pub mod search;
mod serialise;
pub mod sessions;
pub mod statistics;
pub mod tasks;
pub mod threads;
pub mod tokens;
pub mod trail;
mod transaction;
pub mod users;
mod writer;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgDatabaseError, PgPool, PgPoolOptions};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use crate::error::Error;
use changes::Changes;
use ids::PostgresIds;
pub use lease::Lease;
pub use serialise::Realm;
pub(crate) use transaction::record;
pub use transaction::{MaybeDamaged, Record, Transaction, Value};
use writer::Writer;

/// How long a writer waits for another process that holds the SQLite write lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a caller waits for a free connection of PostgreSQL.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// Attempts of a PostgreSQL transaction that lost a race (serialisation, deadlock, unique index, vanished row).
const POSTGRES_ATTEMPTS: u32 = 5;

/// Why the database did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The URL names neither database.
    #[error("database URL {0:?} is not understood; use sqlite:PATH or postgres://USER@HOST/NAME")]
    Url(String),
    /// The folder of the SQLite file cannot be made.
    #[error("cannot create the folder {0}: {1}")]
    Folder(PathBuf, std::io::Error),
    /// PostgreSQL is migrated only when told.
    #[error("the database schema is not up to date; run `countersign hotel migrate --db …` once")]
    MigrationPending,
    /// The schema is newer than this program, or was changed by hand.
    #[error("migration failed: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// A row that a constraint promises is not there.
    #[error("a row that should exist is missing")]
    RowMissing,
    /// The database refused or could not be reached.
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
    /// The commit that the write was part of did not reach the disk; nothing of it was kept.
    #[error("the transaction was not committed: {0}")]
    Commit(Arc<sqlx::Error>),
    /// The writer has stopped, because the program is ending.
    #[error("the database writer has stopped")]
    WriterStopped,
}

impl StoreError {
    /// Whether the database is well and refused only this write, for what it holds or for a race that it lost.
    pub fn concerns_one_write(&self) -> bool {
        let Self::Database(sqlx::Error::Database(error)) = self else { return false };
        let code = error.code().unwrap_or_default();
        match error.try_downcast_ref::<PgDatabaseError>() {
            // SQLSTATE classes: data, integrity, rollback of this transaction, program limits.
            Some(_) => ["22", "23", "40", "54"].iter().any(|class| code.starts_with(class)),
            // SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH; the higher bits say more about them.
            None => code.parse::<u32>().is_ok_and(|code| matches!(code & 0xff, 18..=20)),
        }
    }

    /// Whether the same transaction can succeed when it runs again: it lost a race.
    fn lost_race(&self) -> bool {
        let Self::Database(sqlx::Error::Database(error)) = self else { return false };
        // What another transaction has just merged away is gone as a foreign key's target.
        error.is_unique_violation()
            || error.is_foreign_key_violation()
            || matches!(error.code().as_deref(), Some("40001" | "40P01"))
    }
}

/// A job for [`Db::write`]: may run more than once, so it must not keep state between runs.
type Job<T> =
    Arc<dyn for<'t, 'c> Fn(&'t mut Transaction<'c>) -> BoxFuture<'t, Result<T, Error>> + Send + Sync>;

/// An open database.
#[derive(Debug, Clone)]
pub enum Db {
    /// The embedded default: WAL, synchronous=FULL, one writer.
    Sqlite {
        /// Read-only connections.
        readers: SqlitePool,
        /// The one writer.
        writer: Writer,
        /// Where the file lies.
        path: PathBuf,
        /// Tells of what is written.
        changes: Changes,
    },
    /// Any number of nodes on one database.
    Postgres {
        /// Connections for reads and writes.
        pool: PgPool,
        /// The ids that this node holds.
        ids: Arc<PostgresIds>,
        /// Tells of what is written.
        changes: Changes,
    },
}

impl Db {
    /// Opens `sqlite:PATH` (made and migrated when new) or `postgres://…` (which must be migrated already).
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        if let Some(path) = sqlite_path(url) {
            return Ok(Self::open_sqlite(&path).await?.0);
        }
        let db = Self::connect_postgres(url).await?;
        if let Self::Postgres { pool, .. } = &db {
            migrate::check(pool).await?;
        }
        Ok(db)
    }

    /// Opens a database unless its SQLite file is not there: what only looks must not make an empty one.
    pub async fn open_existing(url: &str) -> Result<Option<Self>, StoreError> {
        match sqlite_path(url) {
            Some(path) if !path.is_file() => Ok(None),
            _ => Self::open(url).await.map(Some),
        }
    }

    /// Migrates either database; returns how many migrations were applied.
    pub async fn migrate(url: &str) -> Result<usize, StoreError> {
        let (db, applied) = match sqlite_path(url) {
            Some(path) => Self::open_sqlite(&path).await?,
            None => match Self::connect_postgres(url).await? {
                Self::Postgres { pool, ids, changes } => {
                    let applied = migrate::postgres(&pool).await?;
                    (Self::Postgres { pool, ids, changes }, applied)
                }
                db @ Self::Sqlite { .. } => (db, 0),
            },
        };
        db.close().await;
        Ok(applied)
    }

    async fn connect_postgres(url: &str) -> Result<Self, StoreError> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(StoreError::Url(without_password(url)));
        }
        let options = PgConnectOptions::from_str(url).map_err(|_| StoreError::Url(without_password(url)))?;
        let options = options.application_name("countersign");
        let pool = PgPoolOptions::new()
            .max_connections(16)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_with(options.clone())
            .await?;
        let ids = Arc::new(PostgresIds::new(options));
        Ok(Self::Postgres { pool, ids, changes: Changes::default() })
    }

    async fn open_sqlite(path: &Path) -> Result<(Self, usize), StoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            govern::private::make_folder(folder)
                .map_err(|error| StoreError::Folder(folder.to_owned(), error))?;
        }
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT);
        let mut connection = options.connect().await?;
        let applied = migrate::sqlite(&mut connection).await?;
        let changes = Changes::default();
        let writer = Writer::start(connection, changes.clone());
        let readers = SqlitePoolOptions::new()
            .max_connections(8)
            .connect_with(options.pragma("query_only", "ON"))
            .await?;
        Ok((Self::Sqlite { readers, writer, path: path.to_owned(), changes }, applied))
    }

    /// Runs `job` in one transaction and returns when its result is durable.
    ///
    /// An error of the job rolls back all that it wrote. The job may run again when it lost a race
    /// against another node, so that it then sees what the winner wrote.
    pub async fn write<T, F>(&self, job: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t, 'c> Fn(&'t mut Transaction<'c>) -> BoxFuture<'t, Result<T, Error>> + Send + Sync + 'static,
    {
        match self {
            Self::Sqlite { writer, .. } => writer.run(Arc::new(job)).await,
            Self::Postgres { pool, ids, .. } => {
                let mut attempt = 1;
                loop {
                    match write_postgres(pool, ids, &job).await {
                        Err(Error::Store(error)) if error.lost_race() && attempt < POSTGRES_ATTEMPTS => {
                            attempt += 1;
                        }
                        result => return result,
                    }
                }
            }
        }
    }

    /// Runs `job` on a connection for reading, in one transaction, so that its queries agree.
    pub async fn read<T, F>(&self, job: F) -> Result<T, Error>
    where
        F: for<'t, 'c> FnOnce(&'t mut Transaction<'c>) -> BoxFuture<'t, Result<T, Error>> + Send,
    {
        match self {
            Self::Sqlite { readers, .. } => {
                let mut open = readers.begin().await.map_err(StoreError::from)?;
                job(&mut Transaction::Sqlite(&mut open)).await
            }
            Self::Postgres { pool, ids, .. } => {
                let mut open = pool
                    .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                    .await
                    .map_err(StoreError::from)?;
                job(&mut Transaction::Postgres(&mut open, ids)).await
            }
        }
    }

    /// Whether the database answers.
    pub async fn ready(&self) -> bool {
        let answered = tokio::time::timeout(
            Duration::from_secs(2),
            self.read(|tx| Box::pin(async move { tx.hotels().await })),
        );
        matches!(answered.await, Ok(Ok(_)))
    }

    /// Ends the writer after what is queued, and closes all connections.
    pub async fn close(&self) {
        self.end_listening();
        match self {
            Self::Sqlite { readers, writer, .. } => {
                writer.stop().await;
                readers.close().await;
            }
            Self::Postgres { pool, ids, .. } => {
                pool.close().await;
                ids.close().await;
            }
        }
    }
}

async fn write_postgres<T>(
    pool: &PgPool,
    ids: &PostgresIds,
    job: &(dyn for<'t, 'c> Fn(&'t mut Transaction<'c>) -> BoxFuture<'t, Result<T, Error>> + Send + Sync),
) -> Result<T, Error> {
    let mut open = pool.begin().await.map_err(StoreError::from)?;
    let result = job(&mut Transaction::Postgres(&mut open, ids)).await?;
    open.commit().await.map_err(StoreError::from)?;
    Ok(result)
}

/// Boxes a future; gives closures passed to [`Db::write`] and [`Db::read`] the type they need.
pub fn boxed<'t, T>(
    future: impl Future<Output = Result<T, Error>> + Send + 't,
) -> BoxFuture<'t, Result<T, Error>> {
    Box::pin(future)
}

fn sqlite_path(url: &str) -> Option<PathBuf> {
    let path = url.strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    // Without a file each connection would have a database of its own.
    (!path.is_empty() && path != ":memory:").then(|| PathBuf::from(path))
}

fn without_password(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}…{}", &url[..scheme + 3], &url[at..]),
        _ => url.to_owned(),
    }
}
