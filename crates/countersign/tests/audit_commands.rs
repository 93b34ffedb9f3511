//! `countersign audit …` as an operator and a cron job use it.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by a panic")]

use std::path::Path;

use hotel::store::{Db, boxed};
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
