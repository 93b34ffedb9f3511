//! The numbers behind the charts: calls and how long they took, open tasks by age, mails by day.

use std::collections::BTreeMap;

use super::Hotel;
use crate::domain::local_time;
use crate::domain::task::{TASK_STATUSES, TaskStatus};
use crate::error::Error;
use crate::store::boxed;
use crate::store::statistics::{AgeCount, CallCount, DayCount};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// Days of mails that are shown.
const MAIL_DAYS: i64 = 30;

/// Outcomes of calls.
pub const OUTCOMES: [&str; 3] = ["ok", "refused", "error"];

/// Ages of tasks in hours: band `n` holds tasks younger than the `n`th, the last band all older ones.
pub const AGES: [i64; 5] = [1, 4, 24, 72, 168];

/// A stretch of time that charts show, up to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// 24 slots of an hour.
    Day,
    /// 28 slots of six hours.
    Week,
    /// 30 slots of a day.
    Month,
}

/// All spans, the shortest first.
pub const SPANS: [Span; 3] = [Span::Day, Span::Week, Span::Month];

/// The numbers of one moment.
#[derive(Debug, Clone)]
pub struct Statistics {
    /// When each slot of the calls begins, unix milliseconds.
    pub slots: Vec<i64>,
    /// The calls in them.
    pub calls: Calls,
    /// Open statuses, each with how many tasks have which age ([`AGES`]).
    pub ages: Vec<(TaskStatus, Vec<i64>)>,
    /// Days, by the moment at which they begin, and how many mails were received on them.
    pub mails: Vec<(i64, i64)>,
}

/// Calls by slot, operation, outcome and duration.
#[derive(Debug, Clone)]
pub struct Calls {
    counts: Vec<CallCount>,
    slots: usize,
}

/// What the calls of an operation came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The tool, route, page or command; `unknown` for what was asked for and does not exist.
    pub operation: String,
    /// How many calls ended in which of [`OUTCOMES`].
    pub outcomes: Vec<i64>,
    /// See [`Calls::percentiles`].
    pub percentiles: [Option<i64>; 3],
}

/// Counts of durations by the bound that they do not exceed, in microseconds.
#[derive(Debug, Clone, Default)]
struct Histogram(BTreeMap<i64, i64>);

impl Span {
    /// The word in an address.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "24h",
            Self::Week => "7d",
            Self::Month => "30d",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        SPANS.into_iter().find(|span| span.as_str() == word)
    }

    /// How many slots it has, and how many hours each.
    fn slots(self) -> (i64, i64) {
        match self {
            Self::Day => (24, 1),
            Self::Week => (28, 6),
            Self::Month => (30, 24),
        }
    }
}

/// The numbers as they stand. Calls are counted when they are sealed, so those of the last second may not be there.
pub async fn statistics(hotel: &Hotel, span: Span) -> Result<Statistics, Error> {
    let now = hotel.clock.now_ms();
    let (count, width) = span.slots();
    // Slots begin where the hotel's day does, so the last one ends with the hour, the quarter of the day, or the day.
    let midnight = local_time::end_of_day(now) / HOUR;
    let end = midnight - (midnight - now / HOUR - 1) / width * width;
    let begin = end - count * width;
    let tomorrow = local_time::end_of_day(now);
    let first_day = tomorrow - MAIL_DAYS * DAY;
    let (counts, ages, mails) = hotel
        .db
        .read(move |tx| {
            boxed(async move {
                let hotel_id = tx.resolve_hotel(None).await?;
                let calls = tx.call_counts(begin, end, width).await?;
                let ages = tx.age_counts(hotel_id, AGES.map(|hours| now - hours * HOUR)).await?;
                Ok((calls, ages, tx.mails_by_day(hotel_id, first_day, tomorrow).await?))
            })
        })
        .await?;
    Ok(Statistics {
        slots: (0..count).map(|slot| (begin + slot * width) * HOUR).collect(),
        calls: Calls { counts, slots: usize::try_from(count).unwrap_or(0) },
        ages: by_status(&ages),
        mails: by_day(&mails, first_day),
    })
}

impl Calls {
    /// How many calls of an operation, or of all, ended in an outcome, slot by slot.
    pub fn ended(&self, operation: Option<&str>, outcome: &str) -> Vec<i64> {
        self.by_slot(|count| is_of(count, operation) && count.outcome == outcome)
    }

    /// How many calls of these operations there were, slot by slot.
    pub fn made(&self, operations: &[&str]) -> Vec<i64> {
        self.by_slot(|count| operations.contains(&count.operation.as_str()))
    }

    /// How long the calls of an operation, or of all, took at most, slot by slot: half of them, 95 and 99 of 100.
    ///
    /// Calls of all outcomes count. By nearest rank over counts in steps of at most a third, in microseconds: the
    /// upper end of the step is given, so a percentile may be a third too high and never too low; `i64::MAX` is more
    /// than 100 seconds. None without calls.
    pub fn percentiles(&self, operation: Option<&str>) -> Vec<[Option<i64>; 3]> {
        let mut slots = vec![Histogram::default(); self.slots];
        for count in self.counts.iter().filter(|count| is_of(count, operation)) {
            if let Some(histogram) = usize::try_from(count.slot).ok().and_then(|slot| slots.get_mut(slot)) {
                histogram.add(count);
            }
        }
        slots.iter().map(Histogram::percentiles).collect()
    }

    /// Every operation with what its calls came to over all slots, the most called first.
    pub fn summaries(&self) -> Vec<Summary> {
        let mut all: BTreeMap<&str, (Vec<i64>, Histogram)> = BTreeMap::new();
        for count in &self.counts {
            let (outcomes, histogram) = all
                .entry(&count.operation)
                .or_insert_with(|| (vec![0; OUTCOMES.len()], Histogram::default()));
            for (outcome, calls) in OUTCOMES.iter().zip(outcomes) {
                *calls += if count.outcome == *outcome { count.calls } else { 0 };
            }
            histogram.add(count);
        }
        let summary = |(operation, (outcomes, histogram)): (&str, (Vec<i64>, Histogram))| Summary {
            operation: operation.to_owned(),
            percentiles: histogram.percentiles(),
            outcomes,
        };
        let mut all: Vec<Summary> = all.into_iter().map(summary).collect();
        all.sort_by_key(|summary| -summary.outcomes.iter().sum::<i64>());
        all
    }

    fn by_slot(&self, wanted: impl Fn(&CallCount) -> bool) -> Vec<i64> {
        let mut slots = vec![0; self.slots];
        for count in self.counts.iter().filter(|count| wanted(count)) {
            if let Some(calls) = usize::try_from(count.slot).ok().and_then(|slot| slots.get_mut(slot)) {
                *calls += count.calls;
            }
        }
        slots
    }
}

impl Histogram {
    fn add(&mut self, count: &CallCount) {
        *self.0.entry(count.up_to_us).or_default() += count.calls;
    }

    fn percentiles(&self) -> [Option<i64>; 3] {
        let total: i64 = self.0.values().sum();
        [50, 95, 99].map(|percent| {
            let mut place = 0;
            let reached = |(_, calls): &(&i64, &i64)| {
                place += **calls;
                place * 100 >= total * percent
            };
            self.0.iter().find(reached).map(|(bound, _)| *bound)
        })
    }
}

fn is_of(count: &CallCount, operation: Option<&str>) -> bool {
    operation.is_none_or(|operation| count.operation == operation)
}

fn by_status(counts: &[AgeCount]) -> Vec<(TaskStatus, Vec<i64>)> {
    let of = |status: TaskStatus, band: usize| {
        let found = counts
            .iter()
            .find(|count| count.status == status.as_str() && usize::try_from(count.band) == Ok(band));
        found.map_or(0, |count| count.count)
    };
    let open = TASK_STATUSES.into_iter().filter(|status| status.is_open());
    open.map(|status| (status, (0..=AGES.len()).map(|band| of(status, band)).collect())).collect()
}

fn by_day(counts: &[DayCount], first_day: i64) -> Vec<(i64, i64)> {
    let of = |day: i64| counts.iter().find(|count| count.day == day).map_or(0, |count| count.count);
    (0..MAIL_DAYS).map(|day| (first_day + day * DAY, of(day))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(slot: i64, operation: &str, outcome: &str, up_to_us: i64, calls: i64) -> CallCount {
        CallCount { slot, operation: operation.to_owned(), outcome: outcome.to_owned(), up_to_us, calls }
    }

    fn calls() -> Calls {
        let counts = vec![
            count(0, "find", "ok", 100, 50),
            count(0, "find", "ok", 2_000, 45),
            count(0, "find", "error", 8_000, 4),
            count(0, "find", "error", i64::MAX, 1),
            count(2, "submit", "ok", 500, 200),
        ];
        Calls { counts, slots: 3 }
    }

    #[test]
    fn a_percentile_is_the_bound_that_the_nearest_rank_is_under() {
        let slots = calls().percentiles(None);
        assert_eq!(slots[0], [Some(100), Some(2_000), Some(8_000)]);
        assert_eq!(slots[1], [None; 3]);
        assert_eq!(slots[2], [Some(500); 3]);
        assert_eq!(calls().percentiles(Some("submit"))[0], [None; 3]);
    }

    #[test]
    fn calls_are_counted_by_slot_operation_and_outcome() {
        assert_eq!(calls().ended(None, "ok"), [95, 0, 200]);
        assert_eq!(calls().ended(Some("find"), "error"), [5, 0, 0]);
        assert_eq!(calls().made(&["submit"]), [0, 0, 200]);
    }

    #[test]
    fn a_summary_has_all_slots_and_the_most_called_comes_first() {
        let summaries = calls().summaries();
        assert_eq!(
            (summaries[0].operation.as_str(), &summaries[0].outcomes[..]),
            ("submit", &[200, 0, 0][..])
        );
        assert_eq!((summaries[1].operation.as_str(), &summaries[1].outcomes[..]), ("find", &[95, 0, 5][..]));
    }
}
