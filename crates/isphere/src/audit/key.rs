//! The key of a state folder: it authenticates the audit trail and the cursors.

use std::path::{Path, PathBuf};

use govern::hex::hex;
use govern::key::{Key, KeyFileError};
use govern::random::Random;
use thiserror::Error;

use super::folder;

/// Name of the key file, beside the audit folder and not in it: who copies or administers the trail need not have it.
const FILE: &str = "audit.key";

/// The key of a state folder.
#[derive(Clone, Debug)]
pub struct StateKey(Key);

/// Why there is no key to work with. The message is for the operator and names the file.
#[derive(Debug, Error)]
pub enum KeyError {
    /// There is a trail, so a new key would not be its key.
    #[error(
        "the audit key {0} is missing, but the folder beside it has an audit trail made with it; put the file back from your copy"
    )]
    Missing(PathBuf),
    /// The file does not serve.
    #[error(transparent)]
    File(#[from] KeyFileError),
}

impl StateKey {
    /// A key of these bytes, for tests.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(Key::new(bytes))
    }

    /// The key of a state folder. Both are made (the file with mode 0600) while there is no trail yet; whether the
    /// key is the one that a trail was made with is for [`super::trail::Trail::open`] to find.
    pub fn open(state_dir: &Path, random: &Random) -> Result<Self, KeyError> {
        let path = Self::path(state_dir);
        match Key::load(&path)? {
            Some(key) => Ok(Self(key)),
            None if folder::is_begun(&folder::of_state(state_dir)) => Err(KeyError::Missing(path)),
            None => Ok(Self(Key::create(&path, random)?)),
        }
    }

    /// The key in a file; none when there is no such file.
    pub fn load(path: &Path) -> Result<Option<Self>, KeyFileError> {
        Ok(Key::load(path)?.map(Self))
    }

    /// Where a state folder keeps its key.
    pub fn path(state_dir: &Path) -> PathBuf {
        state_dir.join(FILE)
    }

    /// HMAC-SHA256 over the domain, a zero byte and the bytes. The domain names what is authenticated, so that
    /// what was made for one purpose never passes for another.
    pub fn authenticate(&self, domain: &str, bytes: &[u8]) -> [u8; 32] {
        self.0.authenticate(&[domain.as_bytes(), b"\0", bytes])
    }

    /// What tells this key from others without giving it away.
    pub(super) fn fingerprint(&self) -> String {
        hex(&self.authenticate("fingerprint", b""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_folder_keeps_its_key() {
        let state = tempfile::tempdir().unwrap();
        let made = StateKey::open(state.path(), &Random::System).unwrap();
        let again = StateKey::open(state.path(), &Random::System).unwrap();
        assert_eq!(made.fingerprint(), again.fingerprint());
    }

    #[test]
    fn no_new_key_is_made_for_a_trail_that_has_one() {
        let state = tempfile::tempdir().unwrap();
        let audit = folder::of_state(state.path());
        std::fs::create_dir(&audit).unwrap();
        std::fs::write(audit.join("2026-11-30.jsonl"), "{}\n").unwrap();
        let refused = StateKey::open(state.path(), &Random::System).unwrap_err();
        assert!(matches!(refused, KeyError::Missing(_)), "{refused}");
        assert!(!StateKey::path(state.path()).exists());
    }

    #[test]
    fn what_was_made_for_one_purpose_does_not_pass_for_another() {
        let key = StateKey::new([7; 32]);
        assert_ne!(key.authenticate("cursor", b"a"), key.authenticate("audit", b"a"));
        assert_ne!(key.authenticate("cursor", b"a"), key.authenticate("cursora", b""));
    }
}
