//! `countersign audit …`: checks and reads the hotel's audit trail. No command here writes to it.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use govern::audit::head::Head;
use hotel::{
    audit::{
        AuditKey, AuditRow, AuditStatistics, default_key_path,
        verify::{Report, verify},
    },
    store::{Db, boxed},
};
use serde_json::json;

use super::CommandError;
use crate::{
    config::{Config, HotelFlags},
    halves::hotel::DATA_FOLDER,
    print,
};

/// Rows that `audit export` reads at once.
const PAGE: i64 = 1_000;

/// Check and read the audit trail
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign audit verify --db sqlite:countersign-data/hotel.db")]
pub(crate) struct Audit {
    #[command(flatten)]
    pub(crate) flags: HotelFlags,
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
    /// Print all records as JSON, one a line, in the order of their ids
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
    /// The key file [default: audit.key beside the SQLite file; for PostgreSQL countersign-data/audit.key]
    #[arg(long, value_name = "FILE", conflicts_with = "without_key")]
    key: Option<PathBuf>,
    /// Check the order and the seals' chain only; changed and forged records are not noticed
    #[arg(long)]
    without_key: bool,
    /// Print JSON: {"ok", "records", "first_bad", "reason", "head", "unsealed", "key_checked"}
    #[arg(long)]
    json: bool,
}

impl Audit {
    pub(crate) async fn run(self, config: &Config) -> Result<(), CommandError> {
        let url = &config.hotel.db;
        let db = Db::open_existing(url).await?.ok_or_else(|| CommandError::NoDatabase(url.clone()))?;
        let ended = match self.action {
            Action::Verify(command) => command.run(&db).await,
            Action::Head { json } => head(&db, json).await,
            Action::Tail { lines, json } => tail(&db, lines, json).await,
            Action::Stats { json } => statistics(&db, json).await,
            Action::Export => export(&db).await,
        };
        db.close().await;
        ended
    }
}

impl Verify {
    async fn run(self, db: &Db) -> Result<(), CommandError> {
        let key = if self.without_key { None } else { Some(self.load_key(db)?) };
        let report = verify(db, key.as_ref(), self.head.as_ref()).await?;
        if self.json {
            print::json(&report)?;
        } else {
            print::line(&print::one_line(&sentence(&report)))?;
        }
        if report.ok { Ok(()) } else { Err(CommandError::TrailAltered) }
    }

    fn load_key(&self, db: &Db) -> Result<AuditKey, CommandError> {
        let path = self.key.clone().unwrap_or_else(|| default_key_path(db, Path::new(DATA_FOLDER)));
        AuditKey::load(&path)?.ok_or(CommandError::NoAuditKey(path))
    }
}

fn sentence(report: &Report) -> String {
    let Report { ok, records, first_bad, reason, head, unsealed, key_checked } = report;
    let place = first_bad.map(|number| format!(" at record {number}")).unwrap_or_default();
    match (ok, key_checked) {
        (true, true) => format!("ok: {records} records, {unsealed} of them not sealed yet, head {head}"),
        (true, false) => {
            format!("ok as far as it was checked, without the key: {records} records, head {head}")
        }
        (false, _) => {
            format!("NOT ok{place}: {}; good up to head {head}", reason.as_deref().unwrap_or_default())
        }
    }
}

async fn head(db: &Db, json: bool) -> Result<(), CommandError> {
    let head = Head::current(db).await?;
    let text = head.to_string();
    Ok(if json {
        print::json(&json!({"head": text, "count": head.count, "digest": head.digest}))
    } else {
        print::line(&text)
    }?)
}

async fn tail(db: &Db, lines: u32, json: bool) -> Result<(), CommandError> {
    let rows = db.read(|tx| boxed(tx.audit_tail(lines.into()))).await?;
    if json {
        return Ok(print::json(&rows)?);
    }
    let cells = |row: &AuditRow| {
        let event = &row.event;
        [
            govern::time::iso(event.at),
            event.caller.clone(),
            event.channel.clone(),
            event.operation.clone(),
            event.outcome.clone(),
            event.code.clone().unwrap_or_default(),
            event.target.clone().unwrap_or_default(),
            milliseconds(event.duration_us),
            row.position.map_or_else(|| "–".to_owned(), |position| position.to_string()),
        ]
    };
    let heading = ["TIME", "CALLER", "CHANNEL", "OPERATION", "OUTCOME", "CODE", "TARGET", "MS", "SEALED AS"];
    Ok(print::table(heading, &rows.iter().map(cells).collect::<Vec<_>>())?)
}

async fn statistics(db: &Db, json: bool) -> Result<(), CommandError> {
    let statistics = db.read(|tx| boxed(tx.audit_statistics())).await?;
    if json {
        return Ok(print::json(&statistics)?);
    }
    let cells = |row: &AuditStatistics| {
        [
            row.operation.clone(),
            row.outcome.clone(),
            row.calls.to_string(),
            milliseconds(row.p50_us),
            milliseconds(row.p99_us),
        ]
    };
    let heading = ["OPERATION", "OUTCOME", "CALLS", "P50 MS", "P99 MS"];
    Ok(print::table(heading, &statistics.iter().map(cells).collect::<Vec<_>>())?)
}

async fn export(db: &Db) -> Result<(), CommandError> {
    let mut from = i64::MIN;
    loop {
        let rows = db.read(move |tx| boxed(tx.audit_rows(from, PAGE))).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        from = last.event.audit_id + 1;
        let lines: Result<Vec<String>, _> = rows.iter().map(serde_json::to_string).collect();
        print::line(&lines.map_err(hotel::Error::from)?.join("\n"))?;
    }
}

fn milliseconds(microseconds: i64) -> String {
    format!("{}.{:03}", microseconds / 1_000, microseconds % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            ok: true,
            records: 12,
            first_bad: None,
            reason: None,
            head: "10:ab".to_owned(),
            unsealed: 2,
            key_checked: true,
        }
    }

    #[test]
    fn a_good_trail_is_told_in_one_line() {
        assert_eq!(sentence(&report()), "ok: 12 records, 2 of them not sealed yet, head 10:ab");
    }

    #[test]
    fn a_bad_trail_is_told_with_the_place_and_the_reason() {
        let bad = Report {
            ok: false,
            first_bad: Some(11),
            reason: Some("record 11 is missing".to_owned()),
            ..report()
        };
        assert_eq!(sentence(&bad), "NOT ok at record 11: record 11 is missing; good up to head 10:ab");
    }

    #[test]
    fn a_check_without_the_key_does_not_pass_for_a_full_one() {
        let partial = Report { key_checked: false, ..report() };
        assert!(sentence(&partial).starts_with("ok as far as it was checked, without the key"));
    }
}
