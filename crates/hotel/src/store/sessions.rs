//! Tables console_session and console_attempt: who is logged in, and how often somebody tried to.

use super::{Transaction, record};
use crate::error::Error;

record! {
    /// A session with the person it belongs to.
    #[derive(Debug, Clone)]
    pub struct SessionRow {
        /// The person's name.
        name: String,
        /// The person's role as it is now.
        role: String,
        /// Set when the person is kept out.
        disabled_at: Option<i64>,
        /// When the person logged in, unix milliseconds.
        created_at: i64,
        /// The last request, unix milliseconds.
        seen_at: i64,
    }
}

record! {
    /// How often a log-in was tried on one account or from one address.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Attempts {
        /// When the counting began, unix milliseconds.
        began_at: i64,
        /// How often since then.
        attempts: i64,
    }
}

impl Transaction<'_> {
    /// The session whose secret has this digest, dead or alive.
    pub async fn session(&mut self, digest: &str) -> Result<Option<SessionRow>, Error> {
        let sql = "SELECT u.name, u.role, u.disabled_at, s.created_at, s.seen_at
                   FROM console_session s JOIN console_user u ON u.user_id = s.user_id WHERE s.digest = $1";
        Ok(self.first(sql, &[digest.into()]).await?)
    }

    /// Begins a session.
    pub async fn insert_session(&mut self, digest: &str, user_id: i64, now: i64) -> Result<(), Error> {
        let sql =
            "INSERT INTO console_session (digest, user_id, created_at, seen_at) VALUES ($1, $2, $3, $3)";
        self.execute(sql, &[digest.into(), user_id.into(), now.into()]).await?;
        Ok(())
    }

    /// Notes that a session was used.
    pub async fn touch_session(&mut self, digest: &str, now: i64) -> Result<(), Error> {
        let sql = "UPDATE console_session SET seen_at = $2 WHERE digest = $1";
        self.execute(sql, &[digest.into(), now.into()]).await?;
        Ok(())
    }

    /// Ends a session.
    pub async fn end_session(&mut self, digest: &str) -> Result<(), Error> {
        self.execute("DELETE FROM console_session WHERE digest = $1", &[digest.into()]).await?;
        Ok(())
    }

    /// Ends all sessions of a person.
    pub async fn end_sessions_of(&mut self, user_id: i64) -> Result<(), Error> {
        self.execute("DELETE FROM console_session WHERE user_id = $1", &[user_id.into()]).await?;
        Ok(())
    }

    /// Forgets sessions that began before `created` or were last used before `seen`.
    pub async fn forget_sessions(&mut self, created: i64, seen: i64) -> Result<(), Error> {
        let sql = "DELETE FROM console_session WHERE created_at <= $1 OR seen_at <= $2";
        self.execute(sql, &[created.into(), seen.into()]).await?;
        Ok(())
    }

    /// Counts one more attempt of a subject and answers how many there are now.
    pub async fn count_attempt(&mut self, subject: &str, now: i64) -> Result<Attempts, Error> {
        let sql = "INSERT INTO console_attempt (subject, began_at, attempts) VALUES ($1, $2, 1)
                   ON CONFLICT (subject) DO UPDATE SET attempts = console_attempt.attempts + 1
                   RETURNING began_at, attempts";
        Ok(self.one(sql, &[subject.into(), now.into()]).await?)
    }

    /// Takes one attempt of a subject back.
    pub async fn uncount_attempt(&mut self, subject: &str) -> Result<(), Error> {
        let sql = "UPDATE console_attempt SET attempts = attempts - 1 WHERE subject = $1 AND attempts > 0";
        self.execute(sql, &[subject.into()]).await?;
        Ok(())
    }

    /// Forgets the attempts of a subject.
    pub async fn forget_attempts_of(&mut self, subject: &str) -> Result<(), Error> {
        self.execute("DELETE FROM console_attempt WHERE subject = $1", &[subject.into()]).await?;
        Ok(())
    }

    /// Forgets all countings that began at `began` or before.
    pub async fn forget_attempts(&mut self, began: i64) -> Result<(), Error> {
        self.execute("DELETE FROM console_attempt WHERE began_at <= $1", &[began.into()]).await?;
        Ok(())
    }
}
