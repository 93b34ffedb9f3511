//! Messages and files, the newest first, page by page.
//!
//! What is read is a number of streams, two for each part of the store, merged by time:
//! - rows whose time is set, in the order of the stored value, so that the store's index on (conversation, time) serves
//!   a page at any depth;
//! - the others, in the order of the time they have instead, or of their numbers; usually there are none.
//!
//! A position is the place in the order of all streams: (time, stream, stored value, number). It stays valid while rows
//! arrive. Written times (ISO 8601) are in the order of their letters, as the store's index has them. A row that is none
//! (its id is of no use), or whose position is too long for a cursor, is left out and counted.
//!
//! Texts are searched a slice of time at a time ([`slice`]).

mod slice;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Row, params_from_iter};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use self::slice::Slice;
use super::error::StoreError;
use super::index::Place;
use super::profile::Table;
use super::projection::Projection;
use super::reader::{Reader, Rows};
use super::time::{EARLIEST_MS, LATEST_MS, TimeUnit};
use crate::model::ConversationType;

/// Which rows of messages or files.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    pub table: Table,
    /// Only rows with these values in these columns.
    pub equal: Vec<(&'static str, String)>,
    pub conversation_type: Option<ConversationType>,
    /// Only messages whose text holds this.
    pub needle: Option<Needle>,
    pub since_ms: Option<i64>,
    pub limit: usize,
    pub after: Option<Position>,
}

/// What is looked for in texts.
#[derive(Clone, Debug)]
pub(super) struct Needle {
    pub folded: String,
    /// At most so many rows, and those of the same time as the last, are searched for one page.
    pub most_searched: usize,
    /// When the search of more than a few rows stops, and the next page tries fewer.
    pub until: Option<Instant>,
}

/// A place in the order of all streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Position {
    table: String,
    at_ms: i64,
    part: String,
    dated: bool,
    stored: Stored,
    number: Stored,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slice: Option<Slice>,
    /// From here, at most so many rows are searched at once, for a search of more was not done in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    most_searched: Option<usize>,
}

/// A value of SQLite that keeps every bit in JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Stored {
    Null,
    Integer(i64),
    RealBits(u64),
    Text(String),
    /// Base64.
    Blob(String),
}

/// The longest position of a row, in bytes as a JSON string: with an id and the rest, it fits in a cursor.
const LONGEST_POSITION: usize = 3_500;

/// The rows of a page with the position after each, where to go on when there may be more, and how many rows were left
/// out on the way.
pub(super) struct Run<T> {
    pub items: Vec<(T, Position)>,
    pub next: Option<Position>,
    pub left_out: usize,
}

/// One ordered run of rows of one part.
struct Stream<'a> {
    projection: &'a Projection,
    columns: Columns<'a>,
    dated: bool,
}

/// The columns that order a part, and their places in its rows.
#[derive(Clone, Copy)]
struct Columns<'a> {
    table: Table,
    time: Option<(&'a str, usize, TimeUnit)>,
    number: (&'a str, usize),
    /// SQL for the time in Unix milliseconds.
    moment: &'a str,
}

struct Head<T> {
    at_ms: i64,
    item: T,
    position: Position,
}

impl Position {
    /// Reads a position of this table.
    pub fn parse(table: Table, text: &str) -> Result<Self, StoreError> {
        let position: Self = serde_json::from_str(text).map_err(|_| StoreError::Position)?;
        if position.table == table.name() { Ok(position) } else { Err(StoreError::Position) }
    }

    /// The place before all rows that are earlier than this time, and after all others.
    fn before(table: Table, at_ms: i64) -> Self {
        Self {
            table: table.name().to_owned(),
            at_ms,
            part: String::new(),
            dated: false,
            stored: Stored::Null,
            number: Stored::Integer(i64::MIN),
            slice: None,
            most_searched: None,
        }
    }

    /// The same place in the order of the index; none when the message has no number.
    pub fn place(&self) -> Option<Place> {
        match self.number {
            Stored::Integer(seq) => Some(Place { at_ms: self.at_ms, part: self.part.clone(), seq }),
            _ => None,
        }
    }

    fn fits(&self) -> bool {
        govern::budget::json_len(&self.word()) <= LONGEST_POSITION
    }

    /// The position as a word.
    pub fn word(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Timeline {
    /// Reads a page. `read` makes an item of a row. A search that is not done in time gives a page without items.
    pub fn read<'r, T>(
        &self,
        reader: &'r Reader,
        read: impl Fn(&Rows<'r>, &Row<'_>) -> Result<Option<T>, StoreError>,
    ) -> Result<Run<T>, StoreError> {
        let slice = self.slice(reader)?;
        let from_ms = slice.and_then(|slice| slice.from_ms);
        let most_searched = self.after.as_ref().and_then(|position| position.most_searched);
        let within = Self { since_ms: self.since_ms.max(from_ms), ..self.clone() };
        let found = reader.until(self.until(), || within.read_all_rows(reader, &read))?;
        let Some(mut run) = found else {
            return Ok(Run { items: Vec::new(), next: Some(self.with_fewer()), left_out: 0 });
        };
        for position in run.items.iter_mut().map(|(_, position)| position).chain(&mut run.next) {
            position.slice = slice;
            position.most_searched = most_searched;
        }
        let beyond =
            || from_ms.map(|from_ms| Position { most_searched, ..Position::before(self.table, from_ms) });
        Ok(Run { next: run.next.or_else(beyond), ..run })
    }

    /// Reads a page from as many rows of each stream as it takes.
    fn read_all_rows<'r, T>(
        &self,
        reader: &'r Reader,
        read: &impl Fn(&Rows<'r>, &Row<'_>) -> Result<Option<T>, StoreError>,
    ) -> Result<Run<T>, StoreError> {
        let mut rows = self.limit + 1;
        loop {
            if let Some(run) = self.read_rows(reader, read, rows)? {
                return Ok(run);
            }
            rows = rows.saturating_mul(8);
        }
    }

    /// Reads a page from the first so many rows of each stream; none when rows that were left out made them too few.
    fn read_rows<'r, T>(
        &self,
        reader: &'r Reader,
        read: &impl Fn(&Rows<'r>, &Row<'_>) -> Result<Option<T>, StoreError>,
        most_rows: usize,
    ) -> Result<Option<Run<T>>, StoreError> {
        let projections = reader.projections(self.table)?;
        let rows = reader.rows(self.table)?;
        let (mut streams, mut statements) = (Vec::new(), Vec::new());
        for stream in self.streams(&projections, &rows) {
            let Some((sql, values)) = self.sql(reader, &stream, most_rows)? else { continue };
            statements.push((reader.connection().prepare_cached(&sql)?, values));
            streams.push(stream);
        }
        let mut found = statements
            .iter_mut()
            .map(|(statement, values)| statement.query(params_from_iter(values.iter())))
            .collect::<Result<Vec<_>, _>>()?;
        let start_ms = self.after.as_ref().map_or(i64::MAX, |position| position.at_ms);
        // Of each stream.
        let (mut seen, mut left_out) = (vec![0; streams.len()], vec![0; streams.len()]);
        let mut next = |at: usize, mut before_ms: i64| -> Result<Option<Head<T>>, StoreError> {
            while let Some(row) = found[at].next()? {
                seen[at] += 1;
                let (at_ms, position) = streams[at].place(row, &rows, before_ms)?;
                match read(&rows, row)? {
                    Some(item) if position.fits() => return Ok(Some(Head { at_ms, item, position })),
                    _ => left_out[at] += 1,
                }
                before_ms = at_ms;
            }
            Ok(None)
        };
        let mut heads = (0..streams.len()).map(|at| next(at, start_ms)).collect::<Result<Vec<_>, _>>()?;
        let mut items = Vec::new();
        // The last of several with the same time: positions are in that order, too.
        while let Some((newest, at_ms)) = heads
            .iter()
            .enumerate()
            .filter_map(|(at, head)| head.as_ref().map(|head| (at, head.at_ms)))
            .max_by_key(|(at, at_ms)| (*at_ms, *at))
        {
            if items.len() == self.limit {
                break;
            }
            let following = next(newest, at_ms)?;
            if let Some(head) = std::mem::replace(&mut heads[newest], following) {
                items.push((head.item, head.position));
            }
        }
        let is_cut = seen.iter().zip(&left_out).any(|(seen, left_out)| *seen == most_rows && *left_out > 0);
        let more = heads.iter().any(Option::is_some);
        let next = items.last().filter(|_| more).map(|(_, position): &(T, Position)| position.clone());
        Ok((!is_cut).then(|| Run { items, next, left_out: left_out.iter().sum() }))
    }

    /// The streams of all parts, in the order of positions.
    fn streams<'a>(&self, projections: &'a [Arc<Projection>], rows: &Rows<'_>) -> Vec<Stream<'a>> {
        let of_part = |projection: &'a Arc<Projection>| {
            let columns = Columns::of(self.table, projection, rows);
            [false, true].map(|dated| Stream { projection, columns, dated })
        };
        projections.iter().flat_map(of_part).collect()
    }

    /// The SQL of the first rows of a stream and its values; none when no row can fit.
    fn sql(
        &self,
        reader: &Reader,
        stream: &Stream<'_>,
        most_rows: usize,
    ) -> Result<Option<(String, Vec<Value>)>, StoreError> {
        let Some(mut conditions) = self.conditions(reader, stream)? else { return Ok(None) };
        if let Some(needle) = &self.needle {
            let deleted = if stream.projection.yields("deleted") { "deleted" } else { "NULL" };
            conditions.add(&format!("text_holds(text, {deleted}, ?)"), [Value::Text(needle.folded.clone())]);
        }
        let Columns { time, number: (number, _), moment, .. } = stream.columns;
        let order = time.filter(|_| stream.dated).map_or(moment, |(time, ..)| time);
        let sql = format!(
            "{} WHERE {} ORDER BY {order} DESC, {number} DESC LIMIT {most_rows}",
            stream.projection.sql, conditions.text
        );
        Ok(Some((sql, conditions.values)))
    }

    /// Which rows of a stream may fit, whatever their texts are; none when no row can.
    fn conditions(&self, reader: &Reader, stream: &Stream<'_>) -> Result<Option<Conditions>, StoreError> {
        let mut conditions = Conditions::default();
        for (column, text) in &self.equal {
            if !stream.projection.yields(column) {
                return Ok(None);
            }
            let Some(value) = reader.typed(stream.projection, column, text)? else { return Ok(None) };
            conditions.add(&format!("{column} = ?"), [value]);
        }
        if let Some(kind) = self.conversation_type {
            let conversations = reader.projections(Table::Conversations)?;
            let Some(conversations) = conversations.first() else { return Ok(None) };
            let kind_of = if conversations.yields("type") { "type" } else { "NULL" };
            conditions.add(
                &format!(
                    "CAST(conversation AS TEXT) IN (SELECT CAST(id AS TEXT) FROM ({}) WHERE conversation_kind({kind_of}) = ?)",
                    conversations.sql
                ),
                [Value::Text(kind.as_str().to_owned())],
            );
        }
        if let Some(since) = self.since_ms {
            conditions.add(&format!("{} >= ?", stream.columns.moment), [Value::Integer(since)]);
        }
        if let Some(slice) = self.after.as_ref().and_then(|position| position.slice) {
            conditions.add(&format!("{} <= ?", stream.columns.moment), [Value::Integer(slice.to_ms)]);
        }
        match (stream.dated, stream.columns.time) {
            (true, None) => return Ok(None),
            (true, Some((time, _, unit))) => self.dated_conditions(stream, time, unit, &mut conditions),
            (false, _) => self.undated_conditions(stream, &mut conditions),
        }
        Ok(Some(conditions))
    }

    fn dated_conditions(&self, stream: &Stream<'_>, time: &str, unit: TimeUnit, conditions: &mut Conditions) {
        let set = [unit.lower_bound(EARLIEST_MS), unit.upper_bound(LATEST_MS)];
        conditions.add(&format!("{time} > ? AND {time} <= ?"), set);
        if let Some(since) = self.since_ms {
            conditions.add(&format!("{time} >= ?"), [unit.lower_bound(since)]);
        }
        match self.left(stream) {
            Left::All => {}
            Left::Nothing => conditions.add("FALSE", []),
            Left::After(position) => {
                let (stored, number) = (Value::from(&position.stored), Value::from(&position.number));
                conditions.add(&format!("{time} <= ?"), [stored.clone()]);
                conditions.add(&format!("({time}, {}) < (?, ?)", stream.columns.number.0), [stored, number]);
            }
            Left::UpTo(at_ms) => {
                conditions.add(&format!("{time} <= ?"), [unit.upper_bound(at_ms)]);
                conditions.add(&format!("{} <= ?", stream.columns.moment), [Value::Integer(at_ms)]);
            }
        }
    }

    fn undated_conditions(&self, stream: &Stream<'_>, conditions: &mut Conditions) {
        let moment = stream.columns.moment;
        match stream.columns.time {
            Some((time, _, unit)) => conditions.add(
                &format!("({time} IS NULL OR {time} <= ? OR {time} > ?)"),
                [unit.lower_bound(EARLIEST_MS), unit.upper_bound(LATEST_MS)],
            ),
            None => conditions.add("TRUE", []),
        }
        match self.left(stream) {
            Left::All => {}
            Left::Nothing => conditions.add("FALSE", []),
            Left::After(position) => conditions.add(
                &format!("({moment}, {}) < (?, ?)", stream.columns.number.0),
                [Value::Integer(position.at_ms), Value::from(&position.number)],
            ),
            Left::UpTo(at_ms) => conditions.add(&format!("{moment} <= ?"), [Value::Integer(at_ms)]),
        }
    }

    /// What of a stream comes after the position.
    fn left(&self, stream: &Stream<'_>) -> Left<'_> {
        let Some(position) = &self.after else { return Left::All };
        let place = (stream.projection.part.as_str(), stream.dated);
        match place.cmp(&(position.part.as_str(), position.dated)) {
            std::cmp::Ordering::Equal => Left::After(position),
            std::cmp::Ordering::Less => Left::UpTo(position.at_ms),
            // Nothing is earlier than the rows without any time.
            std::cmp::Ordering::Greater => position.at_ms.checked_sub(1).map_or(Left::Nothing, Left::UpTo),
        }
    }
}

/// What of a stream is still to be read.
enum Left<'a> {
    All,
    Nothing,
    After(&'a Position),
    /// This time and earlier.
    UpTo(i64),
}

#[derive(Default)]
struct Conditions {
    text: String,
    values: Vec<Value>,
}

impl Conditions {
    fn add(&mut self, condition: &str, values: impl IntoIterator<Item = Value>) {
        if !self.text.is_empty() {
            self.text.push_str(" AND ");
        }
        self.text.push_str(condition);
        self.values.extend(values);
    }
}

impl<'a> Columns<'a> {
    fn of(table: Table, projection: &Projection, rows: &Rows<'_>) -> Self {
        let time = |column: &'a str, at: usize| {
            rows.unit(column).filter(|_| projection.yields(column)).map(|unit| (column, at, unit))
        };
        let messages = table == Table::Messages;
        let (created, received) =
            if messages { (time("created", 7), time("received", 8)) } else { (time("created", 6), None) };
        let moment = match (messages, created.is_some(), received.is_some()) {
            (true, true, true) => "messages_moment(created, received)",
            (true, true, false) => "messages_moment(created, NULL)",
            (true, false, true) => "messages_moment(NULL, received)",
            (true, false, false) => "messages_moment(NULL, NULL)",
            (false, true, _) => "files_moment(created, NULL)",
            (false, false, _) => "files_moment(NULL, NULL)",
        };
        let number = if messages && projection.yields("seq") { ("seq", 3) } else { ("id", 0) };
        Self { table, time: created.or(received), number, moment }
    }
}

impl Stream<'_> {
    /// The time of a row and its place. A text that is no time counts as the one before it in the index.
    fn place(&self, row: &Row<'_>, rows: &Rows<'_>, before_ms: i64) -> Result<(i64, Position), StoreError> {
        let (at_ms, stored) = match self.columns.time {
            Some((_, at, unit)) if self.dated => {
                let value = row.get_ref(at)?;
                (unit.milliseconds(value, rows.zone()).unwrap_or(before_ms), Stored::from(value))
            }
            _ => (rows.moment(self.columns.table, row)?, Stored::Null),
        };
        let position = Position {
            table: self.columns.table.name().to_owned(),
            at_ms,
            part: self.projection.part.clone(),
            dated: self.dated,
            stored,
            number: Stored::from(row.get_ref(self.columns.number.1)?),
            slice: None,
            most_searched: None,
        };
        Ok((at_ms, position))
    }
}

impl From<ValueRef<'_>> for Stored {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::RealBits(number.to_bits()),
            ValueRef::Text(bytes) => Self::Text(String::from_utf8_lossy(bytes).into_owned()),
            ValueRef::Blob(bytes) => Self::Blob(STANDARD_NO_PAD.encode(bytes)),
        }
    }
}

impl From<&Stored> for Value {
    fn from(stored: &Stored) -> Self {
        match stored {
            Stored::Null => Self::Null,
            Stored::Integer(number) => Self::Integer(*number),
            Stored::RealBits(bits) => Self::Real(f64::from_bits(*bits)),
            Stored::Text(text) => Self::Text(text.clone()),
            // What is no base64 did not come from here; it is the first of all blobs.
            Stored::Blob(text) => Self::Blob(STANDARD_NO_PAD.decode(text).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::local::{Profile, Store};

    const SCHEMA: &str = "CREATE TABLE m(id TEXT, c TEXT, t INTEGER, x TEXT); CREATE INDEX m_ct ON m(c, t);
        INSERT INTO m VALUES ('a', 'c1', 1700000000000, 'hello'), ('b', 'c1', 1700000000000, 'hi');";
    const PROFILE: &str = "[messages]\nselect = 'SELECT rowid AS seq, id, c AS conversation, t AS created, x AS text FROM m'\ntime = { created = 'unix_ms' }";

    fn timeline() -> Timeline {
        Timeline {
            table: Table::Messages,
            equal: vec![("conversation", "c1".to_owned())],
            conversation_type: None,
            needle: None,
            since_ms: None,
            limit: 1,
            after: None,
        }
    }

    #[test]
    fn the_stores_own_index_serves_the_first_page_and_later_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        rusqlite::Connection::open(&path).unwrap().execute_batch(SCHEMA).unwrap();
        let store = Store::open(&path, Profile::parse(PROFILE).unwrap(), None).unwrap();
        let reader = store.reader().unwrap();
        let first = timeline().read(&reader, Rows::message).unwrap();
        assert!(first.next.is_some());
        let later = Timeline { after: Some(first.items[0].1.clone()), ..timeline() };
        let since = Timeline { since_ms: Some(1_600_000_000_000), ..timeline() };
        // The reader refuses EXPLAIN, so another connection plans the same SQL.
        let planner = rusqlite::Connection::open(&path).unwrap();
        crate::sources::local::functions::register(&planner, store.profile()).unwrap();
        for timeline in [timeline(), later, since] {
            let projection = &reader.projections(Table::Messages).unwrap()[0];
            let columns = Columns::of(Table::Messages, projection, &reader.rows(Table::Messages).unwrap());
            for dated in [true, false] {
                let (sql, values) =
                    timeline.sql(&reader, &Stream { projection, columns, dated }, 2).unwrap().unwrap();
                let mut statement = planner.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
                let plan: Vec<String> = statement
                    .query_map(params_from_iter(values), |row| row.get(3))
                    .unwrap()
                    .map(Result::unwrap)
                    .collect();
                assert!(plan.iter().all(|line| !line.contains("SCAN")), "{plan:?} {sql}");
                assert!(plan.iter().any(|line| line.contains("USING INDEX m_ct")), "{plan:?} {sql}");
                assert!(
                    !dated || plan.iter().all(|line| line != "USE TEMP B-TREE FOR ORDER BY"),
                    "{plan:?} {sql}"
                );
            }
        }
    }

    #[test]
    fn an_index_that_was_built_meanwhile_goes_on_where_a_page_without_it_stopped() {
        let place = Position::before(Table::Messages, 7).place().unwrap();
        let of = |at_ms, part: &str, seq| Place { at_ms, part: part.to_owned(), seq };
        assert!(of(6, "m_2", i64::MAX) < place && place <= of(7, "", i64::MIN));
    }
}
