//! From a name to the one conversation that it means.

use std::cmp::Ordering;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::envelope::Attempt;
use super::outside;
use crate::app::Isphere;
use crate::error::{Candidate, Error};
use crate::model::{Contact, Conversation, ConversationType, Warning};
use crate::sources::{Hit, Lookup, Page, Source};

/// How many candidates an ambiguous name is answered with.
const MOST_CANDIDATES: usize = 10;
/// How many near names are suggested when none is exact.
const SUGGESTED: usize = 5;
/// How many hits are asked for first, and how many more when all of them are exact. Each asking may read a whole store.
const CHUNKS: [usize; 2] = [50, 450];

/// The conversation that `name` means: the only one that has exactly this name or is with the only person of it.
/// None when there is none; then the nearest names are noted as a warning. Several: AMBIGUOUS_TARGET.
pub async fn conversation(
    app: &Isphere,
    source: &dyn Source,
    name: &str,
    wanted: Option<ConversationType>,
    attempt: &mut Attempt,
) -> Result<Option<Conversation>, Error> {
    let (mut exact, near) = conversations(app, source, name, wanted, attempt).await?;
    if wanted.is_none_or(|wanted| wanted == ConversationType::Direct) {
        for contact in persons(app, source, name, attempt).await? {
            add_direct(app, source, name, &contact, &mut exact).await?;
        }
    }
    if exact.len() > 1 {
        exact.sort_by(|one, other| other.confidence.partial_cmp(&one.confidence).unwrap_or(Ordering::Equal));
        let candidates = exact.into_iter().take(MOST_CANDIDATES).map(candidate).collect();
        return Err(Error::AmbiguousTarget { name: name.to_owned(), candidates });
    }
    if exact.is_empty() && !near.is_empty() {
        let names: Vec<String> = near.iter().take(SUGGESTED).map(|hit| described(&hit.item)).collect();
        let message = format!("no conversation has exactly this name; the nearest are {}", names.join("; "));
        attempt.warn(Warning::new("NEAREST_NAMES", message));
    }
    Ok(exact.pop().map(|hit| hit.item))
}

type Hits<T> = Vec<Hit<T>>;

async fn conversations(
    app: &Isphere,
    source: &dyn Source,
    name: &str,
    wanted: Option<ConversationType>,
    attempt: &mut Attempt,
) -> Result<(Hits<Conversation>, Hits<Conversation>), Error> {
    let (mut exact, mut near) = first_hits(attempt, |limit, after| {
        async move { Ok(source.conversations(&lookup(name, limit, after.as_deref())).await?) }.boxed()
    })
    .await?;
    for hits in [&mut exact, &mut near] {
        hits.retain(|hit| {
            wanted.is_none_or(|wanted| wanted == hit.item.conversation_type)
                && app.access.conversation(&hit.item)
        });
    }
    Ok((exact, near))
}

async fn persons(
    app: &Isphere,
    source: &dyn Source,
    name: &str,
    attempt: &mut Attempt,
) -> Result<Vec<Contact>, Error> {
    let (exact, _) = first_hits(attempt, |limit, after| {
        async move { Ok(source.contacts(&lookup(name, limit, after.as_deref())).await?) }.boxed()
    })
    .await?;
    let persons = exact.into_iter().map(|hit| hit.item);
    Ok(persons.filter(|contact| app.access.contact(&contact.contact_id)).take(MOST_CANDIDATES).collect())
}

/// Adds the conversation with this person, which may go by another name or by the person's own id. Those that go by `name`
/// were found already.
async fn add_direct(
    app: &Isphere,
    source: &dyn Source,
    name: &str,
    contact: &Contact,
    found: &mut Hits<Conversation>,
) -> Result<(), Error> {
    let id = contact.contact_id.as_str();
    let is_with = |conversation: &Conversation| {
        conversation.conversation_type == ConversationType::Direct
            && conversation.peer_id.as_deref().unwrap_or(&conversation.conversation_id) == id
    };
    if found.iter().any(|hit| is_with(&hit.item)) {
        return Ok(());
    }
    let by_name = if contact.display_name == name {
        None
    } else {
        let page = source.conversations(&lookup(&contact.display_name, CHUNKS[0], None)).await?;
        page.items.into_iter().map(|hit| hit.item.item).find(|one| is_with(one))
    };
    let direct = match by_name {
        Some(direct) => Some(direct),
        None => source.conversation(id).await?.filter(|one| is_with(one)),
    };
    if let Some(item) = direct.filter(|direct| app.access.conversation(direct)) {
        found.push(Hit { item, confidence: 1.0 });
    }
    Ok(())
}

/// The exact hits, which come first, and some of those behind them.
async fn first_hits<'a, T>(
    attempt: &mut Attempt,
    fetch: impl Fn(usize, Option<String>) -> BoxFuture<'a, Result<Page<Hit<T>>, Error>>,
) -> Result<(Hits<T>, Hits<T>), Error> {
    let (mut exact, mut near, mut after) = (Vec::new(), Vec::new(), None);
    for limit in CHUNKS {
        let page = fetch(limit, after).await?;
        attempt.warn_all(page.warnings);
        let hits = page.items.into_iter().map(|positioned| positioned.item);
        let (sure, unsure): (Hits<T>, Hits<T>) = hits.partition(|hit| hit.confidence >= 1.0);
        exact.extend(sure);
        near.extend(unsure);
        after = page.next;
        if !near.is_empty() || after.is_none() {
            break;
        }
    }
    Ok((exact, near))
}

/// Also those who left and groups that were closed: what they wrote is still there.
fn lookup<'a>(query: &'a str, limit: usize, after: Option<&'a str>) -> Lookup<'a> {
    Lookup { query, include_inactive: true, limit, after }
}

fn candidate(hit: Hit<Conversation>) -> Candidate {
    let Hit { item: conversation, confidence } = hit;
    Candidate {
        display_name: outside::name(&conversation.display_name),
        conversation_type: conversation.conversation_type,
        conversation_id: outside::id(&conversation.conversation_id),
        confidence,
    }
}

fn described(conversation: &Conversation) -> String {
    let name = outside::name(&conversation.display_name);
    let id = outside::id(&conversation.conversation_id);
    format!("{name} ({}, {id})", conversation.conversation_type.as_str())
}
