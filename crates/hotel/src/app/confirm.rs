//! Confirming: a task's proposal beside its order as it is now, and what it changes there.

use serde_json::{Value, json};

use super::Hotel;
use super::submit::payload::{Event, ProposedChange};
use super::submit::warnings;
use super::tasks::{Decision, Edit, conflict};
use crate::catalog::{Action, Entry};
use crate::domain::keys::{CaseKeys, normalise};
use crate::domain::local_time;
use crate::domain::order::{CANCELLED, Order};
use crate::domain::proposal::RESERVED;
use crate::domain::warning::{Severity, Warning, WarningCode};
use crate::error::Error;
use crate::store::Transaction;
use crate::store::orders::OrderChange;
use crate::store::tasks::{CardRow, TaskRow};

/// A pending task with everything that its confirmation depends on.
pub(super) struct Pending {
    action: Action,
    event: Event,
    order: Option<Order>,
    /// Those of the submission, then those that came up since.
    pub(super) warnings: Vec<Warning>,
    /// The values that a person set, beside what the agent had proposed.
    edited: Vec<Edited>,
}

/// A value that a person set in the place of the agent's.
#[derive(Debug, Clone, serde::Serialize)]
pub(super) struct Edited {
    field: String,
    /// The agent's; null as well where the agent proposed nothing.
    proposed: Value,
    to: Value,
    #[serde(skip)]
    is_added: bool,
}

impl Pending {
    /// Reads the task's order and judges the proposal again, as a person edited it: between submission and confirmation the
    /// order, the day and the other orders may have changed.
    pub(super) async fn read(
        tx: &mut Transaction<'_>,
        hotel: &Hotel,
        hotel_id: i64,
        task: &TaskRow,
        card: &CardRow,
        edits: &[Edit],
    ) -> Result<Self, Error> {
        let entry = hotel.catalog.entry(&task.catalog_code);
        let action = entry.map_or(Action::Other, |entry| entry.action);
        let order = match task.order_id {
            Some(order_id) => tx.order(hotel_id, order_id).await?,
            None => None,
        };
        let mut proposed: Vec<ProposedChange> = serde_json::from_str(&card.proposed_changes)?;
        let edited = edit(&mut proposed, edits, order.as_ref());
        let event = Event {
            proposed_changes: Some(proposed),
            details: card.details.as_deref().map(serde_json::from_str).transpose()?,
            ..Event::default()
        };
        let mut found = match entry {
            Some(entry) => {
                let today = local_time::date(hotel.clock.now_ms());
                warnings::of_content(&event, entry, order.as_ref(), &today)
            }
            None => warnings::of_proposals(&event, action),
        };
        if let Some(order) = &order {
            found.extend(warnings::of_status(order, action));
            found.extend(changed_since(&event, order));
            if action == Action::Create {
                found.extend(create_again(tx, hotel_id, &event, order).await?);
            }
        }
        for warning in edited.iter().filter_map(|edited| strange(edited, entry)) {
            if !found.iter().any(|other| (other.code, &other.field) == (warning.code, &warning.field)) {
                found.push(warning);
            }
        }
        let mut warnings: Vec<Warning> = serde_json::from_str(&card.warnings)?;
        // What was said of the agent's values need not hold for a person's; all of that was found again just now.
        warnings.retain(|old| edited.is_empty() || !old.code.is_of_content());
        found.retain(|new| warnings.iter().all(|old| (old.code, &old.field) != (new.code, &new.field)));
        warnings.append(&mut found);
        Ok(Self { action, event, order, warnings, edited })
    }

    /// What the person's move keeps of the values that they set, as JSON text.
    pub(super) fn detail(&self) -> Option<String> {
        (!self.edited.is_empty()).then(|| json!({"edits": self.edited}).to_string())
    }

    /// Applies the proposal to the order. Gives the order's new version, none for a task without an order.
    ///
    /// Refuses with CONFIRM_BLOCKED under a STOP, REASON_REQUIRED under a CONFIRM without a reason, and
    /// VERSION_CONFLICT when the order changed while this was done.
    pub(super) async fn apply(
        self,
        tx: &mut Transaction<'_>,
        task: &TaskRow,
        decision: &Decision,
        now: i64,
    ) -> Result<Option<i64>, Error> {
        check(&self.warnings, decision)?;
        let Some(mut order) = self.order else { return Ok(None) };
        let mut changes = propose(&mut order, &self.event);
        for change in &mut changes {
            let edited = self.edited.iter().find(|edited| change["field"] == edited.field.as_str());
            if let Some(edited) = edited {
                change["proposed"] = edited.proposed.clone();
            }
        }
        if self.action == Action::Cancel {
            changes.push(json!({"field": "status", "from": order.status, "to": CANCELLED}));
            CANCELLED.clone_into(&mut order.status);
            let record = json!({
                "task_id": task.task_id.to_string(), "by": decision.actor, "at": govern::time::iso(now),
                "scope": self.event.value("scope"), "reason": self.event.value("reason"),
            });
            order.fields.insert("cancellation".into(), record);
        }
        order.version += 1;
        let changes = Value::Array(changes);
        let change = OrderChange { task_id: Some(task.task_id), actor: &decision.actor, at: now, changes };
        if !tx.update_order(&order, &change).await? {
            return Err(conflict(tx, task, Some(task.version)).await?);
        }
        Ok(Some(order.version))
    }
}

/// Puts a person's values in the place of the agent's; a field that the agent did not name is added. What is the agent's
/// own value is no edit.
fn edit(proposed: &mut Vec<ProposedChange>, edits: &[Edit], order: Option<&Order>) -> Vec<Edited> {
    let mut edited = Vec::new();
    for Edit { field, to } in edits {
        let own = proposed.iter_mut().find(|change| change.field == *field);
        let before = own.as_ref().and_then(|change| change.to.clone());
        if before.as_ref() == Some(to) {
            continue;
        }
        let (is_added, proposed_value) = (own.is_none(), before.unwrap_or_default());
        edited.push(Edited { field: field.clone(), proposed: proposed_value, to: to.clone(), is_added });
        if let Some(change) = own {
            change.to = Some(to.clone());
        } else {
            let from = order.map(|order| value_of(order, field)).unwrap_or_default();
            proposed.push(ProposedChange { field: field.clone(), from, to: Some(to.clone()) });
        }
    }
    edited
}

/// A person may add what the kind of task needs, and nothing else that the agent did not propose.
fn strange(edited: &Edited, entry: Option<&Entry>) -> Option<Warning> {
    let needs = entry.into_iter().flat_map(|entry| &entry.needs).flat_map(|need| need.split('|'));
    let is_needed = needs.into_iter().any(|need| need == edited.field);
    let text = format!("{} 不在建议修改之列，也不是该类任务所需的信息。", edited.field);
    (edited.is_added && !is_needed)
        .then(|| Warning::new(WarningCode::InvalidProposedValue, text).on(&edited.field))
}

fn check(warnings: &[Warning], decision: &Decision) -> Result<(), Error> {
    let of = |severity| warnings.iter().filter(|warning| warning.severity == severity).collect::<Vec<_>>();
    let stops = of(Severity::Stop);
    if !stops.is_empty() {
        return Err(Error::ConfirmBlocked(json!({"warnings": stops})));
    }
    let confirms = of(Severity::Confirm);
    let reason = decision.reason.as_deref().is_some_and(|reason| !reason.trim().is_empty());
    if !confirms.is_empty() && !reason {
        return Err(Error::ReasonRequired(json!({"warnings": confirms})));
    }
    Ok(())
}

/// Fields whose value now is not the one that the agent proposed to change.
fn changed_since(event: &Event, order: &Order) -> Vec<Warning> {
    let mut found = Vec::new();
    for change in event.proposed_changes.iter().flatten().filter(|change| !change.from.is_null()) {
        let now = value_of(order, &change.field);
        if as_read(&now) != as_read(&change.from) {
            let (field, from) = (&change.field, plain(&change.from));
            let text = format!("{field} 现为 {}，而建议所依据的原值为 {from}。", plain(&now));
            found.push(Warning::new(WarningCode::ChangedSinceProposed, text).on(field));
        }
    }
    found
}

/// What is against filling the draft: it is gone, or its keys, as proposed, are another order's by now.
async fn create_again(
    tx: &mut Transaction<'_>,
    hotel_id: i64,
    event: &Event,
    draft: &Order,
) -> Result<Option<Warning>, Error> {
    if draft.status == CANCELLED {
        let text = format!("{} 的状态为 {}，不允许该操作。", draft.object_id(), draft.status);
        return Ok(Some(Warning::new(WarningCode::OrderCancelled, text)));
    }
    let mut filled = draft.clone();
    propose(&mut filled, event);
    let keys: Vec<CaseKeys> = Some(filled.keys).filter(|keys| !keys.is_empty()).into_iter().collect();
    let others = tx.orders_by_keys(hotel_id, &keys).await?;
    let stands = others.iter().any(|other| other.order_id != draft.order_id && other.status != CANCELLED);
    Ok(stands.then(|| Warning::new(WarningCode::AlreadyExists, "相同 key 的订单已存在，不能重复新建。")))
}

/// Sets every proposed field of the order; returns what changed. Values that do not fit are STOP warnings, so
/// none comes to be stored from here.
fn propose(order: &mut Order, event: &Event) -> Vec<Value> {
    let proposed = event.proposed_changes.iter().flatten();
    let proposed = proposed.filter_map(|change| Some((change.field.as_str(), change.to.as_ref()?)));
    let lines = event.details.as_ref().and_then(|details| details.get("lines")).map(|lines| ("lines", lines));
    let mut changes = Vec::new();
    for (field, to) in proposed.chain(lines).filter(|(field, _)| !RESERVED.contains(field)) {
        let from = value_of(order, field);
        match column(order, field) {
            Some(column) => *column = to.as_str().map(str::to_owned),
            None => {
                order.fields.insert(field.to_owned(), to.clone());
            }
        }
        changes.push(json!({"field": field, "from": from, "to": to}));
    }
    order.keys = order.keys.normalised();
    changes
}

pub(super) fn value_of(order: &Order, field: &str) -> Value {
    match field {
        "status" => order.status.clone().into(),
        "arrival" => order.arrival.clone().into(),
        "departure" => order.departure.clone().into(),
        "group_code" => order.keys.group_code.clone().into(),
        "confirmation_number" => order.keys.confirmation_number.clone().into(),
        "reservation_no" => order.keys.reservation_no.clone().into(),
        field => order.fields.get(field).cloned().unwrap_or_default(),
    }
}

/// The fields that are columns of their own.
pub(super) fn column<'a>(order: &'a mut Order, field: &str) -> Option<&'a mut Option<String>> {
    match field {
        "arrival" => Some(&mut order.arrival),
        "departure" => Some(&mut order.departure),
        "group_code" => Some(&mut order.keys.group_code),
        "confirmation_number" => Some(&mut order.keys.confirmation_number),
        "reservation_no" => Some(&mut order.keys.reservation_no),
        _ => None,
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// 2 and "2" read the same, and so do a key and its full-width form.
fn as_read(value: &Value) -> Option<String> {
    if value.is_null() { None } else { normalise(Some(&plain(value))) }
}
