//! Ids are small numbers, unique over all processes and nodes, taken from one counter row.

use std::ops::Range;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use tokio::sync::Mutex;

use super::{StoreError, Transaction, record};
use crate::error::Error;

/// Smallest number of ids that a PostgreSQL node takes at once.
const BLOCK: i64 = 256;
const TAKE: &str = "UPDATE id_block SET next_id = next_id + $1 WHERE name = 'main' RETURNING next_id";

record! {
    struct Block { next_id: i64 }
}

/// The ids that this node has taken from PostgreSQL and not used yet.
///
/// They are taken outside the caller's transaction, because the counter row would otherwise stay
/// locked until its commit and all writers would queue behind it, and over a connection of their own, because
/// the writers that wait for ids may hold all others. Unused ids of a stopped node are lost.
#[derive(Debug)]
pub struct PostgresIds {
    pool: PgPool,
    free: Mutex<Range<i64>>,
}

impl PostgresIds {
    /// No ids yet; the first request connects and takes a block.
    pub fn new(options: PgConnectOptions) -> Self {
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(super::ACQUIRE_TIMEOUT)
            .connect_lazy_with(options);
        Self { pool, free: Mutex::new(0..0) }
    }

    /// Closes the connection.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    async fn take(&self, count: i64) -> Result<i64, StoreError> {
        let mut free = self.free.lock().await;
        if free.end - free.start < count {
            let size = count.max(BLOCK);
            let (next,): (i64,) = sqlx::query_as(TAKE).bind(size).fetch_one(&self.pool).await?;
            *free = next - size..next;
        }
        let first = free.start;
        free.start += count;
        Ok(first)
    }
}

impl Transaction<'_> {
    /// `count` new ids in a row; returns the first.
    pub async fn take_ids(&mut self, count: usize) -> Result<i64, Error> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        if let Self::Postgres(_, ids) = self {
            return Ok(ids.take(count).await?);
        }
        let block: Block = self.one(TAKE, &[count.into()]).await?;
        Ok(block.next_id - count)
    }
}
