//! The audit trail, on each database: what is sealed, what is found when someone without the key changes it.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by a panic")]

use std::time::Duration;

use govern::audit::head::{GENESIS, Head};
use govern::audit::{Channel, Ending, Record, Sink as _};
use govern::hex::hex;
use govern::key::KeyFileError;
use govern::random::Random;
use govern::tool::Effect;
use hotel::audit::seal::{Sealer, current_head};
use hotel::audit::verify::{Report, verify};
use hotel::audit::{AuditKey, DatabaseSink, Event, KeyError};
use hotel::store::{Db, boxed};
use hotel::testing::{NOW, Rig, on_each_database};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use sha2::{Digest as _, Sha256};

fn record(number: u32) -> Record {
    Record {
        at_ms: NOW + i64::from(number),
        request_id: format!("req-{number}"),
        trace_id: number.is_multiple_of(2).then(|| format!("trace-{number}")),
        caller: "agent".to_owned(),
        channel: Channel::McpHttp,
        operation: "th_hotel_query_case_context".into(),
        effect: Some(Effect::Read),
        outcome: if number.is_multiple_of(3) { Ending::Error } else { Ending::Ok },
        code: number.is_multiple_of(3).then(|| "OBJECT_NOT_FOUND".into()),
        target: Some("ORDER:1001".to_owned()),
        digest: Some(GENESIS.to_owned()),
        detail: None,
        duration_us: u64::from(number) * 100,
    }
}

async fn append(rig: &Rig, records: &[Record]) {
    let sink = DatabaseSink::new(rig.hotel.db.clone(), rig.hotel.audit_key.clone());
    sink.append(records).await.unwrap();
}

fn sealer(rig: &Rig, db: &Db) -> Sealer {
    Sealer::new(db.clone(), rig.hotel.audit_key.clone(), rig.hotel.clock.clone(), &rig.hotel.random)
}

/// Twelve records under the seals 1–4, 5–8 and 9–12.
async fn trail(rig: &Rig) -> Sealer {
    let sealer = sealer(rig, &rig.hotel.db);
    for batch in [1..5, 5..9, 9..13] {
        append(rig, &batch.map(record).collect::<Vec<_>>()).await;
        assert_eq!(sealer.seal().await.unwrap(), 4);
    }
    sealer
}

async fn check(rig: &Rig, head: Option<&Head>) -> Report {
    verify(&rig.hotel.db, Some(&rig.hotel.audit_key), head).await.unwrap()
}

/// Runs statements as someone with the database's password would; a refused one undoes them all.
async fn tamper(rig: &Rig, statements: &[&str]) -> Result<(), hotel::Error> {
    // The store takes literals only; a test may leak a few.
    let statements: Vec<&'static str> =
        statements.iter().map(|sql| &*String::leak((*sql).to_owned())).collect();
    let written = rig.hotel.db.write(move |tx| {
        let statements = statements.clone();
        boxed(async move {
            for sql in statements {
                tx.execute(sql, &[]).await?;
            }
            Ok(())
        })
    });
    written.await
}

/// A trail of twelve records is tampered with; the fault is found where it is, and for that reason.
async fn is_located(statements: &'static [&'static str], first_bad: i64, reason: &'static str) {
    on_each_database(async |rig| {
        trail(&rig).await;
        tamper(&rig, statements).await.unwrap();
        let report = check(&rig, None).await;
        assert!(!report.ok);
        assert_eq!(report.first_bad, Some(first_bad), "{report:?}");
        assert!(report.reason.as_ref().unwrap().contains(reason), "{report:?}");
    })
    .await;
}

#[tokio::test]
async fn a_trail_as_it_was_written_is_good_and_ends_at_its_head() {
    on_each_database(async |rig| {
        trail(&rig).await;
        let head = current_head(&rig.hotel.db).await.unwrap();
        let expected = Report {
            ok: true,
            records: 12,
            first_bad: None,
            reason: None,
            head: head.to_string(),
            unsealed: 0,
            key_checked: true,
        };
        assert_eq!(check(&rig, Some(&head)).await, expected);
        assert_eq!(head.to_string().parse(), Ok(head));
    })
    .await;
}

#[tokio::test]
async fn an_empty_trail_is_good() {
    on_each_database(async |rig| {
        let report = check(&rig, Some(&Head::genesis())).await;
        assert!(report.ok);
        assert_eq!((report.records, report.head), (0, format!("0:{GENESIS}")));
    })
    .await;
}

#[tokio::test]
async fn unsealed_rows_are_good_and_counted() {
    on_each_database(async |rig| {
        trail(&rig).await;
        append(&rig, &[record(13), record(14)]).await;
        let report = check(&rig, None).await;
        assert!(report.ok);
        assert_eq!((report.records, report.unsealed), (14, 2));
    })
    .await;
}

#[tokio::test]
async fn a_changed_field_is_located() {
    is_located(&["UPDATE audit_event SET caller = 'mallory' WHERE position = 6"], 6, "was changed").await;
}

#[tokio::test]
async fn a_changed_field_of_an_unsealed_row_is_located() {
    on_each_database(async |rig| {
        trail(&rig).await;
        append(&rig, &[record(13), record(14)]).await;
        tamper(&rig, &["UPDATE audit_event SET outcome = 'refused' WHERE request_id = 'req-14'"])
            .await
            .unwrap();
        assert_eq!(check(&rig, None).await.first_bad, Some(14));
    })
    .await;
}

#[tokio::test]
async fn a_removed_row_is_located() {
    is_located(&["DELETE FROM audit_event WHERE position = 6"], 6, "record 6 is missing").await;
}

#[tokio::test]
async fn a_removed_row_is_found_when_the_later_ones_were_renumbered() {
    let statements = &[
        "DELETE FROM audit_event WHERE position = 6",
        "UPDATE audit_event SET position = 1 - position WHERE position > 6",
        "UPDATE audit_event SET position = -position WHERE position < 0",
    ];
    is_located(statements, 5, "records 5 to 8 are not those that were sealed").await;
}

#[tokio::test]
async fn a_row_that_was_unsealed_by_hand_is_located() {
    is_located(&["UPDATE audit_event SET position = NULL WHERE position = 6"], 6, "record 6 is missing")
        .await;
}

#[tokio::test]
async fn rows_that_changed_places_are_located() {
    let statements = &[
        "UPDATE audit_event SET position = -6 WHERE position = 7",
        "UPDATE audit_event SET position = 7 WHERE position = 6",
        "UPDATE audit_event SET position = 6 WHERE position = -6",
    ];
    is_located(statements, 6, "record 6 is not in its place").await;
}

#[tokio::test]
async fn two_rows_at_one_position_are_located() {
    let statements =
        &["DROP INDEX audit_event_position", "UPDATE audit_event SET position = 6 WHERE position = 11"];
    is_located(statements, 7, "was put at position 6").await;
}

#[tokio::test]
async fn a_removed_seal_is_located() {
    let reason = "the seal of records 5 to 8 is missing";
    is_located(&["DELETE FROM audit_seal WHERE from_position = 5"], 5, reason).await;
}

#[tokio::test]
async fn a_removed_last_seal_is_located() {
    is_located(&["DELETE FROM audit_seal WHERE from_position = 9"], 9, "no seal covers").await;
}

#[tokio::test]
async fn a_changed_seal_is_located() {
    is_located(&["UPDATE audit_seal SET sealed_at = 1 WHERE from_position = 5"], 5, "was changed").await;
}

#[tokio::test]
async fn a_forged_row_with_a_plain_hash_is_located() {
    on_each_database(async |rig| {
        trail(&rig).await;
        let event = Event::from_record(900_000, &record(13));
        let plain = hex(&Sha256::digest(serde_json::to_vec(&event).unwrap()));
        insert(&rig, event, plain).await;
        let report = check(&rig, None).await;
        assert_eq!(report.first_bad, Some(13));
        assert_eq!(report.reason.unwrap(), "row audit_id 900000 was changed, or made without the key");
    })
    .await;
}

#[tokio::test]
async fn a_forged_seal_with_a_plain_hash_is_located() {
    on_each_database(async |rig| {
        trail(&rig).await;
        let head = current_head(&rig.hotel.db).await.unwrap();
        let event = Event::from_record(900_000, &record(13));
        let digest = rig.hotel.audit_key.digest(&event);
        insert(&rig, event, digest.clone()).await;
        let chained = Sha256::digest(format!("{}\n13 {digest}\n", head.digest));
        let sha256 = hex(&chained);
        let seal = format!(
            "INSERT INTO audit_seal VALUES (13, 13, 1, '{sha256}', '{}', '{sha256}', 1)",
            head.digest
        );
        tamper(&rig, &["UPDATE audit_event SET position = 13 WHERE position IS NULL", &seal]).await.unwrap();
        let report = check(&rig, None).await;
        assert_eq!(report.first_bad, Some(13));
        assert_eq!(
            report.reason.unwrap(),
            "the seal of records 13 to 13 was changed, or made without the key"
        );
        let without_key = verify(&rig.hotel.db, None, None).await.unwrap();
        assert!(without_key.ok, "only the key tells this one: {without_key:?}");
    })
    .await;
}

async fn insert(rig: &Rig, event: Event, digest: String) {
    let written = rig.hotel.db.write(move |tx| {
        let event = event.clone();
        let values = vec![
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
            (&digest).into(),
        ];
        let head =
            "INSERT INTO audit_event (audit_id, at, request_id, trace_id, caller, channel, operation, effect,
                    outcome, code, target, content_sha256, duration_us, digest)";
        boxed(async move { Ok(tx.insert(head, vec![values]).await?) })
    });
    written.await.unwrap();
}

const CUT: &[&str] =
    &["DELETE FROM audit_seal WHERE from_position = 9", "DELETE FROM audit_event WHERE position >= 9"];

#[tokio::test]
async fn a_cut_end_is_found_with_the_head_only() {
    on_each_database(async |rig| {
        trail(&rig).await;
        let head = current_head(&rig.hotel.db).await.unwrap();
        tamper(&rig, CUT).await.unwrap();
        assert!(check(&rig, None).await.ok);
        let report = check(&rig, Some(&head)).await;
        assert_eq!(report.first_bad, Some(9));
        assert_eq!(report.reason.unwrap(), "records 9 to 12 are missing: the end was cut off");
    })
    .await;
}

#[tokio::test]
async fn a_cut_end_is_found_with_the_head_when_other_rows_were_sealed_in_its_place() {
    on_each_database(async |rig| {
        let sealer = trail(&rig).await;
        let head = current_head(&rig.hotel.db).await.unwrap();
        tamper(&rig, CUT).await.unwrap();
        append(&rig, &(20..30).map(record).collect::<Vec<_>>()).await;
        sealer.seal().await.unwrap();
        let report = check(&rig, Some(&head)).await;
        assert_eq!(report.first_bad, Some(12));
        assert!(report.reason.unwrap().contains("not the trail that the head was taken from"));
    })
    .await;
}

#[tokio::test]
async fn a_head_stays_valid_while_the_trail_grows() {
    on_each_database(async |rig| {
        let sealer = trail(&rig).await;
        let head = current_head(&rig.hotel.db).await.unwrap();
        append(&rig, &[record(13)]).await;
        sealer.seal().await.unwrap();
        assert!(check(&rig, Some(&head)).await.ok);
    })
    .await;
}

#[tokio::test]
async fn a_row_committed_late_with_a_smaller_id_is_sealed_after_those_before_it() {
    on_each_database(async |rig| {
        let sealer = trail(&rig).await;
        let late = Event::from_record(1, &record(13));
        let digest = rig.hotel.audit_key.digest(&late);
        insert(&rig, late, digest).await;
        assert_eq!(sealer.seal().await.unwrap(), 1);
        let rows = rig.hotel.db.read(|tx| boxed(tx.audit_rows(1, 1))).await.unwrap();
        assert_eq!(rows[0].position, Some(13));
        assert!(check(&rig, None).await.ok);
    })
    .await;
}

#[tokio::test]
async fn a_text_that_the_database_cannot_keep_as_it_came_still_verifies() {
    on_each_database(async |rig| {
        append(&rig, &[Record { operation: "no\0such 工具".into(), ..record(1) }]).await;
        let report = check(&rig, None).await;
        assert!(report.ok, "{report:?}");
    })
    .await;
}

#[tokio::test]
async fn a_value_that_cannot_be_read_is_located() {
    on_each_database(async |rig| {
        // PostgreSQL itself keeps nothing that its column's type does not allow.
        if rig.database == "sqlite" {
            trail(&rig).await;
            tamper(&rig, &["UPDATE audit_event SET caller = CAST(x'ff' AS TEXT) WHERE position = 6"])
                .await
                .unwrap();
            let report = check(&rig, None).await;
            assert_eq!(report.first_bad, Some(6));
            assert!(report.reason.unwrap().starts_with("record 6 cannot be read"));
        }
    })
    .await;
}

#[tokio::test]
async fn without_the_key_a_removal_is_found_and_the_report_says_that_the_key_was_not_used() {
    on_each_database(async |rig| {
        trail(&rig).await;
        tamper(&rig, &["DELETE FROM audit_event WHERE position = 6"]).await.unwrap();
        let report = verify(&rig.hotel.db, None, None).await.unwrap();
        assert_eq!(report.first_bad, Some(6));
        assert!(!report.key_checked);
    })
    .await;
}

#[tokio::test]
async fn of_sealers_at_work_at_once_none_seals_a_row_again_or_breaks_the_chain() {
    on_each_database(async |rig| {
        let other = Db::open(&rig.url).await.unwrap();
        let (one, two) = (sealer(&rig, &rig.hotel.db), sealer(&rig, &other));
        let mut sealed = 0;
        for round in 0..20 {
            let records = [record(2 * round), record(2 * round + 1)];
            let ((), by_one, by_two) = tokio::join!(append(&rig, &records), one.seal(), two.seal());
            sealed += by_one.unwrap() + by_two.unwrap();
            // Whoever holds the lease has to lose it sometimes, or the other would never seal.
            rig.hotel.clock.advance(Duration::from_secs(4));
        }
        rig.hotel.clock.advance(Duration::from_secs(6));
        sealed += one.seal().await.unwrap();
        assert_eq!(sealed, 40);
        let report = check(&rig, None).await;
        assert!(report.ok, "{report:?}");
        assert_eq!((report.records, report.unsealed), (40, 0));
        other.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_sealer_that_died_is_replaced_when_its_lease_ends() {
    on_each_database(async |rig| {
        trail(&rig).await;
        let other = sealer(&rig, &rig.hotel.db);
        append(&rig, &[record(13)]).await;
        assert_eq!(other.seal().await.unwrap(), 0);
        rig.hotel.clock.advance(Duration::from_secs(5));
        assert_eq!(other.seal().await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn at_shutdown_all_is_sealed_and_the_lease_is_free() {
    on_each_database(async |rig| {
        let running = sealer(&rig, &rig.hotel.db).start();
        append(&rig, &[record(1), record(2)]).await;
        running.shutdown().await;
        assert_eq!(current_head(&rig.hotel.db).await.unwrap().count, 2);
        append(&rig, &[record(3)]).await;
        assert_eq!(sealer(&rig, &rig.hotel.db).seal().await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_key_is_made_for_a_new_trail_and_found_again() {
    on_each_database(async |rig| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys/audit.key");
        let made = AuditKey::open(&rig.hotel.db, &path, &Random::System).await.unwrap();
        let again = AuditKey::open(&rig.hotel.db, &path, &Random::System).await.unwrap();
        assert_eq!(made.fingerprint(), again.fingerprint());
        assert_eq!(std::fs::read_dir(folder.path().join("keys")).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    })
    .await;
}

#[tokio::test]
async fn a_trail_whose_key_is_missing_or_another_is_refused_and_no_new_key_is_made() {
    on_each_database(async |rig| {
        let folder = tempfile::tempdir().unwrap();
        let [right, wrong, missing] = ["right", "wrong", "missing"].map(|name| folder.path().join(name));
        AuditKey::open(&rig.hotel.db, &right, &Random::System).await.unwrap();
        std::fs::write(&wrong, format!("{}\n", "ab".repeat(32))).unwrap();
        let mismatch = AuditKey::open(&rig.hotel.db, &wrong, &Random::System).await.unwrap_err();
        assert!(matches!(mismatch, KeyError::Mismatch(_)), "{mismatch}");
        let refused = AuditKey::open(&rig.hotel.db, &missing, &Random::System).await.unwrap_err();
        assert!(matches!(refused, KeyError::Missing(_)), "{refused}");
        assert!(refused.to_string().contains(&missing.display().to_string()));
        assert!(!missing.exists());
        let other = AuditKey::load(&wrong).unwrap();
        let report = verify(&rig.hotel.db, other.as_ref(), None).await.unwrap();
        assert!(report.reason.unwrap().contains("the key is not the one"));
    })
    .await;
}

#[tokio::test]
async fn a_key_file_with_something_else_in_it_is_refused() {
    on_each_database(async |rig| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.key");
        std::fs::write(&path, "ab".repeat(31)).unwrap();
        let refused = AuditKey::open(&rig.hotel.db, &path, &Random::System).await.unwrap_err();
        assert!(matches!(refused, KeyError::File(KeyFileError::Malformed(_))), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn the_tail_is_the_last_rows_oldest_first() {
    on_each_database(async |rig| {
        trail(&rig).await;
        append(&rig, &[record(13)]).await;
        let rows = rig.hotel.db.read(|tx| boxed(tx.audit_tail(2))).await.unwrap();
        let seen: Vec<_> = rows.iter().map(|row| (row.event.request_id.as_str(), row.position)).collect();
        assert_eq!(seen, [("req-12", Some(12)), ("req-13", None)]);
    })
    .await;
}

#[tokio::test]
async fn statistics_count_outcomes_and_give_nearest_rank_percentiles() {
    on_each_database(async |rig| {
        append(&rig, &(1..=12).map(record).collect::<Vec<_>>()).await;
        let statistics = rig.hotel.db.read(|tx| boxed(tx.audit_statistics())).await.unwrap();
        let seen: Vec<_> =
            statistics.iter().map(|row| (row.outcome.as_str(), row.calls, row.p50_us, row.p99_us)).collect();
        assert_eq!(seen, [("error", 4, 600, 1200), ("ok", 8, 500, 1100)]);
    })
    .await;
}

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
