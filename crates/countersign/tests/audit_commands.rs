//! `countersign audit …` as an operator and a cron job use it.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by a panic")]

use std::path::Path;

use govern::{
    audit::{Channel, Ending, Record, Sink as _},
    clock::Clock,
    random::Random,
    tool::Effect,
};
use hotel::store::{Db, boxed};
use isphere::audit::{key::StateKey, trail::Trail};
use support::Place;

mod support;

/// The default database, seen from the place.
const DATABASE: &str = "countersign-data/hotel.db";

#[test]
fn a_trail_is_verified_shown_counted_and_exported() {
    let place = Place::with_hotel();
    let report = place.json(&["audit", "verify", "--json"]);
    assert_eq!(report["ok"], true);
    assert_eq!(report["records"], report["unsealed"], "no server has sealed anything yet");
    let rows = place.json(&["audit", "tail", "-n", "1", "--json"]);
    assert_eq!(rows[0]["operation"], "hotel_add");
    let statistics = place.json(&["audit", "stats", "--json"]);
    assert_eq!(statistics[0]["calls"], 1);
    let exported = place.prints(&["audit", "export"]);
    assert_eq!(exported.lines().count() as u64, report["records"].as_u64().unwrap());
}

#[test]
fn the_head_that_was_printed_verifies() {
    let place = Place::with_hotel();
    let head = place.prints(&["audit", "head"]);
    assert!(head.starts_with("0:"), "{head}");
    assert!(place.prints(&["audit", "verify", "--head", &head]).starts_with("ok: 1 records"));
}

#[test]
fn a_head_from_a_longer_trail_fails() {
    let place = Place::with_hotel();
    let output = place.run(&["audit", "verify", "--json", "--head", &format!("7:{}", "ab".repeat(32))]);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["ok"], &report["first_bad"]), (&false.into(), &1.into()));
}

#[test]
fn an_altered_trail_is_told_on_stdout_and_by_the_exit_code() {
    let place = Place::with_hotel();
    alter(&place.path().join(DATABASE));
    let output = place.run(&["audit", "verify"]);
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.starts_with("NOT ok at record 1: row audit_id "), "{printed}");
}

#[tokio::main]
async fn alter(database: &Path) {
    let db = Db::open(&format!("sqlite:{}", database.display())).await.unwrap();
    let sql = "UPDATE audit_event SET caller = 'mallory'";
    db.write(move |tx| boxed(async move { Ok(tx.execute(sql, &[]).await?) })).await.unwrap();
    db.close().await;
}

#[test]
fn without_the_key_only_what_was_asked_for_passes() {
    let place = Place::with_hotel();
    std::fs::remove_file(place.path().join(DATABASE).with_file_name("audit.key")).unwrap();
    let error = place.fails(&["audit", "verify"]);
    assert!(error.contains("audit.key is missing"), "{error}");
    assert!(error.contains("--without-key"), "{error}");
    assert_eq!(place.json(&["audit", "verify", "--without-key", "--json"])["key_checked"], false);
}

#[test]
fn looking_for_a_trail_makes_no_database() {
    let place = Place::empty();
    let error = place.fails(&["audit", "verify"]);
    assert!(error.contains("there is no database at sqlite:countersign-data/hotel.db"), "{error}");
    assert!(!place.path().join("countersign-data").exists());
}

/// A place with an iSphere state folder, `state`, whose trail has three records.
fn place_with_state() -> Place {
    let place = Place::empty();
    append_three(&place.path().join("state"));
    place
}

#[tokio::main]
async fn append_three(state: &Path) {
    let key = StateKey::open(state, &Random::System).unwrap();
    let trail = Trail::open(state, key, Clock::manual(1_796_049_720_123)).unwrap();
    let record = Record {
        at_ms: 1_796_049_720_123,
        request_id: "req-1".into(),
        trace_id: None,
        caller: "前台".into(),
        channel: Channel::McpStdio,
        operation: "isphere_search_contacts".into(),
        effect: Some(Effect::Read),
        outcome: Ending::Ok,
        code: None,
        target: None,
        digest: None,
        duration_us: 1_500,
        detail: Some(r#"{"source":"mock"}"#.into()),
    };
    trail.append(&[record.clone(), record.clone(), record]).await.unwrap();
}

#[test]
fn a_trail_in_a_folder_is_verified_shown_counted_and_exported() {
    let place = place_with_state();
    for dir in ["state", "state/audit"] {
        let report = place.json(&["audit", "verify", "--dir", dir, "--json"]);
        assert_eq!((&report["ok"], &report["records"]), (&true.into(), &3.into()));
        assert_eq!((&report["torn_tail"], &report["key_checked"]), (&false.into(), &true.into()));
    }
    let rows = place.json(&["audit", "tail", "-n", "1", "--json", "--dir", "state"]);
    assert_eq!((&rows[0]["seq"], &rows[0]["detail"]["source"]), (&3.into(), &"mock".into()));
    let table = place.prints(&["audit", "tail", "--dir", "state"]);
    assert!(
        table.contains("2026-11-30T14:42:00.123Z  前台    mcp-stdio  isphere_search_contacts  ok"),
        "{table}"
    );
    let statistics = place.json(&["audit", "stats", "--json", "--dir", "state"]);
    assert_eq!((&statistics[0]["calls"], &statistics[0]["p99_us"]), (&3.into(), &1_500.into()));
    let exported = place.prints(&["audit", "export", "--dir", "state"]);
    let written = std::fs::read_to_string(place.path().join("state/audit/2026-11-30.jsonl")).unwrap();
    assert_eq!(exported, written.trim());
}

#[test]
fn a_head_of_a_trail_in_a_folder_tells_when_its_end_is_cut_off() {
    let place = place_with_state();
    let head = place.prints(&["audit", "head", "--dir", "state"]);
    assert!(head.starts_with("3:"), "{head}");
    let verify = ["audit", "verify", "--dir", "state", "--head", &head];
    assert_eq!(place.prints(&verify), format!("ok: 3 records, head {head}"));
    let file = place.path().join("state/audit/2026-11-30.jsonl");
    let written = std::fs::read_to_string(&file).unwrap();
    let kept: String = written.split_inclusive('\n').take(2).collect();
    std::fs::write(&file, kept).unwrap();
    let output = place.run(&verify);
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.starts_with("NOT ok at record 3: records 3 to 3 are missing"), "{printed}");
}

#[test]
fn a_folder_without_a_trail_or_without_its_key_says_what_to_do() {
    let place = place_with_state();
    let error = place.fails(&["audit", "verify", "--dir", "elsewhere"]);
    assert!(error.contains("there is no audit trail in elsewhere"), "{error}");
    std::fs::remove_file(place.path().join("state/audit.key")).unwrap();
    let error = place.fails(&["audit", "verify", "--dir", "state"]);
    assert!(error.contains("the audit key state/audit.key is missing"), "{error}");
    let report = place.json(&["audit", "verify", "--dir", "state", "--without-key", "--json"]);
    assert_eq!((&report["ok"], &report["key_checked"]), (&true.into(), &false.into()));
}
