//! `countersign audit …`: checks and reads an audit trail: the hotel's, which is in its database, or with `--dir` that
//! of an iSphere state folder, which is in files. No command here writes to one.

mod hotel;
mod isphere;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use govern::audit::head::Head;
use serde::Serialize;
use serde_json::json;

use super::CommandError;
use crate::{
    config::{Config, HotelFlags},
    print,
};

/// Check and read the audit trail
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign audit verify --db sqlite:countersign-data/hotel.db
         countersign audit verify --dir countersign-data/isphere")]
pub(crate) struct Audit {
    #[command(flatten)]
    pub(crate) flags: HotelFlags,
    /// The iSphere trail in this folder: the audit folder, or the state folder that has it
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "db")]
    dir: Option<PathBuf>,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Verify(Verify),
    /// Print the head of the trail: keep it elsewhere and give it to `audit verify --head` later
    #[command(after_help = "Example: countersign audit head >> /media/usb/heads")]
    Head {
        /// Print JSON: {"head", "count", "digest"}
        #[arg(long)]
        json: bool,
    },
    /// Show the last records, the oldest first
    #[command(after_help = "Example: countersign audit tail -n 50")]
    Tail {
        /// How many records
        #[arg(short = 'n', long, default_value_t = 20, value_name = "N")]
        lines: u32,
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Count calls and show their durations by operation and outcome
    #[command(after_help = "Example: countersign audit stats --json")]
    Stats {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Print all records as JSON, one a line: the hotel's in the order of their ids, those of a folder as they were written
    #[command(after_help = "Example: countersign audit export > audit.jsonl")]
    Export,
}

/// Check that the trail is as it was written; exits 1 when it is not
///
/// Finds and locates changed, removed, reordered and forged records and seals; with --head also whether the end
/// was cut off since that head was printed.
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign audit verify --head \"$(tail -n 1 /media/usb/heads)\" --json")]
struct Verify {
    /// A head that `audit head` printed earlier
    #[arg(long, value_name = "COUNT:DIGEST")]
    head: Option<Head>,
    /// The key file [default: audit.key beside the SQLite file or the audit folder; for PostgreSQL
    /// countersign-data/audit.key]
    #[arg(long, value_name = "FILE", conflicts_with = "without_key")]
    key: Option<PathBuf>,
    /// Check the order and the seals' chain only; changed and forged records are not noticed
    #[arg(long)]
    without_key: bool,
    /// Print JSON: {"ok", "records", "first_bad", "reason", "head", "key_checked"} and "unsealed", with --dir "torn_tail"
    #[arg(long)]
    json: bool,
}

impl Audit {
    pub(crate) async fn run(self, config: &Config) -> Result<(), CommandError> {
        match self.dir {
            Some(dir) => isphere::run(self.action, &dir),
            None => hotel::run(self.action, &config.hotel.db).await,
        }
    }
}

/// What both trails tell of a check.
struct Verdict {
    ok: bool,
    records: i64,
    first_bad: Option<i64>,
    reason: Option<String>,
    head: String,
    key_checked: bool,
    /// What to say of the end of a good trail, after the number of records.
    end: String,
}

impl Verdict {
    /// Prints the report as JSON, or a sentence; fails when the trail is not good.
    fn print(&self, report: &impl Serialize, json: bool) -> Result<(), CommandError> {
        if json {
            print::json(report)?;
        } else {
            print::line(&print::one_line(&self.sentence()))?;
        }
        if self.ok { Ok(()) } else { Err(CommandError::TrailAltered) }
    }

    fn sentence(&self) -> String {
        let Self { ok, records, first_bad, reason, head, key_checked, end } = self;
        let place = first_bad.map(|number| format!(" at record {number}")).unwrap_or_default();
        match (ok, key_checked) {
            (true, true) => format!("ok: {records} records{end}, head {head}"),
            (true, false) => {
                format!("ok as far as it was checked, without the key: {records} records, head {head}")
            }
            (false, _) => {
                format!("NOT ok{place}: {}; good up to head {head}", reason.as_deref().unwrap_or_default())
            }
        }
    }
}

fn print_head(head: &Head, json: bool) -> Result<(), CommandError> {
    let text = head.to_string();
    Ok(if json {
        print::json(&json!({"head": text, "count": head.count, "digest": head.digest}))
    } else {
        print::line(&text)
    }?)
}

/// Prints rows as JSON, or as a table of the cells that each row gives.
fn print_rows<T: Serialize, const N: usize>(
    rows: &[T],
    json: bool,
    heading: [&str; N],
    cells: impl Fn(&T) -> [String; N],
) -> Result<(), CommandError> {
    if json {
        return Ok(print::json(&rows)?);
    }
    Ok(print::table(heading, &rows.iter().map(cells).collect::<Vec<_>>())?)
}

const STATISTICS: [&str; 5] = ["OPERATION", "OUTCOME", "CALLS", "P50 MS", "P99 MS"];

fn milliseconds(microseconds: u64) -> String {
    format!("{}.{:03}", microseconds / 1_000, microseconds % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict() -> Verdict {
        Verdict {
            ok: true,
            records: 12,
            first_bad: None,
            reason: None,
            head: "10:ab".to_owned(),
            key_checked: true,
            end: ", 2 of them not sealed yet".to_owned(),
        }
    }

    #[test]
    fn a_good_trail_is_told_in_one_line() {
        assert_eq!(verdict().sentence(), "ok: 12 records, 2 of them not sealed yet, head 10:ab");
    }

    #[test]
    fn a_bad_trail_is_told_with_the_place_and_the_reason() {
        let reason = Some("record 11 is missing".to_owned());
        let bad = Verdict { ok: false, first_bad: Some(11), reason, ..verdict() };
        assert_eq!(bad.sentence(), "NOT ok at record 11: record 11 is missing; good up to head 10:ab");
    }

    #[test]
    fn a_check_without_the_key_does_not_pass_for_a_full_one() {
        let partial = Verdict { key_checked: false, ..verdict() };
        assert!(partial.sentence().starts_with("ok as far as it was checked, without the key"));
    }
}
