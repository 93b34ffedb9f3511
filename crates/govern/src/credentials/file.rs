//! Bearer tokens in one JSON file, for a half without a database.
//!
//! The file is only ever replaced as a whole, so whoever reads it sees all of a change or nothing. A change holds the
//! lock of a second file from its reading to its writing, so two processes do not lose each other's.

use std::{
    ffi::OsString,
    fmt::Write as _,
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
    time::SystemTime,
};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Caller, Credentials, CredentialsUnavailable, Scope, Secret};
use crate::{clock::Clock, private::file_options, random::Random, time::iso};

/// The largest token file, in bytes; room for about 4,000 tokens, revoked ones included.
const MOST_BYTES: u64 = 1 << 20;

/// The longest name of a token, in characters.
pub const LONGEST_NAME: usize = 100;

/// Why a token file cannot be used or changed. The message is for the operator and names the file.
#[derive(Debug, Error)]
pub enum TokenFileError {
    /// The file is there and cannot be read.
    #[error("the token file {} cannot be read: {reason}; let the user that runs countersign read it", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// The file holds something else.
    #[error(
        "the token file {} is not as countersign writes it, line {line}; put it back from your copy, or move it away \
         and add the tokens again",
        path.display()
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// The file is, or would become, larger than 1 MiB.
    #[error(
        "the token file {} has no room for more; move it away and add the tokens that are still needed again",
        path.display()
    )]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The change cannot be kept, and nothing is changed.
    #[error(
        "the token file {} cannot be written: {reason}; let the user that runs countersign write to its folder",
        path.display()
    )]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// The name is blank, longer than [`LONGEST_NAME`] or has control characters.
    #[error("a token's name has 1 to {LONGEST_NAME} characters, of which none is a control character")]
    NameInvalid,
    /// A live token has the name.
    #[error("there is a live token `{0}` already; choose another name, or revoke that one first")]
    NameTaken(String),
    /// No live token has this name or id.
    #[error("there is no live token `{0}`; the list of tokens names those there are")]
    NotFound(String),
}

/// A token as people and programs see it, without what verifies it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenView {
    /// Its number, from 1, as text.
    pub token_id: String,
    /// Its name; appears as the caller in the audit trail.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<String>,
    /// ISO time.
    pub created_at: String,
    /// ISO time; null while it is live.
    pub revoked_at: Option<String>,
}

/// The tokens in one file; clones share what they have read of it.
#[derive(Clone, Debug)]
pub struct FileTokens {
    path: PathBuf,
    known: Arc<Mutex<Option<Known>>>,
}

/// The tokens that the file had at a time.
#[derive(Debug)]
struct Known {
    stamp: Stamp,
    tokens: Vec<Token>,
}

/// Tells one state of the file from the next. Every change makes it longer, so a clock that ticks slowly hides none.
type Stamp = Option<(SystemTime, u64)>;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    tokens: Vec<Token>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Token {
    id: String,
    name: String,
    scopes: Vec<String>,
    /// Lower-case hex of the secret's digest.
    sha256: String,
    created_at: String,
    revoked_at: Option<String>,
}

impl FileTokens {
    /// The tokens in the file at `path`, which is read once to see that it can be. A file that is not there holds none;
    /// it is made with the first token.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, TokenFileError> {
        let tokens = Self { path: path.into(), known: Arc::default() };
        tokens.with_tokens(|_| ())?;
        Ok(tokens)
    }

    /// Adds a token and gives its secret, which is kept nowhere. A name is free again once its token is revoked.
    pub fn add(
        &self,
        name: &str,
        scopes: &[&str],
        clock: &Clock,
        random: &Random,
    ) -> Result<Secret, TokenFileError> {
        let name = name.trim();
        if name.is_empty() || name.chars().count() > LONGEST_NAME || name.contains(char::is_control) {
            return Err(TokenFileError::NameInvalid);
        }
        let secret = Secret::generate(random);
        self.change(|tokens| {
            if tokens.iter().any(|token| token.is_live() && token.name == name) {
                return Err(TokenFileError::NameTaken(name.to_owned()));
            }
            tokens.push(Token {
                id: (tokens.len() + 1).to_string(),
                name: name.to_owned(),
                scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
                sha256: hex(secret.digest()),
                created_at: iso(clock.now_ms()),
                revoked_at: None,
            });
            Ok(())
        })?;
        Ok(secret)
    }

    /// All tokens, revoked ones too, oldest first.
    pub fn list(&self) -> Result<Vec<TokenView>, TokenFileError> {
        self.with_tokens(|tokens| tokens.iter().map(Token::view).collect())
    }

    /// Revokes the live token of this name, else of this id. A server that runs believes it for at most a second more.
    pub fn revoke(&self, name_or_id: &str, clock: &Clock) -> Result<(), TokenFileError> {
        self.change(|tokens| {
            let live = |wanted: &dyn Fn(&Token) -> bool| {
                tokens.iter().position(|token| token.is_live() && wanted(token))
            };
            let found = live(&|token| token.name == name_or_id).or(live(&|token| token.id == name_or_id));
            let index = found.ok_or_else(|| TokenFileError::NotFound(name_or_id.to_owned()))?;
            tokens[index].revoked_at = Some(iso(clock.now_ms()));
            Ok(())
        })
    }

    /// The tokens, read again when the file has changed.
    fn with_tokens<T>(&self, look: impl FnOnce(&[Token]) -> T) -> Result<T, TokenFileError> {
        let mut known = self.lock_known();
        let now = stamp(fs::metadata(&self.path)).map_err(|reason| self.unreadable(reason))?;
        let current = match known.take().filter(|known| known.stamp == now) {
            Some(current) => current,
            None => self.read()?,
        };
        let seen = look(&current.tokens);
        *known = Some(current);
        Ok(seen)
    }

    fn read(&self) -> Result<Known, TokenFileError> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Known { stamp: None, tokens: Vec::new() });
            }
            Err(reason) => return Err(self.unreadable(reason)),
        };
        let stamp = stamp(file.metadata()).map_err(|reason| self.unreadable(reason))?;
        let mut text = Vec::new();
        // One more than the limit shows that the file is larger.
        file.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(|reason| self.unreadable(reason))?;
        if text.len() as u64 > MOST_BYTES {
            return Err(TokenFileError::Full { path: self.path.clone() });
        }
        let document: Document = serde_json::from_slice(&text)
            .map_err(|error| TokenFileError::Malformed { path: self.path.clone(), line: error.line() })?;
        Ok(Known { stamp, tokens: document.tokens })
    }

    /// Reads the file, changes what it holds and replaces it; when `change` fails, nothing is written.
    fn change(
        &self,
        change: impl FnOnce(&mut Vec<Token>) -> Result<(), TokenFileError>,
    ) -> Result<(), TokenFileError> {
        let not_written = |reason| TokenFileError::NotWritten { path: self.path.clone(), reason };
        crate::private::make_folder(folder(&self.path)).map_err(not_written)?;
        let lock = file_options().create(true).truncate(false).open(beside(&self.path, ".lock"));
        let lock = lock.map_err(not_written)?;
        // Held for as long as it takes to write a small file, by whichever process.
        lock.lock().map_err(not_written)?;
        let mut tokens = self.read()?.tokens;
        change(&mut tokens)?;
        let mut text = serde_json::to_string_pretty(&Document { tokens }).expect("strings serialise");
        text.push('\n');
        if text.len() as u64 > MOST_BYTES {
            return Err(TokenFileError::Full { path: self.path.clone() });
        }
        replace(&self.path, &text).map_err(not_written)
    }

    fn unreadable(&self, reason: io::Error) -> TokenFileError {
        TokenFileError::Unreadable { path: self.path.clone(), reason }
    }

    fn lock_known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().expect("no holder of this lock panics")
    }
}

impl Credentials for FileTokens {
    fn find(&self, digest: [u8; 32]) -> BoxFuture<'_, Result<Option<Caller>, CredentialsUnavailable>> {
        let (tokens, digest) = (self.clone(), hex(digest));
        Box::pin(async move {
            let look = move || tokens.with_tokens(|tokens| caller(tokens, &digest));
            let found = tokio::task::spawn_blocking(look).await;
            let found = found.map_err(|error| CredentialsUnavailable(error.to_string()))?;
            found.map_err(|error| CredentialsUnavailable(error.to_string()))
        })
    }
}

impl Token {
    fn is_live(&self) -> bool {
        self.revoked_at.is_none()
    }

    fn view(&self) -> TokenView {
        let Self { id, name, scopes, sha256: _, created_at, revoked_at } = self.clone();
        TokenView { token_id: id, name, scopes, created_at, revoked_at }
    }
}

fn caller(tokens: &[Token], digest: &str) -> Option<Caller> {
    let token = tokens.iter().find(|token| token.is_live() && token.sha256 == digest)?;
    Some(Caller { name: token.name.clone(), scopes: token.scopes.iter().map(Scope::new).collect() })
}

fn stamp(metadata: io::Result<fs::Metadata>) -> io::Result<Stamp> {
    match metadata {
        Ok(metadata) => Ok(Some((metadata.modified()?, metadata.len()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces the file as a whole, so that a crash leaves the old one or the new one. The caller holds the lock, so the
/// draft is nobody else's.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let draft = beside(path, ".new");
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = file_options().create_new(true).open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    // Without this the new name could be lost in a crash.
    if cfg!(unix) { File::open(folder(path))?.sync_all() } else { Ok(()) }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn hex(digest: [u8; 32]) -> String {
    digest.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    struct Place {
        folder: tempfile::TempDir,
        clock: Clock,
        random: Random,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            Self { folder, clock: Clock::manual(1_796_049_720_000), random: Random::seeded(1) }
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("state/tokens.json")
        }

        fn open(&self) -> FileTokens {
            FileTokens::open(self.path()).unwrap()
        }

        fn add(&self, tokens: &FileTokens, name: &str) -> Result<Secret, TokenFileError> {
            tokens.add(name, &["read", "send"], &self.clock, &self.random)
        }

        fn holding(text: impl AsRef<[u8]>) -> (Self, Result<FileTokens, TokenFileError>) {
            let place = Self::new();
            fs::create_dir(place.folder.path().join("state")).unwrap();
            fs::write(place.path(), text).unwrap();
            let opened = FileTokens::open(place.path());
            (place, opened)
        }
    }

    #[tokio::test]
    async fn a_secret_finds_its_caller_until_it_is_revoked() {
        let place = Place::new();
        let (server, operator) = (place.open(), place.open());
        let secret = place.add(&operator, "agent").unwrap();
        let caller = server.find(secret.digest()).await.unwrap().unwrap();
        assert_eq!(caller.name, "agent");
        assert!(caller.may("read") && caller.may("send") && !caller.may("admin"));
        operator.revoke("agent", &place.clock).unwrap();
        assert_eq!(server.find(secret.digest()).await.unwrap(), None);
    }

    #[test]
    fn a_list_has_every_token_and_nothing_that_verifies_one() {
        let place = Place::new();
        let tokens = place.open();
        assert_eq!(tokens.list().unwrap(), []);
        let secret = place.add(&tokens, " agent ").unwrap();
        tokens.revoke("1", &place.clock).unwrap();
        let listed = tokens.list().unwrap();
        let time = "2026-11-30T14:42:00.000Z".to_owned();
        assert_eq!(
            listed,
            [TokenView {
                token_id: "1".into(),
                name: "agent".into(),
                scopes: vec!["read".into(), "send".into()],
                created_at: time.clone(),
                revoked_at: Some(time),
            }]
        );
        let text = fs::read_to_string(place.path()).unwrap();
        assert!(!text.contains(&secret.expose()["cs_".len()..]), "the secret is kept nowhere");
    }

    #[test]
    fn a_name_is_free_again_once_its_token_is_revoked() {
        let place = Place::new();
        let tokens = place.open();
        place.add(&tokens, "agent").unwrap();
        assert!(
            matches!(place.add(&tokens, "agent"), Err(TokenFileError::NameTaken(name)) if name == "agent")
        );
        tokens.revoke("agent", &place.clock).unwrap();
        assert!(matches!(tokens.revoke("agent", &place.clock), Err(TokenFileError::NotFound(_))));
        place.add(&tokens, "agent").unwrap();
        let live: Vec<_> = tokens.list().unwrap().iter().map(|token| token.revoked_at.is_none()).collect();
        assert_eq!(live, [false, true]);
    }

    #[test]
    fn a_name_goes_before_an_id() {
        let place = Place::new();
        let tokens = place.open();
        place.add(&tokens, "2").unwrap();
        place.add(&tokens, "other").unwrap();
        tokens.revoke("2", &place.clock).unwrap();
        assert_eq!(tokens.list().unwrap().iter().find(|token| token.revoked_at.is_some()).unwrap().name, "2");
    }

    #[test]
    fn a_name_must_be_fit_for_an_audit_record() {
        let place = Place::new();
        let tokens = place.open();
        for name in ["", " ", "a\nb", &"x".repeat(LONGEST_NAME + 1)] {
            assert!(matches!(place.add(&tokens, name), Err(TokenFileError::NameInvalid)), "{name:?}");
        }
        assert!(place.add(&tokens, &"字".repeat(LONGEST_NAME)).is_ok());
    }

    #[test]
    fn changes_at_the_same_time_lose_nothing_of_each_other() {
        let place = Place::new();
        thread::scope(|scope| {
            for worker in 0..4 {
                let (place, tokens) = (&place, place.open());
                scope.spawn(move || {
                    for number in 0..5 {
                        place.add(&tokens, &format!("{worker}-{number}")).unwrap();
                    }
                });
            }
        });
        assert_eq!(place.open().list().unwrap().len(), 20);
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_read_the_file_and_no_draft_is_left() {
        use std::os::unix::fs::PermissionsExt as _;
        let place = Place::new();
        fs::create_dir(place.folder.path().join("state")).unwrap();
        fs::write(place.folder.path().join("state/tokens.json.new"), "left by a crash").unwrap();
        place.add(&place.open(), "agent").unwrap();
        assert_eq!(fs::metadata(place.path()).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!place.folder.path().join("state/tokens.json.new").exists());
    }

    #[test]
    fn a_file_of_something_else_is_named_with_its_line_and_never_replaced() {
        let too_many_fields = "{\"tokens\": [],\n\"more\": 1}";
        for (text, line) in [("", 1), ("[]", 1), ("\u{0}", 1), (too_many_fields, 2)] {
            let (place, opened) = Place::holding(text);
            let error = opened.unwrap_err().to_string();
            let named = error.contains("tokens.json") && error.contains(&format!("line {line}"));
            assert!(named || text.is_empty() && error.contains("tokens.json"), "{error}");
            let tokens = FileTokens { path: place.path(), known: Arc::default() };
            assert!(matches!(place.add(&tokens, "agent"), Err(TokenFileError::Malformed { .. })));
            assert_eq!(fs::read_to_string(place.path()).unwrap(), text);
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_one_without_tokens() {
        let place = Place::new();
        fs::create_dir_all(place.path()).unwrap();
        let error = FileTokens::open(place.path()).unwrap_err();
        assert!(matches!(error, TokenFileError::Unreadable { .. }), "{error}");
    }

    #[test]
    fn a_file_has_a_largest_size() {
        let blanks = " ".repeat(usize::try_from(MOST_BYTES).unwrap() + 1);
        assert!(matches!(Place::holding(blanks).1, Err(TokenFileError::Full { .. })));
    }
}
