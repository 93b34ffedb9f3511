//! Looking for mails, orders and tasks by words.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use super::visit::{Visit, page};
use super::words;
use crate::app::search::{self, Found, Hit, Wanted};
use crate::domain::search::{Kind, MAX_QUERY_CHARS};
use crate::error::Error;

/// Where is looked, as `in` names it.
const PLACES: [(&str, Option<Kind>); 4] =
    [("all", None), ("mails", Some(Kind::Mail)), ("orders", Some(Kind::Order)), ("tasks", Some(Kind::Task))];

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage<'v> {
    visit: &'v Visit,
    found: Found,
    /// A name of [`PLACES`].
    place: &'static str,
}

/// GET /console/search: q, in, after.
pub(super) async fn search(visit: &Visit) -> Result<Response, Error> {
    let fields = &visit.fields;
    let named = PLACES.into_iter().find(|(name, _)| *name == fields.text("in"));
    let (place, kind) = named.unwrap_or(PLACES[0]);
    let wanted = Wanted { text: fields.text("q").to_owned(), kind, after: fields.text("after").to_owned() };
    let found = search::search(&visit.hotel, &visit.request, &wanted).await?;
    page(StatusCode::OK, &SearchPage { visit, found, place })
}

impl SearchPage<'_> {
    /// The names that a search can be narrowed to, with their words.
    fn places(&self) -> [(&'static str, &'static str); 4] {
        let say = |chinese, english| self.visit.language.pick(chinese, english);
        PLACES.map(|(name, kind)| match kind {
            None => (name, say("全部", "All")),
            Some(kind) => (name, self.kind(kind)),
        })
    }

    fn kind(&self, kind: Kind) -> &'static str {
        match kind {
            Kind::Mail => self.visit.language.pick("邮件", "Mails"),
            Kind::Order => self.visit.language.pick("订单", "Orders"),
            Kind::Task => self.visit.language.pick("任务", "Tasks"),
        }
    }

    /// The same search elsewhere.
    fn path(&self, place: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("q", self.visit.fields.text("q")).append_pair("in", place);
        format!("/console/search?{}", query.finish())
    }

    fn path_to(hit: &Hit) -> String {
        let folder = match hit.kind {
            Kind::Mail => "messages",
            Kind::Order => "orders",
            Kind::Task => "tasks",
        };
        format!("/console/{folder}/{}", hit.id)
    }

    /// What a hit is called when its title is empty.
    fn untitled(&self, hit: &Hit) -> String {
        match hit.kind {
            Kind::Mail => self.visit.say("（无主题）", "(no subject)").to_owned(),
            Kind::Order => format!("{} {}", self.visit.say("订单", "Order"), hit.id),
            Kind::Task => words::task_type(&hit.category, self.visit.language).to_owned(),
        }
    }

    /// What tells a hit from others of its kind; empty for a mail.
    fn category<'h>(&self, hit: &'h Hit) -> &'h str {
        match hit.kind {
            Kind::Mail => "",
            Kind::Order => words::object_type(&hit.category, self.visit.language),
            Kind::Task => words::task_type(&hit.category, self.visit.language),
        }
    }

    fn status<'h>(&self, hit: &'h Hit) -> (&'static str, &'h str) {
        match hit.kind {
            Kind::Order => (
                words::order_status_style(&hit.status),
                words::order_status(&hit.status, self.visit.language),
            ),
            _ => (words::status_style(&hit.status), words::status(&hit.status, self.visit.language)),
        }
    }
}
