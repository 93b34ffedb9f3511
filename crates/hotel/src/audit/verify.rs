//! Verifying: walks seals and rows side by side, in pages, and stops at the first that is not as it was written.

use std::collections::VecDeque;

use govern::audit::head::Head;
use serde::Serialize;

use super::seal::{Chain, MOST_ROWS, authenticate};
use super::{AuditKey, AuditRow, Seal};
use crate::error::Error;
use crate::store::{Db, MaybeDamaged, Transaction, boxed};

/// What verifying found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether the trail is as it was written.
    pub ok: bool,
    /// Rows found good: those under good seals and, when all is good, the unsealed ones.
    pub records: i64,
    /// The number (from 1) of the first bad record: its position or, for an unsealed one, its place after the
    /// sealed ones. Where only a whole seal can be told, its first record. None when no record is at fault.
    pub first_bad: Option<i64>,
    /// What is wrong there.
    pub reason: Option<String>,
    /// `COUNT:DIGEST` of the last good seal.
    pub head: String,
    /// How many of `records` wait for their seal. Until it comes, the removal of such a row goes unnoticed.
    pub unsealed: i64,
    /// Whether digests were checked with the key. Without it neither a changed nor a forged row is noticed.
    pub key_checked: bool,
}

/// Verifies a database's trail as it stands at one moment; rows may be added and sealed meanwhile.
///
/// With `head`, also that the trail still holds all that it held when that head was printed. Memory use does
/// not grow with the trail.
pub async fn verify(db: &Db, key: Option<&AuditKey>, head: Option<&Head>) -> Result<Report, Error> {
    let (key, head) = (key.cloned(), head.cloned());
    db.read(move |tx| boxed(async move { report(tx, key.as_ref(), head.as_ref()).await })).await
}

/// Verifies the end of a trail: at least the last `records` sealed rows from the seal on that covers the first of
/// them, and as many that wait for their seal. `records` of the report counts those that were looked at.
///
/// The seal that it begins at is believed for what came before, as far as the key vouches for it.
pub async fn verify_tail(tx: &mut Transaction<'_>, key: &AuditKey, records: i64) -> Result<Report, Error> {
    let end = match tx.newest_audit_seal().await? {
        Some(MaybeDamaged(Ok(newest))) => {
            let first = newest.to_position.saturating_sub(records - 1);
            tx.audit_seal_reaching(first).await?
        }
        other => other,
    };
    let before = match end {
        None => Head::genesis(),
        Some(MaybeDamaged(Ok(first))) => Head { count: first.from_position - 1, digest: first.previous },
        Some(MaybeDamaged(Err(why))) => {
            let stop = Stop::Fault { at: None, reason: format!("a seal cannot be read: {why}") };
            return Walk::after(tx, Some(key), Head::genesis()).report(Err(stop));
        }
    };
    let begin = before.count;
    let mut walk = Walk::after(tx, Some(key), before);
    walk.most_unsealed = records;
    let result = walk.all(None).await;
    let mut report = walk.report(result)?;
    report.records -= begin;
    Ok(report)
}

/// The seal over a position, when it and the rows under it are as they were written; else what is wrong with them.
/// None when no seal covers the position.
pub async fn verify_seal_of(
    tx: &mut Transaction<'_>,
    key: &AuditKey,
    position: i64,
) -> Result<Option<Result<Seal, String>>, Error> {
    let Some(MaybeDamaged(found)) = tx.audit_seal_reaching(position).await? else { return Ok(None) };
    let seal = match found {
        Ok(seal) if seal.from_position <= position => seal,
        Ok(_) => return Ok(None),
        Err(why) => return Ok(Some(Err(format!("the seal cannot be read: {why}")))),
    };
    let before = Head { count: seal.from_position - 1, digest: seal.previous.clone() };
    let mut walk = Walk::after(tx, Some(key), before);
    match walk.pass(MaybeDamaged(Ok(seal))).await {
        Ok(seal) => Ok(Some(Ok(seal))),
        Err(Stop::Fault { reason, .. }) => Ok(Some(Err(reason))),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// Rows or seals read at once.
const PAGE: i64 = 1_000;

/// What ends a walk early.
enum Stop {
    /// Something is not as it was written.
    Fault {
        at: Option<i64>,
        reason: String,
    },
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

fn fault<T>(at: i64, reason: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Fault { at: Some(at), reason: reason.into() })
}

async fn report(
    tx: &mut Transaction<'_>,
    key: Option<&AuditKey>,
    head: Option<&Head>,
) -> Result<Report, Error> {
    let mut walk = Walk::after(tx, key, Head::genesis());
    // What was put before the first record is looked at as well.
    (walk.seals.next, walk.rows.next) = (Some(i64::MIN), Some((i64::MIN, i64::MIN)));
    let result = walk.all(head).await;
    walk.report(result)
}

struct Walk<'w, 'c> {
    tx: &'w mut Transaction<'c>,
    key: Option<&'w AuditKey>,
    seals: Pages<Seal, i64>,
    rows: Pages<AuditRow, (i64, i64)>,
    /// Where the last good seal ends.
    end: Head,
    /// Good rows without a seal.
    unsealed: i64,
    /// How many of those are looked at; up to a page more may be.
    most_unsealed: i64,
}

impl<'w, 'c> Walk<'w, 'c> {
    /// A walk over what comes after a head.
    fn after(tx: &'w mut Transaction<'c>, key: Option<&'w AuditKey>, end: Head) -> Self {
        let next = end.count + 1;
        let seals = Pages { waiting: VecDeque::new(), next: Some(next) };
        let rows = Pages { waiting: VecDeque::new(), next: Some((next, i64::MIN)) };
        Self { tx, key, seals, rows, end, unsealed: 0, most_unsealed: i64::MAX }
    }

    fn report(&self, result: Result<(), Stop>) -> Result<Report, Error> {
        let (first_bad, reason) = match result {
            Ok(()) => (None, None),
            Err(Stop::Fault { at, reason }) => (at, Some(reason)),
            Err(Stop::Failed(error)) => return Err(error),
        };
        Ok(Report {
            ok: reason.is_none(),
            records: self.end.count + self.unsealed,
            first_bad,
            reason,
            head: self.end.to_string(),
            unsealed: self.unsealed,
            key_checked: self.key.is_some(),
        })
    }

    async fn all(&mut self, head: Option<&Head>) -> Result<(), Stop> {
        self.check_fingerprint().await?;
        while let Some(seal) = self.next_seal().await? {
            let Seal { from_position: from, to_position: to, .. } = self.pass(seal).await?;
            if let Some(head) = head
                && (from..=to).contains(&head.count)
                && *head != self.end
            {
                return fault(head.count, "up to here this is not the trail that the head was taken from");
            }
        }
        let next = self.end.count + 1;
        match self.next_row().await?.map(|row| row.0) {
            Some(Ok(row)) => {
                return fault(next, format!("{} has a position that no seal covers", name(&row)));
            }
            Some(Err(why)) => {
                return fault(next, format!("the row after the last seal cannot be read: {why}"));
            }
            None => {}
        }
        if let Some(head) = head.filter(|head| head.count > self.end.count) {
            return fault(next, format!("records {next} to {} are missing: the end was cut off", head.count));
        }
        self.check_unsealed_rows().await
    }

    /// Goes on to the end of a good seal.
    async fn pass(&mut self, seal: MaybeDamaged<Seal>) -> Result<Seal, Stop> {
        let seal = self.check_seal(seal)?;
        self.check_rows_of(&seal).await?;
        self.end = Head { count: seal.to_position, digest: seal.sha256.clone() };
        Ok(seal)
    }

    async fn check_fingerprint(&mut self) -> Result<(), Stop> {
        let Some(key) = self.key else { return Ok(()) };
        match self.tx.audit_key_fingerprint().await? {
            Some(kept) if kept != key.fingerprint() => Err(Stop::Fault {
                at: None,
                reason:
                    "the key is not the one whose fingerprint the database keeps; use the right key file, or \
                         find out who changed the fingerprint"
                        .to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// The seal, if it is the one that follows and nobody without the key made or changed it.
    fn check_seal(&self, seal: MaybeDamaged<Seal>) -> Result<Seal, Stop> {
        let next = self.end.count + 1;
        let seal = match seal.0 {
            Ok(seal) => seal,
            Err(why) => return fault(next, format!("the seal from record {next} on cannot be read: {why}")),
        };
        let Seal { from_position: from, to_position: to, count, .. } = seal;
        let what = format!("the seal of records {from} to {to}");
        if self.key.is_some_and(|key| authenticate(&seal, key) != seal.hmac) {
            return fault(next, format!("{what} was changed, or made without the key"));
        }
        if from > next {
            return fault(next, format!("the seal of records {next} to {} is missing", from - 1));
        }
        // The bound keeps a seal that was made without the key from filling the memory.
        let fits =
            from == next && (1..=MOST_ROWS).contains(&count) && from.checked_add(count - 1) == Some(to);
        if !fits || seal.previous != self.end.digest {
            return fault(next, format!("{what} does not continue the one before it"));
        }
        Ok(seal)
    }

    async fn check_rows_of(&mut self, seal: &Seal) -> Result<(), Stop> {
        let mut chain = Chain::after(&seal.previous);
        let mut ids = Vec::new();
        for position in seal.from_position..=seal.to_position {
            let row = match self.next_row().await?.map(|row| row.0) {
                Some(Ok(row)) => row,
                Some(Err(why)) => return fault(position, format!("record {position} cannot be read: {why}")),
                None => return fault(position, format!("record {position} is missing")),
            };
            match row.position {
                Some(found) if found == position => {}
                Some(found) if found < position => {
                    return fault(position, format!("{} was put at position {found}", name(&row)));
                }
                _ => return fault(position, format!("record {position} is missing")),
            }
            self.check_digest(position, &row)?;
            chain.add(position, &row.digest);
            ids.push(row.event.audit_id);
        }
        if chain.finish() == seal.sha256 { Ok(()) } else { misplaced(seal, &ids) }
    }

    async fn check_unsealed_rows(&mut self) -> Result<(), Stop> {
        let mut pages = Pages { waiting: VecDeque::new(), next: Some(i64::MIN) };
        while let Some(from) = pages.next.filter(|_| self.unsealed < self.most_unsealed) {
            let page = self.tx.unsealed_audit_rows(from, PAGE).await?;
            pages.fill(page, |row: &AuditRow| row.event.audit_id.saturating_add(1));
            for row in pages.waiting.drain(..) {
                let place = self.end.count + self.unsealed + 1;
                match row.0 {
                    Ok(row) => self.check_digest(place, &row)?,
                    Err(why) => return fault(place, format!("an unsealed row cannot be read: {why}")),
                }
                self.unsealed += 1;
            }
        }
        Ok(())
    }

    fn check_digest(&self, at: i64, row: &AuditRow) -> Result<(), Stop> {
        if self.key.is_some_and(|key| key.digest(&row.event) != row.digest) {
            return fault(at, format!("{} was changed, or made without the key", name(row)));
        }
        Ok(())
    }

    async fn next_seal(&mut self) -> Result<Option<MaybeDamaged<Seal>>, Error> {
        if let Some(from) = self.seals.exhausted() {
            let page = self.tx.audit_seals(from, PAGE).await?;
            self.seals.fill(page, |seal| seal.from_position.saturating_add(1));
        }
        Ok(self.seals.waiting.pop_front())
    }

    async fn next_row(&mut self) -> Result<Option<MaybeDamaged<AuditRow>>, Error> {
        if let Some(from) = self.rows.exhausted() {
            let page = self.tx.sealed_audit_rows(from, PAGE).await?;
            let after =
                |row: &AuditRow| (row.position.unwrap_or(i64::MAX), row.event.audit_id.saturating_add(1));
            self.rows.fill(page, after);
        }
        Ok(self.rows.waiting.pop_front())
    }
}

/// Tells where the rows under a seal, each good by itself, are not those that were sealed.
fn misplaced(seal: &Seal, ids: &[i64]) -> Result<(), Stop> {
    let (from, to) = (seal.from_position, seal.to_position);
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    // Rows are sealed in id order, so the first that is out of order is the first that was moved.
    match (from..).zip(ids.iter().zip(&sorted)).find(|(_, (id, in_order))| id != in_order) {
        Some((position, _)) => fault(position, format!("record {position} is not in its place")),
        None => fault(from, format!("records {from} to {to} are not those that were sealed")),
    }
}

fn name(row: &AuditRow) -> String {
    format!("row audit_id {}", row.event.audit_id)
}

/// What was read and not checked yet, and the key at which to read on; none after the last page.
struct Pages<T, K> {
    waiting: VecDeque<MaybeDamaged<T>>,
    next: Option<K>,
}

impl<T, K: Copy> Pages<T, K> {
    /// Where to read on, when nothing waits and there may be more.
    fn exhausted(&self) -> Option<K> {
        self.next.filter(|_| self.waiting.is_empty())
    }

    fn fill(&mut self, page: Vec<MaybeDamaged<T>>, key_after: impl Fn(&T) -> K) {
        let full = i64::try_from(page.len()).is_ok_and(|length| length >= PAGE);
        // A damaged row ends the walk, so nothing is read after it.
        self.next = page.last().filter(|_| full).and_then(|row| row.0.as_ref().ok()).map(key_after);
        self.waiting.extend(page);
    }
}
