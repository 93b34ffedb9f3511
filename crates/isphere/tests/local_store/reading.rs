//! The local store through its source: people, groups, messages by time, files.

use super::support::{Fixture, SCHEMA, all_pages, insert_message};
use isphere::model::{ContentType, ConversationType};
use isphere::sources::local::LocalReadonly;
use isphere::sources::{FileQuery, Lookup, MessageQuery, Source, SourceError};
use tokio::io::AsyncReadExt;

const ALL: MessageQuery<'_> = MessageQuery {
    conversation_id: None,
    conversation_type: None,
    keyword: None,
    since_ms: None,
    limit: 200,
    after: None,
    until: None,
};

fn lookup(query: &str) -> Lookup<'_> {
    Lookup { query, include_inactive: false, limit: 20, after: None }
}

async fn message_ids(source: &LocalReadonly, query: MessageQuery<'_>) -> Vec<String> {
    all_pages(async |after| source.messages(&MessageQuery { after, ..query }).await)
        .await
        .into_iter()
        .map(|message| message.message_id)
        .collect()
}

#[tokio::test]
async fn people_are_found_the_best_first_and_those_who_left_only_on_request() {
    let (_fixture, source) = Fixture::chat(0).with_source();
    let page = source.contacts(&lookup("张三")).await.unwrap();
    assert_eq!(page.items.len(), 1);
    let contact = &page.items[0].item.item;
    assert_eq!((contact.contact_id.as_str(), contact.department.as_deref()), ("1", Some("销售部")));
    assert!(contact.raw_ref.starts_with("local_readonly:contacts#"));
    assert_eq!(page.warnings[0].code, "SEARCH_WITHOUT_INDEX");

    let everyone = Lookup { include_inactive: true, ..lookup("zhangsan") };
    let names: Vec<String> = source
        .contacts(&everyone)
        .await
        .unwrap()
        .items
        .into_iter()
        .map(|hit| hit.item.item.display_name)
        .collect();
    assert_eq!(names, ["张三", "张三丰"]);
}

#[tokio::test]
async fn a_keyword_behind_more_messages_than_a_page_searches_is_found_on_the_next() {
    let statements = format!(
        "{SCHEMA} WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
         INSERT INTO msg SELECT 'm' || i, 'c1', 1, '张三', 1, iif(i = 0, '会议', '午饭'), 1700000000000 + i, NULL, 0 FROM n;"
    );
    let fixture = Fixture::new(&statements, super::support::PROFILE);
    let source = fixture.source();
    let query = MessageQuery { keyword: Some("会议"), ..ALL };
    let first = source.messages(&query).await.unwrap();
    assert!(first.items.is_empty() && first.next.is_some());
    assert_eq!(first.warnings[0].code, "SEARCH_WITHOUT_INDEX");
    let second = source.messages(&MessageQuery { after: first.next.as_deref(), ..query }).await.unwrap();
    assert_eq!((second.items[0].item.message_id.as_str(), second.next), ("m0", None));
}

#[tokio::test]
async fn a_keyword_search_without_time_gives_up_and_goes_on_with_fewer_until_all_is_found() {
    let fixture = Fixture::chat(1_500);
    let source = fixture.source();
    let query = MessageQuery { keyword: Some("99条"), limit: 4, ..ALL };
    let late = MessageQuery { until: Some(tokio::time::Instant::now()), ..query };
    let first = source.messages(&late).await.unwrap();
    assert!(first.items.is_empty() && first.next.is_some(), "all at once is too much");
    let found = message_ids(&source, late).await;
    assert_eq!(found.len(), 30);
    assert_eq!(found, message_ids(&source, query).await);
}

#[tokio::test]
async fn searches_are_paged_one_by_one_without_loss() {
    let statements: String = (100..150).fold(SCHEMA.to_owned(), |sql, id| {
        sql + &format!("INSERT INTO user VALUES ({id}, '王五{id}', 'w{id}', '', '', 1);")
    });
    let fixture = Fixture::new(&statements, super::support::PROFILE);
    let source = fixture.source();
    let hits =
        all_pages(async |after| source.contacts(&Lookup { limit: 7, after, ..lookup("王五") }).await).await;
    let ids: Vec<String> = hits.into_iter().map(|hit| hit.item.contact_id).collect();
    assert_eq!(ids, (100..150).map(|id| id.to_string()).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_groups_members_are_counted_when_its_row_does_not_say() {
    let (_fixture, source) = Fixture::chat(0).with_source();
    let group = &source.groups(&lookup("项目")).await.unwrap().items[0].item.item;
    assert_eq!((group.group_id.as_str(), group.member_count), ("g1", Some(2)));
    assert_eq!(source.group("g2").await.unwrap().unwrap().member_count, Some(0));
    assert_eq!(source.group("g3").await.unwrap(), None);
}

#[tokio::test]
async fn messages_come_the_newest_first_over_all_pages() {
    let (_fixture, source) = Fixture::chat(50).with_source();
    for limit in [1, 7, 200] {
        let ids = message_ids(&source, MessageQuery { conversation_id: Some("c1"), limit, ..ALL }).await;
        assert_eq!(ids, (0..50).rev().map(|number| format!("c1-{number}")).collect::<Vec<_>>());
    }
    assert_eq!(message_ids(&source, MessageQuery { limit: 3, ..ALL }).await.len(), 100);
}

#[tokio::test]
async fn messages_are_filtered_by_keyword_type_and_time() {
    let (_fixture, source) = Fixture::chat(50).with_source();
    let keyword = MessageQuery { keyword: Some("第4"), limit: 4, ..ALL };
    assert_eq!(message_ids(&source, keyword).await.len(), 22);
    assert_eq!(message_ids(&source, MessageQuery { keyword: Some("报价 a"), ..ALL }).await.len(), 100);
    let group = MessageQuery { conversation_type: Some(ConversationType::Group), ..ALL };
    assert!(message_ids(&source, group).await.iter().all(|id| id.starts_with("c2")));
    let system = MessageQuery { conversation_type: Some(ConversationType::System), ..ALL };
    assert!(message_ids(&source, system).await.is_empty());
    let since = MessageQuery { since_ms: Some(1_700_000_048_000), ..ALL };
    assert_eq!(message_ids(&source, since).await, ["c2-49", "c1-49", "c2-48", "c1-48"]);
    assert!(message_ids(&source, MessageQuery { conversation_id: Some("no"), ..ALL }).await.is_empty());
}

#[tokio::test]
async fn paging_while_rows_arrive_gives_none_twice_and_loses_none() {
    let (fixture, source) = Fixture::chat(40).with_source();
    let writer = fixture.writer();
    let mut number = 1000;
    let query = MessageQuery { conversation_id: Some("c1"), limit: 3, ..ALL };
    let messages = all_pages(async |after| {
        // One newer than all, and one with the very time of a row in the middle.
        for ts in [1_800_000_000_000, 1_700_000_020_000] {
            insert_message(&writer, "c1", number, ts + (number as i64));
            number += 1;
        }
        source.messages(&MessageQuery { after, ..query }).await
    })
    .await;
    let mut ids: Vec<String> = messages.into_iter().map(|message| message.message_id).collect();
    let before = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), before);
    assert!((0..40).all(|number| ids.contains(&format!("c1-{number}"))));
}

#[tokio::test]
async fn rows_without_a_time_come_last_and_arrival_stands_in_for_writing() {
    let fixture = Fixture::new(
        &format!(
            "{SCHEMA} INSERT INTO msg VALUES
             ('none', 'c1', 1, '', 1, 'x', NULL, NULL, 0), ('never', 'c1', 1, '', 1, 'x', 253402300799000, NULL, 0),
             ('zero', 'c1', 1, '', 1, 'x', 0, 0, 0), ('text', 'c1', 1, '', 1, 'x', 'soon', NULL, 0),
             ('arrived', 'c1', 1, '', 1, 'x', NULL, 1700000001500, 0),
             ('one', 'c1', 1, '', 1, 'x', 1700000001000, NULL, 0), ('two', 'c1', 1, '', 1, 'x', 1700000002000, NULL, 0);"
        ),
        super::support::PROFILE,
    );
    let source = fixture.source();
    for limit in [1, 2, 200] {
        let query = MessageQuery { conversation_id: Some("c1"), limit, ..ALL };
        let ids = message_ids(&source, query).await;
        assert_eq!(ids[..3], ["two", "arrived", "one"], "{ids:?}");
        assert_eq!(ids.len(), 7);
    }
    let since = MessageQuery { since_ms: Some(1_700_000_001_500), ..ALL };
    assert_eq!(message_ids(&source, since).await, ["two", "arrived"]);
}

#[tokio::test]
async fn wrong_types_invalid_utf8_and_nul_do_not_fail_a_page() {
    let fixture = Fixture::new(
        &format!(
            "{SCHEMA} INSERT INTO msg VALUES
             (x'41ff', 'c1', 'not a number', 7, 'x', x'e5bca000ff', '1700000001000', 'never', 'yes'),
             (5, 'c1', NULL, NULL, NULL, 12.5, 1700000002000.5, x'00', NULL),
             ('z', 'c1', 1, 'n', 2, CAST(x'e5bca0ff0041' AS TEXT), 1700000000000, NULL, 0);"
        ),
        super::support::PROFILE,
    );
    let source = fixture.source();
    let page = source.messages(&MessageQuery { conversation_id: Some("c1"), ..ALL }).await.unwrap();
    let texts: Vec<&str> = page.items.iter().map(|message| message.item.text.as_str()).collect();
    assert_eq!(texts, ["12.5", "张\u{fffd}", "张\u{fffd}A"]);
    assert!(page.items[1].item.retracted);
    assert_eq!(page.items[2].item.content_type, ContentType::File);
}

#[tokio::test]
async fn a_table_for_each_month_is_one_timeline_and_a_new_month_is_seen() {
    let month = |name: &str, first: i64| {
        let rows: Vec<String> = (0..10_i64)
            .map(|row| format!("('{name}-{row}', 'c', x'c4e3bac3', {})", first + row * 60))
            .collect();
        let rows = format!("INSERT INTO {name} VALUES {};", rows.join(", "));
        format!(
            "CREATE TABLE {name}(g TEXT, c TEXT, b BLOB, t INTEGER); CREATE INDEX i_{name} ON {name}(c, t); {rows}"
        )
    };
    let fixture = Fixture::new(
        // The months overlap, as an import makes them.
        &(month("msg_202401", 1_704_067_200) + &month("msg_202402", 1_704_067_500)),
        "[messages]\ntables = 'msg_20*'\nselect = 'SELECT rowid AS seq, g AS id, c AS conversation, b AS text, t AS created FROM {table}'\ntime = { created = 'unix_s' }\ntext = 'gbk'",
    );
    let source = fixture.source();
    for limit in [1, 3, 200] {
        let query = MessageQuery { conversation_id: Some("c"), limit, ..ALL };
        let messages = all_pages(async |after| source.messages(&MessageQuery { after, ..query }).await).await;
        assert_eq!(messages.len(), 20);
        assert!(messages.is_sorted_by_key(|message| std::cmp::Reverse(message.created_ms)));
        assert_eq!(messages[0].text, "你好");
    }
    fixture.writer().execute_batch(&month("msg_202403", 1_709_251_200)).unwrap();
    let newest = source.messages(&MessageQuery { limit: 1, ..ALL }).await.unwrap();
    assert_eq!(newest.items[0].item.message_id, "msg_202403-9");
}

#[tokio::test]
async fn positions_that_are_none_are_refused() {
    let (_fixture, source) = Fixture::chat(3).with_source();
    let page = source
        .files(&FileQuery { conversation_id: None, message_id: None, limit: 1, after: Some("{}") })
        .await;
    assert_eq!(page.unwrap_err(), SourceError::StalePosition);
    for after in ["", "x", "{}", "[1,2]", r#"{"class":1,"id":"a"}"#] {
        let page = source.messages(&MessageQuery { after: Some(after), ..ALL }).await;
        assert_eq!(page.unwrap_err(), SourceError::StalePosition, "{after}");
    }
    let position = source.messages(&ALL).await.unwrap().items[0].position.clone();
    let page = source.contacts(&Lookup { after: Some(&position), ..lookup("张") }).await;
    assert_eq!(page.unwrap_err(), SourceError::StalePosition);
}

#[tokio::test]
async fn files_are_listed_with_their_messages_and_read_as_they_are() {
    let (fixture, source) = Fixture::chat(1).with_source();
    fixture.add_file("报价.xlsx", b"cells");
    fixture
        .writer()
        .execute_batch(
            "INSERT INTO att VALUES ('f1', 'c1-0', 'c1', 'C:\\tmp\\报价.xlsx', 5, 'x/y', 1700000000000, '报价.xlsx'),
             ('f2', 'c1-0', 'c1', 'gone.txt', NULL, NULL, NULL, 'gone.txt')",
        )
        .unwrap();
    let message =
        &source.messages(&MessageQuery { conversation_id: Some("c1"), ..ALL }).await.unwrap().items[0].item;
    assert_eq!(message.attachments.len(), 2);
    assert_eq!(message.attachments[0].file_name, "报价.xlsx");
    let files = all_pages(async |after| {
        source
            .files(&FileQuery { conversation_id: Some("c1"), message_id: Some("c1-0"), limit: 1, after })
            .await
    })
    .await;
    assert!(files[0].download_ref.is_some() && files[1].download_ref.is_none());
    let mut download = source.download("f1").await.unwrap();
    let mut content = Vec::new();
    download.content.read_to_end(&mut content).await.unwrap();
    assert_eq!((content.as_slice(), download.size_bytes), (b"cells".as_slice(), Some(5)));
    for id in ["f2", "f3"] {
        assert!(matches!(source.download(id).await, Err(SourceError::NotFound(_))), "{id}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn no_path_or_link_leads_out_of_the_folder_of_files() {
    let (fixture, source) = Fixture::chat(0).with_source();
    let secret = fixture.folder.path().join("secret.txt");
    std::fs::write(&secret, b"secret").unwrap();
    let inside = fixture.add_file("plain.txt", b"plain");
    let folder = inside.parent().unwrap();
    std::os::unix::fs::symlink(&secret, folder.join("link.txt")).unwrap();
    std::os::unix::fs::symlink(fixture.folder.path(), folder.join("linked")).unwrap();
    std::fs::hard_link(&secret, folder.join("hard.txt")).unwrap();
    std::fs::create_dir(folder.join("folder")).unwrap();
    let writer = fixture.writer();
    let secret_path = secret.display().to_string();
    let paths = [
        "../secret.txt",
        &secret_path,
        "link.txt",
        "linked/secret.txt",
        "hard.txt",
        "folder",
        "",
        "a\0b",
        "..\\secret.txt",
        "/dev/zero",
    ];
    for (number, path) in paths.into_iter().enumerate() {
        writer
            .execute("INSERT INTO att(fid, name, path) VALUES (?1, 'n', ?2)", (number.to_string(), path))
            .unwrap();
        let file = source.file(&number.to_string()).await.unwrap().unwrap();
        assert_eq!(file.download_ref, None, "{path}");
        assert!(source.download(&number.to_string()).await.is_err(), "{path}");
    }
    let absolute = inside.canonicalize().unwrap().display().to_string();
    writer.execute("INSERT INTO att(fid, name, path) VALUES ('in', 'n', ?1)", [absolute]).unwrap();
    assert!(source.download("in").await.is_ok());
}

#[tokio::test]
async fn a_keyword_does_not_find_what_was_taken_back() {
    let fixture = Fixture::chat(2);
    let before = message_ids(&fixture.source(), MessageQuery { keyword: Some("1"), ..ALL }).await.len();
    assert_ne!(before, 0);
    fixture.writer().execute("UPDATE msg SET del = 1", []).unwrap();
    let source = fixture.source();
    assert_eq!(message_ids(&source, MessageQuery { keyword: Some("1"), ..ALL }).await, [] as [String; 0]);
    assert_eq!(message_ids(&source, ALL).await.len(), 4, "that they were there is still shown");
}

#[tokio::test]
async fn many_questions_at_once_are_all_answered() {
    let (_fixture, source) = Fixture::chat(20).with_source();
    let asked = (0..64).map(|_| message_ids(&source, ALL));
    for answer in futures_util::future::join_all(asked).await {
        assert_eq!(answer.len(), 40);
    }
}
