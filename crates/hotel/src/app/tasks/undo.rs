//! Taking a confirmation back, and with it what it changed on the order.

use serde_json::{Value, json};

use super::Decision;
use crate::app::confirm::{column, value_of};
use crate::domain::task::TaskStatus;
use crate::error::Error;
use crate::store::Transaction;
use crate::store::orders::OrderChange;
use crate::store::tasks::TaskRow;

/// Gives the order every value back that the confirmation replaced; returns its new version, none for a task without an
/// order.
///
/// Only the person who confirmed or an admin may, and only while the order is as the confirmation left it.
pub(super) async fn apply(
    tx: &mut Transaction<'_>,
    task: &TaskRow,
    decision: &Decision,
    now: i64,
) -> Result<Option<i64>, Error> {
    let moves = tx.moves(task.task_id).await?;
    // A confirmed task was moved there; giving it to somebody else since keeps the status.
    let confirmed = moves.iter().rev().find(|step| {
        step.to_status == TaskStatus::Confirmed.as_str()
            && step.from_status.as_deref() != Some(&step.to_status)
    });
    let confirmed = confirmed.ok_or(Error::OrderChangedSince)?;
    if confirmed.actor != decision.actor && !decision.is_admin {
        return Err(Error::UndoByOther(confirmed.actor.clone()));
    }
    let (Some(order_id), Some(version)) = (task.order_id, confirmed.order_version) else { return Ok(None) };
    let order = tx.order(task.hotel_id, order_id).await?.filter(|order| order.version == version);
    let changes = tx.order_changes_at(order_id, version).await?;
    let (Some(mut order), Some(changes)) = (order, changes) else { return Err(Error::OrderChangedSince) };
    let changes: Vec<Value> = serde_json::from_str(&changes)?;
    let mut undone = Vec::new();
    for change in changes.iter().rev() {
        let (field, before) = (change["field"].as_str().unwrap_or_default(), &change["from"]);
        let now = value_of(&order, field);
        restore(&mut order, field, before);
        undone.push(json!({"field": field, "from": now, "to": before}));
    }
    let own = Value::from(task.task_id.to_string());
    if order.fields.get("cancellation").is_some_and(|record| record["task_id"] == own) {
        order.fields.remove("cancellation");
    }
    order.version += 1;
    let changes = Value::Array(undone);
    let change = OrderChange { task_id: Some(task.task_id), actor: &decision.actor, at: now, changes };
    if tx.update_order(&order, &change).await? {
        Ok(Some(order.version))
    } else {
        Err(Error::OrderChangedSince)
    }
}

/// Sets a field to what it was; a null was no value.
fn restore(order: &mut crate::domain::order::Order, field: &str, before: &Value) {
    if field == "status" {
        before.as_str().unwrap_or_default().clone_into(&mut order.status);
    } else if let Some(column) = column(order, field) {
        *column = before.as_str().map(str::to_owned);
    } else if before.is_null() {
        order.fields.remove(field);
    } else {
        order.fields.insert(field.to_owned(), before.clone());
    }
}
