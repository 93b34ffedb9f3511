//! The search index of a local store gives what a scan gives, in the same order, and keeps up with the store.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod rebuilt;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use isphere::model::{ConversationType, Message};
use isphere::sample::{Sizes, write_store};
use isphere::settings;
use isphere::sources::local::index::{self, IndexError, Summary};
use isphere::sources::local::{LocalReadonly, open_configured};
use isphere::sources::{Hit, Lookup, MessageQuery, Page, Source};
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use tempfile::TempDir;

/// A sample store, and the same source with and without an index.
struct Rig {
    folder: TempDir,
    indexed: LocalReadonly,
    scanning: LocalReadonly,
}

impl Rig {
    fn new(sizes: Sizes) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_store(&folder.path().join("store.db"), sizes, 7, &mut |_| {}).unwrap();
        Self::of(folder)
    }

    fn of(folder: TempDir) -> Self {
        let settings = settings(folder.path());
        let indexed = LocalReadonly::new(settings.clone()).with_index(index::path(folder.path()));
        Self { indexed, scanning: LocalReadonly::new(settings), folder }
    }

    fn update(&self) -> Result<Summary, IndexError> {
        let store = open_configured(&settings(self.folder.path())).unwrap();
        index::update(&store, &self.index_path(), &mut |_| {})
    }

    fn rebuild(&self) -> Result<Summary, IndexError> {
        let store = open_configured(&settings(self.folder.path())).unwrap();
        index::rebuild(&store, &self.index_path(), &mut |_| {})
    }

    fn index_path(&self) -> PathBuf {
        index::path(self.folder.path())
    }

    /// The profile's numbers are rowids, and a table has none of its own: VACUUM gives the rows new ones.
    fn with_rowids(sizes: Sizes) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_store(&folder.path().join("store.db"), sizes, 7, &mut |_| {}).unwrap();
        let client = Connection::open(folder.path().join("store.db")).unwrap();
        client
            .execute_batch(
                "CREATE TABLE plain (msg_id, session_id, content, send_time);
                 INSERT INTO plain SELECT msg_id, session_id, content, send_time FROM chat_message ORDER BY seq;",
            )
            .unwrap();
        let profile = r#"
            [conversations]
            select = "SELECT session_id AS id, min(msg_id) AS name FROM plain GROUP BY session_id"
            [messages]
            select = "SELECT rowid AS seq, msg_id AS id, session_id AS conversation, content AS text, send_time AS created FROM plain"
            time = { created = "unix_ms" }"#;
        std::fs::write(folder.path().join("store.profile.toml"), profile).unwrap();
        Self::of(folder)
    }

    /// All messages, those of a conversation, and those with a word are the same; returns how many there are.
    async fn all_messages_are_the_same(&self) -> usize {
        let conversation = messages(&self.scanning, ALL_MESSAGES).await[10].conversation_id.clone();
        let of_conversation =
            MessageQuery { conversation_id: Some(&conversation), limit: 50, ..ALL_MESSAGES };
        assert!(self.messages_are_the_same(of_conversation).await > 0);
        assert!(self.messages_are_the_same(keyword("的")).await > 0);
        self.messages_are_the_same(ALL_MESSAGES).await
    }

    /// What a search for people warns of, and that it finds what a scan finds all the same.
    async fn warning(&self) -> String {
        self.people_are_the_same("王", true, 10).await;
        let lookup = Lookup { query: "王", include_inactive: true, limit: 10, after: None };
        let warnings = self.indexed.contacts(&lookup).await.unwrap().warnings;
        assert!(warnings.iter().all(|warning| warning.code == "SEARCH_WITHOUT_INDEX"), "{warnings:?}");
        warnings.into_iter().map(|warning| warning.message).collect()
    }

    /// The client at work.
    fn client(&self) -> Connection {
        Connection::open(self.folder.path().join("store.db")).unwrap()
    }

    fn chunks(&self) -> usize {
        let file = Connection::open(self.index_path()).unwrap();
        file.query_row("SELECT count(*) FROM message_chunk", [], |row| row.get(0)).unwrap()
    }

    async fn people_are_the_same(&self, query: &str, include_inactive: bool, limit: usize) {
        let people = |source| people(source, query, include_inactive, limit);
        assert_eq!(people(&self.indexed).await, people(&self.scanning).await, "people for {query:?}");
    }

    async fn messages_are_the_same(&self, query: MessageQuery<'_>) -> usize {
        let indexed = messages(&self.indexed, query).await;
        assert_eq!(indexed, messages(&self.scanning, query).await, "{query:?}");
        indexed.len()
    }
}

fn settings(folder: &Path) -> settings::LocalReadonly {
    settings::LocalReadonly { store: Some(folder.join("store.db")), ..Default::default() }
}

/// All pages of a search in people, groups and conversations: what was found, how sure, and where to go on.
async fn people(source: &LocalReadonly, query: &str, include_inactive: bool, limit: usize) -> Vec<String> {
    let mut all = Vec::new();
    for table in 0..3 {
        let mut after: Option<String> = None;
        loop {
            let lookup = Lookup { query, include_inactive, limit, after: after.as_deref() };
            let next = match table {
                0 => gather(&mut all, source.contacts(&lookup).await.unwrap()),
                1 => gather(&mut all, source.groups(&lookup).await.unwrap()),
                _ => gather(&mut all, source.conversations(&lookup).await.unwrap()),
            };
            if next.is_none() {
                break;
            }
            after = next;
        }
    }
    all
}

fn gather<T: std::fmt::Debug>(all: &mut Vec<String>, page: Page<Hit<T>>) -> Option<String> {
    all.extend(page.items.iter().map(|found| format!("{:?} {}", found.item, found.position)));
    page.next
}

async fn messages(source: &LocalReadonly, query: MessageQuery<'_>) -> Vec<Message> {
    let mut all = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = source.messages(&MessageQuery { after: after.as_deref(), ..query }).await.unwrap();
        all.extend(page.items.into_iter().map(|found| found.item));
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

const ALL_MESSAGES: MessageQuery<'static> = MessageQuery {
    conversation_id: None,
    conversation_type: None,
    keyword: None,
    since_ms: None,
    limit: 200,
    after: None,
    until: None,
};

fn keyword(keyword: &str) -> MessageQuery<'_> {
    MessageQuery { keyword: Some(keyword), ..ALL_MESSAGES }
}

#[tokio::test]
async fn people_groups_and_conversations_are_those_of_a_scan() {
    let rig = Rig::new(Sizes::new(700, 60, 200));
    rig.update().unwrap();
    for query in [
        "王",
        "张伟",
        "伟",
        "wang",
        "w",
        "zw",
        "wangw",
        "zhangwei",
        "zhangwei1",
        "1",
        "u",
        "12",
        "研发",
        "部",
        "工程师",
        "经理",
        "项目组",
        "xiangmu",
        "wei",
        "lixia",
        "不在这里",
        "ｗａｎｇ",
        "Wang Wei",
        "c-000001",
        "avery",
    ] {
        for (include_inactive, limit) in [(false, 61), (true, 100)] {
            rig.people_are_the_same(query, include_inactive, limit).await;
        }
    }
}

#[tokio::test]
async fn messages_are_those_of_a_scan() {
    let rig = Rig::new(Sizes::new(200, 10, 3_000));
    rig.update().unwrap();
    let everything = messages(&rig.scanning, ALL_MESSAGES).await;
    let (middle, conversation) = (everything[1_500].at_ms(), everything[10].conversation_id.clone());
    assert_eq!(rig.messages_are_the_same(ALL_MESSAGES).await, 3_000);
    for query in [
        keyword("的"),
        keyword("好"),
        keyword("会议"),
        keyword("收到"),
        keyword("项目"),
        keyword("OK"),
        keyword("会议纪要"),
        keyword("不在这里的话"),
        MessageQuery { conversation_id: Some(&conversation), limit: 7, ..ALL_MESSAGES },
        MessageQuery { conversation_id: Some(&conversation), ..keyword("的") },
        MessageQuery { conversation_id: Some("unknown"), ..ALL_MESSAGES },
        MessageQuery { conversation_type: Some(ConversationType::Group), ..ALL_MESSAGES },
        MessageQuery { conversation_type: Some(ConversationType::System), limit: 3, ..keyword("的") },
        MessageQuery { since_ms: Some(middle), ..ALL_MESSAGES },
        MessageQuery { since_ms: Some(middle), limit: 11, ..keyword("会") },
    ] {
        rig.messages_are_the_same(query).await;
    }
}

#[tokio::test]
async fn an_update_follows_people_who_come_change_and_go() {
    let rig = Rig::new(Sizes::new(300, 20, 100));
    let first = rig.update().unwrap();
    assert_eq!((first.contacts.written, first.contacts.removed), (300, 0));
    let client = rig.client();
    client
        .execute_batch(
            "UPDATE contact_info SET nick_name = '欧阳新名' WHERE rowid % 10 = 0;
             DELETE FROM contact_info WHERE rowid % 7 = 3;
             INSERT INTO contact_info (user_id, nick_name, login_name, is_valid, update_time)
                 VALUES ('0-first', '欧阳一', 'ouyang1', 1, 1), ('z-last', '欧阳二', 'ouyang2', 0, 1);",
        )
        .unwrap();
    let second = rig.update().unwrap();
    assert_eq!((second.contacts.written, second.contacts.removed), (27, 43));
    assert_eq!(rig.update().unwrap(), Summary::default());
    for query in ["欧阳", "ouyang", "oyx", "王", "wang", "研发"] {
        rig.people_are_the_same(query, true, 10).await;
        rig.people_are_the_same(query, false, 10).await;
    }
}

#[tokio::test]
async fn most_people_may_go_and_the_rest_is_found() {
    let rig = Rig::new(Sizes::new(300, 20, 100));
    rig.update().unwrap();
    rig.client().execute("DELETE FROM contact_info WHERE rowid % 3 > 0", []).unwrap();
    rig.update().unwrap();
    rig.people_are_the_same("王", true, 10).await;
    rig.client().execute("DELETE FROM contact_info", []).unwrap();
    rig.update().unwrap();
    rig.people_are_the_same("王", true, 10).await;
}

/// Puts messages into the store as the client would; `at` in Unix milliseconds.
fn receive(client: &Connection, count: i64, at: i64, text: &str) {
    let next: i64 = client.query_row("SELECT max(seq) + 1 FROM chat_message", [], |row| row.get(0)).unwrap();
    for number in 0..count {
        client
            .execute(
                "INSERT INTO chat_message (seq, msg_id, session_id, from_id, msg_type, content, send_time, is_recalled)
                 SELECT ?1, 'new-' || ?1 || '-' || ?2, session_id, from_id, 1, ?2, ?3, 0 FROM chat_message WHERE seq = 5",
                (next + number, text, at + number),
            )
            .unwrap();
    }
}

#[tokio::test]
async fn messages_behind_the_index_are_found_and_an_update_takes_only_those() {
    let rig = Rig::new(Sizes::new(50, 5, 1_000));
    assert_eq!(rig.update().unwrap().messages_added, 1_000);
    let client = rig.client();
    let newest = messages(&rig.scanning, MessageQuery { limit: 1, ..ALL_MESSAGES }).await[0].at_ms();
    receive(&client, 20, newest + 1, "新到的消息");
    receive(&client, 20, newest - 1_000_000_000, "补来的旧消息");
    for _ in 0..2 {
        assert_eq!(
            rig.messages_are_the_same(keyword("消息")).await,
            messages(&rig.scanning, keyword("消息")).await.len()
        );
        assert_eq!(rig.messages_are_the_same(MessageQuery { limit: 7, ..keyword("旧消息") }).await, 20);
        rig.messages_are_the_same(ALL_MESSAGES).await;
        rig.update().unwrap();
    }
    receive(&client, 3, newest + 100, "再来");
    assert_eq!(rig.update().unwrap().messages_added, 3);
    assert_eq!(rig.update().unwrap().messages_added, 0);
}

#[tokio::test]
async fn edited_and_removed_messages_are_seen_as_they_are() {
    let rig = Rig::new(Sizes::new(50, 5, 1_000));
    let client = rig.client();
    receive(&client, 10, 1_700_000_000_000, "独一无二");
    rig.update().unwrap();
    client
        .execute_batch(
            "DELETE FROM chat_message WHERE content = '独一无二' AND seq % 3 = 0;
             UPDATE chat_message SET content = '改掉了' WHERE content = '独一无二' AND seq % 3 = 1;",
        )
        .unwrap();
    assert!((1..10).contains(&rig.messages_are_the_same(keyword("独一无二")).await));
    // The client gives the number of a removed last message to the next one.
    client.execute("DELETE FROM chat_message WHERE seq = (SELECT max(seq) FROM chat_message)", []).unwrap();
    receive(&client, 1, 1_900_000_000_000, "接了旧号码");
    for _ in 0..2 {
        assert_eq!(rig.messages_are_the_same(keyword("旧号码")).await, 1);
        rig.messages_are_the_same(ALL_MESSAGES).await;
        rig.update().unwrap();
    }
}

/// SQLite numbers rows anew when it compacts a file, and uses the numbers of the last rows again when they are gone.
#[tokio::test]
async fn messages_that_got_other_numbers_are_found_before_and_after_an_update() {
    let renumber = "CREATE TEMP TABLE kept AS SELECT * FROM chat_message ORDER BY seq; DELETE FROM chat_message;
        INSERT INTO chat_message SELECT rowid, msg_id, session_id, from_id, from_name, msg_type, content, send_time,
            recv_time, is_recalled FROM kept;";
    for what_happens in [
        "DELETE FROM chat_message WHERE seq % 7 = 0; RENUMBER",
        "DELETE FROM chat_message WHERE seq < 300; RENUMBER",
        "DELETE FROM chat_message WHERE seq > 900",
        "DELETE FROM chat_message WHERE seq > 700",
        "DELETE FROM chat_message WHERE seq = 450 OR seq = 700",
        "DELETE FROM chat_message",
    ] {
        let rig = Rig::new(Sizes::new(50, 5, 800));
        rig.update().unwrap();
        let client = rig.client();
        receive(&client, 200, 1_700_000_000_000, "后来的");
        rig.update().unwrap();
        assert_eq!(rig.chunks(), 2);
        client.execute_batch(&what_happens.replace("RENUMBER", renumber)).unwrap();
        rig.messages_are_the_same(ALL_MESSAGES).await;
        if what_happens != "DELETE FROM chat_message" {
            receive(&client, 50, 1_900_000_000_000, "接了旧号码");
            assert_eq!(rig.messages_are_the_same(keyword("旧号码")).await, 50, "{what_happens}");
        }
        rig.messages_are_the_same(ALL_MESSAGES).await;
        rig.update().unwrap();
        rig.messages_are_the_same(ALL_MESSAGES).await;
        rig.messages_are_the_same(keyword("后来")).await;
        assert_eq!(rig.update().unwrap().messages_added, 0, "{what_happens}");
    }
}

#[tokio::test]
async fn a_message_whose_time_is_corrected_is_not_lost() {
    let rig = Rig::new(Sizes::new(50, 5, 300));
    receive(&rig.client(), 3, 1_700_000_000_000, "改时间");
    receive(&rig.client(), 3, 1_800_000_000_000, "后面");
    rig.update().unwrap();
    rig.client()
        .execute("UPDATE chat_message SET send_time = send_time + 5 WHERE content = '改时间'", [])
        .unwrap();
    assert_eq!(rig.messages_are_the_same(keyword("改时间")).await, 3);
}

/// Only the beginning of a field is searched, with an index and without.
#[tokio::test]
async fn very_long_names_are_searched_to_the_same_depth() {
    let rig = Rig::new(Sizes::new(50, 5, 100));
    let long = |tail: &str| format!("{}界内{}{tail}", "张".repeat(250), "三".repeat(100_000));
    rig.client().execute("UPDATE contact_info SET nick_name = ?1 WHERE rowid = 7", [long("界外")]).unwrap();
    for _ in 0..2 {
        for (query, count) in [("界内", 1), ("界外", 0), ("zhangzhang", 1), ("张张张", 1)] {
            rig.people_are_the_same(query, true, 10).await;
            let lookup = Lookup { query, include_inactive: true, limit: 5, after: None };
            let found = rig.indexed.contacts(&lookup).await.unwrap();
            let long = found.items.iter().filter(|hit| hit.item.item.display_name.len() > 100_000);
            assert_eq!(long.count(), count, "{query}");
        }
        rig.update().unwrap();
    }
}

#[tokio::test]
async fn many_small_updates_leave_few_chunks() {
    let rig = Rig::new(Sizes::new(50, 5, 200));
    rig.update().unwrap();
    for round in 0..40 {
        receive(&rig.client(), 5, 1_700_000_000_000 + round, "一点一点来");
        rig.update().unwrap();
    }
    assert!(rig.chunks() <= 8, "{} chunks", rig.chunks());
    assert_eq!(rig.messages_are_the_same(keyword("一点一点")).await, 200);
}

#[tokio::test]
async fn an_index_of_another_profile_is_not_used_until_it_is_built_anew() {
    let rig = Rig::new(Sizes::new(50, 5, 100));
    rig.update().unwrap();
    let profile = rig.folder.path().join("store.profile.toml");
    let changed =
        std::fs::read_to_string(&profile).unwrap().replace("nick_name AS name", "upper(nick_name) AS name");
    std::fs::write(&profile, changed).unwrap();
    let rig = Rig::of(rig.folder);
    let lookup = Lookup { query: "王", include_inactive: true, limit: 10, after: None };
    let page = rig.indexed.contacts(&lookup).await.unwrap();
    assert_eq!(page.warnings[0].code, "SEARCH_WITHOUT_INDEX");
    assert_eq!(rig.update().unwrap().contacts.written, 50);
    assert!(rig.indexed.contacts(&lookup).await.unwrap().warnings.is_empty());
}

#[tokio::test]
async fn a_build_that_was_cut_off_is_not_used_and_the_next_goes_on() {
    let rig = Rig::new(Sizes::new(300, 20, 70_000));
    let store = open_configured(&settings(rig.folder.path())).unwrap();
    let cut = catch_unwind(AssertUnwindSafe(|| {
        index::update(&store, &rig.index_path(), &mut |progress| {
            assert!(progress.space != index::Space::Messages, "killed");
        })
    }));
    assert!(cut.is_err());
    assert_eq!(rig.chunks(), 1);
    let limited = MessageQuery { limit: 20, ..keyword("的") };
    let page = rig.indexed.messages(&limited).await.unwrap();
    assert_eq!(page.warnings[0].code, "SEARCH_WITHOUT_INDEX");
    assert_eq!(rig.update().unwrap().messages_added, 70_000 - 65_536);
    let page = rig.indexed.messages(&limited).await.unwrap();
    assert!(page.warnings.is_empty());
}

#[tokio::test]
async fn a_cursor_of_a_scan_goes_on_with_the_index_and_one_of_the_index_after_a_new_build() {
    let rig = Rig::new(Sizes::new(300, 20, 500));
    let everything = messages(&rig.scanning, ALL_MESSAGES).await;
    let first = rig.indexed.messages(&MessageQuery { limit: 50, ..ALL_MESSAGES }).await.unwrap();
    rig.update().unwrap();
    let query = MessageQuery { limit: 50, after: first.next.as_deref(), ..ALL_MESSAGES };
    let second = rig.indexed.messages(&query).await.unwrap();
    assert_eq!(second.items[0].item, everything[50]);
    std::fs::remove_file(rig.index_path()).unwrap();
    let rig = Rig::of(rig.folder);
    rig.update().unwrap();
    let query = MessageQuery { limit: 50, after: second.next.as_deref(), ..ALL_MESSAGES };
    assert_eq!(rig.indexed.messages(&query).await.unwrap().items[0].item, everything[100]);
}

#[test]
fn two_cannot_build_one_index() {
    let rig = Rig::new(Sizes::new(20, 2, 20));
    let store = open_configured(&settings(rig.folder.path())).unwrap();
    let mut refused = false;
    index::update(&store, &rig.index_path(), &mut |_| {
        refused |= matches!(rig.update(), Err(IndexError::Busy));
    })
    .unwrap();
    assert!(refused);
}

#[tokio::test]
async fn a_profile_that_reads_no_messages_says_so() {
    let rig = Rig::new(Sizes::new(3, 1, 5));
    let select = "SELECT user_id AS id, nick_name AS name FROM contact_info";
    let profile = format!("[contacts]\nselect = '{select}'");
    std::fs::write(rig.folder.path().join("store.profile.toml"), profile).unwrap();
    rig.update().unwrap();
    let error = rig.indexed.messages(&keyword("a")).await.unwrap_err();
    assert!(error.to_string().contains("no [messages] section"), "{error}");
}

#[cfg(unix)]
#[test]
fn nobody_else_can_read_an_index() {
    use std::os::unix::fs::PermissionsExt as _;
    let rig = Rig::new(Sizes::new(3, 1, 5));
    rig.update().unwrap();
    let folder = rig.index_path().parent().unwrap().metadata().unwrap();
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
}
