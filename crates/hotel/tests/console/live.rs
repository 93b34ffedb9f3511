//! What pages hear of while they are open.

use std::sync::Arc;
use std::time::Duration;

use axum::body::BodyDataStream;
use axum::http::StatusCode;
use futures_util::StreamExt as _;
use govern::http::serve;
use hotel::app::Hotel;
use hotel::app::ingest;
use hotel::app::live::STREAMS_OF_A_PERSON;
use hotel::app::tasks::{self, Act, Decision};
use hotel::app::users;
use hotel::domain::role::Role;
use hotel::store::{Db, boxed};
use hotel::testing::{Rig, on_each_database};
use hotel::{Error, Fault};
use serde_json::json;
use sqlx::{Connection as _, PgConnection};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::browser::{Browser, House};
use crate::desk::{self, TEXT};

/// Longest that news may take; far more than they do.
const SOON: Duration = Duration::from_secs(20);

/// An open stream, from its first words on.
struct Stream(BodyDataStream);

impl Stream {
    async fn open(browser: &mut Browser, path: &str) -> Self {
        let response = browser.begin("GET", path, String::new()).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut stream = Self(response.into_body().into_data_stream());
        assert_eq!(stream.next().await, "retry: 3000\n\n");
        stream
    }

    /// The next event; empty when the stream has ended.
    async fn next(&mut self) -> String {
        let next = timeout(SOON, self.0.next()).await.expect("something within the time");
        next.map_or_else(String::new, |bytes| String::from_utf8(bytes.unwrap().to_vec()).unwrap())
    }

    /// The topics of the next change, and the mark that it has.
    async fn change(&mut self) -> (String, String) {
        let event = self.next().await;
        let (id, rest) = event.split_once("\nevent: change\ndata: ").unwrap_or_else(|| panic!("{event:?}"));
        (rest.trim_end().to_owned(), id.strip_prefix("id: ").unwrap().to_owned())
    }

    /// A stream that has told all that was written before.
    async fn up_to_date(browser: &mut Browser) -> Self {
        let mut stream = Self::open(browser, "/console/events").await;
        let (_, mut mark) = stream.change().await;
        // The watcher may have read nothing yet, and says so with a mark of zeros.
        while mark == "0.0" {
            mark = stream.change().await.1;
        }
        stream
    }
}

/// The same hotel as another process has it open.
async fn elsewhere(rig: &Rig) -> Arc<Hotel> {
    let db = Db::open(&rig.url).await.unwrap();
    Arc::new(Hotel { db, ..(*rig.hotel).clone() })
}

async fn mail_elsewhere(rig: &Rig, hotel: &Arc<Hotel>, id: &str) {
    let raw = format!("From: lin@sunny.example\r\nMessage-ID: <{id}>\r\n{TEXT}\r\n您好\r\n");
    ingest::mail(hotel, rig.request("cli"), "FILE", raw.into_bytes()).await.unwrap();
}

/// A house with a written mail, so that no mark is zero.
async fn house(rig: Rig) -> House {
    let house = House::open(rig).await;
    desk::mail(&house.rig, "m1@sunny.example", TEXT, "您好").await;
    house
}

fn rejection(task_id: i64, actor: &str, reason: &str) -> Decision {
    let (actor, reason) = (actor.to_owned(), Some(reason.to_owned()));
    Decision { task_id, act: Act::Reject, is_admin: false, edits: Vec::new(), actor, version: None, reason }
}

#[tokio::test]
async fn a_page_hears_which_topic_this_process_changed() {
    on_each_database(async |rig| {
        let house = house(rig).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let mut stream = Stream::up_to_date(&mut clerk).await;
        desk::mail(&house.rig, "m2@sunny.example", TEXT, "您好").await;
        assert_eq!(stream.change().await.0, "inbox");
        let task = desk::propose(&house.rig, "m1@sunny.example", &desk::complete_group()).await;
        assert_eq!(stream.change().await.0, "tasks");
        let decision = rejection(task, "lin", "no");
        tasks::decide(&house.rig.hotel, house.rig.request("lin"), decision).await.unwrap();
        assert_eq!(stream.change().await.0, "tasks");
    })
    .await;
}

#[tokio::test]
async fn a_page_hears_what_another_process_wrote() {
    on_each_database(async |rig| {
        let house = house(rig).await;
        let other = elsewhere(&house.rig).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let mut stream = Stream::up_to_date(&mut clerk).await;
        mail_elsewhere(&house.rig, &other, "m2@sunny.example").await;
        assert_eq!(stream.change().await.0, "inbox");
        other.db.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_write_that_failed_is_no_news() {
    on_each_database(async |rig| {
        let house = house(rig).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let mut stream = Stream::up_to_date(&mut clerk).await;
        let failed: Result<(), Error> = house
            .rig
            .hotel
            .db
            .write(|tx| {
                boxed(async move {
                    tx.execute("UPDATE task SET version = version", &[]).await?;
                    Err(Error::InvalidArgument(Fault {
                        path: String::new(),
                        code: "",
                        expected: String::new(),
                    }))
                })
            })
            .await;
        assert!(failed.is_err());
        desk::mail(&house.rig, "m2@sunny.example", TEXT, "您好").await;
        assert_eq!(stream.change().await.0, "inbox");
    })
    .await;
}

#[tokio::test]
async fn a_page_that_is_slow_hears_once_of_all_that_it_missed() {
    on_each_database(async |rig| {
        let house = house(rig).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let mut slow = Stream::up_to_date(&mut clerk).await;
        let mut quick = Stream::up_to_date(&mut clerk).await;
        let mut newest = String::new();
        for number in 0..30 {
            desk::mail(&house.rig, &format!("many{number}@sunny.example"), TEXT, "您好").await;
            newest = quick.change().await.1;
        }
        assert_eq!(slow.change().await, ("inbox".to_owned(), newest));
    })
    .await;
}

#[tokio::test]
async fn a_page_hears_what_was_written_since_it_was_made_and_a_browser_that_comes_again_since_its_last_event()
{
    on_each_database(async |rig| {
        let house = house(rig).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let before = Stream::up_to_date(&mut clerk).await;
        let page = clerk.get("/console/inbox").await.text;
        let mark = page.split_once("data-live=\"").unwrap().1.split('"').next().unwrap().to_owned();
        desk::mail(&house.rig, "m2@sunny.example", TEXT, "您好").await;
        let path = format!("/console/events?seen={mark}");
        let (topics, newer) = Stream::open(&mut clerk, &path).await.change().await;
        assert_eq!(topics, "inbox");
        drop(before);

        clerk.extra = vec![("last-event-id", Box::leak(newer.into_boxed_str()))];
        let mut again = Stream::open(&mut clerk, &path).await;
        desk::propose(&house.rig, "m1@sunny.example", &desk::complete_group()).await;
        assert_eq!(again.change().await.0, "tasks");
    })
    .await;
}

#[tokio::test]
async fn a_stream_ends_with_its_session_and_when_the_person_is_kept_out() {
    on_each_database(async |rig| {
        let house = house(rig).await;
        let mut mei = house.logged_in("mei", Role::Clerk).await;
        let mut bo = house.logged_in("bo", Role::Viewer).await;
        let mut ended = [Stream::up_to_date(&mut mei).await, Stream::up_to_date(&mut bo).await];
        mei.post("/console/logout", &[]).await;
        users::disable(&house.rig.hotel, house.rig.request("local"), "bo").await.unwrap();
        desk::mail(&house.rig, "m2@sunny.example", TEXT, "您好").await;
        for stream in &mut ended {
            assert_eq!(stream.next().await, "event: ended\ndata:\n\n");
            assert_eq!(stream.next().await, "");
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_page_asks_by_itself_does_not_keep_a_session_alive() {
    on_each_database(async |rig| {
        let house = house(rig).await;
        let clock = house.rig.hotel.clock.clone();
        for (header, path, status) in [
            (("accept", "text/event-stream"), "/console/events", StatusCode::SEE_OTHER),
            (("console-refresh", "1"), "/console/tasks", StatusCode::SEE_OTHER),
            (("accept", "text/html"), "/console/tasks", StatusCode::OK),
        ] {
            let mut clerk = house.logged_in(&format!("{}{}", header.0, status.as_u16()), Role::Clerk).await;
            clerk.extra = vec![header];
            clock.advance(Duration::from_mins(90));
            assert_eq!(clerk.get(path).await.status, StatusCode::OK);
            clock.advance(Duration::from_mins(60));
            clerk.extra.clear();
            assert_eq!(clerk.get("/console/tasks").await.status, status, "{header:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_person_has_a_bounded_number_of_streams_and_others_have_theirs() {
    on_each_database(async |rig| {
        let house = house(rig).await;
        let mut mei = house.logged_in("mei", Role::Clerk).await;
        let mut bo = house.logged_in("bo", Role::Viewer).await;
        let mut open = Vec::new();
        for _ in 0..STREAMS_OF_A_PERSON {
            open.push(Stream::open(&mut mei, "/console/events").await);
        }
        assert_eq!(mei.get("/console/events").await.status, StatusCode::TOO_MANY_REQUESTS);
        Stream::open(&mut bo, "/console/events").await;
        open.pop();
        Stream::open(&mut mei, "/console/events").await;
    })
    .await;
}

#[tokio::test]
async fn a_stream_is_one_record_however_much_it_tells() {
    on_each_database(async |rig| {
        let house = house(rig).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let mut stream = Stream::up_to_date(&mut clerk).await;
        desk::mail(&house.rig, "m2@sunny.example", TEXT, "您好").await;
        stream.change().await;
        drop(stream);
        let recorded = house.recorded().await;
        let of_streams: Vec<_> = recorded.iter().filter(|record| record.1 == "console_events").collect();
        assert_eq!(of_streams, [&("mei".to_owned(), "console_events".to_owned(), "ok", String::new())]);
    })
    .await;
}

#[tokio::test]
async fn a_server_that_ends_does_not_wait_for_open_streams() {
    on_each_database(async |rig| {
        let house = house(rig).await;
        let clerk = house.logged_in("mei", Role::Clerk).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (shutdown, told) = oneshot::channel::<()>();
        let hotel = Arc::clone(&house.rig.hotel);
        let server = tokio::spawn(serve(listener, house.router.clone(), async move {
            told.await.unwrap();
            hotel.db.end_listening();
        }));
        let mut connection = TcpStream::connect(address).await.unwrap();
        let (name, secret) = &clerk.cookies[0];
        let request =
            format!("GET /console/events HTTP/1.1\r\nHost: localhost\r\nCookie: {name}={secret}\r\n\r\n");
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut read = Vec::new();
        while !String::from_utf8_lossy(&read).contains("retry:") {
            assert_ne!(timeout(SOON, connection.read_buf(&mut read)).await.unwrap().unwrap(), 0);
        }
        shutdown.send(()).unwrap();
        // Half of the grace that requests in flight have.
        timeout(Duration::from_secs(5), server).await.expect("the server ends at once").unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_listener_whose_connection_was_lost_says_look_again() {
    on_each_database(async |rig| {
        if rig.database == "sqlite" {
            return;
        }
        let house = house(rig).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let mut stream = Stream::up_to_date(&mut clerk).await;
        let mut operator = PgConnection::connect(&house.rig.url).await.unwrap();
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";
        sqlx::query(sql).execute(&mut operator).await.unwrap();
        assert_eq!(stream.change().await.0, "tasks inbox");
        desk::mail(&house.rig, "m2@sunny.example", TEXT, "您好").await;
        assert_eq!(stream.change().await.0, "inbox");
    })
    .await;
}

#[tokio::test]
async fn a_task_card_is_told_who_moved_the_task_and_why_in_words_that_are_only_text() {
    on_each_database(async |rig| {
        let house = house(rig).await;
        let task = desk::propose(&house.rig, "m1@sunny.example", &desk::complete_group()).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let page = clerk.get(&format!("/console/tasks/{task}")).await.text;
        let path = page.split_once("data-news=\"").unwrap().1.split('"').next().unwrap().to_owned();
        let nothing = clerk.get(&path).await;
        assert_eq!((nothing.status, nothing.text.as_str()), (StatusCode::NO_CONTENT, ""));
        let decision = rejection(task, "lin", "<b>full</b>");
        tasks::decide(&house.rig.hotel, house.rig.request("lin"), decision).await.unwrap();
        let news = clerk.get(&path).await;
        assert_eq!(news.status, StatusCode::OK);
        for part in ["<bdi>lin</bdi>", "已退回", "<bdi>&#60;b&#62;full&#60;/b&#62;</bdi>", "data-keep"] {
            assert!(news.text.contains(part), "{part}: {}", news.text);
        }
        assert!(!news.text.contains("<html"), "{}", news.text);
    })
    .await;
}

#[tokio::test]
async fn a_conversation_is_told_how_many_mails_came_and_none_is_noted_as_read() {
    on_each_database(async |rig| {
        let house = house(rig).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let inbox = clerk.get("/console/inbox").await.text;
        let conversation = inbox.split_once("/console/conversations/").unwrap().1.split('"').next().unwrap();
        let page = clerk.get(&format!("/console/conversations/{conversation}")).await.text;
        let path = page.split_once("data-news=\"").unwrap().1.split('"').next().unwrap().to_owned();
        assert_eq!(clerk.get(&path).await.status, StatusCode::NO_CONTENT);
        let reply = format!("In-Reply-To: <m1@sunny.example>\r\n{TEXT}");
        desk::mail(&house.rig, "m2@sunny.example", &reply, "您好").await;
        let accesses = || house.rig.hotel.db.read(|tx| boxed(tx.count_accesses()));
        let before = accesses().await.unwrap();
        let news = clerk.get(&path).await;
        assert!(news.status == StatusCode::OK && news.text.contains("新邮件： 1 "), "{}", news.text);
        assert_eq!(accesses().await.unwrap(), before);
    })
    .await;
}

#[tokio::test]
async fn lists_say_which_topics_they_show_and_who_is_not_logged_in_gets_nothing_live() {
    on_each_database(async |rig| {
        let house = house(rig).await;
        desk::propose(&house.rig, "m1@sunny.example", &json!({})).await;
        let mut clerk = house.logged_in("mei", Role::Clerk).await;
        let board = clerk.get("/console/tasks").await.text;
        for part in
            ["id=\"counts\" data-refresh=\"tasks\"", "id=\"tasks\" data-refresh=\"tasks\"", "data-live=\""]
        {
            assert!(board.contains(part), "{part}");
        }
        assert!(
            clerk.get("/console/inbox").await.text.contains("id=\"threads\" data-refresh=\"inbox tasks\"")
        );
        let form = house.browser().get("/console/login").await.text;
        assert!(!form.contains("data-live") && !form.contains("<dialog"), "{form}");
    })
    .await;
}
