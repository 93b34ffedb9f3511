//! The charts: the numbers that they show, and how they are told.

use axum::http::StatusCode;
use govern::audit::{Ending, Record};
use hotel::domain::role::Role;
use hotel::testing::{NOW, Rig, on_each_database};

use crate::audit::{append, call, seal};
use crate::browser::{Browser, House};
use crate::desk;

async fn open(rig: Rig) -> (House, Browser) {
    let house = House::open(rig).await;
    let viewer = house.logged_in("lin", Role::Viewer).await;
    (house, viewer)
}

/// A call that began so many hours before the rig's time.
fn ago(hours: i64, number: u32, duration_us: u64, outcome: Ending) -> Record {
    Record { at_ms: NOW - hours * 3_600_000, duration_us, outcome, ..call(number) }
}

/// The cells of the row of a table that begins with this heading, in the first figure of an id.
fn row(html: &str, chart: &str, heading: &str) -> Vec<String> {
    let (_, figure) = html.split_once(&format!("<h2 id=\"{chart}-title\">")).unwrap();
    let figure = figure.split("</figure>").next().unwrap();
    let (_, row) = figure.split_once(&format!("<th scope=\"row\">{heading}</th>")).unwrap();
    let cells = row.split("</tr>").next().unwrap().split("<td>").skip(1);
    cells.map(|cell| cell.split('<').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn calls_are_counted_by_hour_and_outcome_in_the_hotels_time_once_they_are_sealed() {
    on_each_database(async |rig| {
        let (house, mut viewer) = open(rig).await;
        let calls = [
            ago(2, 1, 900, Ending::Ok),
            ago(2, 2, 40_000, Ending::Ok),
            ago(2, 3, 40_000, Ending::Refused),
            ago(30, 4, 100, Ending::Error),
        ];
        append(&house.rig, &calls).await;
        let html = viewer.get("/console/charts").await.text;
        assert_eq!(row(&html, "outcomes", "2026-11-30 14:00"), ["0", "0", "0"], "not sealed yet");
        seal(&house.rig).await;
        let html = viewer.get("/console/charts").await.text;
        assert_eq!(row(&html, "outcomes", "2026-11-30 14:00"), ["2", "1", "0"]);
        // Of three calls the second is the median, and the third the 95th and 99th percentile.
        assert_eq!(row(&html, "durations", "2026-11-30 14:00"), ["40 ms", "40 ms", "40 ms"]);
        let html = viewer.get("/console/charts?span=7d").await.text;
        assert_eq!(row(&html, "outcomes", "2026-11-29 06:00"), ["0", "0", "1"]);
        let html = viewer.get("/console/charts?span=30d").await.text;
        assert_eq!(row(&html, "outcomes", "2026-11-29"), ["0", "0", "1"]);
    })
    .await;
}

#[tokio::test]
async fn a_percentile_is_at_least_the_exact_one_and_at_most_a_third_more() {
    on_each_database(async |rig| {
        let (house, mut viewer) = open(rig).await;
        let calls: Vec<Record> = (1..=200)
            .map(|number| Record {
                operation: "one".into(),
                ..ago(2, number, u64::from(number) * 1_000, Ending::Ok)
            })
            .collect();
        append(&house.rig, &calls).await;
        seal(&house.rig).await;
        let html = viewer.get("/console/charts?operation=one").await.text;
        // Exact are 100, 190 and 198 ms.
        assert_eq!(row(&html, "durations", "2026-11-30 14:00"), ["100 ms", "200 ms", "200 ms"]);
        assert_eq!(row(&html, "outcomes", "2026-11-30 14:00"), ["200", "0", "0"]);
    })
    .await;
}

#[tokio::test]
async fn a_record_is_counted_once_however_often_the_trail_is_sealed() {
    on_each_database(async |rig| {
        let (house, mut viewer) = open(rig).await;
        for number in 1..=3 {
            append(&house.rig, &[ago(2, number, 100, Ending::Ok)]).await;
            seal(&house.rig).await;
            seal(&house.rig).await;
        }
        let html = viewer.get("/console/charts").await.text;
        assert_eq!(row(&html, "outcomes", "2026-11-30 14:00"), ["3", "0", "0"]);
    })
    .await;
}

#[tokio::test]
async fn tools_that_do_not_exist_are_counted_together_and_their_names_are_not_shown() {
    on_each_database(async |rig| {
        let (house, mut viewer) = open(rig).await;
        let made_up = |number: u32| Record {
            operation: format!("<b>{number}</b>").into(),
            effect: None,
            ..ago(2, number, 100, Ending::Refused)
        };
        append(&house.rig, &(1..=20).map(made_up).collect::<Vec<_>>()).await;
        seal(&house.rig).await;
        let html = viewer.get("/console/charts?operation=%3Cb%3E").await.text;
        assert!(!html.contains("<b>") && !html.contains("&#60;b&#62;1"), "{html}");
        assert_eq!(row(&html, "tools", "2026-11-30 14:00").iter().filter(|cell| *cell == "20").count(), 1);
    })
    .await;
}

#[tokio::test]
async fn open_tasks_are_shown_by_age_and_mails_by_day() {
    on_each_database(async |rig| {
        let (house, mut viewer) = open(rig).await;
        for id in ["m1@x", "m2@x"] {
            desk::mail(&house.rig, id, "Date: Sun, 29 Nov 2026 10:00:00 +0800\r\n", "hello").await;
        }
        desk::propose(&house.rig, "m1@x", &desk::complete_group()).await;
        let html = viewer.get("/console/charts").await.text;
        assert_eq!(row(&html, "ages", "1小时内")[0], "1");
        assert_eq!(row(&html, "mails", "2026-11-29"), ["2"]);
        assert_eq!(row(&html, "mails", "2026-11-30"), ["0"]);
    })
    .await;
}

#[tokio::test]
async fn charts_without_data_say_so_and_all_speak_both_languages() {
    on_each_database(async |rig| {
        let (_house, mut viewer) = open(rig).await;
        let answer = viewer.get("/console/charts").await;
        assert_eq!(answer.status, StatusCode::OK);
        assert!(answer.text.contains("这段时间没有数据"), "{}", answer.text);
        viewer.post("/console/language", &[("language", "en"), ("next", "/console/charts")]).await;
        let html = viewer.get("/console/charts").await.text;
        assert!(html.contains("There is nothing to show") && html.contains("Open tasks by status and age"));
    })
    .await;
}

#[tokio::test]
async fn a_chart_is_named_told_by_pattern_as_well_as_colour_and_given_as_a_table() {
    on_each_database(async |rig| {
        let (house, mut viewer) = open(rig).await;
        append(&house.rig, &[ago(1, 1, 2_000, Ending::Ok), ago(2, 2, 3_000, Ending::Error)]).await;
        seal(&house.rig).await;
        let html = viewer.get("/console/charts?span=24h").await.text;
        let (_, figure) =
            html.split_once("<figure class=\"card chart\" aria-labelledby=\"outcomes-title\">").unwrap();
        insta::assert_snapshot!("outcomes", figure.split("</figure>").next().unwrap());
    })
    .await;
}
