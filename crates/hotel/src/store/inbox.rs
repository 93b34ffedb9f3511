//! Table platform_source_message_inbox with the raw messages and the access log.

use super::{Transaction, record};
use crate::domain::search::Kind;
use crate::error::Error;

record! {
    /// A message as it is kept. Lists are JSON text, times unix milliseconds.
    #[derive(Debug, Clone)]
    pub struct InboxRow {
        /// Internal id.
        inbox_id: i64,
        /// Provider, such as AGENTBUS or FILE.
        provider: String,
        /// Channel, such as EMAIL or OUTLOOK.
        channel: String,
        /// The id that callers use, unique in (hotel, provider, channel).
        external_message_id: String,
        /// The same without the suffix that tells two mails under one Message-ID apart.
        bare_message_id: String,
        /// Internal id of the conversation.
        conversation_id: i64,
        /// Decoded subject.
        subject: String,
        /// `Name <address>`.
        sender: Option<String>,
        /// The sender's organisation.
        agency: Option<String>,
        /// JSON list of `Name <address>`.
        recipients: String,
        /// JSON list of `Name <address>`.
        cc: String,
        /// JSON list of message ids.
        in_reply_to: String,
        /// JSON list of message ids.
        reference_ids: String,
        /// When it was received, else dated, else ingested.
        received_at: i64,
        /// Plain text.
        text_body: String,
        /// Sanitised HTML.
        html_body: Option<String>,
        /// SANITIZED_HTML, TEXT_ONLY or EMPTY.
        html_render_mode: String,
        /// Why there is no full HTML.
        html_degraded_reason: Option<String>,
        /// JSON list of {name, size, type}.
        attachments: String,
        /// JSON list of {code, message}.
        warnings: String,
        /// Hex SHA-256 of what was ingested.
        content_sha256: String,
        /// When it was ingested.
        created_at: i64,
    }
}

record! {
    /// What tells one message from another, with what a submission needs of it; never its body.
    #[derive(Debug, Clone)]
    pub struct InboxIdentity {
        /// Internal id.
        inbox_id: i64,
        /// Provider.
        provider: String,
        /// Channel.
        channel: String,
        /// The id that callers use.
        external_message_id: String,
        /// Internal id of the conversation.
        conversation_id: i64,
        /// The sender's organisation.
        agency: Option<String>,
        /// When it was received, else dated, else ingested.
        received_at: i64,
        /// JSON list of {code, message}.
        warnings: String,
        /// Hex SHA-256 of what was ingested.
        content_sha256: String,
    }
}

record! {
    /// What a list of messages shows of each; no body.
    #[derive(Debug, Clone)]
    pub struct InboxHead {
        /// Internal id.
        inbox_id: i64,
        /// The id that callers use.
        external_message_id: String,
        /// The conversation's external id.
        external_conversation_id: String,
        /// Unix milliseconds.
        received_at: i64,
        /// `Name <address>`.
        sender: Option<String>,
        /// Decoded subject.
        subject: String,
        /// SANITIZED_HTML, TEXT_ONLY or EMPTY.
        html_render_mode: String,
        /// Why there is no full HTML.
        html_degraded_reason: Option<String>,
    }
}

record! {
    struct Count { count: i64 }
}

/// The columns of [`InboxRow`].
macro_rules! select_inbox {
    ($rest:literal) => {
        concat!(
            "SELECT inbox_id, provider, channel, external_message_id, bare_message_id, conversation_id, subject, ",
            "sender, agency, recipients, cc, in_reply_to, reference_ids, received_at, text_body, html_body, ",
            "html_render_mode, html_degraded_reason, attachments, warnings, content_sha256, created_at ",
            "FROM platform_source_message_inbox ",
            $rest
        )
    };
}

pub(super) use select_inbox;

/// A place in a conversation or in the inbox, for reading on from there.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// received_at of the last row that was read.
    pub received_at: i64,
    /// inbox_id of that row.
    pub inbox_id: i64,
}

impl Place {
    /// Before the first row.
    pub const START: Self = Self { received_at: i64::MIN, inbox_id: i64::MIN };
}

impl Transaction<'_> {
    /// The messages that an external id means: its own, and all that share the bare id.
    pub async fn find_messages(
        &mut self,
        hotel_id: i64,
        external_id: &str,
        provider: Option<&str>,
        channel: Option<&str>,
    ) -> Result<Vec<InboxIdentity>, Error> {
        let sql =
            "SELECT inbox_id, provider, channel, external_message_id, conversation_id, agency, received_at,
                     warnings, content_sha256
                   FROM platform_source_message_inbox
                   WHERE hotel_id = $1 AND (external_message_id = $2 OR bare_message_id = $2)
                     AND ($3 = '' OR provider = $3) AND ($4 = '' OR channel = $4)
                   ORDER BY inbox_id";
        let values = [
            hotel_id.into(),
            external_id.into(),
            provider.unwrap_or("").into(),
            channel.unwrap_or("").into(),
        ];
        Ok(self.all(sql, &values).await?)
    }

    /// One message.
    pub async fn message(&mut self, hotel_id: i64, inbox_id: i64) -> Result<Option<InboxRow>, Error> {
        let sql = select_inbox!("WHERE hotel_id = $1 AND inbox_id = $2");
        Ok(self.first(sql, &[hotel_id.into(), inbox_id.into()]).await?)
    }

    /// Messages of a conversation after a place, in the order they were received.
    pub async fn conversation_messages(
        &mut self,
        conversation_id: i64,
        after: Place,
        limit: i64,
    ) -> Result<Vec<InboxRow>, Error> {
        let sql = select_inbox!(
            "WHERE conversation_id = $1 AND (received_at > $2 OR (received_at = $2 AND inbox_id > $3)) \
             ORDER BY received_at, inbox_id LIMIT $4"
        );
        let values = [conversation_id.into(), after.received_at.into(), after.inbox_id.into(), limit.into()];
        Ok(self.all(sql, &values).await?)
    }

    /// How many messages a conversation has.
    pub async fn count_conversation_messages(&mut self, conversation_id: i64) -> Result<i64, Error> {
        let sql = "SELECT COUNT(*) AS count FROM platform_source_message_inbox WHERE conversation_id = $1";
        Ok(self.one::<Count>(sql, &[conversation_id.into()]).await?.count)
    }

    /// The newest messages of a hotel.
    pub async fn newest_messages(&mut self, hotel_id: i64, limit: i64) -> Result<Vec<InboxHead>, Error> {
        let sql = "SELECT m.inbox_id, m.external_message_id, c.external_conversation_id, m.received_at, m.sender,
                     m.subject, m.html_render_mode, m.html_degraded_reason
                   FROM platform_source_message_inbox m JOIN conversation c ON c.conversation_id = m.conversation_id
                   WHERE m.hotel_id = $1 ORDER BY m.received_at DESC, m.inbox_id DESC LIMIT $2";
        Ok(self.all(sql, &[hotel_id.into(), limit.into()]).await?)
    }

    /// Keeps a message and, where there is one, its raw form, and indexes it.
    pub async fn insert_message(
        &mut self,
        hotel_id: i64,
        row: &InboxRow,
        raw: Option<Vec<u8>>,
    ) -> Result<(), Error> {
        self.execute(
            "INSERT INTO platform_source_message_inbox (inbox_id, hotel_id, provider, channel, external_message_id,
                bare_message_id, conversation_id, subject, sender, agency, recipients, cc, in_reply_to, reference_ids,
                received_at, text_body, html_body, html_render_mode, html_degraded_reason, attachments, warnings,
                content_sha256, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
                $22, $23)",
            &[
                row.inbox_id.into(),
                hotel_id.into(),
                (&row.provider).into(),
                (&row.channel).into(),
                (&row.external_message_id).into(),
                (&row.bare_message_id).into(),
                row.conversation_id.into(),
                (&row.subject).into(),
                (&row.sender).into(),
                (&row.agency).into(),
                (&row.recipients).into(),
                (&row.cc).into(),
                (&row.in_reply_to).into(),
                (&row.reference_ids).into(),
                row.received_at.into(),
                (&row.text_body).into(),
                (&row.html_body).into(),
                (&row.html_render_mode).into(),
                (&row.html_degraded_reason).into(),
                (&row.attachments).into(),
                (&row.warnings).into(),
                (&row.content_sha256).into(),
                row.created_at.into(),
            ],
        )
        .await?;
        if let Some(raw) = raw {
            let sql = "INSERT INTO source_message_raw (inbox_id, raw) VALUES ($1, $2)";
            self.execute(sql, &[row.inbox_id.into(), raw.into()]).await?;
        }
        self.index(Kind::Mail, &[row.inbox_id]).await
    }

    /// How many bodies were read.
    pub async fn count_accesses(&mut self) -> Result<i64, Error> {
        Ok(self.one::<Count>("SELECT COUNT(*) AS count FROM source_message_access", &[]).await?.count)
    }

    /// Notes who read which bodies.
    pub async fn insert_accesses(
        &mut self,
        inbox_ids: &[i64],
        reader: &str,
        request_id: &str,
        now: i64,
    ) -> Result<(), Error> {
        let first = self.take_ids(inbox_ids.len()).await?;
        let rows = (first..)
            .zip(inbox_ids)
            .map(|(id, inbox_id)| {
                vec![id.into(), (*inbox_id).into(), now.into(), reader.into(), request_id.into()]
            })
            .collect();
        let head = "INSERT INTO source_message_access (access_id, inbox_id, at, reader, request_id)";
        Ok(self.insert(head, rows).await?)
    }
}
