//! Slices of time whose texts are searched for one page.
//!
//! Searching texts takes far longer than looking at times. So a page that needs it first finds the time down to which
//! there are as many rows as may be searched at once, and goes no further. Pages go on in this slice until nothing is
//! left of it, and then in the next.
//!
//! A search that is not done in time is given up, and the next page tries fewer rows from the same place, in the middle
//! of a slice as well. So a page comes further whatever time it has, as long as there is enough to look at the times.

use std::cmp::Reverse;

use rusqlite::params_from_iter;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{Conditions, Needle, Position, Timeline};
use crate::sources::local::error::StoreError;
use crate::sources::local::reader::Reader;
use crate::sources::local::time::{LATEST_MS, TimeUnit};

/// The times of rows whose texts are searched together. Kept from page to page: the letters of written times with
/// different offsets are not in the order of the times, so without it a row could slip from one slice to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Slice {
    /// All down to the rows without any time when there is none.
    pub from_ms: Option<i64>,
    /// Inclusive, as `from_ms`.
    pub to_ms: i64,
    /// For at most so many rows it was made.
    pub most: usize,
}

/// So few rows are searched to the end whatever time there is: else a page could come no further.
const FEW: usize = 1_000;
/// How many times fewer rows are tried after a search that was not done in time.
const FEWER: usize = 8;
/// By how much a row can be earlier than one that comes after it, where times are written with different offsets: twice
/// the two days by which such times are bounded.
const OUT_OF_ORDER_MS: i64 = 4 * 86_400_000;

impl Timeline {
    /// The slice whose texts are searched for this page: that of the page before, or the next; none without a needle.
    pub(super) fn slice(&self, reader: &Reader) -> Result<Option<Slice>, StoreError> {
        let Some(needle) = &self.needle else { return Ok(None) };
        let most = self.most_searched(needle);
        let Some(after) = &self.after else {
            return Ok(Some(Slice { from_ms: self.horizon_ms(reader, most)?, to_ms: i64::MAX, most }));
        };
        Ok(Some(match after.slice {
            None => {
                let to_ms = after.at_ms.saturating_sub(1);
                Slice { from_ms: self.horizon_ms(reader, most)?, to_ms, most }
            }
            Some(begun) if begun.most <= most => begun,
            Some(begun) => {
                let within = Self { since_ms: self.since_ms.max(begun.from_ms), ..self.clone() };
                // What is later than this may have come on a page before, so the next slice must not have it.
                let latest_ms = after.at_ms.saturating_sub(self.out_of_order_ms(reader)?);
                let from_ms = within.horizon_ms(reader, most)?.map(|from_ms| from_ms.min(latest_ms));
                let from_ms = from_ms.filter(|from_ms| *from_ms > i64::MIN);
                Slice { from_ms: from_ms.max(begun.from_ms), most, ..begun }
            }
        }))
    }

    /// When the search of this page stops; none when it may not stop.
    pub(super) fn until(&self) -> Option<Instant> {
        let needle = self.needle.as_ref()?;
        needle.until.filter(|_| self.most_searched(needle) > FEW)
    }

    /// The place where this page begins, from which fewer rows are searched.
    pub(super) fn with_fewer(&self) -> Position {
        let most_searched = self.needle.as_ref().map(|needle| (self.most_searched(needle) / FEWER).max(1));
        let first = || Position::before(self.table, LATEST_MS + 1);
        Position { most_searched, ..self.after.clone().unwrap_or_else(first) }
    }

    fn most_searched(&self, needle: &Needle) -> usize {
        let fewer = self.after.as_ref().and_then(|position| position.most_searched);
        fewer.unwrap_or(needle.most_searched).min(needle.most_searched)
    }

    /// By how much a row before the place of this page can be earlier than it.
    fn out_of_order_ms(&self, reader: &Reader) -> Result<i64, StoreError> {
        let rows = reader.rows(self.table)?;
        let is_written = ["created", "received"].iter().any(|it| rows.unit(it) == Some(TimeUnit::Iso8601));
        Ok(if is_written { OUT_OF_ORDER_MS } else { 0 })
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

    fn search(most_searched: usize, limit: usize, since_ms: Option<i64>) -> Timeline {
        Timeline {
            table: Table::Messages,
            equal: Vec::new(),
            conversation_type: None,
            needle: Some(Needle { folded: "会议".to_owned(), most_searched, until: None }),
            since_ms,
            limit,
            after: None,
        }
    }

    /// The ids of each page.
    fn pages(store: &Store, most_searched: usize, limit: usize, since_ms: Option<i64>) -> Vec<Vec<String>> {
        pages_of(store, search(most_searched, limit, since_ms), &[])
    }

    /// The ids of each page, where those of `given_up` are searches that were not done in time.
    fn pages_of(store: &Store, mut timeline: Timeline, given_up: &[bool]) -> Vec<Vec<String>> {
        let reader = store.reader().unwrap();
        let mut pages = Vec::new();
        loop {
            let run = timeline.read(&reader, Rows::message).unwrap();
            assert!(pages.len() < 1_000, "paging ends");
            if given_up.get(pages.len()) == Some(&true) {
                pages.push(Vec::new());
                timeline.after = Some(timeline.with_fewer());
                continue;
            }
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

    #[test]
    fn a_search_that_is_never_done_in_time_still_comes_to_its_end() {
        let rows: Vec<Given> =
            (1..=6_000).map(|at| (at % 2 == 0, Some(at), None, at % 1_500 == 0 || at > 5_990)).collect();
        let (_folder, store) = two_parts(&rows);
        let mut late = search(usize::MAX, 4, None);
        let whole = pages_of(&store, late.clone(), &[]);
        late.needle.as_mut().unwrap().most_searched = rows.len();
        late.needle.as_mut().unwrap().until = Some(Instant::now());
        let found = pages_of(&store, late, &[]);
        assert!(found[0].is_empty(), "the first search is too long for no time at all");
        assert_eq!(found.concat(), whole.concat());
    }

    #[test]
    fn a_search_that_has_the_time_is_not_cut() {
        let rows: Vec<Given> = (1..=6_000).map(|at| (at % 2 == 0, Some(at), None, at == 1)).collect();
        let (_folder, store) = two_parts(&rows);
        let mut timely = search(usize::MAX, 4, None);
        timely.needle.as_mut().unwrap().until = Some(Instant::now() + std::time::Duration::from_hours(1));
        assert_eq!(pages_of(&store, timely, &[]), [["m0"]]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_written_time_with_any_offset_is_in_one_slice_only(
            times in proptest::collection::vec((0_u32..24, 0_usize..3), 0..20),
            most_searched in 1_usize..8, limit in 1_usize..4, given_up in proptest::collection::vec(any::<bool>(), 0..8),
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
            let mut found = pages_of(&store, search(most_searched, limit, None), &given_up).concat();
            found.sort_unstable();
            prop_assert_eq!(found, (0..times.len()).map(|number| format!("m{number:02}")).collect::<Vec<_>>());
        }

        #[test]
        fn however_few_texts_a_page_searches_all_pages_hold_the_same(
            rows in proptest::collection::vec(
                (any::<bool>(), proptest::option::weighted(0.8, 1_i64..8), proptest::option::of(1_i64..8), any::<bool>()),
                0..30,
            ),
            most_searched in 1_usize..24, limit in 1_usize..5, since_ms in proptest::option::of(1_i64..8),
            given_up in proptest::collection::vec(any::<bool>(), 0..8),
        ) {
            let (_folder, store) = two_parts(&rows);
            let whole = pages(&store, usize::MAX, 100, since_ms).concat();
            let timeline = search(most_searched, limit, since_ms);
            prop_assert_eq!(pages_of(&store, timeline, &given_up).concat(), whole);
        }
    }
}
