//! Confirming: the order gets what the person saw, judged by what stands now, on each database.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test may panic, and json! makes values"
)]

use std::time::Duration;

use hotel::Error;
use hotel::app::submit::{adapter, submit};
use hotel::app::tasks::{Act, TaskDetail};
use hotel::app::{ingest, object_detail, tasks};
use hotel::testing::{Rig, on_each_database};
use serde_json::{Value, json};

/// Submits one event for a mail of its own and returns the task's id.
async fn propose(rig: &Rig, event_type: &str, keys: Value, changes: Value, details: Value) -> i64 {
    let request = rig.request("agent");
    let id = format!("{}@sunny.example", request.request_id);
    let raw = format!("From: lin@sunny.example\r\nMessage-ID: <{id}>\r\nSubject: Hi\r\n\r\n{id}\r\n");
    ingest::mail(&rig.hotel, rig.request("test"), "FILE", raw.into_bytes()).await.unwrap();
    let mut all_keys = json!({"group_code": null, "confirmation_number": null, "reservation_no": null});
    all_keys.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    let payload = json!({
        "source_message": {"source_message_id": id, "subject": null, "from": null, "cc": [], "received_at": null,
            "source_channel": "Email"},
        "message_events": [{"source_event_index": "E1", "event_type": event_type, "object_type": "GROUP",
            "case_keys": all_keys, "proposed_changes": changes, "details": details}],
        "case_candidates": [], "unhandled_current_intents": [],
    });
    let submitted = submit(&rig.hotel, request, adapter::from_mcp(payload).unwrap()).await.unwrap();
    submitted.answer.items[0].task_id.as_ref().unwrap().parse().unwrap()
}

async fn amend(rig: &Rig, changes: Value) -> i64 {
    propose(rig, "BOOKING_AMEND", json!({"group_code": "GR1"}), changes, json!({})).await
}

/// A confirmed group block GR1 from 10 to 12 January 2027.
async fn block(rig: &Rig) {
    rig.activate().await;
    let changes = json!([change("arrival", "2027-01-10".into()), change("departure", "2027-01-12".into())]);
    let task = propose(rig, "BOOKING_NEW_GROUP", json!({"group_code": "GR1"}), changes, json!({})).await;
    decide(rig, task, Some("checked")).await.unwrap();
}

fn change(field: &str, to: Value) -> Value {
    json!({"field": field, "from": null, "to": to})
}

async fn decide(rig: &Rig, task_id: i64, reason: Option<&str>) -> Result<TaskDetail, Error> {
    let reason = reason.map(str::to_owned);
    let decision = tasks::Decision {
        task_id,
        act: Act::Confirm,
        is_admin: false,
        edits: Vec::new(),
        actor: "mei".into(),
        version: None,
        reason,
    };
    tasks::decide(&rig.hotel, rig.request("mei"), decision).await
}

/// The code of the error, then those of the warnings it names.
async fn refused(rig: &Rig, task: i64, reason: Option<&str>) -> Vec<String> {
    let error = decide(rig, task, reason).await.unwrap_err();
    let mut codes = vec![error.code().to_owned()];
    let warnings = error.details()["warnings"].as_array().unwrap().clone();
    codes.extend(warnings.iter().map(|warning| warning["code"].as_str().unwrap().to_owned()));
    codes
}

/// The order that a task is about, as queries show it.
async fn order(rig: &Rig, task: i64) -> Value {
    let order_id = tasks::show(&rig.hotel, task).await.unwrap().task.order_id.unwrap();
    let query = json!({"object_id": format!("ORDER:{order_id}")});
    let detail = object_detail::query(&rig.hotel, serde_json::from_value(query).unwrap()).await.unwrap();
    serde_json::to_value(detail).unwrap()
}

#[tokio::test]
async fn a_value_that_does_not_fit_its_field_stops_the_card_and_changes_nothing() {
    on_each_database(async |rig| {
        block(&rig).await;
        let no_to = json!({"field": "room_type", "from": null});
        let mut proposals = vec![json!([no_to]), json!([change("", json!(1))])];
        for field in ["arrival", "departure", "cutoff"] {
            for to in [
                json!(20_270_201),
                json!("2027-02-31"),
                json!("2027/02/01"),
                json!(["2027-02-01"]),
                Value::Null,
            ] {
                proposals.push(json!([change(field, to)]));
            }
        }
        for field in ["group_code", "confirmation_number", "reservation_no"] {
            for to in [json!(7), json!(""), json!({"x": 1}), json!("x".repeat(5_000)), Value::Null] {
                proposals.push(json!([change(field, to)]));
            }
        }
        for (field, to) in [
            ("rooms", json!("many")),
            ("guests", json!(-1)),
            ("status", json!("RESERVED")),
            ("cancellation", json!({})),
        ] {
            proposals.push(json!([change(field, to)]));
        }
        // Two values for one field: the person sees both, the order could get one.
        proposals
            .push(json!([change("arrival", "2027-01-11".into()), change("arrival", "2027-01-09".into())]));
        let before = order(&rig, amend(&rig, json!([change("room_type", "TWN".into())])).await).await;
        for proposal in proposals {
            let task = amend(&rig, proposal.clone()).await;
            let shown = tasks::show(&rig.hotel, task).await.unwrap().warnings.to_string();
            assert!(shown.contains("INVALID_PROPOSED_VALUE"), "{proposal}: {shown}");
            let codes = refused(&rig, task, Some("sure")).await;
            assert_eq!(codes, ["CONFIRM_BLOCKED", "INVALID_PROPOSED_VALUE"], "{proposal}");
            assert_eq!(order(&rig, task).await, before, "{proposal}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_order_gets_every_value_that_was_shown() {
    on_each_database(async |rig| {
        block(&rig).await;
        let changes = json!([
            change("arrival", "2027-01-11".into()),
            change("rooms", "12".into()),
            change("cutoff", "2026-12-24".into()),
            change("confirmation_number", "C-7".into()),
            change("note", Value::Null),
            change("rate", json!({"eur": 90})),
        ]);
        let task = amend(&rig, changes).await;
        decide(&rig, task, Some("checked")).await.unwrap();
        let order = order(&rig, task).await;
        assert_eq!((&order["arrival"], &order["departure"]), (&json!("2027-01-11"), &json!("2027-01-12")));
        assert_eq!(order["confirmation_number"], "C-7");
        let fields = json!({"rooms": "12", "cutoff": "2026-12-24", "note": null, "rate": {"eur": 90}});
        assert_eq!(order["fields"], fields);
    })
    .await;
}

#[tokio::test]
async fn a_cancellation_may_say_the_status_that_it_leads_to_and_keeps_its_scope_and_reason() {
    on_each_database(async |rig| {
        block(&rig).await;
        let changes = json!([change("status", "CANCELLED".into()), change("scope", "ALL".into())]);
        let task =
            propose(&rig, "BOOKING_CANCEL", json!({"group_code": "GR1"}), changes, json!({"reason": "visa"}))
                .await;
        decide(&rig, task, Some("checked")).await.unwrap();
        let order = order(&rig, task).await;
        assert_eq!(order["status"], "CANCELLED");
        assert_eq!(order["fields"]["cancellation"]["scope"], "ALL");
        assert_eq!(order["fields"]["cancellation"]["reason"], "visa");
    })
    .await;
}

#[tokio::test]
async fn dates_are_judged_beside_the_other_date_that_the_order_has_by_now() {
    on_each_database(async |rig| {
        block(&rig).await;
        let shorter = amend(&rig, json!([change("departure", "2027-01-11".into())])).await;
        let later = amend(&rig, json!([change("arrival", "2027-01-11".into())])).await;
        decide(&rig, shorter, Some("checked")).await.unwrap();
        let codes = refused(&rig, later, Some("checked")).await;
        assert_eq!(codes, ["CONFIRM_BLOCKED", "DEPARTURE_NOT_AFTER_ARRIVAL"]);
        let shown = tasks::show(&rig.hotel, later).await.unwrap().warnings.to_string();
        assert!(shown.contains("DEPARTURE_NOT_AFTER_ARRIVAL"), "{shown}");
    })
    .await;
}

#[tokio::test]
async fn an_order_that_was_cancelled_since_takes_no_change() {
    on_each_database(async |rig| {
        block(&rig).await;
        let change = amend(&rig, json!([change("rooms", json!(3))])).await;
        let details = json!({"scope": "ALL", "reason": "visa"});
        let cancel = propose(&rig, "BOOKING_CANCEL", json!({"group_code": "GR1"}), json!([]), details).await;
        decide(&rig, cancel, Some("checked")).await.unwrap();
        assert_eq!(refused(&rig, change, Some("checked")).await, ["CONFIRM_BLOCKED", "ORDER_CANCELLED"]);
    })
    .await;
}

#[tokio::test]
async fn two_drafts_that_propose_one_key_do_not_both_get_it() {
    on_each_database(async |rig| {
        rig.activate().await;
        let mut drafts = Vec::new();
        for group in ["GR1", "GR2"] {
            let changes = json!([change("confirmation_number", "C-1".into())]);
            drafts.push(
                propose(&rig, "BOOKING_NEW_GROUP", json!({"group_code": group}), changes, json!({})).await,
            );
        }
        decide(&rig, drafts[0], Some("checked")).await.unwrap();
        assert_eq!(refused(&rig, drafts[1], Some("checked")).await, ["CONFIRM_BLOCKED", "ALREADY_EXISTS"]);
    })
    .await;
}

#[tokio::test]
async fn what_the_day_or_the_order_changed_since_needs_a_reason() {
    on_each_database(async |rig| {
        block(&rig).await;
        let from = |from: Value, to: Value| json!([{"field": "rooms", "from": from, "to": to}]);
        let first = amend(&rig, from(Value::Null, json!(10))).await;
        decide(&rig, first, Some("checked")).await.unwrap();
        let same = amend(&rig, from(json!("10"), json!(12))).await;
        let stale = amend(&rig, from(json!(10), json!(8))).await;
        let shown = tasks::show(&rig.hotel, same).await.unwrap().warnings.to_string();
        assert!(!shown.contains("CHANGED_SINCE_PROPOSED"), "{shown}");
        decide(&rig, same, Some("checked")).await.unwrap();
        let codes = refused(&rig, stale, None).await;
        assert!(codes.contains(&"CHANGED_SINCE_PROPOSED".to_owned()), "{codes:?}");
        decide(&rig, stale, Some("agreed by phone")).await.unwrap();

        let tomorrow = amend(&rig, json!([change("arrival", "2026-12-01".into())])).await;
        rig.hotel.clock.advance(Duration::from_hours(72));
        let codes = refused(&rig, tomorrow, None).await;
        assert_eq!(codes[0], "REASON_REQUIRED");
        assert!(codes.contains(&"ARRIVAL_IN_PAST".to_owned()), "{codes:?}");
    })
    .await;
}

async fn act(rig: &Rig, task_id: i64, act: Act, actor: &str, is_admin: bool) -> Result<TaskDetail, Error> {
    let decision = tasks::Decision {
        task_id,
        act,
        is_admin,
        edits: Vec::new(),
        actor: actor.into(),
        version: None,
        reason: Some("because".into()),
    };
    tasks::decide(&rig.hotel, rig.request(actor), decision).await
}

#[tokio::test]
async fn undoing_gives_the_order_every_value_back_and_the_task_can_be_confirmed_again() {
    on_each_database(async |rig| {
        block(&rig).await;
        let task =
            amend(&rig, json!([change("arrival", "2027-01-11".into()), change("rooms", 12.into())])).await;
        let before = order(&rig, task).await;
        decide(&rig, task, Some("checked")).await.unwrap();
        let undone = act(&rig, task, Act::Undo, "mei", false).await.unwrap();
        assert_eq!(undone.task.task_status, "PENDING_CONFIRMATION");
        let after = order(&rig, task).await;
        assert_eq!((&after["arrival"], &after["fields"]), (&before["arrival"], &before["fields"]));
        assert_eq!(after["version"], json!(before["version"].as_i64().unwrap() + 2));
        decide(&rig, task, Some("checked")).await.unwrap();
        assert_eq!(order(&rig, task).await["arrival"], "2027-01-11");
    })
    .await;
}

#[tokio::test]
async fn undoing_a_cancellation_and_a_creation_leads_back_too() {
    on_each_database(async |rig| {
        block(&rig).await;
        let cancel = propose(
            &rig,
            "BOOKING_CANCEL",
            json!({"group_code": "GR1"}),
            json!([change("scope", "ALL".into())]),
            json!({}),
        )
        .await;
        decide(&rig, cancel, Some("checked")).await.unwrap();
        assert_eq!(order(&rig, cancel).await["status"], "CANCELLED");
        act(&rig, cancel, Act::Undo, "mei", false).await.unwrap();
        let back = order(&rig, cancel).await;
        assert_eq!(back["status"], "DRAFT");
        assert_eq!(back["fields"].get("cancellation"), None);
    })
    .await;
}

#[tokio::test]
async fn only_who_confirmed_or_an_admin_undoes_and_only_while_the_order_is_as_it_was_left() {
    on_each_database(async |rig| {
        block(&rig).await;
        let first = amend(&rig, json!([change("rooms", 12.into())])).await;
        decide(&rig, first, Some("checked")).await.unwrap();
        assert_eq!(act(&rig, first, Act::Undo, "lin", false).await.unwrap_err().code(), "UNDO_BY_OTHER");
        act(&rig, first, Act::Undo, "lin", true).await.unwrap();
        decide(&rig, first, Some("checked")).await.unwrap();
        let second = amend(&rig, json!([change("rooms", 14.into())])).await;
        decide(&rig, second, Some("checked")).await.unwrap();
        assert_eq!(
            act(&rig, first, Act::Undo, "mei", false).await.unwrap_err().code(),
            "ORDER_CHANGED_SINCE"
        );
        act(&rig, second, Act::Start, "mei", false).await.unwrap();
        assert_eq!(act(&rig, second, Act::Undo, "mei", false).await.unwrap_err().code(), "MOVE_NOT_ALLOWED");
    })
    .await;
}

#[tokio::test]
async fn an_act_that_needs_a_reason_is_refused_without_one_whoever_asks() {
    on_each_database(async |rig| {
        block(&rig).await;
        let task = amend(&rig, json!([change("rooms", 12.into())])).await;
        for reason in [None, Some(String::new()), Some(" \n".to_owned())] {
            for act in [Act::Reject, Act::Review] {
                let decision = tasks::Decision {
                    task_id: task,
                    act,
                    actor: "mei".into(),
                    is_admin: true,
                    version: None,
                    reason: reason.clone(),
                    edits: Vec::new(),
                };
                let error = tasks::decide(&rig.hotel, rig.request("mei"), decision).await.unwrap_err();
                assert_eq!(error.code(), "REASON_REQUIRED");
            }
        }
    })
    .await;
}
