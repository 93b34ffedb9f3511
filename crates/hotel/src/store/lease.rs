//! Table lease: which process does what only one may do at a time.

use super::{Transaction, record};
use crate::error::Error;

record! {
    /// A lease, living or expired.
    #[derive(Debug, Clone)]
    pub struct Lease {
        /// The process that took it last.
        holder: String,
        /// When it expires, unix milliseconds.
        until: i64,
    }
}

impl Transaction<'_> {
    /// The lease of this name, if it was ever taken.
    pub async fn lease(&mut self, name: &str) -> Result<Option<Lease>, Error> {
        Ok(self.first("SELECT holder, until FROM lease WHERE name = $1", &[name.into()]).await?)
    }

    /// Takes or renews a lease unless another holder's still lives at `now`; says whether it did.
    ///
    /// The row stays locked until the transaction ends, so that of two takers the second waits for the
    /// first and then sees its lease, whatever their clocks say.
    pub async fn take_lease(
        &mut self,
        name: &str,
        holder: &str,
        now: i64,
        until: i64,
    ) -> Result<bool, Error> {
        let sql = "INSERT INTO lease (name, holder, until) VALUES ($1, $2, $3)
                   ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
                   WHERE lease.holder = excluded.holder OR lease.until <= $4";
        Ok(self.execute(sql, &[name.into(), holder.into(), until.into(), now.into()]).await? > 0)
    }

    /// Gives a lease back, so that the next taker need not wait for its end.
    pub async fn release_lease(&mut self, name: &str, holder: &str) -> Result<(), Error> {
        let sql = "DELETE FROM lease WHERE name = $1 AND holder = $2";
        self.execute(sql, &[name.into(), holder.into()]).await?;
        Ok(())
    }
}
