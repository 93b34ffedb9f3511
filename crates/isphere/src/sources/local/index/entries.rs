//! People, groups and conversations: the index keeps a copy of each, and finds them class by class.

use std::collections::HashMap;
use std::collections::hash_map::Entry::{Occupied, Vacant};

use rusqlite::{OptionalExtension, Row, params};

use super::error::IndexError;
use super::file::{IndexFile, Space};
use super::lookup::Lookup;
use super::merge::merge;
use super::offsets::Offsets;
use super::terms::{Kind, Plan, plan, term};
use crate::model::{Contact, Conversation, ConversationType, Group};
use crate::search::{Class, Fields, Match, Query};

/// A person, group or conversation, as the index keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The source's own id.
    pub id: String,
    /// The name people see.
    pub name: String,
    /// A person's account.
    pub account: Option<String>,
    /// Where a person works.
    pub department: Option<String>,
    /// What a person is.
    pub title: Option<String>,
    /// False for those that are found on request only.
    pub active: bool,
    /// A group's member count, or the place of a conversation's type among [`TYPES`].
    pub number: Option<i64>,
    /// A group's owner, or a conversation's peer.
    pub reference: Option<String>,
    /// Empty for conversations, which have none.
    pub raw_ref: String,
}

const TYPES: [ConversationType; 3] =
    [ConversationType::Direct, ConversationType::Group, ConversationType::System];

impl Entry {
    /// What is searched.
    pub fn fields(&self) -> Fields<'_> {
        Fields {
            id: &self.id,
            name: &self.name,
            account: self.account.as_deref(),
            department: self.department.as_deref(),
            title: self.title.as_deref(),
        }
    }

    /// Reads the columns `id, name, account, department, title, active, number, reference, raw_ref`.
    pub(super) fn of_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            name: row.get(1)?,
            account: row.get(2)?,
            department: row.get(3)?,
            title: row.get(4)?,
            active: row.get(5)?,
            number: row.get(6)?,
            reference: row.get(7)?,
            raw_ref: row.get(8)?,
        })
    }
}

impl From<Contact> for Entry {
    fn from(contact: Contact) -> Self {
        Self {
            id: contact.contact_id,
            name: contact.display_name,
            account: contact.account,
            department: contact.department,
            title: contact.title,
            active: contact.active,
            number: None,
            reference: None,
            raw_ref: contact.raw_ref,
        }
    }
}

impl From<Entry> for Contact {
    fn from(entry: Entry) -> Self {
        Self {
            contact_id: entry.id,
            display_name: entry.name,
            account: entry.account,
            department: entry.department,
            title: entry.title,
            active: entry.active,
            raw_ref: entry.raw_ref,
        }
    }
}

impl From<Group> for Entry {
    fn from(group: Group) -> Self {
        Self {
            id: group.group_id,
            name: group.display_name,
            account: None,
            department: None,
            title: None,
            active: !group.archived,
            number: group.member_count.and_then(|count| i64::try_from(count).ok()),
            reference: group.owner_ref,
            raw_ref: group.raw_ref,
        }
    }
}

impl From<Entry> for Group {
    fn from(entry: Entry) -> Self {
        Self {
            group_id: entry.id,
            display_name: entry.name,
            member_count: entry.number.and_then(|count| u64::try_from(count).ok()),
            owner_ref: entry.reference,
            archived: !entry.active,
            raw_ref: entry.raw_ref,
        }
    }
}

impl From<Conversation> for Entry {
    fn from(conversation: Conversation) -> Self {
        let place = TYPES.iter().position(|known| *known == conversation.conversation_type);
        Self {
            id: conversation.conversation_id,
            name: conversation.display_name,
            account: None,
            department: None,
            title: None,
            active: true,
            number: place.and_then(|place| i64::try_from(place).ok()),
            reference: conversation.peer_id,
            raw_ref: String::new(),
        }
    }
}

impl From<Entry> for Conversation {
    fn from(entry: Entry) -> Self {
        let place = entry.number.and_then(|place| usize::try_from(place).ok());
        Self {
            conversation_id: entry.id,
            display_name: entry.name,
            conversation_type: place
                .and_then(|at| TYPES.get(at))
                .copied()
                .unwrap_or(ConversationType::Direct),
            peer_id: entry.reference,
        }
    }
}

/// A chunk of entries. They are in the order of their ids; those that changed since are gone from it.
#[derive(Clone, Debug)]
pub(super) struct EntryChunk {
    pub chunk: i64,
    pub documents: usize,
    pub present: usize,
    pub first_id: String,
    pub last_id: String,
}

impl IndexFile {
    /// The chunks of a space, in the order in which they were built.
    pub fn entry_chunks(&self, space: Space) -> Result<Vec<EntryChunk>, IndexError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT chunk, documents, present, first_id, last_id FROM entry_chunk WHERE space = ?1 ORDER BY chunk",
        )?;
        let chunks = statement.query_map([space as u8], |row| {
            Ok(EntryChunk {
                chunk: row.get(0)?,
                documents: row.get(1)?,
                present: row.get(2)?,
                first_id: row.get(3)?,
                last_id: row.get(4)?,
            })
        })?;
        Ok(chunks.collect::<Result<_, _>>()?)
    }

    /// The entry at this place, or none when it is gone.
    fn entry(&self, space: Space, chunk: i64, offset: usize) -> Result<Option<Entry>, IndexError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, name, account, department, title, active, number, reference, raw_ref
             FROM entry WHERE space = ?1 AND chunk = ?2 AND offset = ?3",
        )?;
        Ok(statement.query_row(params![space as u8, chunk, offset], Entry::of_row).optional()?)
    }

    /// The first place in a chunk behind an id.
    fn place_after(&self, space: Space, chunk: &EntryChunk, id: &str) -> Result<usize, IndexError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT offset, id FROM entry WHERE space = ?1 AND chunk = ?2 AND offset >= ?3 ORDER BY offset LIMIT 1",
        )?;
        let (mut from, mut to) = (0, chunk.documents);
        while from < to {
            let middle = from.midpoint(to);
            let next = statement
                .query_row(params![space as u8, chunk.chunk, middle], |row| {
                    Ok((row.get::<_, usize>(0)?, row.get_ref(1)?.as_str()? <= id))
                })
                .optional()?;
            match next {
                Some((offset, true)) => from = offset + 1,
                _ => to = middle,
            }
        }
        Ok(from)
    }
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct EntryQuery<'a> {
    /// What people typed.
    pub query: &'a Query,
    /// Also those that are not active.
    pub include_inactive: bool,
    /// Go on behind this class and id.
    pub after: Option<(u8, &'a str)>,
    /// At most so many.
    pub limit: usize,
}

/// An entry, and how it matches.
pub type Found = (Entry, Match);

/// The entries that match, in the order of class and id.
pub(super) fn search(
    file: &IndexFile,
    space: Space,
    asked: &EntryQuery<'_>,
) -> Result<Vec<Found>, IndexError> {
    let chunks = file.entry_chunks(space)?;
    let mut search =
        Search { file, space, asked, lookup: Lookup::new(file, space), left_out: HashMap::new() };
    let (start, _) = asked.after.unwrap_or_default();
    let mut hits = Vec::new();
    for class in Class::ALL {
        let Some(plan) = plan(class, asked.query) else { continue };
        if class as u8 >= start {
            hits.extend(search.class(class, &plan, &chunks, asked.limit - hits.len())?);
        }
        if hits.len() == asked.limit {
            break;
        }
        if plan.exact {
            search.leave_out(&plan, &chunks)?;
        }
    }
    Ok(hits)
}

/// One search, class by class.
struct Search<'a> {
    file: &'a IndexFile,
    space: Space,
    asked: &'a EntryQuery<'a>,
    lookup: Lookup<'a>,
    /// By chunk: what is found on request only, and what matches by a better class.
    left_out: HashMap<i64, Offsets>,
}

/// The rest of a chunk's candidates for a class; not known before the chunk's first entry is asked for.
struct Run<'a> {
    chunk: &'a EntryChunk,
    rest: Option<Rest>,
}

struct Rest {
    candidates: Offsets,
    next: usize,
}

impl Search<'_> {
    /// The entries of one class, in the order of their ids.
    fn class(
        &mut self,
        class: Class,
        plan: &Plan,
        chunks: &[EntryChunk],
        limit: usize,
    ) -> Result<Vec<Found>, IndexError> {
        let after_id = self.asked.after.filter(|(start, _)| class as u8 == *start).map(|(_, id)| id);
        let runs = chunks
            .iter()
            .filter(|chunk| after_id.is_none_or(|id| *chunk.last_id > *id))
            .map(|chunk| (chunk.first_id.clone(), Run { chunk, rest: None }));
        merge(runs.collect(), limit, |run| {
            let rest = match run.rest.take() {
                Some(rest) => rest,
                None => self.open(plan, run.chunk, after_id)?,
            };
            self.next(class, run.chunk.chunk, run.rest.insert(rest))
        })
    }

    fn open(&mut self, plan: &Plan, chunk: &EntryChunk, after_id: Option<&str>) -> Result<Rest, IndexError> {
        let Some(mut candidates) = self.lookup.candidates(chunk.chunk, &plan.terms)? else {
            return Ok(Rest { candidates: Offsets::first(0), next: 0 });
        };
        candidates.remove(self.left_out(chunk.chunk)?);
        let next = after_id.map_or(Ok(0), |id| self.file.place_after(self.space, chunk, id))?;
        Ok(Rest { candidates, next })
    }

    fn next(&self, class: Class, chunk: i64, rest: &mut Rest) -> Result<Option<(String, Found)>, IndexError> {
        while let Some(offset) = rest.candidates.next_from(rest.next) {
            rest.next = offset + 1;
            let Some(entry) = self.file.entry(self.space, chunk, offset)? else { continue };
            let found = self.asked.query.rank(&entry.fields());
            if let Some(found) = found.filter(|found| found.class == class as u8) {
                return Ok(Some((entry.id.clone(), (entry, found))));
            }
        }
        Ok(None)
    }

    /// Leaves out of the classes to come what matches by this one.
    fn leave_out(&mut self, plan: &Plan, chunks: &[EntryChunk]) -> Result<(), IndexError> {
        for chunk in chunks {
            if let Some(found) = self.lookup.candidates(chunk.chunk, &plan.terms)? {
                self.left_out(chunk.chunk)?.add(&found);
            }
        }
        Ok(())
    }

    fn left_out(&mut self, chunk: i64) -> Result<&mut Offsets, IndexError> {
        match self.left_out.entry(chunk) {
            Occupied(known) => Ok(known.into_mut()),
            Vacant(unknown) => {
                let inactive = if self.asked.include_inactive {
                    None
                } else {
                    self.file.posting(self.space, chunk, term(Kind::Inactive, ""))?
                };
                Ok(unknown.insert(inactive.unwrap_or_else(|| Offsets::first(0))))
            }
        }
    }
}
