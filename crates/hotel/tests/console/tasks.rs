//! The board and the card: what a person sees and decides, and what two people do at once.

use std::time::Duration;

use axum::http::StatusCode;
use govern::gate::Policy;
use hotel::app::sessions::IDLE_MS;
use hotel::console::ConsoleOptions;
use hotel::domain::role::Role;
use hotel::testing::{Rig, on_each_database};
use serde_json::{Value, json};

use crate::browser::{Answer, Browser, House};
use crate::desk::{TEXT, complete_group, mail, propose};

/// A mail with a task that a clerk can confirm.
async fn task(rig: &Rig, event: &Value) -> i64 {
    mail(rig, "a@sunny.example", &format!("{TEXT}Subject: Group\r\n"), "请预订：\n10 间房，3月12日至15日")
        .await;
    propose(rig, "a@sunny.example", event).await
}

/// Sends the card's form with the version that the last page had.
async fn decide(browser: &mut Browser, card: &Answer, task: i64, act: &str, reason: &str) -> Answer {
    let version = card.text.split("name=\"version\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let fields = [("act", act), ("version", version), ("reason", reason)];
    browser.post(&format!("/console/tasks/{task}"), &fields).await
}

async fn open(browser: &mut Browser, task: i64) -> Answer {
    browser.get(&format!("/console/tasks/{task}")).await
}

/// The hidden fields of the page's last form that the server takes, as a browser sends them, without the token.
fn carried(page: &str) -> Vec<(String, String)> {
    let form = page.rsplit("<form").find(|form| form.contains("name=\"token\"")).unwrap();
    let inputs = form.split("<input type=\"hidden\" name=\"").skip(1);
    let pairs = inputs.map(|input| {
        let (name, rest) = input.split_once("\" value=\"").unwrap();
        let value = rest.split('"').next().unwrap();
        (name.to_owned(), value.replace("&#38;", "&").replace("&#34;", "\""))
    });
    pairs.filter(|(name, _)| name != "token").collect()
}

fn borrowed(fields: &[(String, String)]) -> Vec<(&str, &str)> {
    fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

async fn status(rig: &Rig, task: i64) -> String {
    hotel::app::tasks::show(&rig.hotel, task).await.unwrap().task.task_status
}

#[tokio::test]
async fn a_clerk_confirms_what_the_card_shows_and_the_order_has_it() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut event = complete_group();
        let quote = |from: Value, quote: &str| json!({"source_message_id": from, "quote": quote});
        event["evidence"] = json!([
            quote(Value::Null, "10间房，3月12日至15日"),
            quote("a@sunny.example".into(), "11 间房"),
            quote("b@sunny.example".into(), "12 间房"),
        ]);
        let task = task(&house.rig, &event).await;
        let mut clerk = house.logged_in("王芳", Role::Clerk).await;
        let card = open(&mut clerk, task).await;
        assert!(card.text.contains("<mark>10 间房，3月12日至15日</mark>"), "{}", card.text);
        for shown in ["邮件正文中没有这段引文： <bdi>11 间房", "引自其他邮件： <bdi>12 间房"]
        {
            assert!(card.text.contains(shown), "{shown}: {}", card.text);
        }
        assert!(card.text.contains("入住") && card.text.contains("2027-03-12"));
        let answer = decide(&mut clerk, &card, task, "confirm", "").await;
        assert_eq!(
            (answer.status, answer.header("location")),
            (StatusCode::SEE_OTHER, format!("/console/tasks/{task}").as_str())
        );
        let card = open(&mut clerk, task).await;
        assert!(
            card.text.contains("已确认")
                && card.text.contains("王芳")
                && !card.text.contains("value=\"confirm\"")
        );
        let order = hotel::app::tasks::show(&house.rig.hotel, task).await.unwrap().task.order_id.unwrap();
        let query = serde_json::from_value(json!({"object_id": format!("ORDER:{order}")})).unwrap();
        let order = hotel::app::object_detail::query(&house.rig.hotel, query).await.unwrap();
        assert_eq!(order.order.arrival.as_deref(), Some("2027-03-12"));
    })
    .await;
}

#[tokio::test]
async fn a_confirm_warning_needs_a_reason_and_a_rejection_too() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let task = task(&house.rig, &json!({})).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let card = open(&mut clerk, task).await;
        assert!(card.text.contains("需说明理由"), "{}", card.text);
        for verdict in ["confirm", "reject"] {
            let refused = decide(&mut clerk, &card, task, verdict, " ").await;
            assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{verdict}");
            assert!(refused.text.contains("填写理由"), "{verdict}");
        }
        let done = decide(&mut clerk, &card, task, "reject", "客人未定").await;
        assert_eq!(done.status, StatusCode::SEE_OTHER);
        assert_eq!(status(&house.rig, task).await, "REJECTED");
        assert!(open(&mut clerk, task).await.text.contains("客人未定"));
    })
    .await;
}

#[tokio::test]
async fn a_stop_cannot_be_confirmed_through_not_even_by_a_form_made_by_hand() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let change = json!({"proposed_changes": [{"field": "arrival", "from": null, "to": "2027-02-31"}]});
        let task = task(&house.rig, &change).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let card = open(&mut clerk, task).await;
        assert!(card.text.contains("阻止确认"), "{}", card.text);
        let refused = decide(&mut clerk, &card, task, "confirm", "sure").await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(status(&house.rig, task).await, "PENDING_CONFIRMATION");
    })
    .await;
}

#[tokio::test]
async fn of_two_people_on_one_card_the_second_sees_who_did_what_and_loses_nothing_typed() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let task = task(&house.rig, &complete_group()).await;
        let mut first = house.logged_in("王芳", Role::Clerk).await;
        let mut second = house.logged_in("李娜", Role::Clerk).await;
        let cards = (open(&mut first, task).await, open(&mut second, task).await);
        decide(&mut first, &cards.0, task, "reject", "重复的邮件").await;
        let late = decide(&mut second, &cards.1, task, "confirm", "客人已来电 <b>确认</b>").await;
        assert_eq!(late.status, StatusCode::CONFLICT);
        for shown in ["王芳", "已退回", "重复的邮件", "任务已被他人更改", "客人已来电 "]
        {
            assert!(late.text.contains(shown), "{shown}: {}", late.text);
        }
        assert!(!late.text.contains("<b>确认"), "{}", late.text);
        assert_eq!(status(&house.rig, task).await, "REJECTED");
        let recorded = house.recorded().await;
        let conflict =
            ("李娜".to_owned(), "console_task_decide".to_owned(), "error", "VERSION_CONFLICT".to_owned());
        assert!(recorded.contains(&conflict), "{recorded:?}");
    })
    .await;
}

#[tokio::test]
async fn a_double_click_decides_once_and_ends_on_the_card() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let task = task(&house.rig, &complete_group()).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let card = open(&mut clerk, task).await;
        for _ in 0..2 {
            let answer = decide(&mut clerk, &card, task, "confirm", "").await;
            assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
        }
        let history = hotel::app::tasks::show(&house.rig.hotel, task).await.unwrap().history;
        assert_eq!(history.iter().filter(|step| step.to == "CONFIRMED").count(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_viewer_reads_the_card_without_a_form_and_cannot_send_one() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let task = task(&house.rig, &complete_group()).await;
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        let card = open(&mut viewer, task).await;
        assert!(card.status == StatusCode::OK && !card.text.contains("name=\"act\""));
        let fields = [("act", "confirm"), ("version", "1"), ("reason", "x")];
        let refused = viewer.post(&format!("/console/tasks/{task}"), &fields).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN);
        assert_eq!(status(&house.rig, task).await, "PENDING_CONFIRMATION");
    })
    .await;
}

#[tokio::test]
async fn read_only_binds_people_too() {
    on_each_database(async |rig| {
        let policy = Policy { read_only: true, ..Policy::default() };
        let house = House::with(rig, policy, ConsoleOptions::default()).await;
        let task = task(&house.rig, &complete_group()).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let card = open(&mut clerk, task).await;
        let refused = decide(&mut clerk, &card, task, "confirm", "").await;
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(status(&house.rig, task).await, "PENDING_CONFIRMATION");
    })
    .await;
}

#[tokio::test]
async fn what_was_typed_when_the_session_ended_is_back_after_the_log_in_however_long() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let task = task(&house.rig, &complete_group()).await;
        let password = house.person("mei", Role::Clerk).await;
        let mut clerk = house.browser();
        clerk.log_in("mei", &password).await;
        house.rig.hotel.clock.advance(Duration::from_millis(IDLE_MS.try_into().unwrap()));
        let long = "客人来电说".repeat(800);
        let fields = [("act", "reject"), ("version", "1"), ("reason", &long), ("to:agency", "阳光 & 海")];
        let ended = clerk.post(&format!("/console/tasks/{task}"), &fields).await;
        assert_eq!(ended.status, StatusCode::UNAUTHORIZED);
        assert!(ended.text.contains("您输入的内容会在登录后恢复"), "{}", ended.text);
        let mut fields = carried(&ended.text);
        fields.extend([("name".to_owned(), "mei".to_owned()), ("password".to_owned(), "wrong".to_owned())]);
        let wrong = clerk.post("/console/login", &borrowed(&fields)).await;
        assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
        let mut fields = carried(&wrong.text);
        fields.extend([("name".to_owned(), "mei".to_owned()), ("password".to_owned(), password)]);
        let back = clerk.post("/console/login", &borrowed(&fields)).await;
        assert_eq!(back.status, StatusCode::OK, "{}", back.text);
        let mut fields = carried(&back.text);
        fields.push(("act".to_owned(), "show_again".to_owned()));
        let card = clerk.post(&format!("/console/tasks/{task}"), &borrowed(&fields)).await;
        assert_eq!(card.status, StatusCode::OK, "{}", card.text);
        assert!(card.text.contains("已恢复") && card.text.contains(&long[..300]), "{}", card.text);
        assert!(card.text.contains("value=\"阳光 &#38; 海\""), "{}", card.text);
        assert_eq!(status(&house.rig, task).await, "PENDING_CONFIRMATION");
        assert_eq!(decide(&mut clerk, &card, task, "reject", "客人来电").await.status, StatusCode::SEE_OTHER);
    })
    .await;
}

#[tokio::test]
async fn what_was_typed_into_a_card_of_an_earlier_session_is_back_on_the_card() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let task = task(&house.rig, &complete_group()).await;
        let password = house.person("mei", Role::Clerk).await;
        let mut clerk = house.browser();
        clerk.log_in("mei", &password).await;
        let card = open(&mut clerk, task).await;
        let earlier = clerk.token.clone();
        // Out and in again in another tab, while the card is still open in the first one.
        clerk.post("/console/logout", &[]).await;
        clerk.log_in("mei", &password).await;
        clerk.token = earlier;
        let refused = decide(&mut clerk, &card, task, "reject", "客人来电").await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN);
        let mut fields = carried(&refused.text);
        fields.push(("act".to_owned(), "show_again".to_owned()));
        let again = clerk.post(&format!("/console/tasks/{task}"), &borrowed(&fields)).await;
        assert!(again.text.contains("客人来电"), "{}", again.text);
        assert_eq!(status(&house.rig, task).await, "PENDING_CONFIRMATION");
    })
    .await;
}

#[tokio::test]
async fn what_an_agent_wrote_is_text_wherever_it_is_shown() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let hostile = "\"><img src=x onerror=alert(1)><script>alert(2)</script>";
        let event = json!({
            "summary": hostile,
            "proposed_changes": [{"field": hostile, "from": hostile, "to": {"x": hostile}}, {"field": "agency", "from": null, "to": hostile}],
            "evidence": [{"source_message_id": null, "quote": hostile}],
        });
        let task = task(&house.rig, &event).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        for page in [open(&mut clerk, task).await, clerk.get("/console/tasks").await] {
            assert!(page.text.contains("alert(1)"), "{}", page.text);
            assert!(!page.text.contains("<img") && !page.text.contains("<script>"), "{}", page.text);
        }
    })
    .await;
}

#[tokio::test]
async fn the_board_counts_by_status_and_filters_by_kind_agency_and_day() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let rig = &house.rig;
        for (number, agency) in ["甲旅行社", "甲旅行社", "乙 & 丙"].into_iter().enumerate() {
            let id = format!("{number}@x");
            mail(rig, &id, &format!("{TEXT}Subject: Mail {number}\r\n"), "x").await;
            let event = json!({
                "case_keys": {"group_code": format!("G{number}"), "confirmation_number": null, "reservation_no": null},
                "proposed_changes": [{"field": "agency", "from": null, "to": agency}],
                "summary": format!("Summary {number}"),
            });
            propose(rig, &id, &event).await;
        }
        mail(rig, "info@x", TEXT, "x").await;
        propose(rig, "info@x", &json!({"event_type": "INFORMATIONAL"})).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let mut shown = async |query: &str| {
            let page = clerk.get(&format!("/console/tasks{query}")).await.text;
            let list = page.split("<ul class=\"list\"").nth(1).map_or(0, |list| list.matches("<li>").count());
            let count = page.split("aria-current=\"page\">待确认 <span class=\"count\">").nth(1);
            (list, count.map(|rest| rest.split('<').next().unwrap().to_owned()))
        };
        assert_eq!(shown("").await, (3, Some("3".to_owned())));
        assert_eq!(shown("?status=INFORMATIONAL").await.0, 1);
        assert_eq!(shown("?status=DONE").await.0, 0);
        assert_eq!(shown("?type=CREATE_GROUP_BLOCK").await.0, 3);
        assert_eq!(shown("?type=AMEND_RESERVATION").await, (0, Some("0".to_owned())));
        assert_eq!(shown("?agency=%E7%94%B2%E6%97%85%E8%A1%8C%E7%A4%BE").await, (2, Some("2".to_owned())));
        assert_eq!(shown("?agency=%E4%B9%99+%26+%E4%B8%99").await.0, 1);
        assert_eq!(shown("?mine=1").await.0, 0);
        assert_eq!(shown("?today=1").await.0, 0, "they are due a day after the mail came");
        rig.hotel.clock.advance(Duration::from_hours(25));
        let mut clerk = house.logged_in("lin", Role::Clerk).await;
        let page = clerk.get("/console/tasks?today=1").await.text;
        assert!(page.contains("已逾期") && page.contains("Summary 0"), "{page}");
    })
    .await;
}

#[tokio::test]
async fn every_task_is_reached_once_from_page_to_page() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        for number in 0..130 {
            let id = format!("{number}@x");
            mail(&house.rig, &id, TEXT, "x").await;
            let keys = json!({"group_code": format!("G{number}"), "confirmation_number": null, "reservation_no": null});
            propose(&house.rig, &id, &json!({"case_keys": keys})).await;
        }
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let (mut path, mut seen) = ("/console/tasks".to_owned(), Vec::new());
        for _ in 0..10 {
            let page = clerk.get(&path).await.text;
            seen.extend(page.split("href=\"/console/tasks/").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()));
            let Some((_, rest)) = page.split_once("&amp;after=") else { break };
            let place = rest.split('"').next().unwrap();
            path = format!("/console/tasks?status=PENDING_CONFIRMATION&after={place}");
        }
        let total = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!((total, seen.len()), (130, 130));
    })
    .await;
}

#[tokio::test]
async fn what_a_clerk_edits_is_what_the_order_gets_and_both_stay_visible() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let task = task(&house.rig, &complete_group()).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let card = open(&mut clerk, task).await;
        assert!(
            card.text.contains("name=\"to:arrival\" placeholder=\"2027-01-31\" value=\"2027-03-12\""),
            "{}",
            card.text
        );
        let fields = [("act", "confirm"), ("version", "1"), ("to:arrival", "2027-03-11"), ("to:agency", "")];
        let done = clerk.post(&format!("/console/tasks/{task}"), &fields).await;
        assert!(done.text.contains("需要说明理由"), "clearing the agency leaves a need open: {}", done.text);
        assert!(done.text.contains("value=\"2027-03-11\""), "{}", done.text);
        let done = clerk
            .post(&format!("/console/tasks/{task}"), &[fields.as_slice(), &[("reason", "散客团")]].concat())
            .await;
        assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text);
        let order = order(&house.rig, task).await;
        assert_eq!(order["arrival"], "2027-03-11");
        assert_eq!(order["fields"].get("agency"), Some(&Value::Null));
        let card = open(&mut clerk, task).await.text;
        assert!(card.contains("<del>2027-03-12</del>") && card.contains("2027-03-11"), "{card}");
    })
    .await;
}

#[tokio::test]
async fn an_edit_mends_a_stop_and_may_make_one() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut event = complete_group();
        event["proposed_changes"][2] = json!({"field": "arrival", "from": null, "to": "2027-02-31"});
        let task = task(&house.rig, &event).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let mut confirm = async |arrival: &str| {
            let fields =
                [("act", "confirm"), ("version", "1"), ("reason", "电话核对"), ("to:arrival", arrival)];
            clerk.post(&format!("/console/tasks/{task}"), &fields).await
        };
        for wrong in ["2027-02-31", "tomorrow", "2027-03-20", ""] {
            let refused = confirm(wrong).await;
            assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{wrong}");
            assert!(refused.text.contains(&format!("value=\"{wrong}\"")), "{wrong}: {}", refused.text);
        }
        assert_eq!(confirm("2027-03-10").await.status, StatusCode::SEE_OTHER);
        assert_eq!(order(&house.rig, task).await["arrival"], "2027-03-10");
    })
    .await;
}

async fn order(rig: &Rig, task: i64) -> Value {
    let order = hotel::app::tasks::show(&rig.hotel, task).await.unwrap().task.order_id.unwrap();
    let query = serde_json::from_value(json!({"object_id": format!("ORDER:{order}")})).unwrap();
    serde_json::to_value(hotel::app::object_detail::query(&rig.hotel, query).await.unwrap()).unwrap()
}

#[tokio::test]
async fn a_task_goes_its_way_by_the_buttons_that_its_card_offers() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let task = task(&house.rig, &complete_group()).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        for (act, reason, next) in [
            ("review", "房型不明", "PENDING_MANUAL_REVIEW"),
            ("return", "", "PENDING_CONFIRMATION"),
            ("confirm", "", "CONFIRMED"),
            ("undo", "", "PENDING_CONFIRMATION"),
            ("confirm", "", "CONFIRMED"),
            ("start", "", "IN_PROGRESS"),
            ("fail", "OPERA 不可用", "FAILED"),
            ("retry", "", "IN_PROGRESS"),
            ("done", "", "DONE"),
        ] {
            let card = open(&mut clerk, task).await;
            assert!(card.text.contains(&format!("name=\"act\" value=\"{act}\"")), "{act}: {}", card.text);
            let answer = decide(&mut clerk, &card, task, act, reason).await;
            assert_eq!(answer.status, StatusCode::SEE_OTHER, "{act}: {}", answer.text);
            assert_eq!(status(&house.rig, task).await, next);
        }
        assert!(!open(&mut clerk, task).await.text.contains("name=\"act\""));
    })
    .await;
}

#[tokio::test]
async fn a_task_is_taken_given_to_somebody_and_given_back() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let task = task(&house.rig, &complete_group()).await;
        house.person("lin", Role::Clerk).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let path = format!("/console/tasks/{task}/assign");
        for (version, fields, now) in [
            ("1", ("take", "1"), Some("mei")),
            ("2", ("assignee", "lin"), Some("lin")),
            ("3", ("assignee", ""), None),
        ] {
            let answer = clerk.post(&path, &[("version", version), fields]).await;
            assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
            let shown = hotel::app::tasks::show(&house.rig.hotel, task).await.unwrap();
            assert_eq!(shown.task.assignee.as_deref(), now);
        }
        let unknown = clerk.post(&path, &[("version", "4"), ("assignee", "nobody")]).await;
        assert!(unknown.status == StatusCode::UNPROCESSABLE_ENTITY && unknown.text.contains("nobody"));
        let stale = clerk.post(&path, &[("version", "1"), ("assignee", "lin")]).await;
        assert_eq!(stale.status, StatusCode::CONFLICT);
        assert!(open(&mut clerk, task).await.text.contains("负责人 → <bdi>lin</bdi>"));
    })
    .await;
}

#[tokio::test]
async fn informational_tasks_are_acknowledged_at_once_and_what_others_moved_is_left_and_named() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut tasks = Vec::new();
        for id in ["i1@x", "i2@x", "i3@x"] {
            mail(&house.rig, id, TEXT, "x").await;
            tasks.push(propose(&house.rig, id, &json!({"event_type": "INFORMATIONAL"})).await);
        }
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let mut other = house.logged_in("lin", Role::Clerk).await;
        let board = clerk.get("/console/tasks?status=INFORMATIONAL").await.text;
        let card = open(&mut other, tasks[1]).await;
        decide(&mut other, &card, tasks[1], "acknowledge", "").await;
        let values: Vec<&str> = board
            .split("name=\"task\" value=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap())
            .collect();
        assert_eq!(values.len(), 3, "{board}");
        let fields: Vec<(&str, &str)> = values.iter().map(|value| ("task", *value)).collect();
        let answer = clerk.post("/console/tasks", &fields).await;
        let list = clerk.get(answer.header("location")).await.text;
        assert!(
            list.contains("2 项任务已标为已阅") && list.contains(&format!("#{}</a>", tasks[1])),
            "{list}"
        );
        for task in tasks {
            assert_eq!(status(&house.rig, task).await, "ACKNOWLEDGED");
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_task_needs_can_be_added_and_nothing_else() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut event = complete_group();
        event["proposed_changes"].as_array_mut().unwrap().retain(|change| change["field"] != "rooms");
        let task = task(&house.rig, &event).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        assert!(open(&mut clerk, task).await.text.contains("name=\"to:rooms\""));
        let path = format!("/console/tasks/{task}");
        let strange = [("act", "confirm"), ("version", "1"), ("to:rooms", "9"), ("to:note", "晚到")];
        let refused = clerk.post(&path, &strange).await;
        assert!(
            refused.status == StatusCode::UNPROCESSABLE_ENTITY && refused.text.contains("note"),
            "{}",
            refused.text
        );
        assert_eq!(clerk.post(&path, &strange[..3]).await.status, StatusCode::SEE_OTHER);
        assert_eq!(order(&house.rig, task).await["fields"]["rooms"], "9");
    })
    .await;
}

#[tokio::test]
async fn a_field_that_is_proposed_twice_cannot_be_confirmed_whatever_is_typed() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut event = complete_group();
        let double = json!({"field": "arrival", "from": null, "to": "2027-03-13"});
        event["proposed_changes"].as_array_mut().unwrap().push(double);
        let task = task(&house.rig, &event).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        assert!(!open(&mut clerk, task).await.text.contains("value=\"confirm\""));
        let fields = [("act", "confirm"), ("version", "1"), ("reason", "x"), ("to:arrival", "2027-03-13")];
        let refused = clerk.post(&format!("/console/tasks/{task}"), &fields).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    })
    .await;
}

#[tokio::test]
async fn an_english_reader_is_told_in_english_what_a_warning_means() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let task = task(&house.rig, &json!({})).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        clerk.post("/console/language", &[("language", "en")]).await;
        let card = open(&mut clerk, task).await.text;
        assert!(card.contains("Something that this task needs is missing."), "{card}");
    })
    .await;
}
