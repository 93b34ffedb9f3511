//! Pages: gathered from the source until full, then cut to the bytes that an answer may have.

use futures_util::future::BoxFuture;
use serde::Serialize;

use crate::app::Deadline;
use crate::error::Error;
use crate::model::Warning;
use crate::sources::{Page, Positioned};

/// How often a source is asked for one page of an answer, where a policy hides most of what it finds or it searches much and
/// finds little.
const ROUNDS: usize = 20;
/// How many items a further round asks for at least.
const FURTHER: usize = 100;

/// What fits in an answer.
pub struct Cut<T> {
    /// The items.
    pub items: Vec<T>,
    /// The position to go on at; none at the end.
    pub next: Option<String>,
    /// Whether items were left for the next page because of their size.
    pub truncated: bool,
}

/// Asks `fetch` (how many, after which position) until there are `limit` items or no more, it was asked [`ROUNDS`] times, or
/// the deadline is near: then the page is answered as it is, with where to go on and a warning. `fetch` may leave out
/// what the caller may not see.
pub async fn gather<'a, T>(
    limit: usize,
    after: Option<String>,
    deadline: &Deadline,
    fetch: impl Fn(usize, Option<String>) -> BoxFuture<'a, Result<Page<T>, Error>>,
) -> Result<Page<T>, Error> {
    let mut gathered = Page { items: Vec::new(), next: after, warnings: Vec::new() };
    for round in 0..ROUNDS {
        let wanted = limit - gathered.items.len();
        let ask = if round == 0 { wanted } else { wanted.max(FURTHER) };
        let mut page = fetch(ask, gathered.next.take()).await?;
        gathered.warnings.append(&mut page.warnings);
        gathered.next = page.next;
        if page.items.len() > wanted {
            page.items.truncate(wanted);
            gathered.next = page.items.last().map(|last| last.position.clone());
        }
        gathered.items.append(&mut page.items);
        if gathered.items.len() == limit || gathered.next.is_none() {
            return Ok(gathered);
        }
        if deadline.is_near() {
            break;
        }
    }
    let message = "not all was searched, so that the answer is not late; go on with next_cursor for the rest";
    gathered.warnings.push(Warning::new("SEARCH_UNFINISHED", message));
    Ok(gathered)
}

/// The leading items that fit when `used` of `budget` bytes are spent already; at least one.
pub fn cut<T: Serialize>(
    items: Vec<Positioned<T>>,
    next: Option<String>,
    used: usize,
    budget: usize,
) -> Cut<T> {
    let (mut items, positions): (Vec<T>, Vec<String>) =
        items.into_iter().map(|positioned| (positioned.item, positioned.position)).unzip();
    let fitting = govern::budget::fit(&items, used, budget);
    let truncated = fitting < items.len();
    let next = if truncated { positions.into_iter().nth(fitting - 1) } else { next };
    items.truncate(fitting);
    Cut { items, next, truncated }
}

/// `page` with its items as the answer shows them.
pub fn map<T, V>(page: Page<T>, view: impl Fn(T) -> V) -> Page<V> {
    let items = page.items.into_iter();
    let items =
        items.map(|Positioned { item, position }| Positioned { item: view(item), position }).collect();
    Page { items, next: page.next, warnings: page.warnings }
}

/// The most items that the text block tells; the structured content has all.
const TOLD: usize = 20;

/// So many of them: `1 contact`, `2 contacts`.
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// A page for a model that sees only text: what it is a page of, and its items.
pub fn listing(what: String, lines: impl Iterator<Item = String>, cursor: Option<&String>) -> String {
    let mut text = what;
    for line in lines.take(TOLD) {
        text.push_str("\n- ");
        text.push_str(&line);
    }
    if let Some(cursor) = cursor {
        text.push_str("\nMore follow; call again with the same arguments and cursor=");
        text.push_str(cursor);
    }
    text
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// A source of the numbers below `end` that lets only multiples of `step` through.
    async fn numbers(end: usize, step: usize, limit: usize, after: Option<String>) -> Page<usize> {
        numbers_until(&Deadline::after(60_000), end, step, limit, after).await
    }

    async fn numbers_until(
        deadline: &Deadline,
        end: usize,
        step: usize,
        limit: usize,
        after: Option<String>,
    ) -> Page<usize> {
        gather(limit, after, deadline, |ask, after| {
            async move {
                let start = after.map_or(0, |after| after.parse::<usize>().unwrap() + 1);
                let past = (start + ask).min(end);
                let items = (start..past)
                    .filter(|number| number % step == 0)
                    .map(|item| Positioned { item, position: item.to_string() })
                    .collect();
                Ok(Page { items, next: (past < end).then(|| (past - 1).to_string()), warnings: Vec::new() })
            }
            .boxed()
        })
        .await
        .unwrap()
    }

    #[tokio::test]
    async fn pages_of_what_is_left_after_the_policy_lose_and_repeat_nothing() {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = numbers(5_000, 7, 10, after).await;
            assert!(page.items.len() <= 10);
            seen.extend(page.items.iter().map(|item| item.item));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, (0..5_000).step_by(7).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_source_of_which_all_is_hidden_is_not_asked_for_ever() {
        let page = numbers(1_000_000, 900_000, 5, Some("0".to_owned())).await;
        assert!(page.items.is_empty() && page.next.is_some());
        assert_eq!(page.warnings.len(), 1);
        assert_eq!(page.warnings[0].code, "SEARCH_UNFINISHED");
    }

    #[tokio::test]
    async fn near_the_deadline_the_page_is_answered_as_it_is_and_the_next_one_goes_on() {
        let late = Deadline::after(0);
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = numbers_until(&late, 200, 7, 10, after).await;
            assert_eq!(page.next.is_some(), page.warnings.iter().any(|one| one.code == "SEARCH_UNFINISHED"));
            seen.extend(page.items.iter().map(|item| item.item));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, (0..200).step_by(7).collect::<Vec<_>>());
    }

    #[test]
    fn a_page_is_cut_at_an_item_and_goes_on_after_it() {
        let items = ["aaaa", "bbbb", "cccc"];
        let items = items.map(|item| Positioned { item, position: format!("after {item}") });
        let cut = cut(items.into(), Some("end".to_owned()), 0, 15);
        assert_eq!((cut.items.len(), cut.next.as_deref(), cut.truncated), (2, Some("after bbbb"), true));
    }
}
