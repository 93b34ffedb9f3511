//! What the two searches have in common: their arguments' schema, and the page of hits.

use futures_util::FutureExt as _;
use govern::mcp::schema::object;
use serde::Serialize;
use serde_json::Value;

use super::cursor::Cursor;
use super::envelope::{Attempt, ENVELOPE_BYTES};
use super::{arguments, paging, schemas};
use crate::access::Access;
use crate::app::{Deadline, Isphere};
use crate::error::Error;
use crate::model::SourceName;
use crate::sources::choice::Preference;
use crate::sources::{Answer, Hit, Lookup, Page, Source};

const DEFAULT_LIMIT: u64 = 20;
const MOST: u64 = 100;

/// What a source's search answers.
type HitsLater<'s, T> = Answer<'s, Page<Hit<T>>>;

/// What is searched: how a source is asked for it, and who may see it.
pub struct Kind<T> {
    /// The search of the source.
    pub ask: for<'s> fn(&'s dyn Source, &'s Lookup<'s>) -> HitsLater<'s, T>,
    /// Whether the policy shows it.
    pub visible: fn(&Access, &T) -> bool,
}

/// The arguments of a search, as they came.
pub struct Asked<'a> {
    /// The tool's name.
    pub tool: &'static str,
    /// `query`
    pub query: &'a str,
    /// `limit`
    pub limit: Option<u64>,
    /// `cursor`
    pub cursor: Option<&'a str>,
    /// `source_preference`
    pub preference: Option<Preference>,
    /// `include_inactive` or `include_archived`
    pub include_inactive: Option<bool>,
}

/// A page of hits as the answer shows them.
pub struct Found<V> {
    /// The hits.
    pub hits: Vec<V>,
    /// Where to go on.
    pub next_cursor: Option<String>,
    /// Whether hits were left for the next page because of their size.
    pub truncated: bool,
}

/// The schema of the arguments; `inactive` names and describes the flag for those who left or were closed.
pub fn input(inactive: &'static str, description: &str) -> Value {
    object(
        [
            ("query", schemas::text("What to look for.", arguments::LONGEST_QUERY)),
            ("limit", schemas::limit(DEFAULT_LIMIT, MOST)),
            ("cursor", schemas::cursor()),
            ("source_preference", schemas::source_preference()),
            (inactive, schemas::flag(false, description)),
        ],
        &["query"],
    )
}

/// The page asked for: what the policy shows of what the source finds, cut at `budget` bytes.
pub async fn page<T, V: Serialize>(
    app: &Isphere,
    asked: &Asked<'_>,
    kind: &Kind<T>,
    view: fn(Hit<T>, SourceName) -> V,
    budget: usize,
    attempt: &mut Attempt,
    deadline: &Deadline,
) -> Result<Found<V>, Error> {
    let query = arguments::query(asked.query)?;
    let limit = arguments::limit(asked.limit, DEFAULT_LIMIT, MOST)?;
    let include_inactive = asked.include_inactive.unwrap_or(false);
    let preference = asked.preference.unwrap_or_default();
    let bound = (query, include_inactive, preference);
    let after = Cursor::continuing(asked.cursor, app, asked.tool, &bound)?;
    let source = attempt.source(app, preference, after.as_ref()).await?;
    let page = paging::gather(limit, after.map(|cursor| cursor.position), deadline, |limit, after| {
        let source = &*source;
        async move {
            let lookup = Lookup { query, include_inactive, limit, after: after.as_deref() };
            let mut page = (kind.ask)(source, &lookup).await?;
            page.items.retain(|hit| (kind.visible)(&app.access, &hit.item.item));
            Ok(page)
        }
        .boxed()
    })
    .await?;
    let page = paging::map(page, |hit| view(hit, source.name()));
    let cut = attempt.cut(page, ENVELOPE_BYTES, budget);
    let next_cursor = Cursor::next(cut.next, source.name(), None, app, asked.tool, &bound)?;
    Ok(Found { hits: cut.items, next_cursor, truncated: cut.truncated })
}
