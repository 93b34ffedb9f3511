//! Damaged assemblies: whatever the bytes are, reading them ends with names or with a refusal.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::cell::Cell;

use listing::{CLIENT, listing};
use proptest::prelude::{Just, Strategy, any, prop};
use proptest::prop_oneof;
use proptest::test_runner::{Config, TestRunner};
use win_helper::assembly::{Image, Metadata, file_version};

mod listing;

/// Mutations of the ordinary run, and of `COUNTERSIGN_CAMPAIGN=long`.
const SHARE: u32 = 20_000;
const CAMPAIGN: u32 = 1_000_000;

const NESTED: &str = "IMPP.Client.Core.Plugins.Manager.AppContextManager+Queue";

/// Some bytes of the file replaced, mostly by numbers at which a reader would trip, and its end cut off at times.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let value = prop_oneof![
        any::<u32>(),
        prop::sample::select(vec![0, 1, 2, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, u32::MAX])
    ];
    let change = (0..CLIENT.len(), 1_usize..=4, value);
    let cut = prop_oneof![9 => Just(CLIENT.len()), 1 => 0..CLIENT.len()];
    (prop::collection::vec(change, 1..8), cut).prop_map(|(changes, length)| {
        let mut file = CLIENT.to_vec();
        for (at, width, value) in changes {
            let end = (at + width).min(file.len());
            file[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
        }
        file.truncate(length);
        file
    })
}

#[test]
fn no_damage_is_a_panic() {
    let long = std::env::var("COUNTERSIGN_CAMPAIGN").is_ok_and(|extent| extent == "long");
    let config =
        Config { cases: if long { CAMPAIGN } else { SHARE }, failure_persistence: None, ..Config::default() };
    let read = Cell::new(0);
    let run = TestRunner::new(config).run(&damaged(), |file| {
        let image = Image::open(&file);
        let _ = image.and_then(file_version);
        let _ =
            image.and_then(Metadata::open).map(|metadata| metadata.find(NESTED).map(|found| found.is_some()));
        read.set(read.get() + u32::from(listing(&file).is_ok()));
        Ok(())
    });
    run.unwrap();
    // Had all been refused at the door, the tables behind it would not have been tried.
    assert!(read.get() > SHARE / 20, "{} were read", read.get());
}
