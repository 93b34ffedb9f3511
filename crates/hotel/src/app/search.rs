//! Looking for mails, orders and tasks by words. The index says where to look; what matches is decided by the text as it
//! is now, so that an index which knows too much shows nothing wrong.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::conversation::note_access;
use super::{Hotel, Request};
use crate::domain::search::{KINDS, Kind, MAX_QUERY_CHARS, Piece, Query, fold_all};
use crate::error::Error;
use crate::store::search::{Document, SearchPlace};
use crate::store::{Db, Transaction, boxed};

/// Hits on a page.
const HITS: usize = 20;
/// Documents whose texts are read at once.
const STEP: usize = 25;
/// Most documents that are judged for a page.
const CANDIDATES: i64 = 500;
/// Most bytes of text that are judged for a page; the page then ends early and leads on.
const JUDGED_BYTES: usize = 4 << 20;
/// Most excerpts of a hit.
const EXCERPTS: usize = 3;
/// Documents of the backlog that are indexed in one transaction.
const BACKLOG_STEP: i64 = 25;
/// How long the backlog waits after a failure.
const BACKLOG_PAUSE: Duration = Duration::from_mins(1);

/// What a person looks for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// As it was typed.
    pub text: String,
    /// Where; everywhere without.
    pub kind: Option<Kind>,
    /// `next` of the page before.
    pub after: String,
}

/// What was found.
#[derive(Debug, Clone)]
pub enum Found {
    /// There is no letter and no digit in the text.
    Nothing,
    /// The text has more than [`MAX_QUERY_CHARS`] characters.
    TooLong,
    /// Some hits, the newest first.
    Hits(Hits),
}

/// Some hits, the newest first.
#[derive(Debug, Clone)]
pub struct Hits {
    /// Hits.
    pub hits: Vec<Hit>,
    /// Leads to older ones, when there may be any.
    pub next: Option<String>,
    /// Whether some of what was there before the index cannot be found yet.
    pub is_incomplete: bool,
}

/// A mail, an order or a task that was looked for.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Which of them it is.
    pub kind: Kind,
    /// Its id.
    pub id: i64,
    /// When a mail was received, an order or a task created; unix milliseconds.
    pub at: i64,
    /// FIT or GROUP, or the catalogue's task_type; empty for a mail.
    pub category: String,
    /// An order's or a task's; empty for a mail.
    pub status: String,
    /// A mail's subject, an order's name and keys, a task's summary; may be empty.
    pub title: Vec<Piece>,
    /// Where else the words stand: the name of the field, and the text around them.
    pub excerpts: Vec<(String, Vec<Piece>)>,
}

/// Looks for words. Of each mail whose body is quoted, the reading is noted before this returns.
pub async fn search(hotel: &Arc<Hotel>, request: &Request, wanted: &Wanted) -> Result<Found, Error> {
    if is_too_long(&wanted.text) {
        return Ok(Found::TooLong);
    }
    let Some(query) = Query::parse(&wanted.text) else { return Ok(Found::Nothing) };
    let (sought, kind, after) = (query.clone(), wanted.kind, place(&wanted.after));
    let (page, is_incomplete) = hotel
        .db
        .read(move |tx| {
            boxed(async move {
                let hotel_id = tx.resolve_hotel(None).await?;
                let page = find(tx, hotel_id, &sought, kind, after, |_| true).await?;
                Ok((page, tx.has_search_backlog().await?))
            })
        })
        .await?;
    let hits: Vec<Hit> = page.documents.iter().map(|document| Hit::new(document, &query)).collect();
    let read = hits.iter().filter(|hit| hit.excerpts.iter().any(|(field, _)| field == "text"));
    note_access(hotel, request, read.map(|hit| hit.id).collect()).await?;
    Ok(Found::Hits(Hits { hits, next: page.next, is_incomplete }))
}

/// Whether a text is more than a query may be.
pub(super) fn is_too_long(text: &str) -> bool {
    text.chars().nth(MAX_QUERY_CHARS).is_some()
}

/// Some documents, the newest first.
pub(super) struct Page {
    pub(super) documents: Vec<Document>,
    /// Leads to older ones, when there may be any.
    pub(super) next: Option<String>,
}

/// The documents after a place that a query means and `admits` admits.
pub(super) async fn find(
    tx: &mut Transaction<'_>,
    hotel_id: i64,
    query: &Query,
    kind: Option<Kind>,
    after: SearchPlace,
    admits: impl Fn(&Document) -> bool,
) -> Result<Page, Error> {
    let candidates = tx.search_candidates(hotel_id, &query.terms(), kind, after, CANDIDATES).await?;
    let (mut documents, mut bytes, mut judged) = (Vec::new(), 0, 0);
    for step in candidates.chunks(STEP) {
        if bytes > JUDGED_BYTES {
            break;
        }
        let mut texts = HashMap::new();
        for kind in KINDS {
            let own = step.iter().filter(|row| row.kind == kind.as_str());
            let found = tx.documents(kind, &own.map(|row| row.document_id).collect::<Vec<_>>()).await?;
            texts.extend(found.into_iter().map(|document| (document.id, document)));
        }
        for candidate in step {
            let document = texts.remove(&candidate.document_id);
            judged += 1;
            bytes += document.as_ref().map_or(0, length);
            documents.extend(document.filter(|document| admits(document) && is_meant(document, query)));
            // One more than a page holds tells whether there are more.
            if documents.len() > HITS {
                documents.truncate(HITS);
                let next = documents.last().map(|last| place_text(last.at, last.id));
                return Ok(Page { documents, next });
            }
        }
    }
    let is_over = judged == candidates.len() && judged < usize::try_from(CANDIDATES).unwrap_or(0);
    let last = candidates[..judged].last().filter(|_| !is_over);
    Ok(Page { documents, next: last.map(|last| place_text(last.at, last.document_id)) })
}

fn is_meant(document: &Document, query: &Query) -> bool {
    query.matches(&fold_all(document.fields.iter().map(|field| field.text.as_str())))
}

fn length(document: &Document) -> usize {
    document.fields.iter().map(|field| field.text.len()).sum()
}

/// A place as text; what is none is the place before the newest document.
pub(super) fn place(text: &str) -> SearchPlace {
    let numbers = text.split_once('.').and_then(|(at, id)| Some((at.parse().ok()?, id.parse().ok()?)));
    numbers.map_or(SearchPlace::START, |(at, document_id)| SearchPlace { at, document_id })
}

pub(super) fn place_text(at: i64, document_id: i64) -> String {
    format!("{at}.{document_id}")
}

/// Indexes what was there before the index, in steps that let other writes pass, until nothing is left of it. A server
/// runs this beside its requests; two that do so at once only do some of it twice.
pub async fn index_backlog(db: Db) {
    loop {
        match db.write(|tx| boxed(tx.index_backlog(BACKLOG_STEP))).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(%error, "indexing older mails, orders and tasks goes on in a minute");
                tokio::time::sleep(BACKLOG_PAUSE).await;
            }
        }
    }
}

impl Hit {
    fn new(document: &Document, query: &Query) -> Self {
        let (title, titled) = match document.kind {
            Kind::Mail => (document.text("subject").to_owned(), &["subject"][..]),
            Kind::Order => (order_title(document), &ORDER_TITLE[..]),
            Kind::Task => (document.text("summary").to_owned(), &["summary"][..]),
        };
        let others = document.fields.iter().filter(|field| !titled.contains(&field.name.as_str()));
        let excerpts = others.filter_map(|field| Some((field.name.clone(), query.excerpt(&field.text)?)));
        Self {
            kind: document.kind,
            id: document.id,
            at: document.at,
            category: document.category.clone(),
            status: document.status.clone(),
            title: query.mark(&title),
            excerpts: excerpts.take(EXCERPTS).collect(),
        }
    }
}

/// What people call an order by.
const ORDER_TITLE: [&str; 6] =
    ["guest_name", "group_name", "agency", "group_code", "confirmation_number", "reservation_no"];

fn order_title(document: &Document) -> String {
    let parts = ORDER_TITLE.map(|name| document.text(name));
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}
