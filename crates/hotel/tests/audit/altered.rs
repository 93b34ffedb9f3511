//! What someone without the key did to a trail is found where it is.

use govern::hex::hex;
use hotel::audit::Event;
use hotel::audit::seal::current_head;
use hotel::audit::verify::verify;
use hotel::testing::on_each_database;
use sha2::{Digest as _, Sha256};

use super::{append, check, insert, record, tamper, trail};

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
