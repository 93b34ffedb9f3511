//! The card: what a person sees and decides, and what two people do at once.

use axum::http::StatusCode;
use govern::gate::Policy;
use hotel::console::ConsoleOptions;
use hotel::domain::role::Role;
use hotel::testing::on_each_database;
use serde_json::{Value, json};

use crate::browser::House;
use crate::desk::{complete_group, decide, open, status, task};

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
