//! Taking an agent's submission: one per message, in one transaction, the same answer for ever after
//! (contract section 7; design: submit).
//!
//! `adapter` maps the payload, `contract` finds the events that break the business contract, `decide`
//! turns the others into orders, tasks and cards, and this file keeps it all at most once.

pub mod adapter;
mod contract;
mod decide;
mod normal;
pub mod payload;
pub mod shape;
pub(super) mod warnings;

use std::sync::Arc;

use govern::hex::hex;
use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use sha2::{Digest as _, Sha256};

pub use warnings::of_status as status_warning;

use super::target::Orders;
use super::tasks::conflict;
use super::{ChangedPayload, Hotel, Request};
use crate::domain::keys::CaseKeys;
use crate::domain::order::CANCELLED;
use crate::domain::task::TaskStatus;
use crate::error::{Error, SourceMessageChoice};
use crate::store::batches::{BatchRow, NewBatch, TransitionRow};
use crate::store::inbox::InboxIdentity;
use crate::store::orders::OrderChange;
use crate::store::tasks::Move;
use crate::store::{Realm, Transaction, boxed};
use decide::Context;
use payload::{Event, Mapping, Shape, Submission};

/// The operation's name in the audit trail.
pub const OPERATION: &str = "th_hotel_submit_task_results";

/// What a submission is answered with (contract section 7.5).
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// The batch, as text.
    pub batch_id: String,
    /// Whether the same submission was taken before and nothing was written now.
    pub idempotent_replay: bool,
    /// How many events were accepted.
    pub accepted_count: usize,
    /// One for each event, in order.
    pub items: Vec<Item>,
    /// How V3 indices were mapped; over MCP only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mapping_diagnostics: Option<Vec<Mapping>>,
}

/// What became of one event.
#[derive(Debug, Clone, Serialize)]
pub struct Item {
    /// Its index: 1..n, or as V2 gave it.
    pub source_event_index: Box<RawValue>,
    /// The transition, as text.
    pub ai_transition_id: String,
    /// ACCEPTED, CONTRACT_ERROR or SUPERSEDED.
    pub transition_status: String,
    /// The order, as text.
    pub order_id: Option<String>,
    /// The task, as text.
    pub task_id: Option<String>,
    /// The task's status now.
    pub task_status: Option<String>,
    /// Why it was not accepted.
    pub error: Option<ItemError>,
}

/// Why an event was not accepted.
#[derive(Debug, Clone, Serialize)]
pub struct ItemError {
    /// Stable code.
    pub code: String,
    /// For people.
    pub message: String,
}

/// The answer with what the audit record says about it.
#[derive(Debug, Clone)]
pub struct Submitted {
    /// For the caller.
    pub answer: Answer,
    /// Hex SHA-256 of the canonical mapped payload.
    pub digest: String,
}

/// Takes a submission: a new batch, or the first answer again.
pub async fn submit(
    hotel: &Arc<Hotel>,
    request: Request,
    submission: Submission,
) -> Result<Submitted, Error> {
    let canonical = serde_json_canonicalizer::to_string(&submission.payload)?;
    let digest = hex(&Sha256::digest(canonical.as_bytes()));
    let events = submission.events()?;
    let mapping = (submission.shape == Shape::V3).then(|| submission.mapping.clone());
    let job = Arc::new(Job { hotel: Arc::clone(hotel), request, submission, events, canonical, digest });
    let digest = job.digest.clone();
    let mut answer = hotel
        .db
        .write(move |tx| {
            let job = Arc::clone(&job);
            boxed(async move { job.run(tx).await })
        })
        .await?;
    answer.mapping_diagnostics = mapping;
    Ok(Submitted { answer, digest })
}

struct Job {
    hotel: Arc<Hotel>,
    request: Request,
    submission: Submission,
    events: Vec<Event>,
    canonical: String,
    digest: String,
}

impl Job {
    async fn run(&self, tx: &mut Transaction<'_>) -> Result<Answer, Error> {
        let hotel_id = tx.resolve_hotel(self.submission.hotel_id.as_deref()).await?;
        let external_id =
            self.submission.source_message_id.as_deref().ok_or(Error::MissingSourceMessageId)?;
        let identity = only_message(tx.find_messages(hotel_id, external_id, None, None).await?)?;
        tx.serialise_on(Realm::Orders, hotel_id, &self.decides_on(identity.inbox_id)).await?;
        let batches = tx.batches_of_message(identity.inbox_id).await?;
        // A payload is one batch for ever, be it superseded since.
        let earlier = batches.iter().find(|batch| batch.payload_digest == self.digest);
        let replay = earlier.is_some();
        let batch_id = if let Some(earlier) = earlier {
            earlier.batch_id
        } else {
            if let Some(active) = batches.iter().find(|batch| batch.status == "ACTIVE") {
                self.supersede(tx, hotel_id, active).await?;
            }
            self.insert(tx, hotel_id, &identity).await?
        };
        let target = format!("batch:{batch_id}");
        let record = self.hotel.record(&self.request, OPERATION, target, Some(self.digest.clone()));
        tx.append_audit(&self.hotel.audit_key, &[record]).await?;
        answer(batch_id, replay, tx.transitions(batch_id).await?)
    }

    /// The message and all case keys: what no other submission may decide on at the same time.
    fn decides_on(&self, inbox_id: i64) -> Vec<String> {
        let keys: Vec<CaseKeys> = self.events.iter().map(Event::keys).collect();
        let named = keys.iter().flat_map(CaseKeys::present).map(|(name, value)| format!("{name}:{value}"));
        named.chain([format!("message:{inbox_id}")]).collect()
    }

    /// Stores the batch with everything that follows from it, and returns its id.
    async fn insert(
        &self,
        tx: &mut Transaction<'_>,
        hotel_id: i64,
        message: &InboxIdentity,
    ) -> Result<i64, Error> {
        let first_id = tx.take_ids(1 + 3 * self.events.len()).await?;
        let mut orders = self.orders(tx, hotel_id).await?;
        let context = self.context(message, first_id + 1);
        let decisions = decide::decide(&context, &self.events, &mut orders)?;
        let batch = NewBatch {
            batch_id: first_id,
            hotel_id,
            inbox_id: message.inbox_id,
            shape: self.submission.shape.as_str(),
            payload_digest: &self.digest,
            payload: &self.canonical,
            submitted_by: &self.request.caller,
            now: context.now,
        };
        tx.insert_batch(&batch).await?;
        let change = OrderChange {
            task_id: None,
            actor: &self.request.caller,
            at: context.now,
            changes: json!(["created"]),
        };
        tx.insert_orders(hotel_id, &decisions.orders, &change).await?;
        tx.insert_transitions(&batch, decisions.transitions).await?;
        Ok(first_id)
    }

    /// Every order that the events' keys could mean, with the open tasks on them.
    async fn orders(&self, tx: &mut Transaction<'_>, hotel_id: i64) -> Result<Orders, Error> {
        let keys: Vec<CaseKeys> =
            self.events.iter().map(Event::keys).filter(|keys| !keys.is_empty()).collect();
        let orders = tx.orders_by_keys(hotel_id, &keys).await?;
        let ids: Vec<i64> = orders.iter().map(|order| order.order_id).collect();
        let open = tx.open_tasks_of_orders(&ids).await?;
        Ok(Orders::new(orders, &open))
    }

    fn context<'a>(&'a self, message: &InboxIdentity, first_id: i64) -> Context<'a> {
        Context {
            catalog: &self.hotel.catalog,
            shape: self.submission.shape,
            inbox_id: message.inbox_id,
            received_at: message.received_at,
            agency: message.agency.clone(),
            hidden_content: message.warnings.contains("HIDDEN_CONTENT_REMOVED"),
            now: self.hotel.clock.now_ms(),
            first_id,
        }
    }

    /// Lets a new batch take an old one's place, where configuration allows it and no person touched a task.
    async fn supersede(&self, tx: &mut Transaction<'_>, hotel_id: i64, old: &BatchRow) -> Result<(), Error> {
        // A person may be deciding about one of them right now.
        let ids: Vec<String> =
            tx.batch_task_states(old.batch_id).await?.iter().map(|task| task.task_id.to_string()).collect();
        tx.serialise_on(Realm::Tasks, hotel_id, &ids).await?;
        let tasks = tx.batch_tasks(hotel_id, old.batch_id).await?;
        let untouched = |status: &str| TaskStatus::parse(status).is_some_and(TaskStatus::is_untouched);
        let allowed = self.hotel.on_changed_payload == ChangedPayload::SupersedeUntouched
            && tasks.iter().all(|task| untouched(&task.status) && task.version == 1);
        if !allowed {
            let states = tx.batch_task_states(old.batch_id).await?;
            return Err(Error::SubmitPayloadConflict(self.conflict(old, &states)));
        }
        let now = self.hotel.clock.now_ms();
        tx.supersede_batch(old.batch_id).await?;
        for task in tasks {
            let from = TaskStatus::parse(&task.status).unwrap_or(TaskStatus::PendingConfirmation);
            let step = Move {
                from,
                to: TaskStatus::Superseded,
                actor: &self.request.caller,
                reason: Some("superseded by a newer submission"),
                at: now,
                order_version: None,
                detail: None,
            };
            if !tx.move_task(task.task_id, task.version, &step).await? {
                return Err(conflict(tx, &task, Some(task.version)).await?);
            }
            if let Some(order_id) = task.order_id.filter(|_| task.creates_order) {
                cancel_draft(tx, hotel_id, order_id, task.task_id, &self.request.caller, now).await?;
            }
        }
        Ok(())
    }

    fn conflict(&self, old: &BatchRow, tasks: &[crate::store::tasks::TaskState]) -> Value {
        let tasks: Vec<Value> = tasks
            .iter()
            .map(|task| json!({"task_id": task.task_id.to_string(), "task_status": task.status}))
            .collect();
        json!({
            "batch_id": old.batch_id.to_string(),
            "active_payload_sha256": old.payload_digest,
            "submitted_payload_sha256": self.digest,
            "tasks": tasks,
        })
    }
}

/// Cancels an order whose only create task is gone, so that it no longer counts as existing.
pub async fn cancel_draft(
    tx: &mut Transaction<'_>,
    hotel_id: i64,
    order_id: i64,
    task_id: i64,
    actor: &str,
    now: i64,
) -> Result<(), Error> {
    let order = tx.order(hotel_id, order_id).await?;
    let Some(mut order) = order.filter(|order| order.status == crate::domain::order::DRAFT) else {
        return Ok(());
    };
    if tx.count_standing_tasks(order_id, task_id).await? > 0 {
        return Ok(());
    }
    let changes = json!([{"field": "status", "from": order.status, "to": CANCELLED}]);
    CANCELLED.clone_into(&mut order.status);
    order.version += 1;
    let change = OrderChange { task_id: Some(task_id), actor, at: now, changes };
    if tx.update_order(&order, &change).await? { Ok(()) } else { Err(Error::ObjectNotFound) }
}

/// The only message among those that an external id matches.
pub fn only_message(mut found: Vec<InboxIdentity>) -> Result<InboxIdentity, Error> {
    match found.len() {
        0 => Err(Error::SourceMessageNotFound),
        1 => Ok(found.remove(0)),
        _ => Err(Error::SourceMessageAmbiguous(
            found
                .into_iter()
                .map(|row| SourceMessageChoice {
                    external_message_id: row.external_message_id,
                    provider: row.provider,
                    channel: row.channel,
                })
                .collect(),
        )),
    }
}

fn answer(batch_id: i64, idempotent_replay: bool, rows: Vec<TransitionRow>) -> Result<Answer, Error> {
    let accepted_count = rows.iter().filter(|row| row.status == "ACCEPTED").count();
    let items = rows.into_iter().map(item).collect::<Result<_, Error>>()?;
    let batch_id = batch_id.to_string();
    Ok(Answer { batch_id, idempotent_replay, accepted_count, items, mapping_diagnostics: None })
}

fn item(row: TransitionRow) -> Result<Item, Error> {
    let error = row.error_code.map(|code| ItemError { code, message: row.error_message.unwrap_or_default() });
    Ok(Item {
        source_event_index: RawValue::from_string(row.source_event_index)?,
        ai_transition_id: row.ai_transition_id.to_string(),
        transition_status: row.status,
        order_id: row.order_id.map(|id| id.to_string()),
        task_id: row.task_id.map(|id| id.to_string()),
        task_status: row.task_status,
        error,
    })
}
