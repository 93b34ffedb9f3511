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
                let place = query.place("t")?;
                let Some(conversation) = find(tx, &query).await? else { return Ok((None, 0, Vec::new())) };
                let after = match place {
                    Some([conversation_id, received_at, created_at, task_id]) => {
                        must_be(&conversation, conversation_id)?;
                        TaskPlace { received_at, created_at, task_id }
                    }
                    None => TaskPlace::START,
                };
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
                let place = query.place("m")?;
                let Some(conversation) = find(tx, &query).await? else { return Ok((None, 0, Vec::new())) };
                let after = match place {
                    Some([conversation_id, received_at, inbox_id]) => {
                        must_be(&conversation, conversation_id)?;
                        Place { received_at, inbox_id }
                    }
                    None => Place::START,
                };
                let count = tx.count_conversation_messages(conversation.conversation_id).await?;
                let rows = read_messages(tx, conversation.conversation_id, after, budget).await?;
                Ok((Some(conversation), count, rows))
            })
        })
        .await?;
    // The envelope says of each message in the page what was removed from it.
    let all: Vec<_> = rows.iter().map(|row| (Message::from_row(row), hidden_content(row))).collect();
    let fitting = govern::budget::fit(&all, ENVELOPE, budget);
    let (mut page, warnings): (Vec<_>, Vec<_>) = all.into_iter().take(fitting).unzip();
    if let [only] = &mut page[..] {
        only.shrink(budget.saturating_sub(ENVELOPE + govern::budget::json_len(&warnings)));
    }
    let read: Vec<i64> = rows.iter().take(fitting).map(|row| row.inbox_id).collect();
    note_access(hotel, request, read).await?;
    let truncated = fitting < rows.len();
    let last = truncated.then(|| &rows[fitting - 1]).zip(conversation.as_ref());
    Ok(Messages {
        external_conversation_id: conversation.as_ref().map(|found| found.external_conversation_id.clone()),
        message_count: count,
        messages: page,
        warnings: warnings.into_iter().flatten().collect(),
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

    /// The numbers in the cursor, the first of them its conversation. Whether the conversation is known or not,
    /// a text that is no cursor of this tool is refused.
    fn place<const N: usize>(&self, kind: &str) -> Result<Option<[i64; N]>, Error> {
        let Some(cursor) = given(self.cursor.as_ref()) else { return Ok(None) };
        let read = || {
            let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
            let (own, numbers) = text.split_once('.')?;
            let numbers: Vec<i64> = numbers.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
            (own == kind).then(|| <[i64; N]>::try_from(numbers).ok()).flatten()
        };
        read().map(Some).ok_or_else(wrong_cursor)
    }
}

/// A cursor leads on in its own conversation only.
fn must_be(conversation: &ConversationRow, conversation_id: i64) -> Result<(), Error> {
    if conversation.conversation_id == conversation_id { Ok(()) } else { Err(wrong_cursor()) }
}

fn wrong_cursor() -> Error {
    Error::InvalidArgument(Fault {
        path: "$.cursor".into(),
        code: "INVALID_VALUE",
        expected: "next_cursor of the page before, of the same tool and conversation".into(),
    })
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

    /// Makes a message that alone is over the budget fit: without its HTML, then with what is too long cut.
    fn shrink(&mut self, budget: usize) {
        let size = |message: &Self| govern::budget::json_len(message);
        if size(self) > budget && self.html_body_sanitized.take().is_some() {
            self.html_degraded_reason = Some("OVER_BUDGET".to_owned());
            "TEXT_ONLY".clone_into(&mut self.html_render_mode);
        }
        if size(self) <= budget {
            return;
        }
        // The text has half of the budget at least, whatever the sender wrote around it.
        let part = budget / 8;
        for line in
            [&mut self.subject, &mut self.external_source_message_id].into_iter().chain(&mut self.from)
        {
            if govern::budget::json_len(line) > part {
                line.truncate(longest_fitting(line, part.saturating_sub('…'.len_utf8())));
                line.push('…');
            }
        }
        let without_text = Self { text_body: String::new(), text_truncated: true, ..self.clone() };
        // json_len counts the quotes, which the message without its text has too.
        let room = (budget + 2).saturating_sub(size(&without_text));
        let keep = longest_fitting(&self.text_body, room);
        self.text_truncated = keep < self.text_body.len();
        self.text_body.truncate(keep);
    }
}

/// The length of the longest start of `text` that is at most `budget` bytes as JSON, its quotes included.
fn longest_fitting(text: &str, budget: usize) -> usize {
    let (mut fits, mut too_long) = (0, text.len() + 1);
    while too_long - fits > 1 {
        let middle = text.floor_char_boundary(usize::midpoint(fits, too_long));
        // No character ends between the two.
        let middle = if middle == fits { text.ceil_char_boundary(fits + 1) } else { middle };
        if middle >= too_long {
            break;
        }
        if govern::budget::json_len(&&text[..middle]) <= budget {
            fits = middle;
        } else {
            too_long = middle;
        }
    }
    fits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(parts: [String; 4], html: Option<String>) -> Message {
        let [external_source_message_id, from, subject, text_body] = parts;
        Message {
            external_source_message_id,
            received_at: govern::time::iso(0),
            from: Some(from),
            subject,
            text_body,
            text_truncated: false,
            html_body_sanitized: html,
            html_render_mode: "SANITIZED_HTML".into(),
            html_degraded_reason: None,
        }
    }

    fn part() -> impl Strategy<Value = String> {
        ("[a\"\u{1}名😀\n]{0,6}", 1_usize..2_000).prop_map(|(text, times)| text.repeat(times))
    }

    proptest! {
        #[test]
        fn any_message_fits_and_its_text_is_cut_no_more_than_needed(
            parts in [part(), part(), part(), part()], html in proptest::option::of(part()), budget in 1_024_usize..20_000,
        ) {
            let whole = message(parts, html);
            let mut cut = whole.clone();
            cut.shrink(budget);
            let size = govern::budget::json_len(&cut);
            prop_assert!(size <= budget, "{size} of {budget}");
            prop_assert!(whole.text_body.starts_with(&cut.text_body));
            prop_assert_eq!(cut.text_truncated, cut.text_body != whole.text_body);
            // The dearest character takes six bytes.
            prop_assert!(!cut.text_truncated || size + 6 > budget, "{size} of {budget}");
        }

        #[test]
        fn the_longest_start_that_fits_is_found(text in "[a\"\u{1}名😀]{0,40}", budget in 2_usize..120) {
            let ends = text.char_indices().map(|(end, _)| end).chain([text.len()]);
            let longest = ends.filter(|end| govern::budget::json_len(&&text[..*end]) <= budget).max();
            prop_assert_eq!(Some(longest_fitting(&text, budget)), longest);
        }
    }

    #[test]
    fn a_text_that_is_no_cursor_is_refused_before_the_conversation_is_looked_for() {
        for cursor in ["x", "!", "dC4x", &cursor("m", &[1, 2, 3, 4]), &cursor("t", &[1, 2, 3])] {
            let query = Query { cursor: Some(cursor.to_owned()), ..Query::default() };
            assert!(query.place::<4>("t").is_err(), "{cursor}");
        }
        let query = Query { cursor: Some(cursor("t", &[1, 2, 3, 4])), ..Query::default() };
        assert_eq!(query.place("t").unwrap(), Some([1, 2, 3, 4]));
    }
}
