//! The audit trail as an administrator searches it: who did what to what, and whether it still says what was written.

use super::Hotel;
use crate::audit::verify::{Report, verify_seal_of, verify_tail};
use crate::audit::{AuditRow, Seal};
use crate::domain::local_time;
use crate::error::{Error, Fault};
use crate::store::trail::{Shared, TrailFilter, TrailPlace};
use crate::store::{MaybeDamaged, boxed};

/// Records on a page.
const RECORDS: i64 = 50;
/// Records that one search looks at, at most.
pub const SEARCHED: i64 = 20_000;
/// Sealed records that are verified each time the trail is opened, at least; a seal is verified whole.
pub const VERIFIED: i64 = 1_000;
/// How far records without a seal are counted.
pub const MOST_UNSEALED: i64 = 10_000;
/// Operations that a filter offers, and within how many hours they were in use; more hours would keep the page waiting.
const OPERATIONS: (i64, i64) = (200, 24);

const HOUR: i64 = 3_600_000;
const MINUTE: i64 = 60_000;

/// Which records a person wants to see; an empty text leaves a condition out.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The first minute, `2026-11-30T16:00` in the hotel's time.
    pub from: String,
    /// The last minute.
    pub to: String,
    /// The token's or the person's name.
    pub caller: String,
    /// The tool, route, page or command.
    pub operation: String,
    /// ok, error or refused.
    pub outcome: String,
    /// The error code.
    pub code: String,
    /// mcp-http, mcp-stdio, rest, cli or console.
    pub channel: String,
    /// The object it was about, as `task:7`.
    pub target: String,
    /// Our id of the call.
    pub request_id: String,
    /// `next` of the page before.
    pub before: String,
}

/// Some records, the newest first, and how the trail stands.
#[derive(Debug, Clone)]
pub struct Trail {
    /// The state of the chain.
    pub chain: Chain,
    /// The records.
    pub entries: Vec<Entry>,
    /// How many records of this page the database holds in a form that this program does not write.
    pub unreadable: usize,
    /// Leads to older ones, when there may be any.
    pub next: Option<String>,
    /// Back to when the search went, when it stopped at [`SEARCHED`] records. Unix milliseconds.
    pub stopped_at: Option<i64>,
    /// What a filter offers.
    pub operations: Vec<String>,
}

/// How far the trail is sealed, and whether its end is as it was written.
#[derive(Debug, Clone)]
pub struct Chain {
    /// The last seal, when it can be read.
    pub last: Option<Seal>,
    /// How many records wait for their seal, up to [`MOST_UNSEALED`].
    pub unsealed: i64,
    /// What verifying the end of the trail found just now.
    pub tail: Report,
}

/// A record and whether it is as it was written.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The record.
    pub row: AuditRow,
    /// Whether its digest is the one that the key gives.
    pub is_intact: bool,
}

/// One record, whole.
#[derive(Debug, Clone)]
pub struct Whole {
    /// The record.
    pub entry: Entry,
    /// The seal over it.
    pub seal: Covering,
    /// What it was about, when that has a page.
    pub subject: Option<Subject>,
    /// The records of the same call before and after it.
    pub same_request: (Option<i64>, Option<i64>),
    /// The records about the same object before and after it.
    pub same_target: (Option<i64>, Option<i64>),
}

/// The seal over a record.
#[derive(Debug, Clone)]
pub enum Covering {
    /// The record waits for it.
    NotYet,
    /// The seal and all records under it are as they were written.
    Good(Seal),
    /// They are not, for this reason.
    Broken(String),
}

/// What a record can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A task.
    Task(i64),
    /// An order.
    Order(i64),
    /// A message.
    Message(i64),
}

/// The records that are wanted, and how the trail stands.
pub async fn trail(hotel: &Hotel, wanted: &Wanted) -> Result<Trail, Error> {
    let from = minute(&wanted.from, "from")?.unwrap_or(i64::MIN);
    let latest = minute(&wanted.to, "to")?.map(|last| last.saturating_add(MINUTE - 1));
    let end = TrailPlace { at: latest.unwrap_or(i64::MAX), ..TrailPlace::END };
    let place = place(&wanted.before).unwrap_or(end);
    let filter = TrailFilter {
        from,
        caller: wanted.caller.clone(),
        operation: wanted.operation.clone(),
        outcome: wanted.outcome.clone(),
        code: wanted.code.clone(),
        channel: wanted.channel.clone(),
        target: wanted.target.clone(),
        request_id: wanted.request_id.clone(),
    };
    let since = hotel.clock.now_ms() / HOUR - OPERATIONS.1;
    let key = hotel.audit_key.clone();
    let (chain, mut rows, stopped, operations) = hotel
        .db
        .read(|tx| {
            boxed(async move {
                let last = tx.newest_audit_seal().await?.and_then(|seal| seal.0.ok());
                let unsealed = tx.count_unsealed_audit_rows(MOST_UNSEALED).await?;
                let tail = verify_tail(tx, &key, VERIFIED).await?;
                let chain = Chain { last, unsealed, tail };
                let rows = tx.search_trail(&filter, place, SEARCHED, RECORDS + 1).await?;
                let full = i64::try_from(rows.len()).is_ok_and(|count| count > RECORDS);
                let stopped = if full { None } else { tx.end_of_search(&filter, place, SEARCHED).await? };
                Ok((chain, rows, stopped, tx.counted_operations(since, OPERATIONS.0).await?))
            })
        })
        .await?;
    let most = usize::try_from(RECORDS).unwrap_or(0);
    let full = rows.len() > most;
    rows.truncate(most);
    let read = rows.len();
    let entries: Vec<Entry> =
        rows.into_iter().filter_map(|row| row.0.ok()).map(|row| Entry::new(hotel, row)).collect();
    let last = entries.last().filter(|_| full).map(|entry| TrailPlace::of(&entry.row));
    Ok(Trail {
        chain,
        unreadable: read - entries.len(),
        next: last.or(stopped).map(|place| format!("{}.{}", place.at, place.audit_id)),
        stopped_at: stopped.map(|place| place.at),
        operations: operations.into_iter().filter(|name| name != "unknown").collect(),
        entries,
    })
}

/// One record with its seal, and those beside it.
pub async fn record(hotel: &Hotel, audit_id: i64) -> Result<Whole, Error> {
    let key = hotel.audit_key.clone();
    let (row, seal, same_request, same_target) = hotel
        .db
        .read(|tx| {
            boxed(async move {
                let row = match tx.audit_row(audit_id).await? {
                    Some(MaybeDamaged(Ok(row))) => row,
                    Some(MaybeDamaged(Err(why))) => {
                        tracing::error!(audit_id, why, "a record of the trail cannot be read");
                        return Err(Error::RecordUnreadable(audit_id));
                    }
                    None => return Err(Error::RecordNotFound(audit_id)),
                };
                let seal = match row.position {
                    None => Covering::NotYet,
                    Some(position) => match verify_seal_of(tx, &key, position).await? {
                        Some(Ok(seal)) => Covering::Good(seal),
                        Some(Err(reason)) => Covering::Broken(reason),
                        None => Covering::Broken(format!("no seal covers record {position}")),
                    },
                };
                let place = TrailPlace::of(&row);
                let same_request = tx.beside(Shared::Request, &row.event.request_id, place).await?;
                let same_target = match &row.event.target {
                    Some(target) => tx.beside(Shared::Target, target, place).await?,
                    None => (None, None),
                };
                Ok((row, seal, same_request, same_target))
            })
        })
        .await?;
    let subject = row.event.target.as_deref().and_then(Subject::parse);
    Ok(Whole { entry: Entry::new(hotel, row), seal, subject, same_request, same_target })
}

impl Entry {
    fn new(hotel: &Hotel, row: AuditRow) -> Self {
        let is_intact = hotel.audit_key.digest(&row.event) == row.digest;
        Self { row, is_intact }
    }
}

impl Subject {
    /// Reads a target of the trail: `task:7`, `ORDER:7`, `message:7`, or the path of a page about one of them.
    fn parse(target: &str) -> Option<Self> {
        let (kind, id) = match target.strip_prefix("/console/") {
            Some(path) => path.split_once('/')?,
            None => target.split_once(':')?,
        };
        let id = id.split('/').next()?.parse().ok().filter(|id| *id > 0)?;
        match kind {
            "task" | "tasks" => Some(Self::Task(id)),
            "ORDER" | "order" | "orders" => Some(Self::Order(id)),
            "message" | "messages" => Some(Self::Message(id)),
            _ => None,
        }
    }
}

/// The moment at which a minute begins; none for an empty text.
fn minute(text: &str, name: &str) -> Result<Option<i64>, Error> {
    if text.is_empty() {
        return Ok(None);
    }
    let expected = "a date and a minute, as 2026-11-30T16:00".to_owned();
    let fault = Fault { path: name.to_owned(), code: "INVALID_VALUE", expected };
    local_time::parse_minute(text).map(Some).ok_or(Error::InvalidArgument(fault))
}

/// A place as text; what is none is no place.
fn place(text: &str) -> Option<TrailPlace> {
    let (at, audit_id) = text.split_once('.')?;
    Some(TrailPlace { at: at.parse().ok()?, audit_id: audit_id.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_leads_to_what_it_is_about() {
        for (target, subject) in [
            ("task:7", Some(Subject::Task(7))),
            ("/console/tasks/7", Some(Subject::Task(7))),
            ("/console/tasks/7/undo", Some(Subject::Task(7))),
            ("ORDER:12", Some(Subject::Order(12))),
            ("message:3", Some(Subject::Message(3))),
            ("/console/messages/3/body", Some(Subject::Message(3))),
            ("/console/tasks", None),
            ("task:-7", None),
            ("task:7;x", None),
            ("user:7", None),
            ("", None),
        ] {
            assert_eq!(Subject::parse(target), subject, "{target}");
        }
    }

    #[test]
    fn a_place_that_is_none_is_no_place() {
        assert_eq!(place("5.7"), Some(TrailPlace { at: 5, audit_id: 7 }));
        for bad in ["", "5", "5.x", "5.7.9", "99999999999999999999.1"] {
            assert_eq!(place(bad), None, "{bad}");
        }
    }
}
