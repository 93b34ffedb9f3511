//! A key of 32 random bytes, in a file of its own: what audit trails and cursors are authenticated with.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use thiserror::Error;

use crate::hex::hex;
use crate::random::Random;

/// A key of 32 bytes.
#[derive(Clone)]
pub struct Key([u8; 32]);

/// Why a key file does not serve. The message is for the operator and names the file.
#[derive(Debug, Error)]
pub enum KeyFileError {
    /// The file is there and cannot be read.
    #[error("the key file {0} cannot be read: {1}; let the user that runs countersign read it")]
    Unreadable(PathBuf, io::Error),
    /// The file holds something else.
    #[error("the key file {0} does not hold 64 hexadecimal digits; put the file back from your copy")]
    Malformed(PathBuf),
    /// A new key cannot be kept.
    #[error(
        "the key file {0} cannot be written: {1}; let the user that runs countersign write to its folder"
    )]
    NotWritten(PathBuf, io::Error),
}

impl Key {
    /// A key of these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key in a file (64 hexadecimal digits); none when there is no such file.
    pub fn load(path: &Path) -> Result<Option<Self>, KeyFileError> {
        match std::fs::read_to_string(path) {
            Ok(text) => match from_hex(text.trim_end()) {
                Some(bytes) => Ok(Some(Self(bytes))),
                None => Err(KeyFileError::Malformed(path.to_owned())),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(KeyFileError::Malformed(path.to_owned()))
            }
            Err(error) => Err(KeyFileError::Unreadable(path.to_owned(), error)),
        }
    }

    /// A new key in a new file (mode 0600); the key that is there when another process was first.
    pub fn create(path: &Path, random: &Random) -> Result<Self, KeyFileError> {
        let mut bytes = [0; 32];
        random.fill(&mut bytes);
        match write_new(path, &hex(&bytes), random) {
            Ok(()) => Ok(Self(bytes)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Self::load(path)?.ok_or_else(|| KeyFileError::NotWritten(path.to_owned(), error))
            }
            Err(error) => Err(KeyFileError::NotWritten(path.to_owned(), error)),
        }
    }

    /// HMAC-SHA256 over the parts as if they were one text.
    pub fn authenticate(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Key(…)")
    }
}

/// Writes a file that nobody else can read and that appears whole or not at all, unless there is one already.
fn write_new(path: &Path, text: &str, random: &Random) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    crate::private::make_folder(folder)?;
    let mut suffix = [0; 8];
    random.fill(&mut suffix);
    let draft = path.with_extension(format!("key.{}", hex(&suffix)));
    let mut file = crate::private::file_options().create_new(true).open(&draft)?;
    // A link, unlike a rename, fails when the name is taken.
    let linked = writeln!(file, "{text}")
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::hard_link(&draft, path));
    std::fs::remove_file(&draft)?;
    linked?;
    // Without this the name could be lost in a crash that the first records made with the key survive.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, index) in bytes.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&text[index..index + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/audit.key");
        assert!(Key::load(&path).unwrap().is_none());
        let made = Key::create(&path, &Random::seeded(1)).unwrap();
        let second = Key::create(&path, &Random::seeded(2)).unwrap();
        let read = Key::load(&path).unwrap().unwrap();
        assert_eq!(made.0, second.0, "the first key counts");
        assert_eq!(made.0, read.0);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no draft is left");
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_read_a_key_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.key");
        Key::create(&path, &Random::seeded(1)).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_is_not_64_hexadecimal_digits_is_no_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.key");
        for text in ["", "ab", &"g".repeat(64), &"+1".repeat(32), &"a".repeat(65), &"é".repeat(32)] {
            std::fs::write(&path, text).unwrap();
            assert!(matches!(Key::load(&path), Err(KeyFileError::Malformed(_))), "{text:?}");
        }
    }

    #[test]
    fn a_key_authenticates_as_rfc_4231_says() {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(b"Jefe");
        // Test case 2; HMAC pads a short key with zeros, so 32 bytes give the same.
        let mac = Key::new(bytes).authenticate(&[b"what do ya want ", b"for nothing?"]);
        assert_eq!(hex(&mac), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }
}
