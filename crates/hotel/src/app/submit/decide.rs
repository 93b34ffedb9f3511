//! What becomes of each event: the order it is about, the task, its first status and its warnings.

use super::contract;
use super::payload::{Event, Shape};
use super::warnings;
use crate::app::target::{Orders, Target};
use crate::catalog::{Action, Catalog, Entry, ResultType, Target as Wanted};
use crate::domain::keys::CaseKeys;
use crate::domain::local_time;
use crate::domain::order::{DRAFT, ObjectType, Order};
use crate::domain::task::TaskStatus;
use crate::domain::warning::{Severity, Warning, WarningCode};
use crate::error::Error;
use crate::store::batches::{NewTask, NewTransition};

/// What decisions about one submission share.
#[derive(Debug)]
pub struct Context<'a> {
    /// The catalogue.
    pub catalog: &'a Catalog,
    /// The submission's shape.
    pub shape: Shape,
    /// The message.
    pub inbox_id: i64,
    /// When it was received, unix milliseconds.
    pub received_at: i64,
    /// The sender's organisation.
    pub agency: Option<String>,
    /// Whether something hidden was removed from it.
    pub hidden_content: bool,
    /// Now, unix milliseconds.
    pub now: i64,
    /// The first of three ids for each event: transition, task and order.
    pub first_id: i64,
}

/// The result of deciding a whole submission.
#[derive(Debug)]
pub struct Decisions {
    /// One for each event, in the order of the events.
    pub transitions: Vec<NewTransition>,
    /// The drafts that they create.
    pub orders: Vec<Order>,
}

/// Decides all events, parents before their children, so that a child finds what its parent creates.
pub fn decide(context: &Context<'_>, events: &[Event], orders: &mut Orders) -> Result<Decisions, Error> {
    let mut decided: Vec<Option<NewTransition>> = events.iter().map(|_| None).collect();
    let mut created = Vec::new();
    for position in parents_first(events) {
        let ids = context.first_id + 3 * i64::try_from(position).unwrap_or(0);
        let (transition, order) = decide_event(context, &events[position], ids, orders)?;
        if let Some(order) = order {
            created.push(order);
        }
        decided[position] = Some(transition);
    }
    Ok(Decisions { transitions: decided.into_iter().flatten().collect(), orders: created })
}

/// Positions of the events such that a parent comes before its children; the adapter has excluded cycles.
fn parents_first(events: &[Event]) -> Vec<usize> {
    let parent = |position: usize| {
        let number = usize::try_from(events[position].parent_source_event_index?).ok()?;
        number.checked_sub(1).filter(|parent| *parent < events.len())
    };
    let mut placed = vec![false; events.len()];
    let mut order = Vec::with_capacity(events.len());
    for start in 0..events.len() {
        let (mut chain, mut at) = (Vec::new(), Some(start));
        while let Some(position) = at.filter(|position| !placed[*position]) {
            placed[position] = true;
            chain.push(position);
            at = parent(position);
        }
        order.extend(chain.into_iter().rev());
    }
    order
}

fn decide_event(
    context: &Context<'_>,
    event: &Event,
    ids: i64,
    orders: &mut Orders,
) -> Result<(NewTransition, Option<Order>), Error> {
    let mut transition = NewTransition {
        ai_transition_id: ids,
        source_event_index: event.source_event_index.to_string(),
        event_type: event.event_type.clone(),
        catalog_code: event.catalog_code.clone(),
        error: None,
        order_id: None,
        task: None,
    };
    let entries = match contract::check(event, context.shape, context.catalog) {
        Ok(entries) => entries,
        Err(error) => {
            transition.error = Some(error);
            return Ok((transition, None));
        }
    };
    let keys = event.keys();
    let target = orders.target(&keys);
    let entry = as_history(context, event, choose_entry(&entries, event, &keys, &target));
    let judged = judge(context, event, entry, &target, orders);
    let order = judged.creates.then(|| draft(context, entry, ids + 2, keys));
    let order_id = order.as_ref().map(|order| order.order_id).or(judged.order_id);
    if let Some(order) = &order {
        orders.add(order.clone());
    }
    if let Some(order_id) = order_id {
        orders.note_open_task(order_id, &entry.task_type, entry.action == Action::Cancel);
    }
    transition.catalog_code = Some(entry.code.clone());
    transition.order_id = order_id;
    transition.task = Some(new_task(context, event, entry, ids + 1, &judged)?);
    Ok((transition, order))
}

/// Where an event type has an entry for each object type: as the event says, else as the order is, else as
/// the keys suggest.
fn choose_entry<'a>(entries: &[&'a Entry], event: &Event, keys: &CaseKeys, target: &Target<'_>) -> &'a Entry {
    let said = event.object_type.as_deref().and_then(ObjectType::parse);
    let guessed = if keys.group_code.is_some() { ObjectType::Group } else { ObjectType::Fit };
    let object_type = said.or(target.unique().map(|order| order.object_type)).unwrap_or(guessed);
    entries.iter().find(|entry| entry.object_type == Some(object_type)).unwrap_or(&entries[0])
}

/// What was only quoted from history never becomes a normal task: it is for information.
fn as_history<'a>(context: &Context<'a>, event: &Event, entry: &'a Entry) -> &'a Entry {
    let history = event.current_or_history.as_deref() == Some("history");
    if history && entry.result_type == ResultType::NormalTask {
        context.catalog.resolve("INFORMATIONAL", None).unwrap_or(entry)
    } else {
        entry
    }
}

/// What the target and the event's content lead to.
struct Judged {
    status: TaskStatus,
    order_id: Option<i64>,
    creates: bool,
    warnings: Vec<Warning>,
}

fn judge(
    context: &Context<'_>,
    event: &Event,
    entry: &Entry,
    target: &Target<'_>,
    orders: &Orders,
) -> Judged {
    let mut found = match_target(entry, target);
    let order = target.unique();
    if let Some(order) = order {
        if orders.has_open_task(order.order_id, &entry.task_type) {
            let text = format!("{} 已有未完成的同类任务。", order.object_id());
            found.push(Warning::new(WarningCode::OpenTaskSameType, text));
        }
        found.extend(warnings::of_status(order, entry.action));
    }
    let misses_target = found.iter().any(|warning| warning.severity == Severity::Stop);
    found.extend(warnings::of_content(event, entry, order, &local_time::date(context.now)));
    if context.hidden_content && entry.result_type != ResultType::InformationalMessage {
        let text = "邮件中含有被移除的隐藏内容，请核对原文。";
        found.push(Warning::new(WarningCode::HiddenContentRemoved, text));
    }
    let asks_for_review = event.manual_review.as_ref().is_some_and(|review| !review.is_null());
    let asked = event.result_type.as_deref();
    let status = match entry.result_type {
        _ if asked == Some(ResultType::InformationalMessage.as_str()) => TaskStatus::Informational,
        ResultType::InformationalMessage => TaskStatus::Informational,
        ResultType::ManualReview => TaskStatus::PendingManualReview,
        ResultType::NormalTask
            if misses_target || asks_for_review || asked == Some(ResultType::ManualReview.as_str()) =>
        {
            TaskStatus::PendingManualReview
        }
        ResultType::NormalTask => TaskStatus::PendingConfirmation,
    };
    let creates = entry.action == Action::Create && !misses_target && status != TaskStatus::Informational;
    Judged { status, order_id: order.map(|order| order.order_id), creates, warnings: found }
}

/// What speaks against the target that the entry wants.
fn match_target(entry: &Entry, target: &Target<'_>) -> Vec<Warning> {
    let mut found = Vec::new();
    let none = target.is_none();
    match entry.target {
        Wanted::None => return found,
        Wanted::NoneExisting => {
            if !none && !target.all_cancelled() {
                found.push(Warning::new(WarningCode::AlreadyExists, "相同 key 的订单已存在，不能重复新建。"));
            }
            return found;
        }
        Wanted::NoneOrOne if none => return found,
        _ if none => found.push(Warning::new(WarningCode::TargetNotFound, "没有找到该 key 对应的订单。")),
        _ => {}
    }
    if target.is_ambiguous() {
        found.push(Warning::new(WarningCode::TargetAmbiguous, "该 key 对应多个订单，请人工选择。"));
    }
    let wanted = match entry.target {
        Wanted::Group => Some(ObjectType::Group),
        _ => entry.object_type,
    };
    let other_kind = target.unique().filter(|order| wanted.is_some_and(|wanted| wanted != order.object_type));
    if target.is_disjoint() || other_kind.is_some() {
        found.push(Warning::new(WarningCode::KeyConflict, "key 之间或 key 与对象类型不一致。"));
    }
    found
}

fn draft(context: &Context<'_>, entry: &Entry, order_id: i64, keys: CaseKeys) -> Order {
    Order {
        order_id,
        object_type: entry.object_type.unwrap_or(ObjectType::Fit),
        keys,
        status: DRAFT.to_owned(),
        status_source: "LOCAL".to_owned(),
        arrival: None,
        departure: None,
        fields: serde_json::Map::new(),
        version: 1,
        created_inbox_id: Some(context.inbox_id),
    }
}

fn new_task(
    context: &Context<'_>,
    event: &Event,
    entry: &Entry,
    task_id: i64,
    judged: &Judged,
) -> Result<NewTask, Error> {
    let stated = event.value("agency").and_then(|agency| agency.as_str()).map(str::to_owned);
    let due = entry.due_hours.map(|hours| context.received_at + i64::from(hours) * 3_600_000);
    let json = |value: &Option<serde_json::Value>| value.as_ref().map(ToString::to_string);
    Ok(NewTask {
        task_id,
        catalog_code: entry.code.clone(),
        system_task_type: entry.task_type.clone(),
        creates_order: judged.creates,
        status: judged.status,
        priority: entry.priority.as_str(),
        due_at: due,
        agency: stated.or_else(|| context.agency.clone()),
        summary: event.summary.clone(),
        proposed_changes: serde_json::to_string(event.proposed_changes.as_deref().unwrap_or_default())?,
        evidence: json(&event.evidence).unwrap_or_else(|| "[]".to_owned()),
        warnings: serde_json::to_string(&judged.warnings)?,
        manual_review: json(&event.manual_review),
        details: json(&event.details),
    })
}
