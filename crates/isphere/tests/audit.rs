//! The audit trail: what is kept, and what is found when someone without the key changes it.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use audit_rig::{NOW, record, records};
use govern::audit::Sink as _;
use govern::audit::head::Head;
use govern::clock::Clock;
use govern::hex::hex;
use isphere::audit::folder;
use isphere::audit::key::StateKey;
use isphere::audit::read::{self, ReadError, Statistics};
use isphere::audit::trail::{Trail, TrailError};
use isphere::audit::verify::{Report, verify};
use proptest::prelude::*;
use proptest::sample::Index;
use sha2::{Digest as _, Sha256};

mod audit_rig;

const DAY: Duration = Duration::from_hours(24);
/// The files of [`ORIGINAL`], and the first record of each.
const FILES: [(&str, i64); 3] = [("2026-11-30.jsonl", 1), ("2026-12-01.jsonl", 5), ("2026-12-03.jsonl", 10)];
const COUNT: i64 = 14;

fn key() -> StateKey {
    StateKey::new([7; 32])
}

/// Fourteen records over three days, as the files of the audit folder.
static ORIGINAL: LazyLock<Files> = LazyLock::new(|| {
    let state = tempfile::tempdir().unwrap();
    let clock = Clock::manual(NOW);
    let trail = Trail::open(state.path(), key(), clock.clone()).unwrap();
    for (batch, days) in [(1..4, 0), (4..5, 1), (5..10, 2), (10..15, 0)] {
        append(&trail, batch);
        clock.advance(DAY * days);
    }
    Files::of(&folder::of_state(state.path()))
});

#[tokio::main(flavor = "current_thread")]
async fn append(trail: &Trail, numbers: std::ops::Range<usize>) {
    trail.append(&records(numbers)).await.unwrap();
}

/// The files of an audit folder by name.
#[derive(Clone)]
struct Files(BTreeMap<String, Vec<u8>>);

impl Files {
    fn of(folder: &Path) -> Self {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let file = |path: std::path::PathBuf| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap())
        };
        Self(entries.map(file).collect())
    }

    fn write(&self, folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        for (name, content) in &self.0 {
            std::fs::write(folder.join(name), content).unwrap();
        }
    }

    /// All records, each with its line end, by the file in which it stands.
    fn lines(&self) -> Vec<(&'static str, Vec<u8>)> {
        let of_file = |(name, _): &(&'static str, i64)| {
            let name = *name;
            self.0[name].split_inclusive(|byte| *byte == b'\n').map(move |line| (name, line.to_vec()))
        };
        FILES.iter().flat_map(of_file).collect()
    }

    fn with_lines(&self, lines: &[(&'static str, Vec<u8>)]) -> Self {
        let mut files = self.clone();
        for (name, _) in FILES {
            files.0.remove(name);
        }
        for (name, line) in lines {
            files.0.entry((*name).to_owned()).or_default().extend(line);
        }
        files
    }

    fn verify(&self, key: Option<&StateKey>, head: Option<&Head>) -> Report {
        let folder = tempfile::tempdir().unwrap();
        self.write(folder.path());
        verify(folder.path(), key, head).unwrap()
    }

    fn is_bad_at(&self, place: impl Into<Option<i64>>) -> String {
        let report = self.verify(Some(&key()), None);
        assert!(!report.ok, "{report:?}");
        assert_eq!(report.first_bad, place.into(), "{report:?}");
        report.reason.unwrap()
    }
}

/// What someone who can write to the folder may do to the lines.
#[derive(Clone, Debug)]
enum Alteration {
    Flip { record: Index, byte: Index, bit: u8 },
    Remove(Index),
    Swap(Index, Index),
    Repeat(Index),
    Forge,
    CutAfter(Index),
    CutWithin(Index, Index),
}

fn alteration() -> impl Strategy<Value = Alteration> {
    let index = any::<Index>;
    prop_oneof![
        4 => (index(), index(), 0_u8..8).prop_map(|(record, byte, bit)| Alteration::Flip { record, byte, bit }),
        1 => index().prop_map(Alteration::Remove),
        1 => (index(), index()).prop_map(|(one, other)| Alteration::Swap(one, other)),
        1 => index().prop_map(Alteration::Repeat),
        1 => Just(Alteration::Forge),
        1 => index().prop_map(Alteration::CutAfter),
        1 => (index(), index()).prop_map(|(record, byte)| Alteration::CutWithin(record, byte)),
    ]
}

/// The altered files, and the number of the first record that is bad; none when nothing was changed.
fn alter(alteration: &Alteration) -> Option<(Files, i64)> {
    let mut lines = ORIGINAL.lines();
    let count = lines.len();
    let first_bad = match alteration {
        Alteration::Flip { record, byte, bit } => {
            let record = record.index(count);
            let line = &mut lines[record].1;
            let byte = byte.index(line.len());
            line[byte] ^= 1 << bit;
            record + 1
        }
        Alteration::Remove(record) => {
            let record = record.index(count);
            lines.remove(record);
            record + 1
        }
        Alteration::Swap(one, other) => {
            let (one, other) = (one.index(count), other.index(count));
            if one == other {
                return None;
            }
            let line = lines[one].1.clone();
            lines[one].1 = std::mem::replace(&mut lines[other].1, line);
            one.min(other) + 1
        }
        Alteration::Repeat(record) => {
            let record = record.index(count);
            lines.insert(record + 1, lines[record].clone());
            record + 2
        }
        Alteration::Forge => {
            let (name, last) = lines[count - 1].clone();
            lines.push((name, forge_after(&last)));
            count + 1
        }
        Alteration::CutAfter(kept) => {
            lines.truncate(kept.index(count));
            lines.len() + 1
        }
        Alteration::CutWithin(record, byte) => {
            let record = record.index(count);
            lines.truncate(record + 1);
            let line = &mut lines[record].1;
            line.truncate(byte.index(line.len()));
            record + 1
        }
    };
    Some((ORIGINAL.with_lines(&lines), i64::try_from(first_bad).unwrap()))
}

/// A line that continues the chain after `last`; only its MAC is not one.
fn forge_after(last: &[u8]) -> Vec<u8> {
    let mut entry: serde_json::Value = serde_json::from_slice(last).unwrap();
    entry["seq"] = (COUNT + 1).into();
    entry["prev"] = hex(&Sha256::digest(last.strip_suffix(b"\n").unwrap())).into();
    format!("{entry}\n").into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_done_to_the_lines_is_found_where_it_was_done(alteration in alteration()) {
        if let Some((files, first_bad)) = alter(&alteration) {
            let report = files.verify(Some(&key()), None);
            prop_assert!(!report.ok);
            prop_assert_eq!(report.first_bad, Some(first_bad), "{:?}", report);
            prop_assert_eq!(report.records, first_bad - 1);
        }
    }

    #[test]
    fn without_the_key_a_change_is_found_at_its_place_or_the_next(alteration in alteration()) {
        if let Some((files, first_bad)) = alter(&alteration) {
            let report = files.verify(None, None);
            if matches!(alteration, Alteration::Forge) {
                prop_assert!(report.ok, "only the key tells a forged end");
            } else {
                let found = report.first_bad.unwrap();
                prop_assert!(found == first_bad || found == first_bad + 1, "{:?}", report);
            }
        }
    }
}

#[test]
fn a_trail_as_it_was_written_is_good_and_ends_at_its_head() {
    let report = ORIGINAL.verify(Some(&key()), None);
    let expected = Report {
        ok: true,
        records: COUNT,
        first_bad: None,
        reason: None,
        head: report.head.clone(),
        torn_tail: false,
        key_checked: true,
    };
    assert_eq!(report, expected);
    let head: Head = report.head.parse().unwrap();
    assert_eq!(head.count, COUNT);
    assert_eq!(ORIGINAL.verify(Some(&key()), Some(&head)), expected);
}

#[test]
fn a_removed_file_is_found() {
    for (name, first) in FILES {
        let mut files = ORIGINAL.clone();
        files.0.remove(name);
        files.is_bad_at(first);
    }
}

#[test]
fn a_renamed_file_is_found_also_when_the_order_stays() {
    for ((name, first), other) in
        FILES.iter().zip(["2026-11-29.jsonl", "2026-12-02.jsonl", "2027-01-01.jsonl"])
    {
        let mut files = ORIGINAL.clone();
        let content = files.0.remove(*name).unwrap();
        files.0.insert(other.to_owned(), content);
        assert!(files.is_bad_at(*first).contains("renamed"));
    }
}

#[test]
fn exchanged_files_are_found() {
    let mut files = ORIGINAL.clone();
    let first = files.0.remove(FILES[0].0).unwrap();
    let second = files.0.insert(FILES[1].0.to_owned(), first).unwrap();
    files.0.insert(FILES[0].0.to_owned(), second);
    files.is_bad_at(1);
}

#[test]
fn a_missing_or_changed_head_file_is_found() {
    let mut files = ORIGINAL.clone();
    let head = files.0.remove("head.json").unwrap();
    assert!(files.is_bad_at(None).contains("head.json is missing"));
    let changed = String::from_utf8(head).unwrap().replace(r#""count":14"#, r#""count":13"#);
    files.0.insert("head.json".to_owned(), changed.into());
    assert!(files.is_bad_at(None).contains("head.json was changed"));
}

#[test]
fn an_older_copy_of_the_folder_is_found_with_a_head_that_was_kept_elsewhere() {
    let state = tempfile::tempdir().unwrap();
    let trail = Trail::open(state.path(), key(), Clock::manual(NOW)).unwrap();
    append(&trail, 1..4);
    let folder = folder::of_state(state.path());
    let (older, older_head) = (Files::of(&folder), read::head(&folder).unwrap());
    append(&trail, 4..6);
    let head = read::head(&folder).unwrap();
    assert!(older.verify(Some(&key()), None).ok, "nothing in the folder tells");
    let report = older.verify(Some(&key()), Some(&head));
    assert_eq!((report.ok, report.first_bad), (false, Some(4)));
    assert!(verify(&folder, Some(&key()), Some(&older_head)).unwrap().ok, "an old head stays valid");
    let other = Head { digest: "ab".repeat(32), ..older_head };
    assert_eq!(verify(&folder, Some(&key()), Some(&other)).unwrap().first_bad, Some(3));
}

#[test]
fn another_key_is_told_from_a_changed_trail() {
    let other = StateKey::new([8; 32]);
    let report = ORIGINAL.verify(Some(&other), None);
    assert_eq!((report.ok, report.first_bad), (false, None));
    assert!(report.reason.unwrap().contains("the key is not the one"));
    let state = tempfile::tempdir().unwrap();
    ORIGINAL.write(&folder::of_state(state.path()));
    let refused = Trail::open(state.path(), other, Clock::manual(NOW)).unwrap_err();
    assert!(matches!(refused, TrailError::OtherKey(_)), "{refused}");
}

#[test]
fn nothing_is_appended_to_a_trail_whose_end_was_cut_off_or_changed() {
    let cut = ORIGINAL.with_lines(&ORIGINAL.lines()[..9]);
    let (forged, _) = alter(&Alteration::Forge).unwrap();
    let mut headless = ORIGINAL.clone();
    headless.0.remove("head.json");
    for files in [cut, forged, headless] {
        let state = tempfile::tempdir().unwrap();
        files.write(&folder::of_state(state.path()));
        let refused = Trail::open(state.path(), key(), Clock::manual(NOW)).unwrap_err();
        assert!(matches!(refused, TrailError::Altered { .. }), "{refused}");
    }
}

#[tokio::test]
async fn a_torn_end_is_reported_then_cut_off_and_noted() {
    let state = tempfile::tempdir().unwrap();
    let folder = folder::of_state(state.path());
    let mut files = ORIGINAL.clone();
    let torn = br#"{"seq":15,"prev":"#;
    files.0.get_mut(FILES[2].0).unwrap().extend(torn);
    files.write(&folder);
    let before = verify(&folder, Some(&key()), None).unwrap();
    assert_eq!((before.ok, before.records, before.torn_tail), (true, COUNT, true));

    let trail = Trail::open(state.path(), key(), Clock::manual(NOW)).unwrap();
    trail.append(&[record(15)]).await.unwrap();
    let after = verify(&folder, Some(&key()), Some(&before.head.parse().unwrap())).unwrap();
    assert_eq!((after.ok, after.records, after.torn_tail), (true, COUNT + 2, false), "{after:?}");
    let last = read::tail(&folder, 2).unwrap();
    assert_eq!(last[0].event.operation, "audit_repair");
    let noted = serde_json::json!({"cut_bytes": torn.len(), "cut_sha256": hex(&Sha256::digest(torn))});
    assert_eq!(last[0].event.detail, Some(noted));
    assert_eq!(last[1].event.request_id, "req-15");
}

#[test]
fn a_counted_record_without_its_line_end_does_not_pass_for_a_torn_one() {
    let mut files = ORIGINAL.clone();
    files.0.get_mut(FILES[2].0).unwrap().pop();
    files.is_bad_at(COUNT);
}

/// Whoever removes the trail under a running process must not get a new one that tells nothing of it.
#[cfg(unix)]
#[tokio::test]
async fn a_trail_that_is_removed_or_replaced_while_it_runs_takes_nothing_until_it_is_back() {
    for was_opened_only in [false, true] {
        let state = tempfile::tempdir().unwrap();
        let (folder, away) = (folder::of_state(state.path()), state.path().join("away"));
        let older = {
            let trail = Trail::open(state.path(), key(), Clock::manual(NOW)).unwrap();
            trail.append(&[record(1)]).await.unwrap();
            let older = Files::of(&folder);
            trail.append(&[record(2)]).await.unwrap();
            older
        };
        let trail = Trail::open(state.path(), key(), Clock::manual(NOW)).unwrap();
        if !was_opened_only {
            trail.append(&[record(3)]).await.unwrap();
        }
        let before = verify(&folder, Some(&key()), None).unwrap();

        std::fs::rename(&folder, &away).unwrap();
        assert!(trail.append(&[record(4)]).await.is_err(), "no folder");
        std::fs::create_dir(&folder).unwrap();
        let refused = trail.append(&[record(4)]).await.unwrap_err().to_string();
        assert!(refused.contains("removed, or replaced"), "an empty folder: {refused}");
        assert_eq!(Files::of(&folder).0.keys().collect::<Vec<_>>(), ["lock"], "nothing was begun");
        older.write(&folder);
        let refused = trail.append(&[record(4)]).await.unwrap_err().to_string();
        assert!(refused.contains("removed, or replaced"), "an older copy: {refused}");

        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::rename(&away, &folder).unwrap();
        trail.append(&[record(4)]).await.unwrap();
        let after = verify(&folder, Some(&key()), Some(&before.head.parse().unwrap())).unwrap();
        assert_eq!((after.ok, after.records), (true, before.records + 1), "{after:?}");
    }
}

#[tokio::test]
async fn a_clock_that_goes_back_does_not_lead_back_to_an_older_file() {
    let state = tempfile::tempdir().unwrap();
    for (now, number) in [(NOW + 86_400_000, 1), (NOW, 2)] {
        let trail = Trail::open(state.path(), key(), Clock::manual(now)).unwrap();
        trail.append(&[record(number)]).await.unwrap();
    }
    let folder = folder::of_state(state.path());
    let report = verify(&folder, Some(&key()), None).unwrap();
    assert_eq!((report.ok, report.records), (true, 2), "{report:?}");
    assert_eq!(read::tail(&folder, 1).unwrap()[0].place.day, "2026-12-01");
}

#[test]
fn the_tail_reaches_over_files_oldest_first() {
    let folder = tempfile::tempdir().unwrap();
    ORIGINAL.write(folder.path());
    let seen: Vec<i64> = read::tail(folder.path(), 7).unwrap().iter().map(|entry| entry.place.seq).collect();
    assert_eq!(seen, (8..=14).collect::<Vec<_>>());
    assert_eq!(read::tail(folder.path(), 0).unwrap(), []);
    assert_eq!(read::tail(folder.path(), 100).unwrap().len(), 14);
}

#[test]
fn statistics_count_by_operation_and_outcome() {
    let folder = tempfile::tempdir().unwrap();
    ORIGINAL.write(folder.path());
    let row = |outcome: &str, calls, p50_us, p99_us| Statistics {
        operation: "isphere_search_contacts".to_owned(),
        outcome: outcome.to_owned(),
        calls,
        p50_us,
        p99_us,
    };
    // Every third record is an error; record N took N milliseconds.
    let expected = [row("error", 4, 6_000, 12_000), row("ok", 10, 7_000, 14_000)];
    assert_eq!(read::statistics(folder.path()).unwrap(), expected);
}

#[test]
fn an_export_is_every_line_in_order() {
    let folder = tempfile::tempdir().unwrap();
    ORIGINAL.write(folder.path());
    let mut exported = Vec::new();
    read::export(folder.path(), |line| {
        exported.push([line, b"\n"].concat());
        Ok::<_, ReadError>(())
    })
    .unwrap();
    assert_eq!(exported, ORIGINAL.lines().into_iter().map(|(_, line)| line).collect::<Vec<_>>());
}

#[test]
fn a_folder_without_a_trail_is_no_good_trail() {
    let folder = tempfile::tempdir().unwrap();
    let refused = verify(folder.path(), Some(&key()), None).unwrap_err();
    assert!(matches!(refused, ReadError::NoTrail(_)), "{refused}");
}

#[cfg(unix)]
#[test]
fn nobody_else_can_read_the_trail() {
    use std::os::unix::fs::PermissionsExt as _;
    let state = tempfile::tempdir().unwrap();
    append(&Trail::open(state.path(), key(), Clock::manual(NOW)).unwrap(), 1..2);
    let folder = folder::of_state(state.path());
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&folder.join(FILES[0].0))), (0o700, 0o600));
}
