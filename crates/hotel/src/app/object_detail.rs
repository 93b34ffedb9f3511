//! One order with everything known about it (contract section 4).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Hotel;
use super::case_context::{OrderRecord, order_warnings, projection_missing};
use super::target::Orders;
use crate::domain::order::{ObjectType, parse_object_id};
use crate::domain::warning::{Warning, WarningCode};
use crate::error::{Error, Fault};
use crate::store::boxed;

/// Arguments of th_hotel_query_object_detail; null equals absent.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// The caller's hotel; must be the system's.
    #[serde(default)]
    pub hotel_id: Option<String>,
    /// `ORDER:{order_id}`.
    pub object_id: String,
    /// What the caller takes the object for; never filters.
    #[serde(default)]
    pub object_type: Option<String>,
}

/// The answer's data, and the warnings for the envelope.
#[derive(Debug, Clone, Serialize)]
pub struct ObjectDetail {
    /// The fields of matched_order_records.
    #[serde(flatten)]
    pub order: OrderRecord,
    /// The known order fields by name.
    pub fields: Map<String, Value>,
    /// Counts the order's changes.
    pub version: i64,
    /// Inbox id of the message that created it, as text; null for imports. Not an external id (contract 4.4).
    pub source_message_id: Option<String>,
    /// What stands against changing it.
    pub hard_validation_warnings: Vec<Warning>,
    /// For the envelope.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// Looks the object up; another hotel's is not found.
pub async fn query(hotel: &Hotel, query: Query) -> Result<ObjectDetail, Error> {
    let order_id = parse_object_id(query.object_id.trim()).ok_or_else(|| {
        Error::InvalidArgument(Fault {
            path: "$.object_id".into(),
            code: "INVALID_VALUE",
            expected: "ORDER:{order_id} with decimal digits, as object_id of case-context gives it".into(),
        })
    })?;
    let (order, tasks) = hotel
        .db
        .read(|tx| {
            let requested = query.hotel_id.clone();
            boxed(async move {
                let hotel_id = tx.resolve_hotel(requested.as_deref()).await?;
                let order = tx.order(hotel_id, order_id).await?.ok_or(Error::ObjectNotFound)?;
                let tasks = tx.open_tasks_of_orders(&[order_id]).await?;
                Ok((order, tasks))
            })
        })
        .await?;
    let orders = Orders::new(vec![order.clone()], &tasks);
    let mut found = order_warnings(&order, &orders);
    let hint = query.object_type.as_deref().and_then(|hint| ObjectType::parse(&hint.trim().to_uppercase()));
    if hint.is_some_and(|hint| hint != order.object_type) {
        found.push(Warning::new(WarningCode::KeyConflict, "object_type 与订单的类型不一致。"));
    }
    Ok(ObjectDetail {
        order: OrderRecord::new(&order, !orders.has_open_cancel(order_id)),
        version: order.version,
        source_message_id: order.created_inbox_id.map(|id| id.to_string()),
        hard_validation_warnings: found,
        fields: order.fields,
        warnings: vec![projection_missing()],
    })
}
