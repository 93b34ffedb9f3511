//! The tasks and the messages of an e-mail conversation (contract sections 5 and 6).

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::case_context::TaskSummary;
use super::submit::only_message;
use super::{Hotel, Request};
use crate::domain::warning::{Warning, WarningCode};
use crate::error::{Error, Fault, SourceMessageChoice};
use crate::store::conversations::ConversationRow;
use crate::store::inbox::{InboxRow, Place};
use crate::store::tasks::{TaskPlace, TaskRow};
use crate::store::{Transaction, boxed};

/// Arguments of both conversation tools; null equals absent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Query {
    /// The caller's hotel; must be the system's.
    pub hotel_id: Option<String>,
    /// Narrows when given.
    pub source_provider: Option<String>,
    /// Narrows when given.
    pub source_channel: Option<String>,
    /// Wins over source_message_id.
    pub external_conversation_id: Option<String>,
    /// An external message id that leads to its conversation.
    pub source_message_id: Option<String>,
    /// next_cursor of the page before (an addition to the contract).
    pub cursor: Option<String>,
}

/// One page of a conversation's tasks.
#[derive(Debug, Clone, Serialize)]
pub struct Tasks {
    /// The id that callers use; null when the conversation is unknown.
    pub external_conversation_id: Option<String>,
    /// How many there are in all.
    pub task_count: i64,
    /// By receipt of the message, then creation, then id.
    pub tasks: Vec<TaskSummary>,
    /// More follow.
    pub truncated: bool,
    /// Leads to the next page.
    pub next_cursor: Option<String>,
}

/// One page of a conversation's messages.
#[derive(Debug, Clone, Serialize)]
pub struct Messages {
    /// The id that callers use; null when the conversation is unknown.
    pub external_conversation_id: Option<String>,
    /// How many there are in all.
    pub message_count: i64,
    /// By receipt, then id.
    pub messages: Vec<Message>,
    /// More follow.
    pub truncated: bool,
    /// Leads to the next page.
    pub next_cursor: Option<String>,
    /// For the envelope: which messages lost hidden content.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// A message as queries show it: never raw HTML, attachments or URLs (contract section 6.3).
#[derive(Debug, Clone, Serialize)]
pub struct Message {
    /// The id to submit with.
    pub external_source_message_id: String,
    /// ISO time.
    pub received_at: String,
    /// `Name <address>`.
    pub from: Option<String>,
    /// Decoded subject.
    pub subject: String,
    /// Plain text.
    pub text_body: String,
    /// Whether text_body was cut to fit the answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub text_truncated: bool,
    /// Sanitised HTML.
    pub html_body_sanitized: Option<String>,
    /// SANITIZED_HTML, TEXT_ONLY or EMPTY.
    pub html_render_mode: String,
    /// Why there is no full HTML.
    pub html_degraded_reason: Option<String>,
}

/// Rows read at once; a page ends by its byte budget.
const CHUNK: i64 = 100;
/// What the envelope around the items takes.
const ENVELOPE: usize = 1_024;

/// One page of tasks, at most `budget` bytes of JSON.
pub async fn tasks(hotel: &Hotel, query: Query, budget: usize) -> Result<Tasks, Error> {
    query.check()?;
    let (conversation, count, mut rows) = hotel
        .db
        .read(|tx| {
            let query = query.clone();
            boxed(async move {
                let Some(conversation) = find(tx, &query).await? else { return Ok((None, 0, Vec::new())) };
                let after = query.task_place(conversation.conversation_id)?;
                let count = tx.count_conversation_tasks(conversation.conversation_id).await?;
                let rows = read_tasks(tx, conversation.conversation_id, after, budget).await?;
                Ok((Some(conversation), count, rows))
            })
        })
        .await?;
    let summaries: Vec<TaskSummary> = rows.iter().map(TaskSummary::from_row).collect();
    let fitting = govern::budget::fit(&summaries, ENVELOPE, budget);
    let truncated = fitting < summaries.len();
    rows.truncate(fitting);
    let next_cursor = truncated.then(|| rows.last()).flatten().zip(conversation.as_ref());
    Ok(Tasks {
        external_conversation_id: conversation.as_ref().map(|found| found.external_conversation_id.clone()),
        task_count: count,
        next_cursor: next_cursor.map(|(row, found)| {
            cursor("t", &[found.conversation_id, row.received_at, row.created_at, row.task_id])
        }),
        tasks: summaries.into_iter().take(fitting).collect(),
        truncated,
    })
}

/// One page of messages, at most the request's budget of JSON. Each body in it is noted as read before this returns.
pub async fn messages(hotel: &Arc<Hotel>, request: &Request, query: Query) -> Result<Messages, Error> {
    query.check()?;
    let budget = request.budget;
    let (conversation, count, rows) = hotel
        .db
        .read(|tx| {
            let query = query.clone();
            boxed(async move {
                let Some(conversation) = find(tx, &query).await? else { return Ok((None, 0, Vec::new())) };
                let after = query.message_place(conversation.conversation_id)?;
                let count = tx.count_conversation_messages(conversation.conversation_id).await?;
                let rows = read_messages(tx, conversation.conversation_id, after, budget).await?;
                Ok((Some(conversation), count, rows))
            })
        })
        .await?;
    let all: Vec<Message> = rows.iter().map(Message::from_row).collect();
    let fitting = govern::budget::fit(&all, ENVELOPE, budget);
    let mut page: Vec<Message> = all.into_iter().take(fitting).collect();
    if let [only] = &mut page[..] {
        only.shrink(budget.saturating_sub(ENVELOPE));
    }
    let read: Vec<i64> = rows.iter().take(fitting).map(|row| row.inbox_id).collect();
    note_access(hotel, request, read).await?;
    let truncated = fitting < rows.len();
    let last = truncated.then(|| &rows[fitting - 1]).zip(conversation.as_ref());
    Ok(Messages {
        external_conversation_id: conversation.as_ref().map(|found| found.external_conversation_id.clone()),
        message_count: count,
        messages: page,
        warnings: rows.iter().take(fitting).filter_map(hidden_content).collect(),
        truncated,
        next_cursor: last
            .map(|(row, found)| cursor("m", &[found.conversation_id, row.received_at, row.inbox_id])),
    })
}

/// Notes that the bodies of these messages were read. Commits before it returns: no note, no body.
pub(super) async fn note_access(
    hotel: &Arc<Hotel>,
    request: &Request,
    inbox_ids: Vec<i64>,
) -> Result<(), Error> {
    if inbox_ids.is_empty() {
        return Ok(());
    }
    let now = hotel.clock.now_ms();
    let access = Arc::new((inbox_ids, request.caller.clone(), request.request_id.clone()));
    hotel
        .db
        .write(move |tx| {
            let access = Arc::clone(&access);
            boxed(async move { tx.insert_accesses(&access.0, &access.1, &access.2, now).await })
        })
        .await
}

fn hidden_content(row: &InboxRow) -> Option<Warning> {
    let text = format!("邮件 {} 中含有被移除的隐藏内容。", row.external_message_id);
    let hidden = row.warnings.contains("HIDDEN_CONTENT_REMOVED");
    hidden.then(|| Warning::new(WarningCode::HiddenContentRemoved, text).on(&row.external_message_id))
}

/// The conversation that is meant; none for an unknown conversation id.
async fn find(tx: &mut Transaction<'_>, query: &Query) -> Result<Option<ConversationRow>, Error> {
    let hotel_id = tx.resolve_hotel(query.hotel_id.as_deref()).await?;
    let (provider, channel) = (given(query.source_provider.as_ref()), given(query.source_channel.as_ref()));
    if let Some(external_id) = given(query.external_conversation_id.as_ref()) {
        let found = tx.conversations_by_external_id(hotel_id, external_id, provider, channel).await?;
        return preferred(
            found,
            |row| (row.provider.clone(), row.channel.clone()),
            |row| row.external_conversation_id.clone(),
        )
        .map(|mut rows| rows.pop());
    }
    let external_id = given(query.source_message_id.as_ref()).unwrap_or_default();
    let found = tx.find_messages(hotel_id, external_id, provider, channel).await?;
    let found = preferred(
        found,
        |row| (row.provider.clone(), row.channel.clone()),
        |row| row.external_message_id.clone(),
    )?;
    let message = only_message(found)?;
    tx.conversation(message.conversation_id).await.map(Some)
}

/// The rows of the one (provider, channel) pair that is meant: the only one, else AGENTBUS/EMAIL.
fn preferred<R>(
    rows: Vec<R>,
    pair: impl Fn(&R) -> (String, String),
    name: impl Fn(&R) -> String,
) -> Result<Vec<R>, Error> {
    let one_pair = rows.windows(2).all(|two| pair(&two[0]) == pair(&two[1]));
    if one_pair {
        return Ok(rows);
    }
    let is_default = |row: &R| pair(row) == ("AGENTBUS".to_owned(), "EMAIL".to_owned());
    if rows.iter().any(is_default) {
        return Ok(rows.into_iter().filter(is_default).collect());
    }
    let choice = |row: &R| {
        let (provider, channel) = pair(row);
        SourceMessageChoice { external_message_id: name(row), provider, channel }
    };
    Err(Error::SourceMessageAmbiguous(rows.iter().map(choice).collect()))
}

async fn read_tasks(
    tx: &mut Transaction<'_>,
    conversation_id: i64,
    after: TaskPlace,
    budget: usize,
) -> Result<Vec<TaskRow>, Error> {
    // A summary takes some 250 bytes, so one look is enough but for very large budgets.
    let limit = i64::try_from(budget / 128).unwrap_or(CHUNK).clamp(CHUNK, 10_000);
    tx.conversation_tasks(conversation_id, after, limit + 1).await
}

async fn read_messages(
    tx: &mut Transaction<'_>,
    conversation_id: i64,
    mut after: Place,
    budget: usize,
) -> Result<Vec<InboxRow>, Error> {
    let (mut rows, mut bytes): (Vec<InboxRow>, usize) = (Vec::new(), 0);
    // Bodies are large: read few at a time, and no more than can be answered and one that cannot.
    while bytes <= budget {
        let mut more = tx.conversation_messages(conversation_id, after, 8).await?;
        let Some(last) = more.last() else { break };
        after = Place { received_at: last.received_at, inbox_id: last.inbox_id };
        bytes += more
            .iter()
            .map(|row| row.text_body.len() + row.html_body.as_ref().map_or(0, String::len))
            .sum::<usize>();
        rows.append(&mut more);
    }
    Ok(rows)
}

impl Query {
    fn check(&self) -> Result<(), Error> {
        if given(self.external_conversation_id.as_ref()).or(given(self.source_message_id.as_ref())).is_some()
        {
            return Ok(());
        }
        Err(Error::InvalidArgument(Fault {
            path: "$".into(),
            code: "MISSING_FIELD",
            expected: "external_conversation_id or source_message_id that is not empty".into(),
        }))
    }

    fn message_place(&self, conversation_id: i64) -> Result<Place, Error> {
        let Some([received_at, inbox_id]) = self.place("m", conversation_id)? else {
            return Ok(Place::START);
        };
        Ok(Place { received_at, inbox_id })
    }

    fn task_place(&self, conversation_id: i64) -> Result<TaskPlace, Error> {
        let place = self.place("t", conversation_id)?;
        let Some([received_at, created_at, task_id]) = place else { return Ok(TaskPlace::START) };
        Ok(TaskPlace { received_at, created_at, task_id })
    }

    /// The numbers in the cursor, which is bound to the tool and the conversation.
    fn place<const N: usize>(&self, kind: &str, conversation_id: i64) -> Result<Option<[i64; N]>, Error> {
        let Some(cursor) = given(self.cursor.as_ref()) else { return Ok(None) };
        let read = || {
            let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
            let mut parts = text.split('.');
            let bound = parts.next()? == kind && parts.next()? == conversation_id.to_string();
            let numbers: Vec<i64> = parts.map(str::parse).collect::<Result<_, _>>().ok()?;
            bound.then(|| <[i64; N]>::try_from(numbers).ok()).flatten()
        };
        read().map(Some).ok_or_else(|| {
            Error::InvalidArgument(Fault {
                path: "$.cursor".into(),
                code: "INVALID_VALUE",
                expected: "next_cursor of the page before, of the same tool and conversation".into(),
            })
        })
    }
}

/// An opaque place: the kind, then the conversation, then the sort key of the last row.
fn cursor(kind: &str, numbers: &[i64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    URL_SAFE_NO_PAD.encode(format!("{kind}.{}", numbers.join(".")))
}

/// A text that is there and not blank.
fn given(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

impl Message {
    fn from_row(row: &InboxRow) -> Self {
        Self {
            external_source_message_id: row.external_message_id.clone(),
            received_at: govern::time::iso(row.received_at),
            from: row.sender.clone(),
            subject: row.subject.clone(),
            text_body: row.text_body.clone(),
            text_truncated: false,
            html_body_sanitized: row.html_body.clone(),
            html_render_mode: row.html_render_mode.clone(),
            html_degraded_reason: row.html_degraded_reason.clone(),
        }
    }

    /// Makes a message that alone is over the budget fit: first without its HTML, then with its text cut.
    fn shrink(&mut self, budget: usize) {
        let size = |message: &Self| govern::budget::json_len(message);
        if size(self) > budget && self.html_body_sanitized.take().is_some() {
            self.html_degraded_reason = Some("OVER_BUDGET".to_owned());
            "TEXT_ONLY".clone_into(&mut self.html_render_mode);
        }
        while size(self) > budget && !self.text_body.is_empty() {
            // JSON may write a character as six bytes, so the text is halved until it fits.
            let mut keep = (self.text_body.len() / 2).min(budget);
            while !self.text_body.is_char_boundary(keep) {
                keep -= 1;
            }
            self.text_body.truncate(keep);
            self.text_truncated = true;
        }
    }
}
