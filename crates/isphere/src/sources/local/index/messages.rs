//! Messages: found by term, verified on the store's row as it is now, the newest first.
//!
//! The index keeps no text. A document is the time and the number of a message, and those of a chunk are in this order,
//! which is that of the answer, backwards. So a position is found by its time and number, at any depth.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use rusqlite::params;
use serde::{Deserialize, Serialize};

use super::checksum::{seal, unseal};
use super::error::IndexError;
use super::file::{IndexFile, Space};
use super::merge::merge;
use super::offsets::{Offsets, read_varint, write_varint};
use super::terms::{Kind, Term, keyword_terms, term};
use crate::model::{ConversationType, Message};
use crate::search::fold;
use crate::sources::local::Reader;

/// Documents in a block: what is read to learn the number and time of one of them.
pub(super) const BLOCK_DOCUMENTS: usize = 256;

/// Messages behind the index that are read at a time.
const BATCH: usize = 1_000;

/// Which messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct MessagesAsked<'a> {
    /// Only those of this conversation.
    pub conversation_id: Option<&'a str>,
    /// Only those of conversations of this type.
    pub conversation_type: Option<ConversationType>,
    /// Only those whose text holds this, after folding.
    pub keyword: Option<&'a str>,
    /// Only those at or after this time.
    pub since_ms: Option<i64>,
    /// Only those before this place.
    pub before: Option<&'a Place>,
    /// At most so many.
    pub limit: usize,
}

/// A run of messages.
#[derive(Clone, Debug)]
pub struct MessagesFound {
    /// The newest first, each with its place, without attachments.
    pub messages: Vec<(Place, Message)>,
    /// How many messages were read because they are newer than the index.
    pub behind: usize,
}

/// The place of a message in the order of all: time, part, number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// See [`Message::at_ms`].
    pub at_ms: i64,
    /// The table of the store that it is in.
    pub part: String,
    /// Its number there.
    pub seq: i64,
}

impl Place {
    /// Reads a place that [`Self::word`] wrote.
    pub fn parse(word: &str) -> Option<Self> {
        serde_json::from_str(word).ok()
    }

    /// The place as a word.
    pub fn word(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A chunk of messages of one part, all between two numbers.
#[derive(Clone, Debug)]
pub(super) struct MessageChunk {
    pub chunk: i64,
    pub part: String,
    pub documents: usize,
    pub text_bytes: usize,
    pub first_seq: i64,
    pub last_seq: i64,
    /// The id of the message with the last number, to see whether the store numbered its rows anew.
    pub last_seq_id: String,
    pub oldest_at: i64,
    pub newest_at: i64,
    /// The number of the last document.
    pub newest_seq: i64,
}

impl MessageChunk {
    /// Whether the number of its last message still is that of the same message.
    fn is_current(&self, reader: &mut Reader) -> Result<bool, IndexError> {
        let last = reader.message(&self.part, self.last_seq)?;
        Ok(last.is_some_and(|message| message.message_id == self.last_seq_id))
    }
}

/// The chunks of each part up to the last whose last message still has its number, the last first. The messages behind
/// it count as newer than the index: their numbers may be those of other messages, because the store numbered its rows
/// anew or gave the numbers of removed messages to new ones. Both leave the numbers below one that stayed as they were.
pub(super) fn current_chunks(file: &IndexFile, reader: &mut Reader) -> Result<Vec<MessageChunk>, IndexError> {
    let mut current: Vec<MessageChunk> = Vec::new();
    for chunk in file.message_chunks()?.into_iter().rev() {
        let is_below_current = current.last().is_some_and(|later| later.part == chunk.part);
        if is_below_current || chunk.is_current(reader)? {
            current.push(chunk);
        }
    }
    Ok(current)
}

impl IndexFile {
    /// The chunks of all parts; those of one part in the order of their numbers.
    pub fn message_chunks(&self) -> Result<Vec<MessageChunk>, IndexError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT chunk, part, documents, text_bytes, first_seq, last_seq, last_seq_id, oldest_at, newest_at, newest_seq
             FROM message_chunk ORDER BY part, first_seq",
        )?;
        let chunks = statement.query_map([], |row| {
            Ok(MessageChunk {
                chunk: row.get(0)?,
                part: row.get(1)?,
                documents: row.get(2)?,
                text_bytes: row.get(3)?,
                first_seq: row.get(4)?,
                last_seq: row.get(5)?,
                last_seq_id: row.get(6)?,
                oldest_at: row.get(7)?,
                newest_at: row.get(8)?,
                newest_seq: row.get(9)?,
            })
        })?;
        Ok(chunks.collect::<Result<_, _>>()?)
    }

    fn block(&self, chunk: i64, block: usize) -> Result<Vec<Document>, IndexError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT documents FROM message_block WHERE chunk = ?1 AND block = ?2")?;
        let mut found = statement.query(params![chunk, block])?;
        let sealed = found.next()?.ok_or(IndexError::Damaged(None))?.get_ref(0)?;
        let sealed = sealed.as_blob().map_err(rusqlite::Error::from)?;
        let key = block_key(chunk, block);
        unseal(key, sealed).map(decode_block).ok_or(IndexError::Damaged(None))
    }
}

/// The time and the number of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Document {
    pub at: i64,
    pub seq: i64,
}

/// The documents of a block as they are written.
pub(super) fn sealed_block(chunk: i64, block: usize, documents: &[Document]) -> Vec<u8> {
    seal(block_key(chunk, block), &encode_block(documents))
}

fn block_key(chunk: i64, block: usize) -> [i64; 2] {
    [chunk, i64::try_from(block).unwrap_or(i64::MAX)]
}

/// The differences of times, which ascend, and of numbers, which nearly do.
fn encode_block(documents: &[Document]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut before = Document { at: i64::MIN, seq: 0 };
    for document in documents {
        write_varint(&mut bytes, document.at.wrapping_sub(before.at).cast_unsigned());
        let step = document.seq.wrapping_sub(before.seq);
        write_varint(&mut bytes, (step << 1 ^ step >> 63).cast_unsigned());
        before = *document;
    }
    bytes
}

fn decode_block(mut bytes: &[u8]) -> Vec<Document> {
    let mut documents = Vec::with_capacity(BLOCK_DOCUMENTS);
    let mut before = Document { at: i64::MIN, seq: 0 };
    while let (Some(later), Some(step)) = (read_varint(&mut bytes), read_varint(&mut bytes)) {
        let step = (step >> 1).cast_signed() ^ -(step & 1).cast_signed();
        before =
            Document { at: before.at.wrapping_add(later.cast_signed()), seq: before.seq.wrapping_add(step) };
        documents.push(before);
    }
    documents
}

/// The term of a conversation.
pub(super) fn conversation_term(conversation_id: &str) -> Term {
    term(Kind::Conversation, conversation_id)
}

/// The term of conversations of a type.
pub(super) fn type_term(conversation_type: ConversationType) -> Term {
    term(Kind::ConversationType, conversation_type.as_str())
}

/// The messages asked for, the newest first.
pub(super) fn search(
    file: &IndexFile,
    reader: &mut Reader,
    asked: &MessagesAsked<'_>,
) -> Result<MessagesFound, IndexError> {
    let mut filter = Filter::new(asked);
    let mut indexed: BTreeMap<String, i64> = BTreeMap::new();
    let mut runs = Vec::new();
    for chunk in current_chunks(file, reader)? {
        indexed.entry(chunk.part.clone()).or_insert(chunk.last_seq);
        let is_in_range = asked.since_ms.is_none_or(|since| chunk.newest_at >= since)
            && asked.before.is_none_or(|before| chunk.oldest_at <= before.at_ms);
        if is_in_range {
            let newest = Place { at_ms: chunk.newest_at, part: chunk.part.clone(), seq: chunk.newest_seq };
            runs.push((Reverse(newest), Run::Chunk(ChunkRun::new(chunk))));
        }
    }
    let mut behind = 0;
    for part in reader.message_parts()? {
        let (found, read) = newer(reader, &part, indexed.get(&part).copied(), &mut filter)?;
        behind += read;
        if let Some((newest, _)) = found.last_key_value() {
            runs.push((Reverse(newest.clone()), Run::Newer(found)));
        }
    }
    let messages = merge(runs, asked.limit, |run| match run {
        Run::Newer(found) => Ok(found.pop_last().map(hit)),
        Run::Chunk(run) => Ok::<_, IndexError>(run.next(file, reader, &mut filter)?.map(hit)),
    })?;
    Ok(MessagesFound { messages, behind })
}

/// Greater places come first.
fn hit((place, message): (Place, Message)) -> (Reverse<Place>, (Place, Message)) {
    (Reverse(place.clone()), (place, message))
}

/// What is left of a chunk, or of what is newer than the index.
enum Run {
    Chunk(ChunkRun),
    Newer(BTreeMap<Place, Message>),
}

/// What a message must be.
struct Filter<'a> {
    asked: &'a MessagesAsked<'a>,
    keyword: Option<String>,
    terms: Vec<Term>,
    types: HashMap<String, Option<ConversationType>>,
}

impl<'a> Filter<'a> {
    fn new(asked: &'a MessagesAsked<'a>) -> Self {
        let keyword = asked.keyword.map(|keyword| fold(keyword).into_owned());
        let mut terms: Vec<Term> = asked.conversation_id.map(conversation_term).into_iter().collect();
        terms.extend(keyword.iter().flat_map(|keyword| keyword_terms(keyword)));
        terms.extend(asked.conversation_type.map(type_term));
        Self { asked, keyword, terms, types: HashMap::new() }
    }

    fn admits(&mut self, reader: &mut Reader, place: &Place, message: &Message) -> Result<bool, IndexError> {
        let asked = self.asked;
        let is_admitted = asked.before.is_none_or(|before| place < before)
            && asked.since_ms.is_none_or(|since| message.at_ms() >= since)
            && asked.conversation_id.is_none_or(|id| message.conversation_id == id)
            && self.keyword.as_deref().is_none_or(|keyword| message.says(keyword));
        match asked.conversation_type {
            Some(wanted) if is_admitted => {
                Ok(self.type_of(reader, &message.conversation_id)? == Some(wanted))
            }
            _ => Ok(is_admitted),
        }
    }

    fn type_of(&mut self, reader: &mut Reader, id: &str) -> Result<Option<ConversationType>, IndexError> {
        if let Some(known) = self.types.get(id) {
            return Ok(*known);
        }
        let found = reader.conversation(id)?.map(|conversation| conversation.conversation_type);
        self.types.insert(id.to_owned(), found);
        Ok(found)
    }
}

/// The messages asked for that are behind the index, at most as many as asked for, and how many were read.
fn newer(
    reader: &mut Reader,
    part: &str,
    last_seq: Option<i64>,
    filter: &mut Filter<'_>,
) -> Result<(BTreeMap<Place, Message>, usize), IndexError> {
    let (mut found, mut read, mut after) = (BTreeMap::new(), 0, last_seq);
    loop {
        let mut batch = Vec::new();
        reader.messages_after(part, after, None, &mut |seq, message| {
            after = Some(seq);
            batch.push((Place { at_ms: message.at_ms(), part: part.to_owned(), seq }, message));
            if batch.len() == BATCH { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let is_last = batch.len() < BATCH;
        read += batch.len();
        for (place, message) in batch {
            if filter.admits(reader, &place, &message)? {
                found.insert(place, message);
                if found.len() > filter.asked.limit {
                    found.pop_first();
                }
            }
        }
        if is_last {
            return Ok((found, read));
        }
    }
}

/// The rest of a chunk.
struct ChunkRun {
    chunk: MessageChunk,
    /// Not known before the chunk's first message is asked for.
    candidates: Option<Offsets>,
    /// All at and behind this one were looked at.
    end: usize,
    /// The block that was read last.
    block: Option<(usize, Vec<Document>)>,
}

impl ChunkRun {
    fn new(chunk: MessageChunk) -> Self {
        Self { end: chunk.documents, chunk, candidates: None, block: None }
    }

    fn next(
        &mut self,
        file: &IndexFile,
        reader: &mut Reader,
        filter: &mut Filter<'_>,
    ) -> Result<Option<(Place, Message)>, IndexError> {
        if self.candidates.is_none() {
            let found = match filter.terms.as_slice() {
                [] => Some(Offsets::first(self.chunk.documents)),
                terms => file.candidates(Space::Messages, self.chunk.chunk, terms)?,
            };
            if let (Some(before), Some(_)) = (filter.asked.before, &found) {
                self.end = self.count_before(file, before)?;
            }
            self.candidates = Some(found.unwrap_or_else(|| Offsets::first(0)));
        }
        while let Some(offset) =
            self.candidates.as_ref().and_then(|candidates| candidates.last_below(self.end))
        {
            self.end = offset;
            let document = self.document(file, offset)?;
            if filter.asked.since_ms.is_some_and(|since| document.at < since) {
                return Ok(None);
            }
            let Some(message) = reader.message(&self.chunk.part, document.seq)? else { continue };
            // A message that got another time keeps the place it had until its chunk is built anew.
            let place = Place { at_ms: document.at, part: self.chunk.part.clone(), seq: document.seq };
            if filter.admits(reader, &place, &message)? {
                return Ok(Some((place, message)));
            }
        }
        Ok(None)
    }

    fn document(&mut self, file: &IndexFile, offset: usize) -> Result<Document, IndexError> {
        let number = offset / BLOCK_DOCUMENTS;
        let documents = match self.block.take() {
            Some((known, documents)) if known == number => documents,
            _ => file.block(self.chunk.chunk, number)?,
        };
        let document = documents.get(offset % BLOCK_DOCUMENTS).copied();
        self.block = Some((number, documents));
        document.ok_or(IndexError::Damaged(None))
    }

    /// How many documents of the chunk are before this place.
    fn count_before(&mut self, file: &IndexFile, before: &Place) -> Result<usize, IndexError> {
        let (mut from, mut to) = (0, self.chunk.documents);
        while from < to {
            let middle = from.midpoint(to);
            let Document { at, seq } = self.document(file, middle)?;
            if (at, self.chunk.part.as_str(), seq) < (before.at_ms, before.part.as_str(), before.seq) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        Ok(from)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_block_is_read_back(
            mut rows in proptest::collection::vec((prop_oneof![Just(i64::MIN), any::<i64>()], any::<i64>()), 0..BLOCK_DOCUMENTS),
        ) {
            rows.sort_unstable();
            let documents: Vec<Document> = rows.into_iter().map(|(at, seq)| Document { at, seq }).collect();
            prop_assert_eq!(decode_block(&encode_block(&documents)), documents);
        }

        #[test]
        fn damaged_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            decode_block(&bytes);
        }
    }
}
