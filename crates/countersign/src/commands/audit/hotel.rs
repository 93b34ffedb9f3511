//! The hotel's trail, which is in its database.

use std::path::Path;

use hotel::{
    audit::{
        AuditKey, AuditRow, AuditStatistics, default_key_path,
        seal::current_head,
        verify::{Report, verify},
    },
    store::{Db, boxed},
};

use super::{Action, STATISTICS, Verdict, Verify, milliseconds, print_head, print_rows};
use crate::{commands::CommandError, halves::hotel::DATA_FOLDER, print};

/// Rows that `audit export` reads at once.
const PAGE: i64 = 1_000;

pub(super) async fn run(action: Action, url: &str) -> Result<(), CommandError> {
    let db = Db::open_existing(url).await?.ok_or_else(|| CommandError::NoDatabase(url.to_owned()))?;
    let ended = match action {
        Action::Verify(command) => check(&db, &command).await,
        Action::Head { json } => head(&db, json).await,
        Action::Tail { lines, json } => tail(&db, lines, json).await,
        Action::Stats { json } => statistics(&db, json).await,
        Action::Export => export(&db).await,
    };
    db.close().await;
    ended
}

async fn check(db: &Db, command: &Verify) -> Result<(), CommandError> {
    let key = if command.without_key { None } else { Some(load_key(db, command)?) };
    let report = verify(db, key.as_ref(), command.head.as_ref()).await?;
    let Report { ok, records, first_bad, reason, head, unsealed, key_checked } = report.clone();
    let end = format!(", {unsealed} of them not sealed yet");
    Verdict { ok, records, first_bad, reason, head, key_checked, end }.print(&report, command.json)
}

fn load_key(db: &Db, command: &Verify) -> Result<AuditKey, CommandError> {
    let path = command.key.clone().unwrap_or_else(|| default_key_path(db, Path::new(DATA_FOLDER)));
    AuditKey::load(&path)?.ok_or(CommandError::NoAuditKey(path))
}

async fn head(db: &Db, json: bool) -> Result<(), CommandError> {
    print_head(&current_head(db).await?, json)
}

async fn tail(db: &Db, lines: u32, json: bool) -> Result<(), CommandError> {
    let rows = db.read(|tx| boxed(tx.audit_tail(lines.into()))).await?;
    let heading = ["TIME", "CALLER", "CHANNEL", "OPERATION", "OUTCOME", "CODE", "TARGET", "MS", "SEALED AS"];
    print_rows(&rows, json, heading, |row: &AuditRow| {
        let event = &row.event;
        [
            govern::time::iso(event.at),
            event.caller.clone(),
            event.channel.clone(),
            event.operation.clone(),
            event.outcome.clone(),
            event.code.clone().unwrap_or_default(),
            event.target.clone().unwrap_or_default(),
            milliseconds(event.duration_us.unsigned_abs()),
            row.position.map_or_else(|| "–".to_owned(), |position| position.to_string()),
        ]
    })
}

async fn statistics(db: &Db, json: bool) -> Result<(), CommandError> {
    let statistics = db.read(|tx| boxed(tx.audit_statistics())).await?;
    print_rows(&statistics, json, STATISTICS, |row: &AuditStatistics| {
        [
            row.operation.clone(),
            row.outcome.clone(),
            row.calls.to_string(),
            milliseconds(row.p50_us.unsigned_abs()),
            milliseconds(row.p99_us.unsigned_abs()),
        ]
    })
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
