//! Counters for `/metrics`, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use govern::audit::Record;

/// Upper bounds of the latency buckets in microseconds.
const BUCKETS_US: [u64; 8] = [1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 10_000_000];

/// Calls by operation and outcome since the start of this process.
#[derive(Debug, Default)]
pub struct Metrics(Mutex<BTreeMap<(String, &'static str), Series>>);

#[derive(Debug, Default)]
struct Series {
    count: u64,
    sum_us: u64,
    buckets: [u64; BUCKETS_US.len()],
}

impl Metrics {
    /// Counts a call.
    pub fn observe(&self, record: &Record) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = record.effect.is_some();
        // Names of unknown tools come from outside and could be any number.
        let operation = if known { record.operation.to_string() } else { "unknown".to_owned() };
        let series = all.entry((operation, record.outcome.as_str())).or_default();
        series.count += 1;
        series.sum_us += record.duration_us;
        for (bucket, bound) in series.buckets.iter_mut().zip(BUCKETS_US) {
            *bucket += u64::from(record.duration_us <= bound);
        }
    }

    /// Everything in Prometheus' text format.
    pub fn render(&self) -> String {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::from(
            "# HELP countersign_calls_total Calls by operation and outcome.\n# TYPE countersign_calls_total counter\n",
        );
        // Writing to a String cannot fail.
        for ((operation, outcome), series) in all.iter() {
            writeln!(
                text,
                "countersign_calls_total{{operation=\"{operation}\",outcome=\"{outcome}\"}} {}",
                series.count
            )
            .ok();
        }
        text.push_str(
            "# HELP countersign_call_seconds How long calls took.\n# TYPE countersign_call_seconds histogram\n",
        );
        for ((operation, outcome), series) in all.iter() {
            let labels = format!("operation=\"{operation}\",outcome=\"{outcome}\"");
            for (count, bound) in series.buckets.iter().zip(BUCKETS_US) {
                let bound = seconds(bound);
                writeln!(text, "countersign_call_seconds_bucket{{{labels},le=\"{bound}\"}} {count}").ok();
            }
            let (sum, count) = (seconds(series.sum_us), series.count);
            writeln!(text, "countersign_call_seconds_bucket{{{labels},le=\"+Inf\"}} {count}").ok();
            writeln!(text, "countersign_call_seconds_sum{{{labels}}} {sum}").ok();
            writeln!(text, "countersign_call_seconds_count{{{labels}}} {count}").ok();
        }
        text
    }
}

fn seconds(microseconds: u64) -> String {
    format!("{}.{:06}", microseconds / 1_000_000, microseconds % 1_000_000)
}
