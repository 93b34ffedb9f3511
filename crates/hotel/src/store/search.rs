//! What can be found: the texts of messages, orders and tasks, and the index of their terms.
//!
//! The index is an FTS5 table on SQLite and a GIN index over a tsvector on PostgreSQL. Both get terms ready-made
//! ([`crate::domain::search::terms`]) and only say which documents have them; what matches is decided by the document's text.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};

use super::{Transaction, Value, record};
use crate::domain::search::{Kind, Term, fold_all, terms};
use crate::domain::task_name;
use crate::error::Error;

record! {
    /// A document that has the terms of a query.
    #[derive(Debug, Clone)]
    pub struct Candidate {
        /// The id of the message, the order or the task.
        document_id: i64,
        /// A word of [`Kind`].
        kind: String,
        /// Unix milliseconds, see [`Document::at`].
        at: i64,
    }
}

record! {
    struct MailText {
        document_id: i64,
        hotel_id: i64,
        at: i64,
        subject: String,
        sender: Option<String>,
        body: String,
    }
}

record! {
    struct OrderText {
        document_id: i64,
        hotel_id: i64,
        at: i64,
        object_type: String,
        status: String,
        group_code: Option<String>,
        confirmation_number: Option<String>,
        reservation_no: Option<String>,
        arrival: Option<String>,
        departure: Option<String>,
        fields: String,
    }
}

record! {
    struct TaskText {
        document_id: i64,
        hotel_id: i64,
        at: i64,
        system_task_type: String,
        catalog_code: String,
        status: String,
        agency: Option<String>,
        summary: Option<String>,
        proposed_changes: String,
        details: Option<String>,
    }
}

record! {
    struct Backlog { document_id: i64, kind: String }
}

/// A message, an order or a task as it is searched and shown among others.
#[derive(Debug, Clone)]
pub struct Document {
    /// Its id.
    pub id: i64,
    /// Which of them it is.
    pub kind: Kind,
    /// The hotel it belongs to.
    pub hotel_id: i64,
    /// When a message was received, an order or a task created; unix milliseconds.
    pub at: i64,
    /// FIT or GROUP, or the catalogue's task_type; empty for a message.
    pub category: String,
    /// An order's or a task's; empty for a message.
    pub status: String,
    /// What is searched, in this order.
    pub fields: Vec<Field>,
}

/// A text of a document.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name, an order's own names among them.
    pub name: String,
    /// Text.
    pub text: String,
}

/// A place in a list of what was found, the newest first.
#[derive(Debug, Clone, Copy)]
pub struct SearchPlace {
    /// When the last document was received or created.
    pub at: i64,
    /// Its id.
    pub document_id: i64,
}

impl SearchPlace {
    /// Before the newest document.
    pub const START: Self = Self { at: i64::MAX, document_id: i64::MAX };
}

impl Transaction<'_> {
    /// Indexes documents as their rows stand in this transaction. Whoever writes a text that is searched calls this in
    /// the same transaction.
    pub async fn index(&mut self, kind: Kind, ids: &[i64]) -> Result<(), Error> {
        let documents = self.documents(kind, ids).await?;
        self.insert_terms(&documents, true).await
    }

    /// Indexes some of what was there before the index, the newest first; says whether there is more.
    pub async fn index_backlog(&mut self, most: i64) -> Result<bool, Error> {
        let sql = "SELECT document_id, kind FROM search_backlog ORDER BY document_id DESC LIMIT $1";
        let rows: Vec<Backlog> = self.all(sql, &[most.into()]).await?;
        let Some(last) = rows.last() else { return Ok(false) };
        for kind in crate::domain::search::KINDS {
            let own = rows.iter().filter(|row| row.kind == kind.as_str());
            let documents = self.documents(kind, &own.map(|row| row.document_id).collect::<Vec<_>>()).await?;
            // Whatever is indexed already was written since, maybe by a transaction that this one does not see.
            self.insert_terms(&documents, false).await?;
        }
        let sql = "DELETE FROM search_backlog WHERE document_id >= $1";
        self.execute(sql, &[last.document_id.into()]).await?;
        self.has_search_backlog().await
    }

    /// Whether something that was there before the index is not indexed yet.
    pub async fn has_search_backlog(&mut self) -> Result<bool, Error> {
        let sql = "SELECT document_id, kind FROM search_backlog LIMIT 1";
        Ok(self.first::<Backlog>(sql, &[]).await?.is_some())
    }

    /// Documents of a hotel that have all these terms, after a place, the newest first. No kind means any.
    pub async fn search_candidates(
        &mut self,
        hotel_id: i64,
        terms: &[Term],
        kind: Option<Kind>,
        after: SearchPlace,
        limit: i64,
    ) -> Result<Vec<Candidate>, Error> {
        // CROSS JOIN keeps SQLite's planner from asking the index about each document.
        const SQLITE: &str = "SELECT d.document_id, d.kind, d.at
            FROM search_index CROSS JOIN search_document d ON d.document_id = search_index.rowid
            WHERE search_index MATCH $1 AND d.hotel_id = $2 AND ($3 = '' OR d.kind = $3)
              AND (d.at < $4 OR (d.at = $4 AND d.document_id < $5))
            ORDER BY d.at DESC, d.document_id DESC LIMIT $6";
        const POSTGRES: &str = "SELECT d.document_id, d.kind, d.at FROM search_document d
            WHERE d.terms @@ CAST($1 AS tsquery) AND d.hotel_id = $2 AND ($3 = '' OR d.kind = $3)
              AND (d.at < $4 OR (d.at = $4 AND d.document_id < $5))
            ORDER BY d.at DESC, d.document_id DESC LIMIT $6";
        let (sql, quote, prefix, and) = match self {
            Self::Sqlite(_) => (SQLITE, '"', "*", " AND "),
            Self::Postgres(..) => (POSTGRES, '\'', ":*", " & "),
        };
        // A term has neither quotes nor backslashes in it.
        let asked = |term: &Term| {
            let prefix = if term.is_prefix { prefix } else { "" };
            format!("{quote}{}{quote}{prefix}", term.text)
        };
        let wanted = terms.iter().map(asked).collect::<Vec<_>>().join(and);
        let kind = kind.map_or("", Kind::as_str);
        let values = [
            wanted.into(),
            hotel_id.into(),
            kind.into(),
            after.at.into(),
            after.document_id.into(),
            limit.into(),
        ];
        Ok(self.all(sql, &values).await?)
    }

    /// The documents with these ids, in no order. One whose row is gone is left out.
    pub async fn documents(&mut self, kind: Kind, ids: &[i64]) -> Result<Vec<Document>, Error> {
        let list: Vec<Value> = ids.iter().map(|id| (*id).into()).collect();
        match kind {
            Kind::Mail => {
                let sql = "SELECT inbox_id AS document_id, hotel_id, received_at AS at, subject, sender,
                             SUBSTR(text_body, 1, 100000) AS body
                           FROM platform_source_message_inbox WHERE inbox_id IN ({list})";
                let rows: Vec<MailText> = self.all_in(sql, &[], &list).await?;
                Ok(rows.into_iter().map(MailText::into_document).collect())
            }
            Kind::Order => {
                let sql = "SELECT order_id AS document_id, hotel_id, created_at AS at, object_type, status, group_code,
                             confirmation_number, reservation_no, arrival, departure, fields
                           FROM hotel_order WHERE order_id IN ({list})";
                let rows: Vec<OrderText> = self.all_in(sql, &[], &list).await?;
                rows.into_iter().map(OrderText::into_document).collect()
            }
            Kind::Task => {
                let sql =
                    "SELECT t.task_id AS document_id, t.hotel_id, t.created_at AS at, t.system_task_type,
                             t.catalog_code, t.status, t.agency, c.summary, c.proposed_changes, c.details
                           FROM task t JOIN task_card c ON c.task_id = t.task_id WHERE t.task_id IN ({list})";
                let rows: Vec<TaskText> = self.all_in(sql, &[], &list).await?;
                rows.into_iter().map(TaskText::into_document).collect()
            }
        }
    }

    async fn insert_terms(&mut self, documents: &[Document], replace: bool) -> Result<(), Error> {
        for chunk in documents.chunks(500) {
            match self {
                Self::Sqlite(_) => self.insert_terms_sqlite(chunk).await?,
                Self::Postgres(..) => self.insert_terms_postgres(chunk, replace).await?,
            }
        }
        Ok(())
    }

    /// The one writer sees all that was committed, so what it writes is never older than what is there.
    async fn insert_terms_sqlite(&mut self, documents: &[Document]) -> Result<(), Error> {
        let (mut heads, mut rows) = (Vec::new(), Vec::new());
        for document in documents {
            let kind = document.kind.as_str();
            heads.push(vec![document.id.into(), document.hotel_id.into(), kind.into(), document.at.into()]);
            rows.push(vec![document.id.into(), document.terms().into()]);
        }
        self.insert_missing("INSERT INTO search_document (document_id, hotel_id, kind, at)", heads).await?;
        Ok(self.insert("INSERT OR REPLACE INTO search_index (rowid, terms)", rows).await?)
    }

    /// A text is no tsvector to PostgreSQL unless a cast says so, and lists come as texts.
    async fn insert_terms_postgres(&mut self, documents: &[Document], replace: bool) -> Result<(), Error> {
        let sql = "INSERT INTO search_document (document_id, hotel_id, kind, at, terms)
                   SELECT new.document_id, new.hotel_id, new.kind, new.at, CAST(COALESCE(new.terms, '') AS tsvector)
                   FROM unnest(string_to_array($1, ',')::bigint[], string_to_array($2, ',')::bigint[],
                       string_to_array($3, ','), string_to_array($4, ',')::bigint[], string_to_array($5, ','))
                     AS new (document_id, hotel_id, kind, at, terms)
                   ON CONFLICT (document_id) DO UPDATE SET terms = excluded.terms WHERE $6";
        let list = |text: fn(&Document) -> String| documents.iter().map(text).collect::<Vec<_>>().join(",");
        let values = [
            list(|document| document.id.to_string()).into(),
            list(|document| document.hotel_id.to_string()).into(),
            list(|document| document.kind.as_str().to_owned()).into(),
            list(|document| document.at.to_string()).into(),
            list(Document::terms).into(),
            replace.into(),
        ];
        self.execute(sql, &values).await?;
        Ok(())
    }
}

impl Document {
    /// The text of a field; empty when there is none.
    pub fn text(&self, name: &str) -> &str {
        self.fields.iter().find(|field| field.name == name).map_or("", |field| &field.text)
    }

    /// What an index holds of it.
    fn terms(&self) -> String {
        let fields = fold_all(self.fields.iter().map(|field| field.text.as_str()));
        terms(&fields).into_iter().collect::<Vec<_>>().join(" ")
    }
}

impl Field {
    fn new(name: &str, text: impl Into<String>) -> Self {
        Self { name: name.to_owned(), text: text.into() }
    }

    /// A field that has a text.
    fn given(name: &str, text: Option<String>) -> Option<Self> {
        text.filter(|text| !text.is_empty()).map(|text| Self::new(name, text))
    }
}

impl MailText {
    fn into_document(self) -> Document {
        let fields = vec![
            Field::new("subject", self.subject),
            Field::new("from", self.sender.unwrap_or_default()),
            Field::new("text", self.body),
        ];
        let (category, status) = (String::new(), String::new());
        let (id, kind) = (self.document_id, Kind::Mail);
        Document { id, kind, hotel_id: self.hotel_id, at: self.at, category, status, fields }
    }
}

impl OrderText {
    fn into_document(self) -> Result<Document, Error> {
        let columns = [
            ("order", Some(format!("ORDER:{}", self.document_id))),
            ("group_code", self.group_code),
            ("confirmation_number", self.confirmation_number),
            ("reservation_no", self.reservation_no),
            ("arrival", self.arrival),
            ("departure", self.departure),
        ];
        let mut fields: Vec<Field> =
            columns.into_iter().filter_map(|(name, text)| Field::given(name, text)).collect();
        let known: Map<String, Json> = serde_json::from_str(&self.fields)?;
        fields.extend(known.iter().filter_map(|(name, value)| Field::given(name, Some(texts(value)))));
        let (id, kind) = (self.document_id, Kind::Order);
        let (category, status) = (self.object_type, self.status);
        Ok(Document { id, kind, hotel_id: self.hotel_id, at: self.at, category, status, fields })
    }
}

impl TaskText {
    fn into_document(self) -> Result<Document, Error> {
        let (chinese, english) = task_name::names(&self.system_task_type).unwrap_or_default();
        let names = format!("{chinese} {english} {} {}", self.system_task_type, self.catalog_code);
        let details: Json =
            self.details.as_deref().map(serde_json::from_str).transpose()?.unwrap_or_default();
        let columns = [
            ("task", Some(self.document_id.to_string())),
            ("summary", self.summary),
            ("task_type", Some(names)),
            ("agency", self.agency),
        ];
        let mut fields: Vec<Field> =
            columns.into_iter().filter_map(|(name, text)| Field::given(name, text)).collect();
        let changes: Vec<HashMap<String, Json>> = serde_json::from_str(&self.proposed_changes)?;
        for change in &changes {
            let name = change.get("field").and_then(Json::as_str).unwrap_or_default();
            for value in ["from", "to"].into_iter().filter_map(|side| change.get(side)) {
                fields.extend(Field::given(name, Some(texts(value))));
            }
        }
        fields.extend(Field::given("details", Some(texts(&details))));
        let (id, kind) = (self.document_id, Kind::Task);
        let (category, status) = (self.system_task_type, self.status);
        Ok(Document { id, kind, hotel_id: self.hotel_id, at: self.at, category, status, fields })
    }
}

/// The texts and numbers in a value, each apart from the next.
fn texts(value: &Json) -> String {
    fn collect(value: &Json, parts: &mut Vec<String>) {
        match value {
            Json::Null | Json::Bool(_) => {}
            Json::Number(number) => parts.push(number.to_string()),
            Json::String(text) => parts.push(text.clone()),
            Json::Array(values) => values.iter().for_each(|value| collect(value, parts)),
            Json::Object(values) => values.values().for_each(|value| collect(value, parts)),
        }
    }
    let mut parts = Vec::new();
    collect(value, &mut parts);
    parts.join(" · ")
}
