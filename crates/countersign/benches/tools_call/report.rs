//! The table: figures as medians over the rounds, and our server as a ratio to each of the others.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::contender::{Contender, Revision, Transport};
use crate::load::Figures;

/// The name of our own server among the contenders.
pub const OURS: &str = "countersign";

/// The name of plain axum doing the same work.
pub const PLAIN: &str = "plain axum";

type Key = (Transport, usize, String, Revision);

/// What was measured, by server and round.
#[derive(Default)]
pub struct Report {
    rounds: BTreeMap<Key, BTreeMap<usize, Figures>>,
    failures: Vec<String>,
}

impl Report {
    pub fn add(
        &mut self,
        contender: &Contender,
        in_flight: usize,
        round: usize,
        outcome: std::io::Result<Figures>,
    ) {
        let Contender { name, transport, revision, .. } = contender;
        match outcome {
            Ok(figures) => {
                let key = (*transport, in_flight, name.clone(), *revision);
                self.rounds.entry(key).or_default().insert(round, figures);
            }
            Err(error) => {
                let revision = revision.name();
                self.failures
                    .push(format!("{name} ({transport:?}, {revision}, {in_flight} in flight): {error}"));
            }
        }
    }

    /// The whole report as Markdown, and whether every run went well.
    pub fn markdown(&self) -> (String, bool) {
        let mut text = String::from(
            "| transport | in flight | server | revision | calls/s, median (min–max) | p50 ms | p99 ms | first answer ms | memory MB | ours / this |\n\
             |---|---|---|---|---|---|---|---|---|---|\n",
        );
        for (key, rounds) in &self.rounds {
            let (transport, in_flight, name, revision) = key;
            let rates = Spread::of(rounds.values().map(|figures| figures.calls_per_second));
            let median = |field: fn(&Figures) -> f64| Spread::of(rounds.values().map(field)).median;
            let ratio = self.ratio(key).map_or("–".to_owned(), |ratio| {
                format!("{:.2} ({:.2}–{:.2})", ratio.median, ratio.least, ratio.most)
            });
            let _ = writeln!(
                text,
                "| {transport:?} | {in_flight} | {name} | {} | {:.0} ({:.0}–{:.0}) | {:.2} | {:.2} | {:.0} | {:.0} | {ratio} |",
                revision.name(),
                rates.median,
                rates.least,
                rates.most,
                median(|figures| figures.median_ms),
                median(|figures| figures.p99_ms),
                median(|figures| figures.start_ms),
                median(|figures| figures.memory_mb),
            );
        }
        for failure in &self.failures {
            let _ = writeln!(text, "\nFAILED {failure}");
        }
        (text, self.failures.is_empty())
    }

    /// Our calls per second divided by those of another server in the same round, transport and concurrency; in
    /// the same revision where ours speaks it.
    fn ratio(&self, (transport, in_flight, name, revision): &Key) -> Option<Spread> {
        let ours = |revision| self.rounds.get(&(*transport, *in_flight, OURS.to_owned(), revision));
        let mine = ours(*revision).or_else(|| ours(Revision::Legacy))?;
        let theirs = self.rounds.get(&(*transport, *in_flight, name.clone(), *revision))?;
        let ratios: Vec<f64> = theirs
            .iter()
            .filter_map(|(round, figures)| Some(mine.get(round)?.calls_per_second / figures.calls_per_second))
            .collect();
        (name != OURS && !ratios.is_empty()).then(|| Spread::of(ratios.into_iter()))
    }
}

/// The middle and the ends of a series.
struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
        let last = values.len().saturating_sub(1);
        Self { median: f64::midpoint(at(last / 2), at(last.div_ceil(2))), least: at(0), most: at(last) }
    }
}
