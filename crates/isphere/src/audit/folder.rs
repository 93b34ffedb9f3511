//! The folder of a trail: a file a day, the head, and the lock of those who write.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use govern::private::file_options;
use jiff::civil::Date;

/// Name of the audit folder in a state folder.
const FOLDER: &str = "audit";
/// Name of the file that says how far the trail reaches.
const HEAD: &str = "head.json";
/// Name of the file that writers lock; it stays empty.
const LOCK: &str = "lock";
const EXTENSION: &str = "jsonl";

/// The audit folder of a state folder.
pub fn of_state(state_dir: &Path) -> PathBuf {
    state_dir.join(FOLDER)
}

/// Where a folder keeps its head.
pub(super) fn head(folder: &Path) -> PathBuf {
    folder.join(HEAD)
}

/// The file of a day.
pub(super) fn day_file(folder: &Path, day: Date) -> PathBuf {
    folder.join(format!("{day}.{EXTENSION}"))
}

/// The days of which the folder has a file, in their order.
pub(super) fn days(folder: &Path) -> io::Result<Vec<Date>> {
    let mut days = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let day = name.to_str().and_then(|name| name.strip_suffix(EXTENSION)?.strip_suffix('.'));
        // Only the form in which the trail names its files: another one would be a second name of the same day.
        days.extend(day.and_then(|day| day.parse::<Date>().ok().filter(|date| date.to_string() == day)));
    }
    days.sort_unstable();
    Ok(days)
}

/// Whether a trail was begun here.
pub(super) fn is_begun(folder: &Path) -> bool {
    head(folder).exists() || days(folder).is_ok_and(|days| !days.is_empty())
}

/// Opens the file that writers lock, made when it is not there.
pub(super) fn lock_file(folder: &Path) -> io::Result<File> {
    file_options().read(true).create(true).truncate(false).open(folder.join(LOCK))
}

/// Makes a new or replaced name in the folder last through a crash of the machine.
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    // Windows keeps names without being asked, and opens no folder as a file.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_named_by_a_day_belong_to_the_trail() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "2026-12-01.jsonl",
            "2026-11-30.jsonl",
            "2026-02-30.jsonl",
            "20261130.jsonl",
            "2026-11-30.jsonl.gz",
            "head.json",
            "x.jsonl",
        ] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let names: Vec<_> = days(folder.path()).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["2026-11-30", "2026-12-01"]);
    }
}
