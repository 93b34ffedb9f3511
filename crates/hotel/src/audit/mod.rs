//! The audit trail: a row for each call, digested with a key, then sealed in a chain.
//!
//! - A row carries the HMAC of what it says ([`AuditKey::digest`]) and is written in the transaction of the
//!   act that it records, or, for reads, by [`DatabaseSink`].
//! - Each second the [`seal::Sealer`] numbers the committed rows and covers them with a seal that also covers
//!   the seal before it.
//! - [`verify::verify`] finds what was changed since. What it promises and what not: `docs/audit.md`.

mod key;
pub mod seal;
pub mod verify;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use govern::audit::{Record, Sink, SinkError};

pub use crate::store::audit::{AuditRow, AuditStatistics, Event, Seal};
use crate::store::{Db, boxed};
pub use key::{AuditKey, KeyError, default_key_path};

/// Keeps the records that no transaction of their own keeps: those of reads, refusals and failures.
#[derive(Debug)]
pub struct DatabaseSink {
    db: Db,
    key: AuditKey,
}

impl DatabaseSink {
    /// A sink that appends to this database's trail.
    pub fn new(db: Db, key: AuditKey) -> Self {
        Self { db, key }
    }
}

impl Sink for DatabaseSink {
    fn append<'a>(&'a self, batch: &'a [Record]) -> BoxFuture<'a, Result<(), SinkError>> {
        let (key, records): (_, Arc<[Record]>) = (self.key.clone(), batch.into());
        Box::pin(async move {
            let written = self.db.write(move |tx| {
                let (key, records) = (key.clone(), Arc::clone(&records));
                boxed(async move { tx.append_audit(&key, &records).await })
            });
            written.await.map_err(|error| SinkError(error.to_string()))
        })
    }
}
