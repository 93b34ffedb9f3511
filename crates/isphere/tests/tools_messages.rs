//! isphere_receive_messages.
#![allow(clippy::unwrap_used, reason = "a test may")]

mod common;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use common::{Fake, Rig, contact, conversation, ids, message};
use govern::gate::Policy;
use isphere::model::{ContentType, ConversationType};
use serde_json::json;

const TOOL: &str = "isphere_receive_messages";

fn deny(entries: &[&str]) -> Policy {
    Policy { deny: entries.iter().map(|entry| (*entry).to_owned()).collect(), ..Policy::default() }
}

#[tokio::test]
async fn a_conversation_is_answered_as_the_contract_writes_it() {
    let rig = Rig::new(Fake::organisation());
    let arguments = json!({"conversation_id": "d1", "limit": 2});
    insta::assert_json_snapshot!(rig.answer(TOOL, arguments.clone()).await);
    insta::assert_snapshot!(rig.outcome(TOOL, arguments).await.text());
}

#[tokio::test]
async fn messages_come_newest_first_and_every_one_once() {
    let rig = Rig::new(Fake::organisation());
    for limit in [1, 3, 200] {
        let (items, _) = rig.all(TOOL, json!({"conversation_id": "d1", "limit": limit}), "messages").await;
        let times: Vec<_> =
            items.iter().map(|item| item["created_at"].as_str().unwrap().to_owned()).collect();
        assert_eq!(items.len(), 10);
        assert!(times.is_sorted_by(|newer, older| newer > older));
    }
}

#[tokio::test]
async fn with_a_conversation_the_query_is_a_keyword_in_it() {
    let rig = Rig::new(Fake::organisation());
    let found = rig.answer(TOOL, json!({"conversation_id": "d1", "query": "REPORT 1"})).await;
    assert_eq!(ids(&found["messages"], "message_id"), ["m18", "m15", "m12"]);
    assert_eq!(found["conversation"]["conversation_id"], "d1");
}

#[tokio::test]
async fn a_search_that_does_not_come_to_its_end_answers_what_it_has_and_goes_on() {
    let rig = Rig::new(Fake { searches: Some(1), ..Fake::organisation() });
    let mut arguments = json!({"conversation_id": "d1", "query": "第0条"});
    let first = rig.answer(TOOL, arguments.clone()).await;
    assert_eq!((&first["ok"], &first["messages"]), (&json!(true), &json!([])));
    assert_eq!(first["warnings"][0]["code"], "SEARCH_UNFINISHED");
    assert!(first["warnings"][0]["message"].as_str().unwrap().contains("next_cursor"));
    arguments["cursor"] = first["next_cursor"].clone();
    let second = rig.answer(TOOL, arguments).await;
    assert_eq!(ids(&second["messages"], "message_id"), ["m0"]);
    assert_eq!((&second["next_cursor"], &second["warnings"]), (&json!(null), &json!([])));
}

#[tokio::test]
async fn a_name_that_one_conversation_has_is_that_conversation_on_every_page() {
    let rig = Rig::new(Fake::organisation());
    let (items, pages) = rig.all(TOOL, json!({"query": "张三", "limit": 4}), "messages").await;
    assert_eq!((items.len(), pages), (10, 3));
    assert!(items.iter().all(|item| item["conversation_id"] == "d1"));
    let found = rig.answer(TOOL, json!({"query": "财务部"})).await;
    assert_eq!(found["conversation"]["conversation_type"], "group");
    assert_eq!(found["audit"]["target_ref"], "conversation:c1");
}

#[tokio::test]
async fn an_account_leads_to_the_conversation_with_its_person() {
    let rig = Rig::new(Fake::organisation());
    let found = rig.answer(TOOL, json!({"query": "lisi2"})).await;
    assert_eq!(found["conversation"]["conversation_id"], "d3");
}

#[tokio::test]
async fn a_name_that_several_have_is_answered_with_candidates() {
    let rig = Rig::new(Fake::organisation());
    let answer = rig.answer(TOOL, json!({"query": "李四"})).await;
    assert_eq!(answer["error"]["code"], "AMBIGUOUS_TARGET");
    assert_eq!(ids(&answer["error"]["candidates"], "conversation_id"), ["d2", "d3"]);
    let text = rig.outcome(TOOL, json!({"query": "李四"})).await.text().to_owned();
    assert!(text.contains("- d2 (direct) 李四"), "{text}");
    let narrowed = Rig::with(Fake::organisation(), deny(&["contact:u3"]), |_| ());
    let found = narrowed.answer(TOOL, json!({"query": "李四"})).await;
    assert_eq!(found["conversation"]["conversation_id"], "d2", "a denied candidate is none");
}

/// Without an index each lookup reads all people, so that their number must not grow with the number of namesakes.
#[tokio::test]
async fn a_name_that_hundreds_have_is_looked_up_a_few_times() {
    let mut source = Fake::organisation();
    for number in 0..400 {
        let (id, talk) = (format!("w{number}"), format!("dw{number}"));
        source.contacts.push(contact(&id, "王伟", None));
        source.conversations.push(conversation(&talk, ConversationType::Direct, "王伟", Some(&id)));
    }
    let lookups = Arc::clone(&source.lookups);
    let rig = Rig::new(source);
    let answer = rig.answer(TOOL, json!({"query": "王伟"})).await;
    assert_eq!(answer["error"]["code"], "AMBIGUOUS_TARGET");
    assert_eq!(answer["error"]["candidates"].as_array().unwrap().len(), 10);
    assert_eq!(lookups.load(Ordering::SeqCst), 4, "two of conversations and two of people");
}

#[tokio::test]
async fn a_type_narrows_the_names() {
    let rig = Rig::new(Fake::organisation());
    let found = rig.answer(TOOL, json!({"query": "财务部", "conversation_type": "direct"})).await;
    assert_eq!(found["conversation"], json!(null), "no direct conversation has this name");
    let found = rig.answer(TOOL, json!({"query": "财务部", "conversation_type": "unknown"})).await;
    assert_eq!(found["conversation"]["conversation_id"], "c1");
}

#[tokio::test]
async fn a_word_that_nothing_is_named_is_a_keyword_over_all_conversations() {
    let rig = Rig::new(Fake::organisation());
    let (items, _) = rig.all(TOOL, json!({"query": "报表", "limit": 7}), "messages").await;
    assert_eq!(items.len(), 30);
    let found = rig.answer(TOOL, json!({"query": "报表"})).await;
    assert_eq!(found["conversation"], json!(null));
    let near = rig.answer(TOOL, json!({"query": "财务"})).await;
    assert_eq!(near["warnings"][0]["code"], "NEAREST_NAMES");
    assert!(near["warnings"][0]["message"].as_str().unwrap().contains("财务部 (group, c1)"));
}

#[tokio::test]
async fn what_is_denied_is_hidden_from_keyword_results_and_refused_by_id() {
    let rig = Rig::with(Fake::organisation(), deny(&["contact:u1", "conversation:c1"]), |_| ());
    let (items, _) = rig.all(TOOL, json!({"query": "报表", "limit": 7}), "messages").await;
    assert!(items.len() == 10 && items.iter().all(|item| item["conversation_id"] == "d2"));
    for id in ["d1", "c1"] {
        let answer = rig.answer(TOOL, json!({"conversation_id": id})).await;
        assert_eq!(answer["error"]["code"], "PERMISSION_DENIED");
        assert_eq!((&answer["messages"], &answer["conversation"]), (&json!([]), &json!(null)));
    }
    let answer = rig.answer(TOOL, json!({"query": "张三"})).await;
    assert_eq!(answer["conversation"], json!(null), "a denied name resolves to nothing");
    assert_eq!(answer["warnings"], json!([]), "and is not suggested");
}

#[tokio::test]
async fn neither_id_nor_query_or_an_unknown_id_is_refused() {
    let rig = Rig::new(Fake::organisation());
    assert_eq!(rig.code(TOOL, json!({})).await, "INVALID_ARGUMENT");
    assert_eq!(rig.code(TOOL, json!({"conversation_type": "group"})).await, "INVALID_ARGUMENT");
    assert_eq!(rig.code(TOOL, json!({"conversation_id": "nobody"})).await, "TARGET_NOT_FOUND");
    assert_eq!(rig.code(TOOL, json!({"conversation_id": "x".repeat(513)})).await, "INVALID_ARGUMENT");
    for limit in [json!(0), json!(201), json!(-1), json!("20"), json!(1e9)] {
        assert_eq!(rig.code(TOOL, json!({"query": "a", "limit": limit})).await, "INVALID_ARGUMENT");
    }
}

#[tokio::test]
async fn since_is_inclusive_with_any_offset() {
    let rig = Rig::new(Fake::organisation());
    // Message 27 was written at 2026-11-29T23:27:00Z.
    for since in ["2026-11-29T23:27:00Z", "2026-11-30T07:27+08:00", "2026-11-30T07:27:00+0800"] {
        let found = rig.answer(TOOL, json!({"conversation_id": "d1", "since": since})).await;
        assert_eq!(ids(&found["messages"], "message_id"), ["m27"], "{since}");
    }
    let answer = rig.answer(TOOL, json!({"conversation_id": "d1", "since": "2026-11-30T07:27:00"})).await;
    assert_eq!(
        (&answer["error"]["code"], &answer["error"]["field"]),
        (&json!("INVALID_ARGUMENT"), &json!("since"))
    );
}

#[tokio::test]
async fn a_preview_says_what_would_be_returned() {
    let rig = Rig::new(Fake::organisation());
    let found = rig.answer(TOOL, json!({"query": "张三", "limit": 4, "preview": true})).await;
    assert_eq!(found["preview"], json!({"would_return": 4}));
    assert_eq!((&found["messages"], &found["next_cursor"]), (&json!([]), &json!(null)));
    assert_eq!(found["conversation"]["conversation_id"], "d1");
    assert_eq!(found["audit"]["execution_mode"], "preview");
}

#[tokio::test]
async fn a_retracted_message_is_shown_as_such_without_its_text_and_files() {
    let rig = Rig::new(Fake::organisation());
    let (items, _) = rig.all(TOOL, json!({"query": "张三"}), "messages").await;
    let (all, _) = rig.all(TOOL, json!({"query": "财务部"}), "messages").await;
    let (more, _) = rig.all(TOOL, json!({"query": "lisi"}), "messages").await;
    let retracted: Vec<_> =
        items.iter().chain(&all).chain(&more).filter(|one| one["message_id"] == "m26").collect();
    assert_eq!(retracted.len(), 1);
    assert_eq!(
        (&retracted[0]["content_text"], &retracted[0]["attachments"]),
        (&json!("[retracted]"), &json!([]))
    );
}

#[tokio::test]
async fn attachments_are_left_out_on_request() {
    let rig = Rig::new(Fake::organisation());
    let with = rig.answer(TOOL, json!({"conversation_id": "d1"})).await;
    assert_eq!(with["messages"][0]["attachments"][0]["file_name"], "报表.txt");
    let without =
        rig.answer(TOOL, json!({"conversation_id": "d1", "include_attachment_metadata": false})).await;
    assert_eq!(without["messages"][0]["attachments"], json!([]));
}

#[tokio::test]
async fn characters_that_hide_text_are_removed_and_told() {
    let mut source = Fake::organisation();
    source.messages.insert(0, message(31, "d1", "pay\u{200B}pal \u{202E}txt 👨\u{200D}👩\u{200D}👧\0"));
    let rig = Rig::new(source);
    let found = rig.answer(TOOL, json!({"conversation_id": "d1", "limit": 1})).await;
    assert_eq!(found["messages"][0]["content_text"], "paypal txt 👨\u{200D}👩\u{200D}👧");
    assert_eq!(found["warnings"][0]["code"], "HIDDEN_TEXT_REMOVED");
}

#[tokio::test]
async fn a_text_of_200_000_characters_is_cut_with_a_mark_and_paging_goes_on() {
    for (text, content_type) in
        [("长".repeat(200_000), ContentType::Text), ("\"\n".repeat(100_000), ContentType::Rich)]
    {
        let mut source = Fake::organisation();
        source.messages.insert(0, common::Message { content_type, ..message(31, "d1", &text) });
        source.messages.insert(3, message(28, "d1", &text));
        let rig = Rig::new(source);
        let outcome = rig.outcome(TOOL, json!({"conversation_id": "d1"})).await;
        assert!(outcome.structured().len() <= rig.budget, "{}", outcome.structured().len());
        let found: serde_json::Value = serde_json::from_str(outcome.structured()).unwrap();
        assert_eq!(found["warnings"][0]["code"], "CONTENT_TRUNCATED");
        let shown = found["messages"][0]["content_text"].as_str().unwrap();
        assert!(shown.ends_with("[cut: the message is longer]") && shown.len() > 20_000);
        let (items, _) = rig.all(TOOL, json!({"conversation_id": "d1"}), "messages").await;
        assert_eq!(items.len(), 12);
    }
}

#[tokio::test]
async fn a_megabyte_of_messages_comes_in_pages_within_the_budget() {
    let mut source = Fake::organisation();
    source.messages = (0..400).rev().map(|number| message(number, "d1", &"消息🙂".repeat(300))).collect();
    let rig = Rig::new(source);
    let mut arguments = json!({"conversation_id": "d1", "limit": 200});
    let mut seen = 0;
    loop {
        let outcome = rig.outcome(TOOL, arguments.clone()).await;
        assert!(outcome.structured().len() <= rig.budget);
        let found: serde_json::Value = serde_json::from_str(outcome.structured()).unwrap();
        seen += found["messages"].as_array().unwrap().len();
        assert!(
            found["messages"]
                .as_array()
                .unwrap()
                .iter()
                .all(|one| one["content_text"] == "消息🙂".repeat(300))
        );
        match found["next_cursor"].as_str() {
            Some(cursor) => arguments["cursor"] = json!(cursor),
            None => break,
        }
    }
    assert_eq!(seen, 400);
}

#[tokio::test]
async fn a_long_message_and_long_warnings_fit_in_the_budget_together() {
    let mut source = Fake::organisation();
    for number in 0..5 {
        let name = format!("长名{number}{}", "名".repeat(300));
        let id = format!("{}{number}", "i".repeat(500));
        source.conversations.push(conversation(&id, ConversationType::Group, &name, None));
    }
    source.messages.insert(0, message(31, "d1", &"长名".repeat(50_000)));
    let rig = Rig::new(source);
    let outcome = rig.outcome(TOOL, json!({"query": "长名"})).await;
    assert!(outcome.structured().len() <= rig.budget, "{}", outcome.structured().len());
    let found: serde_json::Value = serde_json::from_str(outcome.structured()).unwrap();
    assert_eq!(
        (&found["warnings"][0]["code"], &found["warnings"][1]["code"]),
        (&json!("NEAREST_NAMES"), &json!("CONTENT_TRUNCATED"))
    );
}
