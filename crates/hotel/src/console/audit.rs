//! The audit explorer: the trail under some filters, how its chain stands, and one record whole.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use super::chart::{self, counted, duration};
use super::visit::{Visit, page};
use super::words;
use crate::app::trail::{self, Covering, Entry, MOST_UNSEALED, SEARCHED, Subject, Trail, Wanted, Whole};
use crate::error::Error;

/// The filters by their names in the address.
const FILTERS: [&str; 9] =
    ["from", "to", "caller", "operation", "outcome", "code", "channel", "target", "request_id"];
const OUTCOMES: [&str; 3] = ["ok", "refused", "error"];
const CHANNELS: [&str; 5] = ["mcp-http", "mcp-stdio", "rest", "cli", "console"];

#[derive(Template)]
#[template(path = "audit.html")]
struct TrailPage<'v> {
    visit: &'v Visit,
    trail: Trail,
    /// The filters as a query, without the place.
    query: String,
}

#[derive(Template)]
#[template(path = "audit_record.html")]
struct RecordPage<'v> {
    visit: &'v Visit,
    whole: Whole,
}

/// GET /console/audit: from, to, caller, operation, outcome, code, channel, target, `request_id`, before.
pub(super) async fn explore(visit: &Visit) -> Result<Response, Error> {
    let text = |name: &str| visit.fields.text(name).to_owned();
    let wanted = Wanted {
        from: text("from"),
        to: text("to"),
        caller: text("caller"),
        operation: text("operation"),
        outcome: text("outcome"),
        code: text("code"),
        channel: text("channel"),
        target: text("target"),
        request_id: text("request_id"),
        before: text("before"),
    };
    let trail = trail::trail(&visit.hotel, &wanted).await?;
    let mut query = form_urlencoded::Serializer::new(String::new());
    for name in FILTERS.into_iter().filter(|name| !visit.fields.text(name).is_empty()) {
        query.append_pair(name, visit.fields.text(name));
    }
    page(StatusCode::OK, &TrailPage { visit, trail, query: query.finish() })
}

/// GET /console/audit/{id}
pub(super) async fn record(visit: &Visit) -> Result<Response, Error> {
    let whole = trail::record(&visit.hotel, visit.id()?).await?;
    page(StatusCode::OK, &RecordPage { visit, whole })
}

impl TrailPage<'_> {
    fn is_chosen(&self, name: &str, value: &str) -> bool {
        self.visit.fields.text(name) == value
    }

    fn is_filtered(&self) -> bool {
        !self.query.is_empty()
    }

    /// How many records wait for their seal, as far as they are counted.
    fn waiting(&self) -> String {
        let unsealed = self.trail.chain.unsealed;
        let more = if unsealed >= MOST_UNSEALED { "+" } else { "" };
        format!("{}{more}", counted(unsealed))
    }

    /// How a search that stopped goes on.
    fn stopped(&self, at: i64) -> String {
        let (searched, back_to) = (counted(SEARCHED), self.visit.minute(at));
        self.visit.language.pick(
            format!("已查找 {searched} 条记录，至 {back_to} 为止。"),
            format!("Searched {searched} records, back to {back_to}."),
        )
    }

    /// What verifying the end of the trail found.
    fn verified(&self) -> String {
        let tail = &self.trail.chain.tail;
        let records = counted(tail.records);
        let text = match tail.first_bad {
            None if tail.ok => (
                format!("刚刚校验了最新的 {records} 条记录：与写入时一致。"),
                format!("The newest {records} records were verified just now: as they were written."),
            ),
            Some(place) => (
                format!("审计记录自第 {place} 条起与写入时不一致。"),
                format!("From record {place} on the trail is not as it was written."),
            ),
            None => ("审计记录与写入时不一致。".to_owned(), "The trail is not as it was written.".to_owned()),
        };
        self.visit.language.pick(text.0, text.1)
    }
}

impl RecordPage<'_> {
    fn subject_path(&self) -> Option<String> {
        self.whole.subject.map(|subject| match subject {
            Subject::Task(id) => format!("/console/tasks/{id}"),
            Subject::Order(id) => format!("/console/orders/{id}"),
            Subject::Message(id) => format!("/console/messages/{id}"),
        })
    }

    /// The address of the trail with one filter.
    #[expect(clippy::unused_self, reason = "a template calls methods of its page")]
    fn only(&self, name: &str, value: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair(name, value);
        format!("/console/audit?{}", query.finish())
    }

    fn sealed_at(&self, at: i64) -> String {
        self.visit.minute(at)
    }
}

impl Entry {
    /// How the record stands, with the style of its tag; none when there is nothing to say.
    fn standing(&self, visit: &Visit) -> Option<(&'static str, String)> {
        if !self.is_intact {
            return Some(("stop", visit.say("已被改动", "altered").to_owned()));
        }
        let waits = self.row.position.is_none();
        waits.then(|| ("confirm", visit.say("尚未封存", "not sealed yet").to_owned()))
    }

    fn outcome_style(&self) -> &'static str {
        match self.row.event.outcome.as_str() {
            "ok" => "done",
            "error" => "stop",
            _ => "confirm",
        }
    }

    fn duration(&self) -> String {
        duration(self.row.event.duration_us)
    }
}
