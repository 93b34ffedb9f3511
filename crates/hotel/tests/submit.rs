//! Submitting: what the agent gets, at most once, on each database.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test may panic, and json! makes values"
)]

use hotel::Error;
use hotel::app::submit::{Submitted, adapter, submit};
use hotel::app::tasks::Act;
use hotel::app::{ChangedPayload, ingest, tasks};
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
    on_each_database(async |rig| {
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
    on_each_database(async |rig| {
        rig.activate().await;
        ingest_mail(&rig, MAIL).await;
        let first = send(&rig, v3(json!([booking("E1", "GR1")]))).await.unwrap().answer;
        let task_id: i64 = first.items[0].task_id.as_ref().unwrap().parse().unwrap();
        let decision = tasks::Decision {
            task_id,
            act: Act::Confirm,
            is_admin: false,
            edits: Vec::new(),
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
    on_each_database(async |rig| {
        rig.activate().await;
        ingest_mail(&rig, MAIL).await;
        send(&rig, v3(json!([booking("E1", "GR1")]))).await.unwrap();
        let error = send(&rig, v3(json!([booking("E1", "GR2")]))).await.unwrap_err();
        assert_eq!(error.code(), "SUBMIT_PAYLOAD_CONFLICT");
        assert_eq!(error.details()["tasks"][0]["task_status"], "PENDING_CONFIRMATION");
    })
    .await;
}

#[tokio::test]
async fn a_superseded_payload_is_answered_with_its_own_batch_for_ever() {
    on_each_database(async |mut rig| {
        std::sync::Arc::get_mut(&mut rig.hotel).unwrap().on_changed_payload =
            ChangedPayload::SupersedeUntouched;
        rig.activate().await;
        ingest_mail(&rig, MAIL).await;
        let payload = |group: &str| v3(json!([booking("E1", group)]));
        let older = send(&rig, payload("GR1")).await.unwrap().answer;
        let newer = send(&rig, payload("GR2")).await.unwrap().answer;
        assert!(!newer.idempotent_replay);
        for (group, first, status) in [("GR1", &older, "SUPERSEDED"), ("GR2", &newer, "ACCEPTED")] {
            let again = send(&rig, payload(group)).await.unwrap().answer;
            assert!(again.idempotent_replay);
            assert_eq!(again.batch_id, first.batch_id);
            assert_eq!(again.items[0].task_id, first.items[0].task_id);
            assert_eq!(again.items[0].order_id, first.items[0].order_id);
            assert_eq!(again.items[0].transition_status, status);
        }
    })
    .await;
}

#[tokio::test]
async fn a_key_that_is_too_long_breaks_the_contract() {
    on_each_database(async |rig| {
        rig.activate().await;
        ingest_mail(&rig, MAIL).await;
        let groups = ["订".repeat(200), "订".repeat(201), "订".repeat(100_000)];
        let events: Vec<Value> =
            groups.iter().map(|group| booking(&group.len().to_string(), group)).collect();
        let answer = send(&rig, v3(events.into())).await.unwrap().answer;
        let errors: Vec<Option<&str>> =
            answer.items.iter().map(|item| item.error.as_ref().map(|error| error.code.as_str())).collect();
        assert_eq!(errors, [None, Some("INVALID_CASE_KEYS"), Some("INVALID_CASE_KEYS")]);
    })
    .await;
}

fn event(index: &str, event_type: &str, keys: Value) -> Value {
    json!({"source_event_index": index, "event_type": event_type, "case_keys": keys})
}

fn keys(group: &str) -> Value {
    json!({"group_code": group, "confirmation_number": null, "reservation_no": null})
}

#[tokio::test]
async fn events_that_break_the_contract_are_kept_beside_the_accepted_ones() {
    on_each_database(async |rig| {
        rig.activate().await;
        ingest_mail(&rig, MAIL).await;
        let mut incomplete_review = event("E4", "SPECIAL_REQUEST", keys("GR1"));
        incomplete_review["manual_review"] = json!({"reason_code": "R", "question": null, "candidates": []});
        let events = json!([
            booking("E1", "GR1"),
            event("E2", "FLYING_CARPET", keys("GR1")),
            event("E3", "PAYMENT_PROOF", json!({"group_code": "GR1"})),
            incomplete_review,
            event("E5", "PAYMENT_PROOF", json!({"group_code": null, "confirmation_number": null, "reservation_no": null})),
            {"source_event_index": "E6"},
        ]);
        let answer = send(&rig, v3(events)).await.unwrap().answer;
        assert_eq!(answer.accepted_count, 1);
        let errors: Vec<Option<&str>> =
            answer.items.iter().map(|item| item.error.as_ref().map(|error| error.code.as_str())).collect();
        assert_eq!(
            errors,
            [
                None,
                Some("UNSUPPORTED_EVENT_TYPE"),
                Some("INCOMPLETE_CASE_KEYS"),
                Some("INCOMPLETE_MANUAL_REVIEW"),
                Some("INCOMPLETE_CASE_KEYS"),
                Some("EVENT_TYPE_MISSING"),
            ]
        );
        assert!(answer.items[1..].iter().all(|item| item.transition_status == "CONTRACT_ERROR" && item.task_id.is_none()));
    })
    .await;
}

#[tokio::test]
async fn an_event_list_may_be_empty_one_or_thousands() {
    on_each_database(async |rig| {
        rig.activate().await;
        for count in [0, 1, 500, 5_000] {
            let id = format!("m{count}@sunny.example");
            ingest_mail(&rig, String::from_utf8_lossy(MAIL).replace("m1@sunny.example", &id).as_bytes())
                .await;
            let events: Vec<Value> = (0..count)
                .map(|number| booking(&format!("E{number}"), &format!("G{count}-{number}")))
                .collect();
            let mut payload = v3(events.into());
            payload["source_message"]["source_message_id"] = id.into();
            let answer = send(&rig, payload).await.unwrap().answer;
            assert_eq!(answer.items.len(), count);
            assert_eq!(answer.accepted_count, count);
        }
    })
    .await;
}

#[tokio::test]
async fn a_target_that_is_missing_or_ambiguous_becomes_a_manual_review_with_the_reason() {
    on_each_database(async |rig| {
        rig.activate().await;
        ingest_mail(&rig, MAIL).await;
        let answer =
            send(&rig, v3(json!([event("E1", "PAYMENT_PROOF", keys("NOWHERE"))]))).await.unwrap().answer;
        assert_eq!(answer.items[0].task_status.as_deref(), Some("PENDING_MANUAL_REVIEW"));
        assert_eq!(answer.items[0].order_id, None);
        let task_id = answer.items[0].task_id.as_ref().unwrap().parse().unwrap();
        let detail = tasks::show(&rig.hotel, task_id).await.unwrap();
        assert_eq!(detail.warnings[0]["code"], "TARGET_NOT_FOUND");
    })
    .await;
}

#[tokio::test]
async fn a_history_event_never_becomes_a_normal_task() {
    on_each_database(async |rig| {
        rig.activate().await;
        ingest_mail(&rig, MAIL).await;
        let mut history = booking("E1", "GR1");
        history["current_or_history"] = json!("history");
        let answer = send(&rig, v3(json!([history]))).await.unwrap().answer;
        assert_eq!(answer.items[0].task_status.as_deref(), Some("INFORMATIONAL"));
        assert_eq!(answer.items[0].order_id, None);
    })
    .await;
}

#[tokio::test]
async fn the_service_names_what_is_wrong_with_the_hotel_or_the_message() {
    on_each_database(async |rig| {
        let code = async |payload: Value| send(&rig, payload).await.unwrap_err().code();
        assert_eq!(code(v3(json!([]))).await, "HOTEL_NOT_RESOLVED");
        rig.activate().await;
        assert_eq!(code(v3(json!([]))).await, "SOURCE_MESSAGE_NOT_FOUND");
        let mut without = v3(json!([]));
        without.as_object_mut().unwrap().remove("source_message");
        assert_eq!(code(without).await, "MISSING_SOURCE_MESSAGE_ID");
        let other_hotel =
            json!({"hotel_id": "1", "source_message_id": "m1@sunny.example", "ai_task_results": []});
        assert_eq!(code(other_hotel).await, "HOTEL_MISMATCH");
        ingest_mail(&rig, MAIL).await;
        let namesake = [MAIL, b"Another body.\r\n".as_slice()].concat();
        let second = ingest::mail(&rig.hotel, rig.request("test"), "FILE", namesake).await.unwrap();
        assert!(second.external_message_id.starts_with("m1@sunny.example#sha256:"));
        assert_eq!(code(v3(json!([]))).await, "SOURCE_MESSAGE_AMBIGUOUS");
        rig.activate().await;
        assert_eq!(code(v3(json!([]))).await, "HOTEL_NOT_RESOLVED");
    })
    .await;
}

#[tokio::test]
async fn s10_is_for_information_and_s99_for_review() {
    on_each_database(async |rig| {
        rig.activate().await;
        for (route, review, status) in [
            ("S10", Value::Null, "INFORMATIONAL"),
            (
                "S99",
                json!({"reason_code": "UNCLEAR", "question": "?", "candidates": []}),
                "PENDING_MANUAL_REVIEW",
            ),
        ] {
            let id = format!("{route}@sunny.example");
            ingest_mail(&rig, String::from_utf8_lossy(MAIL).replace("m1@sunny.example", &id).as_bytes())
                .await;
            let mut payload = v3(json!([]));
            for field in ["message_events", "case_candidates", "unhandled_current_intents"] {
                payload.as_object_mut().unwrap().remove(field);
            }
            payload["source_message"]["source_message_id"] = id.into();
            payload["route_code"] = route.into();
            payload["handler_type"] = "entry".into();
            payload["result_type"] = "informational_message".into();
            payload["current_or_history"] = "current".into();
            payload["agent_assessment"] = json!({"summary": "newsletter"});
            payload["notification"] = json!({"title": "Newsletter"});
            payload["manual_review"] = review;
            let answer = send(&rig, payload).await.unwrap().answer;
            assert_eq!(answer.items[0].task_status.as_deref(), Some(status), "{route}");
        }
    })
    .await;
}

#[tokio::test]
async fn v2_keeps_its_indices_and_names_a_wrong_task_type() {
    on_each_database(async |rig| {
        rig.activate().await;
        ingest_mail(&rig, MAIL).await;
        let result = |index: Value, task_type: &str| {
            json!({"source_event_index": index, "catalog_code": "C14", "skill_id": "s", "result_type": "normal_task",
                "task_type": task_type})
        };
        let payload = json!({"source_message_id": "m1@sunny.example",
            "ai_task_results": [result(json!("7"), "ANSWER_INQUIRY"), result(json!(3), "WRONG")]});
        let answer = send(&rig, payload).await.unwrap().answer;
        let indices: Vec<&str> = answer.items.iter().map(|item| item.source_event_index.get()).collect();
        assert_eq!(indices, ["\"7\"", "3"]);
        assert_eq!(answer.items[0].task_status.as_deref(), Some("PENDING_CONFIRMATION"));
        assert_eq!(answer.items[1].error.as_ref().unwrap().code, "TASK_TYPE_MISMATCH");
        assert!(answer.mapping_diagnostics.is_none());
    })
    .await;
}

#[tokio::test]
async fn many_agents_at_once_give_one_batch_and_replays_of_it() {
    on_each_database(async |rig| {
        rig.activate().await;
        ingest_mail(&rig, MAIL).await;
        let rig = std::sync::Arc::new(rig);
        let agents: Vec<_> = (0..16)
            .map(|_| {
                let rig = std::sync::Arc::clone(&rig);
                tokio::spawn(
                    async move { send(&rig, v3(json!([booking("E1", "GR1")]))).await.unwrap().answer },
                )
            })
            .collect();
        let mut batches = std::collections::HashSet::new();
        let mut winners = 0;
        for agent in agents {
            let answer = agent.await.unwrap();
            winners += usize::from(!answer.idempotent_replay);
            batches.insert(answer.batch_id);
        }
        assert_eq!((batches.len(), winners), (1, 1));
    })
    .await;
}

#[tokio::test]
async fn rejecting_the_only_create_task_cancels_its_draft_so_that_it_can_be_created_again() {
    on_each_database(async |rig| {
        rig.activate().await;
        ingest_mail(&rig, MAIL).await;
        let first = send(&rig, v3(json!([booking("E1", "GR1")]))).await.unwrap().answer;
        let task_id = first.items[0].task_id.as_ref().unwrap().parse().unwrap();
        let decision = |act| tasks::Decision {
            task_id,
            act,
            is_admin: false,
            edits: Vec::new(),
            actor: "mei".into(),
            version: None,
            reason: Some("duplicate".into()),
        };
        tasks::decide(&rig.hotel, rig.request("mei"), decision(Act::Reject)).await.unwrap();
        let late = tasks::decide(&rig.hotel, rig.request("mei"), decision(Act::Confirm)).await.unwrap_err();
        assert_eq!(late.code(), "MOVE_NOT_ALLOWED");
        let second_mail = String::from_utf8_lossy(MAIL).replace("m1@", "m2@");
        ingest_mail(&rig, second_mail.as_bytes()).await;
        let mut payload = v3(json!([booking("E1", "GR1")]));
        payload["source_message"]["source_message_id"] = "m2@sunny.example".into();
        let second = send(&rig, payload).await.unwrap().answer;
        assert_eq!(second.items[0].task_status.as_deref(), Some("PENDING_CONFIRMATION"));
        assert_ne!(second.items[0].order_id, first.items[0].order_id);
    })
    .await;
}

#[tokio::test]
async fn a_stale_version_is_a_conflict_that_shows_what_changed() {
    on_each_database(async |rig| {
        rig.activate().await;
        ingest_mail(&rig, MAIL).await;
        let answer = send(&rig, v3(json!([booking("E1", "GR1")]))).await.unwrap().answer;
        let task_id = answer.items[0].task_id.as_ref().unwrap().parse().unwrap();
        let decision = |actor: &str| tasks::Decision {
            task_id,
            act: Act::Confirm,
            is_admin: false,
            edits: Vec::new(),
            actor: actor.into(),
            version: Some(1),
            reason: Some("checked".into()),
        };
        tasks::decide(&rig.hotel, rig.request("mei"), decision("mei")).await.unwrap();
        let second = tasks::decide(&rig.hotel, rig.request("li"), decision("li")).await.unwrap_err();
        assert_eq!(second.code(), "VERSION_CONFLICT");
        assert_eq!(second.details()["changed_since"][0]["actor"], "mei");
        assert_eq!(second.details()["current_status"], "CONFIRMED");
    })
    .await;
}
