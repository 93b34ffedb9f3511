//! Tasks as people and programs see them, and what a person does with them. Only a person confirms.

mod acts;
mod assign;
mod decide;
mod undo;

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

pub use acts::{ACTS, Act};
pub use assign::{Assignment, assign};
pub(super) use decide::conflict;
pub use decide::{Bulk, Decision, Edit, acknowledge, decide};

use super::Hotel;
use super::confirm::Pending;
use crate::domain::task::TaskStatus;
use crate::error::Error;
use crate::store::tasks::{MoveRow, TaskRow};
use crate::store::{Transaction, boxed};

/// A task as people and programs see it.
#[derive(Debug, Clone, Serialize)]
pub struct TaskView {
    /// The task, as text.
    pub task_id: String,
    /// Its status.
    pub task_status: String,
    /// The catalogue's code.
    pub catalog_code: String,
    /// The catalogue's task_type.
    pub system_task_type: String,
    /// Counts moves; give it to confirm or reject what was seen.
    pub version: i64,
    /// The order, as text.
    pub order_id: Option<String>,
    /// The message it came from.
    pub external_source_message_id: String,
    /// The event it came from.
    pub source_event_index: Value,
    /// LOW, NORMAL or HIGH.
    pub priority: String,
    /// ISO time.
    pub due_at: Option<String>,
    /// Whose it is.
    pub assignee: Option<String>,
    /// The sender's organisation.
    pub agency: Option<String>,
    /// ISO time.
    pub task_created_at: String,
    /// ISO time.
    pub updated_at: String,
}

/// A task with its card and its history.
#[derive(Debug, Clone, Serialize)]
pub struct TaskDetail {
    /// The task.
    #[serde(flatten)]
    pub task: TaskView,
    /// The agent's summary.
    pub summary: Option<String>,
    /// field, from, to.
    pub proposed_changes: Value,
    /// source_message_id, quote.
    pub evidence: Value,
    /// code, severity, field, message: those of the submission and, while a confirmation is pending, those that came up since.
    pub warnings: Value,
    /// reason_code, question, candidates.
    pub manual_review: Value,
    /// As the agent sent it.
    pub details: Value,
    /// Every move, oldest first.
    pub history: Vec<MoveView>,
}

/// One move of a task.
#[derive(Debug, Clone, Serialize)]
pub struct MoveView {
    /// The task's version after it.
    pub version: i64,
    /// Where it came from.
    pub from: Option<String>,
    /// Where it went.
    pub to: String,
    /// Who.
    pub actor: String,
    /// Why.
    pub reason: Option<String>,
    /// What it did besides the status: `edits` (field, proposed, to), or `assignee` (from, to).
    #[serde(skip_serializing_if = "Value::is_null")]
    pub detail: Value,
    /// ISO time.
    pub at: String,
}

/// The newest tasks.
pub async fn list(hotel: &Hotel, limit: i64) -> Result<Vec<TaskView>, Error> {
    let rows = hotel
        .db
        .read(move |tx| {
            boxed(async move {
                let hotel_id = tx.resolve_hotel(None).await?;
                tx.newest_tasks(hotel_id, limit).await
            })
        })
        .await?;
    Ok(rows.iter().map(TaskView::from_row).collect())
}

/// One task with everything about it.
pub async fn show(hotel: &Arc<Hotel>, task_id: i64) -> Result<TaskDetail, Error> {
    hotel
        .db
        .read(move |tx| {
            let hotel = Arc::clone(hotel);
            boxed(async move {
                let hotel_id = tx.resolve_hotel(None).await?;
                detail(tx, &hotel, hotel_id, task_id).await
            })
        })
        .await
}

/// The task with everything about it, in the caller's transaction.
pub(super) async fn detail(
    tx: &mut Transaction<'_>,
    hotel: &Hotel,
    hotel_id: i64,
    task_id: i64,
) -> Result<TaskDetail, Error> {
    let task = tx.task(hotel_id, task_id).await?;
    let card = tx.card(task_id).await?;
    let warnings = if task.status == TaskStatus::PendingConfirmation.as_str() {
        serde_json::to_value(Pending::read(tx, hotel, hotel_id, &task, &card, &[]).await?.warnings)?
    } else {
        parse(Some(&card.warnings))?
    };
    let moves = tx.moves(task_id).await?;
    Ok(TaskDetail {
        task: TaskView::from_row(&task),
        summary: card.summary.clone(),
        proposed_changes: parse(Some(&card.proposed_changes))?,
        evidence: parse(Some(&card.evidence))?,
        warnings,
        manual_review: parse(card.manual_review.as_deref())?,
        details: parse(card.details.as_deref())?,
        history: moves.iter().map(MoveView::from_row).collect(),
    })
}

fn parse(json: Option<&str>) -> Result<Value, Error> {
    Ok(json.map(serde_json::from_str).transpose()?.unwrap_or_default())
}

impl TaskView {
    /// The view of a stored task.
    pub fn from_row(row: &TaskRow) -> Self {
        Self {
            task_id: row.task_id.to_string(),
            task_status: row.status.clone(),
            catalog_code: row.catalog_code.clone(),
            system_task_type: row.system_task_type.clone(),
            version: row.version,
            order_id: row.order_id.map(|id| id.to_string()),
            external_source_message_id: row.external_message_id.clone(),
            source_event_index: serde_json::from_str(&row.source_event_index).unwrap_or_default(),
            priority: row.priority.clone(),
            due_at: row.due_at.map(govern::time::iso),
            assignee: row.assignee.clone(),
            agency: row.agency.clone(),
            task_created_at: govern::time::iso(row.created_at),
            updated_at: govern::time::iso(row.updated_at),
        }
    }
}

impl MoveView {
    /// The view of a stored step.
    pub fn from_row(row: &MoveRow) -> Self {
        Self {
            version: row.version,
            from: row.from_status.clone(),
            to: row.to_status.clone(),
            actor: row.actor.clone(),
            reason: row.reason.clone(),
            // Written by this program; what is no JSON any more is shown as none.
            detail: row
                .detail
                .as_deref()
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default(),
            at: govern::time::iso(row.at),
        }
    }
}
