//! Passwords of the console: made at random, kept as Argon2id.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use govern::random::Random;
use tokio::sync::Semaphore;

use crate::error::Error;

/// Longest password that is looked at, in bytes.
pub(super) const MAX_BYTES: usize = 1_024;

/// Letters and digits that nobody takes for another one.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// Characters of a password; each is worth five bits.
const LENGTH: usize = 20;
/// Characters between two hyphens, so that a password can be read out.
const GROUP: usize = 5;

/// How many passwords are looked at at once: each takes 19 MiB and a core.
static PLACES: Semaphore = Semaphore::const_new(2);

/// A password in the clear: shown once, when it is made.
pub struct Password(String);

impl Password {
    /// A password of 100 random bits, such as `k7mqa-2xjdp-…`.
    pub(super) fn generate(random: &Random) -> Self {
        let mut bytes = [0; LENGTH];
        random.fill(&mut bytes);
        let letter = |byte: &u8| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]);
        let groups: Vec<String> =
            bytes.chunks(GROUP).map(|chunk| chunk.iter().map(letter).collect()).collect();
        Self(groups.join("-"))
    }

    /// The text of the password, for the one place that shows it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is kept in its stead: a PHC string.
    pub(super) async fn hash(&self, random: &Random) -> Result<String, Error> {
        let mut salt = [0; 16];
        random.fill(&mut salt);
        let password = self.0.clone();
        costly(move || hash(password.as_bytes(), &salt)).await?
    }
}

impl std::fmt::Debug for Password {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Password(redacted)")
    }
}

/// Whether a password is the one that is kept. Without one that is kept it costs the same time, so that an answer
/// does not tell which names there are.
pub(super) async fn verify(password: &str, kept: Option<&str>) -> Result<bool, Error> {
    let (password, kept) = (password.to_owned(), kept.map(str::to_owned));
    costly(move || match kept {
        Some(kept) => {
            let kept = PasswordHash::new(&kept).map_err(|_| Error::PasswordHash)?;
            Ok(Argon2::default().verify_password(password.as_bytes(), &kept).is_ok())
        }
        None => hash(password.as_bytes(), &[0; 16]).map(|_| false),
    })
    .await?
}

/// Argon2id with 19 MiB and two passes, the least that OWASP's password storage page recommends.
fn hash(password: &[u8], salt: &[u8]) -> Result<String, Error> {
    let hashed = Argon2::default().hash_password_with_salt(password, salt);
    hashed.map(|hash| hash.to_string()).map_err(|_| Error::PasswordHash)
}

/// Runs on a thread where it holds up nobody, when there is a place.
async fn costly<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    // Nobody closes the semaphore, so there is always a place in the end.
    let _place = PLACES.acquire().await.map_err(|_| Error::Broken)?;
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::Broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_kept_as_argon2id_and_only_it_verifies() {
        let random = Random::seeded(1);
        let password = Password::generate(&random);
        let kept = password.hash(&random).await.unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        assert!(verify(password.expose(), Some(&kept)).await.unwrap());
        assert!(!verify(&password.expose().to_uppercase(), Some(&kept)).await.unwrap());
        assert!(!verify(password.expose(), None).await.unwrap());
        assert_ne!(password.hash(&random).await.unwrap(), kept, "each has a salt of its own");
    }

    #[test]
    fn a_password_is_four_groups_of_five_and_hides_from_debug() {
        let password = Password::generate(&Random::System);
        let groups: Vec<usize> = password.expose().split('-').map(str::len).collect();
        assert_eq!(groups, [5; 4]);
        assert_ne!(password.expose(), Password::generate(&Random::System).expose());
        assert_eq!(format!("{password:?}"), "Password(redacted)");
    }
}
