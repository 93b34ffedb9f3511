//! isphere_search_contacts and isphere_search_groups.
#![allow(clippy::unwrap_used, reason = "a test may")]

mod common;

use common::{Fake, Rig, contact, ids};
use govern::gate::Policy;
use serde_json::json;

const CONTACTS: &str = "isphere_search_contacts";
const GROUPS: &str = "isphere_search_groups";

#[tokio::test]
async fn a_contact_is_answered_as_the_contract_writes_it() {
    let rig = Rig::new(Fake::organisation());
    insta::assert_json_snapshot!(rig.answer(CONTACTS, json!({"query": "张三"})).await);
    insta::assert_snapshot!(rig.outcome(CONTACTS, json!({"query": "张三"})).await.text());
}

#[tokio::test]
async fn a_group_is_answered_as_the_contract_writes_it() {
    let rig = Rig::new(Fake::organisation());
    insta::assert_json_snapshot!(rig.answer(GROUPS, json!({"query": "财务"})).await);
}

#[tokio::test]
async fn those_who_left_and_closed_groups_are_found_on_request_only() {
    let rig = Rig::new(Fake::organisation());
    let found = async |tool, arguments| rig.answer(tool, arguments).await;
    assert_eq!(found(CONTACTS, json!({"query": "王五"})).await["contacts"], json!([]));
    let with = found(CONTACTS, json!({"query": "王五", "include_inactive": true})).await;
    assert_eq!(ids(&with["contacts"], "contact_id"), ["u4"]);
    let with = found(GROUPS, json!({"query": "财务", "include_archived": true})).await;
    assert_eq!(ids(&with["groups"], "group_id"), ["g1", "g2"]);
}

#[tokio::test]
async fn limits_are_refused_and_not_clamped() {
    let rig = Rig::new(Fake::organisation());
    for limit in [json!(0), json!(101), json!(-1), json!("20"), json!(1e9), json!([]), json!(1.5)] {
        for tool in [CONTACTS, GROUPS] {
            let answer = rig.answer(tool, json!({"query": "a", "limit": limit})).await;
            assert_eq!(answer["error"]["code"], "INVALID_ARGUMENT", "{limit}");
            assert_eq!(answer["error"]["field"], "limit", "{limit}");
        }
    }
    for limit in [json!(1), json!(100), json!(null)] {
        assert_eq!(rig.answer(CONTACTS, json!({"query": "a", "limit": limit})).await["ok"], true);
    }
}

#[tokio::test]
async fn a_query_that_is_missing_blank_or_too_long_is_refused() {
    let rig = Rig::new(Fake::organisation());
    for arguments in [
        json!({}),
        json!({"query": ""}),
        json!({"query": " \u{3000}"}),
        json!({"query": "长".repeat(201)}),
        json!({"query": 5}),
        json!({"query": null}),
    ] {
        let answer = rig.answer(CONTACTS, arguments.clone()).await;
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["field"]),
            (&json!("INVALID_ARGUMENT"), &json!("query")),
            "{arguments}"
        );
    }
    assert_eq!(rig.code(CONTACTS, json!({"query": "a", "colour": 1})).await, "INVALID_ARGUMENT");
    assert_eq!(
        rig.code(CONTACTS, json!({"query": "a", "source_preference": "mock"})).await,
        "INVALID_ARGUMENT"
    );
}

fn many() -> Fake {
    let contacts = (0..250).map(|number| contact(&format!("u{number:03}"), &format!("陈{number}"), None));
    Fake { contacts: contacts.collect(), ..Fake::default() }
}

#[tokio::test]
async fn paging_gives_every_contact_once_whatever_the_limit() {
    let rig = Rig::new(many());
    for limit in [1, 7, 100] {
        let (items, pages) = rig.all(CONTACTS, json!({"query": "陈", "limit": limit}), "contacts").await;
        let ids: std::collections::BTreeSet<_> =
            items.iter().map(|item| item["contact_id"].to_string()).collect();
        assert_eq!((items.len(), ids.len(), pages), (250, 250, 250usize.div_ceil(limit)));
    }
}

#[tokio::test]
async fn the_limit_may_change_between_pages_and_nothing_else() {
    let rig = Rig::new(many());
    let first = rig.answer(CONTACTS, json!({"query": "陈", "limit": 2})).await;
    let cursor = first["next_cursor"].clone();
    let next = rig.answer(CONTACTS, json!({"query": "陈", "limit": 3, "cursor": cursor})).await;
    assert_eq!(ids(&next["contacts"], "contact_id"), ["u002", "u003", "u004"]);
    for arguments in [
        json!({"query": "李", "cursor": cursor}),
        json!({"query": "陈", "include_inactive": true, "cursor": cursor}),
        json!({"query": "陈", "source_preference": "local_readonly", "cursor": cursor}),
        json!({"query": "陈", "cursor": "garbage"}),
        json!({"query": "陈", "cursor": ""}),
        json!({"query": "陈", "cursor": "A".repeat(5000)}),
    ] {
        let answer = rig.answer(CONTACTS, arguments.clone()).await;
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["field"]),
            (&json!("INVALID_ARGUMENT"), &json!("cursor")),
            "{arguments}"
        );
    }
    assert_eq!(rig.code(GROUPS, json!({"query": "陈", "cursor": cursor})).await, "INVALID_ARGUMENT");
}

#[tokio::test]
async fn a_page_is_cut_to_the_budget_and_goes_on() {
    let mut rig = Rig::new(many());
    rig.budget = 8_000;
    let outcome = rig.outcome(CONTACTS, json!({"query": "陈", "limit": 100})).await;
    assert!(outcome.structured().len() <= 8_000);
    let answer: serde_json::Value = serde_json::from_str(outcome.structured()).unwrap();
    assert_eq!(answer["truncated"], true);
    let (items, _) = rig.all(CONTACTS, json!({"query": "陈", "limit": 100}), "contacts").await;
    assert_eq!(items.len(), 250);
}

#[tokio::test]
async fn who_is_denied_is_hidden_and_pages_stay_full() {
    let policy = Policy {
        deny: (0..240).map(|number| format!("contact:u{number:03}")).collect(),
        ..Policy::default()
    };
    let rig = Rig::with(many(), policy, |_| ());
    let found = rig.answer(CONTACTS, json!({"query": "陈", "limit": 5})).await;
    assert_eq!(ids(&found["contacts"], "contact_id"), ["u240", "u241", "u242", "u243", "u244"]);
    let (items, _) = rig.all(CONTACTS, json!({"query": "陈", "limit": 5}), "contacts").await;
    assert_eq!(items.len(), 10);
}

#[tokio::test]
async fn an_allow_list_shows_only_what_it_lists() {
    let policy = Policy { allow: vec!["contact:u1".into(), "group:g1".into()], ..Policy::default() };
    let rig = Rig::with(Fake::organisation(), policy, |_| ());
    let found = rig.answer(CONTACTS, json!({"query": "销售"})).await;
    assert_eq!(ids(&found["contacts"], "contact_id"), ["u1"]);
    let found = rig.answer(GROUPS, json!({"query": "财务", "include_archived": true})).await;
    assert_eq!(ids(&found["groups"], "group_id"), ["g1"]);
}

#[tokio::test]
async fn a_source_that_hangs_ends_in_timeout() {
    let source = Fake::organisation();
    source.hangs.store(true, std::sync::atomic::Ordering::SeqCst);
    let rig = Rig::with(source, Policy::default(), |settings| settings.timeout_ms = 20);
    let answer = rig.answer(CONTACTS, json!({"query": "a"})).await;
    assert_eq!((&answer["error"]["code"], &answer["error"]["retryable"]), (&json!("TIMEOUT"), &json!(true)));
}
