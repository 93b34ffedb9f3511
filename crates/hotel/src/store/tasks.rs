//! Tables task, task_card and task_move.

use super::{Transaction, Value, record};
use crate::domain::task::TaskStatus;
use crate::error::Error;

record! {
    /// A task. Times are unix milliseconds.
    #[derive(Debug, Clone)]
    pub struct TaskRow {
        /// Internal id.
        task_id: i64,
        /// Its hotel.
        hotel_id: i64,
        /// The order it is about.
        order_id: Option<i64>,
        /// The message it came from.
        inbox_id: i64,
        /// That message's external id.
        external_message_id: String,
        /// The submission it came with.
        batch_id: i64,
        /// The event's index, as JSON text.
        source_event_index: String,
        /// The catalogue's code.
        catalog_code: String,
        /// The catalogue's task_type.
        system_task_type: String,
        /// Whether the order was created for this task.
        creates_order: bool,
        /// A word of [`TaskStatus`].
        status: String,
        /// Counts moves, from 1.
        version: i64,
        /// LOW, NORMAL or HIGH.
        priority: String,
        /// When a person should have dealt with it.
        due_at: Option<i64>,
        /// Whose it is.
        assignee: Option<String>,
        /// The sender's organisation.
        agency: Option<String>,
        /// When it was created.
        created_at: i64,
        /// When it last moved.
        updated_at: i64,
        /// When its message was received.
        received_at: i64,
    }
}

record! {
    /// What a person sees of a task; lists and objects are JSON text.
    #[derive(Debug, Clone)]
    pub struct CardRow {
        /// The task.
        task_id: i64,
        /// The agent's summary.
        summary: Option<String>,
        /// JSON list of {field, from, to}.
        proposed_changes: String,
        /// JSON list of {source_message_id, quote}.
        evidence: String,
        /// JSON list of warnings.
        warnings: String,
        /// JSON object {reason_code, question, candidates}.
        manual_review: Option<String>,
        /// JSON object as the agent sent it.
        details: Option<String>,
    }
}

record! {
    /// One step of a task.
    #[derive(Debug, Clone)]
    pub struct MoveRow {
        /// The task's version after it.
        version: i64,
        /// Where it came from; none at creation.
        from_status: Option<String>,
        /// Where it went.
        to_status: String,
        /// Who.
        actor: String,
        /// Why.
        reason: Option<String>,
        /// Unix milliseconds.
        at: i64,
        /// The order's version after a confirmation or its undoing.
        order_version: Option<i64>,
        /// What it did besides the status, as JSON text.
        detail: Option<String>,
    }
}

record! {
    /// A task's id and status.
    #[derive(Debug, Clone)]
    pub struct TaskState {
        /// Internal id.
        task_id: i64,
        /// A word of [`TaskStatus`].
        status: String,
    }
}

record! {
    struct Count { count: i64 }
}

/// The columns of [`TaskRow`].
macro_rules! select_task {
    ($rest:literal) => {
        concat!(
            "SELECT t.task_id, t.hotel_id, t.order_id, t.inbox_id, m.external_message_id, t.batch_id, t.source_event_index, ",
            "t.catalog_code, t.system_task_type, t.creates_order, t.status, t.version, t.priority, t.due_at, ",
            "t.assignee, t.agency, t.created_at, t.updated_at, m.received_at ",
            "FROM task t JOIN platform_source_message_inbox m ON m.inbox_id = t.inbox_id ",
            $rest
        )
    };
}

pub(super) use select_task;

/// A place in a conversation's tasks, for reading on from there.
#[derive(Debug, Clone, Copy)]
pub struct TaskPlace {
    /// received_at of the last task's message.
    pub received_at: i64,
    /// created_at of the last task.
    pub created_at: i64,
    /// Its id.
    pub task_id: i64,
}

impl TaskPlace {
    /// Before the first task.
    pub const START: Self = Self { received_at: i64::MIN, created_at: i64::MIN, task_id: i64::MIN };
}

/// A move to be stored.
#[derive(Debug)]
pub struct Move<'a> {
    /// The status it leaves.
    pub from: TaskStatus,
    /// The status it gets.
    pub to: TaskStatus,
    /// Who.
    pub actor: &'a str,
    /// Why.
    pub reason: Option<&'a str>,
    /// Unix milliseconds.
    pub at: i64,
    /// The order's version after a confirmation, so that an undo knows whether it changed since.
    pub order_version: Option<i64>,
    /// What it does besides the status, as JSON text.
    pub detail: Option<String>,
}

impl Transaction<'_> {
    /// One task.
    pub async fn task(&mut self, hotel_id: i64, task_id: i64) -> Result<TaskRow, Error> {
        let sql = select_task!("WHERE t.hotel_id = $1 AND t.task_id = $2");
        self.first(sql, &[hotel_id.into(), task_id.into()]).await?.ok_or(Error::TaskNotFound(task_id))
    }

    /// Its card.
    pub async fn card(&mut self, task_id: i64) -> Result<CardRow, Error> {
        let sql = "SELECT task_id, summary, proposed_changes, evidence, warnings, manual_review, details
                   FROM task_card WHERE task_id = $1";
        Ok(self.one(sql, &[task_id.into()]).await?)
    }

    /// Its moves, oldest first.
    pub async fn moves(&mut self, task_id: i64) -> Result<Vec<MoveRow>, Error> {
        let sql =
            "SELECT version, from_status, to_status, actor, reason, at, order_version, detail FROM task_move
                   WHERE task_id = $1 ORDER BY version";
        Ok(self.all(sql, &[task_id.into()]).await?)
    }

    /// The newest tasks of a hotel.
    pub async fn newest_tasks(&mut self, hotel_id: i64, limit: i64) -> Result<Vec<TaskRow>, Error> {
        let sql = select_task!("WHERE t.hotel_id = $1 ORDER BY t.created_at DESC, t.task_id DESC LIMIT $2");
        Ok(self.all(sql, &[hotel_id.into(), limit.into()]).await?)
    }

    /// The tasks of some orders that are not terminal, oldest first.
    pub async fn open_tasks_of_orders(&mut self, order_ids: &[i64]) -> Result<Vec<TaskRow>, Error> {
        let list: Vec<Value> = order_ids.iter().map(|id| (*id).into()).collect();
        let sql = select_task!(
            "WHERE t.status NOT IN ('DONE', 'REJECTED', 'SUPERSEDED', 'CANCELLED', 'CLOSED', 'ACKNOWLEDGED') \
             AND t.order_id IN ({list})"
        );
        let mut rows: Vec<TaskRow> = self.all_in(sql, &[], &list).await?;
        rows.sort_by_key(|row| row.task_id);
        Ok(rows)
    }

    /// A conversation's tasks after a place: by receipt of the message, then creation, then id (contract 5.4).
    pub async fn conversation_tasks(
        &mut self,
        conversation_id: i64,
        after: TaskPlace,
        limit: i64,
    ) -> Result<Vec<TaskRow>, Error> {
        let sql = select_task!(
            "WHERE m.conversation_id = $1 AND (m.received_at > $2 OR (m.received_at = $2 AND (t.created_at > $3 \
             OR (t.created_at = $3 AND t.task_id > $4)))) ORDER BY m.received_at, t.created_at, t.task_id LIMIT $5"
        );
        let values = [
            conversation_id.into(),
            after.received_at.into(),
            after.created_at.into(),
            after.task_id.into(),
            limit.into(),
        ];
        Ok(self.all(sql, &values).await?)
    }

    /// How many tasks a conversation has.
    pub async fn count_conversation_tasks(&mut self, conversation_id: i64) -> Result<i64, Error> {
        let sql = "SELECT COUNT(*) AS count FROM task t
                   JOIN platform_source_message_inbox m ON m.inbox_id = t.inbox_id WHERE m.conversation_id = $1";
        Ok(self.one::<Count>(sql, &[conversation_id.into()]).await?.count)
    }

    /// The tasks that came of some messages, oldest first.
    pub async fn tasks_of_messages(&mut self, inbox_ids: &[i64]) -> Result<Vec<TaskRow>, Error> {
        let list: Vec<Value> = inbox_ids.iter().map(|id| (*id).into()).collect();
        let mut rows: Vec<TaskRow> =
            self.all_in(select_task!("WHERE t.inbox_id IN ({list})"), &[], &list).await?;
        rows.sort_by_key(|row| row.task_id);
        Ok(rows)
    }

    /// Ids and statuses of a batch's tasks.
    pub async fn batch_task_states(&mut self, batch_id: i64) -> Result<Vec<TaskState>, Error> {
        let sql = "SELECT task_id, status FROM task WHERE batch_id = $1 ORDER BY task_id";
        Ok(self.all(sql, &[batch_id.into()]).await?)
    }

    /// A batch's tasks.
    pub async fn batch_tasks(&mut self, hotel_id: i64, batch_id: i64) -> Result<Vec<TaskRow>, Error> {
        let sql = select_task!("WHERE t.hotel_id = $1 AND t.batch_id = $2 ORDER BY t.task_id");
        Ok(self.all(sql, &[hotel_id.into(), batch_id.into()]).await?)
    }

    /// How many of the tasks that created an order, this one aside, stand: neither rejected, closed nor superseded.
    pub async fn count_standing_tasks(&mut self, order_id: i64, but: i64) -> Result<i64, Error> {
        let sql = "SELECT COUNT(*) AS count FROM task
                   WHERE order_id = $1 AND task_id <> $2 AND creates_order AND status NOT IN ('REJECTED', 'CLOSED', 'SUPERSEDED')";
        Ok(self.one::<Count>(sql, &[order_id.into(), but.into()]).await?.count)
    }

    /// Adds tasks, their cards and their first moves. Rows come ready-made from [`super::batches`].
    pub(super) async fn insert_tasks(
        &mut self,
        tasks: Vec<Vec<Value>>,
        cards: Vec<Vec<Value>>,
        moves: Vec<Vec<Value>>,
    ) -> Result<(), Error> {
        self.insert(
            "INSERT INTO task (task_id, hotel_id, order_id, inbox_id, batch_id, source_event_index, catalog_code,
             system_task_type, creates_order, status, version, priority, due_at, assignee, agency, created_at,
             updated_at)",
            tasks,
        )
        .await?;
        self.insert(
            "INSERT INTO task_card (task_id, summary, proposed_changes, evidence, warnings, manual_review, details)",
            cards,
        )
        .await?;
        Ok(self.insert(MOVE, moves).await?)
    }

    /// Moves a task from `version` to the next one; `false` when it is not at `version` any more.
    pub async fn move_task(&mut self, task_id: i64, version: i64, step: &Move<'_>) -> Result<bool, Error> {
        let sql = "UPDATE task SET status = $3, version = $2 + 1, updated_at = $4 WHERE task_id = $1 AND version = $2";
        let values = [task_id.into(), version.into(), step.to.as_str().into(), step.at.into()];
        let moved = self.execute(sql, &values).await? == 1;
        if moved {
            self.insert_move(task_id, version + 1, step).await?;
        }
        Ok(moved)
    }

    /// Gives a task at `version` to a person, or to nobody, as a move that keeps its status; `false` when it is not at
    /// `version` any more.
    pub async fn assign_task(
        &mut self,
        task_id: i64,
        version: i64,
        assignee: Option<&str>,
        step: &Move<'_>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE task SET assignee = $3, version = $2 + 1, updated_at = $4 WHERE task_id = $1 AND version = $2";
        let values = [task_id.into(), version.into(), assignee.into(), step.at.into()];
        let moved = self.execute(sql, &values).await? == 1;
        if moved {
            self.insert_move(task_id, version + 1, step).await?;
        }
        Ok(moved)
    }

    async fn insert_move(&mut self, task_id: i64, version: i64, step: &Move<'_>) -> Result<(), Error> {
        let row = vec![
            task_id.into(),
            version.into(),
            step.from.as_str().into(),
            step.to.as_str().into(),
            step.actor.into(),
            step.reason.into(),
            step.at.into(),
            step.order_version.into(),
            (&step.detail).into(),
        ];
        let head = "INSERT INTO task_move (task_id, version, from_status, to_status, actor, reason, at, order_version, detail)";
        Ok(self.insert(head, vec![row]).await?)
    }
}

const MOVE: &str =
    "INSERT INTO task_move (task_id, version, from_status, to_status, actor, reason, at, order_version)";
