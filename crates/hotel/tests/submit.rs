//! Submitting: what the agent gets, at most once, on each database.

use hotel::Error;
use hotel::app::submit::{Submitted, adapter, submit};
use hotel::app::{ingest, tasks};
use hotel::domain::task::TaskStatus;
use hotel::testing::{Rig, on_each_database};
use serde_json::{Value, json};

const MAIL: &[u8] = b"From: Lin <lin@sunny.example>\r\nTo: res@hotel.example\r\nMessage-ID: <m1@sunny.example>\r\nSubject: New booking\r\nDate: Mon, 30 Nov 2026 15:00:00 +0800\r\n\r\nPlease book.\r\n";

async fn ingest_mail(rig: &Rig, raw: &[u8]) {
    let ingested = ingest::mail(&rig.hotel, rig.request("test"), "FILE", raw.to_vec()).await.unwrap();
    assert!(ingested.created);
}

fn v3(events: Value) -> Value {
    json!({
        "source_message": {"source_message_id": "m1@sunny.example", "subject": null, "from": null, "cc": [],
            "received_at": null, "source_channel": "Email"},
        "message_events": events,
        "case_candidates": [],
        "extraction_warnings": [],
        "unhandled_current_intents": [],
    })
}

fn booking(index: &str, group: &str) -> Value {
    json!({"source_event_index": index, "event_type": "BOOKING_NEW_GROUP", "object_type": "GROUP",
        "case_keys": {"group_code": group, "confirmation_number": null, "reservation_no": null},
        "proposed_changes": [{"field": "arrival", "from": null, "to": "2027-01-10"},
            {"field": "departure", "from": null, "to": "2027-01-12"}]})
}

async fn send(rig: &Rig, payload: Value) -> Result<Submitted, Error> {
    submit(&rig.hotel, rig.request("agent"), adapter::from_mcp(payload)?).await
}

#[tokio::test]
async fn a_child_finds_the_order_that_its_parent_creates_though_it_comes_first() {
    on_each_database(|rig| async move {
        rig.activate().await;
        ingest_mail(&rig, MAIL).await;
        let child = json!({"source_event_index": "E_CHILD", "event_type": "ROOMING_LIST_SUBMIT",
            "parent_source_event_index": "E_PARENT",
            "case_keys": {"group_code": "GR1", "confirmation_number": null, "reservation_no": null},
            "details": {"lines": [{"sequence": 1, "name": "WANG WEI", "room": "TWN"}]}});
        let answer = send(&rig, v3(json!([child, booking("E_PARENT", "GR1")]))).await.unwrap().answer;
        assert_eq!(answer.accepted_count, 2);
        assert_eq!(answer.items[0].order_id, answer.items[1].order_id);
        assert!(answer.items[0].order_id.is_some());
        assert_eq!(answer.items[0].task_status.as_deref(), Some("PENDING_CONFIRMATION"));
        let mapping = answer.mapping_diagnostics.unwrap();
        assert_eq!(mapping[0].original, json!("E_CHILD"));
        assert_eq!(mapping[1].source_event_index, 2);
    })
    .await;
}

#[tokio::test]
async fn the_same_payload_again_is_a_replay_with_the_same_ids_and_the_current_task_status() {
    on_each_database(|rig| async move {
        rig.activate().await;
        ingest_mail(&rig, MAIL).await;
        let first = send(&rig, v3(json!([booking("E1", "GR1")]))).await.unwrap().answer;
        let task_id: i64 = first.items[0].task_id.as_ref().unwrap().parse().unwrap();
        let decision = tasks::Decision {
            task_id,
            to: TaskStatus::Confirmed,
            actor: "mei".into(),
            version: Some(1),
            reason: Some("checked with the agency".into()),
        };
        let detail = tasks::decide(&rig.hotel, rig.request("mei"), decision).await.unwrap();
        assert_eq!(detail.task.task_status, "CONFIRMED");
        let again = send(&rig, v3(json!([booking("E1", "GR1")]))).await.unwrap().answer;
        assert!(again.idempotent_replay);
        assert_eq!(again.batch_id, first.batch_id);
        assert_eq!(again.items[0].task_id, first.items[0].task_id);
        assert_eq!(again.items[0].task_status.as_deref(), Some("CONFIRMED"));
    })
    .await;
}

#[tokio::test]
async fn another_payload_for_the_same_message_is_a_conflict_that_names_the_tasks() {
    on_each_database(|rig| async move {
        rig.activate().await;
        ingest_mail(&rig, MAIL).await;
        send(&rig, v3(json!([booking("E1", "GR1")]))).await.unwrap();
        let error = send(&rig, v3(json!([booking("E1", "GR2")]))).await.unwrap_err();
        assert_eq!(error.code(), "SUBMIT_PAYLOAD_CONFLICT");
        assert_eq!(error.details()["tasks"][0]["task_status"], "PENDING_CONFIRMATION");
    })
    .await;
}
