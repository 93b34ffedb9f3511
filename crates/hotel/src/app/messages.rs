//! The inbox as a person at the command line sees it.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::conversation::note_access;
use super::submit::only_message;
use super::{Hotel, Request};
use crate::error::Error;
use crate::store::boxed;
use crate::store::inbox::{InboxHead, InboxRow};

/// One line of the inbox.
#[derive(Debug, Clone, Serialize)]
pub struct MessageSummary {
    /// Inbox id, as text.
    pub inbox_id: String,
    /// The id to query and submit with.
    pub external_message_id: String,
    /// The conversation's external id.
    pub conversation: String,
    /// ISO time.
    pub received_at: String,
    /// `Name <address>`.
    pub from: Option<String>,
    /// Decoded subject.
    pub subject: String,
    /// SANITIZED_HTML, TEXT_ONLY or EMPTY.
    pub render_mode: String,
    /// Why the body is less than what was sent.
    pub render_reason: Option<String>,
}

/// A message with all that is kept of it but its raw form.
#[derive(Debug, Clone, Serialize)]
pub struct MessageDetail {
    /// Inbox id, as text.
    pub inbox_id: String,
    /// The id to query and submit with.
    pub external_message_id: String,
    /// Message-ID without angle brackets; `sha256:…` of the raw message when it has none.
    pub message_id: String,
    /// Message ids.
    pub in_reply_to: Value,
    /// Message ids, oldest first.
    pub references: Value,
    /// Decoded subject.
    pub subject: String,
    /// `Name <address>`.
    pub from: Option<String>,
    /// `Name <address>` each.
    pub to: Value,
    /// `Name <address>` each.
    pub cc: Value,
    /// ISO time; null when the mail has no readable date.
    pub date: Option<String>,
    /// The conversation's external id.
    pub conversation: String,
    /// Plain text.
    pub text: String,
    /// Sanitised HTML.
    pub html: Option<String>,
    /// SANITIZED_HTML, TEXT_ONLY or EMPTY.
    pub render_mode: String,
    /// Why the body is less than what was sent.
    pub render_reason: Option<String>,
    /// name, size, type each; never the content.
    pub attachments: Value,
    /// code, message each.
    pub warnings: Value,
}

/// The newest messages, at most `limit`.
pub async fn list(hotel: &Hotel, limit: i64) -> Result<Vec<MessageSummary>, Error> {
    let heads = hotel
        .db
        .read(move |tx| {
            boxed(async move {
                let hotel_id = tx.resolve_hotel(None).await?;
                tx.newest_messages(hotel_id, limit).await
            })
        })
        .await?;
    Ok(heads.into_iter().map(MessageSummary::from_head).collect())
}

/// One message by its external id or, when no message has that, its inbox id. The reading of its body is noted
/// before this returns, as for an agent.
pub async fn show(hotel: &Arc<Hotel>, request: &Request, id: &str) -> Result<MessageDetail, Error> {
    let id = id.trim().to_owned();
    let (row, conversation) = hotel
        .db
        .read(move |tx| {
            boxed(async move {
                let hotel_id = tx.resolve_hotel(None).await?;
                let found = tx.find_messages(hotel_id, &id, None, None).await?;
                let inbox_id = match (found.is_empty(), id.parse()) {
                    (true, Ok(inbox_id)) => inbox_id,
                    _ => only_message(found)?.inbox_id,
                };
                let row = tx.message(hotel_id, inbox_id).await?.ok_or(Error::SourceMessageNotFound)?;
                let conversation = tx.conversation(row.conversation_id).await?;
                Ok((row, conversation.external_conversation_id))
            })
        })
        .await?;
    note_access(hotel, request, vec![row.inbox_id]).await?;
    MessageDetail::from_row(row, conversation)
}

impl MessageSummary {
    fn from_head(head: InboxHead) -> Self {
        Self {
            inbox_id: head.inbox_id.to_string(),
            external_message_id: head.external_message_id,
            conversation: head.external_conversation_id,
            received_at: govern::time::iso(head.received_at),
            from: head.sender,
            subject: head.subject,
            render_mode: head.html_render_mode,
            render_reason: head.html_degraded_reason,
        }
    }
}

impl MessageDetail {
    fn from_row(row: InboxRow, conversation: String) -> Result<Self, Error> {
        let warnings: Value = serde_json::from_str(&row.warnings)?;
        let undated = warnings.as_array().into_iter().flatten().any(|warning| warning["code"] == "NO_DATE");
        Ok(Self {
            inbox_id: row.inbox_id.to_string(),
            external_message_id: row.external_message_id,
            message_id: row.bare_message_id,
            in_reply_to: serde_json::from_str(&row.in_reply_to)?,
            references: serde_json::from_str(&row.reference_ids)?,
            subject: row.subject,
            from: row.sender,
            to: serde_json::from_str(&row.recipients)?,
            cc: serde_json::from_str(&row.cc)?,
            date: (!undated).then(|| govern::time::iso(row.received_at)),
            conversation,
            text: row.text_body,
            html: row.html_body,
            render_mode: row.html_render_mode,
            render_reason: row.html_degraded_reason,
            attachments: serde_json::from_str(&row.attachments)?,
            warnings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::ingest;
    use crate::testing::{Rig, on_each_database};

    async fn keep(rig: &Rig, raw: &str) -> ingest::Ingested {
        ingest::mail(&rig.hotel, rig.request("local"), "FILE", raw.as_bytes().to_vec()).await.unwrap()
    }

    async fn accesses(rig: &Rig) -> i64 {
        rig.hotel.db.read(|tx| boxed(tx.count_accesses())).await.unwrap()
    }

    #[tokio::test]
    async fn a_message_is_found_by_either_id_and_each_reading_is_noted() {
        on_each_database(async |rig| {
            rig.activate().await;
            let kept = keep(&rig, "Message-ID: <a@b.example>\nSubject: Hi\n\nText").await;
            let by_external = show(&rig.hotel, &rig.request("local"), "a@b.example").await.unwrap();
            let by_inbox = show(&rig.hotel, &rig.request("local"), &kept.inbox_id).await.unwrap();
            assert_eq!(by_external.inbox_id, by_inbox.inbox_id);
            assert_eq!((by_inbox.subject.as_str(), by_inbox.text.as_str()), ("Hi", "Text"));
            assert_eq!(accesses(&rig).await, 2);
        })
        .await;
    }

    #[tokio::test]
    async fn a_mail_without_a_date_has_none() {
        on_each_database(async |rig| {
            rig.activate().await;
            keep(&rig, "Message-ID: <a@b.example>\n\nText").await;
            let message = show(&rig.hotel, &rig.request("local"), "a@b.example").await.unwrap();
            assert_eq!(message.date, None);
        })
        .await;
    }

    #[tokio::test]
    async fn two_mails_under_one_id_are_told_apart_by_their_inbox_ids() {
        on_each_database(async |rig| {
            rig.activate().await;
            keep(&rig, "Message-ID: <a@b.example>\n\nOne").await;
            let second = keep(&rig, "Message-ID: <a@b.example>\n\nTwo").await;
            let error = show(&rig.hotel, &rig.request("local"), "a@b.example").await.unwrap_err();
            assert_eq!(error.code(), "SOURCE_MESSAGE_AMBIGUOUS");
            let message = show(&rig.hotel, &rig.request("local"), &second.inbox_id).await.unwrap();
            assert_eq!(message.text, "Two");
            assert_eq!(message.message_id, "a@b.example");
        })
        .await;
    }

    #[tokio::test]
    async fn an_id_of_no_message_is_not_found() {
        on_each_database(async |rig| {
            rig.activate().await;
            for id in ["nobody@b.example", "7"] {
                let error = show(&rig.hotel, &rig.request("local"), id).await.unwrap_err();
                assert_eq!(error.code(), "SOURCE_MESSAGE_NOT_FOUND", "{id}");
            }
            assert_eq!(accesses(&rig).await, 0);
        })
        .await;
    }
}
