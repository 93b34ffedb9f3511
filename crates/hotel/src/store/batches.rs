//! Tables ai_batch and ai_transition: what an agent submitted, with the tasks that came of it.

use super::{Transaction, Value, record};
use crate::domain::search::Kind;
use crate::domain::task::TaskStatus;
use crate::error::Error;

record! {
    /// A submission.
    #[derive(Debug, Clone)]
    pub struct BatchRow {
        /// Internal id.
        batch_id: i64,
        /// Hex SHA-256 of the canonical mapped payload.
        payload_digest: String,
        /// ACTIVE or SUPERSEDED.
        status: String,
    }
}

record! {
    /// What became of one event.
    #[derive(Debug, Clone)]
    pub struct TransitionRow {
        /// Internal id.
        ai_transition_id: i64,
        /// The event's index, as JSON text.
        source_event_index: String,
        /// ACCEPTED, CONTRACT_ERROR or SUPERSEDED.
        status: String,
        /// Why it was not accepted.
        error_code: Option<String>,
        /// The same for people.
        error_message: Option<String>,
        /// The order it is about.
        order_id: Option<i64>,
        /// The task it became.
        task_id: Option<i64>,
        /// That task's status now.
        task_status: Option<String>,
    }
}

/// A batch to be stored.
#[derive(Debug)]
pub struct NewBatch<'a> {
    /// Its id.
    pub batch_id: i64,
    /// The hotel.
    pub hotel_id: i64,
    /// The message it is about.
    pub inbox_id: i64,
    /// V3, ROUTE or V2.
    pub shape: &'a str,
    /// Hex SHA-256 of the canonical mapped payload.
    pub payload_digest: &'a str,
    /// The canonical mapped payload.
    pub payload: &'a str,
    /// The token's name.
    pub submitted_by: &'a str,
    /// Unix milliseconds.
    pub now: i64,
}

/// A transition to be stored, with its task.
#[derive(Debug)]
pub struct NewTransition {
    /// Its id.
    pub ai_transition_id: i64,
    /// The event's index, as JSON text.
    pub source_event_index: String,
    /// As the agent named it.
    pub event_type: Option<String>,
    /// The catalogue's code, when it has one.
    pub catalog_code: Option<String>,
    /// Code and message when the event breaks the contract.
    pub error: Option<(&'static str, String)>,
    /// The order it is about.
    pub order_id: Option<i64>,
    /// The task it becomes.
    pub task: Option<NewTask>,
}

/// A task to be stored with its card.
#[derive(Debug)]
pub struct NewTask {
    /// Its id.
    pub task_id: i64,
    /// The catalogue's code.
    pub catalog_code: String,
    /// The catalogue's task_type.
    pub system_task_type: String,
    /// Whether the order is created for it.
    pub creates_order: bool,
    /// Its first status.
    pub status: TaskStatus,
    /// LOW, NORMAL or HIGH.
    pub priority: &'static str,
    /// Unix milliseconds.
    pub due_at: Option<i64>,
    /// The sender's organisation.
    pub agency: Option<String>,
    /// The agent's summary.
    pub summary: Option<String>,
    /// JSON text.
    pub proposed_changes: String,
    /// JSON text.
    pub evidence: String,
    /// JSON text.
    pub warnings: String,
    /// JSON text.
    pub manual_review: Option<String>,
    /// JSON text.
    pub details: Option<String>,
}

impl Transaction<'_> {
    /// The batches of a message, oldest first: at most one is active, the others were superseded.
    pub async fn batches_of_message(&mut self, inbox_id: i64) -> Result<Vec<BatchRow>, Error> {
        let sql =
            "SELECT batch_id, payload_digest, status FROM ai_batch WHERE inbox_id = $1 ORDER BY batch_id";
        Ok(self.all(sql, &[inbox_id.into()]).await?)
    }

    /// The transitions of a batch in the order of the events.
    pub async fn transitions(&mut self, batch_id: i64) -> Result<Vec<TransitionRow>, Error> {
        let sql = "SELECT a.ai_transition_id, a.source_event_index, a.status, a.error_code, a.error_message,
                     a.order_id, a.task_id, t.status AS task_status
                   FROM ai_transition a LEFT JOIN task t ON t.task_id = a.task_id
                   WHERE a.batch_id = $1 ORDER BY a.position";
        Ok(self.all(sql, &[batch_id.into()]).await?)
    }

    /// Gives a batch up for a newer one; its transitions are SUPERSEDED, its tasks are moved by the caller.
    pub async fn supersede_batch(&mut self, batch_id: i64) -> Result<(), Error> {
        let id = [batch_id.into()];
        self.execute("UPDATE ai_batch SET status = 'SUPERSEDED' WHERE batch_id = $1", &id).await?;
        self.execute("UPDATE ai_transition SET status = 'SUPERSEDED' WHERE batch_id = $1", &id).await?;
        Ok(())
    }

    /// Stores the batch itself. Two agents at once: the unique index on the active batch lets one pass.
    pub async fn insert_batch(&mut self, batch: &NewBatch<'_>) -> Result<(), Error> {
        self.execute(
            "INSERT INTO ai_batch (batch_id, hotel_id, inbox_id, status, shape, payload_digest, payload, submitted_by,
             created_at) VALUES ($1, $2, $3, 'ACTIVE', $4, $5, $6, $7, $8)",
            &[
                batch.batch_id.into(),
                batch.hotel_id.into(),
                batch.inbox_id.into(),
                batch.shape.into(),
                batch.payload_digest.into(),
                batch.payload.into(),
                batch.submitted_by.into(),
                batch.now.into(),
            ],
        )
        .await?;
        Ok(())
    }

    /// Stores the tasks, cards, first moves and transitions of a batch.
    pub async fn insert_transitions(
        &mut self,
        batch: &NewBatch<'_>,
        transitions: Vec<NewTransition>,
    ) -> Result<(), Error> {
        let (mut tasks, mut cards, mut moves, mut rows) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let task_ids: Vec<i64> =
            transitions.iter().filter_map(|transition| Some(transition.task.as_ref()?.task_id)).collect();
        for (position, transition) in (1_i64..).zip(transitions) {
            let (code, message) =
                transition.error.map_or((None, None), |(code, text)| (Some(code), Some(text)));
            let status = if code.is_some() { "CONTRACT_ERROR" } else { "ACCEPTED" };
            rows.push(vec![
                transition.ai_transition_id.into(),
                batch.batch_id.into(),
                position.into(),
                (&transition.source_event_index).into(),
                status.into(),
                transition.event_type.into(),
                transition.catalog_code.into(),
                code.into(),
                message.into(),
                transition.order_id.into(),
                transition.task.as_ref().map(|task| task.task_id).into(),
            ]);
            if let Some(task) = transition.task {
                moves.push(first_move(&task, batch));
                tasks.push(task_row(&task, batch, transition.order_id, &transition.source_event_index));
                cards.push(card_row(task));
            }
        }
        self.insert_tasks(tasks, cards, moves).await?;
        self.index(Kind::Task, &task_ids).await?;
        let head =
            "INSERT INTO ai_transition (ai_transition_id, batch_id, position, source_event_index, status,
                    event_type, catalog_code, error_code, error_message, order_id, task_id)";
        Ok(self.insert(head, rows).await?)
    }
}

fn task_row(
    task: &NewTask,
    batch: &NewBatch<'_>,
    order_id: Option<i64>,
    source_event_index: &str,
) -> Vec<Value> {
    vec![
        task.task_id.into(),
        batch.hotel_id.into(),
        order_id.into(),
        batch.inbox_id.into(),
        batch.batch_id.into(),
        source_event_index.into(),
        (&task.catalog_code).into(),
        (&task.system_task_type).into(),
        task.creates_order.into(),
        task.status.as_str().into(),
        1.into(),
        task.priority.into(),
        task.due_at.into(),
        None::<String>.into(),
        (&task.agency).into(),
        batch.now.into(),
        batch.now.into(),
    ]
}

fn card_row(task: NewTask) -> Vec<Value> {
    vec![
        task.task_id.into(),
        task.summary.into(),
        task.proposed_changes.into(),
        task.evidence.into(),
        task.warnings.into(),
        task.manual_review.into(),
        task.details.into(),
    ]
}

fn first_move(task: &NewTask, batch: &NewBatch<'_>) -> Vec<Value> {
    vec![
        task.task_id.into(),
        1.into(),
        None::<String>.into(),
        task.status.as_str().into(),
        batch.submitted_by.into(),
        None::<String>.into(),
        batch.now.into(),
        None::<i64>.into(),
    ]
}
