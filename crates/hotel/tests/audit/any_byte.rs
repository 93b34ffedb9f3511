//! Property: whichever byte of a trail is changed, it is found.

use hotel::store::boxed;
use hotel::testing::{Rig, on_each_database};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::{append, check, record, tamper, trail};

/// Table, column, and the column by which the row is found meanwhile.
const COLUMNS: [(&str, &str, &str); 22] = [
    ("audit_event", "audit_id", "digest"),
    ("audit_event", "at", "digest"),
    ("audit_event", "request_id", "digest"),
    ("audit_event", "trace_id", "digest"),
    ("audit_event", "caller", "digest"),
    ("audit_event", "channel", "digest"),
    ("audit_event", "operation", "digest"),
    ("audit_event", "effect", "digest"),
    ("audit_event", "outcome", "digest"),
    ("audit_event", "code", "digest"),
    ("audit_event", "target", "digest"),
    ("audit_event", "content_sha256", "digest"),
    ("audit_event", "duration_us", "digest"),
    ("audit_event", "digest", "request_id"),
    ("audit_event", "position", "digest"),
    ("audit_seal", "from_position", "sha256"),
    ("audit_seal", "to_position", "sha256"),
    ("audit_seal", "count", "sha256"),
    ("audit_seal", "sha256", "hmac"),
    ("audit_seal", "previous", "sha256"),
    ("audit_seal", "hmac", "sha256"),
    ("audit_seal", "sealed_at", "sha256"),
];

#[tokio::test(flavor = "multi_thread")]
async fn any_change_of_one_byte_is_found() {
    on_each_database(async |rig| {
        trail(&rig).await;
        append(&rig, &[record(13), record(14)]).await;
        let cases =
            (0..COLUMNS.len(), any::<prop::sample::Index>(), any::<prop::sample::Index>(), b'0'..=b'z');
        let runtime = tokio::runtime::Handle::current();
        let run = || {
            TestRunner::default().run(&cases, |(column, row, byte, new)| {
                let found = runtime.block_on(change_one_byte(&rig, COLUMNS[column], row, byte, new));
                prop_assume!(found.is_some(), "the database itself refused the change, or it was none");
                prop_assert_eq!(found, Some(true), "the change was not found");
                Ok(())
            })
        };
        tokio::task::block_in_place(run).unwrap();
        assert!(check(&rig, None).await.ok, "each change was undone");
    })
    .await;
}

/// Changes a byte, verifies, undoes the change; says whether it was found. None when there was no change.
async fn change_one_byte(
    rig: &Rig,
    (table, column, key): (&str, &str, &str),
    row: prop::sample::Index,
    byte: prop::sample::Index,
    new: u8,
) -> Option<bool> {
    let sql = String::leak(format!("SELECT {key}, CAST({column} AS TEXT) FROM {table} ORDER BY {key}"));
    let read =
        rig.hotel.db.read(|tx| boxed(async move { Ok(tx.all::<(String, Option<String>)>(sql, &[]).await?) }));
    let mut rows = read.await.unwrap();
    let (found_by, old) = rows.swap_remove(row.index(rows.len()));
    let old = old.filter(|text| !text.is_empty())?;
    let is_number = old.bytes().all(|byte| byte.is_ascii_digit()) && old.len() < 20;
    let mut changed = old.clone().into_bytes();
    let at = byte.index(changed.len());
    changed[at] = if is_number { b'0' + new % 10 } else { new };
    let changed = String::from_utf8(changed).unwrap();
    let literal = |text: &str| if is_number { text.to_owned() } else { format!("'{text}'") };
    let set =
        |text: &str| format!("UPDATE {table} SET {column} = {} WHERE {key} = '{found_by}'", literal(text));
    if changed == old || tamper(rig, &[&set(&changed)]).await.is_err() {
        return None;
    }
    let found = !check(rig, None).await.ok;
    tamper(rig, &[&set(&old)]).await.unwrap();
    Some(found)
}
