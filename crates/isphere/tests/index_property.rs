//! Whatever is in a store and however it changes: the index gives what a scan gives, in the same order.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::path::Path;

use isphere::settings;
use isphere::sources::local::index;
use isphere::sources::local::{LocalReadonly, open_configured};
use isphere::sources::{Lookup, MessageQuery, Source};
use proptest::prelude::*;
use rusqlite::{Connection, params};

const PROFILE: &str = r#"
[contacts]
select = "SELECT id, name, account, department, active FROM person"
[messages]
select = "SELECT rowid AS seq, id, talk AS conversation, body AS text, at AS created FROM message"
time = { created = "unix_ms" }
"#;

/// Something the client does.
#[derive(Clone, Debug)]
enum Deed {
    /// Writes a person, the same one again when the id is.
    Person {
        id: u8,
        name: String,
        account: Option<String>,
        department: String,
        active: bool,
    },
    Forget {
        id: u8,
    },
    Receive {
        talk: u8,
        body: String,
        at: i64,
    },
    Edit {
        seq: u8,
        body: String,
    },
    Remove {
        seq: u8,
    },
    /// Removes the newest messages; the next ones get their numbers.
    RemoveNewest {
        count: u8,
    },
    /// Gives a message another time.
    Retime {
        seq: u8,
        at: i64,
    },
    /// Gives all messages new numbers, without gaps.
    Vacuum,
}

fn deed() -> impl Strategy<Value = Deed> {
    let name = "[张三李重庆单曾乐a1 ]{1,5}";
    prop_oneof![
        3 => (0_u8..30, name, proptest::option::of("[zhangs1.]{1,6}"), "[研发部ab]{1,4}", any::<bool>()).prop_map(
            |(id, name, account, department, active)| Deed::Person { id, name, account, department, active }
        ),
        1 => (0_u8..30).prop_map(|id| Deed::Forget { id }),
        4 => (0_u8..3, "[会议好的ok，]{0,8}", 1_i64..20).prop_map(|(talk, body, at)| Deed::Receive { talk, body, at }),
        1 => (0_u8..40, "[会议好的ok，]{0,8}").prop_map(|(seq, body)| Deed::Edit { seq, body }),
        1 => (0_u8..40).prop_map(|seq| Deed::Remove { seq }),
        1 => (0_u8..20).prop_map(|count| Deed::RemoveNewest { count }),
        1 => (0_u8..40, 1_i64..20).prop_map(|(seq, at)| Deed::Retime { seq, at }),
        1 => Just(Deed::Vacuum),
    ]
}

fn perform(client: &Connection, deeds: &[Deed]) {
    for deed in deeds {
        match deed {
            Deed::Person { id, name, account, department, active } => client.execute(
                "INSERT OR REPLACE INTO person VALUES (?1, ?2, ?3, ?4, ?5)",
                params![format!("u{id}"), name, account, department, active],
            ),
            Deed::Forget { id } => client.execute("DELETE FROM person WHERE id = ?1", [format!("u{id}")]),
            Deed::Receive { talk, body, at } => client.execute(
                "INSERT INTO message (id, talk, body, at) VALUES (hex(randomblob(8)), ?1, ?2, ?3)",
                params![format!("t{talk}"), body, at],
            ),
            Deed::Edit { seq, body } => {
                // A keyword that an edit brings into an indexed message is found after the next build of its chunk;
                // what an edit takes away is gone at once.
                client.execute(
                    "UPDATE message SET body = substr(body, 1, length(?2)) WHERE rowid = ?1",
                    params![seq, body],
                )
            }
            Deed::Remove { seq } => client.execute("DELETE FROM message WHERE rowid = ?1", [seq]),
            Deed::RemoveNewest { count } => client.execute(
                "DELETE FROM message WHERE rowid IN (SELECT rowid FROM message ORDER BY rowid DESC LIMIT ?1)",
                [count],
            ),
            Deed::Retime { seq, at } => {
                client.execute("UPDATE message SET at = ?2 WHERE rowid = ?1", params![seq, at])
            }
            Deed::Vacuum => client.execute("VACUUM", []),
        }
        .unwrap();
    }
}

fn settings(folder: &Path) -> settings::LocalReadonly {
    settings::LocalReadonly { store: Some(folder.join("store.db")), ..Default::default() }
}

async fn people(source: &LocalReadonly, query: &str, include_inactive: bool) -> Vec<String> {
    let (mut all, mut after) = (Vec::new(), None::<String>);
    loop {
        let lookup = Lookup { query, include_inactive, limit: 3, after: after.as_deref() };
        let page = source.contacts(&lookup).await.unwrap();
        all.extend(page.items.iter().map(|found| format!("{:?} {}", found.item, found.position)));
        if page.next.is_none() {
            return all;
        }
        after = page.next;
    }
}

async fn messages(source: &LocalReadonly, talk: Option<&str>, keyword: Option<&str>) -> Vec<String> {
    let (mut all, mut after) = (Vec::new(), None::<String>);
    loop {
        let query = MessageQuery {
            conversation_id: talk,
            conversation_type: None,
            keyword,
            since_ms: None,
            limit: 3,
            after: after.as_deref(),
            until: None,
        };
        let page = source.messages(&query).await.unwrap();
        all.extend(page.items.iter().map(|found| format!("{:?}", found.item)));
        if page.next.is_none() {
            return all;
        }
        after = page.next;
    }
}

/// A message that got another time after it was indexed is found at its old place, so the order is compared only
/// when there is none.
fn comparable(mut messages: Vec<String>, is_in_order: bool) -> Vec<String> {
    if !is_in_order {
        messages.sort_unstable();
    }
    messages
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn index_and_scan_agree_before_and_after_each_update(
        rounds in proptest::collection::vec(proptest::collection::vec(deed(), 0..40), 1..5),
        name in "[张三重庆单曾a1zhcqsdeg ]{1,4}", keyword in "[会议好的ok]{1,2}",
    ) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("store.profile.toml"), PROFILE).unwrap();
        let client = Connection::open(folder.path().join("store.db")).unwrap();
        client
            .execute_batch(
                "CREATE TABLE person (id TEXT PRIMARY KEY, name TEXT, account TEXT, department TEXT, active INTEGER);
                 CREATE TABLE message (id TEXT, talk TEXT, body TEXT, at INTEGER);",
            )
            .unwrap();
        let scanning = LocalReadonly::new(settings(folder.path()));
        let path = index::path(folder.path());
        let indexed = LocalReadonly::new(settings(folder.path())).with_index(path.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let store = open_configured(&settings(folder.path())).unwrap();
        let questions = [(None, None), (Some("t1"), None), (None, Some(&*keyword)), (Some("t0"), Some(&*keyword))];
        let compare = |is_in_order| {
            runtime.block_on(async {
                for (talk, keyword) in questions {
                    let found = comparable(messages(&indexed, talk, keyword).await, is_in_order);
                    prop_assert_eq!(found, comparable(messages(&scanning, talk, keyword).await, is_in_order));
                }
                Ok(())
            })
        };
        let mut is_in_order = true;
        for deeds in &rounds {
            perform(&client, deeds);
            is_in_order &= !deeds.iter().any(|deed| matches!(deed, Deed::Retime { .. }));
            compare(is_in_order)?;
            index::update(&store, &path, &mut |_| {}).unwrap();
            compare(is_in_order)?;
            runtime.block_on(async {
                for include_inactive in [false, true] {
                    let found = people(&indexed, &name, include_inactive).await;
                    prop_assert_eq!(found, people(&scanning, &name, include_inactive).await);
                }
                Ok(())
            })?;
        }
        index::rebuild(&store, &path, &mut |_| {}).unwrap();
        compare(true)?;
    }
}
