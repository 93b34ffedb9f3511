//! Counts for the charts: calls by hour, open tasks by age, mails by day.

use super::{Transaction, Value, record};
use crate::error::Error;

record! {
    /// Calls of a stretch of hours that took up to so long.
    #[derive(Debug, Clone)]
    pub struct CallCount {
        /// Which stretch, from 0.
        slot: i64,
        /// The tool, route, page or command; `unknown` for what was asked for and does not exist.
        operation: String,
        /// ok, error or refused.
        outcome: String,
        /// Microseconds; `i64::MAX` past the longest bound.
        up_to_us: i64,
        /// How many.
        calls: i64,
    }
}

record! {
    /// Open tasks of a status and a band of age.
    #[derive(Debug, Clone)]
    pub struct AgeCount {
        /// A word of [`TaskStatus`](crate::domain::task::TaskStatus).
        status: String,
        /// Which band, from 0.
        band: i64,
        /// How many.
        count: i64,
    }
}

record! {
    /// Mails of a day.
    #[derive(Debug, Clone)]
    pub struct DayCount {
        /// Which day, from 0.
        day: i64,
        /// How many.
        count: i64,
    }
}

record! {
    struct Operation { operation: String }
}

impl Transaction<'_> {
    /// Counts the rows at these positions, which have just been sealed.
    pub async fn count_sealed_calls(&mut self, from: i64, to: i64) -> Result<(), Error> {
        // Names of unknown tools come from outside and could be any number.
        let sql = "INSERT INTO audit_hour (hour, operation, outcome, up_to_us, calls)
                   SELECT hour, operation, outcome, up_to_us, COUNT(*)
                   FROM (SELECT at / 3600000 AS hour,
                                CASE WHEN effect = '' THEN 'unknown' ELSE operation END AS operation, outcome,
                                (SELECT MIN(b.up_to_us) FROM duration_bound AS b
                                 WHERE b.up_to_us >= audit_event.duration_us) AS up_to_us
                         FROM audit_event WHERE position >= $1 AND position <= $2) AS sealed
                   WHERE TRUE GROUP BY hour, operation, outcome, up_to_us
                   ON CONFLICT (hour, operation, outcome, up_to_us)
                   DO UPDATE SET calls = audit_hour.calls + excluded.calls";
        self.execute(sql, &[from.into(), to.into()]).await?;
        Ok(())
    }

    /// Calls from an hour (unix time in hours) to before another, in slots of `width` hours.
    pub async fn call_counts(&mut self, from: i64, to: i64, width: i64) -> Result<Vec<CallCount>, Error> {
        let sql = "SELECT (hour - $1) / $3 AS slot, operation, outcome, up_to_us, CAST(SUM(calls) AS BIGINT) AS calls
                   FROM audit_hour WHERE hour >= $1 AND hour < $2 GROUP BY 1, 2, 3, 4";
        Ok(self.all(sql, &[from.into(), to.into(), width.into()]).await?)
    }

    /// The names under which calls were counted since an hour, at most `limit`.
    pub async fn counted_operations(&mut self, from: i64, limit: i64) -> Result<Vec<String>, Error> {
        let sql = "SELECT DISTINCT operation FROM audit_hour WHERE hour >= $1 ORDER BY operation LIMIT $2";
        let rows: Vec<Operation> = self.all(sql, &[from.into(), limit.into()]).await?;
        Ok(rows.into_iter().map(|row| row.operation).collect())
    }

    /// Open tasks by status and by which of these moments, the latest first, they were created after.
    pub async fn age_counts(&mut self, hotel_id: i64, after: [i64; 5]) -> Result<Vec<AgeCount>, Error> {
        let sql = "SELECT status, CAST(CASE WHEN created_at > $2 THEN 0 WHEN created_at > $3 THEN 1
                              WHEN created_at > $4 THEN 2 WHEN created_at > $5 THEN 3 WHEN created_at > $6 THEN 4
                              ELSE 5 END AS BIGINT) AS band, COUNT(*) AS count
                   FROM task WHERE hotel_id = $1
                     AND status NOT IN ('DONE', 'REJECTED', 'SUPERSEDED', 'CANCELLED', 'CLOSED', 'ACKNOWLEDGED')
                   GROUP BY 1, 2";
        let values: Vec<Value> = [hotel_id].into_iter().chain(after).map(Value::from).collect();
        Ok(self.all(sql, &values).await?)
    }

    /// Mails that were received from a moment to before another, by days of 24 hours.
    pub async fn mails_by_day(&mut self, hotel_id: i64, from: i64, to: i64) -> Result<Vec<DayCount>, Error> {
        let sql = "SELECT (received_at - $2) / 86400000 AS day, COUNT(*) AS count
                   FROM platform_source_message_inbox
                   WHERE hotel_id = $1 AND received_at >= $2 AND received_at < $3 GROUP BY 1";
        Ok(self.all(sql, &[hotel_id.into(), from.into(), to.into()]).await?)
    }
}
