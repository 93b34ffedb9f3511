//! Letting writers that decide on the same things pass one after the other.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use super::Transaction;
use crate::error::Error;

/// What a transaction reads before it decides what to write.
///
/// A transaction that enters several realms does so in the order of their numbers and enters each once, so that no two
/// wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Realm {
    /// Messages and conversations, by their external ids.
    Mail = 1,
    /// Conversations that are merged into others, all of a hotel together.
    Merges = 2,
    /// Orders and batches, by case keys and messages.
    Orders = 3,
    /// Tasks, by their ids.
    Tasks = 4,
}

/// Into how many locks the texts of a realm fall. PostgreSQL keeps locks in shared memory of a fixed size; a submission
/// may have thousands of keys.
const BUCKETS: u64 = 1024;

impl Transaction<'_> {
    /// Waits until no other open transaction has entered the realm with one of these texts, and keeps others out until
    /// this one ends. What is read afterwards includes what those before have committed.
    ///
    /// SQLite has one writer, so there is nothing to wait for.
    pub async fn serialise_on<T: AsRef<str>>(
        &mut self,
        realm: Realm,
        hotel_id: i64,
        texts: &[T],
    ) -> Result<(), Error> {
        // The locks are taken in ascending order, whatever the plan of the statement: two transactions that share
        // several never hold one and wait for another.
        const LOCK: &str = "WITH bucket AS MATERIALIZED (
                              SELECT number FROM unnest(string_to_array($2, ',')::int[]) AS number ORDER BY number)
                            SELECT pg_advisory_xact_lock($1::int, number) FROM bucket";
        if matches!(self, Self::Sqlite(_)) || texts.is_empty() {
            return Ok(());
        }
        let buckets: BTreeSet<u64> = texts.iter().map(|text| bucket(hotel_id, text.as_ref())).collect();
        let list: Vec<String> = buckets.iter().map(u64::to_string).collect();
        self.execute(LOCK, &[(realm as i64).into(), list.join(",").into()]).await?;
        Ok(())
    }
}

fn bucket(hotel_id: i64, text: &str) -> u64 {
    let digest = Sha256::new_with_prefix(hotel_id.to_be_bytes()).chain_update(text).finalize();
    digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte)) % BUCKETS
}
