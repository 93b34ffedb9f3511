//! Bearer tokens: making, listing, revoking; and finding the caller of a secret.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use govern::credentials::{Caller, Credentials, CredentialsUnavailable, Scope, Secret};
use govern::hex::hex;
use serde::Serialize;

use super::{Hotel, Request, not_blank};
use crate::error::Error;
use crate::store::tokens::TokenRow;
use crate::store::{Db, boxed};

/// What a token can be allowed to do: query, submit, take e-mail in, and operate (metrics, undo by an admin).
pub const SCOPES: [&str; 4] = ["read", "submit", "ingest", "admin"];

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
    /// ISO time; null while it is live.
    pub revoked_at: Option<String>,
}

/// Makes a token and returns its secret, which is kept nowhere.
pub async fn add(hotel: &Arc<Hotel>, request: Request, name: &str, scopes: &[&str]) -> Result<Secret, Error> {
    let secret = Secret::generate(&hotel.random);
    let shared = Arc::new((
        Arc::clone(hotel),
        request,
        not_blank(name, "name")?,
        hex(&secret.digest()),
        scopes.join(" "),
    ));
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

/// Revokes the live token of this name or id. A server that runs believes it for at most a second more.
pub async fn revoke(hotel: &Arc<Hotel>, request: Request, name_or_id: &str) -> Result<(), Error> {
    let shared = Arc::new((Arc::clone(hotel), request, name_or_id.to_owned()));
    hotel
        .db
        .write(move |tx| {
            let shared = Arc::clone(&shared);
            boxed(async move {
                let (hotel, request, name_or_id) = &*shared;
                tx.revoke_token(name_or_id, hotel.clock.now_ms()).await?;
                let record = hotel.record(request, "token_revoke", format!("token:{name_or_id}"), None);
                tx.append_audit(&hotel.audit_key, &[record]).await
            })
        })
        .await
}

/// All tokens, revoked ones too, oldest first.
pub async fn list(hotel: &Hotel) -> Result<Vec<TokenView>, Error> {
    let rows = hotel.db.read(|tx| boxed(tx.tokens())).await?;
    Ok(rows.iter().map(TokenView::from_row).collect())
}

/// The tokens of a database, as `govern` asks for them.
#[derive(Debug, Clone)]
pub struct TokenStore(Db);

impl TokenStore {
    /// The tokens of this database.
    pub fn new(db: Db) -> Self {
        Self(db)
    }
}

impl Credentials for TokenStore {
    fn find(&self, digest: [u8; 32]) -> BoxFuture<'_, Result<Option<Caller>, CredentialsUnavailable>> {
        Box::pin(async move {
            let digest = hex(&digest);
            let found = self.0.read(|tx| boxed(async move { tx.live_token(&digest).await })).await;
            let row = found.map_err(|error| CredentialsUnavailable(error.to_string()))?;
            Ok(row.map(|row| Caller {
                scopes: row.scopes.split_whitespace().map(Scope::new).collect(),
                name: row.name,
            }))
        })
    }
}

impl TokenView {
    fn from_row(row: &TokenRow) -> Self {
        Self {
            token_id: row.token_id.to_string(),
            name: row.name.clone(),
            scopes: row.scopes.split_whitespace().map(str::to_owned).collect(),
            created_at: govern::time::iso(row.created_at),
            revoked_at: row.revoked_at.map(govern::time::iso),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_each_database;

    #[tokio::test]
    async fn a_secret_finds_its_caller_until_it_is_revoked() {
        on_each_database(async |rig| {
            let secret = add(&rig.hotel, rig.request("local"), "agent", &["read", "submit"]).await.unwrap();
            let store = TokenStore::new(rig.hotel.db.clone());
            let caller = store.find(secret.digest()).await.unwrap().unwrap();
            assert_eq!(caller.name, "agent");
            assert!(caller.may("read") && caller.may("submit") && !caller.may("ingest"));
            revoke(&rig.hotel, rig.request("local"), "agent").await.unwrap();
            assert_eq!(store.find(secret.digest()).await.unwrap(), None);
        })
        .await;
    }

    #[tokio::test]
    async fn a_name_is_free_again_once_its_token_is_revoked() {
        on_each_database(async |rig| {
            add(&rig.hotel, rig.request("local"), "agent", &["read"]).await.unwrap();
            let taken = add(&rig.hotel, rig.request("local"), "agent", &["read"]).await.unwrap_err();
            assert_eq!(taken.code(), "TOKEN_NAME_TAKEN");
            revoke(&rig.hotel, rig.request("local"), "agent").await.unwrap();
            add(&rig.hotel, rig.request("local"), "agent", &["read"]).await.unwrap();
            let live: Vec<bool> =
                list(&rig.hotel).await.unwrap().iter().map(|token| token.revoked_at.is_none()).collect();
            assert_eq!(live, [false, true]);
        })
        .await;
    }

    #[tokio::test]
    async fn revoking_an_unknown_token_is_an_error() {
        on_each_database(async |rig| {
            let error = revoke(&rig.hotel, rig.request("local"), "nobody").await.unwrap_err();
            assert_eq!(error.code(), "TOKEN_NOT_FOUND");
        })
        .await;
    }
}
