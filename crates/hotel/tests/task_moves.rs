//! What people do with tasks, over every status and every act, and what two of them do at once; on each database.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test may panic, and json! makes values"
)]

use std::sync::Arc;

use futures_util::future::join;
use hotel::Error;
use hotel::app::submit::{adapter, submit};
use hotel::app::tasks::{ACTS, Act, Assignment, Decision, Edit, TaskDetail};
use hotel::app::{ChangedPayload, Hotel, ingest, object_detail, tasks, users};
use hotel::domain::role::Role;
use hotel::domain::task::{TASK_STATUSES, TaskStatus};
use hotel::store::boxed;
use hotel::testing::{Rig, on_each_database};
use serde_json::{Value, json};

/// The moves of the domain, as the design writes them: from, by which act, to.
const MOVES: [(&str, &str, &str); 15] = [
    ("PENDING_CONFIRMATION", "confirm", "CONFIRMED"),
    ("PENDING_CONFIRMATION", "reject", "REJECTED"),
    ("PENDING_CONFIRMATION", "review", "PENDING_MANUAL_REVIEW"),
    ("PENDING_MANUAL_REVIEW", "return", "PENDING_CONFIRMATION"),
    ("PENDING_MANUAL_REVIEW", "reject", "REJECTED"),
    ("PENDING_MANUAL_REVIEW", "close", "CLOSED"),
    ("INFORMATIONAL", "acknowledge", "ACKNOWLEDGED"),
    ("CONFIRMED", "start", "IN_PROGRESS"),
    ("CONFIRMED", "cancel", "CANCELLED"),
    ("CONFIRMED", "undo", "PENDING_CONFIRMATION"),
    ("IN_PROGRESS", "done", "DONE"),
    ("IN_PROGRESS", "fail", "FAILED"),
    ("FAILED", "retry", "IN_PROGRESS"),
    ("FAILED", "cancel", "CANCELLED"),
    // The program's own: a newer submission takes the place of an untouched one.
    ("PENDING_CONFIRMATION", "", "SUPERSEDED"),
];

/// The acts that need a reason whatever the warnings.
const NEED_REASON: [&str; 5] = ["reject", "review", "fail", "cancel", "close"];

/// One event for a message.
async fn propose(hotel: &Arc<Hotel>, rig: &Rig, message_id: &str, event: Value) -> i64 {
    let mut whole = json!({
        "source_event_index": "E1", "event_type": "BOOKING_AMEND", "object_type": "GROUP",
        "case_keys": {"group_code": "GR1", "confirmation_number": null, "reservation_no": null},
        "proposed_changes": [], "details": {},
    });
    whole.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
    let payload = json!({
        "source_message": {"source_message_id": message_id, "subject": null, "from": null, "cc": [],
            "received_at": null, "source_channel": "Email"},
        "message_events": [whole], "case_candidates": [], "unhandled_current_intents": [],
    });
    let submitted = submit(hotel, rig.request("agent"), adapter::from_mcp(payload).unwrap()).await.unwrap();
    submitted.answer.items[0].task_id.as_ref().unwrap().parse().unwrap()
}

/// A message of its own with one event.
async fn task(rig: &Rig, event: Value) -> i64 {
    let id = mail(rig).await;
    propose(&rig.hotel, rig, &id, event).await
}

async fn mail(rig: &Rig) -> String {
    let id = format!("{}@sunny.example", rig.request("test").request_id);
    let raw = format!("From: lin@sunny.example\r\nMessage-ID: <{id}>\r\nSubject: Hi\r\n\r\n{id}\r\n");
    ingest::mail(&rig.hotel, rig.request("test"), "FILE", raw.into_bytes()).await.unwrap();
    id
}

/// A draft for the group GR1, not confirmed yet.
fn new_group() -> Value {
    json!({"event_type": "BOOKING_NEW_GROUP", "proposed_changes": [
        change("arrival", "2027-01-10"), change("departure", "2027-01-12")]})
}

fn amend(changes: Value) -> Value {
    json!({"proposed_changes": changes})
}

fn change(field: &str, to: impl Into<Value>) -> Value {
    json!({"field": field, "from": null, "to": to.into()})
}

fn edit(field: &str, to: impl Into<Value>) -> Edit {
    Edit { field: field.to_owned(), to: to.into() }
}

fn decision(task_id: i64, act: Act, actor: &str) -> Decision {
    let (version, reason) = (None, Some("checked".to_owned()));
    Decision { task_id, act, actor: actor.to_owned(), is_admin: false, version, reason, edits: Vec::new() }
}

async fn decide(rig: &Rig, decision: Decision) -> Result<TaskDetail, Error> {
    tasks::decide(&rig.hotel, rig.request(&decision.actor), decision).await
}

async fn act(rig: &Rig, task_id: i64, act: Act) -> Result<TaskDetail, Error> {
    decide(rig, decision(task_id, act, "mei")).await
}

/// Leads a new task to a status along the table of moves.
async fn task_at(rig: &Rig, status: TaskStatus) -> i64 {
    if status == TaskStatus::Informational {
        return task(rig, json!({"event_type": "INFORMATIONAL"})).await;
    }
    if status == TaskStatus::Superseded {
        let hotel = Hotel { on_changed_payload: ChangedPayload::SupersedeUntouched, ..(*rig.hotel).clone() };
        let (hotel, id) = (Arc::new(hotel), mail(rig).await);
        let first = propose(&hotel, rig, &id, amend(json!([change("rooms", 2)]))).await;
        propose(&hotel, rig, &id, amend(json!([change("rooms", 3)]))).await;
        return first;
    }
    let way: &[Act] = match status {
        TaskStatus::PendingManualReview => &[Act::Review],
        TaskStatus::Confirmed => &[Act::Confirm],
        TaskStatus::InProgress => &[Act::Confirm, Act::Start],
        TaskStatus::Failed => &[Act::Confirm, Act::Start, Act::Fail],
        TaskStatus::Done => &[Act::Confirm, Act::Start, Act::Done],
        TaskStatus::Rejected => &[Act::Reject],
        TaskStatus::Cancelled => &[Act::Confirm, Act::Cancel],
        TaskStatus::Closed => &[Act::Review, Act::Close],
        TaskStatus::Acknowledged => &[Act::Acknowledge],
        _ => &[],
    };
    let informational = status == TaskStatus::Acknowledged;
    let event = if informational {
        json!({"event_type": "INFORMATIONAL"})
    } else {
        amend(json!([change("rooms", 2)]))
    };
    let task = task(rig, event).await;
    for step in way {
        act(rig, task, *step).await.unwrap();
    }
    task
}

async fn shown(rig: &Rig, task: i64) -> TaskDetail {
    tasks::show(&rig.hotel, task).await.unwrap()
}

/// The operations that the trail has for a task, oldest first, with who did them.
async fn recorded(rig: &Rig, task: i64) -> Vec<(String, String)> {
    let rows = rig.hotel.db.read(|tx| boxed(tx.audit_tail(10_000))).await.unwrap();
    let own = rows.into_iter().filter(|row| row.event.target.as_deref() == Some(&format!("task:{task}")));
    own.map(|row| (row.event.operation, row.event.caller)).collect()
}

/// The order that a task is about, as queries show it, without its version.
async fn order(rig: &Rig, task: i64) -> Value {
    let order_id = shown(rig, task).await.task.order_id.unwrap();
    let query = json!({"object_id": format!("ORDER:{order_id}")});
    let detail = object_detail::query(&rig.hotel, serde_json::from_value(query).unwrap()).await.unwrap();
    let mut order = serde_json::to_value(detail).unwrap();
    order.as_object_mut().unwrap().remove("version");
    order
}

/// A confirmed group block GR1.
async fn block(rig: &Rig) -> i64 {
    rig.activate().await;
    let task = task(rig, new_group()).await;
    act(rig, task, Act::Confirm).await.unwrap();
    task
}

fn codes(error: &Error) -> Vec<String> {
    let details = error.details();
    let warnings = details["warnings"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let named = warnings.map(|warning| format!("{} {}", text(&warning["code"]), text(&warning["field"])));
    [error.code().to_owned()].into_iter().chain(named).collect()
}

#[tokio::test]
async fn each_act_moves_a_task_as_the_design_says_and_no_other_moves_it() {
    on_each_database(async |rig| {
        block(&rig).await;
        for from in TASK_STATUSES {
            let waiting = task_at(&rig, from).await;
            assert_eq!(shown(&rig, waiting).await.task.task_status, from.as_str());
            for each in ACTS {
                let written =
                    MOVES.iter().find(|(status, word, _)| *status == from.as_str() && *word == each.as_str());
                if let Some((.., to)) = written {
                    let task = task_at(&rig, from).await;
                    let before = shown(&rig, task).await;
                    let after = act(&rig, task, each).await.unwrap();
                    assert_eq!(after.task.task_status, *to, "{} {}", from.as_str(), each.as_str());
                    assert_eq!(after.task.version, before.task.version + 1);
                    let last = after.history.last().unwrap();
                    assert_eq!((last.from.as_deref(), last.to.as_str()), (Some(from.as_str()), *to));
                    assert_eq!((last.actor.as_str(), last.reason.as_deref()), ("mei", Some("checked")));
                    let record = recorded(&rig, task).await.pop().unwrap();
                    assert_eq!(record, (each.operation().to_owned(), "mei".to_owned()));
                    continue;
                }
                let (before, records) = (shown(&rig, waiting).await, recorded(&rig, waiting).await);
                let refused = act(&rig, waiting, each).await.unwrap_err();
                assert_eq!(refused.code(), "MOVE_NOT_ALLOWED", "{} {}", from.as_str(), each.as_str());
                let after = shown(&rig, waiting).await;
                assert_eq!(after.task.version, before.task.version, "{}", each.as_str());
                assert_eq!(after.history.len(), before.history.len());
                assert_eq!(recorded(&rig, waiting).await, records, "{}", each.as_str());
            }
        }
    })
    .await;
}

#[tokio::test]
async fn an_act_that_needs_a_reason_takes_no_blank_one_and_then_does_nothing() {
    on_each_database(async |rig| {
        block(&rig).await;
        for (from, word, _) in MOVES.iter().filter(|(_, word, _)| NEED_REASON.contains(word)) {
            let task = task_at(&rig, TaskStatus::parse(from).unwrap()).await;
            let version = shown(&rig, task).await.task.version;
            for reason in [None, Some(String::new()), Some(" \u{3000}\n".to_owned())] {
                let without = Decision { reason, ..decision(task, Act::parse(word).unwrap(), "mei") };
                assert_eq!(decide(&rig, without).await.unwrap_err().code(), "REASON_REQUIRED", "{word}");
            }
            assert_eq!(shown(&rig, task).await.task.version, version, "{word}");
        }
        for (from, word) in [("CONFIRMED", "start"), ("IN_PROGRESS", "done"), ("CONFIRMED", "undo")] {
            let task = task_at(&rig, TaskStatus::parse(from).unwrap()).await;
            let without = Decision { reason: None, ..decision(task, Act::parse(word).unwrap(), "mei") };
            decide(&rig, without).await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn an_undo_gives_the_order_back_what_it_was_and_the_task_can_be_confirmed_again() {
    on_each_database(async |rig| {
        block(&rig).await;
        let fields = json!([
            change("rooms", "12"),
            change("departure", "2027-01-13"),
            change("confirmation_number", "C-7"),
            change("rate", json!({"eur": 90})),
        ]);
        for event in [
            amend(fields),
            json!({"event_type": "BOOKING_CANCEL", "details": {"scope": "ALL", "reason": "visa"}}),
        ] {
            let task = task(&rig, event).await;
            let before = order(&rig, task).await;
            let confirmed = act(&rig, task, Act::Confirm).await.unwrap();
            let changed = order(&rig, task).await;
            assert_ne!(changed, before);
            let undone = act(&rig, task, Act::Undo).await.unwrap();
            assert_eq!(undone.task.task_status, "PENDING_CONFIRMATION");
            assert_eq!(undone.task.version, confirmed.task.version + 1);
            assert_eq!(order(&rig, task).await, before);
            act(&rig, task, Act::Confirm).await.unwrap();
            let again = order(&rig, task).await;
            // Of a cancellation the moment is the same too, for the clock stands still.
            assert_eq!(again, changed);
            act(&rig, task, Act::Undo).await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn an_undone_creation_is_a_draft_again_which_a_rejection_then_cancels() {
    on_each_database(async |rig| {
        rig.activate().await;
        let task = task(&rig, new_group()).await;
        let draft = order(&rig, task).await;
        act(&rig, task, Act::Confirm).await.unwrap();
        act(&rig, task, Act::Undo).await.unwrap();
        assert_eq!(order(&rig, task).await, draft);
        assert_eq!(draft["status"], "DRAFT");
        act(&rig, task, Act::Reject).await.unwrap();
        assert_eq!(order(&rig, task).await["status"], "CANCELLED");
    })
    .await;
}

#[tokio::test]
async fn a_creation_whose_review_is_closed_leaves_no_draft_in_the_way_of_another() {
    on_each_database(async |rig| {
        rig.activate().await;
        let first = task(&rig, new_group()).await;
        act(&rig, first, Act::Review).await.unwrap();
        act(&rig, first, Act::Close).await.unwrap();
        assert_eq!(order(&rig, first).await["status"], "CANCELLED");
        let second = task(&rig, new_group()).await;
        assert_eq!(shown(&rig, second).await.task.task_status, "PENDING_CONFIRMATION");
        act(&rig, second, Act::Confirm).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn only_who_confirmed_or_an_admin_undoes_it_whoever_has_the_task_by_now() {
    on_each_database(async |rig| {
        block(&rig).await;
        users::add(&rig.hotel, rig.request("local"), "li", Role::Clerk).await.unwrap();
        for (actor, is_admin, refused) in [("li", false, true), ("li", true, false), ("mei", false, false)] {
            let task = task_at(&rig, TaskStatus::Confirmed).await;
            assign(&rig, task, None, Some("li")).await.unwrap();
            let undone = decide(&rig, Decision { is_admin, ..decision(task, Act::Undo, actor) }).await;
            match undone {
                Ok(undone) => assert!(!refused && undone.task.task_status == "PENDING_CONFIRMATION"),
                Err(error) => assert!(refused && error.code() == "UNDO_BY_OTHER", "{actor} {error}"),
            }
        }
    })
    .await;
}

#[tokio::test]
async fn what_another_task_changed_on_the_order_since_is_not_undone() {
    on_each_database(async |rig| {
        block(&rig).await;
        let first = task(&rig, amend(json!([change("rooms", 2)]))).await;
        let second = task(&rig, amend(json!([change("room_type", "TWN")]))).await;
        act(&rig, first, Act::Confirm).await.unwrap();
        act(&rig, second, Act::Confirm).await.unwrap();
        let now = order(&rig, first).await;
        assert_eq!(act(&rig, first, Act::Undo).await.unwrap_err().code(), "ORDER_CHANGED_SINCE");
        assert_eq!(order(&rig, first).await, now);
        act(&rig, second, Act::Undo).await.unwrap();
        // The order has the first one's values again, and still it changed twice since.
        assert_eq!(act(&rig, first, Act::Undo).await.unwrap_err().code(), "ORDER_CHANGED_SINCE");
    })
    .await;
}

#[tokio::test]
async fn an_edit_that_mends_a_stop_is_applied_and_kept_beside_what_was_proposed() {
    on_each_database(async |rig| {
        block(&rig).await;
        let proposed = json!([change("arrival", "2027-02-31"), change("rooms", 10), change("note", "late")]);
        let task = task(&rig, amend(proposed)).await;
        let edits = vec![edit("arrival", "2027-01-11"), edit("rooms", 8), edit("note", "late")];
        let refused = act(&rig, task, Act::Confirm).await.unwrap_err();
        assert_eq!(codes(&refused), ["CONFIRM_BLOCKED", "INVALID_PROPOSED_VALUE arrival"]);
        let done = decide(&rig, Decision { edits, ..decision(task, Act::Confirm, "mei") }).await.unwrap();
        let order = order(&rig, task).await;
        assert_eq!((&order["arrival"], &order["fields"]["rooms"]), (&json!("2027-01-11"), &json!(8)));
        let kept = &done.history.last().unwrap().detail["edits"];
        let expected = json!([
            {"field": "arrival", "proposed": "2027-02-31", "to": "2027-01-11"},
            {"field": "rooms", "proposed": 10, "to": 8},
        ]);
        assert_eq!(*kept, expected, "what is as the agent said is no edit");
        assert_eq!(done.proposed_changes[0]["to"], "2027-02-31", "the proposal itself stays");
    })
    .await;
}

#[tokio::test]
async fn an_edit_is_judged_like_the_agents_value_and_named_with_its_field() {
    on_each_database(async |rig| {
        block(&rig).await;
        let proposed = json!([change("departure", "2027-01-14"), change("rooms", 10)]);
        let task = task(&rig, amend(proposed)).await;
        for (edits, expected) in [
            (vec![edit("departure", "2027-01-10")], "DEPARTURE_NOT_AFTER_ARRIVAL departure"),
            (vec![edit("departure", "tomorrow")], "INVALID_PROPOSED_VALUE departure"),
            (vec![edit("departure", Value::Null)], "INVALID_PROPOSED_VALUE departure"),
            (vec![edit("rooms", 0)], "INVALID_PROPOSED_VALUE rooms"),
            (vec![edit("status", "CANCELLED")], "INVALID_PROPOSED_VALUE status"),
            (vec![edit("cancellation", json!({}))], "INVALID_PROPOSED_VALUE cancellation"),
            (vec![edit("group_code", " ")], "INVALID_PROPOSED_VALUE group_code"),
            (vec![edit("", "x")], "INVALID_PROPOSED_VALUE "),
        ] {
            let wrong = Decision { edits, ..decision(task, Act::Confirm, "mei") };
            let refused = decide(&rig, wrong).await.unwrap_err();
            assert_eq!(codes(&refused), ["CONFIRM_BLOCKED", expected]);
        }
        let cleared = vec![edit("rooms", Value::Null)];
        decide(&rig, Decision { edits: cleared, ..decision(task, Act::Confirm, "mei") }).await.unwrap();
        assert_eq!(order(&rig, task).await["fields"]["rooms"], Value::Null);
    })
    .await;
}

async fn assign(
    rig: &Rig,
    task_id: i64,
    version: Option<i64>,
    to: Option<&str>,
) -> Result<TaskDetail, Error> {
    let assignment = Assignment { task_id, actor: "mei".into(), version, assignee: to.map(str::to_owned) };
    tasks::assign(&rig.hotel, rig.request("mei"), assignment).await
}

#[tokio::test]
async fn an_open_task_is_given_to_who_may_log_in_and_back() {
    on_each_database(async |rig| {
        block(&rig).await;
        for name in ["li", "gone"] {
            users::add(&rig.hotel, rig.request("local"), name, Role::Clerk).await.unwrap();
        }
        users::disable(&rig.hotel, rig.request("local"), "gone").await.unwrap();
        let task = task_at(&rig, TaskStatus::PendingConfirmation).await;
        for nobody in ["gone", "nobody", ""] {
            let refused = assign(&rig, task, None, Some(nobody)).await.unwrap_err();
            assert_eq!(refused.code(), "ASSIGNEE_UNKNOWN", "{nobody}");
        }
        let given = assign(&rig, task, Some(1), Some(" ＬＩ ")).await.unwrap();
        assert_eq!((given.task.assignee.as_deref(), given.task.version), (Some("li"), 2));
        assert_eq!(given.task.task_status, "PENDING_CONFIRMATION");
        let stale = assign(&rig, task, Some(1), None).await.unwrap_err();
        assert_eq!(stale.code(), "VERSION_CONFLICT");
        assert_eq!(assign(&rig, task, Some(2), None).await.unwrap().task.assignee, None);
        let records: Vec<String> = recorded(&rig, task).await.into_iter().map(|row| row.0).collect();
        assert_eq!(records, ["hotel_task_assign"; 2]);
        for over in TASK_STATUSES.into_iter().filter(|status| !status.is_open()) {
            let task = task_at(&rig, over).await;
            let refused = assign(&rig, task, None, Some("li")).await.unwrap_err();
            assert_eq!(refused.code(), "MOVE_NOT_ALLOWED", "{}", over.as_str());
        }
    })
    .await;
}

#[tokio::test]
async fn of_several_acknowledged_at_once_each_is_a_move_and_what_others_did_is_left_and_named() {
    on_each_database(async |rig| {
        block(&rig).await;
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(task_at(&rig, TaskStatus::Informational).await);
        }
        let waiting = task_at(&rig, TaskStatus::PendingConfirmation).await;
        decide(&rig, decision(ids[1], Act::Acknowledge, "li")).await.unwrap();
        let seen = vec![(ids[0], 1), (ids[1], 1), (ids[2], 1), (waiting, 1), (7, 1)];
        let bulk = tasks::acknowledge(&rig.hotel, rig.request("mei"), "mei", seen).await.unwrap();
        assert_eq!((bulk.done, bulk.left), (vec![ids[0], ids[2]], vec![ids[1], waiting, 7]));
        for (task, who) in [(ids[0], "mei"), (ids[1], "li"), (ids[2], "mei")] {
            let detail = shown(&rig, task).await;
            assert_eq!((detail.task.task_status.as_str(), detail.task.version), ("ACKNOWLEDGED", 2));
            assert_eq!(recorded(&rig, task).await, [("hotel_task_acknowledge".to_owned(), who.to_owned())]);
        }
        assert_eq!(shown(&rig, waiting).await.task.version, 1);
    })
    .await;
}

#[tokio::test]
async fn of_two_people_at_once_one_is_first_and_the_other_learns_what_was_done() {
    on_each_database(async |rig| {
        block(&rig).await;
        users::add(&rig.hotel, rig.request("local"), "li", Role::Clerk).await.unwrap();
        for (status, first, second) in [
            (TaskStatus::PendingConfirmation, Act::Confirm, Act::Confirm),
            (TaskStatus::PendingConfirmation, Act::Confirm, Act::Reject),
            (TaskStatus::PendingManualReview, Act::Return, Act::Close),
            (TaskStatus::Confirmed, Act::Undo, Act::Start),
            (TaskStatus::Confirmed, Act::Undo, Act::Undo),
        ] {
            let task = task_at(&rig, status).await;
            let version = shown(&rig, task).await.task.version;
            let of = |act, actor| Decision {
                version: Some(version),
                is_admin: true,
                ..decision(task, act, actor)
            };
            let both = join(decide(&rig, of(first, "mei")), decide(&rig, of(second, "li"))).await;
            let late = match both {
                (Ok(_), Err(error)) | (Err(error), Ok(_)) => error,
                other => panic!("{} {}: {other:?}", first.as_str(), second.as_str()),
            };
            assert_eq!(late.code(), "VERSION_CONFLICT");
            assert_eq!(late.details()["changed_since"].as_array().unwrap().len(), 1);
            assert_eq!(shown(&rig, task).await.task.version, version + 1);
        }
        let task = task_at(&rig, TaskStatus::PendingConfirmation).await;
        let confirm = Decision { version: Some(1), ..decision(task, Act::Confirm, "mei") };
        let both = join(decide(&rig, confirm), assign(&rig, task, Some(1), Some("li"))).await;
        assert!(both.0.is_ok() != both.1.is_ok(), "{both:?}");
    })
    .await;
}
