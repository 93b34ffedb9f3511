//! Messages: what the store added since is read, chunk by chunk; small neighbours are merged.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use rusqlite::{Connection, params};

use super::{Progress, should_merge, unchanged};
use crate::model::ConversationType;
use crate::search::fold;
use crate::sources::local::Store;
use crate::sources::local::index::error::IndexError;
use crate::sources::local::index::file::{IndexFile, Postings, Space, remove_postings};
use crate::sources::local::index::messages::{
    BLOCK_DOCUMENTS, Document, MessageChunk, conversation_term, current_chunks, sealed_block, type_term,
};
use crate::sources::local::index::offsets::CHUNK_DOCUMENTS;
use crate::sources::local::index::terms::message_terms;

/// The text of a chunk's messages at most, in bytes: it is kept in memory while the chunk is built.
const CHUNK_TEXT_BYTES: usize = 32 << 20;

/// Indexes the messages that are behind the index, and says how many they were.
pub fn update(
    file: &mut IndexFile,
    store: &Store,
    progress: &mut dyn FnMut(Progress),
) -> Result<u64, IndexError> {
    let types = conversation_types(store)?;
    let parts = unchanged(store, |reader| Ok(reader.message_parts()?))?;
    forget_stale(file, store)?;
    let mut added = 0;
    for part in &parts {
        loop {
            let last = part_chunks(file, part)?.last().map(|chunk| chunk.last_seq);
            let gathered = gather(store, part, last, None)?;
            if gathered.rows.is_empty() {
                break;
            }
            added += gathered.rows.len() as u64;
            let is_full = gathered.is_full;
            replace(file, part, gathered, &types, &[])?;
            merge_last(file, store, part, &types)?;
            progress(Progress { space: Space::Messages, rows: added });
            if !is_full {
                break;
            }
        }
    }
    file.mark_complete(Space::Messages)?;
    Ok(added)
}

/// The messages of a chunk to be.
#[derive(Default)]
struct Gathered {
    rows: Vec<Row>,
    text_bytes: usize,
    last_seq_id: String,
    is_full: bool,
}

struct Row {
    document: Document,
    conversation_id: String,
    folded_text: String,
}

/// Reads the messages between two numbers until a chunk is full.
fn gather(store: &Store, part: &str, after: Option<i64>, up_to: Option<i64>) -> Result<Gathered, IndexError> {
    unchanged(store, |reader| {
        let mut gathered = Gathered::default();
        reader.messages_after(part, after, up_to, &mut |seq, message| {
            let document = Document { at: message.at_ms(), seq };
            let folded_text = fold(&message.text).into_owned();
            gathered.text_bytes += folded_text.len();
            gathered.last_seq_id = message.message_id;
            gathered.rows.push(Row { document, conversation_id: message.conversation_id, folded_text });
            gathered.is_full =
                gathered.rows.len() == CHUNK_DOCUMENTS || gathered.text_bytes >= CHUNK_TEXT_BYTES;
            if gathered.is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(gathered)
    })
}

/// Merges the last chunks of a part while they are of similar size. Their messages are read again, so that what was
/// edited or removed meanwhile is indexed as it is.
fn merge_last(
    file: &mut IndexFile,
    store: &Store,
    part: &str,
    types: &HashMap<String, ConversationType>,
) -> Result<(), IndexError> {
    loop {
        let chunks = part_chunks(file, part)?;
        let [.., one, other] = chunks.as_slice() else { return Ok(()) };
        if !should_merge(one.documents, other.documents, CHUNK_DOCUMENTS)
            || one.text_bytes + other.text_bytes >= CHUNK_TEXT_BYTES
        {
            return Ok(());
        }
        let before_first = one.first_seq.checked_sub(1);
        let gathered = gather(store, part, before_first, Some(other.last_seq))?;
        if gathered.rows.is_empty() || gathered.is_full {
            return Ok(());
        }
        replace(file, part, gathered, types, &[one.chunk, other.chunk])?;
    }
}

/// Writes a chunk in place of others.
fn replace(
    file: &mut IndexFile,
    part: &str,
    mut gathered: Gathered,
    types: &HashMap<String, ConversationType>,
    others: &[i64],
) -> Result<(), IndexError> {
    let seqs = || gathered.rows.iter().map(|row| row.document.seq);
    let (Some(first_seq), Some(last_seq)) = (seqs().min(), seqs().max()) else { return Ok(()) };
    gathered.rows.sort_unstable_by_key(|row| row.document);
    let (Some(oldest), Some(newest)) = (gathered.rows.first(), gathered.rows.last()) else { return Ok(()) };
    let transaction = file.write()?;
    let chunk: i64 =
        transaction
            .query_row("SELECT coalesce(max(chunk), 0) + 1 FROM message_chunk", [], |row| row.get(0))?;
    for other in others {
        remove_chunk(&transaction, *other)?;
    }
    transaction
        .prepare_cached("INSERT INTO message_chunk VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?
        .execute(params![
            chunk,
            part,
            gathered.rows.len(),
            gathered.text_bytes,
            first_seq,
            last_seq,
            gathered.last_seq_id,
            oldest.document.at,
            newest.document.at,
            newest.document.seq
        ])?;
    write_documents(&transaction, chunk, &gathered.rows)?;
    let mut postings = Postings::default();
    for (row, offset) in gathered.rows.iter().zip(0_u16..=u16::MAX) {
        message_terms(&row.folded_text, |term| postings.add(term, offset));
        postings.add(conversation_term(&row.conversation_id), offset);
        if let Some(conversation_type) = types.get(&row.conversation_id) {
            postings.add(type_term(*conversation_type), offset);
        }
    }
    postings.write(&transaction, Space::Messages, chunk)?;
    transaction.commit()?;
    Ok(())
}

fn write_documents(connection: &Connection, chunk: i64, rows: &[Row]) -> Result<(), IndexError> {
    let mut insert = connection.prepare_cached("INSERT INTO message_block VALUES (?1, ?2, ?3)")?;
    for (block, rows) in rows.chunks(BLOCK_DOCUMENTS).enumerate() {
        let documents: Vec<Document> = rows.iter().map(|row| row.document).collect();
        insert.execute(params![chunk, block, sealed_block(chunk, block, &documents)])?;
    }
    Ok(())
}

fn remove_chunk(connection: &Connection, chunk: i64) -> Result<(), IndexError> {
    connection.execute("DELETE FROM message_chunk WHERE chunk = ?1", [chunk])?;
    connection.execute("DELETE FROM message_block WHERE chunk = ?1", [chunk])?;
    remove_postings(connection, Space::Messages, chunk)
}

/// Removes the chunks of parts that are no longer there, and those whose messages may have other numbers by now.
fn forget_stale(file: &mut IndexFile, store: &Store) -> Result<(), IndexError> {
    let current = unchanged(store, |reader| current_chunks(file, reader))?;
    let current: HashSet<i64> = current.iter().map(|chunk| chunk.chunk).collect();
    let stale = file.message_chunks()?.into_iter().filter(|chunk| !current.contains(&chunk.chunk));
    let stale: Vec<i64> = stale.map(|chunk| chunk.chunk).collect();
    let transaction = file.write()?;
    for chunk in stale {
        remove_chunk(&transaction, chunk)?;
    }
    transaction.commit()?;
    Ok(())
}

fn part_chunks(file: &IndexFile, part: &str) -> Result<Vec<MessageChunk>, IndexError> {
    Ok(file.message_chunks()?.into_iter().filter(|chunk| chunk.part == part).collect())
}

fn conversation_types(store: &Store) -> Result<HashMap<String, ConversationType>, IndexError> {
    unchanged(store, |reader| {
        let mut types = HashMap::new();
        reader.conversations(&mut |conversation| {
            types.insert(conversation.conversation_id, conversation.conversation_type);
            ControlFlow::Continue(())
        })?;
        Ok(types)
    })
}
