//! Table api_token: bearer tokens, hashed at rest.

use super::{Transaction, record};
use crate::error::Error;

record! {
    /// A token; its secret is not kept.
    #[derive(Debug, Clone)]
    pub struct TokenRow {
        /// Its id.
        token_id: i64,
        /// Its name, unique among live tokens.
        name: String,
        /// Scopes, separated by blanks.
        scopes: String,
        /// Unix milliseconds.
        created_at: i64,
        /// Unix milliseconds; none while it is live.
        revoked_at: Option<i64>,
    }
}

impl Transaction<'_> {
    /// All tokens, oldest first.
    pub async fn tokens(&mut self) -> Result<Vec<TokenRow>, Error> {
        let sql = "SELECT token_id, name, scopes, created_at, revoked_at FROM api_token ORDER BY token_id";
        Ok(self.all(sql, &[]).await?)
    }

    /// The live token with this digest (lower-case hex SHA-256 of the secret).
    pub async fn live_token(&mut self, digest: &str) -> Result<Option<TokenRow>, Error> {
        let sql = "SELECT token_id, name, scopes, created_at, revoked_at FROM api_token
                   WHERE digest = $1 AND revoked_at IS NULL";
        Ok(self.first(sql, &[digest.into()]).await?)
    }

    /// Adds a token.
    pub async fn insert_token(
        &mut self,
        name: &str,
        digest: &str,
        scopes: &str,
        now: i64,
    ) -> Result<i64, Error> {
        if self.tokens().await?.iter().any(|token| token.name == name && token.revoked_at.is_none()) {
            return Err(Error::TokenNameTaken(name.to_owned()));
        }
        let token_id = self.take_ids(1).await?;
        self.execute(
            "INSERT INTO api_token (token_id, name, digest, scopes, created_at) VALUES ($1, $2, $3, $4, $5)",
            &[token_id.into(), name.into(), digest.into(), scopes.into(), now.into()],
        )
        .await?;
        Ok(token_id)
    }

    /// Revokes a live token by its name or id.
    pub async fn revoke_token(&mut self, name_or_id: &str, now: i64) -> Result<(), Error> {
        let sql = "UPDATE api_token SET revoked_at = $2
                   WHERE revoked_at IS NULL AND (name = $1 OR CAST(token_id AS TEXT) = $1)";
        match self.execute(sql, &[name_or_id.into(), now.into()]).await? {
            0 => Err(Error::TokenNotFound(name_or_id.to_owned())),
            _ => Ok(()),
        }
    }
}
