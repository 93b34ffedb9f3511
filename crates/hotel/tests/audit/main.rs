//! The audit trail, on each database: what is sealed, what is found when someone without the key changes it.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by a panic")]

mod altered;
mod any_byte;
mod keys;
mod sealing;

use govern::audit::head::{GENESIS, Head};
use govern::audit::{Channel, Ending, Record, Sink as _};
use govern::tool::Effect;
use hotel::audit::seal::{Sealer, current_head};
use hotel::audit::verify::{Report, verify};
use hotel::audit::{DatabaseSink, Event};
use hotel::store::{Db, boxed};
use hotel::testing::{NOW, Rig, on_each_database};

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
async fn a_text_that_the_database_cannot_keep_as_it_came_still_verifies() {
    on_each_database(async |rig| {
        append(&rig, &[Record { operation: "no\0such 工具".into(), ..record(1) }]).await;
        let report = check(&rig, None).await;
        assert!(report.ok, "{report:?}");
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
