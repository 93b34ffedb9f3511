//! What an index does when the store numbers its rows anew, when messages change, and when its file is damaged.

use super::*;

#[tokio::test]
async fn no_message_is_lost_when_the_store_numbers_its_rows_anew() {
    let rig = Rig::with_rowids(Sizes::new(50, 5, 2_000));
    rig.update().unwrap();
    rig.client().execute_batch("DELETE FROM plain WHERE rowid <= 100; VACUUM").unwrap();
    assert_eq!(rig.all_messages_are_the_same().await, 1_900);
    receive_plain(&rig.client(), 50);
    assert_eq!(rig.all_messages_are_the_same().await, 1_950);
    assert_eq!(rig.update().unwrap().messages_added, 1_950);
    assert_eq!(rig.all_messages_are_the_same().await, 1_950);
    assert_eq!(rig.update().unwrap(), Summary::default());
}

#[tokio::test]
async fn no_message_is_lost_when_new_ones_take_the_numbers_of_removed_ones() {
    let rig = Rig::with_rowids(Sizes::new(50, 5, 2_000));
    rig.update().unwrap();
    let client = rig.client();
    client.execute("DELETE FROM plain WHERE rowid >= 1900", []).unwrap();
    assert_eq!(rig.all_messages_are_the_same().await, 1_899);
    receive_plain(&client, 50);
    assert_eq!(rig.all_messages_are_the_same().await, 1_949);
    rig.update().unwrap();
    assert_eq!(rig.all_messages_are_the_same().await, 1_949);
}

#[tokio::test]
async fn removed_newest_messages_cost_only_the_chunks_they_were_in() {
    let rig = Rig::with_rowids(Sizes::new(50, 5, 2_000));
    rig.update().unwrap();
    receive_plain(&rig.client(), 100);
    rig.update().unwrap();
    assert_eq!(rig.chunks(), 2);
    rig.client().execute("DELETE FROM plain WHERE rowid = 2100", []).unwrap();
    receive_plain(&rig.client(), 1);
    assert_eq!(rig.all_messages_are_the_same().await, 2_100);
    assert_eq!(rig.update().unwrap().messages_added, 100);
    rig.client().execute("DELETE FROM plain WHERE rowid IN (7, 2000)", []).unwrap();
    assert_eq!(rig.update().unwrap(), Summary::default());
    assert_eq!(rig.all_messages_are_the_same().await, 2_098);
}

/// Messages that are newer than all others.
fn receive_plain(client: &Connection, count: i64) {
    for _ in 0..count {
        client
            .execute(
                "INSERT INTO plain SELECT hex(randomblob(8)), session_id, '新的', (SELECT max(send_time) + 1000 FROM plain)
                 FROM plain LIMIT 1",
                [],
            )
            .unwrap();
    }
}

#[tokio::test]
async fn a_message_with_another_time_stays_and_gets_its_place_when_the_index_is_built_anew() {
    let rig = Rig::new(Sizes::new(50, 5, 1_000));
    rig.update().unwrap();
    rig.client()
        .execute("UPDATE chat_message SET send_time = send_time + 86400000 WHERE seq = 78", [])
        .unwrap();
    let sorted = |mut messages: Vec<Message>| {
        messages.sort_by(|one, other| one.message_id.cmp(&other.message_id));
        messages
    };
    let found = messages(&rig.indexed, ALL_MESSAGES).await;
    assert_eq!(sorted(found), sorted(messages(&rig.scanning, ALL_MESSAGES).await));
    rig.rebuild().unwrap();
    assert_eq!(rig.messages_are_the_same(ALL_MESSAGES).await, 1_000);
}

#[tokio::test]
async fn edited_and_moved_messages_are_found_by_what_they_are_when_the_index_is_built_anew() {
    let rig = Rig::new(Sizes::new(50, 5, 1_000));
    rig.update().unwrap();
    rig.client()
        .execute("UPDATE chat_message SET content = '崭新的话', session_id = 'elsewhere' WHERE seq = 77", [])
        .unwrap();
    assert_eq!(rig.rebuild().unwrap().messages_added, 1_000);
    assert_eq!(rig.messages_are_the_same(keyword("崭新的话")).await, 1);
    let moved = MessageQuery { conversation_id: Some("elsewhere"), ..ALL_MESSAGES };
    assert_eq!(rig.messages_are_the_same(moved).await, 1);
}

/// What is on the disk when nobody has the index open.
fn at_rest(path: &Path) -> Vec<u8> {
    drop(Connection::open(path).and_then(|file| file.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")));
    std::fs::read(path).unwrap()
}

#[tokio::test]
async fn a_damaged_index_is_said_to_be_and_is_built_anew_under_a_running_server() {
    let noise: Vec<u8> = (0_u32..50_000).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    for damage in ["noise", "cut short", "no tables"] {
        let rig = Rig::new(Sizes::new(60, 5, 500));
        rig.update().unwrap();
        let whole = at_rest(&rig.index_path());
        match damage {
            "noise" => std::fs::write(rig.index_path(), &noise).unwrap(),
            "cut short" => std::fs::write(rig.index_path(), &whole[..whole.len() / 8192 * 4096]).unwrap(),
            _ => Connection::open(rig.index_path())
                .unwrap()
                .execute_batch("DROP TABLE posting; DROP TABLE message_block")
                .unwrap(),
        }
        let warning = rig.warning().await;
        assert!(warning.contains("damaged") && warning.contains("index --rebuild"), "{damage}: {warning}");
        rig.messages_are_the_same(keyword("的")).await;
        rig.rebuild().unwrap();
        assert_eq!(rig.warning().await, "", "{damage}");
        assert_eq!(
            rig.messages_are_the_same(keyword("的")).await,
            messages(&rig.scanning, keyword("的")).await.len()
        );
        rig.rebuild().unwrap();
        assert_eq!(rig.warning().await, "", "{damage}: an open index sees the new one");
    }
}

#[tokio::test]
async fn an_index_that_was_taken_away_is_not_used_any_more() {
    let rig = Rig::new(Sizes::new(60, 5, 100));
    rig.update().unwrap();
    assert_eq!(rig.warning().await, "");
    std::fs::remove_dir_all(rig.index_path().parent().unwrap()).unwrap();
    assert!(rig.warning().await.contains("there is no search index"));
    rig.update().unwrap();
    assert_eq!(rig.warning().await, "");
}

#[tokio::test]
async fn changed_bytes_in_an_index_are_noticed_before_a_hit_is_lost() {
    for (table, column) in [("posting", "offsets"), ("message_block", "documents")] {
        let rig = Rig::new(Sizes::new(60, 5, 500));
        rig.update().unwrap();
        let file = Connection::open(rig.index_path()).unwrap();
        file.create_scalar_function("damaged", 1, FunctionFlags::SQLITE_DETERMINISTIC, |arguments| {
            let mut bytes: Vec<u8> = arguments.get(0)?;
            // The last byte becomes that of another number.
            *bytes.last_mut().unwrap() ^= 1;
            Ok(bytes)
        })
        .unwrap();
        file.execute_batch(&format!("UPDATE {table} SET {column} = damaged({column})")).unwrap();
        drop(file);
        let page = rig.indexed.messages(&keyword("的")).await.unwrap();
        let why = page.warnings.iter().map(|warning| warning.message.as_str()).collect::<String>();
        assert!(why.contains("damaged") && why.contains("index --rebuild"), "{table}: {why}");
        rig.messages_are_the_same(keyword("的")).await;
    }
}
