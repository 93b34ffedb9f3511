//! The tools over a real local store: pages while the client writes and the index grows, stores that cannot be read,
//! strange rows, the choice of the source, and the policy.
#![allow(clippy::cast_possible_wrap, reason = "the numbers of these tests are small")]
#![allow(clippy::unwrap_used, reason = "a test may")]

mod common;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "local_store/support.rs"]
mod support;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use common::{Fake, Rig, ids};
use govern::gate::Policy;
use govern::hex::hex;
use isphere::model::SourceName;
use isphere::settings;
use isphere::sources::Source;
use isphere::sources::choice::Opened;
use isphere::sources::local::{index, open_configured};
use rusqlite::Connection;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use support::{Fixture, insert_message};

const CONTACTS: &str = "isphere_search_contacts";
const GROUPS: &str = "isphere_search_groups";
const MESSAGES: &str = "isphere_receive_messages";
const FILES: &str = "isphere_receive_files";

fn local(fixture: &Fixture) -> (SourceName, Opened) {
    let source = fixture.source().with_index(index::path(fixture.folder.path()));
    (SourceName::LocalReadonly, Ok(Arc::new(source) as Arc<dyn Source>))
}

fn mock() -> (SourceName, Opened) {
    (SourceName::Mock, Ok(Arc::new(Fake::organisation()) as Arc<dyn Source>))
}

fn over(fixture: &Fixture) -> Rig {
    Rig::over(vec![local(fixture)], Policy::default(), |_| ())
}

/// What `countersign isphere index` does.
fn update_index(fixture: &Fixture) {
    let store = settings::LocalReadonly { store: Some(fixture.store.clone()), ..Default::default() };
    index::update(&open_configured(&store).unwrap(), &index::path(fixture.folder.path()), &mut |_| {})
        .unwrap();
}

/// The field of all items of all pages; `between` happens after each page.
async fn all_pages(
    rig: &Rig,
    tool: &str,
    mut arguments: Value,
    (list, field): (&str, &str),
    mut between: impl FnMut(usize),
) -> Vec<String> {
    let mut found = Vec::new();
    for page in 0.. {
        let answer = rig.answer(tool, arguments.clone()).await;
        assert_eq!(answer["ok"], true, "{answer}");
        found.extend(ids(&answer[list], field));
        let Some(cursor) = answer["next_cursor"].as_str() else { break };
        arguments["cursor"] = json!(cursor);
        between(page);
    }
    found
}

/// All that was there at first is found, and nothing twice.
fn assert_complete(found: &[String], expected: impl Iterator<Item = String>, what: &str) {
    let once: BTreeSet<_> = found.iter().cloned().collect();
    assert_eq!(once.len(), found.len(), "{what}: a row came twice");
    for id in expected {
        assert!(once.contains(&id), "{what}: {id} is lost");
    }
}

#[tokio::test]
async fn pages_of_messages_lose_and_repeat_nothing_while_messages_arrive_and_the_index_is_built_and_updated()
{
    const FIRST: i64 = 1_700_000_000_000;
    for (arguments, conversations) in [
        (json!({"conversation_id": "c1", "limit": 7}), &["c1"][..]),
        (json!({"conversation_id": "c1", "query": "报价", "limit": 7}), &["c1"]),
        (json!({"query": "报价", "limit": 7}), &["c1", "c2"]),
        (json!({"query": "项目群", "limit": 3, "since": "2023-11-15T06:13:20+08:00"}), &["c2"]),
    ] {
        let fixture = Fixture::chat(40);
        let (rig, client) = (over(&fixture), fixture.writer());
        let found = all_pages(&rig, MESSAGES, arguments.clone(), ("messages", "message_id"), |page| {
            for conversation in ["c1", "c2"] {
                insert_message(&client, conversation, 1_000 + page, FIRST + 1_000_000 + page as i64);
                insert_message(&client, conversation, 2_000 + page, FIRST + 500 + page as i64);
            }
            // Pages 0 and 1 are read without an index, 2 and 3 with it, and so on as it grows.
            if page % 2 == 1 {
                update_index(&fixture);
            }
        })
        .await;
        let first = |conversation: &&str| {
            (0..40).map(|number| format!("{conversation}-{number}")).collect::<Vec<_>>()
        };
        assert_complete(&found, conversations.iter().flat_map(first), &arguments.to_string());
        assert!(found.iter().all(|id| !id.contains("-100")), "what is newer than a page is on no later one");
    }
}

#[tokio::test]
async fn pages_of_people_and_groups_lose_and_repeat_nothing_while_others_join() {
    let fixture = Fixture::chat(1);
    let client = fixture.writer();
    let add = |number: usize| {
        client
            .execute("INSERT INTO user VALUES (?1, '王' || ?1, 'w' || ?1, '销售部', NULL, 1)", [number])
            .unwrap();
        client.execute("INSERT INTO room VALUES ('r' || ?1, '王朝群' || ?1, NULL, 0)", [number]).unwrap();
    };
    (100..130).for_each(add);
    let rig = over(&fixture);
    for (round, (tool, list, field, prefix)) in
        [(CONTACTS, "contacts", "contact_id", ""), (GROUPS, "groups", "group_id", "r")]
            .into_iter()
            .enumerate()
    {
        let arguments = json!({"query": "王", "limit": 4});
        let found = all_pages(&rig, tool, arguments, (list, field), |page| {
            // Before and behind the place where the pages are.
            add(20 + 40 * round + page);
            add(1_000 + 100 * round + page);
            update_index(&fixture);
        })
        .await;
        assert_complete(&found, (100..130).map(|number| format!("{prefix}{number}")), tool);
    }
}

/// Makes a store unusable; the connection is held as long as the store is tried.
type Spoil = fn(&Fixture) -> Option<Connection>;

fn spoiled() -> [(Spoil, &'static str, bool, &'static str); 7] {
    fn overwrite(fixture: &Fixture, change: impl FnOnce(&mut Vec<u8>)) -> Option<Connection> {
        let mut content = std::fs::read(&fixture.store).unwrap();
        change(&mut content);
        std::fs::write(&fixture.store, content).unwrap();
        None
    }
    [
        (
            |fixture| {
                let noise = |at: u32| {
                    (at.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0] ^ (at >> 5).to_le_bytes()[0]
                };
                overwrite(fixture, |content| *content = (0..16_384).map(noise).collect())
            },
            "SOURCE_UNAVAILABLE",
            false,
            "encrypted",
        ),
        (
            |fixture| overwrite(fixture, |content| *content = "你好\n".repeat(4_000).into_bytes()),
            "SOURCE_UNAVAILABLE",
            false,
            "not an SQLite database",
        ),
        (
            |fixture| overwrite(fixture, |content| content.truncate(content.len() / 2)),
            "SOURCE_UNAVAILABLE",
            false,
            "cut short",
        ),
        (
            |fixture| overwrite(fixture, |content| content[100..4096].fill(0xa5)),
            "CONNECTOR_FAILED",
            false,
            "damaged",
        ),
        (
            |fixture| {
                std::fs::remove_file(&fixture.store).unwrap();
                None
            },
            "SOURCE_UNAVAILABLE",
            false,
            "not there",
        ),
        (
            |fixture| {
                let profile = "[contacts]\nselect = 'DELETE FROM user RETURNING uid AS id, nick AS name'";
                std::fs::write(fixture.folder.path().join("store.profile.toml"), profile).unwrap();
                None
            },
            "SOURCE_UNAVAILABLE",
            false,
            "countersign isphere doctor",
        ),
        (
            |fixture| {
                let client = fixture.writer();
                client.execute_batch("BEGIN EXCLUSIVE").unwrap();
                Some(client)
            },
            "SOURCE_UNAVAILABLE",
            true,
            "locked exclusively",
        ),
    ]
}

#[tokio::test]
async fn a_store_that_cannot_be_read_is_told_by_code_and_reason_by_every_tool() {
    let text = "你好";
    let calls = [
        (CONTACTS, json!({"query": "张"})),
        (GROUPS, json!({"query": "群"})),
        (MESSAGES, json!({"conversation_id": "c1"})),
        (FILES, json!({})),
        (
            "isphere_send_message",
            json!({"target_type": "direct", "target_id": "1", "content_text": text,
                "content_sha256": hex(&Sha256::digest(text)), "idempotency_key": "key-1"}),
        ),
    ];
    for (spoil, code, retryable, word) in spoiled() {
        let fixture = Fixture::chat(300);
        let held = spoil(&fixture);
        let rig = over(&fixture);
        for (tool, arguments) in &calls {
            let answer = rig.answer(tool, arguments.clone()).await;
            let code = match code {
                "SOURCE_UNAVAILABLE" if *tool == "isphere_send_message" => "WRITE_NOT_READY",
                code => code,
            };
            assert_eq!(
                (&answer["ok"], &answer["error"]["code"]),
                (&json!(false), &json!(code)),
                "{tool} {word}"
            );
            assert_eq!(answer["error"]["retryable"], retryable, "{tool} {word}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains(word), "{tool}: {message}");
            assert!(!message.contains(fixture.folder.path().to_str().unwrap()), "{message}");
            assert_eq!(answer["audit"]["source"], "local_readonly");
        }
        drop(held);
    }
}

#[tokio::test]
async fn a_store_that_comes_free_is_read_again_within_a_second() {
    let fixture = Fixture::chat(3);
    let rig = over(&fixture);
    let client = fixture.writer();
    client.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_eq!(rig.code(CONTACTS, json!({"query": "张"})).await, "SOURCE_UNAVAILABLE");
    client.execute_batch("ROLLBACK").unwrap();
    rig.clock.advance(Duration::from_secs(1));
    assert_eq!(rig.answer(CONTACTS, json!({"query": "张"})).await["ok"], true);
}

#[tokio::test]
async fn a_store_that_vanishes_between_pages_is_told_and_the_cursor_goes_on_when_it_is_back() {
    let fixture = Fixture::chat(10);
    // A source that could step in must not: a cursor belongs to its source.
    let rig = Rig::over(vec![local(&fixture), mock()], Policy::default(), |_| ());
    let mut arguments = json!({"conversation_id": "c1", "limit": 4});
    let first = rig.answer(MESSAGES, arguments.clone()).await;
    assert_eq!(ids(&first["messages"], "message_id"), ["c1-9", "c1-8", "c1-7", "c1-6"]);
    arguments["cursor"] = first["next_cursor"].clone();
    let away = fixture.folder.path().join("away.db");
    std::fs::rename(&fixture.store, &away).unwrap();
    // At first its health is still believed, and then it is not.
    for _ in 0..2 {
        let answer = rig.answer(MESSAGES, arguments.clone()).await;
        assert_eq!(answer["error"]["code"], "SOURCE_UNAVAILABLE");
        assert!(answer["error"]["message"].as_str().unwrap().contains("not there"), "{answer}");
        assert_eq!((&answer["messages"], &answer["audit"]["source"]), (&json!([]), &json!("local_readonly")));
        rig.clock.advance(Duration::from_secs(1));
    }
    std::fs::rename(&away, &fixture.store).unwrap();
    let next = rig.answer(MESSAGES, arguments).await;
    assert_eq!(ids(&next["messages"], "message_id"), ["c1-5", "c1-4", "c1-3", "c1-2"]);
}

#[tokio::test]
async fn auto_passes_over_a_store_that_is_down_and_a_named_one_has_no_substitute() {
    let fixture = Fixture::chat(1);
    let hidden = fixture.folder.path().join("hidden.db");
    std::fs::rename(&fixture.store, &hidden).unwrap();
    let rig = Rig::over(vec![local(&fixture), mock()], Policy::default(), |_| ());
    for preference in [json!(null), json!("auto")] {
        let answer = rig.answer(CONTACTS, json!({"query": "张三", "source_preference": preference})).await;
        assert_eq!(
            (&answer["contacts"][0]["source"], &answer["audit"]["source"]),
            (&json!("mock"), &json!("mock"))
        );
        let warning = &answer["warnings"][0];
        assert_eq!(warning["code"], "SOURCE_SKIPPED");
        assert!(warning["message"].as_str().unwrap().contains("local_readonly"), "{warning}");
    }
    for (preference, word) in [
        ("local_readonly", "not there"),
        ("bridge", "local_readonly"),
        ("network", "local_readonly"),
        ("uia", "add \"uia\" to [isphere] sources"),
    ] {
        for (tool, arguments) in
            [(CONTACTS, json!({"query": "张"})), (MESSAGES, json!({"query": "张"})), (FILES, json!({}))]
        {
            let mut arguments = arguments;
            arguments["source_preference"] = json!(preference);
            let answer = rig.answer(tool, arguments).await;
            assert_eq!(answer["error"]["code"], "SOURCE_UNAVAILABLE", "{tool} {preference}");
            assert_eq!(answer["audit"]["source"], preference);
            assert!(answer["error"]["message"].as_str().unwrap().contains(word), "{answer}");
        }
    }
    std::fs::rename(&hidden, &fixture.store).unwrap();
    rig.clock.advance(Duration::from_secs(1));
    let answer = rig.answer(CONTACTS, json!({"query": "张三"})).await;
    assert_eq!(
        (&answer["audit"]["source"], &answer["contacts"][0]["source"]),
        (&json!("local_readonly"), &json!("local_readonly"))
    );
}

#[tokio::test]
async fn rows_with_impossible_times_nul_bad_utf8_and_wrong_types_are_read_one_by_one() {
    let fixture = Fixture::chat(2);
    let client = fixture.writer();
    client
        .execute_batch(
            "UPDATE user SET nick = '张' || char(0) || '三' WHERE uid = 1;
             INSERT INTO msg VALUES
               ('year-0', 'c1', 1, '张三', 1, '零', -62167219200000, -62167219200000, 0),
               ('year-9999', 'c1', 1, '张三', 1, '九', 253402300799000, 253402300799000, 0),
               ('text-time', 'c1', 1, '张三', 1, '字', 'soon', x'00ff', 0),
               ('nul', 'c1', 1, char(0) || '张', 1, 'a' || char(0) || 'b', 1700000100000, NULL, 0),
               ('utf8', 'c1', 1, CAST(x'ffe5bc' AS TEXT), 1, CAST(x'61ff62' AS TEXT), 1700000101000, NULL, 0),
               ('types', 'c1', 'one', 2.5, 'one', 17, 1700000102000.0, '1700000102000', 'x');",
        )
        .unwrap();
    for indexed in [false, true] {
        if indexed {
            update_index(&fixture);
        }
        let rig = over(&fixture);
        let (messages, pages) =
            rig.all(MESSAGES, json!({"conversation_id": "c1", "limit": 1}), "messages").await;
        assert_eq!((messages.len(), pages), (8, 8), "{messages:#?}");
        let message = |id: &str| messages.iter().find(|one| one["message_id"] == id).unwrap();
        for id in ["year-0", "year-9999", "text-time"] {
            assert_eq!(
                (&message(id)["created_at"], &message(id)["received_at"]),
                (&json!(null), &json!(null)),
                "{id}"
            );
        }
        assert_eq!(
            (&message("nul")["content_text"], &message("nul")["sender_name"]),
            (&json!("ab"), &json!("张"))
        );
        assert_eq!(message("utf8")["content_text"], "a\u{FFFD}b");
        assert_eq!(
            (&message("types")["content_text"], &message("types")["content_type"]),
            (&json!("17"), &json!("unknown"))
        );
        assert_eq!(message("types")["created_at"], "2023-11-14T22:15:02.000Z");
        let found = rig.answer(CONTACTS, json!({"query": "张三"})).await;
        assert_eq!(found["contacts"][0]["display_name"], "张三");
    }
}

#[tokio::test]
async fn since_may_be_in_the_year_0_or_9999() {
    let fixture = Fixture::chat(5);
    let rig = over(&fixture);
    for (since, count) in [
        ("0000-01-01T00:00:00Z", 5),
        ("0001-01-01T00:00:00+14:00", 5),
        ("2023-11-15T06:13:23+08:00", 2),
        ("9999-12-31T23:59:59-12:00", 0),
    ] {
        let found = rig.answer(MESSAGES, json!({"conversation_id": "c1", "since": since})).await;
        assert_eq!(found["messages"].as_array().map(Vec::len), Some(count), "{since}: {found}");
    }
}

#[tokio::test]
async fn what_the_policy_denies_is_hidden_from_every_search_with_and_without_an_index() {
    let fixture = Fixture::chat(3);
    fixture
        .writer()
        .execute_batch(
            "INSERT INTO att VALUES ('f1', 'c1-0', 'c1', 'a.txt', 1, NULL, 1700000000000, 'a.txt'),
               ('f2', 'c2-0', 'c2', 'b.txt', 1, NULL, 1700000000000, 'b.txt');",
        )
        .unwrap();
    for indexed in [false, true] {
        if indexed {
            update_index(&fixture);
        }
        let policy =
            Policy { deny: vec!["contact:2".to_owned(), "group:g2".to_owned()], ..Policy::default() };
        let rig = Rig::over(vec![local(&fixture)], policy, |_| ());
        let found =
            async |tool, arguments, list: &str, field| ids(&rig.answer(tool, arguments).await[list], field);
        assert_eq!(found(CONTACTS, json!({"query": "部"}), "contacts", "contact_id").await, ["1"]);
        let groups = json!({"query": "项目群", "include_archived": true});
        assert_eq!(found(GROUPS, groups, "groups", "group_id").await, ["g1"]);
        let everywhere = found(MESSAGES, json!({"query": "报价"}), "messages", "conversation_id").await;
        assert_eq!(everywhere, ["c2"; 3], "the conversation with a denied person is hidden as well");
        assert_eq!(found(FILES, json!({}), "files", "file_id").await, ["f2"]);
        let named = rig.answer(MESSAGES, json!({"query": "李四"})).await;
        assert_eq!((&named["conversation"], &named["messages"]), (&json!(null), &json!([])));
        for (tool, arguments) in [
            (MESSAGES, json!({"conversation_id": "c1"})),
            (FILES, json!({"conversation_id": "c1"})),
            (FILES, json!({"file_id": "f1", "mode": "download", "output_dir": "."})),
        ] {
            assert_eq!(rig.code(tool, arguments).await, "PERMISSION_DENIED", "{tool}");
        }
    }
}

#[tokio::test]
async fn a_cursor_of_one_server_is_good_at_another_on_the_same_state_folder() {
    let fixture = Fixture::chat(10);
    let state = tempfile::tempdir().unwrap();
    let server = || {
        Rig::over(vec![local(&fixture)], Policy::default(), |settings| {
            settings.state_dir = state.path().to_owned();
        })
    };
    let (one, other) = (server(), server());
    let mut arguments = json!({"conversation_id": "c1", "limit": 6});
    arguments["cursor"] = one.answer(MESSAGES, arguments.clone()).await["next_cursor"].clone();
    let next = other.answer(MESSAGES, arguments).await;
    assert_eq!(ids(&next["messages"], "message_id"), ["c1-3", "c1-2", "c1-1", "c1-0"]);
}
