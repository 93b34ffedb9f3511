//! A short look at what a profile yields on its store: how many rows, whether their times can be right, and whether the
//! policy can tell whose the conversations are.
//!
//! Each look ends after [`LOOK_MS`], for while it reads, a client with a rollback journal cannot commit.

use std::collections::BTreeMap;
use std::time::Duration;

use govern::clock::{Clock, Stopwatch};
use jiff::tz::Offset;
use rusqlite::Row;
use rusqlite::types::{Value, ValueRef};

use super::error::StoreError;
use super::inspect::time_unit;
use super::profile::{Section, Table};
use super::reader::Reader;
use super::store::Store;
use super::time::{TimeUnit, is_set};
use super::value::id;
use crate::access::{Kind, Named};
use crate::model::{Conversation, ConversationType};

/// How long one look takes at most, in milliseconds; twice as long when its first row does not come.
pub const LOOK_MS: u64 = 300;
/// Rows between two looks at the clock; a row may have megabytes.
const ROWS_BETWEEN_LOOKS: u64 = 16;
/// How many values of a time column are kept to tell their unit from.
const SAMPLED_TIMES: usize = 50;
/// How many conversations are looked at.
const MOST_CONVERSATIONS: usize = 2_000;

/// What was seen of the rows of one section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// How many were read.
    pub read: u64,
    /// Whether there are more.
    pub more: bool,
    /// How many of them are left out of every answer, for their ids cannot be used.
    pub left_out: u64,
    /// The time columns in which no value that is set can be right.
    pub wrong_times: Vec<WrongTimes>,
}

/// A time column in which no value that is set can be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongTimes {
    /// The column.
    pub column: &'static str,
    /// The unit that the profile gives it.
    pub unit: TimeUnit,
    /// The unit in which its values would be times of our age.
    pub perhaps: Option<TimeUnit>,
}

/// Whether conversations say whose they are, as far as they were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conversations {
    /// The direct ones.
    pub direct: Owned,
    /// Those of groups.
    pub group: Owned,
    /// Those that are called direct though they are a group's, or the other way round.
    pub mistyped: u64,
}

/// How many conversations of one type say whose they are: by `peer`, or by their own id where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owned {
    /// Those whose person or group the store has.
    pub known: u64,
    /// Those whose `peer` the store does not have; the policy reaches them by that id.
    pub gone: u64,
    /// Those without a `peer`, whose own id is nobody's: the policy reaches them by no person and no group.
    pub nobodys: u64,
}

/// Reads the rows of a section, with all that it yields, until the time is up. None when not one came in time.
pub async fn rows(store: &Store, table: Table, clock: &Clock) -> Result<Option<Rows>, StoreError> {
    let (clock, zone) = (clock.clone(), store.profile().zone());
    let section = store.profile().section(table).cloned().ok_or(StoreError::NoSection(table))?;
    in_time(store.query(move |reader| {
        let mut look = Look {
            table,
            section: &section,
            zone,
            watch: clock.stopwatch(),
            seen: Rows::default(),
            times: BTreeMap::new(),
        };
        look.read(reader).map_err(|error| reader.fault(table, error))?;
        Ok(look.end())
    }))
    .await
}

/// Looks whose the first conversations are. None when that was not known in time.
pub async fn conversations(store: &Store, clock: &Clock) -> Result<Option<Conversations>, StoreError> {
    let clock = clock.clone();
    in_time(store.query(move |reader| look_whose(reader, &clock.stopwatch()))).await
}

/// Which of these entries of the policy ([`Named`]) the store has nobody for, as far as the time allows a look. None when that
/// was not known in time. A kind of which the profile reads no rows is taken at its word.
pub async fn unknown(
    store: &Store,
    entries: Vec<String>,
    clock: &Clock,
) -> Result<Option<Vec<String>>, StoreError> {
    let clock = clock.clone();
    in_time(store.query(move |reader| {
        let watch = clock.stopwatch();
        let mut unknown = Vec::new();
        for entry in entries.iter().take_while(|_| !is_over(&watch)) {
            let Some(named) = Named::parse(entry) else { continue };
            if !has_named(reader, named)? {
                unknown.push(entry.clone());
            }
        }
        Ok(unknown)
    }))
    .await
}

impl Owned {
    /// How many were looked at.
    pub fn all(self) -> u64 {
        self.known + self.gone + self.nobodys
    }

    /// How many the policy does not reach by their person or group. Where the store has not one of them, `peer` holds
    /// ids of another kind.
    pub fn out_of_reach(self) -> u64 {
        if self.known == 0 { self.all() } else { self.nobodys }
    }
}

impl Conversations {
    /// Notes whose a conversation is, which `owners` should know, and not `others`.
    fn see(
        &mut self,
        reader: &mut Reader,
        conversation: &Conversation,
        owners: Table,
        others: Table,
    ) -> Result<(), StoreError> {
        let peer = conversation.peer_id.as_deref();
        let id = peer.unwrap_or(&conversation.conversation_id);
        let counted = if owners == Table::Groups { &mut self.group } else { &mut self.direct };
        let count = if has(reader, owners, id)? {
            &mut counted.known
        } else if has(reader, others, id)? {
            &mut self.mistyped
        } else if peer.is_none() {
            &mut counted.nobodys
        } else if reader.rows(owners).is_err() {
            // The profile reads no such rows, so a peer is taken at its word.
            &mut counted.known
        } else {
            &mut counted.gone
        };
        *count += 1;
        Ok(())
    }
}

/// Whether the store has a person, a group or a conversation of this id.
fn has(reader: &mut Reader, table: Table, id: &str) -> Result<bool, StoreError> {
    Ok(match table {
        Table::Groups => reader.group(id)?.is_some(),
        Table::Conversations => reader.conversation(id)?.is_some(),
        _ => reader.contact(id)?.is_some(),
    })
}

fn has_named(reader: &mut Reader, named: Named<'_>) -> Result<bool, StoreError> {
    for (kind, table) in [
        (Kind::Contact, Table::Contacts),
        (Kind::Group, Table::Groups),
        (Kind::Conversation, Table::Conversations),
    ] {
        if named.may_be(kind) && (reader.rows(table).is_err() || has(reader, table, named.id)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A statement that yields no row never looks at the clock, so it is interrupted.
async fn in_time<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<Option<T>, StoreError> {
    let done = tokio::time::timeout(Duration::from_millis(2 * LOOK_MS), work).await;
    done.ok().transpose()
}

fn is_over(watch: &Stopwatch) -> bool {
    watch.elapsed_us() > LOOK_MS * 1_000
}

/// A look at the rows of one section.
struct Look<'a> {
    table: Table,
    section: &'a Section,
    zone: Offset,
    watch: Stopwatch,
    seen: Rows,
    times: BTreeMap<&'static str, Times>,
}

/// The values of a time column that are set.
#[derive(Default)]
struct Times {
    one_is_right: bool,
    sample: Vec<Value>,
}

impl Look<'_> {
    fn read(&mut self, reader: &Reader) -> Result<(), StoreError> {
        for projection in reader.projections(self.table)? {
            // Whole rows, for SQLite does not reckon out a column that nobody asks for, and one that fails would be missed.
            let mut statement = reader.connection().prepare(&projection.sql)?;
            let mut found = statement.query([])?;
            while let Some(row) = found.next()? {
                if self.seen.read.is_multiple_of(ROWS_BETWEEN_LOOKS) && is_over(&self.watch) {
                    self.seen.more = true;
                    return Ok(());
                }
                self.see(row)?;
            }
        }
        Ok(())
    }

    fn see(&mut self, row: &Row<'_>) -> Result<(), StoreError> {
        self.seen.read += 1;
        self.seen.left_out += u64::from(id(row.get_ref(0)?, self.section.text).is_none());
        for (at, column) in self.table.columns().enumerate() {
            let Some(unit) = self.section.time.get(column) else { continue };
            let value = row.get_ref(at)?;
            if is_set(value) {
                let right = unit.is_plausible(value, self.zone);
                self.times.entry(column).or_default().add(value, right);
            }
        }
        Ok(())
    }

    fn end(self) -> Rows {
        let wrong = self.times.into_iter().filter(|(_, times)| !times.one_is_right);
        let wrong_times = wrong
            .filter_map(|(column, times)| {
                let unit = *self.section.time.get(column)?;
                Some(WrongTimes { column, unit, perhaps: time_unit(&times.sample) })
            })
            .collect();
        Rows { wrong_times, ..self.seen }
    }
}

impl Times {
    fn add(&mut self, value: ValueRef<'_>, right: bool) {
        self.one_is_right |= right;
        if self.sample.len() < SAMPLED_TIMES {
            // A text that is not UTF-8 is no time in any unit.
            self.sample.extend(Value::try_from(value).ok());
        }
    }
}

fn look_whose(reader: &mut Reader, watch: &Stopwatch) -> Result<Conversations, StoreError> {
    let mut seen = Conversations::default();
    let first = first_conversations(reader);
    for conversation in first.map_err(|error| reader.fault(Table::Conversations, error))? {
        if is_over(watch) {
            break;
        }
        let (people, groups) = (Table::Contacts, Table::Groups);
        match conversation.conversation_type {
            ConversationType::Direct => seen.see(reader, &conversation, people, groups)?,
            ConversationType::Group => seen.see(reader, &conversation, groups, people)?,
            ConversationType::System => {}
        }
    }
    Ok(seen)
}

fn first_conversations(reader: &Reader) -> Result<Vec<Conversation>, StoreError> {
    let rows = reader.rows(Table::Conversations)?;
    let mut first = Vec::new();
    for projection in reader.projections(Table::Conversations)? {
        let sql = format!("{} LIMIT {MOST_CONVERSATIONS}", projection.sql);
        let mut statement = reader.connection().prepare(&sql)?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            first.extend(rows.conversation(row)?);
        }
    }
    Ok(first)
}
