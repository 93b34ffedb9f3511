//! Tables audit_event, audit_seal and audit_key. What a seal covers and how it is checked: [`crate::audit`].

use govern::audit::Record;
use serde::Serialize;
use sqlx::{ColumnIndex, Decode, FromRow, Row, Type};

use super::transaction::without_nul;
use super::{MaybeDamaged, Transaction, Value, record};
use crate::audit::AuditKey;
use crate::error::Error;

record! {
    /// What a row of audit_event says. Its JSON, in the order of the fields, is what the row's digest covers.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub struct Event {
        /// Internal id.
        audit_id: i64,
        /// When the call began, unix milliseconds.
        at: i64,
        /// Our id of the call.
        request_id: String,
        /// The caller's.
        trace_id: Option<String>,
        /// The token's or the person's name.
        caller: String,
        /// mcp-http, mcp-stdio, rest, cli or console.
        channel: String,
        /// The tool, route or command.
        operation: String,
        /// read or write; empty when the operation is not known.
        effect: String,
        /// ok, error or refused.
        outcome: String,
        /// The error code.
        code: Option<String>,
        /// The object it was about.
        target: Option<String>,
        /// The digest of what was submitted; never the content.
        content_sha256: Option<String>,
        /// How long it took, microseconds.
        duration_us: i64,
    }
}

/// A row of audit_event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditRow {
    /// What it says.
    #[serde(flatten)]
    pub event: Event,
    /// The event's keyed digest, lower-case hexadecimal.
    pub digest: String,
    /// Its number in the trail, from 1; none while it is not sealed.
    pub position: Option<i64>,
}

record! {
    /// A row of audit_seal: it covers the rows at `from_position..=to_position` and the seal before it.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Seal {
        /// The first row's position.
        from_position: i64,
        /// The last row's position.
        to_position: i64,
        /// How many rows.
        count: i64,
        /// The digest of the chain up to here, see [`crate::audit::seal`].
        sha256: String,
        /// `sha256` of the seal before it.
        previous: String,
        /// The keyed digest of the other columns.
        hmac: String,
        /// When it was made, unix milliseconds.
        sealed_at: i64,
    }
}

record! {
    /// A row that has just been given its position.
    pub struct Positioned {
        /// Its position.
        position: i64,
        /// The event's keyed digest.
        digest: String,
    }
}

record! {
    /// How often an operation ended in an outcome, and how long it took.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub struct AuditStatistics {
        /// The tool, route or command.
        operation: String,
        /// ok, error or refused.
        outcome: String,
        /// How many calls.
        calls: i64,
        /// Half of them took at most this many microseconds.
        p50_us: i64,
        /// 99 of 100 took at most this many microseconds.
        p99_us: i64,
    }
}

record! {
    /// Only whether there is one matters.
    #[expect(dead_code, reason = "a query has at least one column")]
    struct Found { found: i64 }
}

record! {
    struct Fingerprint { fingerprint: String }
}

/// The columns of [`AuditRow`]; a macro because a statement is one literal.
macro_rules! select_rows {
    ($($rest:expr),+) => {
        concat!(
            "SELECT audit_id, at, request_id, trace_id, caller, channel, operation, effect, outcome, code, target,
                    content_sha256, duration_us, digest, position FROM ",
            $($rest),+
        )
    };
}
pub(super) use select_rows;

impl Event {
    /// The event of a record, its texts as the database keeps them, so that the digest covers what is read back.
    pub fn from_record(audit_id: i64, record: &Record) -> Self {
        let text = |text: &str| without_nul(text.to_owned());
        let optional = |value: Option<&str>| value.map(text);
        Self {
            audit_id,
            at: record.at_ms,
            request_id: text(&record.request_id),
            trace_id: optional(record.trace_id.as_deref()),
            caller: text(&record.caller),
            channel: record.channel.as_str().to_owned(),
            operation: text(&record.operation),
            effect: record.effect.map_or("", govern::tool::Effect::as_str).to_owned(),
            outcome: record.outcome.as_str().to_owned(),
            code: optional(record.code.as_deref()),
            target: optional(record.target.as_deref()),
            content_sha256: optional(record.digest.as_deref()),
            duration_us: i64::try_from(record.duration_us).unwrap_or(i64::MAX),
        }
    }
}

impl Transaction<'_> {
    /// Appends records, each with its own keyed digest, in the caller's transaction.
    pub async fn append_audit(&mut self, key: &AuditKey, records: &[Record]) -> Result<(), Error> {
        let first = self.take_ids(records.len()).await?;
        let rows: Vec<Vec<Value>> =
            (first..).zip(records).map(|(id, record)| values(id, record, key)).collect();
        let head =
            "INSERT INTO audit_event (audit_id, at, request_id, trace_id, caller, channel, operation, effect,
                    outcome, code, target, content_sha256, duration_us, digest)";
        Ok(self.insert(head, rows).await?)
    }

    /// The last `count` rows, oldest first.
    pub async fn audit_tail(&mut self, count: i64) -> Result<Vec<AuditRow>, Error> {
        let sql = select_rows!("audit_event ORDER BY at DESC, audit_id DESC LIMIT $1");
        let mut rows: Vec<AuditRow> = self.all(sql, &[count.into()]).await?;
        rows.reverse();
        Ok(rows)
    }

    /// At most `limit` rows whose id is at least `from_id`, in id order.
    pub async fn audit_rows(&mut self, from_id: i64, limit: i64) -> Result<Vec<AuditRow>, Error> {
        let sql = select_rows!("audit_event WHERE audit_id >= $1 ORDER BY audit_id LIMIT $2");
        Ok(self.all(sql, &[from_id.into(), limit.into()]).await?)
    }

    /// Counts and durations by operation and outcome, in that order.
    pub async fn audit_statistics(&mut self) -> Result<Vec<AuditStatistics>, Error> {
        // Neither database has a percentile function that the other has too: the nearest rank is the same on both.
        let sql = "SELECT operation, outcome, MAX(total) AS calls,
                          MIN(CASE WHEN place * 100 >= total * 50 THEN duration_us END) AS p50_us,
                          MIN(CASE WHEN place * 100 >= total * 99 THEN duration_us END) AS p99_us
                   FROM (SELECT operation, outcome, duration_us,
                                ROW_NUMBER() OVER (PARTITION BY operation, outcome ORDER BY duration_us) AS place,
                                COUNT(*) OVER (PARTITION BY operation, outcome) AS total
                         FROM audit_event) AS ranked
                   GROUP BY operation, outcome ORDER BY operation, outcome";
        Ok(self.all(sql, &[]).await?)
    }

    /// Whether there is any row.
    pub async fn has_audit_rows(&mut self) -> Result<bool, Error> {
        let sql = "SELECT audit_id AS found FROM audit_event LIMIT 1";
        Ok(self.first::<Found>(sql, &[]).await?.is_some())
    }

    /// Whether any committed row waits for its seal.
    pub async fn has_unsealed_audit_rows(&mut self) -> Result<bool, Error> {
        let sql =
            "SELECT audit_id AS found FROM audit_event WHERE position IS NULL ORDER BY audit_id LIMIT 1";
        Ok(self.first::<Found>(sql, &[]).await?.is_some())
    }

    /// The fingerprint of the trail's key, once a node has started.
    pub async fn audit_key_fingerprint(&mut self) -> Result<Option<String>, Error> {
        let sql = "SELECT fingerprint FROM audit_key WHERE name = 'main'";
        Ok(self.first::<Fingerprint>(sql, &[]).await?.map(|row| row.fingerprint))
    }

    /// Keeps the fingerprint of the trail's key unless there is one.
    pub async fn keep_audit_key_fingerprint(&mut self, fingerprint: &str) -> Result<(), Error> {
        let sql =
            "INSERT INTO audit_key (name, fingerprint) VALUES ('main', $1) ON CONFLICT (name) DO NOTHING";
        self.execute(sql, &[fingerprint.into()]).await?;
        Ok(())
    }

    /// Gives at most `limit` unsealed rows, in id order, the positions after `last`; answers them in that order.
    pub async fn give_audit_positions(&mut self, last: i64, limit: i64) -> Result<Vec<Positioned>, Error> {
        // One statement, for on PostgreSQL a second one could see a row that was committed in between.
        let sql = "WITH batch AS (
                       SELECT audit_id, ROW_NUMBER() OVER (ORDER BY audit_id) AS place
                       FROM (SELECT audit_id FROM audit_event WHERE position IS NULL ORDER BY audit_id LIMIT $2) AS oldest)
                   UPDATE audit_event SET position = $1 + batch.place FROM batch
                   WHERE audit_event.audit_id = batch.audit_id RETURNING position, digest";
        let mut rows: Vec<Positioned> = self.all(sql, &[last.into(), limit.into()]).await?;
        rows.sort_unstable_by_key(|row| row.position);
        Ok(rows)
    }

    /// The last seal.
    pub async fn last_audit_seal(&mut self) -> Result<Option<Seal>, Error> {
        let sql =
            "SELECT from_position, to_position, count, sha256, previous, hmac, sealed_at FROM audit_seal
                   ORDER BY from_position DESC LIMIT 1";
        Ok(self.first(sql, &[]).await?)
    }

    /// The last seal as far as it can be read.
    pub async fn newest_audit_seal(&mut self) -> Result<Option<MaybeDamaged<Seal>>, Error> {
        let sql =
            "SELECT from_position, to_position, count, sha256, previous, hmac, sealed_at FROM audit_seal
                   ORDER BY from_position DESC LIMIT 1";
        Ok(self.first(sql, &[]).await?)
    }

    /// The first seal that reaches a position.
    pub async fn audit_seal_reaching(&mut self, position: i64) -> Result<Option<MaybeDamaged<Seal>>, Error> {
        let sql =
            "SELECT from_position, to_position, count, sha256, previous, hmac, sealed_at FROM audit_seal
                   WHERE to_position >= $1 ORDER BY to_position LIMIT 1";
        Ok(self.first(sql, &[position.into()]).await?)
    }

    /// Adds a seal.
    pub async fn insert_audit_seal(&mut self, seal: &Seal) -> Result<(), Error> {
        let row = vec![
            seal.from_position.into(),
            seal.to_position.into(),
            seal.count.into(),
            (&seal.sha256).into(),
            (&seal.previous).into(),
            (&seal.hmac).into(),
            seal.sealed_at.into(),
        ];
        let head =
            "INSERT INTO audit_seal (from_position, to_position, count, sha256, previous, hmac, sealed_at)";
        Ok(self.insert(head, vec![row]).await?)
    }

    /// At most `limit` seals that begin at `from_position` or later, in order.
    pub async fn audit_seals(
        &mut self,
        from_position: i64,
        limit: i64,
    ) -> Result<Vec<MaybeDamaged<Seal>>, Error> {
        let sql =
            "SELECT from_position, to_position, count, sha256, previous, hmac, sealed_at FROM audit_seal
                   WHERE from_position >= $1 ORDER BY from_position LIMIT $2";
        Ok(self.all(sql, &[from_position.into(), limit.into()]).await?)
    }

    /// At most `limit` rows with a position, in order, from this (position, id) on.
    ///
    /// The id is part of the key because someone who dropped the unique index can have two rows at one position.
    pub async fn sealed_audit_rows(
        &mut self,
        from: (i64, i64),
        limit: i64,
    ) -> Result<Vec<MaybeDamaged<AuditRow>>, Error> {
        let sql = select_rows!(
            "audit_event WHERE position IS NOT NULL AND (position, audit_id) >= ($1, $2) ORDER BY position, audit_id LIMIT $3"
        );
        Ok(self.all(sql, &[from.0.into(), from.1.into(), limit.into()]).await?)
    }

    /// At most `limit` rows without a position whose id is at least `from_id`, in id order.
    pub async fn unsealed_audit_rows(
        &mut self,
        from_id: i64,
        limit: i64,
    ) -> Result<Vec<MaybeDamaged<AuditRow>>, Error> {
        let sql =
            select_rows!("audit_event WHERE position IS NULL AND audit_id >= $1 ORDER BY audit_id LIMIT $2");
        Ok(self.all(sql, &[from_id.into(), limit.into()]).await?)
    }
}

impl<'r, R: Row> FromRow<'r, R> for AuditRow
where
    Event: FromRow<'r, R>,
    &'static str: ColumnIndex<R>,
    String: Decode<'r, R::Database> + Type<R::Database>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
        Ok(Self {
            event: Event::from_row(row)?,
            digest: row.try_get("digest")?,
            position: row.try_get("position")?,
        })
    }
}

fn values(audit_id: i64, record: &Record, key: &AuditKey) -> Vec<Value> {
    let event = Event::from_record(audit_id, record);
    let digest = key.digest(&event);
    vec![
        event.audit_id.into(),
        event.at.into(),
        event.request_id.into(),
        event.trace_id.into(),
        event.caller.into(),
        event.channel.into(),
        event.operation.into(),
        event.effect.into(),
        event.outcome.into(),
        event.code.into(),
        event.target.into(),
        event.content_sha256.into(),
        event.duration_us.into(),
        digest.into(),
    ]
}
