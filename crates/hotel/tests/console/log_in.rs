//! Logging in, staying in, and what keeps others out.

use std::time::Duration;

use axum::http::StatusCode;
use govern::gate::Policy;
use hotel::app::sessions::{ABSOLUTE_MS, ACCOUNT_ATTEMPTS, ADDRESS_ATTEMPTS, IDLE_MS, WINDOW_MS};
use hotel::app::users;
use hotel::console::ConsoleOptions;
use hotel::domain::role::Role;
use hotel::store::boxed;
use hotel::testing::{Rig, on_each_database};

use crate::browser::{Browser, House};

fn milliseconds(ms: i64) -> Duration {
    Duration::from_millis(ms.try_into().unwrap())
}

async fn is_in(browser: &mut Browser) -> bool {
    browser.get("/console/account").await.status == StatusCode::OK
}

/// caller, operation, outcome and code of the log-ins in the trail.
async fn trail(rig: &Rig) -> Vec<[String; 4]> {
    let rows = rig.hotel.db.read(|tx| boxed(tx.audit_tail(1_000))).await.unwrap();
    let row = |row: hotel::audit::AuditRow| {
        [row.event.caller, row.event.operation, row.event.outcome, row.event.code.unwrap_or_default()]
    };
    rows.into_iter().filter(|row| row.event.operation.starts_with("console_log")).map(row).collect()
}

#[tokio::test]
async fn a_person_logs_in_goes_on_where_they_wanted_and_logs_out() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let password = house.person("王芳", Role::Clerk).await;
        let mut browser = house.browser();
        let asked = browser.get("/console/account?x=1").await;
        assert_eq!(asked.status, StatusCode::SEE_OTHER);
        let form = browser.get(asked.header("location")).await;
        assert!(form.text.contains("value=\"/console/account?x=1\""), "{}", form.text);
        let fields = [("name", " 王芳 "), ("password", password.as_str()), ("next", "/console/account?x=1")];
        let before = browser.cookies.clone();
        let answer = browser.post("/console/login", &fields).await;
        assert_eq!(answer.header("location"), "/console/account?x=1");
        assert!(answer.header("set-cookie").ends_with("; Path=/console; SameSite=Strict; HttpOnly"));
        assert_ne!(browser.cookies, before, "the session has a secret of its own");
        let page = browser.get("/console/account").await;
        assert!(page.text.contains("王芳") && page.text.contains("预订员"), "{}", page.text);
        let left = browser.cookies.clone();
        assert_eq!(browser.post("/console/logout", &[]).await.header("location"), "/console/login");
        browser.cookies = left;
        assert!(!is_in(&mut browser).await, "the old cookie opens nothing");
        let trail: Vec<_> = trail(&house.rig).await.into_iter().map(|row| row[..3].join(" ")).collect();
        assert_eq!(trail, ["王芳 console_log_in ok", "王芳 console_log_out ok"]);
    })
    .await;
}

#[tokio::test]
async fn a_wrong_name_a_wrong_password_and_a_person_kept_out_get_one_answer() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let password = house.person("mei", Role::Clerk).await;
        let kept_out = house.person("lin", Role::Clerk).await;
        users::disable(&house.rig.hotel, house.rig.request("local"), "lin").await.unwrap();
        for (name, password) in
            [("nobody", &password), ("mei", &"not-this-one".to_owned()), ("lin", &kept_out)]
        {
            let answer = house.browser().log_in(name, password).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{name}");
            assert!(
                answer.text.contains("<p class=\"notice stop\" role=\"alert\">用户名或密码不正确。</p>"),
                "{name}"
            );
            assert!(!answer.text.contains(password.as_str()), "{name}");
        }
        let trail = trail(&house.rig).await;
        let who: Vec<_> = trail.iter().map(|row| (row[0].as_str(), row[3].as_str())).collect();
        assert_eq!(who, [("unknown", "LOG_IN_FAILED"), ("mei", "LOG_IN_FAILED"), ("lin", "LOG_IN_FAILED")]);
    })
    .await;
}

#[tokio::test]
async fn an_account_is_locked_after_its_attempts_even_for_the_right_password_until_the_window_is_over() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let password = house.person("mei", Role::Clerk).await;
        let mut browser = house.browser();
        for _ in 0..ACCOUNT_ATTEMPTS {
            assert_eq!(browser.log_in("MEI", "wrong").await.status, StatusCode::UNAUTHORIZED);
        }
        for _ in 0..3 {
            // From another address as well: what is locked is the account.
            browser.address = "198.51.100.1:1".parse().unwrap();
            let locked = browser.log_in("mei", &password).await;
            assert_eq!(locked.status, StatusCode::TOO_MANY_REQUESTS);
            assert!(locked.text.contains("请 15 分钟后再试"), "{}", locked.text);
        }
        let lock_outs = trail(&house.rig).await.iter().filter(|row| row[3] == "LOG_IN_LOCKED").count();
        assert_eq!(lock_outs, 1, "one record tells of a lock-out");
        house.rig.hotel.clock.advance(milliseconds(WINDOW_MS));
        assert_eq!(browser.log_in("mei", &password).await.status, StatusCode::SEE_OTHER);
    })
    .await;
}

#[tokio::test]
async fn attempts_at_once_are_no_way_around_the_lock_out() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        house.person("mei", Role::Clerk).await;
        let attempts =
            (0..ACCOUNT_ATTEMPTS * 2).map(|_| async { house.browser().log_in("mei", "wrong").await.status });
        let answers = futures_util::future::join_all(attempts).await;
        let looked_at = answers.iter().filter(|status| **status == StatusCode::UNAUTHORIZED).count();
        assert_eq!(i64::try_from(looked_at).unwrap(), ACCOUNT_ATTEMPTS, "{answers:?}");
    })
    .await;
}

#[tokio::test]
async fn an_address_is_locked_after_its_attempts_on_whatever_accounts_and_others_are_not() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let password = house.person("mei", Role::Clerk).await;
        let mut browser = house.browser();
        for number in 0..ADDRESS_ATTEMPTS {
            browser.log_in(&format!("name{number}"), "wrong").await;
        }
        assert_eq!(browser.log_in("mei", &password).await.status, StatusCode::TOO_MANY_REQUESTS);
        browser.address = "198.51.100.1:1".parse().unwrap();
        assert_eq!(browser.log_in("mei", &password).await.status, StatusCode::SEE_OTHER);
    })
    .await;
}

#[tokio::test]
async fn a_reset_gives_another_password_ends_sessions_and_a_lock_out_and_lets_in_again() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut at_desk = house.logged_in("mei", Role::Clerk).await;
        for _ in 0..=ACCOUNT_ATTEMPTS {
            house.browser().log_in("mei", "wrong").await;
        }
        users::disable(&house.rig.hotel, house.rig.request("local"), "mei").await.unwrap();
        let password = users::reset(&house.rig.hotel, house.rig.request("local"), "Mei").await.unwrap();
        assert!(!is_in(&mut at_desk).await);
        assert_eq!(at_desk.log_in("mei", password.expose()).await.status, StatusCode::SEE_OTHER);
    })
    .await;
}

#[tokio::test]
async fn a_person_who_is_disabled_is_out_at_once() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut browser = house.logged_in("mei", Role::Clerk).await;
        assert!(is_in(&mut browser).await);
        users::disable(&house.rig.hotel, house.rig.request("local"), "mei").await.unwrap();
        assert!(!is_in(&mut browser).await);
    })
    .await;
}

#[tokio::test]
async fn a_session_ends_when_it_is_idle_and_at_the_end_of_a_shift() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut idle = house.logged_in("idle", Role::Clerk).await;
        let mut busy = house.logged_in("busy", Role::Clerk).await;
        let clock = &house.rig.hotel.clock;
        clock.advance(milliseconds(IDLE_MS - 1));
        assert!(is_in(&mut busy).await);
        clock.advance(milliseconds(1));
        assert!(!is_in(&mut idle).await);
        let mut passed = IDLE_MS;
        while passed + IDLE_MS / 2 < ABSOLUTE_MS {
            assert!(is_in(&mut busy).await, "after {passed} ms");
            clock.advance(milliseconds(IDLE_MS / 2));
            passed += IDLE_MS / 2;
        }
        assert!(is_in(&mut busy).await);
        clock.advance(milliseconds(ABSOLUTE_MS - passed));
        assert!(!is_in(&mut busy).await);
    })
    .await;
}

#[tokio::test]
async fn the_database_knows_no_secret_and_no_password() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let browser = house.logged_in("mei", Role::Clerk).await;
        let secret = browser.cookies.iter().find(|(name, _)| name == "countersign").unwrap().1.clone();
        let rig = &house.rig;
        let stored = rig.hotel.db.read(move |tx| boxed(async move { tx.session(&secret).await })).await;
        assert!(stored.unwrap().is_none());
        let users = rig.hotel.db.read(|tx| boxed(tx.users())).await.unwrap();
        assert!(users[0].password_hash.starts_with("$argon2id$"));
    })
    .await;
}

#[tokio::test]
async fn behind_a_tls_proxy_cookies_are_secure() {
    on_each_database(async |rig| {
        let house = House::with(rig, Policy::default(), ConsoleOptions { tls_proxy: true }).await;
        let answer = house.browser().get("/console/login").await;
        assert!(answer.header("set-cookie").ends_with("; HttpOnly; Secure"));
    })
    .await;
}

#[tokio::test]
async fn pages_are_chinese_until_english_is_chosen() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut browser = house.browser();
        let page = browser.get("/console/login").await;
        assert!(page.text.contains("<html lang=\"zh-CN\">") && page.text.contains("登录酒店控制台"));
        let fields = [("language", "en"), ("next", "/console/login")];
        assert_eq!(browser.post("/console/language", &fields).await.header("location"), "/console/login");
        let page = browser.get("/console/login").await;
        assert!(
            page.text.contains("<html lang=\"en\">") && page.text.contains("Log in to the hotel console")
        );
    })
    .await;
}

#[tokio::test]
async fn what_is_typed_into_the_log_in_comes_back_escaped() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let hostile = "\"><script>alert(1)</script>";
        let answer = house.browser().log_in(hostile, "x").await;
        assert!(!answer.text.contains("<script>alert"), "{}", answer.text);
        assert!(answer.text.contains("&lt;script&gt;") || answer.text.contains("&#60;script&#62;"));
    })
    .await;
}

#[tokio::test]
async fn a_next_that_leads_out_of_the_console_leads_to_its_beginning() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let password = house.person("mei", Role::Clerk).await;
        let mut browser = house.browser();
        browser.get("/console/login?next=https%3A%2F%2Fevil.example").await;
        let fields = [("name", "mei"), ("password", password.as_str()), ("next", "//evil.example")];
        let answer = browser.post("/console/login", &fields).await;
        assert!(answer.header("location").starts_with("/console/"), "{}", answer.header("location"));
    })
    .await;
}
