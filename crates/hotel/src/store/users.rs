//! Table console_user: the people of the console.

use super::{Transaction, record};
use crate::domain::role::Role;
use crate::error::Error;

record! {
    /// A person of the console.
    #[derive(Debug, Clone)]
    pub struct UserRow {
        /// Internal id.
        user_id: i64,
        /// Their name, which is unique and appears beside what they decide.
        name: String,
        /// A word of [`Role`].
        role: String,
        /// Argon2id as a PHC string.
        password_hash: String,
        /// Unix milliseconds.
        created_at: i64,
        /// Unix milliseconds; none while the person may log in.
        disabled_at: Option<i64>,
    }
}

impl Transaction<'_> {
    /// Everyone, by name.
    pub async fn users(&mut self) -> Result<Vec<UserRow>, Error> {
        let sql = "SELECT user_id, name, role, password_hash, created_at, disabled_at FROM console_user
                   ORDER BY name";
        Ok(self.all(sql, &[]).await?)
    }

    /// The person of this name.
    pub async fn user(&mut self, name: &str) -> Result<Option<UserRow>, Error> {
        let sql = "SELECT user_id, name, role, password_hash, created_at, disabled_at FROM console_user
                   WHERE name = $1";
        Ok(self.first(sql, &[name.into()]).await?)
    }

    /// Adds a person; USER_NAME_TAKEN when there is one of this name.
    pub async fn insert_user(
        &mut self,
        name: &str,
        role: Role,
        password_hash: &str,
        now: i64,
    ) -> Result<i64, Error> {
        if self.user(name).await?.is_some() {
            return Err(Error::UserNameTaken(name.to_owned()));
        }
        let user_id = self.take_ids(1).await?;
        self.execute(
            "INSERT INTO console_user (user_id, name, role, password_hash, created_at) VALUES ($1, $2, $3, $4, $5)",
            &[user_id.into(), name.into(), role.as_str().into(), password_hash.into(), now.into()],
        )
        .await?;
        Ok(user_id)
    }

    /// Keeps a person out from `now` on.
    pub async fn disable_user(&mut self, user_id: i64, now: i64) -> Result<(), Error> {
        let sql = "UPDATE console_user SET disabled_at = $2 WHERE user_id = $1";
        self.execute(sql, &[user_id.into(), now.into()]).await?;
        Ok(())
    }

    /// Gives a person another password, and lets them in again.
    pub async fn reset_user(&mut self, user_id: i64, password_hash: &str) -> Result<(), Error> {
        let sql = "UPDATE console_user SET password_hash = $2, disabled_at = NULL WHERE user_id = $1";
        self.execute(sql, &[user_id.into(), password_hash.into()]).await?;
        Ok(())
    }
}
