//! Tables hotel_order and order_change.

use serde_json::{Map, Value as Json};

use super::{Transaction, Value, record};
use crate::domain::keys::CaseKeys;
use crate::domain::order::{ObjectType, Order};
use crate::domain::search::Kind;
use crate::error::Error;

record! {
    struct OrderRow {
        order_id: i64,
        object_type: String,
        group_code: Option<String>,
        confirmation_number: Option<String>,
        reservation_no: Option<String>,
        status: String,
        status_source: String,
        arrival: Option<String>,
        departure: Option<String>,
        fields: String,
        version: i64,
        created_inbox_id: Option<i64>,
    }
}

record! {
    struct Changes { changes: String }
}

impl OrderRow {
    fn into_order(self) -> Result<Order, Error> {
        Ok(Order {
            order_id: self.order_id,
            object_type: ObjectType::parse(&self.object_type).unwrap_or(ObjectType::Fit),
            keys: CaseKeys {
                group_code: self.group_code,
                confirmation_number: self.confirmation_number,
                reservation_no: self.reservation_no,
            },
            status: self.status,
            status_source: self.status_source,
            arrival: self.arrival,
            departure: self.departure,
            fields: serde_json::from_str::<Map<String, Json>>(&self.fields)?,
            version: self.version,
            created_inbox_id: self.created_inbox_id,
        })
    }
}

/// A change of an order, for its history.
#[derive(Debug)]
pub struct OrderChange<'a> {
    /// The confirmed task; none for the program's own changes.
    pub task_id: Option<i64>,
    /// Who.
    pub actor: &'a str,
    /// Unix milliseconds.
    pub at: i64,
    /// What: field, from, to.
    pub changes: Json,
}

macro_rules! select_order {
    ($rest:literal) => {
        concat!(
            "SELECT order_id, object_type, group_code, confirmation_number, reservation_no, status, status_source, ",
            "arrival, departure, fields, version, created_inbox_id FROM hotel_order ",
            $rest
        )
    };
}

impl Transaction<'_> {
    /// An order of this hotel.
    pub async fn order(&mut self, hotel_id: i64, order_id: i64) -> Result<Option<Order>, Error> {
        let sql = select_order!("WHERE hotel_id = $1 AND order_id = $2");
        let row: Option<OrderRow> = self.first(sql, &[hotel_id.into(), order_id.into()]).await?;
        row.map(OrderRow::into_order).transpose()
    }

    /// All orders that have one of the normalised keys, by id.
    pub async fn orders_by_keys(&mut self, hotel_id: i64, keys: &[CaseKeys]) -> Result<Vec<Order>, Error> {
        let values = |pick: fn(&CaseKeys) -> &Option<String>| -> Vec<Value> {
            let mut texts: Vec<&String> = keys.iter().filter_map(|keys| pick(keys).as_ref()).collect();
            texts.sort_unstable();
            texts.dedup();
            texts.into_iter().map(Value::from).collect()
        };
        let lookups = [
            (
                select_order!("WHERE hotel_id = $1 AND group_code IN ({list})"),
                values(|keys| &keys.group_code),
            ),
            (
                select_order!("WHERE hotel_id = $1 AND confirmation_number IN ({list})"),
                values(|keys| &keys.confirmation_number),
            ),
            (
                select_order!("WHERE hotel_id = $1 AND reservation_no IN ({list})"),
                values(|keys| &keys.reservation_no),
            ),
        ];
        let mut rows: Vec<OrderRow> = Vec::new();
        for (sql, list) in lookups {
            rows.append(&mut self.all_in(sql, &[hotel_id.into()], &list).await?);
        }
        rows.sort_by_key(|row| row.order_id);
        rows.dedup_by_key(|row| row.order_id);
        rows.into_iter().map(OrderRow::into_order).collect()
    }

    /// Adds new orders with their first history line.
    pub async fn insert_orders(
        &mut self,
        hotel_id: i64,
        orders: &[Order],
        change: &OrderChange<'_>,
    ) -> Result<(), Error> {
        let mut rows = Vec::with_capacity(orders.len());
        let mut history = Vec::with_capacity(orders.len());
        for order in orders {
            rows.push(vec![
                order.order_id.into(),
                hotel_id.into(),
                order.object_type.as_str().into(),
                (&order.keys.group_code).into(),
                (&order.keys.confirmation_number).into(),
                (&order.keys.reservation_no).into(),
                (&order.status).into(),
                (&order.status_source).into(),
                (&order.arrival).into(),
                (&order.departure).into(),
                serde_json::to_string(&order.fields)?.into(),
                order.version.into(),
                order.created_inbox_id.into(),
                change.at.into(),
                change.at.into(),
            ]);
            history.push(history_row(order, change));
        }
        self.insert(
            "INSERT INTO hotel_order (order_id, hotel_id, object_type, group_code, confirmation_number, reservation_no,
             status, status_source, arrival, departure, fields, version, created_inbox_id, created_at, updated_at)",
            rows,
        )
        .await?;
        self.insert(HISTORY, history).await?;
        let ids: Vec<i64> = orders.iter().map(|order| order.order_id).collect();
        self.index(Kind::Order, &ids).await
    }

    /// What a change made of an order, as JSON text: a list of {field, from, to}.
    pub async fn order_changes_at(&mut self, order_id: i64, version: i64) -> Result<Option<String>, Error> {
        let sql = "SELECT changes FROM order_change WHERE order_id = $1 AND version = $2";
        let row: Option<Changes> = self.first(sql, &[order_id.into(), version.into()]).await?;
        Ok(row.map(|row| row.changes))
    }

    /// Stores an order whose version was raised by one; `false` when another writer was first.
    pub async fn update_order(&mut self, order: &Order, change: &OrderChange<'_>) -> Result<bool, Error> {
        let changed = self
            .execute(
                "UPDATE hotel_order SET group_code = $3, confirmation_number = $4, reservation_no = $5, status = $6,
                 arrival = $7, departure = $8, fields = $9, version = $2, updated_at = $10
                 WHERE order_id = $1 AND version = $2 - 1",
                &[
                    order.order_id.into(),
                    order.version.into(),
                    (&order.keys.group_code).into(),
                    (&order.keys.confirmation_number).into(),
                    (&order.keys.reservation_no).into(),
                    (&order.status).into(),
                    (&order.arrival).into(),
                    (&order.departure).into(),
                    serde_json::to_string(&order.fields)?.into(),
                    change.at.into(),
                ],
            )
            .await?;
        if changed == 1 {
            self.insert(HISTORY, vec![history_row(order, change)]).await?;
            self.index(Kind::Order, &[order.order_id]).await?;
        }
        Ok(changed == 1)
    }
}

const HISTORY: &str = "INSERT INTO order_change (order_id, version, task_id, actor, at, changes)";

fn history_row(order: &Order, change: &OrderChange<'_>) -> Vec<Value> {
    vec![
        order.order_id.into(),
        order.version.into(),
        change.task_id.into(),
        change.actor.into(),
        change.at.into(),
        change.changes.to_string().into(),
    ]
}
