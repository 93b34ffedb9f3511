//! What was typed when a session ended or changed is back on the card.

use std::time::Duration;

use axum::http::StatusCode;
use hotel::app::sessions::IDLE_MS;
use hotel::domain::role::Role;
use hotel::testing::on_each_database;

use crate::browser::House;
use crate::desk::{complete_group, decide, open, status, task};

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
