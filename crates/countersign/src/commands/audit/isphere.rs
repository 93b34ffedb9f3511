//! The trail of an iSphere state folder, which is in files.

use std::path::Path;

use isphere::audit::{
    entry::Entry,
    key::StateKey,
    read::{self, Statistics},
    verify::{Report, verify},
};

use super::{Action, STATISTICS, Verdict, Verify, milliseconds, print_head, print_rows};
use crate::{commands::CommandError, print};

/// Bytes that `audit export` prints at once.
const BLOCK: usize = 1 << 20;

pub(super) fn run(action: Action, dir: &Path) -> Result<(), CommandError> {
    let folder = read::find(dir)?;
    match action {
        Action::Verify(command) => check(&folder, dir, &command),
        Action::Head { json } => print_head(&read::head(&folder)?, json),
        Action::Tail { lines, json } => tail(&folder, lines, json),
        Action::Stats { json } => statistics(&folder, json),
        Action::Export => export(&folder),
    }
}

fn check(folder: &Path, dir: &Path, command: &Verify) -> Result<(), CommandError> {
    let key = if command.without_key { None } else { Some(load_key(folder, dir, command)?) };
    let report = verify(folder, key.as_ref(), command.head.as_ref())?;
    let Report { ok, records, first_bad, reason, head, torn_tail, key_checked } = report.clone();
    let torn = " and the beginning of one that a crash broke off or that is being written";
    let end = if torn_tail { torn.to_owned() } else { String::new() };
    Verdict { ok, records, first_bad, reason, head, key_checked, end }.print(&report, command.json)
}

fn load_key(folder: &Path, dir: &Path, command: &Verify) -> Result<StateKey, CommandError> {
    let state = if folder == dir { dir.join("..") } else { dir.to_owned() };
    let path = command.key.clone().unwrap_or_else(|| StateKey::path(&state));
    StateKey::load(&path)?.ok_or(CommandError::NoAuditKey(path))
}

fn tail(folder: &Path, lines: u32, json: bool) -> Result<(), CommandError> {
    let entries = read::tail(folder, usize::try_from(lines).unwrap_or(usize::MAX))?;
    let heading = ["TIME", "CALLER", "CHANNEL", "OPERATION", "OUTCOME", "CODE", "TARGET", "MS", "RECORD"];
    print_rows(&entries, json, heading, |Entry { place, event, .. }| {
        [
            event.at.clone(),
            event.caller.clone(),
            event.channel.clone(),
            event.operation.clone(),
            event.outcome.clone(),
            event.code.clone().unwrap_or_default(),
            event.target.clone().unwrap_or_default(),
            milliseconds(event.duration_us),
            place.seq.to_string(),
        ]
    })
}

fn statistics(folder: &Path, json: bool) -> Result<(), CommandError> {
    print_rows(&read::statistics(folder)?, json, STATISTICS, |row: &Statistics| {
        [
            row.operation.clone(),
            row.outcome.clone(),
            row.calls.to_string(),
            milliseconds(row.p50_us),
            milliseconds(row.p99_us),
        ]
    })
}

fn export(folder: &Path) -> Result<(), CommandError> {
    let mut block = Vec::new();
    read::export(folder, |line| {
        block.extend(line);
        block.push(b'\n');
        if block.len() < BLOCK {
            return Ok(());
        }
        let printed = print::bytes(&block);
        block.clear();
        printed.map_err(CommandError::from)
    })?;
    Ok(print::bytes(&block)?)
}
