//! Moving a task as a person decided, with what that does to its order, in one transaction.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Act, MoveView, TaskDetail, detail, undo};
use crate::app::confirm::Pending;
use crate::app::submit::cancel_draft;
use crate::app::{Hotel, Request};
use crate::domain::task::TaskStatus;
use crate::error::Error;
use crate::store::tasks::{Move, TaskRow};
use crate::store::{Realm, Transaction, boxed};

/// Most tasks that are acknowledged at once.
const MOST_AT_ONCE: usize = 200;

/// What a person decides about a task.
#[derive(Debug, Clone)]
pub struct Decision {
    /// The task.
    pub task_id: i64,
    /// What they do.
    pub act: Act,
    /// The person.
    pub actor: String,
    /// Whether the person may undo what another confirmed.
    pub is_admin: bool,
    /// The version the person saw; none accepts the current one.
    pub version: Option<i64>,
    /// Why ([`Act::needs_reason`]); a CONFIRM warning needs one too.
    pub reason: Option<String>,
    /// Of a confirmation: the values that the person set in the place of the agent's.
    pub edits: Vec<Edit>,
}

/// A value that a person sets before confirming.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    /// The field, proposed or not.
    pub field: String,
    /// What it shall be; null clears the field.
    pub to: Value,
}

/// What became of several tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bulk {
    /// Those that were moved.
    pub done: Vec<i64>,
    /// Those that somebody had moved before, those that cannot be moved so, and those past the bound.
    pub left: Vec<i64>,
}

/// Moves a task.
pub async fn decide(hotel: &Arc<Hotel>, request: Request, decision: Decision) -> Result<TaskDetail, Error> {
    let shared = Arc::new((Arc::clone(hotel), request, decision));
    hotel
        .db
        .write(move |tx| {
            let shared = Arc::clone(&shared);
            boxed(async move {
                let (hotel, request, decision) = &*shared;
                let hotel_id = tx.resolve_hotel(None).await?;
                // Else the second of two people could find the order changed before they find the task moved.
                tx.serialise_on(Realm::Tasks, hotel_id, &[decision.task_id.to_string()]).await?;
                apply(tx, hotel, request, decision, hotel_id).await?;
                detail(tx, hotel, hotel_id, decision.task_id).await
            })
        })
        .await
}

/// Acknowledges informational tasks at the versions that the person saw, at most 200, in one transaction. What others moved
/// meanwhile is left as it is and named.
pub async fn acknowledge(
    hotel: &Arc<Hotel>,
    request: Request,
    actor: &str,
    mut seen: Vec<(i64, i64)>,
) -> Result<Bulk, Error> {
    let past = seen.split_off(seen.len().min(MOST_AT_ONCE));
    let shared = Arc::new((Arc::clone(hotel), request, actor.to_owned(), seen, past));
    hotel
        .db
        .write(move |tx| {
            let shared = Arc::clone(&shared);
            boxed(async move {
                let (hotel, request, actor, seen, past) = &*shared;
                let hotel_id = tx.resolve_hotel(None).await?;
                let ids: Vec<String> = seen.iter().map(|(task_id, _)| task_id.to_string()).collect();
                tx.serialise_on(Realm::Tasks, hotel_id, &ids).await?;
                let past = past.iter().map(|(task_id, _)| *task_id);
                let mut bulk = Bulk { done: Vec::new(), left: past.collect() };
                for &(task_id, version) in seen {
                    let decision = Decision {
                        task_id,
                        act: Act::Acknowledge,
                        actor: actor.clone(),
                        is_admin: false,
                        version: Some(version),
                        reason: None,
                        edits: Vec::new(),
                    };
                    match apply(tx, hotel, request, &decision, hotel_id).await {
                        Ok(()) => bulk.done.push(task_id),
                        Err(
                            Error::VersionConflict(_) | Error::MoveNotAllowed { .. } | Error::TaskNotFound(_),
                        ) => bulk.left.push(task_id),
                        Err(error) => return Err(error),
                    }
                }
                Ok(bulk)
            })
        })
        .await
}

async fn apply(
    tx: &mut Transaction<'_>,
    hotel: &Hotel,
    request: &Request,
    decision: &Decision,
    hotel_id: i64,
) -> Result<(), Error> {
    let task = tx.task(hotel_id, decision.task_id).await?;
    let (from, to) = (status_of(&task), decision.act.to());
    if decision.version.is_some_and(|seen| seen != task.version) {
        return Err(conflict(tx, &task, decision.version).await?);
    }
    if !decision.act.is_open_from(from) {
        return Err(Error::MoveNotAllowed { status: task.status, wanted: to.as_str().to_owned() });
    }
    if decision.act.needs_reason() && decision.reason.as_deref().is_none_or(|reason| reason.trim().is_empty())
    {
        return Err(Error::ReasonMissing(decision.act.as_str()));
    }
    let now = hotel.clock.now_ms();
    let (order_version, detail) = on_the_order(tx, hotel, &task, decision, now).await?;
    let (actor, reason) = (decision.actor.as_str(), decision.reason.as_deref());
    let step = Move { from, to, actor, reason, at: now, order_version, detail };
    if !tx.move_task(task.task_id, task.version, &step).await? {
        return Err(conflict(tx, &task, Some(task.version)).await?);
    }
    let record = hotel.record(request, decision.act.operation(), format!("task:{}", task.task_id), None);
    tx.append_audit(&hotel.audit_key, &[record]).await
}

/// What the act does to the order: its new version, and what the move keeps besides.
async fn on_the_order(
    tx: &mut Transaction<'_>,
    hotel: &Hotel,
    task: &TaskRow,
    decision: &Decision,
    now: i64,
) -> Result<(Option<i64>, Option<String>), Error> {
    let hotel_id = task.hotel_id;
    match decision.act {
        Act::Confirm => {
            let card = tx.card(task.task_id).await?;
            let pending = Pending::read(tx, hotel, hotel_id, task, &card, &decision.edits).await?;
            let detail = pending.detail();
            Ok((pending.apply(tx, task, decision, now).await?, detail))
        }
        Act::Undo => Ok((undo::apply(tx, task, decision, now).await?, None)),
        // Without its create task a draft must not count as existing, or nothing could create the order again.
        Act::Reject | Act::Close => {
            if let Some(order_id) = task.order_id.filter(|_| task.creates_order) {
                cancel_draft(tx, hotel_id, order_id, task.task_id, &decision.actor, now).await?;
            }
            Ok((None, None))
        }
        _ => Ok((None, None)),
    }
}

/// A word that this program does not know is a status that leads nowhere.
pub(super) fn status_of(task: &TaskRow) -> TaskStatus {
    TaskStatus::parse(&task.status).unwrap_or(TaskStatus::Closed)
}

/// The error of a task that another person moved, with what happened since `seen`.
pub(in crate::app) async fn conflict(
    tx: &mut Transaction<'_>,
    task: &TaskRow,
    seen: Option<i64>,
) -> Result<Error, Error> {
    let moves = tx.moves(task.task_id).await?;
    let since: Vec<MoveView> = moves
        .iter()
        .filter(|step| seen.is_none_or(|seen| step.version > seen))
        .map(MoveView::from_row)
        .collect();
    Ok(Error::VersionConflict(json!({
        "task_id": task.task_id.to_string(),
        "expected_version": seen,
        "current_version": task.version,
        "current_status": task.status,
        "changed_since": since,
    })))
}
