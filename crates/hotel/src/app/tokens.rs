//! Bearer tokens: making, listing, rotating, revoking; and finding the caller of a secret.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use govern::clock::Clock;
use govern::credentials::{Caller, Credentials, CredentialsUnavailable, Scope, Secret};
use govern::hex::hex;
use serde::Serialize;
use tokio::sync::Semaphore;

use super::{Hotel, Request, good_name};
use crate::error::Error;
use crate::store::tokens::TokenRow;
use crate::store::{Db, Transaction, boxed};

/// What a token can be allowed to do: query, submit, take e-mail in, and operate (metrics, undo by an admin).
pub const SCOPES: [&str; 4] = ["read", "submit", "ingest", "admin"];
/// How long the old secret of a token goes on beside the new one, unless it is ended at once.
pub const OVERLAP_MS: i64 = 24 * 3_600_000;

/// Longest name, in characters.
const MAX_NAME_CHARS: usize = 64;
/// The use of a token is noted when the last note is this old.
const NOTE_MS: i64 = 60_000;

/// A token as people and programs see it, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenView {
    /// Its id, as text.
    pub token_id: String,
    /// Its name; appears as the caller in the audit trail.
    pub name: String,
    /// Some of [`SCOPES`].
    pub scopes: Vec<String>,
    /// ISO time.
    pub created_at: String,
    /// ISO time, at most a minute behind; null while it was never used.
    pub last_used_at: Option<String>,
    /// ISO time; after a rotation it lies ahead. Null while no end is set.
    pub revoked_at: Option<String>,
    /// Whether its secret is accepted now.
    pub live: bool,
}

/// What becomes of the old secret when a token gets a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldSecret {
    /// It goes on for [`OVERLAP_MS`].
    Overlaps,
    /// It ends at once.
    Ends,
}

/// Makes a token and returns its secret, which is kept nowhere.
pub async fn add(hotel: &Arc<Hotel>, request: Request, name: &str, scopes: &[&str]) -> Result<Secret, Error> {
    let name = good_name(name, MAX_NAME_CHARS)?;
    if scopes.is_empty() {
        return Err(Error::ScopesInvalid);
    }
    let secret = Secret::generate(&hotel.random);
    let shared = Arc::new((Arc::clone(hotel), request, name, hex(&secret.digest()), scopes.join(" ")));
    hotel
        .db
        .write(move |tx| {
            let shared = Arc::clone(&shared);
            boxed(async move {
                let (hotel, request, name, digest, scopes) = &*shared;
                tx.insert_token(name, digest, scopes, hotel.clock.now_ms()).await?;
                let record = hotel.record(request, "token_add", format!("token:{name}"), None);
                tx.append_audit(&hotel.audit_key, &[record]).await
            })
        })
        .await?;
    Ok(secret)
}

/// Gives the current token of this id a new secret and returns it. The name and the scopes stay. A token that was
/// rotated already is current no more, so a form that is sent twice rotates once.
pub async fn rotate(
    hotel: &Arc<Hotel>,
    request: Request,
    token_id: i64,
    old: OldSecret,
) -> Result<(String, Secret), Error> {
    let secret = Secret::generate(&hotel.random);
    let shared = Arc::new((Arc::clone(hotel), request, hex(&secret.digest())));
    let name = hotel
        .db
        .write(move |tx| {
            let shared = Arc::clone(&shared);
            boxed(async move {
                let (hotel, request, digest) = &*shared;
                let now = hotel.clock.now_ms();
                let row = known(tx, token_id).await?;
                let until = if old == OldSecret::Ends { now } else { now + OVERLAP_MS };
                if !tx.end_current_token(token_id, until).await? {
                    return Err(Error::TokenNotFound(row.name));
                }
                tx.insert_token(&row.name, digest, &row.scopes, now).await?;
                let record = hotel.record(request, "token_rotate", format!("token:{}", row.name), None);
                tx.append_audit(&hotel.audit_key, &[record]).await?;
                Ok(row.name)
            })
        })
        .await?;
    Ok((name, secret))
}

/// Revokes the live token of this id: the current one of a name together with those that overlap it, another alone.
/// A server that runs believes it for at most a second more.
pub async fn revoke(hotel: &Arc<Hotel>, request: Request, token_id: i64) -> Result<(), Error> {
    let shared = Arc::new((Arc::clone(hotel), request));
    hotel
        .db
        .write(move |tx| {
            let shared = Arc::clone(&shared);
            boxed(async move {
                let (hotel, request) = &*shared;
                let now = hotel.clock.now_ms();
                let row = known(tx, token_id).await?;
                let ended = match row.revoked_at {
                    None => tx.end_tokens_named(&row.name, now).await?,
                    Some(_) => tx.end_token(token_id, now).await?,
                };
                if !ended {
                    return Err(Error::TokenNotFound(row.name));
                }
                let record = hotel.record(request, "token_revoke", format!("token:{}", row.name), None);
                tx.append_audit(&hotel.audit_key, &[record]).await
            })
        })
        .await
}

/// The id of the live token that an operator means: the current one of this name, else the one of this id.
pub async fn resolve(hotel: &Hotel, name_or_id: &str) -> Result<i64, Error> {
    let (wanted, now) = (name_or_id.to_owned(), hotel.clock.now_ms());
    let found = hotel.db.read(move |tx| {
        boxed(async move {
            if let Some(row) = tx.current_token(&wanted).await? {
                return Ok(Some(row));
            }
            match wanted.parse() {
                Ok(token_id) => tx.token(token_id).await,
                Err(_) => Ok(None),
            }
        })
    });
    let row = found.await?.filter(|row| row.is_live(now));
    row.map(|row| row.token_id).ok_or_else(|| Error::TokenNotFound(name_or_id.to_owned()))
}

/// All tokens, revoked ones too, oldest first.
pub async fn list(hotel: &Hotel) -> Result<Vec<TokenView>, Error> {
    let rows = hotel.db.read(|tx| boxed(tx.tokens())).await?;
    let now = hotel.clock.now_ms();
    Ok(rows.iter().map(|row| TokenView::from_row(row, now)).collect())
}

/// The tokens of a database, as `govern` asks for them. Their use is noted beside the calls, never within one.
#[derive(Debug, Clone)]
pub struct TokenStore {
    db: Db,
    clock: Clock,
    /// One note is written at a time; what finds the place taken is noted when the token is next asked for.
    note: Arc<Semaphore>,
}

impl TokenStore {
    /// The tokens of this database, live or not by this clock.
    pub fn new(db: Db, clock: Clock) -> Self {
        Self { db, clock, note: Arc::new(Semaphore::new(1)) }
    }

    fn note_use(&self, row: &TokenRow, now: i64) {
        let is_fresh = row.last_used_at.is_some_and(|noted| now < noted + NOTE_MS);
        let place = Arc::clone(&self.note).try_acquire_owned();
        let Some(place) = place.ok().filter(|_| !is_fresh) else { return };
        let (db, token_id) = (self.db.clone(), row.token_id);
        tokio::spawn(async move {
            let noted = db.write(move |tx| boxed(tx.note_token_use(token_id, now))).await;
            if let Err(error) = noted {
                tracing::warn!(%error, "the use of a token was not noted");
            }
            drop(place);
        });
    }
}

impl Credentials for TokenStore {
    fn find(&self, digest: [u8; 32]) -> BoxFuture<'_, Result<Option<Caller>, CredentialsUnavailable>> {
        Box::pin(async move {
            let (digest, now) = (hex(&digest), self.clock.now_ms());
            let found = self.db.read(|tx| boxed(async move { tx.live_token(&digest, now).await })).await;
            let row = found.map_err(|error| CredentialsUnavailable(error.to_string()))?;
            Ok(row.map(|row| {
                self.note_use(&row, now);
                let scopes = row.scopes.split_whitespace().map(Scope::new).collect();
                Caller { scopes, name: row.name }
            }))
        })
    }
}

async fn known(tx: &mut Transaction<'_>, token_id: i64) -> Result<TokenRow, Error> {
    tx.token(token_id).await?.ok_or_else(|| Error::TokenNotFound(token_id.to_string()))
}

impl TokenRow {
    fn is_live(&self, now: i64) -> bool {
        self.revoked_at.is_none_or(|end| end > now)
    }
}

impl TokenView {
    fn from_row(row: &TokenRow, now: i64) -> Self {
        Self {
            token_id: row.token_id.to_string(),
            name: row.name.clone(),
            scopes: row.scopes.split_whitespace().map(str::to_owned).collect(),
            created_at: govern::time::iso(row.created_at),
            last_used_at: row.last_used_at.map(govern::time::iso),
            revoked_at: row.revoked_at.map(govern::time::iso),
            live: row.is_live(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testing::{Rig, on_each_database};

    fn store(rig: &Rig) -> TokenStore {
        TokenStore::new(rig.hotel.db.clone(), rig.hotel.clock.clone())
    }

    async fn is_accepted(rig: &Rig, secret: &Secret) -> bool {
        store(rig).find(secret.digest()).await.unwrap().is_some()
    }

    async fn id(rig: &Rig, name: &str) -> i64 {
        resolve(&rig.hotel, name).await.unwrap()
    }

    async fn revoke_named(rig: &Rig, name: &str) -> Result<(), Error> {
        let token_id = resolve(&rig.hotel, name).await?;
        revoke(&rig.hotel, rig.request("local"), token_id).await
    }

    #[tokio::test]
    async fn a_secret_finds_its_caller_until_it_is_revoked() {
        on_each_database(async |rig| {
            let secret = add(&rig.hotel, rig.request("local"), "agent", &["read", "submit"]).await.unwrap();
            let caller = store(&rig).find(secret.digest()).await.unwrap().unwrap();
            assert_eq!(caller.name, "agent");
            assert!(caller.may("read") && caller.may("submit") && !caller.may("ingest"));
            revoke_named(&rig, "agent").await.unwrap();
            assert!(!is_accepted(&rig, &secret).await);
        })
        .await;
    }

    #[tokio::test]
    async fn a_name_is_free_again_once_its_token_is_revoked() {
        on_each_database(async |rig| {
            add(&rig.hotel, rig.request("local"), "agent", &["read"]).await.unwrap();
            let taken = add(&rig.hotel, rig.request("local"), "agent", &["read"]).await.unwrap_err();
            assert_eq!(taken.code(), "TOKEN_NAME_TAKEN");
            revoke_named(&rig, "agent").await.unwrap();
            rig.hotel.clock.advance(Duration::from_millis(1));
            add(&rig.hotel, rig.request("local"), "agent", &["read"]).await.unwrap();
            let live: Vec<bool> = list(&rig.hotel).await.unwrap().iter().map(|token| token.live).collect();
            assert_eq!(live, [false, true]);
        })
        .await;
    }

    #[tokio::test]
    async fn revoking_an_unknown_or_a_revoked_token_is_an_error() {
        on_each_database(async |rig| {
            assert_eq!(revoke_named(&rig, "nobody").await.unwrap_err().code(), "TOKEN_NOT_FOUND");
            add(&rig.hotel, rig.request("local"), "agent", &["read"]).await.unwrap();
            let token_id = id(&rig, "agent").await;
            revoke(&rig.hotel, rig.request("local"), token_id).await.unwrap();
            let again = revoke(&rig.hotel, rig.request("local"), token_id).await.unwrap_err();
            assert_eq!(again.code(), "TOKEN_NOT_FOUND");
        })
        .await;
    }

    #[tokio::test]
    async fn a_token_named_like_the_id_of_another_is_revoked_alone() {
        on_each_database(async |rig| {
            let first = add(&rig.hotel, rig.request("local"), "agent", &["read"]).await.unwrap();
            let number = id(&rig, "agent").await.to_string();
            let second = add(&rig.hotel, rig.request("local"), &number, &["read"]).await.unwrap();
            revoke_named(&rig, &number).await.unwrap();
            assert!(is_accepted(&rig, &first).await && !is_accepted(&rig, &second).await);
            revoke_named(&rig, &number).await.unwrap();
            assert!(!is_accepted(&rig, &first).await, "no live token is named so, so the id counts");
        })
        .await;
    }

    #[tokio::test]
    async fn a_rotated_token_is_accepted_with_both_secrets_until_the_overlap_is_over() {
        on_each_database(async |rig| {
            let old = add(&rig.hotel, rig.request("local"), "agent", &["read", "submit"]).await.unwrap();
            let token_id = id(&rig, "agent").await;
            let (name, new) =
                rotate(&rig.hotel, rig.request("local"), token_id, OldSecret::Overlaps).await.unwrap();
            assert_eq!(name, "agent");
            rig.hotel.clock.advance(Duration::from_millis(u64::try_from(OVERLAP_MS).unwrap() - 1));
            for secret in [&old, &new] {
                let caller = store(&rig).find(secret.digest()).await.unwrap().unwrap();
                assert!(caller.name == "agent" && caller.may("submit"), "{caller:?}");
            }
            rig.hotel.clock.advance(Duration::from_millis(1));
            assert!(!is_accepted(&rig, &old).await && is_accepted(&rig, &new).await);
        })
        .await;
    }

    #[tokio::test]
    async fn a_rotation_can_end_the_old_secret_at_once_and_happens_once() {
        on_each_database(async |rig| {
            let old = add(&rig.hotel, rig.request("local"), "agent", &["read"]).await.unwrap();
            let token_id = id(&rig, "agent").await;
            let rotations =
                (0..4).map(|_| rotate(&rig.hotel, rig.request("local"), token_id, OldSecret::Ends));
            let ended = futures_util::future::join_all(rotations).await;
            let codes: Vec<_> = ended.iter().filter_map(|end| end.as_ref().err()).map(Error::code).collect();
            assert_eq!(codes, ["TOKEN_NOT_FOUND"; 3], "{}", rig.database);
            assert!(!is_accepted(&rig, &old).await);
            assert_eq!(list(&rig.hotel).await.unwrap().iter().filter(|token| token.live).count(), 1);
        })
        .await;
    }

    #[tokio::test]
    async fn revoking_the_current_token_ends_the_old_secret_too_and_revoking_the_old_one_only_that() {
        on_each_database(async |rig| {
            let first = add(&rig.hotel, rig.request("local"), "agent", &["read"]).await.unwrap();
            let first_id = id(&rig, "agent").await;
            let rotated = rotate(&rig.hotel, rig.request("local"), first_id, OldSecret::Overlaps).await;
            let (_, second) = rotated.unwrap();
            revoke(&rig.hotel, rig.request("local"), first_id).await.unwrap();
            assert!(!is_accepted(&rig, &first).await && is_accepted(&rig, &second).await);
            let second_id = id(&rig, "agent").await;
            let rotated = rotate(&rig.hotel, rig.request("local"), second_id, OldSecret::Overlaps).await;
            let (_, third) = rotated.unwrap();
            revoke_named(&rig, "agent").await.unwrap();
            assert!(!is_accepted(&rig, &second).await && !is_accepted(&rig, &third).await);
        })
        .await;
    }

    #[tokio::test]
    async fn a_token_needs_a_scope_and_a_name_that_hides_nothing() {
        on_each_database(async |rig| {
            for (name, scopes) in
                [("agent", &[][..]), (" ", &["read"]), ("a\u{202E}b", &["read"]), ("a\nb", &["read"])]
            {
                let refused = add(&rig.hotel, rig.request("local"), name, scopes).await.unwrap_err();
                assert_eq!(refused.code(), "INVALID_ARGUMENT", "{name:?}");
            }
            assert_eq!(list(&rig.hotel).await.unwrap(), []);
        })
        .await;
    }

    /// When the only token was last used, once that is noted.
    async fn noted(rig: &Rig, before: Option<String>) -> Option<String> {
        let changed = async {
            loop {
                let last = list(&rig.hotel).await.unwrap()[0].last_used_at.clone();
                if last != before {
                    return last;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), changed).await.unwrap()
    }

    #[tokio::test]
    async fn the_use_of_a_token_is_noted_once_a_minute() {
        on_each_database(async |rig| {
            let secret = add(&rig.hotel, rig.request("local"), "agent", &["read"]).await.unwrap();
            let (store, began) = (store(&rig), rig.hotel.clock.now_ms());
            store.find(secret.digest()).await.unwrap();
            let first = noted(&rig, None).await;
            assert_eq!(first, Some(govern::time::iso(began)));
            for _ in 0..2 {
                rig.hotel.clock.advance(Duration::from_millis(u64::try_from(NOTE_MS).unwrap() / 2));
                // The place is free again when the last note is done.
                drop(store.note.acquire().await.unwrap());
                store.find(secret.digest()).await.unwrap();
            }
            assert_eq!(noted(&rig, first).await, Some(govern::time::iso(began + NOTE_MS)));
        })
        .await;
    }

    #[tokio::test]
    async fn a_note_that_cannot_be_written_takes_nothing_from_the_caller() {
        on_each_database(async |rig| {
            let secret = add(&rig.hotel, rig.request("local"), "agent", &["read"]).await.unwrap();
            let store = store(&rig);
            let place = Arc::clone(&store.note).acquire_owned().await.unwrap();
            assert!(store.find(secret.digest()).await.unwrap().is_some());
            drop(place);
            assert_eq!(list(&rig.hotel).await.unwrap()[0].last_used_at, None);
        })
        .await;
    }
}
