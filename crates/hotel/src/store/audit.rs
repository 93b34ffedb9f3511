//! Table audit_event: appending. Sealing and verifying are in [`crate::audit`].

use govern::audit::Record;

use super::{Transaction, Value};
use crate::audit::AuditKey;
use crate::error::Error;

impl Transaction<'_> {
    /// Appends records, each with its own keyed digest, in the caller's transaction.
    pub async fn append_audit(&mut self, key: &AuditKey, records: &[Record]) -> Result<(), Error> {
        let first = self.take_ids(records.len()).await?;
        let rows: Vec<Vec<Value>> = (first..).zip(records).map(|(id, record)| row(id, record, key)).collect();
        let head =
            "INSERT INTO audit_event (audit_id, at, request_id, trace_id, caller, channel, operation, effect,
                    outcome, code, target, content_sha256, duration_us, digest)";
        Ok(self.insert(head, rows).await?)
    }
}

fn row(audit_id: i64, record: &Record, key: &AuditKey) -> Vec<Value> {
    let event = crate::audit::Event::from_record(audit_id, record);
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
