//! Slices of time whose texts are searched for one page.
//!
//! Searching texts takes far longer than looking at times. So a page that needs it first finds the time down to which
//! there are as many rows as may be searched at once, and goes no further. Pages go on in this slice until nothing is
//! left of it, and then in the next.

use std::cmp::Reverse;

use rusqlite::params_from_iter;
use serde::{Deserialize, Serialize};

use super::{Conditions, Timeline};
use crate::sources::local::error::StoreError;
use crate::sources::local::reader::Reader;

/// The times of rows whose texts are searched together. Kept from page to page: the letters of written times with
/// different offsets are not in the order of the times, so without it a row could slip from one slice to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Slice {
    /// All down to the rows without any time when there is none.
    pub from_ms: Option<i64>,
    /// Inclusive, as `from_ms`.
    pub to_ms: i64,
}

impl Timeline {
    /// The slice whose texts are searched for this page: that of the page before, or the next; none without a needle.
    pub(super) fn slice(&self, reader: &Reader) -> Result<Option<Slice>, StoreError> {
        let Some(needle) = &self.needle else { return Ok(None) };
        if let Some(begun) = self.after.as_ref().and_then(|position| position.slice) {
            return Ok(Some(begun));
        }
        let from_ms = self.horizon_ms(reader, needle.most_searched)?;
        let to_ms = self.after.as_ref().map_or(i64::MAX, |before| before.at_ms.saturating_sub(1));
        Ok(Some(Slice { from_ms, to_ms }))
    }

    /// The time down to which so many rows are left; none when there are not more.
    fn horizon_ms(&self, reader: &Reader, most: usize) -> Result<Option<i64>, StoreError> {
        let mut newest = Newest::new(most);
        let (projections, rows) = (reader.projections(self.table)?, reader.rows(self.table)?);
        for stream in self.streams(&projections, &rows) {
            let Some(Conditions { text, values }) = self.conditions(reader, &stream)? else { continue };
            let (moment, rows) = (stream.columns.moment, &stream.projection.sql);
            let sql = format!("SELECT {moment} FROM ({rows}) WHERE {text}");
            let mut statement = reader.connection().prepare_cached(&sql)?;
            let mut found = statement.query(params_from_iter(values))?;
            while let Some(row) = found.next()? {
                newest.add(row.get(0)?);
            }
        }
        // Rows without any time come last of all, so there is nothing beyond them.
        Ok(newest.oldest_of_too_many().filter(|at_ms| *at_ms > i64::MIN))
    }
}

/// The newest of many times, so many that few are kept at once.
struct Newest {
    most: usize,
    times: Vec<i64>,
    is_cut: bool,
}

impl Newest {
    /// Of at least one.
    fn new(most: usize) -> Self {
        Self { most: most.max(1), times: Vec::new(), is_cut: false }
    }

    fn add(&mut self, at_ms: i64) {
        self.times.push(at_ms);
        if self.times.len() == self.most.saturating_mul(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.times.len() > self.most {
            self.times.select_nth_unstable_by_key(self.most, |at_ms| Reverse(*at_ms));
            self.times.truncate(self.most);
            self.is_cut = true;
        }
    }

    /// The oldest of those that are kept; none when they are all.
    fn oldest_of_too_many(mut self) -> Option<i64> {
        self.cut();
        self.times.into_iter().min().filter(|_| self.is_cut)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Needle, Position};
    use super::*;
    use crate::sources::local::profile::Table;
    use crate::sources::local::reader::Rows;
    use crate::sources::local::{Profile, Store};

    /// Two parts of messages: created, received, whether the text holds the needle.
    type Given = (bool, Option<i64>, Option<i64>, bool);

    fn two_parts(rows: &[Given]) -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let client = rusqlite::Connection::open(&path).unwrap();
        let schema = "PRAGMA synchronous = OFF; BEGIN; CREATE TABLE m_1(id TEXT, t INTEGER, r INTEGER, x TEXT); CREATE TABLE m_2(id TEXT, t INTEGER, r INTEGER, x TEXT);";
        client.execute_batch(schema).unwrap();
        for (number, (is_first, created, received, holds)) in rows.iter().enumerate() {
            let part = if *is_first { "m_1" } else { "m_2" };
            let text = if *holds { "会议" } else { "午饭" };
            client
                .execute(
                    &format!("INSERT INTO {part} VALUES (?1, ?2, ?3, ?4)"),
                    (format!("m{number}"), created, received, text),
                )
                .unwrap();
        }
        client.execute_batch("COMMIT").unwrap();
        let profile = "[messages]\ntables = 'm_*'\nselect = 'SELECT rowid AS seq, id, 1 AS conversation, t AS created, r AS received, x AS text FROM {table}'\ntime = { created = 'unix_ms', received = 'unix_ms' }";
        let store = Store::open(&path, Profile::parse(profile).unwrap(), None).unwrap();
        (folder, store)
    }

    /// The ids of each page.
    fn pages(store: &Store, most_searched: usize, limit: usize, since_ms: Option<i64>) -> Vec<Vec<String>> {
        let reader = store.reader().unwrap();
        let needle = Some(Needle { folded: "会议".to_owned(), most_searched });
        let mut timeline = Timeline {
            table: Table::Messages,
            equal: Vec::new(),
            conversation_type: None,
            needle,
            since_ms,
            limit,
            after: None,
        };
        let mut pages = Vec::new();
        loop {
            let run = timeline.read(&reader, Rows::message).unwrap();
            assert!(pages.len() < 1_000, "paging ends");
            pages.push(run.items.into_iter().map(|(message, _)| message.message_id).collect());
            let Some(next) = run.next else { return pages };
            timeline.after = Some(Position::parse(Table::Messages, &next.word()).unwrap());
        }
    }

    #[test]
    fn a_page_searches_no_further_than_it_may_and_says_where_to_go_on() {
        let rows: Vec<Given> = (1..=10).map(|at| (at % 2 == 0, Some(at), None, at == 2)).collect();
        let (_folder, store) = two_parts(&rows);
        let none = Vec::<String>::new;
        assert_eq!(pages(&store, 4, 5, None), [none(), none(), vec!["m1".to_owned()]]);
        assert_eq!(pages(&store, 10, 5, None), [["m1"]], "all of them are few enough");
        assert_eq!(pages(&store, 4, 5, Some(7)), [none()], "earlier ones do not count");
    }

    #[test]
    fn rows_without_any_time_come_once_however_many_parts_have_them() {
        let rows: Vec<Given> = (0..6).map(|number| (number % 2 == 0, None, None, true)).collect();
        let (_folder, store) = two_parts(&rows);
        let ids = ["m5", "m3", "m1", "m4", "m2", "m0"].map(|id| vec![id.to_owned()]);
        assert_eq!(pages(&store, usize::MAX, 1, None), ids);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_written_time_with_any_offset_is_in_one_slice_only(
            times in proptest::collection::vec((0_u32..24, 0_usize..3), 0..20),
            most_searched in 1_usize..8, limit in 1_usize..4,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("store.db");
            let client = rusqlite::Connection::open(&path).unwrap();
            client.execute_batch("PRAGMA synchronous = OFF; BEGIN; CREATE TABLE m(id TEXT, t TEXT)").unwrap();
            for (number, (hour, offset)) in times.iter().enumerate() {
                let time = format!("2026-11-30T{hour:02}:00:00{}", ["-12:00", "Z", "+14:00"][*offset]);
                client.execute("INSERT INTO m VALUES (?1, ?2)", (format!("m{number:02}"), time)).unwrap();
            }
            client.execute_batch("COMMIT").unwrap();
            let profile = "[messages]\nselect = \"SELECT rowid AS seq, id, 1 AS conversation, t AS created, '会议' AS text FROM m\"\ntime = { created = 'iso8601' }";
            let store = Store::open(&path, Profile::parse(profile).unwrap(), None).unwrap();
            let mut found = pages(&store, most_searched, limit, None).concat();
            found.sort_unstable();
            prop_assert_eq!(found, (0..times.len()).map(|number| format!("m{number:02}")).collect::<Vec<_>>());
        }

        #[test]
        fn however_few_texts_a_page_searches_all_pages_hold_the_same(
            rows in proptest::collection::vec(
                (any::<bool>(), proptest::option::weighted(0.8, 1_i64..8), proptest::option::of(1_i64..8), any::<bool>()),
                0..30,
            ),
            most_searched in 1_usize..12, limit in 1_usize..5, since_ms in proptest::option::of(1_i64..8),
        ) {
            let (_folder, store) = two_parts(&rows);
            let whole = pages(&store, usize::MAX, 100, since_ms).concat();
            prop_assert_eq!(pages(&store, most_searched, limit, since_ms).concat(), whole);
        }
    }
}
