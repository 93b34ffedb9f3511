//! Taking messages in: which conversation they join and how long their parts may be, on each database.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test may panic, and json! makes values"
)]

use base64::Engine as _;
use hotel::Error;
use hotel::app::ingest::{self, AgentBusMessage, Ingested};
use hotel::app::{case_context, conversation};
use hotel::store::boxed;
use hotel::testing::{Rig, on_each_database};
use serde_json::{Value, json};

async fn bus(rig: &Rig, message: Value) -> Result<Ingested, Error> {
    let message: AgentBusMessage = serde_json::from_value(message).unwrap();
    ingest::agentbus(&rig.hotel, rig.request("bus"), message).await
}

fn message(id: &str) -> Value {
    json!({
        "source": {"provider": "AGENTBUS", "channel": "EMAIL", "external_message_id": id},
        "received_at": "2026-11-30T15:00:00+08:00", "text_body": "Hello.",
    })
}

/// A message in a conversation that it names.
fn named(id: &str, conversation: &str) -> Value {
    let mut message = message(id);
    message["source"]["external_conversation_id"] = conversation.into();
    message
}

/// A message whose raw form refers to another.
fn referring(id: &str, to: &str) -> Value {
    let raw = format!("Message-ID: <{id}>\r\nReferences: <{to}>\r\n\r\nHello.\r\n");
    let mut message = message(id);
    message["raw_base64"] = base64::engine::general_purpose::STANDARD.encode(raw).into();
    message
}

async fn count_in_conversation(rig: &Rig, conversation: &str) -> i64 {
    let query = conversation::Query {
        external_conversation_id: Some(conversation.to_owned()),
        ..conversation::Query::default()
    };
    conversation::messages(&rig.hotel, &rig.request("agent"), query).await.unwrap().message_count
}

/// Text of so many characters that compress badly and take four bytes each.
fn wide(characters: u32) -> String {
    (0..characters).filter_map(|number| char::from_u32(0x20000 + number * 7_919 % 42_000)).collect()
}

#[tokio::test]
async fn one_external_conversation_id_is_one_conversation_whoever_names_it_first() {
    on_each_database(async |rig| {
        rig.activate().await;
        for (root, first, second) in [
            ("a@x.example", named("1", "a@x.example"), referring("2@x.example", "a@x.example")),
            ("b@x.example", referring("3@x.example", "b@x.example"), named("4", "b@x.example")),
        ] {
            bus(&rig, first).await.unwrap();
            bus(&rig, second).await.unwrap();
            assert_eq!(count_in_conversation(&rig, root).await, 2, "{root}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_longest_ids_that_are_allowed_are_stored() {
    on_each_database(async |rig| {
        rig.activate().await;
        let mut longest = named(&wide(512), &wide(512));
        longest["source"]["provider"] = wide(64).into();
        longest["source"]["channel"] = wide(64).into();
        let ingested = bus(&rig, longest).await.unwrap();
        assert_eq!(ingested.external_message_id, wide(512));
        let raw = |text: &str| format!("Message-ID: <{}>\r\n\r\n{text}\r\n", wide(512)).into_bytes();
        for text in ["one", "another"] {
            ingest::mail(&rig.hotel, rig.request("test"), "FILE", raw(text)).await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn agentbus_is_told_what_is_too_long() {
    on_each_database(async |rig| {
        rig.activate().await;
        for (pointer, path, value) in [
            ("/source/provider", "$.source.provider", json!(wide(65))),
            ("/source/channel", "$.source.channel", json!(wide(65))),
            ("/source/external_message_id", "$.source.external_message_id", json!(wide(513))),
            ("/source/external_conversation_id", "$.source.external_conversation_id", json!(wide(513))),
            ("/subject", "$.subject", json!("s".repeat(2_001))),
            ("/from", "$.from", json!("f".repeat(1_001))),
            ("/to", "$.to[1]", json!(["a@x.example", "t".repeat(1_001)])),
            ("/cc", "$.cc", json!(vec!["c@x.example"; 1_001])),
            ("/attachments", "$.attachments[0].name", json!([{"name": "n".repeat(1_001)}])),
        ] {
            let mut message = named("1", "c");
            for name in ["subject", "from", "to", "cc", "attachments"] {
                message[name] = Value::Null;
            }
            *message.pointer_mut(pointer).unwrap() = value;
            message.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            let Err(Error::InvalidArgument(fault)) = bus(&rig, message).await else {
                panic!("{path} is taken");
            };
            assert_eq!(fault.path, path);
        }
    })
    .await;
}

#[tokio::test]
async fn a_mail_is_kept_however_long_its_header_is() {
    on_each_database(async |rig| {
        rig.activate().await;
        let id = wide(3_000);
        let references =
            (0..20_000).map(|number| format!(" <r{number}@x.example>\r\n")).collect::<Vec<_>>().concat();
        let raw = format!(
            "Message-ID: <{id}>\r\nReferences: <{id}>\r\n{references}Subject: {id}\r\n\r\nHello.\r\n"
        );
        let long = ingest::mail(&rig.hotel, rig.request("test"), "FILE", raw.into_bytes()).await.unwrap();
        assert!(long.external_message_id.starts_with("sha256:"));
        assert_eq!(count_in_conversation(&rig, "r0@x.example").await, 1);
        let answer = b"Message-ID: <new@x.example>\r\nIn-Reply-To: <r19999@x.example>\r\n\r\nHello.\r\n";
        ingest::mail(&rig.hotel, rig.request("test"), "FILE", answer.to_vec()).await.unwrap();
        assert_eq!(count_in_conversation(&rig, "r0@x.example").await, 2);
    })
    .await;
}

#[tokio::test]
async fn a_query_is_told_which_key_is_too_long() {
    on_each_database(async |rig| {
        rig.activate().await;
        let query = |characters| case_context::Query {
            reservation_no: Some(wide(characters)),
            ..case_context::Query::default()
        };
        assert!(case_context::query(&rig.hotel, query(200), 64 << 10).await.is_ok());
        let Err(Error::InvalidArgument(fault)) = case_context::query(&rig.hotel, query(201), 64 << 10).await
        else {
            panic!("the key is taken");
        };
        assert_eq!(fault.path, "$.reservation_no");
    })
    .await;
}

#[tokio::test]
async fn a_write_that_is_refused_for_what_it_holds_is_told_from_a_database_that_is_gone() {
    on_each_database(async |rig| {
        const INSERT: &str =
            "INSERT INTO platform_hotel (hotel_id, name, status, created_at) VALUES (1, 'x', $1, 0)";
        let insert = |status: &'static str| {
            rig.hotel
                .db
                .write(move |tx| boxed(async move { Ok(tx.execute(INSERT, &[status.into()]).await?) }))
        };
        let concerns_one_write = |refused: Result<u64, Error>| match refused {
            Err(Error::Store(error)) => error.concerns_one_write(),
            other => panic!("{other:?}"),
        };
        assert!(concerns_one_write(insert("SLEEPING").await));
        rig.hotel.db.close().await;
        assert!(!concerns_one_write(insert("ACTIVE").await));
    })
    .await;
}
