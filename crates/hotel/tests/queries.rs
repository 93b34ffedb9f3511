//! The four queries on each database.
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test may panic, and json! makes values"
)]

use hotel::Error;
use hotel::app::case_context::{self, CaseContext};
use hotel::app::conversation::{self, Messages};
use hotel::app::ingest::{self, AgentBusMessage};
use hotel::app::submit::{adapter, submit};
use hotel::app::tasks::Act;
use hotel::app::{object_detail, tasks};
use hotel::testing::{Rig, on_each_database};
use serde_json::{Value, json};

fn raw(id: &str, references: &str, minute: u32, body: &str) -> Vec<u8> {
    let references =
        if references.is_empty() { String::new() } else { format!("References: {references}\r\n") };
    format!(
        "From: Lin <lin@sunny.example>\r\nTo: res@hotel.example\r\nMessage-ID: <{id}>\r\n{references}Subject: Trip\r\n\
         Date: Mon, 30 Nov 2026 15:{minute:02}:00 +0800\r\n\r\n{body}\r\n"
    )
    .into_bytes()
}

async fn mail(rig: &Rig, raw: Vec<u8>) {
    ingest::mail(&rig.hotel, rig.request("test"), "FILE", raw).await.unwrap();
}

async fn bus(
    rig: &Rig,
    provider: &str,
    channel: &str,
    id: &str,
    text: &str,
) -> Result<ingest::Ingested, Error> {
    let message: AgentBusMessage = serde_json::from_value(json!({
        "source": {"provider": provider, "channel": channel, "external_message_id": id,
            "external_conversation_id": "conv-1"},
        "received_at": "2026-11-30T15:00:00+08:00", "text_body": text,
    }))
    .unwrap();
    ingest::agentbus(&rig.hotel, rig.request("bus"), message).await
}

async fn book(rig: &Rig, message: &str, event_type: &str, keys: Value) -> (i64, Option<String>) {
    let payload = json!({
        "source_message": {"source_message_id": message, "subject": null, "from": null, "cc": [],
            "received_at": null, "source_channel": "Email"},
        "message_events": [{"source_event_index": "E1", "event_type": event_type, "case_keys": keys,
            "proposed_changes": [{"field": "arrival", "to": "2027-01-10"}, {"field": "departure", "to": "2027-01-12"}]}],
        "case_candidates": [], "unhandled_current_intents": [],
    });
    let submission = adapter::from_mcp(payload).unwrap();
    let answer = submit(&rig.hotel, rig.request("agent"), submission).await.unwrap().answer;
    (answer.items[0].task_id.as_ref().unwrap().parse().unwrap(), answer.items[0].order_id.clone())
}

async fn confirm(rig: &Rig, task_id: i64) {
    let decision = tasks::Decision {
        task_id,
        act: Act::Confirm,
        is_admin: false,
        edits: Vec::new(),
        actor: "mei".into(),
        version: None,
        reason: Some("checked".into()),
    };
    tasks::decide(&rig.hotel, rig.request("mei"), decision).await.unwrap();
}

async fn context(rig: &Rig, query: Value) -> Result<CaseContext, Error> {
    case_context::query(&rig.hotel, serde_json::from_value(query).unwrap(), 65_536).await
}

async fn messages(rig: &Rig, query: Value, budget: usize) -> Result<Messages, Error> {
    let mut request = rig.request("agent");
    request.budget = budget;
    conversation::messages(&rig.hotel, &request, serde_json::from_value(query).unwrap()).await
}

fn keys(group: Option<&str>, confirmation: Option<&str>) -> Value {
    json!({"group_code": group, "confirmation_number": confirmation, "reservation_no": null})
}

#[tokio::test]
async fn a_confirmed_booking_shows_in_the_case_context_with_its_fields() {
    on_each_database(async |rig| {
        rig.activate().await;
        mail(&rig, raw("m1@x", "", 1, "book")).await;
        let before = context(&rig, json!({"group_code": "GR1"})).await.unwrap();
        assert_eq!(before.target_object_validation.target, "NONE");
        assert!(before.target_object_validation.create_allowed);
        let (task_id, order_id) = book(&rig, "m1@x", "BOOKING_NEW_GROUP", keys(Some("GR1"), None)).await;
        let pending = context(&rig, json!({"group_code": "\u{ff27}\u{ff32}1 "})).await.unwrap();
        assert_eq!(pending.pending_or_open_tasks[0].task_id, task_id.to_string());
        assert_eq!(pending.matched_order_records[0].status, "DRAFT");
        assert_eq!(pending.matched_order_records[0].arrival, None);
        assert!(!pending.target_object_validation.create_allowed);
        confirm(&rig, task_id).await;
        let after = context(&rig, json!({"group_code": "GR1"})).await.unwrap();
        assert_eq!(after.matched_order_records[0].arrival.as_deref(), Some("2027-01-10"));
        assert_eq!(after.matched_order_records[0].matched_by.as_deref(), Some(&["group_code"][..]));
        let object_id = format!("ORDER:{}", order_id.unwrap());
        let detail = object_detail::query(
            &rig.hotel,
            serde_json::from_value(json!({"object_id": object_id})).unwrap(),
        );
        let detail = detail.await.unwrap();
        assert_eq!(detail.version, 2);
        assert!(detail.source_message_id.is_some());
    })
    .await;
}

#[tokio::test]
async fn keys_of_different_orders_are_a_conflict_and_allow_nothing() {
    on_each_database(async |rig| {
        rig.activate().await;
        mail(&rig, raw("m1@x", "", 1, "book")).await;
        mail(&rig, raw("m2@x", "", 2, "book")).await;
        book(&rig, "m1@x", "BOOKING_NEW_GROUP", keys(Some("GR1"), None)).await;
        book(&rig, "m2@x", "BOOKING_NEW_FIT", keys(None, Some("C1"))).await;
        let both = context(&rig, json!({"group_code": "GR1", "confirmation_number": "C1"})).await.unwrap();
        let validation = &both.target_object_validation;
        assert_eq!(validation.target, "AMBIGUOUS");
        assert!(!validation.create_allowed && !validation.update_allowed && !validation.attach_proof_allowed);
        let reasons = serde_json::to_value(&validation.reasons).unwrap();
        assert!(reasons.as_array().unwrap().contains(&json!("KEY_CONFLICT")), "{reasons}");
    })
    .await;
}

#[tokio::test]
async fn a_key_from_history_allows_nothing_but_reading() {
    on_each_database(async |rig| {
        rig.activate().await;
        for query in [
            json!({"group_code": "GR1", "body_thread_used_only_as_evidence": true}),
            json!({"group_code": "GR1", "target_key_source": "body_thread_evidence"}),
        ] {
            let found = context(&rig, query).await.unwrap();
            assert!(!found.target_object_validation.create_allowed);
            let codes = serde_json::to_value(&found.warnings).unwrap().to_string();
            assert!(codes.contains("KEY_FROM_HISTORY_ONLY"), "{codes}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_open_cancel_task_forbids_further_changes() {
    on_each_database(async |rig| {
        rig.activate().await;
        for id in ["m1@x", "m2@x"] {
            mail(&rig, raw(id, "", 1, id)).await;
        }
        book(&rig, "m1@x", "BOOKING_NEW_GROUP", keys(Some("GR1"), None)).await;
        let before = context(&rig, json!({"group_code": "GR1"})).await.unwrap();
        assert!(before.target_object_validation.cancel_allowed);
        book(&rig, "m2@x", "BOOKING_CANCEL", keys(Some("GR1"), None)).await;
        let after = context(&rig, json!({"group_code": "GR1"})).await.unwrap();
        assert!(!after.target_object_validation.cancel_allowed && !after.matched_order_records[0].can_update);
    })
    .await;
}

#[tokio::test]
async fn no_key_is_an_invalid_argument() {
    on_each_database(async |rig| {
        rig.activate().await;
        let error = context(&rig, json!({"group_code": " "})).await.unwrap_err();
        assert_eq!(error.code(), "INVALID_ARGUMENT");
    })
    .await;
}

#[tokio::test]
async fn another_hotels_order_is_not_found() {
    on_each_database(async |rig| {
        rig.activate().await;
        mail(&rig, raw("m1@x", "", 1, "book")).await;
        let (_, order) = book(&rig, "m1@x", "BOOKING_NEW_FIT", keys(None, Some("C1"))).await;
        let detail = async |object_id: String| {
            object_detail::query(&rig.hotel, serde_json::from_value(json!({"object_id": object_id})).unwrap())
                .await
        };
        let object_id = format!("ORDER:{}", order.unwrap());
        assert!(detail(object_id.clone()).await.is_ok());
        let second = rig.activate().await;
        rig.hotel.db.write(move |tx| hotel::store::boxed(tx.activate_hotel(second))).await.unwrap();
        assert_eq!(detail(object_id).await.unwrap_err().code(), "OBJECT_NOT_FOUND");
        assert_eq!(detail("ORDER:x".into()).await.unwrap_err().code(), "INVALID_ARGUMENT");
    })
    .await;
}

#[tokio::test]
async fn a_thread_is_one_conversation_whatever_the_order_of_arrival() {
    on_each_database(async |rig| {
        rig.activate().await;
        // The last mail first, an unrelated one between, and the link of the two halves last.
        mail(&rig, raw("m4@x", "<m1@x> <m3@x>", 4, "four")).await;
        mail(&rig, raw("n1@x", "", 5, "unrelated")).await;
        mail(&rig, raw("m2@x", "<m0@x>", 2, "two")).await;
        mail(&rig, raw("m1@x", "<m0@x>", 1, "one")).await;
        let page = messages(&rig, json!({"source_message_id": "m4@x"}), 65_536).await.unwrap();
        let ids: Vec<&str> =
            page.messages.iter().map(|message| message.external_source_message_id.as_str()).collect();
        assert_eq!(ids, ["m1@x", "m2@x", "m4@x"]);
        assert_eq!(page.message_count, 3);
        for alias in ["m0@x", "m1@x"] {
            let same = messages(&rig, json!({"external_conversation_id": alias}), 65_536).await.unwrap();
            assert_eq!(same.message_count, 3, "{alias}");
        }
        let unknown = messages(&rig, json!({"external_conversation_id": "nobody"}), 65_536).await.unwrap();
        assert_eq!((unknown.message_count, unknown.messages.len()), (0, 0));
    })
    .await;
}

#[tokio::test]
async fn pages_lead_through_all_messages_once_and_a_foreign_cursor_is_refused() {
    on_each_database(async |rig| {
        rig.activate().await;
        for minute in 1..=9 {
            let body = "x".repeat(500);
            mail(&rig, raw(&format!("m{minute}@x"), "<root@x>", minute, &body)).await;
        }
        let mut seen = Vec::new();
        let mut cursor = None::<String>;
        loop {
            let query = json!({"external_conversation_id": "root@x", "cursor": cursor});
            let page = messages(&rig, query, 4_000).await.unwrap();
            assert!(serde_json::to_string(&page).unwrap().len() <= 4_000);
            seen.extend(page.messages.into_iter().map(|message| message.external_source_message_id));
            assert_eq!(page.truncated, page.next_cursor.is_some());
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        let expected: Vec<String> = (1..=9).map(|minute| format!("m{minute}@x")).collect();
        assert_eq!(seen, expected);
        mail(&rig, raw("n1@x", "", 20, "other")).await;
        for wrong in [cursor.unwrap(), "garbage".into()] {
            let query = json!({"external_conversation_id": "n1@x", "cursor": wrong});
            assert_eq!(messages(&rig, query, 4_000).await.unwrap_err().code(), "INVALID_ARGUMENT");
        }
    })
    .await;
}

#[tokio::test]
async fn one_message_over_the_budget_is_cut_and_says_so() {
    on_each_database(async |rig| {
        rig.activate().await;
        mail(&rig, raw("m1@x", "", 1, &"预订".repeat(20_000))).await;
        let page = messages(&rig, json!({"source_message_id": "m1@x"}), 8_000).await.unwrap();
        assert!(page.messages[0].text_truncated && !page.messages[0].text_body.is_empty());
        assert!(serde_json::to_string(&page).unwrap().len() <= 8_000);
    })
    .await;
}

#[tokio::test]
async fn a_body_that_was_read_leaves_an_access_row() {
    on_each_database(async |rig| {
        rig.activate().await;
        mail(&rig, raw("m1@x", "", 1, "one")).await;
        messages(&rig, json!({"source_message_id": "m1@x"}), 65_536).await.unwrap();
        messages(&rig, json!({"source_message_id": "m1@x"}), 65_536).await.unwrap();
        let count = rig.hotel.db.read(|tx| hotel::store::boxed(tx.count_accesses())).await.unwrap();
        assert_eq!(count, 2);
    })
    .await;
}

#[tokio::test]
async fn agentbus_is_idempotent_and_refuses_other_content_under_the_same_id() {
    on_each_database(async |rig| {
        rig.activate().await;
        let first = bus(&rig, "AGENTBUS", "OUTLOOK", "b1", "hello").await.unwrap();
        let again = bus(&rig, "AGENTBUS", "OUTLOOK", "b1", "hello").await.unwrap();
        assert!(first.created && !again.created);
        assert_eq!(first.inbox_id, again.inbox_id);
        assert_eq!(
            bus(&rig, "AGENTBUS", "OUTLOOK", "b1", "other").await.unwrap_err().code(),
            "INGEST_CONFLICT"
        );
    })
    .await;
}

#[tokio::test]
async fn a_conversation_in_two_channels_means_agentbus_email_or_is_ambiguous() {
    on_each_database(async |rig| {
        rig.activate().await;
        bus(&rig, "AGENTBUS", "OUTLOOK", "b1", "one").await.unwrap();
        let only = messages(&rig, json!({"external_conversation_id": "conv-1"}), 65_536).await.unwrap();
        assert_eq!(only.message_count, 1);
        bus(&rig, "AGENTBUS", "WECOM", "b1", "one").await.unwrap();
        for query in [json!({"external_conversation_id": "conv-1"}), json!({"source_message_id": "b1"})] {
            assert_eq!(messages(&rig, query, 65_536).await.unwrap_err().code(), "SOURCE_MESSAGE_AMBIGUOUS");
        }
        bus(&rig, "AGENTBUS", "EMAIL", "b2", "two").await.unwrap();
        let preferred = messages(&rig, json!({"external_conversation_id": "conv-1"}), 65_536).await.unwrap();
        assert_eq!(preferred.messages[0].external_source_message_id, "b2");
        let narrowed = json!({"external_conversation_id": "conv-1", "source_channel": "WECOM"});
        assert_eq!(messages(&rig, narrowed, 65_536).await.unwrap().message_count, 1);
    })
    .await;
}

#[tokio::test]
async fn agentbus_may_send_null_for_what_it_does_not_have_and_the_raw_mail_in_lines() {
    on_each_database(async |rig| {
        rig.activate().await;
        // "Subject: Trip", an empty line, "Two rooms."
        let message = json!({
            "source": {"provider": "AGENTBUS", "channel": "EMAIL", "external_message_id": "b1",
                "external_conversation_id": null},
            "subject": null, "from": null, "to": null, "cc": null, "received_at": "2026-11-30T15:00:00+08:00",
            "text_body": null, "html_body": null,
            "attachments": [{"name": "a.pdf", "size": null, "type": null}],
            "raw_base64": "U3ViamVjdDogVHJp\r\ncAoKVHdvIHJvb21z\r\nLgo=\r\n",
        });
        let mut message: AgentBusMessage = serde_json::from_value(message).unwrap();
        ingest::agentbus(&rig.hotel, rig.request("bus"), message.clone()).await.unwrap();
        let kept = hotel::app::messages::show(&rig.hotel, &rig.request("mei"), "b1").await.unwrap();
        assert_eq!((kept.subject.as_str(), kept.text.as_str()), ("Trip", "Two rooms."));
        assert_eq!((&kept.to, &kept.cc), (&json!([]), &json!([])));

        "b2".clone_into(&mut message.source.external_message_id);
        message.subject = Some("Journey".to_owned());
        ingest::agentbus(&rig.hotel, rig.request("bus"), message).await.unwrap();
        let kept = hotel::app::messages::show(&rig.hotel, &rig.request("mei"), "b2").await.unwrap();
        assert_eq!(kept.subject, "Journey");
    })
    .await;
}
