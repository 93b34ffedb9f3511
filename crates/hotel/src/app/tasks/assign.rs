//! Whose a task is.

use std::sync::Arc;

use serde_json::json;

use super::decide::status_of;
use super::{TaskDetail, conflict, detail};
use crate::app::users::folded;
use crate::app::{Hotel, Request};
use crate::error::Error;
use crate::store::tasks::Move;
use crate::store::{Realm, boxed};

/// Who is to have a task.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// The task, which must be open.
    pub task_id: i64,
    /// The person who says so.
    pub actor: String,
    /// The version the person saw; none accepts the current one.
    pub version: Option<i64>,
    /// A person who may log in; none gives it back to everyone.
    pub assignee: Option<String>,
}

/// Gives an open task to a person, or to everyone. ASSIGNEE_UNKNOWN when nobody who may log in has the name.
pub async fn assign(
    hotel: &Arc<Hotel>,
    request: Request,
    assignment: Assignment,
) -> Result<TaskDetail, Error> {
    let shared = Arc::new((Arc::clone(hotel), request, assignment));
    hotel
        .db
        .write(move |tx| {
            let shared = Arc::clone(&shared);
            boxed(async move {
                let (hotel, request, assignment) = &*shared;
                let hotel_id = tx.resolve_hotel(None).await?;
                tx.serialise_on(Realm::Tasks, hotel_id, &[assignment.task_id.to_string()]).await?;
                let task = tx.task(hotel_id, assignment.task_id).await?;
                if assignment.version.is_some_and(|seen| seen != task.version) {
                    return Err(conflict(tx, &task, assignment.version).await?);
                }
                let status = status_of(&task);
                if !status.is_open() {
                    return Err(Error::MoveNotAllowed { status: task.status, wanted: "ASSIGNED".to_owned() });
                }
                let assignee = match &assignment.assignee {
                    None => None,
                    Some(name) => {
                        let user = tx.user(&folded(name)).await?.filter(|user| user.disabled_at.is_none());
                        Some(user.ok_or_else(|| Error::AssigneeUnknown(name.clone()))?.name)
                    }
                };
                if assignee == task.assignee {
                    return detail(tx, hotel, hotel_id, task.task_id).await;
                }
                let now = hotel.clock.now_ms();
                let detail_text = json!({"assignee": {"from": task.assignee, "to": assignee}}).to_string();
                let step = Move {
                    from: status,
                    to: status,
                    actor: &assignment.actor,
                    reason: None,
                    at: now,
                    order_version: None,
                    detail: Some(detail_text),
                };
                if !tx.assign_task(task.task_id, task.version, assignee.as_deref(), &step).await? {
                    return Err(conflict(tx, &task, Some(task.version)).await?);
                }
                let record =
                    hotel.record(request, "hotel_task_assign", format!("task:{}", task.task_id), None);
                tx.append_audit(&hotel.audit_key, &[record]).await?;
                detail(tx, hotel, hotel_id, task.task_id).await
            })
        })
        .await
}
