//! The story that every source passes: what a source says of a known organisation, whatever it reads it from.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[cfg(unix)]
mod helper_double;
mod known;

use std::{collections::HashSet, fmt::Debug, sync::Arc};

use govern::clock::Clock;
use isphere::{
    model::{ConversationType, Message},
    sample::{Sizes, write_store},
    search::{self, Fields, Query},
    settings,
    sources::{
        FileQuery, Hit, Lookup, MessageQuery, Page, Source, SourceError,
        local::{self, LocalReadonly, index},
        mock::Mock,
        uia::Uia,
    },
};
use known::{Known, SEED, plain_contact, plain_file, plain_group, plain_message};
use tokio::io::AsyncReadExt;

#[tokio::test]
async fn mock_passes_the_story() {
    tell(&Mock::new(SEED)).await;
}

#[tokio::test]
async fn a_local_store_without_an_index_passes_the_story() {
    let folder = tempfile::tempdir().unwrap();
    let source = LocalReadonly::new(sample_store(&folder));
    tell(&source).await;
    assert!(!source.contacts(&lookup("李")).await.unwrap().warnings.is_empty(), "it says that it is slow");
}

#[tokio::test]
async fn a_local_store_with_an_index_passes_the_story() {
    let folder = tempfile::tempdir().unwrap();
    let settings = sample_store(&folder);
    let path = index::path(folder.path());
    index::update(&local::open_configured(&settings).unwrap(), &path, &mut |_| {}).unwrap();
    let source = LocalReadonly::new(settings).with_index(path);
    tell(&source).await;
    assert_eq!(source.contacts(&lookup("李")).await.unwrap().warnings, [], "the index is used");
}

/// A window gives names and departments of people, names of groups, and the open conversation: it passes the searches, the
/// look-ups by id and the positions. Accounts, archived groups, times, files and other conversations it does not have;
/// `uia_source.rs` has what it says instead.
#[cfg(unix)]
#[tokio::test]
async fn a_window_passes_the_parts_of_the_story_that_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let organisation = Known::new();
    let people = organisation.contacts.iter().filter(|contact| contact.active);
    let shown = helper_double::window::Shown {
        people: people
            .map(|contact| (contact.display_name.clone(), contact.department.clone().unwrap_or_default()))
            .collect(),
        groups: organisation
            .groups
            .iter()
            .filter(|group| !group.archived)
            .map(|group| group.display_name.clone())
            .collect(),
        open: "黄建".to_owned(),
        said: vec![("黄建".to_owned(), "收到".to_owned())],
        ..Default::default()
    };
    let dump = helper_double::data_file(folder.path(), "dump.json", &shown.dump());
    let profile = folder.path().join("isphere.uia.toml");
    std::fs::write(&profile, helper_double::window::PROFILE).unwrap();
    let helper = helper_double::client(&format!("respond \"$(cat '{}')\"", dump.display()));
    let settings = settings::Uia { profile: Some(profile) };
    let source = Uia::new(Arc::new(helper), settings, Clock::manual(0));
    let known = Known::in_a_window();
    source.health().await.unwrap();
    every_search_finds_all_that_match_in_order(&source, &known).await;
    rows_are_found_by_id_and_unknown_ids_give_none(&source, &known).await;
    positions_that_are_none_are_refused(&source).await;
}

/// Writes the organisation of the story as a store.
fn sample_store(folder: &tempfile::TempDir) -> settings::LocalReadonly {
    let store = folder.path().join("store.db");
    write_store(&store, Sizes::demo(), SEED, &mut |_| {}).unwrap();
    settings::LocalReadonly { store: Some(store), ..Default::default() }
}

/// Asks the source everything there is to ask.
async fn tell(source: &dyn Source) {
    let known = Known::new();
    source.health().await.unwrap();
    people_are_found_as_people_expect(source).await;
    every_search_finds_all_that_match_in_order(source, &known).await;
    groups_are_found_and_archived_ones_on_request(source, &known).await;
    conversations_are_resolved_by_name(source, &known).await;
    rows_are_found_by_id_and_unknown_ids_give_none(source, &known).await;
    messages_are_paged_to_the_end_without_loss_or_doubles(source, &known).await;
    messages_are_those_of_the_type_time_and_keyword(source, &known).await;
    files_are_listed_for_all_a_conversation_or_a_message(source, &known).await;
    downloads_are_the_bytes_that_were_sent(source, &known).await;
    positions_that_are_none_are_refused(source).await;
}

async fn people_are_found_as_people_expect(source: &dyn Source) {
    for (query, first) in [
        ("黄建", "黄建"),
        ("huangjian1", "黄建"),
        ("u00000001", "黄建"),
        ("zhangming", "张明"),
        ("ZhangMing", "张明"),
        ("ouyangjunc", "欧阳军长"),
        ("zhajia", "查嘉"),
        ("chajia", "查嘉"),
        ("hanlongzhong", "韩龙重"),
        ("hanlongchong", "韩龙重"),
        ("vip", "ＶＩＰ客服"),
        ("ｖｉｐ", "ＶＩＰ客服"),
        ("ＨＵＡＮＧＪＩＡＮ１", "黄建"),
        ("O'Brien", "Seán O'Brien"),
        ("JÜRGEN", "Jürgen Groß"),
        ("怡庆", "杨怡庆"),
    ] {
        let page = source.contacts(&lookup(query)).await.unwrap();
        assert_eq!(page.items[0].item.item.display_name, first, "{query}");
    }
    let namesakes = source.contacts(&lookup("李琳博")).await.unwrap().items;
    let ids: Vec<_> = namesakes.iter().map(|found| found.item.item.contact_id.as_str()).collect();
    assert_eq!(ids, ["u00000018", "u00000065"]);
    assert!(namesakes.iter().all(|found| (found.item.confidence - 1.0).abs() < f64::EPSILON));

    let left = lookup("毛嘉心");
    assert!(source.contacts(&left).await.unwrap().items.is_empty());
    let left = Lookup { include_inactive: true, ..left };
    assert_eq!(source.contacts(&left).await.unwrap().items.len(), 1);

    let nobody = source.contacts(&lookup("没有这个人")).await.unwrap();
    assert!(nobody.items.is_empty() && nobody.next.is_none());
}

async fn every_search_finds_all_that_match_in_order(source: &dyn Source, known: &Known) {
    let queries = [
        "琳",
        "琳博",
        "前厅部",
        "酒店事业部/前厅部",
        "li",
        "zm",
        "工程师",
        "重庆",
        "1",
        "%",
        "_",
        "100%",
        "ng",
        "a",
    ];
    for (query, include_inactive) in queries.into_iter().flat_map(|query| [(query, false), (query, true)]) {
        let listed = known.contacts.iter().filter(|contact| contact.active || include_inactive);
        let expected = ranked(query, listed, |contact| Fields {
            id: &contact.contact_id,
            name: &contact.display_name,
            account: contact.account.as_deref(),
            department: contact.department.as_deref(),
            title: contact.title.as_deref(),
        });
        let limits: &[usize] = if ["琳", "前厅部"].contains(&query) { &[1, 7, 200] } else { &[200] };
        for &limit in limits {
            let found = all_pages(limit, async |after| {
                let lookup = Lookup { query, include_inactive, limit, after };
                source.contacts(&lookup).await.unwrap()
            });
            let found = found.await.into_iter().map(|hit| Hit { item: plain_contact(hit.item), ..hit });
            assert_same(&found.collect::<Vec<_>>(), &expected, &format!("{query} by {limit}"));
        }
    }
}

async fn groups_are_found_and_archived_ones_on_request(source: &dyn Source, known: &Known) {
    let queries = ["重庆", "群", "ERP", "Ｐｈｏｅｎｉｘ", "chongqing", "cqhgq", "🎉", "kfzx", "（2024）"];
    for (query, include_inactive) in queries.into_iter().flat_map(|query| [(query, false), (query, true)]) {
        let listed = known.groups.iter().filter(|group| !group.archived || include_inactive);
        let expected = ranked(query, listed, |group| Fields {
            id: &group.group_id,
            name: &group.display_name,
            ..Fields::default()
        });
        assert!(!expected.is_empty(), "{query}");
        let found = all_pages(7, async |after| {
            let lookup = Lookup { query, include_inactive, limit: 7, after };
            source.groups(&lookup).await.unwrap()
        });
        let found = found.await.into_iter().map(|hit| Hit { item: plain_group(hit.item), ..hit });
        assert_same(&found.collect::<Vec<_>>(), &expected, query);
    }
    let archived = lookup("客服中心工作群");
    assert!(source.groups(&archived).await.unwrap().items.is_empty());
    let archived = Lookup { include_inactive: true, ..archived };
    assert_eq!(source.groups(&archived).await.unwrap().items.len(), 1);
}

async fn conversations_are_resolved_by_name(source: &dyn Source, known: &Known) {
    for (query, expected) in [
        ("黄建", &["d-u00000001"][..]),
        ("李琳博", &["d-u00000018", "d-u00000065"]),
        ("重庆火锅群", &["g-g000028"]),
        ("客房部日报群", &["g-g000015", "g-g000035"]),
        ("系统通知", &["s-0"]),
        ("zhangyaoshi", &["d-u00000042"]),
        ("没有这个群", &[]),
    ] {
        let page = source.conversations(&lookup(query)).await.unwrap();
        let found: Vec<_> = page.items.iter().map(|found| found.item.item.conversation_id.as_str()).collect();
        assert_eq!(found, expected, "{query}");
    }
    for conversation in &known.conversations {
        let found = source.conversation(&conversation.conversation_id).await.unwrap();
        assert_eq!(found.as_ref(), Some(conversation));
    }
}

async fn rows_are_found_by_id_and_unknown_ids_give_none(source: &dyn Source, known: &Known) {
    for contact in &known.contacts {
        let found = source.contact(&contact.contact_id).await.unwrap();
        assert_eq!(found.map(plain_contact).as_ref(), Some(contact));
    }
    for group in &known.groups {
        assert_eq!(source.group(&group.group_id).await.unwrap().map(plain_group).as_ref(), Some(group));
    }
    for file in &known.files {
        assert_eq!(source.file(&file.file_id).await.unwrap().map(plain_file).as_ref(), Some(file));
    }
    for message in known.messages.iter().step_by(500) {
        let found = source.message(&message.message_id).await.unwrap().unwrap();
        assert_eq!((&found.conversation_id, &found.text), (&message.conversation_id, &message.text));
        assert!(found.attachments.is_empty());
    }
    for unknown in ["", "u", "u00000300", "U00000001", "' OR 1=1 --", "u00000001\0", "🎉"] {
        assert_eq!(source.contact(unknown).await.unwrap(), None, "{unknown:?}");
        assert_eq!(source.group(unknown).await.unwrap(), None, "{unknown:?}");
        assert_eq!(source.conversation(unknown).await.unwrap(), None, "{unknown:?}");
        assert_eq!(source.message(unknown).await.unwrap(), None, "{unknown:?}");
        assert_eq!(source.file(unknown).await.unwrap(), None, "{unknown:?}");
        assert!(matches!(source.download(unknown).await, Err(SourceError::NotFound(_))), "{unknown:?}");
    }
}

async fn messages_are_paged_to_the_end_without_loss_or_doubles(source: &dyn Source, known: &Known) {
    for conversation_id in ["g-g000000", "s-1"] {
        let expected = known.messages_where(|message| message.conversation_id == conversation_id);
        assert!(expected.len() > 150, "{conversation_id}: {}", expected.len());
        for limit in [1, 7, 200] {
            let query = MessageQuery { conversation_id: Some(conversation_id), limit, ..every_message() };
            assert_messages(source, &query, &expected).await;
        }
    }
    assert_messages(source, &every_message(), &known.messages).await;
}

async fn messages_are_those_of_the_type_time_and_keyword(source: &dyn Source, known: &Known) {
    for wanted in [ConversationType::Direct, ConversationType::Group, ConversationType::System] {
        let query = MessageQuery { conversation_type: Some(wanted), ..every_message() };
        let expected = known.messages_where(|message| known.conversation_type(message) == wanted);
        assert_messages(source, &query, &expected).await;
    }
    for place in [0, 57, 2_000] {
        let moment = known.messages[place].at_ms();
        // The moment itself is in, the one after it is not.
        for since in [moment, moment + 1] {
            let query = MessageQuery { since_ms: Some(since), ..every_message() };
            assert_messages(source, &query, &known.messages_where(|message| message.at_ms() >= since)).await;
        }
    }
    for keyword in [
        "行",
        "收到",
        "重庆项目验收",
        "ＴＩＣＫＥＴ",
        "ticket",
        "%",
        "_",
        "👍",
        "https://wiki",
        "没有人这样写",
    ] {
        let folded = search::fold(keyword);
        let holds = |message: &Message| search::text_contains(&message.text, &folded);
        let everywhere = MessageQuery { keyword: Some(keyword), ..every_message() };
        assert_messages(source, &everywhere, &known.messages_where(holds)).await;

        let here = MessageQuery { conversation_id: Some("g-g000001"), limit: 7, ..everywhere };
        let expected =
            known.messages_where(|message| message.conversation_id == "g-g000001" && holds(message));
        assert_messages(source, &here, &expected).await;
    }
    let unknown = MessageQuery { conversation_id: Some("g-g999999"), ..every_message() };
    assert_messages(source, &unknown, &[]).await;
}

async fn files_are_listed_for_all_a_conversation_or_a_message(source: &dyn Source, known: &Known) {
    let with_two = known.messages.iter().find(|message| message.attachments.len() == 2).unwrap();
    let message_id = Some(with_two.message_id.as_str());
    for (conversation_id, message_id) in
        [(None, None), (None, message_id), (Some("g-g000000"), None), (Some("g-g999999"), None)]
    {
        let expected = known.files_where(|file| {
            (conversation_id.is_none() || conversation_id == file.conversation_id.as_deref())
                && (message_id.is_none() || message_id == file.message_id.as_deref())
        });
        for limit in [1, 7, 200] {
            let found = all_pages(limit, async |after| {
                let query = FileQuery { conversation_id, message_id, limit, after };
                source.files(&query).await.unwrap()
            });
            let found: Vec<_> = found.await.into_iter().map(plain_file).collect();
            assert_same(&found, &expected, &format!("{conversation_id:?} {message_id:?} by {limit}"));
        }
    }
}

async fn downloads_are_the_bytes_that_were_sent(source: &dyn Source, known: &Known) {
    for number in 0..known.organisation.sizes().files {
        let file_id = known.organisation.file(number).file_id;
        let download = source.download(&file_id).await;
        let Some(sent) = known.organisation.file_content(number) else {
            assert!(matches!(download, Err(SourceError::NotFound(_))), "{file_id} was never fetched");
            continue;
        };
        let mut download = download.unwrap();
        let mut received = Vec::new();
        download.content.read_to_end(&mut received).await.unwrap();
        assert_eq!(received, sent, "{file_id}");
        assert!(download.size_bytes.is_none_or(|size| size == sent.len() as u64));
    }
}

async fn positions_that_are_none_are_refused(source: &dyn Source) {
    let person = source.contacts(&lookup("李")).await.unwrap().items.remove(0).position;
    let message = source.messages(&every_message()).await.unwrap().items.remove(0).position;
    let garbage = ["", "0", "/", "x/y/z", "-1", "99999999999999999999/1/1", "\0", "🎉", "%00", "' OR 1=1 --"];
    for position in garbage.into_iter().chain([message.as_str()]) {
        let lookup = Lookup { after: Some(position), ..lookup("李") };
        let refused = [
            source.contacts(&lookup).await.err(),
            source.groups(&lookup).await.err(),
            source.conversations(&lookup).await.err(),
        ];
        assert_eq!(refused, [const { Some(SourceError::StalePosition) }; 3], "{position:?}");
    }
    for position in garbage.into_iter().chain([person.as_str()]) {
        let messages = MessageQuery { after: Some(position), ..every_message() };
        let files = FileQuery { conversation_id: None, message_id: None, limit: 1, after: Some(position) };
        let refused = [source.messages(&messages).await.err(), source.files(&files).await.err()];
        assert_eq!(refused, [const { Some(SourceError::StalePosition) }; 2], "{position:?}");
    }
}

fn lookup(query: &str) -> Lookup<'_> {
    Lookup { query, include_inactive: false, limit: 5, after: None }
}

fn every_message() -> MessageQuery<'static> {
    MessageQuery {
        conversation_id: None,
        conversation_type: None,
        keyword: None,
        since_ms: None,
        limit: 200,
        after: None,
        until: None,
    }
}

/// Pages through the answers to the query and compares all of them.
async fn assert_messages(source: &dyn Source, query: &MessageQuery<'_>, expected: &[Message]) {
    let found = all_pages(query.limit, async |after| {
        let query = MessageQuery { after, ..*query };
        source.messages(&query).await.unwrap()
    });
    let found: Vec<_> = found.await.into_iter().map(plain_message).collect();
    assert_same(&found, expected, &format!("{query:?}"));
}

/// The items of all pages, each of which may have `limit` of them and must have a position for each.
async fn all_pages<T>(limit: usize, ask: impl AsyncFn(Option<&str>) -> Page<T>) -> Vec<T> {
    let mut found = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = ask(after.as_deref()).await;
        assert!(page.items.len() <= limit, "{} items for a limit of {limit}", page.items.len());
        let positions: HashSet<_> = page.items.iter().map(|item| item.position.as_str()).collect();
        assert_eq!(positions.len(), page.items.len());
        assert!(page.next.is_none() || page.next != after, "the source does not go on");
        after = page.next;
        found.extend(page.items.into_iter().map(|item| item.item));
        if after.is_none() {
            return found;
        }
    }
}

/// Compares all items and shows only the first two that differ.
fn assert_same<T: Debug + PartialEq>(found: &[T], expected: &[T], what: &str) {
    let place = found.iter().zip(expected).position(|(one, other)| one != other);
    assert_eq!(place.map(|place| &found[place]), place.map(|place| &expected[place]), "{what}");
    assert_eq!(found.len(), expected.len(), "{what}");
}

/// Those of `listed` that match, by class and id.
fn ranked<'a, T: Clone + 'a>(
    query: &str,
    listed: impl Iterator<Item = &'a T>,
    fields: impl Fn(&'a T) -> Fields<'a>,
) -> Vec<Hit<T>> {
    let query = Query::new(query);
    let mut found: Vec<_> = listed
        .filter_map(|item| {
            let found = query.rank(&fields(item))?;
            let hit = Hit { item: item.clone(), confidence: found.confidence };
            Some((found.class, fields(item).id, hit))
        })
        .collect();
    found.sort_by_key(|(class, id, _)| (*class, *id));
    found.into_iter().map(|(_, _, hit)| hit).collect()
}
