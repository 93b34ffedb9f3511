//! Values that a person corrects before they confirm.

use axum::http::StatusCode;
use hotel::domain::role::Role;
use hotel::testing::on_each_database;
use serde_json::{Value, json};

use crate::browser::House;
use crate::desk::{complete_group, open, order, task};

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
