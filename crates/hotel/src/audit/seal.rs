//! Sealing: committed rows get their numbers in the trail, and a seal that chains them to all before.
//!
//! A row may be committed after rows with higher ids were sealed, so the trail's order is not that of the ids:
//! each batch of unsealed rows is numbered in id order, from where the last batch ended.
//!
//! A seal's `sha256` is the SHA-256 over these lines, each ended by a newline: the previous seal's `sha256`
//! ([`GENESIS`] for the first), then `POSITION DIGEST` for each row. Its `hmac` is the HMAC-SHA256 over
//! `seal`, `from_position`, `to_position`, `count`, `sha256`, `previous` and `sealed_at` in the same form.

use std::time::Duration;

use govern::audit::head::{GENESIS, Head};
use govern::clock::Clock;
use govern::hex::hex;
use govern::random::Random;
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::{AuditKey, Seal};
use crate::error::Error;
use crate::store::{Db, Lease, Transaction, boxed};

/// Most rows under one seal; bounds how long a seal keeps other writers waiting.
pub const MOST_ROWS: i64 = 2_000;

const EVERY: Duration = Duration::from_secs(1);
const LEASE: &str = "audit-sealer";
/// How long a sealer that died keeps the others from sealing, in milliseconds.
const LEASE_MS: i64 = 5_000;

/// Seals the trail of one database. Each server process has one; a lease lets one of them work at a time.
#[derive(Debug)]
pub struct Sealer {
    db: Db,
    key: AuditKey,
    clock: Clock,
    holder: String,
}

/// Ends a running sealer.
#[derive(Debug)]
pub struct SealerHandle {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Sealer {
    /// A sealer that is not running yet.
    pub fn new(db: Db, key: AuditKey, clock: Clock, random: &Random) -> Self {
        let mut name = [0; 8];
        random.fill(&mut name);
        Self { db, key, clock, holder: hex(&name) }
    }

    /// Seals each second, on the current runtime, until [`SealerHandle::shutdown`].
    pub fn start(self) -> SealerHandle {
        let (stop, stopped) = oneshot::channel();
        SealerHandle { stop, task: tokio::spawn(self.run(stopped)) }
    }

    /// Seals all committed rows, unless another sealer holds the lease; answers how many it sealed.
    ///
    /// With nothing to seal this is one indexed look-up and no write.
    pub async fn seal(&self) -> Result<i64, Error> {
        let mut sealed = 0;
        while self.has_work().await? {
            let batch = self.seal_batch().await?;
            sealed += batch;
            if batch < MOST_ROWS {
                break;
            }
        }
        Ok(sealed)
    }

    async fn has_work(&self) -> Result<bool, Error> {
        let read = self.db.read(|tx| {
            boxed(async move {
                let unsealed = tx.has_unsealed_audit_rows().await?;
                Ok(if unsealed { Some(tx.lease(LEASE).await?) } else { None })
            })
        });
        let now = self.clock.now_ms();
        let free = |lease: Lease| lease.holder == self.holder || lease.until <= now;
        Ok(read.await?.is_some_and(|lease| lease.is_none_or(free)))
    }

    async fn seal_batch(&self) -> Result<i64, Error> {
        let (key, holder, now) = (self.key.clone(), self.holder.clone(), self.clock.now_ms());
        let sealed = self.db.write(move |tx| {
            let (key, holder) = (key.clone(), holder.clone());
            boxed(async move {
                // The lease's row is locked until the commit, so nobody else can extend the chain meanwhile.
                if !tx.take_lease(LEASE, &holder, now, now + LEASE_MS).await? {
                    return Ok(0);
                }
                extend_chain(tx, &key, now).await
            })
        });
        sealed.await
    }

    async fn run(self, mut stopped: oneshot::Receiver<()>) {
        let mut beat = interval(EVERY);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut failing = false;
        loop {
            tokio::select! {
                _ = beat.tick() => {}
                // An error means that the handle was dropped, which ends the task as well.
                _ = &mut stopped => break,
            }
            failing = match self.seal().await {
                Ok(_) => false,
                Err(error) => {
                    // Once for a whole outage: the rows wait, and the next beat tries again.
                    if !failing {
                        tracing::error!(%error, "the audit trail is not being sealed");
                    }
                    true
                }
            };
        }
        if let Err(error) = self.finish().await {
            tracing::error!(%error, "the last audit rows were not sealed; the next start seals them");
        }
    }

    async fn finish(&self) -> Result<(), Error> {
        self.seal().await?;
        let holder = self.holder.clone();
        self.db
            .write(move |tx| {
                let holder = holder.clone();
                boxed(async move { tx.release_lease(LEASE, &holder).await })
            })
            .await
    }
}

impl SealerHandle {
    /// Seals what is committed and ends. Records that are still queued must have been flushed before.
    pub async fn shutdown(self) {
        // The task may have ended with its runtime; then the next start seals the rest.
        self.stop.send(()).ok();
        self.task.await.ok();
    }
}

/// Where the trail ends now.
pub async fn current_head(db: &Db) -> Result<Head, Error> {
    let last = db.read(|tx| boxed(tx.last_audit_seal())).await?;
    Ok(last.map_or_else(Head::genesis, |seal| Head { count: seal.to_position, digest: seal.sha256 }))
}

/// The digest that a seal's `sha256` holds, row by row.
#[derive(Debug)]
pub(super) struct Chain(Sha256);

impl Chain {
    pub(super) fn after(previous: &str) -> Self {
        Self(Sha256::new_with_prefix(format!("{previous}\n")))
    }

    pub(super) fn add(&mut self, position: i64, digest: &str) {
        self.0.update(format!("{position} {digest}\n"));
    }

    pub(super) fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

/// The `hmac` that a seal should have.
pub(super) fn authenticate(seal: &Seal, key: &AuditKey) -> String {
    let Seal { from_position, to_position, count, sha256, previous, hmac: _, sealed_at } = seal;
    let text = format!("seal\n{from_position}\n{to_position}\n{count}\n{sha256}\n{previous}\n{sealed_at}\n");
    key.authenticate(text.as_bytes())
}

/// Numbers and seals at most [`MOST_ROWS`] rows; answers how many.
async fn extend_chain(tx: &mut Transaction<'_>, key: &AuditKey, now: i64) -> Result<i64, Error> {
    let last = tx.last_audit_seal().await?;
    let (end, previous) = last.map_or((0, GENESIS.to_owned()), |seal| (seal.to_position, seal.sha256));
    let rows = tx.give_audit_positions(end, MOST_ROWS).await?;
    let (Some(first), Some(newest)) = (rows.first(), rows.last()) else { return Ok(0) };
    let mut chain = Chain::after(&previous);
    for row in &rows {
        chain.add(row.position, &row.digest);
    }
    let mut seal = Seal {
        from_position: first.position,
        to_position: newest.position,
        count: newest.position - end,
        sha256: chain.finish(),
        previous,
        hmac: String::new(),
        sealed_at: now,
    };
    seal.hmac = authenticate(&seal, key);
    tx.insert_audit_seal(&seal).await?;
    tx.count_sealed_calls(seal.from_position, seal.to_position).await?;
    Ok(seal.count)
}
