//! Who may open what, over every page there is; and what every answer says to the browser.

use std::fmt::Write as _;

use axum::http::StatusCode;
use hotel::console::{ASSETS, Access, Method, PAGES, Page};
use hotel::domain::role::{ROLES, Role};
use hotel::testing::on_each_database;

use crate::browser::{Answer, Browser, House};

/// Opens a page as a browser would; an id leads to nothing.
async fn open(browser: &mut Browser, page: &Page) -> Answer {
    let path = page.path.replace("{id}", "1");
    match page.method {
        Method::Get => browser.get(&path).await,
        Method::Post => browser.post(&path, &[("act", "confirm"), ("version", "1")]).await,
    }
}

async fn browser_of(house: &House, role: Option<Role>, name: &str) -> Browser {
    if let Some(role) = role {
        return house.logged_in(name, role).await;
    }
    let mut browser = house.browser();
    browser.get("/console/login").await;
    browser
}

#[tokio::test]
async fn every_page_is_open_to_the_roles_of_this_table_and_to_nobody_else() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut table = String::new();
        for (number, page) in PAGES.iter().enumerate() {
            write!(table, "{:4} {:40}", page.method.as_str(), page.path).unwrap();
            for role in [None].into_iter().chain(ROLES.map(Some)) {
                // Logging out ends a session, so each page meets a new one.
                let name = format!("{}{number}", role.map_or("nobody", Role::as_str));
                let mut browser = browser_of(&house, role, &name).await;
                let answer = open(&mut browser, page).await;
                let who = role.map_or("nobody", Role::as_str);
                write!(table, "  {who} {}", answer.status.as_u16()).unwrap();
            }
            table.push('\n');
        }
        insta::assert_snapshot!("access", table);
    })
    .await;
}

#[tokio::test]
async fn a_page_that_is_not_open_leaves_a_record_and_one_for_nobody_leads_to_the_log_in() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        let mut nobody = house.browser();
        let mut refused = Vec::new();
        for page in PAGES.iter().filter(|page| page.access != Access::Anyone) {
            nobody.get("/console/login").await;
            let answer = open(&mut nobody, page).await;
            let to_log_in = answer.header("location").starts_with("/console/login?next=%2Fconsole%2F");
            assert!(answer.status == StatusCode::UNAUTHORIZED || to_log_in, "{}", page.path);
            if open(&mut viewer, page).await.status == StatusCode::FORBIDDEN {
                refused.push(page.operation);
            }
        }
        let recorded = house.recorded().await;
        assert!(recorded.iter().all(|(caller, ..)| caller == "viewer"), "{recorded:?}");
        for page in PAGES.iter().filter(|page| page.access != Access::Anyone) {
            let record = recorded.iter().find(|(_, operation, ..)| operation == page.operation).unwrap();
            let denied = (record.2, record.3.as_str()) == ("refused", "ROLE_DENIED");
            assert_eq!(denied, refused.contains(&page.operation), "{record:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn every_answer_tells_the_browser_to_load_nothing_from_elsewhere_and_to_be_framed_by_nobody() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut admin = house.logged_in("admin", Role::Admin).await;
        let mut answers = Vec::new();
        for asset in &ASSETS {
            answers.push((asset.path.to_owned(), admin.get(asset.path).await));
        }
        for path in ["/console", "/console/", "/console/nothing", "/console/assets/../login"] {
            answers.push((path.to_owned(), admin.get(path).await));
        }
        answers.push(("405".to_owned(), admin.send("DELETE", "/console/login", String::new()).await));
        answers.push(("no token".to_owned(), admin.send("POST", "/console/language", String::new()).await));
        for page in PAGES {
            answers.push((page.path.to_owned(), open(&mut admin, page).await));
        }
        for (path, answer) in &answers {
            let policy = answer.header("content-security-policy");
            assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{path}");
            assert!(
                policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"),
                "{path}"
            );
            assert!(!policy.contains("unsafe"), "{path}");
            assert_eq!(answer.header("x-frame-options"), "DENY", "{path}");
            assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
            assert_eq!(answer.header("referrer-policy"), "same-origin", "{path}");
            let cached = if path.contains("/assets/") && answer.status == StatusCode::OK {
                "public, max-age=31536000, immutable"
            } else {
                "no-store"
            };
            assert_eq!(answer.header("cache-control"), cached, "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn no_page_has_an_inline_script_style_or_handler_or_loads_from_elsewhere() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut admin = house.logged_in("admin", Role::Admin).await;
        for page in PAGES.iter().filter(|page| page.method == Method::Get) {
            let html = open(&mut admin, page).await.text;
            for forbidden in
                ["<script>", "<style", " style=", " onclick", " onload", "javascript:", "http://", "https://"]
            {
                assert!(!html.contains(forbidden), "{} has {forbidden}", page.path);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn every_form_needs_the_token_of_its_own_session() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut other = house.logged_in("other", Role::Admin).await;
        other.get("/console/account").await;
        for (number, page) in PAGES.iter().filter(|page| page.method == Method::Post).enumerate() {
            let mut admin = house.logged_in(&format!("admin{number}"), Role::Admin).await;
            for token in ["", "0", other.token.as_str()] {
                token.clone_into(&mut admin.token);
                let answer = admin.post(&page.path.replace("{id}", "1"), &[]).await;
                assert_eq!(answer.status, StatusCode::FORBIDDEN, "{} {token}", page.path);
                assert!(answer.text.contains("页面已过期"), "{}", page.path);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_form_of_another_origin_and_an_unknown_host_are_refused() {
    use axum::body::Body;
    use axum::http::Request;
    use tower::ServiceExt as _;
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        for (host, origin) in [
            ("localhost:8750", "https://evil.example"),
            ("localhost:8750", "null"),
            ("evil.example", "http://evil.example"),
        ] {
            let request = Request::post("/console/login").header("host", host).header("origin", origin);
            let request = request.body(Body::empty()).unwrap();
            let answer = house.router.clone().oneshot(request).await.unwrap();
            assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{host} {origin}");
        }
    })
    .await;
}
