//! The list of orders, and one order with its tasks and its history.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

use super::visit::{Visit, page};
use super::words;
use crate::app::orders::{self, OrderPage, Orders, Wanted};
use crate::domain::order::ORDER_STATUSES;
use crate::error::Error;

/// The filters of the list.
const FILTERS: [&str; 4] = ["status", "from", "to", "q"];

#[derive(Template)]
#[template(path = "orders.html")]
struct ListPage<'v> {
    visit: &'v Visit,
    list: Orders,
    /// The filters as a query, without the place.
    query: String,
}

#[derive(Template)]
#[template(path = "order.html")]
struct ShowPage<'v> {
    visit: &'v Visit,
    shown: OrderPage,
}

/// GET /console/orders: status, from, to, q, after.
pub(super) async fn list(visit: &Visit) -> Result<Response, Error> {
    let text = |name: &str| visit.fields.text(name).to_owned();
    let wanted = Wanted {
        status: text("status"),
        arrival_from: text("from"),
        arrival_to: text("to"),
        text: text("q"),
        after: text("after"),
    };
    let list = orders::list(&visit.hotel, wanted).await?;
    let mut query = form_urlencoded::Serializer::new(String::new());
    for name in FILTERS.into_iter().filter(|name| !visit.fields.text(name).is_empty()) {
        query.append_pair(name, visit.fields.text(name));
    }
    page(StatusCode::OK, &ListPage { visit, list, query: query.finish() })
}

/// GET /console/orders/{id}: before.
pub(super) async fn show(visit: &Visit) -> Result<Response, Error> {
    let before = visit.fields.text("before").parse().ok();
    let shown = orders::show(&visit.hotel, visit.id()?, before).await?;
    page(StatusCode::OK, &ShowPage { visit, shown })
}

impl ListPage<'_> {
    fn is_chosen(&self, status: &str) -> bool {
        self.visit.fields.text("status") == status
    }
}

impl ShowPage<'_> {
    /// A value as lines that a person reads: each item of a list on its own, its fields by their names.
    fn lines(&self, value: &Value) -> Vec<String> {
        match value {
            Value::Array(items) => items.iter().map(|item| self.line(item)).collect(),
            other => vec![self.line(other)],
        }
    }

    /// A value of a field that changed; a status is said in words.
    fn values(&self, field: &str, value: &Value) -> Vec<String> {
        match (field, value) {
            ("status", Value::String(code)) => {
                vec![words::order_status(code, self.visit.language).to_owned()]
            }
            (_, value) => self.lines(value),
        }
    }

    fn line(&self, value: &Value) -> String {
        let Value::Object(fields) = value else { return words::plain(value) };
        let named = |(name, value): (&String, &Value)| {
            format!("{}: {}", words::field(name, self.visit.language), words::plain(value))
        };
        fields.iter().map(named).collect::<Vec<_>>().join(" · ")
    }
}
