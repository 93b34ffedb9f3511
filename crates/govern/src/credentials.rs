//! Bearer tokens: named, scoped, revocable, and at rest only as the SHA-256 of a 256-bit random secret.
//!
//! A secret is found by its digest. What is compared is thus never the secret, and how long a comparison takes
//! tells nothing that helps to guess one.

pub mod file;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use futures_util::future::BoxFuture;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::{clock::Clock, random::Random};

/// The right to use one group of operations, such as `read` or `submit`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope(String);

impl Scope {
    /// The scope of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Every scope there is: for a person at this machine, who could change the configuration as well.
    pub fn all() -> Self {
        Self::new("*")
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Who calls: the holder of a token, or a local process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The token's name; appears in audit records.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
}

impl Caller {
    /// The caller over stdio and of the command line, who may do all.
    pub fn local() -> Self {
        Self { name: "local".to_owned(), scopes: vec![Scope::all()] }
    }

    /// Whether one of the scopes covers `scope`.
    pub fn may(&self, scope: &str) -> bool {
        self.scopes.iter().any(|held| held.as_str() == scope || *held == Scope::all())
    }
}

/// A bearer token in the clear: shown once, when it is made.
pub struct Secret(String);

impl Secret {
    /// A new secret: `cs_` and 32 random bytes in base64url.
    pub fn generate(random: &Random) -> Self {
        let mut bytes = [0; 32];
        random.fill(&mut bytes);
        Self(format!("cs_{}", URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The text of the secret, for the one place that shows it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is kept in its stead.
    pub fn digest(&self) -> [u8; 32] {
        digest(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(redacted)")
    }
}

/// The SHA-256 under which a secret is kept and found. A secret has 256 random bits, so it needs no salt and no
/// slow hash.
pub fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// The store of credentials could not be asked.
#[derive(Debug, Error)]
#[error("the credentials could not be read: {0}")]
pub struct CredentialsUnavailable(pub String);

/// Where credentials are kept.
pub trait Credentials: Send + Sync {
    /// The caller whose secret has this digest, unless revoked.
    fn find(&self, digest: [u8; 32]) -> BoxFuture<'_, Result<Option<Caller>, CredentialsUnavailable>>;
}

/// Why a request is not authenticated. The message is fit for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BearerError {
    /// No usable `Authorization` header.
    #[error("A bearer token is required: send `Authorization: Bearer <token>`.")]
    Missing,
    /// Unknown or revoked.
    #[error("The bearer token is not valid. It may have been revoked; ask the operator for a new one.")]
    Wrong,
    /// The store could not be asked.
    #[error("The bearer token cannot be checked right now; try again shortly.")]
    Unavailable,
}

/// How long an answer of the store is believed, in milliseconds: a revocation takes effect within this time.
const BELIEVED_MS: i64 = 1_000;

/// How many answers are kept at once.
const KEPT: usize = 1024;

/// Verifies bearer tokens, asking the store at most once a second per token.
pub struct Bearer {
    credentials: Arc<dyn Credentials>,
    clock: Clock,
    known: Mutex<HashMap<[u8; 32], Known>>,
}

struct Known {
    caller: Arc<Caller>,
    until_ms: i64,
}

impl Bearer {
    /// A verifier over this store.
    pub fn new(credentials: Arc<dyn Credentials>, clock: Clock) -> Self {
        Self { credentials, clock, known: Mutex::default() }
    }

    /// The caller for the value of an `Authorization` header (RFC 6750, section 2.1; the scheme in any case).
    pub async fn verify(&self, authorization: Option<&str>) -> Result<Arc<Caller>, BearerError> {
        let secret = authorization.and_then(bearer_token).ok_or(BearerError::Missing)?;
        let digest = digest(secret);
        let now_ms = self.clock.now_ms();
        if let Some(known) = self.lock().get(&digest).filter(|known| known.until_ms > now_ms) {
            return Ok(Arc::clone(&known.caller));
        }
        let caller = match self.credentials.find(digest).await {
            Ok(Some(caller)) => Arc::new(caller),
            Ok(None) => return Err(BearerError::Wrong),
            Err(error) => {
                tracing::error!(%error, "bearer token not checked");
                return Err(BearerError::Unavailable);
            }
        };
        let mut known = self.lock();
        if known.len() >= KEPT {
            known.retain(|_, kept| kept.until_ms > now_ms);
        }
        // Only good tokens are kept, so a flood of wrong ones cannot push them out.
        if known.len() < KEPT {
            known.insert(digest, Known { caller: Arc::clone(&caller), until_ms: now_ms + BELIEVED_MS });
        }
        Ok(caller)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], Known>> {
        self.known.lock().expect("no holder of this lock panics")
    }
}

fn bearer_token(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicBool, AtomicUsize, Ordering},
        time::Duration,
    };

    use super::*;

    #[derive(Default)]
    struct Store {
        holder: Mutex<Option<[u8; 32]>>,
        broken: AtomicBool,
        asked: AtomicUsize,
    }

    impl Credentials for Store {
        fn find(&self, digest: [u8; 32]) -> BoxFuture<'_, Result<Option<Caller>, CredentialsUnavailable>> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            let found = if self.broken.load(Ordering::SeqCst) {
                Err(CredentialsUnavailable("broken".into()))
            } else {
                let holds = *self.holder.lock().unwrap() == Some(digest);
                Ok(holds.then(|| Caller { name: "agent".into(), scopes: vec![Scope::new("read")] }))
            };
            Box::pin(std::future::ready(found))
        }
    }

    fn rig() -> (Arc<Store>, Clock, Bearer, String) {
        let (store, clock) = (Arc::new(Store::default()), Clock::manual(0));
        let secret = Secret::generate(&Random::seeded(1));
        *store.holder.lock().unwrap() = Some(secret.digest());
        let bearer = Bearer::new(store.clone(), clock.clone());
        (store, clock, bearer, format!("Bearer {}", secret.expose()))
    }

    #[test]
    fn a_secret_has_256_random_bits_and_hides_from_debug() {
        let secret = Secret::generate(&Random::System);
        assert_eq!(secret.expose().len(), "cs_".len() + 43);
        assert_ne!(secret.expose(), Secret::generate(&Random::System).expose());
        assert!(!format!("{secret:?}").contains(&secret.expose()[3..]));
    }

    #[tokio::test]
    async fn a_good_token_gives_its_caller_with_the_scheme_in_any_case() {
        let (_, _, bearer, header) = rig();
        assert_eq!(bearer.verify(Some(&header)).await.unwrap().name, "agent");
        assert!(bearer.verify(Some(&header.replace("Bearer", "bearer"))).await.is_ok());
    }

    #[tokio::test]
    async fn a_missing_or_wrong_token_is_refused() {
        let (_, _, bearer, header) = rig();
        for missing in [None, Some(""), Some("Bearer"), Some("Bearer  "), Some("Basic abc")] {
            assert_eq!(bearer.verify(missing).await, Err(BearerError::Missing), "{missing:?}");
        }
        assert_eq!(bearer.verify(Some(&header[..header.len() - 1])).await, Err(BearerError::Wrong));
    }

    #[tokio::test]
    async fn a_revocation_takes_effect_within_a_second() {
        let (store, clock, bearer, header) = rig();
        assert!(bearer.verify(Some(&header)).await.is_ok());
        *store.holder.lock().unwrap() = None;
        clock.advance(Duration::from_millis(999));
        assert!(bearer.verify(Some(&header)).await.is_ok());
        assert_eq!(store.asked.load(Ordering::SeqCst), 1, "the store is asked once a second");
        clock.advance(Duration::from_millis(1));
        assert_eq!(bearer.verify(Some(&header)).await, Err(BearerError::Wrong));
    }

    #[tokio::test]
    async fn a_store_that_cannot_be_asked_lets_nobody_in() {
        let (store, _, bearer, header) = rig();
        store.broken.store(true, Ordering::SeqCst);
        assert_eq!(bearer.verify(Some(&header)).await, Err(BearerError::Unavailable));
    }
}
