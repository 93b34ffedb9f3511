//! `head.json`: how far the trail reaches, replaced after each batch. It is what makes a cut end noticed.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use govern::audit::head::Head;
use govern::hex::hex;
use govern::private::file_options;
use serde::{Deserialize, Serialize};

use super::folder;
use super::key::StateKey;

/// What the MAC of a head is made for.
const DOMAIN: &str = "audit head";
/// More than this is no head.
const MOST_BYTES: u64 = 4 << 10;

/// What stands in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    count: i64,
    digest: String,
    /// The fingerprint of the key that the trail is made with.
    key: String,
    /// Hex HMAC over `COUNT:DIGEST`.
    mac: String,
}

/// What a head file turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// There is none.
    Nothing,
    /// A head; made with the key, where one was given.
    Head(Head),
    /// It belongs to a trail that was made with another key.
    OtherKey,
    /// It was changed, or made without the key.
    Altered,
}

/// Reads the head of a folder and checks it with the key.
pub(super) fn read(folder: &Path, key: Option<&StateKey>) -> io::Result<Found> {
    let path = folder::head(folder);
    match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Ok(metadata) if metadata.len() > MOST_BYTES => return Ok(Found::Altered),
        _ => {}
    }
    let Ok(kept) = serde_json::from_slice::<Kept>(&fs::read(&path)?) else { return Ok(Found::Altered) };
    let head = Head { count: kept.count, digest: kept.digest };
    Ok(match key {
        Some(key) if kept.key != key.fingerprint() => Found::OtherKey,
        Some(key) if kept.mac != authenticate(&head, key) => Found::Altered,
        _ => Found::Head(head),
    })
}

/// Replaces the head, so that a crash at any moment leaves the old one or the new one. Only who holds the lock may.
pub(super) fn replace(folder: &Path, head: &Head, key: &StateKey) -> io::Result<()> {
    let kept = Kept {
        count: head.count,
        digest: head.digest.clone(),
        key: key.fingerprint(),
        mac: authenticate(head, key),
    };
    let path = folder::head(folder);
    let draft = path.with_extension("json.new");
    let mut file = file_options().create(true).truncate(true).open(&draft)?;
    file.write_all(&serde_json::to_vec(&kept)?)?;
    file.sync_all()?;
    fs::rename(&draft, &path)?;
    folder::sync(folder)
}

fn authenticate(head: &Head, key: &StateKey) -> String {
    hex(&key.authenticate(DOMAIN, head.to_string().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_back_and_no_byte_of_it_can_be_changed() {
        let folder = tempfile::tempdir().unwrap();
        let key = StateKey::new([7; 32]);
        assert_eq!(read(folder.path(), Some(&key)).unwrap(), Found::Nothing);
        let head = Head { count: 12, digest: "ab".repeat(32) };
        replace(folder.path(), &head, &key).unwrap();
        assert_eq!(read(folder.path(), Some(&key)).unwrap(), Found::Head(head));
        assert_eq!(read(folder.path(), Some(&StateKey::new([8; 32]))).unwrap(), Found::OtherKey);
        let path = folder::head(folder.path());
        let bytes = fs::read(&path).unwrap();
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 0x20;
            fs::write(&path, changed).unwrap();
            let found = read(folder.path(), Some(&key)).unwrap();
            assert!(matches!(found, Found::Altered | Found::OtherKey), "byte {place}: {found:?}");
        }
    }
}
