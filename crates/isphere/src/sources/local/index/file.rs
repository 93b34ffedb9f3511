//! The index's own SQLite file.
//!
//! Documents are numbered in chunks. A posting is the set of a chunk's documents that have a term; building a chunk
//! appends postings, and a query reads some for each chunk, so that its cost grows with the number of chunks and not
//! with the number of hits.

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use govern::private::file_options;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};

use super::checksum::{seal, unseal};
use super::error::IndexError;
use super::offsets::Offsets;
use super::terms::Term;
use crate::sources::local::StoreIdentity;

/// What is written in a file of this layout.
const VERSION: i64 = 2;

/// Pages kept in memory for each connection, in KiB. What leads to the postings of an index of 10,000,000 messages is
/// about half of it.
const CACHE_KIB: i64 = 16 << 10;

/// Statements that are kept prepared.
const STATEMENTS: usize = 48;

/// How long a statement waits for another program's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

const TABLES: &str = "
    DROP TABLE IF EXISTS identity;
    DROP TABLE IF EXISTS complete;
    DROP TABLE IF EXISTS posting;
    DROP TABLE IF EXISTS entry_chunk;
    DROP TABLE IF EXISTS entry;
    DROP TABLE IF EXISTS message_chunk;
    DROP TABLE IF EXISTS message_block;
    CREATE TABLE identity (store TEXT NOT NULL, profile TEXT NOT NULL);
    CREATE TABLE complete (space INTEGER PRIMARY KEY);
    CREATE TABLE posting (
        space INTEGER NOT NULL, chunk INTEGER NOT NULL, term INTEGER NOT NULL, offsets BLOB NOT NULL,
        PRIMARY KEY (space, chunk, term)
    ) WITHOUT ROWID;
    CREATE TABLE entry_chunk (
        space INTEGER NOT NULL, chunk INTEGER NOT NULL, documents INTEGER NOT NULL, present INTEGER NOT NULL,
        first_id TEXT NOT NULL, last_id TEXT NOT NULL,
        PRIMARY KEY (space, chunk)
    ) WITHOUT ROWID;
    CREATE TABLE entry (
        space INTEGER NOT NULL, chunk INTEGER NOT NULL, offset INTEGER NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL,
        account TEXT, department TEXT, title TEXT, active INTEGER NOT NULL, number INTEGER, reference TEXT,
        raw_ref TEXT NOT NULL,
        PRIMARY KEY (space, chunk, offset)
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX entry_by_id ON entry (space, id);
    CREATE TABLE message_chunk (
        chunk INTEGER PRIMARY KEY, part TEXT NOT NULL, documents INTEGER NOT NULL, text_bytes INTEGER NOT NULL,
        first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, last_seq_id TEXT NOT NULL,
        oldest_at INTEGER NOT NULL, newest_at INTEGER NOT NULL, newest_seq INTEGER NOT NULL
    );
    CREATE TABLE message_block (
        chunk INTEGER NOT NULL, block INTEGER NOT NULL, documents BLOB NOT NULL,
        PRIMARY KEY (chunk, block)
    ) WITHOUT ROWID;
";

/// What is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Space {
    /// People.
    Contacts,
    /// Groups.
    Groups,
    /// Conversations.
    Conversations,
    /// Messages.
    Messages,
}

impl Space {
    /// All of them, in the order in which they are indexed.
    pub const ALL: [Self; 4] = [Self::Contacts, Self::Groups, Self::Conversations, Self::Messages];
}

/// A connection to the index's file.
pub(super) struct IndexFile {
    pub connection: Connection,
}

impl IndexFile {
    /// Opens an index to ask it.
    pub fn open(path: &Path, identity: &StoreIdentity) -> Result<Self, IndexError> {
        if !path.exists() {
            return Err(IndexError::NotBuilt);
        }
        let connection = Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        let file = Self::of(connection)?;
        if file.is_of(identity)? { Ok(file) } else { Err(IndexError::OfAnotherStore) }
    }

    /// Opens an index to write it, and empties it when it is of another store, profile or version. The caller holds
    /// the lock.
    pub fn create(path: &Path, identity: &StoreIdentity) -> Result<Self, IndexError> {
        let mut file = Self::of(open_private(path)?)?;
        file.connection.pragma_update(None, "journal_mode", "WAL")?;
        file.connection.pragma_update(None, "synchronous", "NORMAL")?;
        if !file.is_of(identity)? {
            let transaction = file.write()?;
            transaction.execute_batch(TABLES)?;
            transaction.execute(
                "INSERT INTO identity VALUES (?1, ?2)",
                [&identity.path, &identity.profile_digest],
            )?;
            transaction.pragma_update(None, "user_version", VERSION)?;
            transaction.commit()?;
        }
        Ok(file)
    }

    /// Empties an index in one step, also when its file is damaged or is none, and opens it to write it. Those who have
    /// it open go on with the new state. The caller holds the lock.
    pub fn create_anew(path: &Path, identity: &StoreIdentity) -> Result<Self, IndexError> {
        let connection = open_private(path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // Looking at the file first keeps its journal mode, whatever is found (SQLITE_DBCONFIG_RESET_DATABASE).
        let _ = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
        connection.execute_batch("VACUUM")?;
        drop(connection);
        Self::create(path, identity)
    }

    /// Whether all there was of this space at some time is in the index.
    pub fn is_complete(&self, space: Space) -> Result<bool, IndexError> {
        let mut statement = self.connection.prepare_cached("SELECT 1 FROM complete WHERE space = ?1")?;
        Ok(statement.exists([space as u8])?)
    }

    /// Says so, once it is.
    pub fn mark_complete(&self, space: Space) -> Result<(), IndexError> {
        self.connection.execute("INSERT OR IGNORE INTO complete VALUES (?1)", [space as u8])?;
        Ok(())
    }

    /// One state of the file for all that is read until it ends.
    pub fn read(&self) -> Result<Transaction<'_>, IndexError> {
        Ok(self.connection.unchecked_transaction()?)
    }

    /// All or nothing of what is written until it is committed.
    pub fn write(&mut self) -> Result<Transaction<'_>, IndexError> {
        Ok(self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?)
    }

    /// The documents of a chunk that have a term; none when there is no such document.
    pub fn posting(&self, space: Space, chunk: i64, term: Term) -> Result<Option<Offsets>, IndexError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT offsets FROM posting WHERE space = ?1 AND chunk = ?2 AND term = ?3")?;
        let mut found = statement.query(params![space as u8, chunk, term])?;
        let Some(row) = found.next()? else { return Ok(None) };
        let sealed = row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
        let offsets = unseal([chunk, term], sealed).ok_or(IndexError::Damaged(None))?;
        Ok(Some(Offsets::decode(offsets)))
    }

    /// Which terms of a range a chunk has documents for. Their postings are not read.
    pub fn terms_there(
        &self,
        space: Space,
        chunk: i64,
        range: &RangeInclusive<Term>,
    ) -> Result<Vec<Term>, IndexError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT term FROM posting WHERE space = ?1 AND chunk = ?2 AND term BETWEEN ?3 AND ?4",
        )?;
        let terms =
            statement.query_map(params![space as u8, chunk, range.start(), range.end()], |row| row.get(0))?;
        Ok(terms.collect::<Result<_, _>>()?)
    }

    /// The documents of a chunk that have all the terms; none when there is no such document.
    pub fn candidates(
        &self,
        space: Space,
        chunk: i64,
        terms: &[Term],
    ) -> Result<Option<Offsets>, IndexError> {
        let mut candidates: Option<Offsets> = None;
        for term in terms {
            let Some(mut posting) = self.posting(space, chunk, *term)? else { return Ok(None) };
            if let Some(before) = &candidates {
                posting.keep(before);
            }
            if posting.is_empty() {
                return Ok(None);
            }
            candidates = Some(posting);
        }
        Ok(candidates)
    }

    fn of(connection: Connection) -> Result<Self, IndexError> {
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok(Self { connection })
    }

    /// Whether this is an index of this store with this profile, in the layout of this version.
    pub fn is_of(&self, identity: &StoreIdentity) -> Result<bool, IndexError> {
        let version: i64 =
            self.connection.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0))?;
        if version != VERSION {
            return Ok(false);
        }
        let mut statement =
            self.connection.prepare_cached("SELECT 1 FROM identity WHERE store = ?1 AND profile = ?2")?;
        Ok(statement.exists([&identity.path, &identity.profile_digest])?)
    }
}

/// Opens an index to write it; one that is made by that is its owner's alone, and SQLite makes -wal and -shm the same.
fn open_private(path: &Path) -> Result<Connection, IndexError> {
    drop(file_options().create(true).truncate(false).open(path)?);
    Ok(Connection::open(path)?)
}

/// The postings of one chunk while it is built. A list that is sorted at the end is several times faster than a map.
#[derive(Default)]
pub(super) struct Postings(Vec<(Term, u16)>);

impl Postings {
    /// Notes that a document has a term. Noting it twice does no harm.
    pub fn add(&mut self, term: Term, offset: u16) {
        self.0.push((term, offset));
    }

    /// Writes them, in the order of the table, which makes this an append.
    pub fn write(mut self, connection: &Connection, space: Space, chunk: i64) -> Result<(), IndexError> {
        self.0.sort_unstable();
        self.0.dedup();
        let mut insert = connection.prepare_cached("INSERT INTO posting VALUES (?1, ?2, ?3, ?4)")?;
        for postings in self.0.chunk_by(|(one, _), (other, _)| one == other) {
            let offsets: Vec<u16> = postings.iter().map(|(_, offset)| *offset).collect();
            let term = postings[0].0;
            let sealed = seal([chunk, term], &Offsets::encode(&offsets));
            insert.execute(params![space as u8, chunk, term, sealed])?;
        }
        Ok(())
    }
}

/// Removes a chunk's postings.
pub(super) fn remove_postings(connection: &Connection, space: Space, chunk: i64) -> Result<(), IndexError> {
    connection
        .prepare_cached("DELETE FROM posting WHERE space = ?1 AND chunk = ?2")?
        .execute(params![space as u8, chunk])?;
    Ok(())
}
