//! Table api_token: bearer tokens, hashed at rest.
//!
//! A token is live until the moment in `revoked_at`, which may lie ahead: after a rotation the old secret is good for a
//! while. The current token of a name is the one without such a moment.

use super::{Transaction, record};
use crate::error::Error;

record! {
    /// A token; its secret is not kept.
    #[derive(Debug, Clone)]
    pub struct TokenRow {
        /// Its id.
        token_id: i64,
        /// Its name, unique among current tokens.
        name: String,
        /// Scopes, separated by blanks.
        scopes: String,
        /// Unix milliseconds.
        created_at: i64,
        /// Unix milliseconds, past or to come; none while no end is set.
        revoked_at: Option<i64>,
        /// Unix milliseconds; none while it was never used.
        last_used_at: Option<i64>,
    }
}

impl Transaction<'_> {
    /// All tokens, oldest first.
    pub async fn tokens(&mut self) -> Result<Vec<TokenRow>, Error> {
        let sql = "SELECT token_id, name, scopes, created_at, revoked_at, last_used_at FROM api_token
                   ORDER BY created_at, token_id";
        Ok(self.all(sql, &[]).await?)
    }

    /// The token of this id, live or not.
    pub async fn token(&mut self, token_id: i64) -> Result<Option<TokenRow>, Error> {
        let sql = "SELECT token_id, name, scopes, created_at, revoked_at, last_used_at FROM api_token
                   WHERE token_id = $1";
        Ok(self.first(sql, &[token_id.into()]).await?)
    }

    /// The current token of this name.
    pub async fn current_token(&mut self, name: &str) -> Result<Option<TokenRow>, Error> {
        let sql = "SELECT token_id, name, scopes, created_at, revoked_at, last_used_at FROM api_token
                   WHERE name = $1 AND revoked_at IS NULL";
        Ok(self.first(sql, &[name.into()]).await?)
    }

    /// The token with this digest (lower-case hex SHA-256 of the secret) that is live at `now`.
    pub async fn live_token(&mut self, digest: &str, now: i64) -> Result<Option<TokenRow>, Error> {
        let sql = "SELECT token_id, name, scopes, created_at, revoked_at, last_used_at FROM api_token
                   WHERE digest = $1 AND (revoked_at IS NULL OR revoked_at > $2)";
        Ok(self.first(sql, &[digest.into(), now.into()]).await?)
    }

    /// Adds a token and returns its id; TOKEN_NAME_TAKEN when the name has a current one.
    pub async fn insert_token(
        &mut self,
        name: &str,
        digest: &str,
        scopes: &str,
        now: i64,
    ) -> Result<i64, Error> {
        if self.current_token(name).await?.is_some() {
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

    /// Sets the end of a current token; says whether it was one.
    pub async fn end_current_token(&mut self, token_id: i64, until: i64) -> Result<bool, Error> {
        let sql = "UPDATE api_token SET revoked_at = $2 WHERE token_id = $1 AND revoked_at IS NULL";
        Ok(self.execute(sql, &[token_id.into(), until.into()]).await? > 0)
    }

    /// Ends a token that is live at `now`; says whether it was.
    pub async fn end_token(&mut self, token_id: i64, now: i64) -> Result<bool, Error> {
        let sql = "UPDATE api_token SET revoked_at = $2
                   WHERE token_id = $1 AND (revoked_at IS NULL OR revoked_at > $2)";
        Ok(self.execute(sql, &[token_id.into(), now.into()]).await? > 0)
    }

    /// Ends all tokens of a name that are live at `now`; says whether there were any.
    pub async fn end_tokens_named(&mut self, name: &str, now: i64) -> Result<bool, Error> {
        let sql = "UPDATE api_token SET revoked_at = $2
                   WHERE name = $1 AND (revoked_at IS NULL OR revoked_at > $2)";
        Ok(self.execute(sql, &[name.into(), now.into()]).await? > 0)
    }

    /// Notes that a token was used.
    pub async fn note_token_use(&mut self, token_id: i64, now: i64) -> Result<(), Error> {
        let sql = "UPDATE api_token SET last_used_at = $2
                   WHERE token_id = $1 AND (last_used_at IS NULL OR last_used_at < $2)";
        self.execute(sql, &[token_id.into(), now.into()]).await?;
        Ok(())
    }
}
