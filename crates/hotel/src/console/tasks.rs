//! The task card, and what a person does there.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use super::fields::Fields;
use super::highlight;
use super::typed::SHOW_AGAIN;
use super::values;
use super::visit::{Failure, Visit, page, see_other};
use super::words;
use crate::app::card::{Card, Change, card};
use crate::app::tasks::{self, ACTS, Act, Assignment, Decision, Edit, MoveView};
use crate::app::users;
use crate::domain::proposal::typed;
use crate::domain::role::Role;
use crate::domain::task::TaskStatus;
use crate::domain::warning::{Severity, Warning, WarningCode};
use crate::error::Error;

#[derive(Template)]
#[template(path = "card.html")]
struct CardPage<'v> {
    visit: &'v Visit,
    card: &'v Card,
    /// Whom the task can be given to.
    people: Vec<String>,
    /// Why the last decision was not taken.
    notice: Option<String>,
    /// What others did since the person opened the card.
    since: Vec<&'v MoveView>,
    /// What the person has typed.
    typed: Fields,
}

/// GET /console/tasks/{id}
pub(super) async fn show(visit: &Visit) -> Result<Response, Error> {
    let card = card(&visit.hotel, &visit.request, visit.id()?).await?;
    let people = users::names(&visit.hotel).await?;
    let typed = Fields::default();
    page(StatusCode::OK, &CardPage { visit, card: &card, people, notice: None, since: Vec::new(), typed })
}

/// POST /console/tasks/{id}: act, version, reason, and `to:FIELD` for each value as it stands in the form.
///
/// What cannot be done is answered with the card as it is now, what others did, and what was typed.
pub(super) async fn decide(visit: &Visit) -> Result<Response, Error> {
    let (task_id, fields) = (visit.id()?, &visit.fields);
    if fields.text("act") == SHOW_AGAIN {
        let kept = visit.say(
            "刚才的操作未被执行。您输入的内容已恢复，请核对后重新提交。",
            "Nothing was done before. What you typed is back; look it over and send it again.",
        );
        let shown = Shown { notice: kept.to_owned(), seen: None, against: Vec::new() };
        return show_typed(visit, task_id, StatusCode::OK, shown).await;
    }
    let act = Act::parse(fields.text("act")).ok_or(Error::FormExpired)?;
    let reason = fields.text("reason");
    let edits = match act {
        Act::Confirm => edits(&tasks::show(&visit.hotel, task_id).await?, fields)?,
        _ => Vec::new(),
    };
    let decision = Decision {
        task_id,
        act,
        actor: visit.person().to_owned(),
        is_admin: visit.session.as_ref().is_some_and(|session| session.role == Role::Admin),
        version: Some(seen(visit)),
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
        edits,
    };
    match tasks::decide(&visit.hotel, visit.request.clone(), decision).await {
        Ok(_) => see_other(&format!("/console/tasks/{task_id}")),
        Err(error) => not_done(visit, task_id, error, |step| step.to == act.to().as_str()).await,
    }
}

/// POST /console/tasks/{id}/assign: version, and `take` or assignee; an empty one gives the task back to everyone.
pub(super) async fn assign(visit: &Visit) -> Result<Response, Error> {
    let (task_id, fields) = (visit.id()?, &visit.fields);
    let name = if fields.text("take").is_empty() { fields.text("assignee") } else { visit.person() };
    let assignment = Assignment {
        task_id,
        actor: visit.person().to_owned(),
        version: Some(seen(visit)),
        assignee: (!name.is_empty()).then(|| name.to_owned()),
    };
    match tasks::assign(&visit.hotel, visit.request.clone(), assignment).await {
        Ok(_) => see_other(&format!("/console/tasks/{task_id}")),
        Err(error) => not_done(visit, task_id, error, |step| step.detail["assignee"]["to"] == name).await,
    }
}

/// The version that the person saw.
fn seen(visit: &Visit) -> i64 {
    visit.fields.text("version").parse().unwrap_or(0)
}

/// The values that the person set: those that differ from the agent's, and those of needs that were missing.
fn edits(task: &tasks::TaskDetail, fields: &Fields) -> Result<Vec<Edit>, Error> {
    let changes: Vec<Change> = serde_json::from_value(task.proposed_changes.clone())?;
    let mut edits = Vec::new();
    for (name, text) in fields.pairs() {
        let Some(field) = name.strip_prefix("to:") else { continue };
        let proposed = changes.iter().find(|change| change.field == field);
        let (shown, to) = match proposed {
            // A browser sends line ends as CR LF.
            Some(change) => (words::input(&change.to).replace('\n', "\r\n"), typed(&change.to, text)),
            None => (String::new(), typed(&serde_json::Value::Null, text)),
        };
        if text != shown && text.replace("\r\n", "\n") != shown.replace("\r\n", "\n") {
            edits.push(Edit { field: field.to_owned(), to });
        }
    }
    Ok(edits)
}

/// What follows from an act that was not done. `is_it` tells the move that the act would have made.
async fn not_done(
    visit: &Visit,
    task_id: i64,
    error: Error,
    is_it: impl Fn(&MoveView) -> bool,
) -> Result<Response, Error> {
    let shown = matches!(
        error,
        Error::VersionConflict(_)
            | Error::MoveNotAllowed { .. }
            | Error::ConfirmBlocked(_)
            | Error::ReasonRequired(_)
            | Error::ReasonMissing(_)
            | Error::UndoByOther(_)
            | Error::OrderChangedSince
            | Error::AssigneeUnknown(_)
    );
    if !shown {
        return Err(error);
    }
    // A double click: the second form finds what the first one did.
    let history = tasks::show(&visit.hotel, task_id).await?.history;
    let since: Vec<&MoveView> = history.iter().filter(|step| step.version > seen(visit)).collect();
    if matches!(since[..], [only] if only.actor == visit.person() && is_it(only)) {
        return see_other(&format!("/console/tasks/{task_id}"));
    }
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::CONFLICT);
    let against = serde_json::from_value(error.details()["warnings"].clone()).unwrap_or_default();
    let shown = Shown { notice: notice(visit, &error), seen: Some(seen(visit)), against };
    show_typed(visit, task_id, status, shown).await.map(|mut response| {
        response.extensions_mut().insert(Failure(error.code()));
        response
    })
}

/// Why a card is shown again.
struct Shown {
    notice: String,
    /// The version that the person saw, when it matters what happened since.
    seen: Option<i64>,
    /// What stands against the values as the person typed them.
    against: Vec<Warning>,
}

/// The card with what the person has typed, and what happened since the version they saw.
async fn show_typed(
    visit: &Visit,
    task_id: i64,
    status: StatusCode,
    shown: Shown,
) -> Result<Response, Error> {
    let Shown { notice, seen, against } = shown;
    let mut card = card(&visit.hotel, &visit.request, task_id).await?;
    if !against.is_empty() {
        // The card's own warnings are about the agent's values.
        card.warnings.retain(|own| {
            let is_told = against.iter().any(|new| (new.code, &new.field) == (own.code, &own.field));
            !is_told && (own.severity == Severity::Confirm || !own.code.is_of_content())
        });
        card.warnings.splice(0..0, against);
    }
    let people = users::names(&visit.hotel).await?;
    let since =
        card.detail.history.iter().filter(|step| seen.is_some_and(|seen| step.version > seen)).collect();
    let typed = visit.fields.clone();
    page(status, &CardPage { visit, card: &card, people, notice: Some(notice), since, typed })
}

/// Why an act was not done, in the words of the card.
fn notice(visit: &Visit, error: &Error) -> String {
    let text = match error {
        Error::VersionConflict(_) => visit.say(
            "任务已被他人更改，未执行您的操作；您输入的内容已保留。",
            "Somebody else changed the task meanwhile; yours was not done, and what you typed is kept.",
        ),
        Error::ReasonRequired(_) => visit.say(
            "存在需要说明理由的警告，请填写理由后再确认。",
            "A warning needs a reason; give one to confirm.",
        ),
        Error::ReasonMissing(_) => visit.say("此操作需要填写理由。", "This needs a reason; give one."),
        other => return other.message(visit.language),
    };
    text.to_owned()
}

impl CardPage<'_> {
    fn status(&self) -> Option<TaskStatus> {
        TaskStatus::parse(&self.card.detail.task.task_status)
    }

    /// What this person can do with the task now.
    fn acts(&self) -> Vec<Act> {
        let may = self.visit.may("console-decide");
        let open = |act: &Act| may && self.status().is_some_and(|status| act.is_open_from(status));
        let can = |act: &Act| *act != Act::Confirm || !self.is_stopped();
        ACTS.into_iter().filter(open).filter(can).collect()
    }

    /// Whether a STOP stands that no other value could mend. Of a field that is proposed twice the form shows two values, and
    /// which one counts is not for the program to guess.
    fn is_stopped(&self) -> bool {
        let mut fields: Vec<&str> = self.card.changes.iter().map(|change| change.field.as_str()).collect();
        fields.sort_unstable();
        let is_double = fields.windows(2).any(|pair| pair[0] == pair[1]);
        let mut stops = self.card.warnings.iter().filter(|warning| warning.severity == Severity::Stop);
        is_double || stops.any(|warning| !warning.code.is_of_content())
    }

    /// Whether values can be edited.
    fn can_edit(&self) -> bool {
        self.acts().contains(&Act::Confirm)
    }

    /// Whether the task can be given to somebody.
    fn can_assign(&self) -> bool {
        self.visit.may("console-decide") && self.status().is_some_and(TaskStatus::is_open)
    }

    /// A field's value in the form: what the person has typed, else the agent's.
    fn value(&self, change: &Change) -> String {
        let name = format!("to:{}", change.field);
        let typed = self.typed.pairs().find(|(own, _)| *own == name).map(|(_, value)| value.to_owned());
        typed.unwrap_or_else(|| words::input(&change.to))
    }

    /// What the person has typed for a field that the agent did not name.
    fn added(&self, field: &str) -> String {
        self.typed.exact(&format!("to:{field}")).to_owned()
    }

    /// The fields that a clerk needs and the agent did not name.
    fn missing(&self) -> Vec<&str> {
        let needs = self.card.warnings.iter().filter(|warning| warning.code == WarningCode::NeedMissing);
        let needs = needs.filter_map(|warning| warning.field.as_deref()).flat_map(|need| need.split('|'));
        let named = |field: &str| self.card.changes.iter().any(|change| change.field == field);
        needs.filter(|field| *field != "proposed_changes" && !named(field)).collect()
    }

    /// What was typed into fields that the form does not have any more.
    fn typed_before(&self) -> Vec<(&str, &str)> {
        let edits = self.typed.pairs().filter_map(|(name, value)| Some((name.strip_prefix("to:")?, value)));
        let lost = |(field, value): &(&str, &str)| {
            let own = self.card.changes.iter().find(|change| change.field == *field);
            !self.can_edit() && own.is_none_or(|change| words::input(&change.to) != *value)
        };
        edits.filter(|(_, value)| !value.is_empty()).filter(lost).collect()
    }

    fn reason(&self) -> &str {
        self.typed.text("reason")
    }
}
