//! Tables conversation and conversation_key: which messages belong together.

use std::collections::BTreeSet;

use super::{Realm, Transaction, Value, record};
use crate::error::Error;

record! {
    /// A conversation that a key leads to.
    #[derive(Debug, Clone)]
    pub struct ConversationRow {
        /// Internal id.
        conversation_id: i64,
        /// The id that callers use.
        external_conversation_id: String,
        /// Provider of its messages.
        provider: String,
        /// Channel of its messages.
        channel: String,
    }
}

record! {
    struct Found { conversation_id: i64 }
}

/// Where a message comes from: the contract isolates conversations by it (section 5.3).
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// The hotel.
    pub hotel_id: i64,
    /// Provider, such as AGENTBUS or FILE.
    pub provider: &'a str,
    /// Channel, such as EMAIL or OUTLOOK.
    pub channel: &'a str,
}

impl Transaction<'_> {
    /// Conversations known under an external id, over all providers and channels, or the given ones.
    pub async fn conversations_by_external_id(
        &mut self,
        hotel_id: i64,
        external_id: &str,
        provider: Option<&str>,
        channel: Option<&str>,
    ) -> Result<Vec<ConversationRow>, Error> {
        let sql = "SELECT c.conversation_id, c.external_conversation_id, c.provider, c.channel
                   FROM conversation_key k JOIN conversation c ON c.conversation_id = k.conversation_id
                   WHERE k.hotel_id = $1 AND k.kind = 'CONVERSATION' AND k.external_id = $2
                     AND ($3 = '' OR k.provider = $3) AND ($4 = '' OR k.channel = $4)
                   ORDER BY c.conversation_id";
        let values = [
            hotel_id.into(),
            external_id.into(),
            provider.unwrap_or("").into(),
            channel.unwrap_or("").into(),
        ];
        Ok(self.all(sql, &values).await?)
    }

    /// A conversation that a message belongs to.
    pub async fn conversation(&mut self, conversation_id: i64) -> Result<ConversationRow, Error> {
        let sql = "SELECT conversation_id, external_conversation_id, provider, channel FROM conversation
                   WHERE conversation_id = $1";
        Ok(self.one(sql, &[conversation_id.into()]).await?)
    }

    /// The conversation of a message that names its conversation itself. The caller has entered [`Realm::Mail`] with
    /// the id.
    pub async fn conversation_named(&mut self, origin: Origin<'_>, external_id: &str) -> Result<i64, Error> {
        let found = self
            .conversations_by_external_id(
                origin.hotel_id,
                external_id,
                Some(origin.provider),
                Some(origin.channel),
            )
            .await?;
        match found.first() {
            Some(row) => Ok(row.conversation_id),
            None => self.insert_conversation(origin, external_id).await,
        }
    }

    /// The conversation of a message that is joined by message ids (its own, then those it refers to).
    ///
    /// Sets that the message links are merged into the oldest; the ids of the others stay as aliases. A conversation
    /// that was named by another message is one of the sets, so that no id means two conversations. The caller has
    /// entered [`Realm::Mail`] with all ids.
    pub async fn conversation_joined(
        &mut self,
        origin: Origin<'_>,
        root: &str,
        message_ids: &[String],
    ) -> Result<i64, Error> {
        let mut found = self.conversations_of_ids(origin, message_ids).await?;
        if found.len() > 1 {
            // Another mail that merges one of these elsewhere may share no id with this one.
            self.serialise_on(Realm::Merges, origin.hotel_id, &[""]).await?;
            found = self.conversations_of_ids(origin, message_ids).await?;
        }
        let conversation_id = match found.first() {
            Some(oldest) => *oldest,
            None => self.insert_conversation(origin, root).await?,
        };
        for other in found.iter().skip(1) {
            self.merge_conversation(*other, conversation_id).await?;
        }
        self.insert_keys(origin, "MESSAGE", message_ids, conversation_id).await?;
        Ok(conversation_id)
    }

    /// The conversations that ids lead to, the oldest first.
    async fn conversations_of_ids(
        &mut self,
        origin: Origin<'_>,
        external_ids: &[String],
    ) -> Result<Vec<i64>, Error> {
        let list: Vec<Value> = external_ids.iter().map(Value::from).collect();
        let rows: Vec<Found> = self
            .all_in(
                "SELECT DISTINCT conversation_id FROM conversation_key
                 WHERE hotel_id = $1 AND kind IN ('MESSAGE', 'CONVERSATION') AND provider = $2 AND channel = $3
                   AND external_id IN ({list})",
                &[origin.hotel_id.into(), origin.provider.into(), origin.channel.into()],
                &list,
            )
            .await?;
        let ids: BTreeSet<i64> = rows.into_iter().map(|row| row.conversation_id).collect();
        Ok(ids.into_iter().collect())
    }

    async fn insert_conversation(&mut self, origin: Origin<'_>, external_id: &str) -> Result<i64, Error> {
        let conversation_id = self.take_ids(1).await?;
        self.execute(
            "INSERT INTO conversation (conversation_id, hotel_id, provider, channel, external_conversation_id)
             VALUES ($1, $2, $3, $4, $5)",
            &[
                conversation_id.into(),
                origin.hotel_id.into(),
                origin.provider.into(),
                origin.channel.into(),
                external_id.into(),
            ],
        )
        .await?;
        self.insert_keys(origin, "CONVERSATION", &[external_id.to_owned()], conversation_id).await?;
        Ok(conversation_id)
    }

    async fn insert_keys(
        &mut self,
        origin: Origin<'_>,
        kind: &str,
        external_ids: &[String],
        conversation_id: i64,
    ) -> Result<(), Error> {
        let head =
            "INSERT INTO conversation_key (hotel_id, provider, channel, kind, external_id, conversation_id)";
        let row = |external_id: &String| {
            vec![
                origin.hotel_id.into(),
                origin.provider.into(),
                origin.channel.into(),
                kind.into(),
                external_id.into(),
                conversation_id.into(),
            ]
        };
        Ok(self.insert_missing(head, external_ids.iter().map(row).collect()).await?)
    }

    async fn merge_conversation(&mut self, from: i64, into: i64) -> Result<(), Error> {
        let ids = [from.into(), into.into()];
        self.execute("UPDATE conversation_key SET conversation_id = $2 WHERE conversation_id = $1", &ids)
            .await?;
        self.execute(
            "UPDATE platform_source_message_inbox SET conversation_id = $2 WHERE conversation_id = $1",
            &ids,
        )
        .await?;
        self.execute("DELETE FROM conversation WHERE conversation_id = $1", &ids[..1]).await?;
        Ok(())
    }
}
