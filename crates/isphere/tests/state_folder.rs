//! The state folder: nobody but its owner can read what is in it.
#![cfg(unix)]
#![allow(clippy::cast_possible_wrap, reason = "the numbers of these tests are small")]
#![allow(clippy::unwrap_used, reason = "a test may")]

mod audit_rig;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "local_store/support.rs"]
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use audit_rig::{NOW, records};
use govern::audit::Sink as _;
use govern::clock::Clock;
use govern::credentials::file::FileTokens;
use govern::random::Random;
use isphere::audit::key::StateKey;
use isphere::audit::trail::Trail;
use isphere::sending::ledger::Ledger;
use isphere::settings;
use isphere::sources::local::{index, open_configured};
use support::Fixture;

fn entries(folder: &Path) -> Vec<PathBuf> {
    let inside = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    inside
        .flat_map(
            |path| if path.is_dir() { [vec![path.clone()], entries(&path)].concat() } else { vec![path] },
        )
        .collect()
}

#[tokio::test]
async fn every_file_is_its_owners_alone_after_everything_was_used() {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join("state");
    let (clock, random) = (Clock::manual(NOW), Random::seeded(1));
    let key = StateKey::open(&state, &random).unwrap();
    let trail = Trail::open(&state, key, clock.clone()).unwrap();
    trail.append(&records(1..4)).await.unwrap();
    let _ledger = Ledger::open(&state).unwrap();
    FileTokens::open(state.join("tokens.json")).unwrap().add("agent", &["read"], &clock, &random).unwrap();
    let fixture = Fixture::chat(10);
    let settings = settings::LocalReadonly { store: Some(fixture.store.clone()), ..Default::default() };
    let store = open_configured(&settings).unwrap();
    index::update(&store, &index::path(&state), &mut |_| {}).unwrap();
    index::rebuild(&store, &index::path(&state), &mut |_| {}).unwrap();

    let entries = entries(&state);
    for name in ["audit.key", "head.json", "lock", "tokens.json", "ledger.db", "index"] {
        assert!(entries.iter().any(|path| path.ends_with(name)), "{name} is not in {entries:?}");
    }
    for path in entries {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
}
