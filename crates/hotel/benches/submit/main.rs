//! Submitting: 32 agents at once, five events each, every answer durable, beside a program that only commits the
//! same rows, one transaction for each submission: on SQLite one after the other, on PostgreSQL 32 at once.
//!
//! usage: submit [--submissions N] [--rounds N]
//! `cargo xtask bench` runs this with a PostgreSQL of its own; without one, SQLite alone is measured.

mod raw;

use std::future::Future;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use hotel::app::submit::{adapter, submit};
use hotel::app::{Hotel, Request, ingest};
use hotel::testing::{Rig, on_each_database};
use serde_json::{Value, json};

/// Agents that submit at the same time.
pub const AGENTS: usize = 32;

/// One database's figures in one round, in submissions per second.
struct Figures {
    database: &'static str,
    ours: f64,
    raw: f64,
}

fn main() -> io::Result<()> {
    let (submissions, rounds) = options().map_err(io::Error::other)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let results: Mutex<Vec<Figures>> = Mutex::default();
    for _ in 0..rounds {
        runtime.block_on(on_each_database(|rig| async {
            let figures = measure(rig, submissions).await;
            results.lock().expect("no holder panicked").push(figures);
        }));
    }
    let results = results.into_inner().expect("no holder panicked");
    print(&results, submissions)
}

/// Reads the command line; `cargo bench` adds a `--bench` of its own.
fn options() -> Result<(usize, usize), String> {
    let (mut submissions, mut rounds) = (3200, 5);
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(flag) = words.next() {
        let value = words.next().and_then(|value| value.parse().ok());
        let value = value.ok_or_else(|| format!("{flag} needs a number"))?;
        match flag.as_str() {
            "--submissions" => submissions = value,
            "--rounds" => rounds = value,
            _ => return Err(format!("unknown option {flag}")),
        }
    }
    Ok((submissions, rounds))
}

async fn measure(rig: Rig, submissions: usize) -> Figures {
    rig.activate().await;
    let rig = Arc::new(rig);
    by_all_agents(submissions, |number| {
        let (hotel, request) = hotel_and_request(&rig);
        async move {
            ingest::mail(&hotel, request, "FILE", mail(number)).await.expect("a mail is kept");
        }
    })
    .await;
    let start = Instant::now();
    by_all_agents(submissions, |number| {
        let (hotel, request) = hotel_and_request(&rig);
        async move {
            let submission = adapter::from_mcp(payload(number)).expect("the payload is well-formed");
            let answer = submit(&hotel, request, submission).await.expect("the submission is taken").answer;
            assert_eq!(answer.accepted_count, 5);
        }
    })
    .await;
    let ours = per_second(submissions, start);
    let raw = match rig.database {
        "sqlite" => raw::on_sqlite(&rig.url).await,
        _ => raw::on_postgres(&rig.url).await,
    };
    let (committed, seconds) = raw.expect("the same rows can be committed");
    assert_eq!(committed, submissions, "both sides commit the same submissions");
    #[expect(clippy::cast_precision_loss, reason = "a count of submissions is far below 2^52")]
    let raw = committed as f64 / seconds;
    Figures { database: rig.database, ours, raw }
}

fn hotel_and_request(rig: &Rig) -> (Arc<Hotel>, Request) {
    (Arc::clone(&rig.hotel), rig.request("agent"))
}

/// Does `work` for 0..count, by as many tasks as there are agents.
async fn by_all_agents<F, Fut>(count: usize, work: F)
where
    F: Fn(usize) -> Fut,
    Fut: Future<Output = ()> + Send + 'static,
{
    let mut agents = tokio::task::JoinSet::new();
    for number in 0..count {
        if agents.len() == AGENTS {
            agents.join_next().await.expect("an agent is at work").expect("no agent panicked");
        }
        agents.spawn(work(number));
    }
    while let Some(done) = agents.join_next().await {
        done.expect("no agent panicked");
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of submissions is far below 2^52")]
fn per_second(count: usize, start: Instant) -> f64 {
    count as f64 / start.elapsed().as_secs_f64()
}

fn mail(number: usize) -> Vec<u8> {
    format!(
        "From: Lin <lin@sunny.example>\r\nTo: res@hotel.example\r\nMessage-ID: <m{number}@sunny.example>\r\n\
         Subject: Group {number}\r\nDate: Mon, 30 Nov 2026 15:00:00 +0800\r\n\r\nPlease book group G{number}.\r\n"
    )
    .into_bytes()
}

/// A new group and what belongs to it: five events, one order, five tasks.
fn payload(number: usize) -> Value {
    let event = |index: usize, event_type: &str| {
        let parent = if index == 1 { Value::Null } else { json!("E1") };
        json!({
            "source_event_index": format!("E{index}"),
            "event_type": event_type,
            "object_type": "GROUP",
            "parent_source_event_index": parent,
            "case_keys": {"group_code": format!("G{number}"), "confirmation_number": null, "reservation_no": null},
            "proposed_changes": [
                {"field": "arrival", "from": null, "to": "2027-01-10"},
                {"field": "departure", "from": null, "to": "2027-01-12"},
                {"field": "rooms", "from": null, "to": 12},
            ],
            "evidence": [{"source_message_id": null, "quote": "Please book group"}],
            "summary": "a group of twelve rooms for two nights in January",
        })
    };
    json!({
        "source_message": {"source_message_id": format!("m{number}@sunny.example"), "subject": null, "from": null,
            "cc": [], "received_at": null, "source_channel": "Email"},
        "message_events": [
            event(1, "BOOKING_NEW_GROUP"),
            event(2, "ROOMING_LIST_SUBMIT"),
            event(3, "SPECIAL_REQUEST"),
            event(4, "CONFIRMATION_REQUEST"),
            event(5, "INVOICE_REQUEST"),
        ],
        "case_candidates": [],
        "extraction_warnings": [],
        "unhandled_current_intents": [],
    })
}

fn print(results: &[Figures], submissions: usize) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(
        out,
        "{AGENTS} agents, {submissions} submissions of 5 events; medians over the rounds (min–max)\n"
    )?;
    writeln!(out, "| database | ours, submissions/s | raw commits/s | ours / raw |\n|---|---|---|---|")?;
    for database in ["sqlite", "postgres"] {
        let column = |field: fn(&Figures) -> f64, decimals: usize| {
            spread(
                results.iter().filter(|figures| figures.database == database).map(field).collect(),
                decimals,
            )
        };
        let columns = [
            column(|figures| figures.ours, 0),
            column(|figures| figures.raw, 0),
            column(|figures| figures.ours / figures.raw, 2),
        ];
        if let [Some(ours), Some(raw), Some(ratio)] = columns {
            writeln!(out, "| {database} | {ours} | {raw} | {ratio} |")?;
        }
    }
    Ok(())
}

/// The median with the least and the most.
fn spread(mut values: Vec<f64>, decimals: usize) -> Option<String> {
    values.sort_by(f64::total_cmp);
    let (least, median, most) = (values.first()?, values[values.len() / 2], values.last()?);
    Some(format!("{median:.decimals$} ({least:.decimals$}–{most:.decimals$})"))
}

/// Where the next of a shared list of things to do is found.
pub fn next(counter: &AtomicUsize) -> usize {
    counter.fetch_add(1, Ordering::Relaxed)
}
