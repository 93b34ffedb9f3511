//! The task board, the task card, and what a person decides there.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::highlight;
use super::typed;
use super::visit::{Failure, Visit, page, see_other};
use super::words;
use crate::app::board::{self, Board, Wanted};
use crate::app::card::{Card, card};
use crate::app::tasks::{self, Decision, MoveView, Verdict};
use crate::domain::task::TaskStatus;
use crate::domain::warning::Severity;
use crate::error::Error;

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

#[derive(Template)]
#[template(path = "card.html")]
struct CardPage<'v> {
    visit: &'v Visit,
    card: &'v Card,
    /// Why the last decision was not taken.
    notice: Option<String>,
    /// What others did since the person opened the card.
    since: Vec<&'v MoveView>,
    /// What the person has typed.
    reason: &'v str,
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
    let mut query = form_urlencoded::Serializer::new(String::new());
    for name in ["type", "agency", "mine", "today"].into_iter().filter(|name| is_on(name)) {
        query.append_pair(name, fields.text(name));
    }
    page(StatusCode::OK, &BoardPage { visit, board, status, task_types, query: query.finish() })
}

/// GET /console/tasks/{id}
pub(super) async fn show(visit: &Visit) -> Result<Response, Error> {
    let card = card(&visit.hotel, &visit.request, visit.id()?).await?;
    let (reason, notice) = match &visit.typed {
        Some(reason) => {
            let kept = visit.say(
                "刚才的提交未被执行。您输入的内容已保留，请重新提交。",
                "What you sent was not done. What you typed is kept; send it again.",
            );
            (reason.as_str(), Some(kept.to_owned()))
        }
        None => ("", None),
    };
    let shown = page(StatusCode::OK, &CardPage { visit, card: &card, notice, since: Vec::new(), reason })?;
    Ok(typed::forgotten(shown, visit))
}

/// POST /console/tasks/{id}: verdict, version, reason.
///
/// A decision that cannot be taken is answered with the card as it is now, what others did, and what was typed.
pub(super) async fn decide(visit: &Visit) -> Result<Response, Error> {
    let (task_id, seen) = (visit.id()?, visit.fields.text("version").parse().unwrap_or(0));
    let verdict = match visit.fields.text("verdict") {
        "confirm" => Verdict::Confirm,
        "reject" => Verdict::Reject,
        _ => return Err(Error::FormExpired),
    };
    let reason = visit.fields.text("reason");
    let decision = Decision {
        task_id,
        verdict,
        actor: visit.person().to_owned(),
        version: Some(seen),
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
    };
    let error = if verdict == Verdict::Reject && reason.is_empty() {
        Error::ReasonRequired(json!({}))
    } else {
        match tasks::decide(&visit.hotel, visit.request.clone(), decision).await {
            Ok(_) => return see_other(&format!("/console/tasks/{task_id}")),
            Err(error) => error,
        }
    };
    if !matches!(
        error,
        Error::VersionConflict(_)
            | Error::MoveNotAllowed { .. }
            | Error::ConfirmBlocked(_)
            | Error::ReasonRequired(_)
    ) {
        return Err(error);
    }
    let card = card(&visit.hotel, &visit.request, task_id).await?;
    let since: Vec<&MoveView> = card.detail.history.iter().filter(|step| step.version > seen).collect();
    // A double click: the second form finds what the first one did.
    let (wanted, me) = (verdict_status(verdict).as_str(), visit.person());
    if matches!(since[..], [only] if only.to == wanted && only.actor == me) {
        return see_other(&format!("/console/tasks/{task_id}"));
    }
    let notice = Some(notice(visit, verdict, &error));
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::CONFLICT);
    let mut response = page(status, &CardPage { visit, card: &card, notice, since, reason })?;
    response.extensions_mut().insert(Failure(error.code()));
    Ok(response)
}

/// Why a decision was not taken, in the words of the card.
fn notice(visit: &Visit, verdict: Verdict, error: &Error) -> String {
    let text = match (error, verdict) {
        (Error::VersionConflict(_), _) => visit.say(
            "任务已被他人更改，未执行您的操作；您输入的内容已保留。",
            "Somebody else changed the task meanwhile; yours was not done, and what you typed is kept.",
        ),
        (Error::ReasonRequired(_), Verdict::Confirm) => visit.say(
            "存在需要说明理由的警告，请填写理由后再确认。",
            "A warning needs a reason; give one to confirm.",
        ),
        (Error::ReasonRequired(_), Verdict::Reject) => {
            visit.say("退回任务需要填写理由。", "A rejection needs a reason.")
        }
        (other, _) => return other.message(visit.language),
    };
    text.to_owned()
}

fn verdict_status(verdict: Verdict) -> TaskStatus {
    match verdict {
        Verdict::Confirm => TaskStatus::Confirmed,
        Verdict::Reject => TaskStatus::Rejected,
    }
}

impl CardPage<'_> {
    /// Whether the task waits for a decision that this person may take.
    fn may_decide(&self) -> bool {
        self.visit.may("console-decide")
    }

    fn can_become(&self, next: TaskStatus) -> bool {
        TaskStatus::parse(&self.card.detail.task.task_status).is_some_and(|status| status.can_become(next))
    }

    fn can_confirm(&self) -> bool {
        self.can_become(TaskStatus::Confirmed) && !self.card.is_stopped()
    }

    fn can_reject(&self) -> bool {
        self.can_become(TaskStatus::Rejected)
    }
}

impl BoardPage<'_> {
    fn is_chosen(&self, name: &str, value: &str) -> bool {
        self.visit.fields.text(name) == value
    }

    /// The path of the list of a status under the same filters.
    fn list_of(&self, status: TaskStatus) -> String {
        format!("/console/tasks?status={}&{}", status.as_str(), self.query)
    }
}
