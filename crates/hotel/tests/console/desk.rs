//! Mails that came in and what an agent submits for them.

use hotel::app::ingest;
use hotel::app::submit::{adapter, submit};
use hotel::testing::Rig;
use serde_json::{Value, json};

use crate::browser::{Answer, Browser};

/// Takes a mail in and returns its internal id.
pub async fn mail(rig: &Rig, id: &str, headers: &str, body: &str) -> i64 {
    let raw = format!(
        "From: \"Lin\" <lin@sunny.example>\r\nTo: desk@hotel.example\r\nMessage-ID: <{id}>\r\n{headers}\r\n{body}\r\n"
    );
    ingest::mail(&rig.hotel, rig.request("test"), "FILE", raw.into_bytes()).await.unwrap();
    newest(rig).await
}

/// A mail whose text is Chinese and starts so.
pub const TEXT: &str = "Content-Type: text/plain; charset=utf-8\r\n";
/// A mail that is HTML.
pub const HTML: &str = "Content-Type: text/html; charset=utf-8\r\n";

/// A proposal to create the group GR1, or what else `event` says.
pub async fn propose(rig: &Rig, message_id: &str, event: &Value) -> i64 {
    let mut whole = json!({
        "source_event_index": "E1", "event_type": "BOOKING_NEW_GROUP", "object_type": "GROUP",
        "case_keys": {"group_code": "GR1", "confirmation_number": null, "reservation_no": null},
        "proposed_changes": [], "details": {},
    });
    whole.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
    let payload = json!({
        "source_message": {"source_message_id": message_id, "subject": null, "from": null, "cc": [],
            "received_at": null, "source_channel": "Email"},
        "message_events": [whole], "case_candidates": [], "unhandled_current_intents": [],
    });
    let submitted =
        submit(&rig.hotel, rig.request("agent"), adapter::from_mcp(payload).unwrap()).await.unwrap();
    submitted.answer.items[0].task_id.as_ref().unwrap().parse().unwrap()
}

/// All that a clerk needs to confirm a new group without a word.
pub fn complete_group() -> Value {
    let field = |field: &str, to: &str| json!({"field": field, "from": null, "to": to});
    json!({"proposed_changes": [
        field("agency", "Sunny Travel"), field("group_name", "Book Club"), field("arrival", "2027-03-12"),
        field("departure", "2027-03-15"), field("rooms", "10"),
    ]})
}

async fn newest(rig: &Rig) -> i64 {
    let heads = hotel::app::messages::list(&rig.hotel, 1_000).await.unwrap();
    heads.iter().map(|head| head.inbox_id.parse().unwrap()).max().unwrap()
}

/// A mail with a task that a clerk can confirm.
pub async fn task(rig: &Rig, event: &Value) -> i64 {
    mail(rig, "a@sunny.example", &format!("{TEXT}Subject: Group\r\n"), "请预订：\n10 间房，3月12日至15日")
        .await;
    propose(rig, "a@sunny.example", event).await
}

/// Sends the card's form with the version that the last page had.
pub async fn decide(browser: &mut Browser, card: &Answer, task: i64, act: &str, reason: &str) -> Answer {
    let version = card.text.split("name=\"version\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let fields = [("act", act), ("version", version), ("reason", reason)];
    browser.post(&format!("/console/tasks/{task}"), &fields).await
}

pub async fn open(browser: &mut Browser, task: i64) -> Answer {
    browser.get(&format!("/console/tasks/{task}")).await
}

pub async fn status(rig: &Rig, task: i64) -> String {
    hotel::app::tasks::show(&rig.hotel, task).await.unwrap().task.task_status
}

pub async fn order(rig: &Rig, task: i64) -> Value {
    let order = hotel::app::tasks::show(&rig.hotel, task).await.unwrap().task.order_id.unwrap();
    let query = serde_json::from_value(json!({"object_id": format!("ORDER:{order}")})).unwrap();
    serde_json::to_value(hotel::app::object_detail::query(&rig.hotel, query).await.unwrap()).unwrap()
}
