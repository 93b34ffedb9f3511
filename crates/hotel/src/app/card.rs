//! A task card with what a person decides by: the proposal, the mail it came from, the other tasks of the conversation.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::conversation::note_access;
use super::inbox::Message;
use super::tasks::{TaskDetail, TaskView, detail};
use super::{Hotel, Request};
use crate::domain::warning::{Severity, Warning};
use crate::error::Error;
use crate::store::boxed;
use crate::store::tasks::TaskPlace;

/// Other tasks of the conversation that are shown.
const SIBLINGS: i64 = 50;
/// Most characters of the mail's text.
const TEXT_CHARS: usize = 200_000;

/// A task with what surrounds it.
#[derive(Debug, Clone)]
pub struct Card {
    /// The task, its card and its history.
    pub detail: TaskDetail,
    /// What the agent proposes.
    pub changes: Vec<Change>,
    /// The passages of this mail that it goes by.
    pub quotes: Vec<String>,
    /// The passages of other mails that it goes by.
    pub quotes_elsewhere: Vec<String>,
    /// What stands against it, the STOP ones first.
    pub warnings: Vec<Warning>,
    /// The question of a manual review.
    pub question: Option<String>,
    /// The mail.
    pub message: Message,
    /// The conversation's other tasks.
    pub siblings: Vec<TaskView>,
}

/// A field that the agent would change.
#[derive(Debug, Clone, Deserialize)]
pub struct Change {
    /// Its name.
    pub field: String,
    /// What the agent takes it to be now.
    #[serde(default)]
    pub from: Value,
    /// What it is to become.
    #[serde(default)]
    pub to: Value,
}

#[derive(Deserialize)]
struct Quote {
    /// The mail it stands in; none for the one that was submitted for.
    #[serde(default)]
    source_message_id: Option<String>,
    quote: String,
}

impl Card {
    /// Whether a STOP stands against confirming.
    pub fn is_stopped(&self) -> bool {
        self.warnings.iter().any(|warning| warning.severity == Severity::Stop)
    }
}

/// The card of a task. The reading of its mail is noted before this returns.
pub async fn card(hotel: &Arc<Hotel>, request: &Request, task_id: i64) -> Result<Card, Error> {
    let (detail, row, siblings) = hotel
        .db
        .read(move |tx| {
            let hotel = Arc::clone(hotel);
            boxed(async move {
                let hotel_id = tx.resolve_hotel(None).await?;
                let task = tx.task(hotel_id, task_id).await?;
                let row = tx.message(hotel_id, task.inbox_id).await?.ok_or(Error::SourceMessageNotFound)?;
                let siblings = tx.conversation_tasks(row.conversation_id, TaskPlace::START, SIBLINGS).await?;
                Ok((detail(tx, &hotel, hotel_id, task_id).await?, row, siblings))
            })
        })
        .await?;
    note_access(hotel, request, vec![row.inbox_id]).await?;
    let mut warnings: Vec<Warning> = serde_json::from_value(detail.warnings.clone())?;
    warnings.sort_by_key(|warning| warning.severity != Severity::Stop);
    let quotes: Vec<Quote> = serde_json::from_value(detail.evidence.clone())?;
    let own = &detail.task.external_source_message_id;
    let (here, elsewhere): (Vec<Quote>, Vec<Quote>) =
        quotes.into_iter().partition(|quote| quote.source_message_id.as_ref().is_none_or(|id| id == own));
    let texts = |quotes: Vec<Quote>| quotes.into_iter().map(|quote| quote.quote).collect();
    let question = detail.manual_review.get("question").and_then(Value::as_str).map(str::to_owned);
    Ok(Card {
        changes: serde_json::from_value(detail.proposed_changes.clone())?,
        quotes: texts(here),
        quotes_elsewhere: texts(elsewhere),
        warnings,
        question,
        message: Message::new(row, Vec::new(), TEXT_CHARS)?,
        siblings: siblings.iter().filter(|task| task.task_id != task_id).map(TaskView::from_row).collect(),
        detail,
    })
}
