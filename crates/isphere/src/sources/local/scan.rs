//! Searching without an index: every row is ranked, and the best that come after the position are kept.

use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::index::{Entry, EntryQuery, Index, IndexError, Space, usable};
use super::reader::Reader;
use crate::model::{Contact, Conversation, Group};
use crate::search::{Fields, Match, Query};
use crate::sources::{Hit, Lookup};

/// A [`Lookup`] that can go to another thread.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    query: Query,
    include_inactive: bool,
    limit: usize,
    after: Option<Position>,
}

/// The place of an item in the order of a search: the best class first, then by id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Position {
    class: u8,
    id: String,
}

/// The hits of a page with the position after each, and whether there are more.
pub(super) struct Found<T> {
    pub items: Vec<(Hit<T>, Position)>,
    pub more: bool,
}

impl Scan {
    /// The search that a caller asks for.
    pub fn of(lookup: &Lookup<'_>) -> Result<Self, StoreError> {
        let after = lookup
            .after
            .map(|text| serde_json::from_str(text).map_err(|_| StoreError::Position))
            .transpose()?;
        Ok(Self {
            query: Query::new(lookup.query),
            include_inactive: lookup.include_inactive,
            limit: lookup.limit,
            after,
        })
    }

    /// What the index knows of it, or why it cannot be asked.
    pub fn indexed<T: From<Entry>>(
        &self,
        index: Option<&Index>,
        space: Space,
    ) -> Result<Result<Found<T>, IndexError>, StoreError> {
        let Some(index) = index else { return Ok(Err(IndexError::NotBuilt)) };
        let asked = EntryQuery {
            query: &self.query,
            include_inactive: self.include_inactive,
            after: self.after.as_ref().map(|position| (position.class, position.id.as_str())),
            limit: self.limit + 1,
        };
        let mut hits = match usable(index.entries(space, &asked))? {
            Ok(hits) => hits,
            Err(unusable) => return Ok(Err(unusable)),
        };
        let more = hits.len() > self.limit;
        hits.truncate(self.limit);
        let items = hits.into_iter().map(|(entry, Match { class, confidence })| {
            let position = Position { class, id: entry.id.clone() };
            (Hit { item: T::from(entry), confidence }, position)
        });
        Ok(Ok(Found { items: items.collect(), more }))
    }

    /// People that match.
    pub fn contacts(&self, reader: &mut Reader) -> Result<Found<Contact>, StoreError> {
        let mut best = Best::new(self);
        reader.contacts(&mut |contact| {
            if contact.active || self.include_inactive {
                let fields = Fields {
                    id: &contact.contact_id,
                    name: &contact.display_name,
                    account: contact.account.as_deref(),
                    department: contact.department.as_deref(),
                    title: contact.title.as_deref(),
                };
                let found = self.query.rank(&fields);
                best.offer(found, contact, |contact| &contact.contact_id);
            }
            ControlFlow::Continue(())
        })?;
        Ok(best.found())
    }

    /// Groups that match.
    pub fn groups(&self, reader: &mut Reader) -> Result<Found<Group>, StoreError> {
        let mut best = Best::new(self);
        reader.groups(&mut |group| {
            if !group.archived || self.include_inactive {
                let fields = Fields { id: &group.group_id, name: &group.display_name, ..Fields::default() };
                let found = self.query.rank(&fields);
                best.offer(found, group, |group| &group.group_id);
            }
            ControlFlow::Continue(())
        })?;
        Ok(best.found())
    }

    /// Conversations whose name matches.
    pub fn conversations(&self, reader: &mut Reader) -> Result<Found<Conversation>, StoreError> {
        let mut best = Best::new(self);
        reader.conversations(&mut |conversation| {
            let fields = Fields {
                id: &conversation.conversation_id,
                name: &conversation.display_name,
                ..Fields::default()
            };
            let found = self.query.rank(&fields);
            best.offer(found, conversation, |conversation| &conversation.conversation_id);
            ControlFlow::Continue(())
        })?;
        Ok(best.found())
    }
}

impl Position {
    /// The position as a word.
    pub fn word(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The best of what was offered: one more than the limit, so that it is known whether there are more.
struct Best<'a, T> {
    scan: &'a Scan,
    heap: BinaryHeap<Candidate<T>>,
}

struct Candidate<T> {
    position: Position,
    hit: Hit<T>,
}

impl<'a, T> Best<'a, T> {
    fn new(scan: &'a Scan) -> Self {
        Self { scan, heap: BinaryHeap::new() }
    }

    fn offer(&mut self, found: Option<Match>, item: T, id: impl Fn(&T) -> &String) {
        let Some(Match { class, confidence }) = found else { return };
        let position = Position { class, id: id(&item).clone() };
        if self.scan.after.as_ref().is_some_and(|after| position <= *after) {
            return;
        }
        self.heap.push(Candidate { position, hit: Hit { item, confidence } });
        if self.heap.len() > self.scan.limit + 1 {
            self.heap.pop();
        }
    }

    fn found(self) -> Found<T> {
        let mut best = self.heap.into_sorted_vec();
        let more = best.len() > self.scan.limit;
        best.truncate(self.scan.limit);
        Found { items: best.into_iter().map(|candidate| (candidate.hit, candidate.position)).collect(), more }
    }
}

impl<T> PartialEq for Candidate<T> {
    fn eq(&self, other: &Self) -> bool {
        self.position == other.position
    }
}

impl<T> Eq for Candidate<T> {}

impl<T> PartialOrd for Candidate<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Candidate<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.position.cmp(&other.position)
    }
}
