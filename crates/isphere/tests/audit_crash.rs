//! The audit trail under processes that are killed, that write at once, and that run out of room.

#![allow(clippy::unwrap_used, reason = "a test may")]
#![cfg(unix)]

use std::io::{Read as _, Write as _};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use audit_rig::{NOW, record, records};
use govern::audit::Sink as _;
use govern::clock::Clock;
use isphere::audit::key::StateKey;
use isphere::audit::trail::Trail;
use isphere::audit::verify::verify;
use isphere::audit::{folder, read};

mod audit_rig;

/// Names the state folder to the child process.
const STATE: &str = "COUNTERSIGN_TEST_AUDIT_STATE";
/// How many batches the child appends.
const BATCHES: &str = "COUNTERSIGN_TEST_AUDIT_BATCHES";
/// How often the writers of one trail are killed. All of a trail is verified after each kill, so that many short trails
/// are tried in the time of few long ones.
const KILLS: usize = 8;
/// Large enough that a kill tears some batches.
const BATCH: usize = 400;

fn key() -> StateKey {
    StateKey::new([7; 32])
}

/// Appends batches and says so with a byte on stdout after each: in a process of its own, which the other tests start.
#[tokio::test]
async fn child() {
    let Ok(state) = std::env::var(STATE) else { return };
    let batches: usize = std::env::var(BATCHES).unwrap().parse().unwrap();
    let trail = Trail::open(Path::new(&state), key(), Clock::manual(NOW)).unwrap();
    for _ in 0..batches {
        let said = if trail.append(&records(1..BATCH + 1)).await.is_ok() { b"+" } else { b"-" };
        std::io::stdout().write_all(said).unwrap();
        std::io::stdout().flush().unwrap();
    }
}

/// The command that runs [`child`], in a shell that first runs `preparation`.
fn child_process(state: &Path, batches: usize, preparation: &str) -> Child {
    Command::new("/bin/sh")
        .args(["-c", &format!("{preparation} exec \"$0\" --exact child --nocapture")])
        .arg(std::env::current_exe().unwrap())
        .env(STATE, state)
        .env(BATCHES, batches.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until the child has appended so many batches.
fn wait_for(child: &mut Child, batches: usize) {
    let mut byte = [0];
    let mut seen = 0;
    while seen < batches {
        child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
        seen += usize::from(byte == *b"+");
    }
}

fn is_good(folder: &Path) -> i64 {
    let report = verify(folder, Some(&key()), None).unwrap();
    assert!(report.ok, "{report:?}");
    report.records
}

#[tokio::test]
async fn a_process_killed_while_it_writes_leaves_a_chain_that_verifies() {
    let trails =
        if std::env::var("COUNTERSIGN_CAMPAIGN").is_ok_and(|extent| extent == "long") { 25 } else { 1 };
    for trail in 0..trails {
        kill_writers_of_one_trail(trail * KILLS..(trail + 1) * KILLS).await;
    }
}

async fn kill_writers_of_one_trail(rounds: Range<usize>) {
    let state = tempfile::tempdir().unwrap();
    let folder = folder::of_state(state.path());
    let mut torn = 0;
    for round in rounds {
        let mut child = child_process(state.path(), usize::MAX, "");
        wait_for(&mut child, 1 + round % 3);
        // What is left of the time until the next batch is done differs from round to round.
        (0..round * 20_000).for_each(|step| {
            std::hint::black_box(step);
        });
        child.kill().unwrap();
        child.wait().unwrap();
        let before = verify(&folder, Some(&key()), None).unwrap();
        assert!(before.ok, "{before:?}");
        torn += usize::from(before.torn_tail);

        let trail = Trail::open(state.path(), key(), Clock::manual(NOW)).unwrap();
        trail.append(&[record(1)]).await.unwrap();
        let added = 1 + i64::from(before.torn_tail);
        assert_eq!(is_good(&folder), before.records + added, "the record, and a note of what was torn");
    }
    let mut repairs = 0;
    read::export(&folder, |line| {
        repairs += usize::from(line.windows(12).any(|window| window == b"audit_repair"));
        Ok::<_, read::ReadError>(())
    })
    .unwrap();
    assert_eq!(repairs, torn, "each torn end is noted once");
}

#[test]
fn two_processes_that_append_at_once_do_not_interleave() {
    const EACH: usize = 6;
    let state = tempfile::tempdir().unwrap();
    let mut children = [(); 2].map(|()| child_process(state.path(), EACH, ""));
    for child in &mut children {
        wait_for(child, EACH);
        assert!(child.wait().unwrap().success());
    }
    let folder = folder::of_state(state.path());
    assert_eq!(is_good(&folder), i64::try_from(2 * EACH * BATCH).unwrap());
    let mut next = 1;
    read::export(&folder, |line| {
        let entry: serde_json::Value = serde_json::from_slice(line).unwrap();
        assert_eq!(entry["request_id"], format!("req-{next}"), "a batch stays together");
        next = next % BATCH + 1;
        Ok::<_, read::ReadError>(())
    })
    .unwrap();
}

#[test]
fn a_batch_for_which_there_is_no_room_leaves_nothing_of_itself() {
    let state = tempfile::tempdir().unwrap();
    // Room in blocks of 512 bytes for one batch and a half; the write that exceeds it fails after its first part.
    let mut child = child_process(state.path(), 4, "trap '' XFSZ; ulimit -f 600;");
    let mut said = String::new();
    child.stdout.as_mut().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(said.contains("+---"), "{said}");
    let report = verify(&folder::of_state(state.path()), Some(&key()), None).unwrap();
    let expected = i64::try_from(BATCH).unwrap();
    assert_eq!((report.ok, report.records, report.torn_tail), (true, expected, false), "{report:?}");
}
