//! The board: its lists, counts and filters, and several tasks acknowledged at once.

use std::time::Duration;

use hotel::domain::role::Role;
use hotel::testing::on_each_database;
use serde_json::json;

use crate::browser::House;
use crate::desk::{TEXT, decide, mail, open, propose, status};

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
