//! What is known about the orders that keys may mean, and what a submission may ask for (contract section 3).

use serde::{Deserialize, Serialize};

use super::Hotel;
use super::submit::status_warning;
use super::target::{Orders, Target};
use crate::catalog::Action;
use crate::domain::keys::{CaseKeys, MAX_KEY_CHARS};
use crate::domain::order::{ObjectType, Order};
use crate::domain::warning::{Warning, WarningCode};
use crate::error::{Error, Fault};
use crate::store::boxed;
use crate::store::tasks::TaskRow;

/// Arguments of th_hotel_query_case_context; null equals absent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Query {
    /// The caller's hotel; must be the system's.
    pub hotel_id: Option<String>,
    /// Key.
    pub group_code: Option<String>,
    /// Key.
    pub confirmation_number: Option<String>,
    /// Key.
    pub reservation_no: Option<String>,
    /// What the caller takes the object for; never filters.
    pub object_type_hint: Option<String>,
    /// `body_thread_evidence` says that the key stands only in quoted history.
    pub target_key_source: Option<String>,
    /// The same, as a flag.
    pub body_thread_used_only_as_evidence: Option<bool>,
}

/// The answer's data and the warnings for the envelope.
#[derive(Debug, Clone, Serialize)]
pub struct CaseContext {
    /// Every order that has one of the keys.
    pub matched_order_records: Vec<OrderRecord>,
    /// Their tasks that are not terminal.
    pub pending_or_open_tasks: Vec<TaskSummary>,
    /// What may be asked for.
    pub target_object_validation: TargetValidation,
    /// Records or tasks were left out to keep the answer within its budget; more keys narrow it.
    pub truncated: bool,
    /// For the envelope.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// An order as queries show it.
#[derive(Debug, Clone, Serialize)]
pub struct OrderRecord {
    /// `ORDER:{order_id}`.
    pub object_id: String,
    /// As text.
    pub order_id: String,
    /// FIT or GROUP.
    pub object_type: ObjectType,
    /// Key.
    pub group_code: Option<String>,
    /// Key.
    pub confirmation_number: Option<String>,
    /// Key.
    pub reservation_no: Option<String>,
    /// Order status.
    pub status: String,
    /// LOCAL or OPERA_PROJECTION.
    pub status_source: String,
    /// ISO date.
    pub arrival: Option<String>,
    /// ISO date.
    pub departure: Option<String>,
    /// Whether an amend task can be confirmed.
    pub can_update: bool,
    /// Whether a cancel task can be confirmed.
    pub can_cancel: bool,
    /// The keys that led to it; absent in object-detail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_by: Option<Vec<&'static str>>,
}

/// A task as queries show it (contract section 5.4).
#[derive(Debug, Clone, Serialize)]
pub struct TaskSummary {
    /// The message it came from.
    pub external_source_message_id: String,
    /// As text.
    pub task_id: String,
    /// Task status.
    pub task_status: String,
    /// The catalogue's task_type.
    pub system_task_type: String,
    /// ISO time.
    pub task_created_at: String,
    /// As text.
    pub order_id: Option<String>,
    /// The catalogue's code.
    pub catalog_code: String,
}

/// What a submission about these keys may ask for.
#[derive(Debug, Clone, Serialize)]
pub struct TargetValidation {
    /// NONE, UNIQUE or AMBIGUOUS.
    pub target: &'static str,
    /// A new order may be created.
    pub create_allowed: bool,
    /// The order may be amended.
    pub update_allowed: bool,
    /// The order may be cancelled.
    pub cancel_allowed: bool,
    /// A payment proof may be attached.
    pub attach_proof_allowed: bool,
    /// Codes of what stands against the ones that are false.
    pub reasons: Vec<WarningCode>,
}

/// What the envelope and the validation around the lists take.
const ENVELOPE: usize = 4_096;

/// Looks the keys up; the answer's data is at most `budget` bytes of JSON.
pub async fn query(hotel: &Hotel, query: Query, budget: usize) -> Result<CaseContext, Error> {
    let keys = query.keys().normalised();
    if keys.is_empty() {
        return Err(Error::InvalidArgument(Fault {
            path: "$".into(),
            code: "MISSING_FIELD",
            expected: "at least one of group_code, confirmation_number and reservation_no that is not empty"
                .into(),
        }));
    }
    if let Some(name) = keys.too_long() {
        return Err(Error::InvalidArgument(Fault {
            path: format!("$.{name}"),
            code: "INVALID_VALUE",
            expected: format!("at most {MAX_KEY_CHARS} characters"),
        }));
    }
    let (orders, tasks) = hotel
        .db
        .read(|tx| {
            let (requested, keys) = (query.hotel_id.clone(), keys.clone());
            boxed(async move {
                let hotel_id = tx.resolve_hotel(requested.as_deref()).await?;
                let orders = tx.orders_by_keys(hotel_id, std::slice::from_ref(&keys)).await?;
                let ids: Vec<i64> = orders.iter().map(|order| order.order_id).collect();
                let tasks = tx.open_tasks_of_orders(&ids).await?;
                Ok((orders, tasks))
            })
        })
        .await?;
    let mut context = assess(&query, &keys, orders, &tasks);
    context.keep_within(budget);
    Ok(context)
}

fn assess(query: &Query, keys: &CaseKeys, orders: Vec<Order>, tasks: &[TaskRow]) -> CaseContext {
    let orders = Orders::new(orders, tasks);
    let target = orders.target(keys);
    let mut warnings = vec![projection_missing()];
    if query.is_history_only() {
        let text = "该 key 只出现在历史引用中，只能作为证据读取。";
        warnings.push(Warning::new(WarningCode::KeyFromHistoryOnly, text));
    }
    warnings.extend(target_warnings(query, &target));
    if let Some(order) = target.unique() {
        warnings.extend(order_warnings(order, &orders));
    }
    let ambiguous = target.is_ambiguous();
    let records = target.matches.iter().map(|(order, matched_by)| {
        let mut record = OrderRecord::new(order, !ambiguous && !orders.has_open_cancel(order.order_id));
        record.matched_by = Some(matched_by.clone());
        record
    });
    CaseContext {
        matched_order_records: records.collect(),
        pending_or_open_tasks: tasks.iter().map(TaskSummary::from_row).collect(),
        target_object_validation: validation(&target, &orders, &warnings),
        truncated: false,
        warnings,
    }
}

/// What stands against the keys, whatever is done with the order.
fn target_warnings(query: &Query, target: &Target<'_>) -> Vec<Warning> {
    let mut found = Vec::new();
    if target.is_ambiguous() {
        found.push(Warning::new(WarningCode::TargetAmbiguous, "该 key 对应多个订单。"));
    }
    let hint =
        query.object_type_hint.as_deref().and_then(|hint| ObjectType::parse(&hint.trim().to_uppercase()));
    let other_kind =
        hint.is_some_and(|hint| target.matches.iter().any(|(order, _)| order.object_type != hint));
    if target.is_disjoint() || other_kind {
        found.push(Warning::new(
            WarningCode::KeyConflict,
            "key 指向不同的订单，或与 object_type_hint 不一致。",
        ));
    }
    found
}

/// What the order's status and its open tasks have against changing it.
pub fn order_warnings(order: &Order, orders: &Orders) -> Vec<Warning> {
    let mut found: Vec<Warning> = status_warning(order, Action::Update).into_iter().collect();
    match status_warning(order, Action::Cancel) {
        Some(warning) if found.iter().all(|known| known.code != warning.code) => found.push(warning),
        _ => {}
    }
    if order.rights().arrival_locked {
        let text = "客人已入住，只能更改离店日期和服务。";
        found.push(Warning::new(WarningCode::ArrivalLockedInHouse, text).on("arrival"));
    }
    if orders.has_open_cancel(order.order_id) {
        found.push(Warning::new(WarningCode::OpenTaskSameType, "该订单已有未完成的取消任务。"));
    }
    found
}

/// There is no mirror of OPERA in this version.
pub fn projection_missing() -> Warning {
    Warning::new(WarningCode::OperaProjectionMissing, "没有 OPERA 投影，订单状态只来自本系统。")
}

fn validation(target: &Target<'_>, orders: &Orders, warnings: &[Warning]) -> TargetValidation {
    let against_all =
        [WarningCode::KeyFromHistoryOnly, WarningCode::KeyConflict, WarningCode::TargetAmbiguous];
    let readable_only = warnings.iter().any(|warning| against_all.contains(&warning.code));
    let unique = target.unique();
    let changeable = unique.filter(|order| !orders.has_open_cancel(order.order_id) && !readable_only);
    let rights = changeable.map(Order::rights);
    let create_allowed = target.all_cancelled() && !readable_only;
    let mut reasons: Vec<WarningCode> = warnings
        .iter()
        .map(|warning| warning.code)
        .filter(|code| *code != WarningCode::OperaProjectionMissing)
        .collect();
    if target.is_none() {
        reasons.push(WarningCode::TargetNotFound);
    } else if !target.all_cancelled() {
        reasons.push(WarningCode::AlreadyExists);
    }
    TargetValidation {
        target: match unique {
            Some(_) => "UNIQUE",
            None if target.is_none() => "NONE",
            None => "AMBIGUOUS",
        },
        create_allowed,
        update_allowed: rights.is_some_and(|rights| rights.can_update),
        cancel_allowed: rights.is_some_and(|rights| rights.can_cancel),
        attach_proof_allowed: unique.is_some() && !readable_only,
        reasons,
    }
}

impl CaseContext {
    /// A key may lead to any number of orders; whole records are left out at the end of the lists.
    fn keep_within(&mut self, budget: usize) {
        let orders = govern::budget::fit(&self.matched_order_records, ENVELOPE, budget);
        let used = ENVELOPE
            + govern::budget::json_len(&self.matched_order_records[..orders].iter().collect::<Vec<_>>());
        let tasks = govern::budget::fit(&self.pending_or_open_tasks, used, budget);
        self.truncated =
            orders < self.matched_order_records.len() || tasks < self.pending_or_open_tasks.len();
        self.matched_order_records.truncate(orders);
        self.pending_or_open_tasks.truncate(tasks);
    }
}

impl Query {
    fn keys(&self) -> CaseKeys {
        CaseKeys {
            group_code: self.group_code.clone(),
            confirmation_number: self.confirmation_number.clone(),
            reservation_no: self.reservation_no.clone(),
        }
    }

    fn is_history_only(&self) -> bool {
        self.body_thread_used_only_as_evidence == Some(true)
            || self.target_key_source.as_deref().map(str::trim) == Some("body_thread_evidence")
    }
}

impl OrderRecord {
    /// The record of an order; `changeable` is false while an open cancel task or ambiguity forbids changes.
    pub fn new(order: &Order, changeable: bool) -> Self {
        let rights = order.rights();
        Self {
            object_id: order.object_id(),
            order_id: order.order_id.to_string(),
            object_type: order.object_type,
            group_code: order.keys.group_code.clone(),
            confirmation_number: order.keys.confirmation_number.clone(),
            reservation_no: order.keys.reservation_no.clone(),
            status: order.status.clone(),
            status_source: order.status_source.clone(),
            arrival: order.arrival.clone(),
            departure: order.departure.clone(),
            can_update: changeable && rights.can_update,
            can_cancel: changeable && rights.can_cancel,
            matched_by: None,
        }
    }
}

impl TaskSummary {
    /// The summary of a stored task.
    pub fn from_row(row: &TaskRow) -> Self {
        Self {
            external_source_message_id: row.external_message_id.clone(),
            task_id: row.task_id.to_string(),
            task_status: row.status.clone(),
            system_task_type: row.system_task_type.clone(),
            task_created_at: govern::time::iso(row.created_at),
            order_id: row.order_id.map(|id| id.to_string()),
            catalog_code: row.catalog_code.clone(),
        }
    }
}
