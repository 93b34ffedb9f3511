//! Tokens: shown once, rotated, revoked.

use std::time::Duration;

use axum::http::StatusCode;
use govern::credentials::{Credentials as _, digest};
use hotel::app::tokens::{OVERLAP_MS, TokenStore, list, resolve};
use hotel::testing::{Rig, on_each_database};

use super::{admin, trail};
use crate::browser::{Answer, House};

const HERE: &str = "/console/admin/tokens";

/// The secret that an answer shows.
fn secret(answer: &Answer) -> String {
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert_eq!(answer.header("cache-control"), "no-store");
    let (_, rest) = answer.text.split_once("<p class=\"secret\"><code>").unwrap();
    rest.split('<').next().unwrap().to_owned()
}

async fn caller(rig: &Rig, secret: &str) -> Option<govern::credentials::Caller> {
    let store = TokenStore::new(rig.hotel.db.clone(), rig.hotel.clock.clone());
    store.find(digest(secret)).await.unwrap()
}

#[tokio::test]
async fn a_secret_is_shown_by_the_answer_that_made_it_and_nowhere_again() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut boss = admin(&house).await;
        let fields = [("name", "agent"), ("scope-read", "1"), ("scope-submit", "1")];
        boss.get(HERE).await;
        let made = secret(&boss.post(HERE, &fields).await);
        let holder = caller(&house.rig, &made).await.unwrap();
        assert!(holder.name == "agent" && holder.may("submit") && !holder.may("ingest"), "{holder:?}");
        let again = boss.post(HERE, &fields).await;
        assert_eq!(again.status, StatusCode::CONFLICT);
        assert!(again.text.contains("已有名为 agent 的有效令牌"), "{}", again.text);
        let listed = boss.get(HERE).await;
        assert!(
            listed.text.contains("<bdi>agent</bdi>") && listed.text.contains("查询</bdi> <code>read</code>")
        );
        for page in [&again, &listed, &boss.get("/console/audit").await] {
            assert!(!page.text.contains(&made));
        }
        assert_eq!(trail(&house.rig, "token_add").await, [("boss".to_owned(), "token:agent".to_owned())]);
        assert_eq!(list(&house.rig.hotel).await.unwrap().len(), 1);
        let rows = house.rig.hotel.db.read(|tx| hotel::store::boxed(tx.audit_tail(1_000))).await.unwrap();
        assert!(!format!("{rows:?}").contains(&made), "the trail has no secret");
    })
    .await;
}

#[tokio::test]
async fn a_rotation_shows_a_new_secret_and_the_page_says_when_the_old_one_ends() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut boss = admin(&house).await;
        let old = secret(&boss.post(HERE, &[("name", "agent"), ("scope-read", "1")]).await);
        let token_id = resolve(&house.rig.hotel, "agent").await.unwrap();
        boss.get(HERE).await;
        let path = format!("{HERE}/{token_id}/rotate");
        let answer = boss.post(&path, &[]).await;
        let new = secret(&answer);
        assert!(answer.text.contains("旧密钥 24 小时后失效") && new != old, "{}", answer.text);
        boss.get(HERE).await;
        let twice = boss.post(&path, &[]).await;
        assert_eq!(twice.status, StatusCode::NOT_FOUND, "a form that is sent twice rotates once");
        assert!(boss.get(HERE).await.text.contains("旧密钥，2026-12-01"));
        house.rig.hotel.clock.advance(Duration::from_millis(u64::try_from(OVERLAP_MS).unwrap()));
        assert!(caller(&house.rig, &old).await.is_none() && caller(&house.rig, &new).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn a_leaked_secret_ends_at_once_and_a_revoked_token_is_refused() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut boss = admin(&house).await;
        let old = secret(&boss.post(HERE, &[("name", "agent"), ("scope-read", "1")]).await);
        let token_id = resolve(&house.rig.hotel, "agent").await.unwrap();
        boss.get(HERE).await;
        let new = secret(&boss.post(&format!("{HERE}/{token_id}/rotate"), &[("at_once", "1")]).await);
        assert!(caller(&house.rig, &old).await.is_none());
        let token_id = resolve(&house.rig.hotel, "agent").await.unwrap();
        boss.get(HERE).await;
        let path = format!("{HERE}/{token_id}/revoke");
        let answer = boss.post(&path, &[]).await;
        assert_eq!((answer.status, answer.header("location")), (StatusCode::SEE_OTHER, HERE));
        assert!(caller(&house.rig, &new).await.is_none());
        let page = boss.get(HERE).await;
        assert!(page.text.contains("已于") && !page.text.contains("/revoke"), "{}", page.text);
        assert_eq!(boss.post(&path, &[]).await.status, StatusCode::NOT_FOUND);
        assert_eq!(trail(&house.rig, "token_revoke").await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_hostile_name_is_refused_when_it_hides_something_and_escaped_when_not() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut boss = admin(&house).await;
        for (name, scope) in [("a\u{202E}b", "scope-read"), ("a\nb", "scope-read"), ("agent", "scope-root")] {
            boss.get(HERE).await;
            let refused = boss.post(HERE, &[("name", name), (scope, "1")]).await;
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{name:?}");
        }
        boss.get(HERE).await;
        let hostile = "\"><script>alert(1)</script>";
        let made = boss.post(HERE, &[("name", hostile), ("scope-read", "1")]).await;
        for page in [made, boss.get(HERE).await] {
            assert!(page.status == StatusCode::OK && !page.text.contains("<script>alert"), "{}", page.text);
        }
    })
    .await;
}
