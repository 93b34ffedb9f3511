//! Records for the tests of the audit trail.

use govern::audit::{Channel, Ending, Record};
use govern::tool::Effect;

/// 2026-11-30T14:42:00.123Z.
pub const NOW: i64 = 1_796_049_720_123;

/// The record of one call; every third one failed, and each took as many milliseconds as its number.
pub fn record(number: usize) -> Record {
    let failed = number.is_multiple_of(3);
    Record {
        at_ms: NOW,
        request_id: format!("req-{number}"),
        trace_id: number.is_multiple_of(2).then(|| format!("trace-{number}")),
        caller: "前台".to_owned(),
        channel: Channel::McpStdio,
        operation: "isphere_search_contacts".into(),
        effect: Some(Effect::Read),
        outcome: if failed { Ending::Error } else { Ending::Ok },
        code: failed.then(|| "SOURCE_UNAVAILABLE".into()),
        target: None,
        digest: None,
        duration_us: number as u64 * 1_000,
        detail: Some(r#"{"source":"mock","execution_mode":"preview"}"#.to_owned()),
    }
}

/// The records of these numbers.
pub fn records(numbers: std::ops::Range<usize>) -> Vec<Record> {
    numbers.map(record).collect()
}
