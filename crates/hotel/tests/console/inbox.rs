//! The inbox, conversations, and the frame that a mail's HTML is shown in.

use axum::http::StatusCode;
use hotel::domain::role::Role;
use hotel::store::boxed;
use hotel::testing::on_each_database;
use serde_json::json;

use crate::browser::House;
use crate::desk::{HTML, TEXT, mail, propose};

/// The number after a path in a page.
fn id_after(page: &str, path: &str) -> String {
    let rest = page.split_once(path).unwrap_or_else(|| panic!("no {path} in {page}")).1;
    rest.chars().take_while(char::is_ascii_digit).collect()
}

#[tokio::test]
async fn a_thread_is_one_line_with_its_newest_mail_its_number_of_mails_and_its_open_tasks() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let dated = |day: &str| format!("{TEXT}Date: Mon, {day} Nov 2026 10:00:00 +0800\r\n");
        mail(&house.rig, "a@x", &format!("{}Subject: First\r\n", dated("23")), "one").await;
        let reply = format!("{}Subject: Re: First\r\nIn-Reply-To: <a@x>\r\n", dated("24"));
        mail(&house.rig, "b@x", &reply, "two\n lines").await;
        mail(&house.rig, "c@x", &format!("{}Subject: Other\r\n", dated("25")), "three").await;
        propose(&house.rig, "a@x", &json!({})).await;
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        let page = viewer.get("/console/inbox").await.text;
        assert!(page.find("Other").unwrap() < page.find("Re: First").unwrap(), "{page}");
        assert_eq!(page.matches("/console/conversations/").count(), 2);
        assert!(page.contains("two lines") && page.contains("2 封") && page.contains("1 项待办"), "{page}");
        assert!(page.contains("2026-11-24 10:00"));
        let conversation = id_after(page.split("Other").nth(1).unwrap(), "/console/conversations/");
        let page = viewer.get(&format!("/console/conversations/{conversation}")).await.text;
        assert!(
            page.contains("one") && page.contains("two\n lines") && page.contains("新建团队预留"),
            "{page}"
        );
    })
    .await;
}

#[tokio::test]
async fn every_mail_is_reached_once_from_page_to_page() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        for number in 0..120 {
            mail(&house.rig, &format!("{number}@x"), &format!("{TEXT}Subject: Mail {number}.\r\n"), "x")
                .await;
        }
        let root = "References: <0@x>\r\n";
        for number in 120..145 {
            mail(
                &house.rig,
                &format!("{number}@x"),
                &format!("{TEXT}{root}Subject: Mail {number}.\r\n"),
                "x",
            )
            .await;
        }
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        let (mut path, mut seen) = ("/console/inbox".to_owned(), Vec::new());
        for _ in 0..10 {
            let page = viewer.get(&path).await.text;
            seen.extend(page.split("Mail ").skip(1).map(|rest| rest.split('.').next().unwrap().to_owned()));
            let Some((_, rest)) = page.split_once("href=\"/console/inbox?before=") else { break };
            path = format!("/console/inbox?before={}", rest.split('"').next().unwrap());
        }
        assert_eq!(seen.len(), 120, "a thread each");
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 120);
        let page = viewer.get("/console/inbox").await.text;
        let conversation = id_after(&page, "/console/conversations/");
        let first = viewer.get(&format!("/console/conversations/{conversation}")).await.text;
        let next = first.split_once("?before=").unwrap().1.split('"').next().unwrap();
        let second = viewer.get(&format!("/console/conversations/{conversation}?before={next}")).await.text;
        assert_eq!([&first, &second].map(|page| page.matches("<article").count()), [20, 6]);
    })
    .await;
}

#[tokio::test]
async fn html_is_shown_only_in_a_sandboxed_frame_of_its_own_route_and_policy() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let html = "<p>Dear <b>desk</b></p><script>alert(1)</script><img src=https://evil.example/x>";
        let id = mail(&house.rig, "a@x", &format!("{HTML}Subject: S\r\n"), html).await;
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        let page = viewer.get(&format!("/console/messages/{id}")).await;
        let frame = format!("<iframe src=\"/console/messages/{id}/body\" sandbox ");
        assert!(page.text.contains(&frame) && !page.text.contains("<b>desk</b>"), "{}", page.text);
        let body = viewer.get(&format!("/console/messages/{id}/body")).await;
        let policy = body.header("content-security-policy");
        assert_eq!(
            policy,
            "sandbox; default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
        );
        assert_eq!(body.header("x-frame-options"), "SAMEORIGIN");
        assert_eq!((body.header("cache-control"), body.header("x-content-type-options")), ("no-store", "nosniff"));
        assert!(body.text.contains("<b>desk</b>"), "{}", body.text);
        assert!(!body.text.contains("script") && !body.text.contains("evil"), "{}", body.text);
    })
    .await;
}

#[tokio::test]
async fn what_a_sender_wrote_is_text_wherever_it_is_shown() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let hostile = "<img src=x onerror=alert(1)>\"'--><script>alert(2)</script>";
        let headers =
            format!("{TEXT}Subject: {hostile}\r\nCc: \"{}\" <c@x.example>\r\n", hostile.replace('"', "\\\""));
        let id = mail(&house.rig, "a@x", &headers, hostile).await;
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        let inbox = viewer.get("/console/inbox").await.text;
        let conversation = id_after(&inbox, "/console/conversations/");
        let pages = [
            inbox,
            viewer.get(&format!("/console/conversations/{conversation}")).await.text,
            viewer.get(&format!("/console/messages/{id}")).await.text,
        ];
        for page in pages {
            assert!(page.contains("alert(1)"), "{page}");
            assert!(!page.contains("<img") && !page.contains("<script>"), "{page}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_mail_of_two_megabytes_and_one_with_many_files_are_shown_within_bounds() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let long = "长".repeat(600_000);
        let id = mail(&house.rig, "a@x", &format!("{TEXT}Subject: Long\r\n"), &long).await;
        let part = |number: usize| {
            format!("--b\r\nContent-Disposition: attachment; filename=\"../{number}.pdf\"\r\n\r\nx\r\n")
        };
        let parts: String = (0..300).map(part).collect();
        let mixed = "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\nSubject: Files\r\n";
        let files = mail(&house.rig, "b@x", mixed, &format!("{parts}--b--")).await;
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        let whole = viewer.get(&format!("/console/messages/{id}")).await;
        assert_eq!((whole.status, whole.text.matches('长').count()), (StatusCode::OK, 600_000));
        let conversation = id_after(&whole.text, "/console/conversations/");
        let page = viewer.get(&format!("/console/conversations/{conversation}")).await.text;
        assert!(page.contains("文本较长") && page.len() < 100_000, "{}", page.len());
        let page = viewer.get(&format!("/console/messages/{files}")).await.text;
        assert_eq!(page.matches(".pdf").count(), 300);
        assert!(!page.contains("href=\"..") && page.contains("1 B"));
    })
    .await;
}

#[tokio::test]
async fn each_mail_that_a_person_reads_is_noted_and_a_list_is_not_a_reading() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let id = mail(&house.rig, "a@x", &format!("{HTML}Subject: S\r\n"), "<p>x</p>").await;
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        let accesses = async || house.rig.hotel.db.read(|tx| boxed(tx.count_accesses())).await.unwrap();
        let inbox = viewer.get("/console/inbox").await.text;
        assert_eq!(accesses().await, 0);
        viewer.get(&format!("/console/conversations/{}", id_after(&inbox, "/console/conversations/"))).await;
        viewer.get(&format!("/console/messages/{id}")).await;
        viewer.get(&format!("/console/messages/{id}/body")).await;
        assert_eq!(accesses().await, 3);
    })
    .await;
}

#[tokio::test]
async fn what_is_not_there_is_said_to_be_not_there() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let mut viewer = house.logged_in("viewer", Role::Viewer).await;
        for path in [
            "/console/conversations/7",
            "/console/conversations/x",
            "/console/messages/7",
            "/console/messages/7/body",
            "/console/messages/99999999999999999999",
        ] {
            let answer = viewer.get(path).await;
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
            assert!(answer.text.contains("role=\"alert\""), "{path}");
        }
    })
    .await;
}
