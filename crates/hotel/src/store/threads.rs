//! The inbox as threads: conversations by their newest message, and the messages of one, the newest first.

use super::inbox::{InboxRow, Place, select_inbox};
use super::{Transaction, Value, record};
use crate::error::Error;

record! {
    /// A conversation as the inbox shows it: its newest message, without the body.
    #[derive(Debug, Clone)]
    pub struct ThreadRow {
        /// Internal id.
        conversation_id: i64,
        /// The newest message.
        inbox_id: i64,
        /// When that was received.
        received_at: i64,
        /// Its sender, `Name <address>`.
        sender: Option<String>,
        /// Its decoded subject.
        subject: String,
        /// How its text begins.
        beginning: String,
        /// Why there is no full HTML of it.
        html_degraded_reason: Option<String>,
        /// JSON list of its {name, size, type}.
        attachments: String,
    }
}

record! {
    /// How much there is in a conversation.
    #[derive(Debug, Clone, Copy)]
    pub struct ThreadCount {
        /// Internal id.
        conversation_id: i64,
        /// How many.
        count: i64,
    }
}

impl Place {
    /// After the last row.
    pub const END: Self = Self { received_at: i64::MAX, inbox_id: i64::MAX };
}

impl Transaction<'_> {
    /// Conversations of a hotel whose newest message is before a place, the newest first.
    pub async fn threads(
        &mut self,
        hotel_id: i64,
        before: Place,
        limit: i64,
    ) -> Result<Vec<ThreadRow>, Error> {
        let sql = "SELECT m.conversation_id, m.inbox_id, m.received_at, m.sender, m.subject,
                     SUBSTR(m.text_body, 1, 200) AS beginning, m.html_degraded_reason, m.attachments
                   FROM platform_source_message_inbox m
                   WHERE m.hotel_id = $1
                     AND (m.received_at < $2 OR (m.received_at = $2 AND m.inbox_id < $3))
                     AND NOT EXISTS (
                       SELECT 1 FROM platform_source_message_inbox n WHERE n.conversation_id = m.conversation_id
                         AND (n.received_at > m.received_at OR (n.received_at = m.received_at AND n.inbox_id > m.inbox_id)))
                   ORDER BY m.received_at DESC, m.inbox_id DESC LIMIT $4";
        let values = [hotel_id.into(), before.received_at.into(), before.inbox_id.into(), limit.into()];
        Ok(self.all(sql, &values).await?)
    }

    /// How many messages each of these conversations has.
    pub async fn count_messages_of(&mut self, conversation_ids: &[i64]) -> Result<Vec<ThreadCount>, Error> {
        let list: Vec<Value> = conversation_ids.iter().map(|id| (*id).into()).collect();
        let sql = "SELECT conversation_id, COUNT(*) AS count FROM platform_source_message_inbox
                   WHERE conversation_id IN ({list}) GROUP BY conversation_id";
        Ok(self.all_in(sql, &[], &list).await?)
    }

    /// How many tasks of these conversations are not terminal; one without any is left out.
    pub async fn count_open_tasks_of(&mut self, conversation_ids: &[i64]) -> Result<Vec<ThreadCount>, Error> {
        let list: Vec<Value> = conversation_ids.iter().map(|id| (*id).into()).collect();
        let sql = "SELECT m.conversation_id, COUNT(*) AS count
                   FROM task t JOIN platform_source_message_inbox m ON m.inbox_id = t.inbox_id
                   WHERE t.status NOT IN ('DONE', 'REJECTED', 'SUPERSEDED', 'CANCELLED', 'CLOSED', 'ACKNOWLEDGED')
                     AND m.conversation_id IN ({list}) GROUP BY m.conversation_id";
        Ok(self.all_in(sql, &[], &list).await?)
    }

    /// Messages of a hotel's conversation before a place, the newest first.
    pub async fn conversation_messages_before(
        &mut self,
        hotel_id: i64,
        conversation_id: i64,
        before: Place,
        limit: i64,
    ) -> Result<Vec<InboxRow>, Error> {
        let sql = select_inbox!(
            "WHERE hotel_id = $1 AND conversation_id = $2 AND (received_at < $3 OR (received_at = $3 AND inbox_id < $4)) \
             ORDER BY received_at DESC, inbox_id DESC LIMIT $5"
        );
        let values = [
            hotel_id.into(),
            conversation_id.into(),
            before.received_at.into(),
            before.inbox_id.into(),
            limit.into(),
        ];
        Ok(self.all(sql, &values).await?)
    }
}
