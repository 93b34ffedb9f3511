//! Orders as people look them up: the list, and the history of one.

use super::search::SearchPlace;
use super::tasks::{TaskRow, select_task};
use super::{Transaction, Value, record};
use crate::error::Error;

record! {
    /// An order as a list shows it. Times are unix milliseconds.
    #[derive(Debug, Clone)]
    pub struct OrderHead {
        /// Internal id.
        order_id: i64,
        /// FIT or GROUP.
        object_type: String,
        /// Group or allotment code.
        group_code: Option<String>,
        /// FIT confirmation number.
        confirmation_number: Option<String>,
        /// OPERA reservation number.
        reservation_no: Option<String>,
        /// Its status.
        status: String,
        /// Arrival date, ISO.
        arrival: Option<String>,
        /// Departure date, ISO.
        departure: Option<String>,
        /// JSON object of its other fields.
        fields: String,
        /// When it was created.
        created_at: i64,
        /// When it last changed.
        updated_at: i64,
    }
}

record! {
    /// A change of an order, with the task and the message it came from.
    #[derive(Debug, Clone)]
    pub struct OrderChangeRow {
        /// The order's version after it.
        version: i64,
        /// Unix milliseconds.
        at: i64,
        /// Who.
        actor: String,
        /// JSON list of {field, from, to}; `["created"]` for the first.
        changes: String,
        /// The task; none for the program's own changes.
        task_id: Option<i64>,
        /// Its kind, the catalogue's task_type.
        system_task_type: Option<String>,
        /// The message it came from.
        inbox_id: Option<i64>,
        /// Its decoded subject.
        subject: Option<String>,
    }
}

record! {
    struct Subject { subject: String }
}

/// Which orders are looked for; an empty text leaves a condition out.
#[derive(Debug, Clone, Default)]
pub struct OrderFilter {
    /// Their status.
    pub status: String,
    /// Arrival on this day or later, ISO.
    pub arrival_from: String,
    /// Arrival on this day or earlier, ISO.
    pub arrival_to: String,
}

impl OrderFilter {
    /// Whether an order of this status and arrival is looked for.
    pub fn admits(&self, status: &str, arrival: &str) -> bool {
        (self.status.is_empty() || self.status == status)
            && (self.arrival_from.is_empty() || (!arrival.is_empty() && *arrival >= *self.arrival_from))
            && (self.arrival_to.is_empty() || (!arrival.is_empty() && *arrival <= *self.arrival_to))
    }
}

/// The columns of [`OrderHead`]; a macro because a statement is one literal.
macro_rules! select_head {
    ($rest:literal) => {
        concat!(
            "SELECT order_id, object_type, group_code, confirmation_number, reservation_no, status, arrival, departure,
                    fields, created_at, updated_at FROM hotel_order ",
            $rest
        )
    };
}

impl Transaction<'_> {
    /// Orders of a hotel that were created before a place, the newest first.
    pub async fn order_heads(
        &mut self,
        hotel_id: i64,
        filter: &OrderFilter,
        before: SearchPlace,
        limit: i64,
    ) -> Result<Vec<OrderHead>, Error> {
        let sql = select_head!(
            "WHERE hotel_id = $1 AND ($2 = '' OR status = $2) AND ($3 = '' OR arrival >= $3) AND ($4 = '' OR arrival <= $4)
               AND (created_at < $5 OR (created_at = $5 AND order_id < $6))
             ORDER BY created_at DESC, order_id DESC LIMIT $7"
        );
        let values = [
            hotel_id.into(),
            (&filter.status).into(),
            (&filter.arrival_from).into(),
            (&filter.arrival_to).into(),
            before.at.into(),
            before.document_id.into(),
            limit.into(),
        ];
        Ok(self.all(sql, &values).await?)
    }

    /// The orders with these ids, in no order.
    pub async fn order_heads_of(&mut self, order_ids: &[i64]) -> Result<Vec<OrderHead>, Error> {
        let list: Vec<Value> = order_ids.iter().map(|id| (*id).into()).collect();
        Ok(self.all_in(select_head!("WHERE order_id IN ({list})"), &[], &list).await?)
    }

    /// The newest tasks of an order.
    pub async fn newest_tasks_of_order(
        &mut self,
        hotel_id: i64,
        order_id: i64,
        limit: i64,
    ) -> Result<Vec<TaskRow>, Error> {
        let sql = select_task!(
            "WHERE t.hotel_id = $1 AND t.order_id = $2 ORDER BY t.created_at DESC, t.task_id DESC LIMIT $3"
        );
        Ok(self.all(sql, &[hotel_id.into(), order_id.into(), limit.into()]).await?)
    }

    /// The decoded subject of a message.
    pub async fn subject(&mut self, inbox_id: i64) -> Result<Option<String>, Error> {
        let sql = "SELECT subject FROM platform_source_message_inbox WHERE inbox_id = $1";
        Ok(self.first::<Subject>(sql, &[inbox_id.into()]).await?.map(|row| row.subject))
    }

    /// The changes of an order before a version, the newest first.
    pub async fn order_changes(
        &mut self,
        order_id: i64,
        before: i64,
        limit: i64,
    ) -> Result<Vec<OrderChangeRow>, Error> {
        let sql =
            "SELECT c.version, c.at, c.actor, c.changes, c.task_id, t.system_task_type, m.inbox_id, m.subject
                   FROM order_change c LEFT JOIN task t ON t.task_id = c.task_id
                   LEFT JOIN platform_source_message_inbox m ON m.inbox_id = t.inbox_id
                   WHERE c.order_id = $1 AND c.version < $2 ORDER BY c.version DESC LIMIT $3";
        Ok(self.all(sql, &[order_id.into(), before.into(), limit.into()]).await?)
    }
}
