//! Search: what is found, what is shown of it, and that the index finds what reading everything would.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use hotel::app::search::{Found, Hits, Wanted, search};
use hotel::app::submit::{adapter, submit};
use hotel::domain::role::Role;
use hotel::domain::search::{KINDS, Kind, Query, fold_all};
use hotel::store::boxed;
use hotel::testing::{Rig, on_each_database};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::browser::{Browser, House};
use crate::desk::{TEXT, complete_group, mail, propose};

/// The address of a search.
fn path(query: &str, place: &str) -> String {
    let mut fields = form_urlencoded::Serializer::new(String::new());
    format!("/console/search?{}", fields.append_pair("q", query).append_pair("in", place).finish())
}

/// How many hits a search shows, and the page.
async fn hits(browser: &mut Browser, query: &str, place: &str) -> (usize, String) {
    let page = browser.get(&path(query, place)).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    let list = page.text.split_once("<ul class=\"list\"").map_or("", |(_, list)| list);
    (list.matches("<li>").count(), page.text)
}

async fn found(rig: &Rig, text: &str, kind: Option<Kind>, after: &str) -> Hits {
    let wanted = Wanted { text: text.to_owned(), kind, after: after.to_owned() };
    match search(&rig.hotel, &rig.request("viewer"), &wanted).await.unwrap() {
        Found::Hits(hits) => hits,
        other => panic!("{text}: {other:?}"),
    }
}

/// The ids of all hits, from page to page.
async fn all_ids(rig: &Rig, text: &str, kind: Option<Kind>) -> Vec<i64> {
    let (mut ids, mut after) = (Vec::new(), String::new());
    loop {
        let page = found(rig, text, kind, &after).await;
        ids.extend(page.hits.iter().map(|hit| hit.id));
        match page.next {
            Some(next) => after = next,
            None => return ids,
        }
    }
}

#[tokio::test]
async fn mails_orders_and_tasks_are_found_by_chinese_and_latin_words_and_marked() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let text = "您好，\n王芳小姐想预订三月十二日的大床\n房，谢谢。";
        mail(&house.rig, "a@x", &format!("{TEXT}Subject: Spring Group\r\n"), text).await;
        let mut event = complete_group();
        event["summary"] = json!("为王芳新建团队");
        propose(&house.rig, "a@x", &event).await;
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        let (count, page) = hits(&mut viewer, "王芳", "all").await;
        assert_eq!(count, 2, "the mail and the task: {page}");
        assert!(
            page.contains("<mark>王芳</mark>小姐") && page.contains("为<mark>王芳</mark>新建团队"),
            "{page}"
        );
        for (query, place, expected) in [
            ("大床房", "mails", 1),
            ("房", "mails", 1),
            ("ｓｐｒ", "all", 1),
            ("LIN@SUNNY", "mails", 1),
            ("gr1", "all", 1),
            ("GR1", "orders", 1),
            ("gr1", "tasks", 0),
            ("sunny", "orders", 0),
            ("sunny tra", "tasks", 1),
            ("book 10", "tasks", 1),
            ("新建团队预留", "tasks", 1),
            ("create_group", "all", 1),
            ("小芳", "all", 0),
            ("\"大床房 谢谢\"", "all", 1),
            ("\"谢谢 大床房\"", "all", 0),
            ("谢谢 大床房", "all", 1),
        ] {
            let (count, page) = hits(&mut viewer, query, place).await;
            assert_eq!(count, expected, "{query} in {place}: {page}");
        }
        assert!(page.contains("id=\"search\"") && page.contains("value=\"王芳\""), "{page}");
        let english = viewer.post("/console/language", &[("language", "en")]).await;
        assert_eq!(english.status, StatusCode::SEE_OTHER);
        assert!(hits(&mut viewer, "nothing of it", "all").await.1.contains("Nothing was found."));
    })
    .await;
}

#[tokio::test]
async fn an_order_is_found_by_what_it_says_now_and_no_more_by_what_it_said() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        mail(&house.rig, "a@x", TEXT, "x").await;
        let task = propose(&house.rig, "a@x", &complete_group()).await;
        assert_eq!(all_ids(&house.rig, "Book Club", Some(Kind::Order)).await.len(), 0);
        confirm(&house.rig, task).await;
        assert_eq!(all_ids(&house.rig, "Book Club", Some(Kind::Order)).await.len(), 1);
        mail(&house.rig, "b@x", TEXT, "x").await;
        let change = json!({"field": "group_name", "from": "Book Club", "to": "Chess Club"});
        let event = json!({"event_type": "BOOKING_AMEND", "proposed_changes": [change]});
        let task = propose(&house.rig, "b@x", &event).await;
        confirm(&house.rig, task).await;
        assert_eq!(all_ids(&house.rig, "Book Club", Some(Kind::Order)).await.len(), 0);
        assert_eq!(all_ids(&house.rig, "Chess Club", Some(Kind::Order)).await.len(), 1);
    })
    .await;
}

async fn confirm(rig: &Rig, task_id: i64) {
    let decision = hotel::app::tasks::Decision {
        task_id,
        verdict: hotel::app::tasks::Verdict::Confirm,
        actor: "mei".to_owned(),
        version: None,
        reason: Some("asked".to_owned()),
    };
    hotel::app::tasks::decide(&rig.hotel, rig.request("mei"), decision).await.unwrap();
}

#[tokio::test]
async fn the_reading_of_a_mail_is_noted_when_its_body_is_quoted_and_only_then() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        mail(&house.rig, "a@x", &format!("{TEXT}Subject: Orchid\r\n"), "Peony").await;
        let accesses = async || house.rig.hotel.db.read(|tx| boxed(tx.count_accesses())).await.unwrap();
        for (query, noted) in [("Orchid", 0), ("Lin", 0), ("Tulip", 0), ("Peony", 1), ("Orchid Peony", 2)] {
            found(&house.rig, query, None, "").await;
            assert_eq!(accesses().await, noted, "{query}");
        }
    })
    .await;
}

#[tokio::test]
async fn every_hit_is_reached_once_from_page_to_page_the_newest_first() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        for number in 0..47 {
            // Several are of one moment, and they do not come in by their dates.
            let date = format!("Date: Mon, {:02} Nov 2026 10:00:00 +0800\r\n", 1 + number * 7 % 10);
            mail(&house.rig, &format!("{number}@x"), &format!("{TEXT}{date}"), "Peony").await;
        }
        let (mut after, mut seen, mut times) = (String::new(), BTreeSet::new(), Vec::new());
        loop {
            let page = found(&house.rig, "peony", None, &after).await;
            times.extend(page.hits.iter().map(|hit| hit.at));
            for hit in page.hits {
                assert!(seen.insert(hit.id));
            }
            let Some(next) = page.next else { break };
            after = next;
        }
        assert_eq!(seen.len(), 47);
        assert!(times.is_sorted_by(|left, right| left >= right), "{times:?}");
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        let (count, page) = hits(&mut viewer, "peony", "mails").await;
        assert!(count == 20 && page.contains("&amp;after="), "{page}");
    })
    .await;
}

#[tokio::test]
async fn queries_that_are_long_or_hostile_or_empty_are_answered_with_words() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let hostile = "\"><script>alert(1)</script> \u{202e}RTL 王";
        mail(&house.rig, "a@x", &format!("{TEXT}Subject: <b>alert</b>\r\n"), hostile).await;
        let event = json!({"summary": hostile, "proposed_changes": [{"field": hostile, "from": hostile, "to": {"x": [hostile]}}]});
        propose(&house.rig, "a@x", &event).await;
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        for query in ["", " ", "*", "\u{0}\u{1}\r\n", "\"", "%%%"] {
            let (_, page) = hits(&mut viewer, query, "all").await;
            assert!(page.contains("请输入要查找的文字或数字"), "{query:?}: {page}");
        }
        for query in ["x".repeat(10_000), "王".repeat(5_000), "\" OR ".repeat(2_000)] {
            let (_, page) = hits(&mut viewer, &query, "all").await;
            assert!(page.contains("搜索内容过长"), "{page}");
        }
        for query in [
            "alert\"",
            "\"alert",
            "alert*",
            "alert AND",
            "NOT alert",
            "NEAR(alert, 2)",
            "terms:alert",
            "alert' & !'x",
            "alert:*",
            "alert | x",
            "');DROP TABLE task;--",
            "\\",
            "a\u{0}lert",
            "{alert}",
            "^alert",
            "alert <-> 1",
            "\u{202e}trela",
            "<script>alert(1)</script>",
            &"a ".repeat(100),
            &"王芳".repeat(100),
        ] {
            let (_, page) = hits(&mut viewer, query, "all").await;
            assert!(!page.contains("<script>") && !page.contains("<b>"), "{query:?}: {page}");
        }
        let (count, page) = hits(&mut viewer, "alert", "all").await;
        assert!(count == 2 && page.contains("<mark>alert</mark>"), "{page}");
        assert!(!page.contains("<script>") && !page.contains("<b>"), "{page}");
        for after in ["x", "9", "9.9.9", "99999999999999999999.1", "-1.-1", "'"] {
            let page = viewer.get(&format!("{}&after={after}", path("alert", "nowhere"))).await;
            assert_eq!(page.status, StatusCode::OK, "{after}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_mail_of_two_megabytes_is_found_by_its_first_hundred_thousand_characters() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        // Every pair of characters is another one, so that the index has as many terms as there can be.
        let mut body: String =
            (0..30_000_u32).map(|n| char::from_u32(0x4e00 + n * 7_919 % 20_000).unwrap()).collect();
        body.push_str(" Peony ");
        body.push_str(&"Tulip hyacinth ".repeat(130_000));
        body.push_str(" Narcissus");
        mail(&house.rig, "a@x", TEXT, &body).await;
        assert_eq!(all_ids(&house.rig, "peony tulip", None).await.len(), 1);
        assert_eq!(all_ids(&house.rig, "narcissus", None).await.len(), 0);
    })
    .await;
}

/// Texts and queries of few characters, so that many of them meet.
fn words(most: usize) -> impl Strategy<Value = String> {
    let characters: Vec<char> = "王芳大床abA1é㎏ｗが -\"，".chars().collect();
    prop::collection::vec(prop::sample::select(characters), 1..most)
        .prop_map(|characters| characters.into_iter().collect())
}

#[tokio::test]
async fn the_index_finds_exactly_what_reading_everything_finds() {
    on_each_database(async |rig| {
        rig.activate().await;
        let mut runner = TestRunner::deterministic();
        let mut pick = |most: usize| words(most).new_tree(&mut runner).unwrap().current();
        let mut tasks = Vec::new();
        for number in 0..40 {
            let id = format!("{number}@x");
            mail(&rig, &id, TEXT, &pick(60)).await;
            if number % 2 == 0 {
                tasks.push(propose(&rig, &id, &random_event(number, &mut pick)).await);
            }
        }
        for task_id in tasks.into_iter().step_by(2) {
            confirm(&rig, task_id).await;
        }
        let documents = everything(&rig).await;
        assert_eq!(documents.len(), 40 + 20 + 20);
        let mut met = 0;
        for _ in 0..300 {
            let text = pick(5);
            let Some(query) = Query::parse(&text) else { continue };
            for kind in [None].into_iter().chain(KINDS.map(Some)) {
                let is_meant = |(_, own, fields): &&(i64, Kind, Vec<String>)| {
                    kind.is_none_or(|kind| kind == *own)
                        && query.matches(&fold_all(fields.iter().map(String::as_str)))
                };
                let scanned: BTreeSet<i64> = documents.iter().filter(is_meant).map(|(id, ..)| *id).collect();
                let indexed = all_ids(&rig, &text, kind).await;
                assert_eq!(indexed.len(), scanned.len(), "{text:?}");
                assert_eq!(indexed.into_iter().collect::<BTreeSet<i64>>(), scanned, "{text:?}");
                met += usize::from(!scanned.is_empty());
            }
        }
        assert!(met > 200, "only {met} queries met anything");
    })
    .await;
}

fn random_event(number: usize, pick: &mut impl FnMut(usize) -> String) -> Value {
    let mut event = complete_group();
    event["case_keys"] =
        json!({"group_code": format!("G{number}"), "confirmation_number": null, "reservation_no": null});
    event["summary"] = json!(pick(20));
    let name = json!({"field": "guest_name", "from": null, "to": pick(8)});
    event["proposed_changes"].as_array_mut().unwrap().push(name);
    event
}

/// Every document there is: its id, its kind, its texts.
async fn everything(rig: &Rig) -> Vec<(i64, Kind, Vec<String>)> {
    // All ids are from one counter.
    let ids: Vec<i64> = (0..20_000).collect();
    let documents = rig.hotel.db.read(move |tx| {
        boxed(async move {
            let mut all = Vec::new();
            for kind in KINDS {
                all.extend(tx.documents(kind, &ids).await?);
            }
            Ok(all)
        })
    });
    let texts =
        |fields: Vec<hotel::store::search::Field>| fields.into_iter().map(|field| field.text).collect();
    documents.await.unwrap().into_iter().map(|found| (found.id, found.kind, texts(found.fields))).collect()
}

#[tokio::test]
async fn a_submission_of_many_events_is_found_by_each() {
    on_each_database(async |rig| {
        rig.activate().await;
        mail(&rig, "a@x", TEXT, "x").await;
        let event = |number: usize| {
            json!({"source_event_index": format!("E{number}"), "event_type": "SPECIAL_REQUEST", "object_type": null,
                "case_keys": {"group_code": null, "confirmation_number": null, "reservation_no": null},
                "summary": format!("wish{number}")})
        };
        let payload = json!({
            "source_message": {"source_message_id": "a@x", "subject": null, "from": null, "cc": [],
                "received_at": null, "source_channel": "Email"},
            "message_events": (0..1_200).map(event).collect::<Vec<_>>(), "case_candidates": [],
            "unhandled_current_intents": [],
        });
        submit(&rig.hotel, rig.request("agent"), adapter::from_mcp(payload).unwrap()).await.unwrap();
        assert_eq!(all_ids(&rig, "\"wish1199\"", Some(Kind::Task)).await.len(), 1);
        assert_eq!(all_ids(&rig, "wish", Some(Kind::Task)).await.len(), 1_200);
    })
    .await;
}

#[tokio::test]
async fn a_write_that_fails_after_it_was_indexed_leaves_the_index_sound_and_as_it_was() {
    on_each_database(async |rig| {
        rig.activate().await;
        let id = mail(&rig, "a@x", TEXT, "Peony").await;
        for _ in 0..3 {
            let failed = rig.hotel.db.write(move |tx| {
                boxed(async move {
                    tx.execute("UPDATE platform_source_message_inbox SET text_body = 'Tulip'", &[]).await?;
                    tx.index(Kind::Mail, &[id]).await?;
                    Err::<(), _>(hotel::Error::ObjectNotFound)
                })
            });
            assert!(failed.await.is_err());
            mail(&rig, "b@x", TEXT, "Tulip").await;
        }
        assert_eq!(all_ids(&rig, "peony", None).await, [id]);
        assert_eq!(all_ids(&rig, "tulip", None).await.len(), 1);
        if rig.database == "sqlite" {
            let check = "INSERT INTO search_index (search_index) VALUES ('integrity-check')";
            let checked =
                rig.hotel.db.write(move |tx| boxed(async move { Ok(tx.execute(check, &[]).await?) }));
            checked.await.unwrap();
        }
    })
    .await;
}

/// Takes the index away and applies its migration again, as an update of the program does.
async fn migrate_again(rig: &Rig) {
    const COMMON: [&str; 5] = [
        "DROP TABLE search_document",
        "DROP TABLE search_backlog",
        "DROP INDEX order_newest",
        "DROP INDEX order_arrival",
        "DELETE FROM _sqlx_migrations WHERE version = 4",
    ];
    let is_sqlite = rig.database == "sqlite";
    let dropped = rig.hotel.db.write(move |tx| {
        boxed(async move {
            for sql in COMMON.into_iter().chain(is_sqlite.then_some("DROP TABLE search_index")) {
                tx.execute(sql, &[]).await?;
            }
            Ok(())
        })
    });
    dropped.await.unwrap();
    assert_eq!(hotel::store::Db::migrate(&rig.url).await.unwrap(), 1);
}

#[tokio::test]
async fn what_was_there_before_the_index_is_indexed_in_steps_and_the_page_says_that_it_is_not_done() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let rig = &house.rig;
        let older = propose_for(rig, "a@x", "GR1").await;
        let newer = propose_for(rig, "b@x", "GR2").await;
        migrate_again(rig).await;
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        let (count, page) = hits(&mut viewer, "peony", "all").await;
        assert!(count == 0 && page.contains("仍在建立索引"), "{page}");
        assert!(viewer.get("/console/orders?q=club").await.text.contains("仍在建立索引"));
        // What is written meanwhile is found at once, and as it is.
        confirm(rig, older).await;
        assert_eq!(all_ids(rig, "club", Some(Kind::Order)).await.len(), 1);
        // One case is a mail, an order and a task; the order and the task have the highest ids.
        assert!(rig.hotel.db.write(|tx| boxed(tx.index_backlog(2))).await.unwrap());
        assert_eq!(all_ids(rig, &format!("\"{newer}\""), Some(Kind::Task)).await, [newer]);
        assert!(hits(&mut viewer, "peony", "all").await.1.contains("仍在建立索引"));
        hotel::app::search::index_backlog(rig.hotel.db.clone()).await;
        let (count, page) = hits(&mut viewer, "peony", "all").await;
        assert!(count == 2 && !page.contains("仍在建立索引"), "{page}");
        assert_eq!(all_ids(rig, "club", None).await.len(), 3, "two tasks and the confirmed order");
        assert_eq!(all_ids(rig, "gr", Some(Kind::Order)).await.len(), 2);
    })
    .await;
}

async fn propose_for(rig: &Rig, id: &str, code: &str) -> i64 {
    mail(rig, id, TEXT, "Peony").await;
    let mut event = complete_group();
    event["case_keys"] = json!({"group_code": code, "confirmation_number": null, "reservation_no": null});
    propose(rig, id, &event).await
}

#[tokio::test]
async fn a_text_that_was_taken_out_of_its_row_is_not_found_though_the_index_knew_it() {
    on_each_database(async |rig| {
        rig.activate().await;
        mail(&rig, "a@x", &format!("{TEXT}Subject: Orchid\r\n"), "Peony").await;
        let purged = rig.hotel.db.write(|tx| {
            boxed(async move {
                Ok(tx.execute("UPDATE platform_source_message_inbox SET text_body = ''", &[]).await?)
            })
        });
        assert_eq!(purged.await.unwrap(), 1);
        assert_eq!(all_ids(&rig, "peony", None).await.len(), 0);
        assert_eq!(all_ids(&rig, "orchid", None).await.len(), 1);
    })
    .await;
}
