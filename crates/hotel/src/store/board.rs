//! The task board: tasks of one status under some filters, and how many there are of each.

use super::{Transaction, record};
use crate::domain::task::TaskStatus;
use crate::error::Error;

record! {
    /// A task as the board shows it. Times are unix milliseconds.
    #[derive(Debug, Clone)]
    pub struct BoardRow {
        /// Internal id.
        task_id: i64,
        /// A word of [`TaskStatus`].
        status: String,
        /// Counts moves.
        version: i64,
        /// The catalogue's task_type.
        system_task_type: String,
        /// LOW, NORMAL or HIGH.
        priority: String,
        /// When a person should have dealt with it.
        due_at: Option<i64>,
        /// Whose it is.
        assignee: Option<String>,
        /// The sender's organisation.
        agency: Option<String>,
        /// When it last moved.
        updated_at: i64,
        /// The decoded subject of its message.
        subject: String,
        /// The agent's summary.
        summary: Option<String>,
        /// Where it stands in its list.
        rank: i64,
    }
}

record! {
    /// How many tasks have a status.
    #[derive(Debug, Clone)]
    pub struct StatusCount {
        /// A word of [`TaskStatus`].
        status: String,
        /// How many.
        count: i64,
    }
}

record! {
    struct Agency { agency: String }
}

/// Which tasks are looked for; an empty text and a zero leave a condition out.
#[derive(Debug, Clone, Default)]
pub struct BoardFilter {
    /// The catalogue's task_type.
    pub task_type: String,
    /// The sender's organisation.
    pub agency: String,
    /// Whose they are.
    pub assignee: String,
    /// Due before this moment.
    pub due_before: i64,
}

/// A place in a list of the board.
#[derive(Debug, Clone, Copy)]
pub struct BoardPlace {
    /// The last row's rank.
    pub rank: i64,
    /// Its id.
    pub task_id: i64,
}

impl BoardPlace {
    /// Before the first task.
    pub const START: Self = Self { rank: i64::MIN, task_id: i64::MIN };
}

/// The conditions of a [`BoardFilter`] as `$2` to `$5`, after the hotel as `$1`; a macro because a statement is one literal.
macro_rules! filtered {
    ($head:literal, $rest:literal) => {
        concat!(
            $head,
            " WHERE t.hotel_id = $1 AND ($2 = '' OR t.system_task_type = $2) AND ($3 = '' OR t.agency = $3)
               AND ($4 = '' OR t.assignee = $4) AND ($5 = 0 OR t.due_at < $5) ",
            $rest
        )
    };
}

impl Transaction<'_> {
    /// How many tasks there are of each status under a filter.
    pub async fn board_counts(
        &mut self,
        hotel_id: i64,
        filter: &BoardFilter,
    ) -> Result<Vec<StatusCount>, Error> {
        let sql = filtered!("SELECT t.status, COUNT(*) AS count FROM task t", "GROUP BY t.status");
        Ok(self.all(sql, &filter.values(hotel_id)).await?)
    }

    /// Tasks of a status after a place: open ones by when they are due, the others by when they last moved, the newest
    /// first.
    pub async fn board(
        &mut self,
        hotel_id: i64,
        status: TaskStatus,
        filter: &BoardFilter,
        after: BoardPlace,
        limit: i64,
    ) -> Result<Vec<BoardRow>, Error> {
        let open = filtered!(
            "SELECT b.* FROM (SELECT t.task_id, t.status, t.version, t.system_task_type, t.priority, t.due_at, t.assignee, t.agency,
                 t.updated_at, m.subject, c.summary, COALESCE(t.due_at, 9223372036854775807) AS rank
               FROM task t JOIN platform_source_message_inbox m ON m.inbox_id = t.inbox_id
               JOIN task_card c ON c.task_id = t.task_id",
            "AND t.status = $6) AS b
             WHERE b.rank > $7 OR (b.rank = $7 AND b.task_id > $8) ORDER BY b.rank, b.task_id LIMIT $9"
        );
        let over = filtered!(
            "SELECT b.* FROM (SELECT t.task_id, t.status, t.version, t.system_task_type, t.priority, t.due_at, t.assignee, t.agency,
                 t.updated_at, m.subject, c.summary, -t.updated_at AS rank
               FROM task t JOIN platform_source_message_inbox m ON m.inbox_id = t.inbox_id
               JOIN task_card c ON c.task_id = t.task_id",
            "AND t.status = $6) AS b
             WHERE b.rank > $7 OR (b.rank = $7 AND b.task_id > $8) ORDER BY b.rank, b.task_id LIMIT $9"
        );
        let mut values = filter.values(hotel_id);
        values.extend([status.as_str().into(), after.rank.into(), after.task_id.into(), limit.into()]);
        Ok(self.all(if status.is_open() { open } else { over }, &values).await?)
    }

    /// The organisations that open tasks are from, at most `limit`.
    pub async fn agencies_of_open_tasks(&mut self, hotel_id: i64, limit: i64) -> Result<Vec<String>, Error> {
        let sql = "SELECT DISTINCT agency FROM task
                   WHERE hotel_id = $1 AND agency IS NOT NULL
                     AND status NOT IN ('DONE', 'REJECTED', 'SUPERSEDED', 'CANCELLED', 'CLOSED', 'ACKNOWLEDGED')
                   ORDER BY agency LIMIT $2";
        let rows: Vec<Agency> = self.all(sql, &[hotel_id.into(), limit.into()]).await?;
        Ok(rows.into_iter().map(|row| row.agency).collect())
    }
}

impl BoardFilter {
    fn values(&self, hotel_id: i64) -> Vec<super::Value> {
        vec![
            hotel_id.into(),
            (&self.task_type).into(),
            (&self.agency).into(),
            (&self.assignee).into(),
            self.due_before.into(),
        ]
    }
}
