//! People, groups and conversations: one pass finds what changed, then chunks of it are written.
//!
//! The pass only compares and notes, so that the store is read as briefly as can be: while it is, a client that uses
//! a rollback journal cannot write.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use rusqlite::{Connection, Rows, params};

use super::{Changes, Progress, should_merge, unchanged};
use crate::sources::local::index::entries::{Entry, EntryChunk};
use crate::sources::local::index::error::IndexError;
use crate::sources::local::index::file::{IndexFile, Postings, Space, remove_postings};
use crate::sources::local::index::offsets::CHUNK_DOCUMENTS;
use crate::sources::local::index::terms::entry_terms;
use crate::sources::local::{Reader, Store, StoreError};

/// Rows between two reports of progress.
const REPORT_ROWS: u64 = 10_000;

const NOTES: &str = "
    CREATE TEMP TABLE IF NOT EXISTS incoming (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, account TEXT, department TEXT, title TEXT, active INTEGER NOT NULL,
        number INTEGER, reference TEXT, raw_ref TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TEMP TABLE IF NOT EXISTS outgoing (id TEXT PRIMARY KEY) WITHOUT ROWID;
    DELETE FROM incoming;
    DELETE FROM outgoing;
";

/// The columns that [`Entry::of_row`] reads.
const COLUMNS: &str = "id, name, account, department, title, active, number, reference, raw_ref";

/// Brings a space up to date. `visit` reads its rows from the store in the order of their ids.
pub fn update(
    file: &mut IndexFile,
    store: &Store,
    space: Space,
    progress: &mut dyn FnMut(Progress),
    visit: impl Fn(&mut Reader, &mut dyn FnMut(Entry) -> ControlFlow<()>) -> Result<(), StoreError>,
) -> Result<Changes, IndexError> {
    let changes = unchanged(store, |reader| {
        file.connection.execute_batch(NOTES)?;
        let transaction = file.connection.unchecked_transaction()?;
        let changes = compare(&transaction, space, progress, |take| visit(reader, take))?;
        transaction.commit()?;
        Ok(changes)
    })?;
    while write_chunk(file, space)? {}
    tidy(file, space)?;
    file.mark_complete(space)?;
    Ok(changes)
}

/// Notes what is to be written and what is to be removed.
fn compare(
    connection: &Connection,
    space: Space,
    progress: &mut dyn FnMut(Progress),
    visit: impl FnOnce(&mut dyn FnMut(Entry) -> ControlFlow<()>) -> Result<(), StoreError>,
) -> Result<Changes, IndexError> {
    let mut statement =
        connection.prepare_cached(&format!("SELECT {COLUMNS} FROM entry WHERE space = ?1 ORDER BY id"))?;
    let mut known = Known { rows: statement.query([space as u8])?, head: None };
    known.advance()?;
    let mut write = connection
        .prepare_cached("INSERT OR IGNORE INTO incoming VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
    let mut remove = connection.prepare_cached("INSERT OR IGNORE INTO outgoing VALUES (?1)")?;
    let mut changes = Changes::default();
    let mut rows = 0;
    let mut note = |entry: Entry| -> Result<(), IndexError> {
        while let Some(gone) = known.head.take_if(|head| head.id < entry.id) {
            remove.execute([&gone.id])?;
            changes.removed += 1;
            known.advance()?;
        }
        if let Some(head) = known.head.take_if(|head| head.id == entry.id) {
            known.advance()?;
            if head == entry {
                return Ok(());
            }
            remove.execute([&head.id])?;
        }
        let Entry { id, name, account, department, title, active, number, reference, raw_ref } = entry;
        write.execute(params![id, name, account, department, title, active, number, reference, raw_ref])?;
        changes.written += 1;
        Ok(())
    };
    let mut failure = None;
    visit(&mut |entry| {
        rows += 1;
        if rows % REPORT_ROWS == 0 {
            progress(Progress { space, rows });
        }
        match note(entry) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    while let Some(gone) = known.head.take() {
        remove.execute([&gone.id])?;
        changes.removed += 1;
        known.advance()?;
    }
    progress(Progress { space, rows });
    Ok(changes)
}

/// The entries of the index, in the order of their ids.
struct Known<'a> {
    rows: Rows<'a>,
    head: Option<Entry>,
}

impl Known<'_> {
    fn advance(&mut self) -> Result<(), IndexError> {
        self.head = self.rows.next()?.map(Entry::of_row).transpose()?;
        Ok(())
    }
}

/// Writes a chunk of what was noted, and removes what it replaces in the same transaction. False when that was the last.
fn write_chunk(file: &mut IndexFile, space: Space) -> Result<bool, IndexError> {
    let transaction = file.write()?;
    let entries: Vec<Entry> = transaction
        .prepare_cached(&format!("SELECT {COLUMNS} FROM incoming ORDER BY id LIMIT ?1"))?
        .query_map([CHUNK_DOCUMENTS], Entry::of_row)?
        .collect::<Result<_, _>>()?;
    let up_to = entries.get(CHUNK_DOCUMENTS - 1).map(|last| last.id.as_str());
    transaction.execute("DELETE FROM incoming WHERE ?1 IS NULL OR id <= ?1", [up_to])?;
    remove_outgoing(&transaction, space, up_to)?;
    insert_chunk(&transaction, space, next_chunk(&transaction, space)?, &entries)?;
    let more = up_to.is_some();
    transaction.commit()?;
    Ok(more)
}

/// Removes what was changed or is gone, up to this id.
fn remove_outgoing(connection: &Connection, space: Space, up_to: Option<&str>) -> Result<(), IndexError> {
    let mut removed: BTreeMap<i64, usize> = BTreeMap::new();
    let mut ids = connection.prepare_cached("SELECT id FROM outgoing WHERE ?1 IS NULL OR id <= ?1")?;
    let mut remove =
        connection.prepare_cached("DELETE FROM entry WHERE space = ?1 AND id = ?2 RETURNING chunk")?;
    let mut ids = ids.query([up_to])?;
    while let Some(row) = ids.next()? {
        let id: String = row.get(0)?;
        let chunk = remove.query_row(params![space as u8, id], |row| row.get(0))?;
        *removed.entry(chunk).or_default() += 1;
    }
    let mut count = connection
        .prepare_cached("UPDATE entry_chunk SET present = present - ?3 WHERE space = ?1 AND chunk = ?2")?;
    for (chunk, removed) in removed {
        count.execute(params![space as u8, chunk, removed])?;
    }
    connection.execute("DELETE FROM outgoing WHERE ?1 IS NULL OR id <= ?1", [up_to])?;
    Ok(())
}

/// Merges chunks that are small, and writes those anew of which more than half is gone.
fn tidy(file: &mut IndexFile, space: Space) -> Result<(), IndexError> {
    loop {
        let chunks = file.entry_chunks(space)?;
        let pair = match chunks.as_slice() {
            [.., one, other] if should_merge(one.present, other.present, CHUNK_DOCUMENTS) => {
                Some(vec![one.clone(), other.clone()])
            }
            _ => None,
        };
        let thin =
            || chunks.iter().find(|chunk| chunk.present * 2 < chunk.documents).map(|one| vec![one.clone()]);
        let Some(rewritten) = pair.or_else(thin) else { return Ok(()) };
        let transaction = file.write()?;
        rewrite(&transaction, space, &rewritten)?;
        transaction.commit()?;
    }
}

fn rewrite(connection: &Connection, space: Space, chunks: &[EntryChunk]) -> Result<(), IndexError> {
    let mut entries: Vec<Entry> = Vec::new();
    let number = next_chunk(connection, space)?;
    for EntryChunk { chunk, .. } in chunks {
        let place = params![space as u8, chunk];
        let mut select = connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM entry WHERE space = ?1 AND chunk = ?2"))?;
        for entry in select.query_map(place, Entry::of_row)? {
            entries.push(entry?);
        }
        connection.execute("DELETE FROM entry WHERE space = ?1 AND chunk = ?2", place)?;
        connection.execute("DELETE FROM entry_chunk WHERE space = ?1 AND chunk = ?2", place)?;
        remove_postings(connection, space, *chunk)?;
    }
    entries.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    insert_chunk(connection, space, number, &entries)
}

/// Writes a chunk of entries that are in the order of their ids; none when there are none.
fn insert_chunk(
    connection: &Connection,
    space: Space,
    chunk: i64,
    entries: &[Entry],
) -> Result<(), IndexError> {
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return Ok(()) };
    connection
        .prepare_cached("INSERT INTO entry_chunk VALUES (?1, ?2, ?3, ?3, ?4, ?5)")?
        .execute(params![space as u8, chunk, entries.len(), first.id, last.id])?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO entry (space, chunk, offset, id, name, account, department, title, active, number, reference, raw_ref)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?;
    let mut postings = Postings::default();
    for (entry, offset) in entries.iter().zip(0_u16..=u16::MAX) {
        entry_terms(&entry.fields(), entry.active, |term| postings.add(term, offset));
        insert.execute(params![
            space as u8,
            chunk,
            offset,
            entry.id,
            entry.name,
            entry.account,
            entry.department,
            entry.title,
            entry.active,
            entry.number,
            entry.reference,
            entry.raw_ref
        ])?;
    }
    postings.write(connection, space, chunk)
}

fn next_chunk(connection: &Connection, space: Space) -> Result<i64, IndexError> {
    let mut statement =
        connection.prepare_cached("SELECT coalesce(max(chunk), 0) + 1 FROM entry_chunk WHERE space = ?1")?;
    Ok(statement.query_row([space as u8], |row| row.get(0))?)
}
