//! Many callers at once, on each database: nobody waits for ever, and what they decide is as if one came after the other.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test may panic, and json! makes values"
)]

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use futures_util::future::{join, join_all};
use hotel::app::submit::{Answer, adapter, submit};
use hotel::app::{conversation, ingest};
use hotel::store::{Realm, boxed};
use hotel::testing::{Rig, on_each_database};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

fn mail(id: &str, references: &[String]) -> Vec<u8> {
    let references = references.iter().map(|id| format!(" <{id}>")).collect::<Vec<_>>().concat();
    format!("From: lin@sunny.example\r\nMessage-ID: <{id}>\r\nReferences:{references}\r\nSubject: s\r\n\r\nHi.\r\n")
        .into_bytes()
}

async fn ingest_mail(rig: &Rig, raw: Vec<u8>) {
    let ingested = ingest::mail(&rig.hotel, rig.request("test"), "FILE", raw).await.unwrap();
    assert!(ingested.created);
}

async fn conversation_of(rig: &Rig, message: String) -> String {
    let query = conversation::Query { source_message_id: Some(message), ..Default::default() };
    let tasks = conversation::tasks(&rig.hotel, query, 64 << 10).await.unwrap();
    tasks.external_conversation_id.unwrap()
}

fn booking(message: &str, group: &str) -> Value {
    json!({
        "source_message": {"source_message_id": message, "subject": null, "from": null, "cc": [],
            "received_at": null, "source_channel": "Email"},
        "message_events": [{"source_event_index": "E1", "event_type": "BOOKING_NEW_GROUP", "object_type": "GROUP",
            "case_keys": {"group_code": group, "confirmation_number": null, "reservation_no": null},
            "proposed_changes": [{"field": "arrival", "from": null, "to": "2027-01-10"},
                {"field": "departure", "from": null, "to": "2027-01-12"}]}],
        "case_candidates": [],
        "extraction_warnings": [],
        "unhandled_current_intents": [],
    })
}

async fn send(rig: &Rig, payload: Value) -> Answer {
    submit(&rig.hotel, rig.request("agent"), adapter::from_mcp(payload).unwrap()).await.unwrap().answer
}

#[tokio::test]
async fn writers_that_hold_all_connections_still_get_ids() {
    on_each_database(async |rig| {
        let take = |_| rig.hotel.db.write(|tx| boxed(async move { tx.take_ids(300).await }));
        let firsts: Vec<i64> = join_all((0..64).map(take)).await.into_iter().map(Result::unwrap).collect();
        let sorted: BTreeSet<i64> = firsts.into_iter().collect();
        assert_eq!(sorted.len(), 64);
        assert!(sorted.iter().zip(sorted.iter().skip(1)).all(|(first, next)| next - first >= 300));
    })
    .await;
}

#[tokio::test]
async fn mails_of_one_thread_that_come_at_once_are_one_conversation() {
    on_each_database(async |rig| {
        rig.activate().await;
        let id = |number: usize| format!("m{number}@sunny.example");
        // Half of them name the root, half only their neighbours, so that sets are merged as well as joined.
        let arrive = |number: usize| {
            let known = if number.is_multiple_of(2) {
                vec![id(0)]
            } else {
                vec![id(number - 1), id((number + 1) % 32)]
            };
            ingest_mail(&rig, mail(&id(number), &known))
        };
        join_all((0..32).map(arrive)).await;
        let conversations = join_all((0..32).map(|number| conversation_of(&rig, id(number)))).await;
        assert_eq!(conversations.into_iter().collect::<HashSet<_>>().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn links_that_close_a_chain_at_once_leave_one_conversation() {
    on_each_database(async |rig| {
        rig.activate().await;
        let id = |number: usize| format!("m{number}@sunny.example");
        join_all((0..48).step_by(2).map(|number| ingest_mail(&rig, mail(&id(number), &[])))).await;
        let link =
            |number: usize| ingest_mail(&rig, mail(&id(number), &[id(number - 1), id((number + 1) % 48)]));
        join_all((1..48).step_by(2).map(link)).await;
        let conversations = join_all((0..48).map(|number| conversation_of(&rig, id(number)))).await;
        assert_eq!(conversations.into_iter().collect::<HashSet<_>>().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn one_group_created_by_many_messages_at_once_is_created_for_the_first_only() {
    on_each_database(async |rig| {
        rig.activate().await;
        let id = |number: usize| format!("m{number}@sunny.example");
        for number in 0..8 {
            ingest_mail(&rig, mail(&id(number), &[])).await;
        }
        let answers = join_all((0..8).map(|number| send(&rig, booking(&id(number), "GR1")))).await;
        let mut warned = 0;
        for answer in &answers {
            let task_id = answer.items[0].task_id.as_ref().unwrap().parse().unwrap();
            let detail = hotel::app::tasks::show(&rig.hotel, task_id).await.unwrap();
            let exists =
                detail.warnings.as_array().unwrap().iter().any(|warning| warning["code"] == "ALREADY_EXISTS");
            warned += usize::from(exists);
        }
        assert_eq!(warned, 7);
    })
    .await;
}

#[tokio::test]
async fn submissions_about_other_orders_do_not_wait_for_one_that_is_held_up() {
    on_each_database(async |rig| {
        if rig.database == "sqlite" {
            // One writer: everything waits for it.
            return;
        }
        let hotel_id = rig.activate().await;
        let (entered, leave) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let gates = (Arc::clone(&entered), Arc::clone(&leave));
        let held_up = rig.hotel.db.write(move |tx| {
            let (entered, leave) = gates.clone();
            boxed(async move {
                tx.serialise_on(Realm::Orders, hotel_id, &["group_code:HELD"]).await?;
                entered.add_permits(1);
                leave.acquire().await.unwrap().forget();
                Ok(())
            })
        });
        let others = async {
            entered.acquire().await.unwrap().forget();
            let id = |number: usize| format!("m{number}@sunny.example");
            join_all((0..32).map(|number| ingest_mail(&rig, mail(&id(number), &[])))).await;
            join_all(
                (0..32).map(async |number| send(&rig, booking(&id(number), &format!("GR{number}"))).await),
            )
            .await;
            leave.add_permits(1);
        };
        join(held_up, others).await.0.unwrap();
    })
    .await;
}
