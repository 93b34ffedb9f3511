//! The order page with its history, and the list of orders.

use axum::http::StatusCode;
use hotel::app::tasks::{Decision, Verdict, decide};
use hotel::domain::role::Role;
use hotel::testing::{Rig, on_each_database};
use serde_json::{Value, json};

use crate::browser::House;
use crate::desk::{TEXT, complete_group, mail, propose};

async fn say(rig: &Rig, task_id: i64, verdict: Verdict) {
    let reason = Some("客人来电".to_owned());
    let decision = Decision { task_id, verdict, actor: "王芳".to_owned(), version: None, reason };
    decide(&rig.hotel, rig.request("王芳"), decision).await.unwrap();
}

async fn order_of(rig: &Rig, task_id: i64) -> String {
    hotel::app::tasks::show(&rig.hotel, task_id).await.unwrap().task.order_id.unwrap()
}

/// A mail and what an agent proposes for it.
async fn case(rig: &Rig, id: &str, subject: &str, event: &Value) -> i64 {
    mail(rig, id, &format!("{TEXT}Subject: {subject}\r\n"), "x").await;
    propose(rig, id, event).await
}

fn keys(code: &str) -> Value {
    json!({"group_code": code, "confirmation_number": null, "reservation_no": null})
}

#[tokio::test]
async fn the_page_tells_every_change_by_whom_by_which_task_and_from_which_mail() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let create = case(&house.rig, "a@x", "New group", &complete_group()).await;
        let order = order_of(&house.rig, create).await;
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        let path = format!("/console/orders/{order}");
        let draft = viewer.get(&path).await.text;
        for shown in
            ["草稿", "GR1", "团队", "<strong>创建</strong> <bdi>agent</bdi>", "New group", "新建团队预留"]
        {
            assert!(draft.contains(shown), "{shown}: {draft}");
        }
        say(&house.rig, create, Verdict::Confirm).await;
        let change = json!({"field": "departure", "from": "2027-03-15", "to": "2027-03-16"});
        let amend = json!({"event_type": "BOOKING_AMEND", "proposed_changes": [change]});
        let amend = case(&house.rig, "b@x", "One more night", &amend).await;
        say(&house.rig, amend, Verdict::Confirm).await;
        let reason = json!({"field": "reason", "from": null, "to": "weather"});
        let cancel = json!({"event_type": "BOOKING_CANCEL", "proposed_changes": [reason]});
        let cancel = case(&house.rig, "c@x", "Off", &cancel).await;
        say(&house.rig, cancel, Verdict::Confirm).await;
        let page = viewer.get(&path).await.text;
        let history = page.split_once("<ol class=\"history\"").unwrap().1;
        let places = ["Off", "One more night", "Book Club", "<strong>创建</strong>"]
            .map(|shown| history.find(shown).unwrap_or_else(|| panic!("{shown}: {history}")));
        assert!(places.is_sorted(), "the newest first: {history}");
        for shown in ["2027-03-15", "2027-03-16", "已取消", "<bdi>王芳</bdi>"] {
            assert!(history.contains(shown), "{shown}: {history}");
        }
        for task in [create, amend, cancel] {
            assert!(history.contains(&format!("/console/tasks/{task}\"")), "{history}");
        }
        let record = page.split_once("取消记录").unwrap().1;
        assert!(record.contains("weather") && record.contains("王芳"), "{record}");
        let card = viewer.get(&format!("/console/tasks/{amend}")).await.text;
        assert!(card.contains(&format!("href=\"{path}\"")), "{card}");
    })
    .await;
}

#[tokio::test]
async fn a_draft_that_was_rejected_is_cancelled_without_a_record_of_cancellation() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let create = case(&house.rig, "a@x", "New group", &complete_group()).await;
        let order = order_of(&house.rig, create).await;
        say(&house.rig, create, Verdict::Reject).await;
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        let page = viewer.get(&format!("/console/orders/{order}")).await.text;
        assert!(page.contains("<td class=\"to\"><bdi>已取消</bdi>") && !page.contains("取消记录"), "{page}");
    })
    .await;
}

#[tokio::test]
async fn an_order_that_is_not_there_is_not_found() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        for id in ["1", "-1", "x", "99999999999999999999"] {
            let page = viewer.get(&format!("/console/orders/{id}")).await;
            assert_eq!(page.status, StatusCode::NOT_FOUND, "{id}");
        }
    })
    .await;
}

#[tokio::test]
async fn fields_of_an_agent_are_text_and_lists_are_read_line_by_line() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let hostile = "\"><img src=x onerror=alert(1)>";
        let mut event = complete_group();
        let fields = event["proposed_changes"].as_array_mut().unwrap();
        fields.push(json!({"field": hostile, "from": null, "to": hostile}));
        fields.push(json!({"field": "guest_name", "from": null, "to": "\u{5d0}\u{5d1}\u{5d2} (vip)"}));
        let line = |number: i32, name: &str| json!({"sequence": number, "name": name, "room": "TWN"});
        event["details"] = json!({"lines": [line(1, "WANG WEI"), line(2, hostile)]});
        let create = case(&house.rig, "a@x", hostile, &event).await;
        let order = order_of(&house.rig, create).await;
        say(&house.rig, create, Verdict::Confirm).await;
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        let page = viewer.get(&format!("/console/orders/{order}")).await.text;
        assert!(
            page.contains("姓名: WANG WEI") && page.contains("<bdi>\u{5d0}\u{5d1}\u{5d2} (vip)</bdi>"),
            "{page}"
        );
        for path in [format!("/console/orders/{order}"), "/console/orders".to_owned()] {
            assert!(!viewer.get(&path).await.text.contains("<img"), "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_list_filters_by_status_arrival_and_words() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        for (number, name) in ["Book Club", "Chess Club", "读书会"].into_iter().enumerate() {
            let field = |field: &str, to: &str| json!({"field": field, "from": null, "to": to});
            let day = format!("2027-03-1{number}");
            let changes =
                [field("group_name", name), field("arrival", &day), field("departure", "2027-04-01")];
            let event = json!({"case_keys": keys(&format!("GR{number}")), "proposed_changes": changes});
            let task = case(&house.rig, &format!("{number}@x"), "New", &event).await;
            if number < 2 {
                say(&house.rig, task, Verdict::Confirm).await;
            } else {
                say(&house.rig, task, Verdict::Reject).await;
            }
        }
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        for (query, expected) in [
            ("", vec!["GR2", "GR1", "GR0"]),
            ("status=DRAFT", vec!["GR1", "GR0"]),
            ("status=CANCELLED", vec!["GR2"]),
            ("status=NOTHING", vec![]),
            ("from=2027-03-11", vec!["GR1"]),
            ("to=2027-03-10", vec!["GR0"]),
            ("from=2027-03-10&to=2027-03-11", vec!["GR1", "GR0"]),
            ("from=nonsense", vec!["GR2", "GR1", "GR0"]),
            ("q=club", vec!["GR1", "GR0"]),
            ("q=club&from=2027-03-11", vec!["GR1"]),
            ("q=club&status=CANCELLED", vec![]),
            ("q=gr2", vec!["GR2"]),
            ("q=***", vec!["GR2", "GR1", "GR0"]),
        ] {
            let page = viewer.get(&format!("/console/orders?{query}")).await.text;
            let keys =
                page.split("<bdi>GR").skip(1).map(|rest| format!("GR{}", rest.split('<').next().unwrap()));
            assert_eq!(keys.collect::<Vec<_>>(), expected, "{query}: {page}");
        }
        let long = viewer.get(&format!("/console/orders?q={}", "x".repeat(5_000))).await.text;
        assert!(long.contains("文字过长"), "{long}");
    })
    .await;
}

#[tokio::test]
async fn every_order_is_reached_once_from_page_to_page_with_and_without_words() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        for number in 0..65 {
            let event = json!({"case_keys": keys(&format!("GR-{number}"))});
            case(&house.rig, &format!("{number}@x"), "New", &event).await;
        }
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        for query in ["status=DRAFT", "q=gr"] {
            let (mut after, mut seen) = (String::new(), Vec::new());
            for _ in 0..10 {
                let page = viewer.get(&format!("/console/orders?{query}{after}")).await.text;
                let ids = page.split("href=\"/console/orders/").skip(1);
                seen.extend(ids.map(|rest| rest.split('"').next().unwrap().to_owned()));
                let Some((_, rest)) = page.split_once("&amp;after=") else { break };
                after = format!("&after={}", rest.split('"').next().unwrap());
            }
            let total = seen.len();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!((total, seen.len()), (65, 65), "{query}");
        }
    })
    .await;
}
