//! One ledger, many threads and processes: under one key there is one operation.
#![allow(clippy::unwrap_used, reason = "a test may")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use isphere::sending::ledger::{Ledger, LedgerError, Operation};
use tokio::sync::Barrier;

/// Tells a child its state folder.
const FOLDER: &str = "COUNTERSIGN_TEST_LEDGER";
/// Tells a child the first of its contents.
const FIRST: &str = "COUNTERSIGN_TEST_LEDGER_FIRST";
/// Calls that race for the key in each process.
const CALLS: u8 = 16;

fn operation(content: u8) -> Operation {
    Operation { tool: "isphere_send_message", key_sha256: [7; 32], sha256: [content; 32] }
}

/// Plans these contents under one key, all at once; those that got it.
async fn race(ledger: &Ledger, contents: Vec<u8>) -> Vec<u8> {
    let start = Arc::new(Barrier::new(contents.len()));
    let calls: Vec<_> = contents
        .into_iter()
        .map(|content| {
            let (ledger, start) = (ledger.clone(), Arc::clone(&start));
            tokio::spawn(async move {
                start.wait().await;
                match ledger.plan(operation(content), 1).await {
                    Ok(()) => Some(content),
                    Err(LedgerError::OtherOperation) => None,
                    Err(error) => panic!("{error}"),
                }
            })
        })
        .collect();
    let mut winners = Vec::new();
    for call in calls {
        winners.extend(call.await.unwrap());
    }
    winners
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_16_contents_at_once_one_gets_the_key_and_the_others_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    assert_eq!(race(&ledger, (0..CALLS).collect()).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_content_16_times_at_once_is_planned_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    assert_eq!(race(&ledger, vec![1; CALLS.into()]).await, [1; CALLS as usize]);
}

/// What a child process does; run as a test of its own it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let first: u8 = std::env::var(FIRST).unwrap().parse().unwrap();
    let ledger = Ledger::open(Path::new(&folder)).unwrap();
    let winners = race(&ledger, (first..first + CALLS).collect()).await;
    std::fs::write(Path::new(&folder).join(format!("winners.{first}")), winners).unwrap();
}

#[test]
fn four_processes_that_open_a_new_folder_at_once_agree_on_one_content() {
    for _ in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let firsts = [0, CALLS, 2 * CALLS, 3 * CALLS];
        let children = firsts.map(|first| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "child"])
                .env(FOLDER, folder.path())
                .env(FIRST, first.to_string())
                .spawn()
                .unwrap()
        });
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        let winners = |first| std::fs::read(folder.path().join(format!("winners.{first}"))).unwrap();
        let winners: Vec<u8> = firsts.into_iter().flat_map(winners).collect();
        assert_eq!(winners.len(), 1, "{winners:?}");
    }
}
