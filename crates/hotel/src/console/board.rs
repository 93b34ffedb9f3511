//! The task board, and acknowledging several of its tasks at once.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use super::visit::{Visit, page, see_other};
use super::words;
use crate::app::board::{self, Board, Wanted};
use crate::app::tasks;
use crate::domain::task::TaskStatus;
use crate::error::Error;

/// The filters of the board, by the names of their fields.
const FILTERS: [&str; 4] = ["type", "agency", "mine", "today"];

#[derive(Template)]
#[template(path = "board.html")]
struct BoardPage<'v> {
    visit: &'v Visit,
    board: Board,
    status: TaskStatus,
    /// The catalogue's kinds of tasks.
    task_types: Vec<&'v str>,
    /// The filters as a query, without status and place.
    query: String,
}

/// GET /console/tasks: status, type, agency, mine, today, after.
pub(super) async fn board(visit: &Visit) -> Result<Response, Error> {
    let fields = &visit.fields;
    let status = TaskStatus::parse(fields.text("status")).unwrap_or(TaskStatus::PendingConfirmation);
    let is_on = |name: &str| !fields.text(name).is_empty();
    let wanted = Wanted {
        status,
        task_type: fields.text("type").to_owned(),
        agency: fields.text("agency").to_owned(),
        assignee: if is_on("mine") { visit.person() } else { "" }.to_owned(),
        due_today: is_on("today"),
        after: fields.text("after").to_owned(),
    };
    let board = board::board(&visit.hotel, wanted).await?;
    let mut task_types: Vec<&str> =
        visit.hotel.catalog.entries().iter().map(|entry| entry.task_type.as_str()).collect();
    task_types.dedup();
    page(StatusCode::OK, &BoardPage { visit, board, status, task_types, query: filters(visit) })
}

/// The filters as a query, without status and place.
fn filters(visit: &Visit) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for name in FILTERS.into_iter().filter(|name| !visit.fields.text(name).is_empty()) {
        query.append_pair(name, visit.fields.text(name));
    }
    query.finish()
}

/// POST /console/tasks: task, once for each as `ID.VERSION`. Leads back to the list, which says how many were acknowledged and
/// which were left because somebody moved them meanwhile.
pub(super) async fn acknowledge(visit: &Visit) -> Result<Response, Error> {
    let seen = visit.fields.pairs().filter(|(name, _)| *name == "task");
    let seen = seen.filter_map(|(_, value)| {
        let (task_id, version) = value.split_once('.')?;
        Some((task_id.parse().ok()?, version.parse().ok()?))
    });
    let bulk =
        tasks::acknowledge(&visit.hotel, visit.request.clone(), visit.person(), seen.collect()).await?;
    let left: Vec<String> = bulk.left.iter().map(ToString::to_string).collect();
    let (status, done) = (TaskStatus::Informational.as_str(), bulk.done.len());
    let filters = filters(visit);
    see_other(&format!(
        "/console/tasks?status={status}&{filters}&acknowledged={done}&left={}",
        left.join(".")
    ))
}

impl BoardPage<'_> {
    fn is_chosen(&self, name: &str, value: &str) -> bool {
        self.visit.fields.text(name) == value
    }

    /// The path of the list of a status under the same filters.
    fn list_of(&self, status: TaskStatus) -> String {
        format!("/console/tasks?status={}&{}", status.as_str(), self.query)
    }

    /// The filters that are on, as fields of a form.
    fn filters(&self) -> Vec<(&str, &str)> {
        let fields = &self.visit.fields;
        FILTERS
            .into_iter()
            .map(|name| (name, fields.text(name)))
            .filter(|(_, value)| !value.is_empty())
            .collect()
    }

    /// Whether tasks of the list can be acknowledged here.
    fn can_acknowledge(&self) -> bool {
        self.status == TaskStatus::Informational && self.visit.may("console-decide")
    }

    /// How many tasks were acknowledged just now.
    fn acknowledged(&self) -> Option<u32> {
        self.visit.fields.text("acknowledged").parse().ok()
    }

    /// Those that were not, because somebody moved them meanwhile.
    fn left(&self) -> Vec<i64> {
        self.visit.fields.text("left").split('.').filter_map(|id| id.parse().ok()).collect()
    }
}
