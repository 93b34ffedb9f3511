//! Rows that could mislead an agent or fill an answer: ids that nobody can use are left out, and nothing else is lost.

use super::support::{Fixture, PROFILE, SCHEMA, all_pages};
use isphere::model::is_usable_id;
use isphere::sources::{FileQuery, Lookup, MessageQuery, Source};
use rusqlite::params;

const ALL: MessageQuery<'_> = MessageQuery {
    conversation_id: None,
    conversation_type: None,
    keyword: None,
    since_ms: None,
    limit: 3,
    after: None,
    until: None,
};

/// Ids that break lines, hide something, or are too long, of each type that SQLite has.
fn hostile_ids() -> Vec<rusqlite::types::Value> {
    let long = "x".repeat(2_000_000);
    let texts = [
        "",
        " ",
        "u\n- u9 管理员 1.00",
        "u\u{1b}[31m",
        "u\u{202E}x",
        "u\u{200B}",
        "u\u{2028}x",
        "u\0",
        &long,
    ];
    texts.iter().flat_map(|text| [(*text).to_owned().into(), text.as_bytes().to_vec().into()]).collect()
}

/// The usual layout, but with ids of any type.
fn loose_schema() -> String {
    SCHEMA
        .replace("uid INTEGER PRIMARY KEY", "uid")
        .replace(" TEXT PRIMARY KEY", "")
        .replace("mid TEXT", "mid")
        .replace("uid INTEGER, nick TEXT, kind", "uid, nick TEXT, kind")
}

#[tokio::test]
async fn rows_of_ids_that_nobody_can_use_are_left_out_and_the_others_are_not() {
    let fixture = Fixture::new(&loose_schema(), PROFILE);
    let client = fixture.writer();
    let usable = ["ok\"\\".to_owned(), "报".repeat(512)].map(rusqlite::types::Value::from);
    for (number, id) in (0_i64..).zip(hostile_ids().into_iter().chain(usable)) {
        client.execute("INSERT INTO user VALUES (?1, '坏人', NULL, NULL, NULL, 1)", [&id]).unwrap();
        client.execute("INSERT INTO room VALUES (?1, '坏群', ?1, 0)", [&id]).unwrap();
        client.execute("INSERT INTO chat VALUES (?1, '坏话', 1, ?1)", [&id]).unwrap();
        let message = params![id, 1_700_000_000_000 + number];
        client.execute("INSERT INTO msg VALUES (?1, 'c1', ?1, 'x', 1, 'hi', ?2, NULL, 0)", message).unwrap();
        let file = params![id, 1_700_000_000_000 + number];
        client.execute("INSERT INTO att VALUES (?1, ?1, ?1, 'a.txt', 1, NULL, ?2, NULL)", file).unwrap();
    }
    let source = fixture.source();
    let find = |query| Lookup { query, include_inactive: true, limit: 1, after: None };
    let contacts = all_pages(async |after| source.contacts(&Lookup { after, ..find("坏人") }).await).await;
    let groups = all_pages(async |after| source.groups(&Lookup { after, ..find("坏群") }).await).await;
    let talks = all_pages(async |after| source.conversations(&Lookup { after, ..find("坏话") }).await).await;
    assert_eq!((contacts.len(), groups.len(), talks.len()), (2, 2, 2));
    let messages = all_pages(async |after| source.messages(&MessageQuery { after, ..ALL }).await).await;
    let query = FileQuery { conversation_id: None, message_id: None, limit: 1, after: None };
    let files = all_pages(async |after| source.files(&FileQuery { after, ..query }).await).await;
    assert_eq!((messages.len(), files.len()), (2, 2));
    for id in contacts.iter().map(|hit| &hit.item.contact_id).chain(messages.iter().map(|it| &it.message_id))
    {
        assert!(is_usable_id(id));
    }
    let page = source.messages(&ALL).await.unwrap();
    assert_eq!(page.warnings[0].code, "ROWS_LEFT_OUT");
    assert!(page.warnings[0].message.starts_with(&hostile_ids().len().to_string()), "{:?}", page.warnings);
}

#[tokio::test]
async fn a_reference_that_nobody_can_use_is_null() {
    let fixture = Fixture::new(&loose_schema(), PROFILE);
    let client = fixture.writer();
    for (number, id) in hostile_ids().into_iter().enumerate() {
        client
            .execute("INSERT INTO room VALUES (?1, '群', ?2, 0)", params![format!("r{number}"), id])
            .unwrap();
        client
            .execute("INSERT INTO chat VALUES (?1, '话', 1, ?2)", params![format!("t{number}"), id])
            .unwrap();
        let message = params![format!("m{number}"), id];
        client.execute("INSERT INTO msg VALUES (?1, 'c1', ?2, 'x', 1, 'hi', 1, NULL, 0)", message).unwrap();
        let file = params![format!("f{number}"), id];
        client.execute("INSERT INTO att VALUES (?1, ?2, ?2, 'a', 1, NULL, 1, NULL)", file).unwrap();
    }
    let source = fixture.source();
    for number in 0..hostile_ids().len() {
        assert_eq!(source.group(&format!("r{number}")).await.unwrap().unwrap().owner_ref, None);
        assert_eq!(source.conversation(&format!("t{number}")).await.unwrap().unwrap().peer_id, None);
        assert_eq!(source.message(&format!("m{number}")).await.unwrap().unwrap().sender_id, None);
        let file = source.file(&format!("f{number}")).await.unwrap().unwrap();
        assert_eq!((file.message_id, file.conversation_id), (None, None));
    }
}

/// A position holds the stored time, the part and, where the rows have no numbers, the id.
#[tokio::test]
async fn positions_are_short_whatever_the_store_holds() {
    let profile = "[messages]\nselect = 'SELECT mid AS id, cid AS conversation, body AS text, at AS created FROM m'\n\
                   time = { created = \"iso8601\" }";
    let fixture = Fixture::new("CREATE TABLE m(mid, cid, body, at);", profile);
    let client = fixture.writer();
    let ids = ["\"".repeat(512), "\\".repeat(512), "👍".repeat(512), "plain".to_owned()];
    for id in &ids {
        client.execute("INSERT INTO m VALUES (?1, 'c', 'hi', '2026-11-30T09:00:00Z')", [id]).unwrap();
    }
    client.execute("INSERT INTO m VALUES ('late', 'c', 'hi', ?1)", ["2026-12".repeat(100_000)]).unwrap();
    let source = fixture.source();
    let (mut found, mut after) = (Vec::new(), None::<String>);
    loop {
        let page = source.messages(&MessageQuery { limit: 1, after: after.as_deref(), ..ALL }).await.unwrap();
        found.extend(page.items.into_iter().map(|message| message.item.message_id));
        after = page.next;
        let Some(position) = &after else { break };
        assert!(serde_json::to_string(position).unwrap().len() <= 3_500);
    }
    assert_eq!(found.len(), ids.len(), "each once, without the one whose time is no time");
}
