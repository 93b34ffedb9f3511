//! The audit explorer: what an administrator finds in the trail, and what shows when somebody changed it.

use std::time::Duration;

use axum::http::StatusCode;
use govern::audit::{Channel, Ending, Record, Sink as _};
use govern::tool::Effect;
use hotel::audit::DatabaseSink;
use hotel::audit::seal::Sealer;
use hotel::domain::role::Role;
use hotel::store::boxed;
use hotel::testing::{NOW, Rig, on_each_database};

use crate::browser::{Browser, House};

/// A call, `number` minutes after the rig's time.
pub fn call(number: u32) -> Record {
    Record {
        at_ms: NOW + i64::from(number) * 60_000,
        request_id: format!("req-call-{number}"),
        trace_id: None,
        caller: "agent".to_owned(),
        channel: Channel::McpHttp,
        operation: "th_hotel_query_case_context".into(),
        effect: Some(Effect::Read),
        outcome: Ending::Ok,
        code: None,
        target: Some(format!("task:{number}")),
        digest: Some("5e".repeat(32)),
        detail: None,
        duration_us: 1_234,
    }
}

pub async fn append(rig: &Rig, records: &[Record]) {
    let sink = DatabaseSink::new(rig.hotel.db.clone(), rig.hotel.audit_key.clone());
    sink.append(records).await.unwrap();
}

/// Seals all that is committed, when the sealer before this one has lost its lease.
pub async fn seal(rig: &Rig) {
    let hotel = &rig.hotel;
    hotel.clock.advance(Duration::from_secs(6));
    let sealer = Sealer::new(hotel.db.clone(), hotel.audit_key.clone(), hotel.clock.clone(), &hotel.random);
    sealer.seal().await.unwrap();
}

async fn tamper(rig: &Rig, sql: &'static str) {
    rig.hotel.db.write(move |tx| boxed(async move { Ok(tx.execute(sql, &[]).await?) })).await.unwrap();
}

async fn open(rig: Rig) -> (House, Browser) {
    let house = House::open(rig).await;
    let admin = house.logged_in("mei", Role::Admin).await;
    (house, admin)
}

/// The targets of the listed records, in their order.
fn targets(html: &str) -> Vec<&str> {
    let parts = html.split("<bdi>task:").skip(1);
    parts.map(|part| part.split('<').next().unwrap()).collect()
}

/// The address of the first record in a list.
fn first_record(html: &str) -> String {
    let (_, rest) = html.split_once("class=\"title\" href=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn the_newest_records_come_first_and_pages_follow_each_other_without_gap() {
    on_each_database(async |rig| {
        let (house, mut admin) = open(rig).await;
        append(&house.rig, &(1..=120).map(call).collect::<Vec<_>>()).await;
        let (mut path, mut seen) = ("/console/audit?caller=agent".to_owned(), Vec::new());
        for _ in 0..3 {
            let html = admin.get(&path).await.text;
            seen.extend(targets(&html).into_iter().map(|number| number.parse::<u32>().unwrap()));
            let Some((_, rest)) = html.split_once("&amp;before=") else { break };
            path = format!("/console/audit?caller=agent&before={}", rest.split('"').next().unwrap());
        }
        assert_eq!(seen, (1..=120).rev().collect::<Vec<_>>());
    })
    .await;
}

#[tokio::test]
async fn every_filter_leaves_only_what_meets_it() {
    on_each_database(async |rig| {
        let (house, mut admin) = open(rig).await;
        let odd = Record {
            caller: "王芳".to_owned(),
            channel: Channel::Rest,
            operation: "ingest_message".into(),
            outcome: Ending::Refused,
            code: Some("SCOPE_DENIED".into()),
            ..call(3)
        };
        append(&house.rig, &[call(1), call(2), odd, call(4)]).await;
        for (filter, expected) in [
            ("caller=%E7%8E%8B%E8%8A%B3", vec!["3"]),
            ("operation=ingest_message", vec!["3"]),
            ("outcome=refused", vec!["3"]),
            ("outcome=ok&caller=agent", vec!["4", "2", "1"]),
            ("code=SCOPE_DENIED", vec!["3"]),
            ("channel=rest&operation=ingest_message", vec!["3"]),
            ("target=task:2", vec!["2"]),
            ("request_id=req-call-4", vec!["4"]),
            ("request_id=req-call-4&caller=nobody", vec![]),
            // NOW is 16:00 of the hotel's day; the last minute counts whole.
            ("from=2026-11-30T16:02&to=2026-11-30T16:03", vec!["3", "2"]),
        ] {
            let html = admin.get(&format!("/console/audit?{filter}")).await.text;
            assert_eq!(targets(&html), expected, "{filter}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_time_that_is_none_is_refused_with_what_is_expected() {
    on_each_database(async |rig| {
        let (_house, mut admin) = open(rig).await;
        let answer = admin.get("/console/audit?from=yesterday").await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST);
        assert!(answer.text.contains("2026-11-30T16:00"), "{}", answer.text);
    })
    .await;
}

#[tokio::test]
async fn a_record_between_seals_shows_as_not_yet_sealed_and_then_with_its_seal() {
    on_each_database(async |rig| {
        let (house, mut admin) = open(rig).await;
        append(&house.rig, &[call(1)]).await;
        let list = admin.get("/console/audit?target=task:1").await.text;
        assert!(list.contains("尚未封存</span>"), "{list}");
        let path = first_record(&list);
        assert!(admin.get(&path).await.text.contains("尚未封存："));
        seal(&house.rig).await;
        let list = admin.get("/console/audit?target=task:1").await.text;
        assert!(!list.contains("尚未封存</span>") && list.contains("已封存至第"), "{list}");
        let whole = admin.get(&path).await.text;
        assert!(whole.contains("封存有效") && whole.contains("摘要校验通过"), "{whole}");
        for part in ["req-call-1", &"5e".repeat(32), "href=\"/console/tasks/1\"", "1.2 ms"] {
            assert!(whole.contains(part), "{part}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_altered_record_shows_as_altered_in_the_list_on_its_page_and_in_the_state_of_the_chain() {
    on_each_database(async |rig| {
        let (house, mut admin) = open(rig).await;
        append(&house.rig, &[call(1), call(2)]).await;
        seal(&house.rig).await;
        let good = admin.get("/console/audit?caller=agent").await.text;
        assert!(good.contains("与写入时一致") && !good.contains("已被改动"), "{good}");
        tamper(&house.rig, "UPDATE audit_event SET caller = 'mallory' WHERE request_id = 'req-call-2'").await;
        let list = admin.get("/console/audit?caller=mallory").await.text;
        assert!(list.contains("已被改动</span>") && list.contains("条起与写入时不一致"), "{list}");
        let whole = admin.get(&first_record(&list)).await.text;
        assert!(whole.contains("记录已被改动") && whole.contains("封存与记录不符"), "{whole}");
    })
    .await;
}

#[tokio::test]
async fn a_removed_record_and_a_removed_seal_show_in_the_state_of_the_chain() {
    on_each_database(async |rig| {
        let (house, mut admin) = open(rig).await;
        append(&house.rig, &(1..=5).map(call).collect::<Vec<_>>()).await;
        seal(&house.rig).await;
        append(&house.rig, &[call(6)]).await;
        seal(&house.rig).await;
        tamper(&house.rig, "DELETE FROM audit_event WHERE request_id = 'req-call-2'").await;
        assert!(admin.get("/console/audit").await.text.contains("is missing"));
        tamper(&house.rig, "DELETE FROM audit_seal").await;
        assert!(admin.get("/console/audit").await.text.contains("no seal covers"));
    })
    .await;
}

#[tokio::test]
async fn a_record_leads_to_those_before_and_after_it_about_the_same_object() {
    on_each_database(async |rig| {
        let (house, mut admin) = open(rig).await;
        let same = |number| Record { target: Some("task:9".to_owned()), ..call(number) };
        append(&house.rig, &[same(1), call(2), same(3), same(4)]).await;
        let list = admin.get("/console/audit?request_id=req-call-3").await.text;
        let whole = admin.get(&first_record(&list)).await.text;
        let links = |words: &str| {
            let at = whole.find(words).unwrap_or_else(|| panic!("{words}: {whole}"));
            let before = &whole[..at];
            before[before.rfind("href=\"").unwrap() + 6..].split('"').next().unwrap().to_owned()
        };
        let (older, newer) = (links("← 同一对象"), links("同一对象 →"));
        assert!(admin.get(&older).await.text.contains("req-call-1"));
        assert!(admin.get(&newer).await.text.contains("req-call-4"));
    })
    .await;
}

#[tokio::test]
async fn hostile_callers_operations_and_targets_are_shown_as_text() {
    on_each_database(async |rig| {
        let (house, mut admin) = open(rig).await;
        let evil = "<script>alert(1)</script>\"'\u{202e}";
        let record = Record {
            caller: evil.to_owned(),
            operation: evil.to_owned().into(),
            effect: None,
            code: Some(evil.to_owned().into()),
            target: Some(evil.to_owned()),
            trace_id: Some(evil.to_owned()),
            ..call(1)
        };
        append(&house.rig, &[record]).await;
        let list = admin.get("/console/audit?request_id=req-call-1").await.text;
        let whole = admin.get(&first_record(&list)).await.text;
        for html in [list, whole] {
            assert!(!html.contains("<script>alert"), "{html}");
            assert!(html.contains("<bdi>&#60;script&#62;alert(1)"), "{html}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_search_that_finds_little_stops_says_how_far_it_went_and_goes_on() {
    on_each_database(async |rig| {
        let (house, mut admin) = open(rig).await;
        let rare = Record { operation: "rare".into(), ..call(0) };
        append(&house.rig, &[rare]).await;
        for part in 0..41 {
            append(&house.rig, &(part * 500 + 1..=part * 500 + 500).map(call).collect::<Vec<_>>()).await;
        }
        let html = admin.get("/console/audit?operation=rare").await.text;
        assert!(targets(&html).is_empty() && html.contains("已查找 20,000 条记录"), "{html}");
        let (_, rest) = html.split_once("&amp;before=").unwrap();
        let before = rest.split('"').next().unwrap();
        let html = admin.get(&format!("/console/audit?operation=rare&before={before}")).await.text;
        assert_eq!(targets(&html), ["0"]);
        assert!(!html.contains("&amp;before="), "{html}");
    })
    .await;
}

#[tokio::test]
async fn the_trail_is_for_administrators_and_no_link_leads_others_there() {
    on_each_database(async |rig| {
        let (house, mut admin) = open(rig).await;
        assert!(admin.get("/console/tasks").await.text.contains("href=\"/console/audit\""));
        let mut clerk = house.logged_in("clerk", Role::Clerk).await;
        assert!(!clerk.get("/console/tasks").await.text.contains("href=\"/console/audit\""));
        assert_eq!(clerk.get("/console/audit").await.status, StatusCode::FORBIDDEN);
        assert_eq!(admin.get("/console/audit/999999").await.status, StatusCode::NOT_FOUND);
    })
    .await;
}
