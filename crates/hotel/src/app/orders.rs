//! Orders as the people of the console look them up: the list, and one with its tasks and its history.

use serde::Deserialize;
use serde_json::Value;

use super::Hotel;
use super::search::{find, is_too_long, place, place_text};
use super::tasks::TaskView;
use crate::domain::order::Order;
use crate::domain::proposal::is_date;
use crate::domain::search::{Kind, Query};
use crate::error::Error;
use crate::store::boxed;
use crate::store::order_history::{OrderChangeRow, OrderFilter, OrderHead};
use crate::store::search::Document;

/// Orders on a page.
const ORDERS: i64 = 50;
/// Tasks that are shown beside an order, the newest.
const TASKS: i64 = 200;
/// Changes on a page of the history.
const CHANGES: i64 = 100;

/// Which orders a person wants to see; an empty text leaves a condition out.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Their status.
    pub status: String,
    /// Arrival on this day or later, ISO; what is no day leaves the condition out.
    pub arrival_from: String,
    /// Arrival on this day or earlier, ISO.
    pub arrival_to: String,
    /// Words that are looked for in them.
    pub text: String,
    /// `next` of the page before.
    pub after: String,
}

/// Some orders, those created last first.
#[derive(Debug, Clone)]
pub struct Orders {
    /// Orders.
    pub orders: Vec<OrderLine>,
    /// Leads to older ones, when there may be any.
    pub next: Option<String>,
    /// Whether the text has too many characters to be looked for.
    pub is_text_too_long: bool,
    /// Whether the text is looked for in a part of the orders only, for the index is not complete yet.
    pub is_incomplete: bool,
}

/// An order in a list. Times are unix milliseconds.
#[derive(Debug, Clone)]
pub struct OrderLine {
    /// Its id.
    pub order_id: i64,
    /// FIT or GROUP.
    pub object_type: String,
    /// Its status.
    pub status: String,
    /// Guest or group, and the agency; may be empty.
    pub names: Vec<String>,
    /// The business keys that it has.
    pub keys: Vec<String>,
    /// Arrival date, ISO.
    pub arrival: Option<String>,
    /// Departure date, ISO.
    pub departure: Option<String>,
    /// When it was created.
    pub created_at: i64,
}

/// An order with what belongs to it. Times are unix milliseconds.
#[derive(Debug, Clone)]
pub struct OrderPage {
    /// The order; the fields are those without columns of their own, and no record of its cancellation.
    pub order: Order,
    /// When it was created.
    pub created_at: i64,
    /// When it last changed.
    pub updated_at: i64,
    /// Who cancelled it by which task, when a task did.
    pub cancellation: Option<Cancellation>,
    /// The message that it was created from.
    pub created_from: Option<Source>,
    /// Its tasks, the newest first.
    pub tasks: Vec<TaskView>,
    /// What changed, the newest first.
    pub history: Vec<OrderChange>,
    /// Leads to older changes, when there are any.
    pub next: Option<i64>,
}

/// A message by its subject.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its id.
    pub inbox_id: i64,
    /// Its decoded subject; may be empty.
    pub subject: String,
}

/// The record of a cancellation, as the confirmation of a cancel task writes it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Cancellation {
    /// The task, as text.
    pub task_id: Option<String>,
    /// Who.
    pub by: String,
    /// ISO time.
    pub at: String,
    /// What of the order.
    pub scope: Value,
    /// Why.
    pub reason: Value,
}

/// One step of an order's history.
#[derive(Debug, Clone)]
pub struct OrderChange {
    /// The order's version after it.
    pub version: i64,
    /// Unix milliseconds.
    pub at: i64,
    /// The agent or the person.
    pub actor: String,
    /// The task and its kind; none when the order was created.
    pub task: Option<(i64, String)>,
    /// The message the task came from.
    pub source: Option<Source>,
    /// Whether it is the creation.
    pub is_creation: bool,
    /// What changed; empty when nothing that the order says did.
    pub fields: Vec<FieldChange>,
}

/// A field that changed.
#[derive(Debug, Clone, Deserialize)]
pub struct FieldChange {
    /// Its name.
    pub field: String,
    /// What it was.
    #[serde(default)]
    pub from: Value,
    /// What it became.
    #[serde(default)]
    pub to: Value,
}

/// The orders that are wanted.
pub async fn list(hotel: &Hotel, wanted: Wanted) -> Result<Orders, Error> {
    let day = |text: &str| if is_date(text) { text.to_owned() } else { String::new() };
    let filter = OrderFilter {
        arrival_from: day(&wanted.arrival_from),
        arrival_to: day(&wanted.arrival_to),
        status: wanted.status,
    };
    let is_text_too_long = is_too_long(&wanted.text);
    let query = Some(&wanted.text).filter(|_| !is_text_too_long).and_then(|text| Query::parse(text));
    let after = place(&wanted.after);
    let (rows, next, is_incomplete) = hotel
        .db
        .read(move |tx| {
            boxed(async move {
                let hotel_id = tx.resolve_hotel(None).await?;
                let Some(query) = query else {
                    let mut rows = tx.order_heads(hotel_id, &filter, after, ORDERS + 1).await?;
                    let most = usize::try_from(ORDERS).unwrap_or(0);
                    let more = rows.len() > most;
                    rows.truncate(most);
                    let last = rows.last().filter(|_| more);
                    let next = last.map(|row| place_text(row.created_at, row.order_id));
                    return Ok((rows, next, false));
                };
                let admits = |found: &Document| filter.admits(&found.status, found.text("arrival"));
                let page = find(tx, hotel_id, &query, Some(Kind::Order), after, admits).await?;
                let ids: Vec<i64> = page.documents.iter().map(|document| document.id).collect();
                let mut rows = tx.order_heads_of(&ids).await?;
                rows.sort_unstable_by_key(|row| std::cmp::Reverse((row.created_at, row.order_id)));
                Ok((rows, page.next, tx.has_search_backlog().await?))
            })
        })
        .await?;
    let orders = rows.into_iter().map(OrderLine::new).collect::<Result<_, _>>()?;
    Ok(Orders { orders, next, is_text_too_long, is_incomplete })
}

/// One order with what belongs to it; of its history the changes before a version, or the newest.
pub async fn show(hotel: &Hotel, order_id: i64, before: Option<i64>) -> Result<OrderPage, Error> {
    let (mut order, head, source, tasks, mut changes) = hotel
        .db
        .read(move |tx| {
            boxed(async move {
                let hotel_id = tx.resolve_hotel(None).await?;
                let order = tx.order(hotel_id, order_id).await?.ok_or(Error::ObjectNotFound)?;
                let head = tx.order_heads_of(&[order_id]).await?.pop().ok_or(Error::ObjectNotFound)?;
                let source = match order.created_inbox_id {
                    Some(inbox_id) => tx.subject(inbox_id).await?.map(|subject| Source { inbox_id, subject }),
                    None => None,
                };
                let tasks = tx.newest_tasks_of_order(hotel_id, order_id, TASKS).await?;
                let changes = tx.order_changes(order_id, before.unwrap_or(i64::MAX), CHANGES + 1).await?;
                Ok((order, head, source, tasks, changes))
            })
        })
        .await?;
    let most = usize::try_from(CHANGES).unwrap_or(0);
    let more = changes.len() > most;
    changes.truncate(most);
    let cancellation = order.fields.remove("cancellation");
    Ok(OrderPage {
        order,
        created_at: head.created_at,
        updated_at: head.updated_at,
        cancellation: cancellation.map(serde_json::from_value).transpose()?,
        tasks: tasks.iter().map(TaskView::from_row).collect(),
        next: changes.last().filter(|_| more).map(|row| row.version),
        history: changes
            .into_iter()
            .map(|row| OrderChange::new(row, source.as_ref()))
            .collect::<Result<_, _>>()?,
        created_from: source,
    })
}

impl OrderLine {
    fn new(row: OrderHead) -> Result<Self, Error> {
        let fields: serde_json::Map<String, Value> = serde_json::from_str(&row.fields)?;
        let name = |name: &str| fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let names = ["guest_name", "group_name", "agency"].into_iter().filter_map(name);
        Ok(Self {
            order_id: row.order_id,
            names: names.map(str::to_owned).collect(),
            object_type: row.object_type,
            status: row.status,
            keys: [row.group_code, row.confirmation_number, row.reservation_no]
                .into_iter()
                .flatten()
                .collect(),
            arrival: row.arrival,
            departure: row.departure,
            created_at: row.created_at,
        })
    }
}

impl OrderChange {
    fn new(row: OrderChangeRow, created_from: Option<&Source>) -> Result<Self, Error> {
        let is_creation = row.version == 1;
        let own = row.inbox_id.map(|inbox_id| Source { inbox_id, subject: row.subject.unwrap_or_default() });
        let changes: Vec<Value> = serde_json::from_str(&row.changes)?;
        let fields = changes.into_iter().filter(Value::is_object).map(serde_json::from_value);
        Ok(Self {
            version: row.version,
            at: row.at,
            actor: row.actor,
            task: row.task_id.zip(row.system_task_type),
            source: own.or_else(|| created_from.filter(|_| is_creation).cloned()),
            is_creation,
            fields: fields.collect::<Result<_, _>>()?,
        })
    }
}
