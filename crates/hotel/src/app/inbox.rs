//! The inbox as the people of the console see it: threads, the messages of one, and the body of one.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;

use super::conversation::note_access;
use super::tasks::TaskView;
use super::{Hotel, Request};
use crate::error::Error;
use crate::store::boxed;
use crate::store::inbox::{InboxRow, Place};
use crate::store::threads::{ThreadCount, ThreadRow};

/// Threads on a page.
const THREADS: i64 = 50;
/// Messages on a page.
const MESSAGES: i64 = 20;
/// Most characters of a text among other messages; [`message`] gives the whole.
const TEXT_CHARS: usize = 20_000;

/// Some of the threads, the newest first.
#[derive(Debug, Clone)]
pub struct Threads {
    /// Threads.
    pub threads: Vec<Thread>,
    /// Leads to older ones, when there are any.
    pub next: Option<String>,
}

/// A conversation by its newest message.
#[derive(Debug, Clone)]
pub struct Thread {
    /// Internal id.
    pub conversation_id: i64,
    /// Decoded subject; may be empty.
    pub subject: String,
    /// `Name <address>`; may be empty.
    pub from: String,
    /// Unix milliseconds.
    pub received_at: i64,
    /// How the text begins, on one line.
    pub beginning: String,
    /// Why there is no full HTML.
    pub degraded: Option<String>,
    /// How many files the newest message has.
    pub attachments: usize,
    /// How many messages there are.
    pub messages: i64,
    /// How many tasks are not terminal.
    pub open_tasks: i64,
}

/// Some of a conversation's messages, the newest first.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// Internal id.
    pub conversation_id: i64,
    /// How many messages it has in all.
    pub count: i64,
    /// Messages.
    pub messages: Vec<Message>,
    /// Leads to older ones, when there are any.
    pub next: Option<String>,
}

/// A message with what came of it.
#[derive(Debug, Clone)]
pub struct Message {
    /// Internal id.
    pub inbox_id: i64,
    /// The conversation's.
    pub conversation_id: i64,
    /// Decoded subject; may be empty.
    pub subject: String,
    /// `Name <address>`; may be empty.
    pub from: String,
    /// `Name <address>` each.
    pub to: Vec<String>,
    /// `Name <address>` each.
    pub cc: Vec<String>,
    /// Unix milliseconds.
    pub received_at: i64,
    /// Plain text.
    pub text: String,
    /// Whether the text was cut.
    pub is_cut: bool,
    /// Whether there is sanitised HTML ([`body`]).
    pub has_html: bool,
    /// Why there is no full HTML.
    pub degraded: Option<String>,
    /// Files by name and size; never their content.
    pub attachments: Vec<Attachment>,
    /// Codes of what a reader should know, such as HIDDEN_CONTENT_REMOVED.
    pub warnings: Vec<String>,
    /// The tasks that came of it, oldest first.
    pub tasks: Vec<TaskView>,
}

/// A file that came with a message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Attachment {
    /// Its name as sent; only to be shown.
    pub name: String,
    /// Bytes.
    pub size: u64,
}

/// Threads that are older than a `next` of before, or the newest.
pub async fn threads(hotel: &Hotel, before: &str) -> Result<Threads, Error> {
    let before = place(before);
    let (rows, messages, open) = hotel
        .db
        .read(move |tx| {
            boxed(async move {
                let hotel_id = tx.resolve_hotel(None).await?;
                let rows = tx.threads(hotel_id, before, THREADS + 1).await?;
                let ids: Vec<i64> = rows.iter().map(|row| row.conversation_id).collect();
                Ok((rows, tx.count_messages_of(&ids).await?, tx.count_open_tasks_of(&ids).await?))
            })
        })
        .await?;
    let by_id = |counts: Vec<ThreadCount>| -> HashMap<i64, i64> {
        counts.into_iter().map(|row| (row.conversation_id, row.count)).collect()
    };
    let (messages, open) = (by_id(messages), by_id(open));
    let (rows, more) = page(rows, THREADS);
    let next = rows.last().filter(|_| more).map(|row| place_text(row.received_at, row.inbox_id));
    let threads = rows.into_iter().map(|row| {
        let count = |counts: &HashMap<i64, i64>| counts.get(&row.conversation_id).copied().unwrap_or(0);
        let (messages, open_tasks) = (count(&messages), count(&open));
        Thread::new(row, messages, open_tasks)
    });
    Ok(Threads { threads: threads.collect::<Result<_, _>>()?, next })
}

/// Messages of a conversation that are older than a `next` of before, or the newest. The reading of each is noted
/// before this returns.
pub async fn conversation(
    hotel: &Arc<Hotel>,
    request: &Request,
    conversation_id: i64,
    before: &str,
) -> Result<Conversation, Error> {
    let before = place(before);
    let (count, rows, tasks) = hotel
        .db
        .read(move |tx| {
            boxed(async move {
                let hotel_id = tx.resolve_hotel(None).await?;
                let count = tx.count_conversation_messages(conversation_id).await?;
                let rows =
                    tx.conversation_messages_before(hotel_id, conversation_id, before, MESSAGES + 1).await?;
                let ids: Vec<i64> = rows.iter().map(|row| row.inbox_id).collect();
                Ok((count, rows, tx.tasks_of_messages(&ids).await?))
            })
        })
        .await?;
    let (rows, more) = page(rows, MESSAGES);
    if rows.is_empty() {
        return Err(Error::ObjectNotFound);
    }
    note_access(hotel, request, rows.iter().map(|row| row.inbox_id).collect()).await?;
    let next = rows.last().filter(|_| more).map(|row| place_text(row.received_at, row.inbox_id));
    let messages = rows.into_iter().map(|row| {
        let own = tasks.iter().filter(|task| task.inbox_id == row.inbox_id).map(TaskView::from_row).collect();
        Message::new(row, own, TEXT_CHARS)
    });
    Ok(Conversation { conversation_id, count, messages: messages.collect::<Result<_, _>>()?, next })
}

/// One message with its whole text. The reading is noted before this returns.
pub async fn message(hotel: &Arc<Hotel>, request: &Request, inbox_id: i64) -> Result<Message, Error> {
    let (row, tasks) = hotel
        .db
        .read(move |tx| {
            boxed(async move {
                let hotel_id = tx.resolve_hotel(None).await?;
                let row = tx.message(hotel_id, inbox_id).await?.ok_or(Error::SourceMessageNotFound)?;
                Ok((row, tx.tasks_of_messages(&[inbox_id]).await?))
            })
        })
        .await?;
    note_access(hotel, request, vec![inbox_id]).await?;
    Message::new(row, tasks.iter().map(TaskView::from_row).collect(), usize::MAX)
}

/// The sanitised HTML of a message. The reading is noted before this returns.
pub async fn body(hotel: &Arc<Hotel>, request: &Request, inbox_id: i64) -> Result<String, Error> {
    let row = hotel.db.read(move |tx| {
        boxed(async move {
            let hotel_id = tx.resolve_hotel(None).await?;
            tx.message(hotel_id, inbox_id).await
        })
    });
    let html = row.await?.and_then(|row| row.html_body).ok_or(Error::SourceMessageNotFound)?;
    note_access(hotel, request, vec![inbox_id]).await?;
    Ok(html)
}

/// The rows of a page, and whether there are more: one row more than a page holds was asked for.
fn page<T>(mut rows: Vec<T>, most: i64) -> (Vec<T>, bool) {
    let most = usize::try_from(most).unwrap_or(0);
    let more = rows.len() > most;
    rows.truncate(most);
    (rows, more)
}

/// A place as text; what is none is the place before which everything is.
fn place(text: &str) -> Place {
    let numbers = text.split_once('.').and_then(|(at, id)| Some((at.parse().ok()?, id.parse().ok()?)));
    numbers.map_or(Place::END, |(received_at, inbox_id)| Place { received_at, inbox_id })
}

fn place_text(received_at: i64, inbox_id: i64) -> String {
    format!("{received_at}.{inbox_id}")
}

impl Thread {
    fn new(row: ThreadRow, messages: i64, open_tasks: i64) -> Result<Self, Error> {
        let attachments: Vec<Attachment> = serde_json::from_str(&row.attachments)?;
        Ok(Self {
            conversation_id: row.conversation_id,
            subject: row.subject,
            from: row.sender.unwrap_or_default(),
            received_at: row.received_at,
            beginning: row.beginning.split_whitespace().collect::<Vec<_>>().join(" "),
            degraded: row.html_degraded_reason,
            attachments: attachments.len(),
            messages,
            open_tasks,
        })
    }
}

impl Message {
    pub(super) fn new(row: InboxRow, tasks: Vec<TaskView>, most_chars: usize) -> Result<Self, Error> {
        let end = row.text_body.char_indices().nth(most_chars).map(|(end, _)| end);
        let warnings: Vec<MessageWarning> = serde_json::from_str(&row.warnings)?;
        let mut text = row.text_body;
        text.truncate(end.unwrap_or(text.len()));
        Ok(Self {
            inbox_id: row.inbox_id,
            conversation_id: row.conversation_id,
            subject: row.subject,
            from: row.sender.unwrap_or_default(),
            to: serde_json::from_str(&row.recipients)?,
            cc: serde_json::from_str(&row.cc)?,
            received_at: row.received_at,
            text,
            is_cut: end.is_some(),
            has_html: row.html_body.is_some(),
            degraded: row.html_degraded_reason,
            attachments: serde_json::from_str(&row.attachments)?,
            warnings: warnings.into_iter().map(|warning| warning.code).collect(),
            tasks,
        })
    }
}

#[derive(Deserialize)]
struct MessageWarning {
    code: String,
}
