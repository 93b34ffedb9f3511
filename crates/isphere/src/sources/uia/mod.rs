//! The client's window as a source, through the Windows helper: read-only, and only what is on the screen.
//!
//! The window is read through `dump_uia` alone, at most once a second. What a window does not have is said: no ids but
//! names, no times, no files, and of messages those of the open conversation ([`rows`] says how each is read).

pub mod profile;
pub mod propose;
mod rows;
mod state;

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use govern::clock::Clock;
use tokio::sync::Mutex;

use self::profile::{Profile, ProfileError};
use self::rows::Named;
use super::{Answer, Download, FileQuery, Hit, Lookup, MessageQuery, Page, Positioned, Source, SourceError};
use crate::helper::{Dump, DumpArguments, HelperClient, HelperError};
use crate::model::{Contact, Conversation, FileEntry, Group, Message, SourceName, Warning};
use crate::search::{self, Fields, Query};
use crate::settings;

/// How long what was read passes for what is on the screen, in milliseconds: the look at the client's health and the question
/// behind it are answered from one reading.
const FRESH_MS: i64 = 1_000;
/// How deep the window is read.
const DEPTH: u64 = 30;
/// How many rows of a list are read.
const ROWS: u64 = 1_000;

/// The client's window.
#[derive(Debug)]
pub struct Uia {
    helper: Arc<HelperClient>,
    settings: settings::Uia,
    clock: Clock,
    seen: Mutex<Option<(Arc<Seen>, i64)>>,
}

/// What was read of the window.
#[derive(Debug)]
struct Seen {
    dump: Dump,
    profile: Profile,
    warnings: Vec<Warning>,
}

impl Uia {
    /// The window that the helper finds.
    pub fn new(helper: Arc<HelperClient>, settings: settings::Uia, clock: Clock) -> Self {
        Self { helper, settings, clock, seen: Mutex::default() }
    }

    /// What is on the screen; an error when the client is not there or nobody is signed in.
    async fn look(&self) -> Result<Arc<Seen>, SourceError> {
        // Held while the window is read, so that callers who come meanwhile have the same reading.
        let mut last = self.seen.lock().await;
        let now_ms = self.clock.now_ms();
        if let Some((seen, until_ms)) = last.as_ref()
            && *until_ms > now_ms
        {
            return Ok(Arc::clone(seen));
        }
        let seen = Arc::new(self.read().await?);
        *last = Some((Arc::clone(&seen), self.clock.now_ms() + FRESH_MS));
        Ok(seen)
    }

    async fn read(&self) -> Result<Seen, SourceError> {
        let profile = self
            .settings
            .profile
            .as_deref()
            .map(Profile::load)
            .transpose()
            .map_err(|error| unusable(&error))?;
        let hwnd = if profile.as_ref().is_some_and(|profile| profile.window.is_some()) {
            let scanned = self.helper.scan_windows(false).await.map_err(HelperError::into_source)?;
            state::choose(&scanned.data.windows, profile.as_ref())?
        } else {
            None
        };
        let asked = DumpArguments {
            hwnd,
            max_depth: Some(DEPTH),
            max_children: Some(ROWS),
            include_text: Some(true),
        };
        let reply = self.helper.dump_uia(&asked).await.map_err(HelperError::into_source)?;
        if state::is_login_form(&reply.data.root, profile.as_ref()) {
            return Err(SourceError::NotLoggedIn(
                "nobody is signed in to the client; sign in there, then try again".to_owned(),
            ));
        }
        let profile = profile.ok_or_else(|| SourceError::Unavailable {
            message: "somebody seems to be signed in to the client, but no selector profile says what its window shows; its operator has to \
                      propose one with `countersign isphere helper propose-profile` and set [isphere.uia] profile"
                .to_owned(),
            retryable: false,
        })?;
        let mut warnings = reply.warnings;
        if reply.data.truncated {
            warnings.push(Warning::new(
                "WINDOW_READ_IN_PART",
                "the window has more than was read; what is missing may be there",
            ));
        }
        Ok(Seen { dump: reply.data, profile, warnings })
    }

    async fn messages_page(&self, query: &MessageQuery<'_>) -> Result<Page<Message>, SourceError> {
        let seen = self.look().await?;
        let open = rows::open_conversation(&seen.dump, &seen.profile)?;
        let start = query.after.map_or(Ok(0), |position| place_after(&open.messages, position))?;
        let mut warnings = seen.warnings.clone();
        let is_open = query.conversation_id.is_none_or(|id| id == open.name);
        if !is_open {
            warnings.push(Warning::new(
                "NOT_OPEN",
                "the window shows only the open conversation; open this one in the client to read it",
            ));
        }
        if query.since_ms.is_some() {
            warnings.push(Warning::new(
                "NO_TIMES",
                "the window gives no times, so nothing is known to be later than since",
            ));
        }
        let is_of_type = match query.conversation_type {
            None => true,
            Some(wanted) => rows::conversations(&seen.dump, &seen.profile)?
                .items
                .iter()
                .any(|known| known.conversation_id == open.name && known.conversation_type == wanted),
        };
        let keyword = query.keyword.map(search::fold);
        let wanted = open.messages.into_iter().skip(start).filter(|message| {
            is_open
                && is_of_type
                && query.since_ms.is_none_or(|since| message.at_ms() >= since)
                && keyword.as_ref().is_none_or(|keyword| message.says(keyword))
        });
        let positioned = wanted.map(|message| (format!("messages/{}", message.message_id), message));
        Ok(page(positioned, query.limit, warnings))
    }
}

impl Source for Uia {
    fn name(&self) -> SourceName {
        SourceName::Uia
    }

    fn health(&self) -> BoxFuture<'_, Result<(), SourceError>> {
        async { self.look().await.map(|_| ()) }.boxed()
    }

    fn contacts<'a>(&'a self, query: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Contact>>> {
        async {
            let seen = self.look().await?;
            let fields = |contact: &Contact| (contact.contact_id.clone(), contact.department.clone());
            find("contacts", rows::contacts(&seen.dump, &seen.profile)?, fields, query, &seen.warnings)
        }
        .boxed()
    }

    fn groups<'a>(&'a self, query: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Group>>> {
        async {
            let seen = self.look().await?;
            let fields = |group: &Group| (group.group_id.clone(), None);
            find("groups", rows::groups(&seen.dump, &seen.profile)?, fields, query, &seen.warnings)
        }
        .boxed()
    }

    fn conversations<'a>(&'a self, query: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Conversation>>> {
        async {
            let seen = self.look().await?;
            let fields = |conversation: &Conversation| (conversation.conversation_id.clone(), None);
            find(
                "conversations",
                rows::conversations(&seen.dump, &seen.profile)?,
                fields,
                query,
                &seen.warnings,
            )
        }
        .boxed()
    }

    fn contact<'a>(&'a self, contact_id: &'a str) -> Answer<'a, Option<Contact>> {
        async move {
            let seen = self.look().await?;
            let mut all = rows::contacts(&seen.dump, &seen.profile)?.items.into_iter();
            Ok(all.find(|contact| contact.contact_id == contact_id))
        }
        .boxed()
    }

    fn group<'a>(&'a self, group_id: &'a str) -> Answer<'a, Option<Group>> {
        async move {
            let seen = self.look().await?;
            let mut all = rows::groups(&seen.dump, &seen.profile)?.items.into_iter();
            Ok(all.find(|group| group.group_id == group_id))
        }
        .boxed()
    }

    fn conversation<'a>(&'a self, conversation_id: &'a str) -> Answer<'a, Option<Conversation>> {
        async move {
            let seen = self.look().await?;
            let mut all = rows::conversations(&seen.dump, &seen.profile)?.items.into_iter();
            Ok(all.find(|conversation| conversation.conversation_id == conversation_id))
        }
        .boxed()
    }

    fn message<'a>(&'a self, message_id: &'a str) -> Answer<'a, Option<Message>> {
        async move {
            let seen = self.look().await?;
            let mut all = rows::open_conversation(&seen.dump, &seen.profile)?.messages.into_iter();
            Ok(all.find(|message| message.message_id == message_id))
        }
        .boxed()
    }

    fn messages<'a>(&'a self, query: &'a MessageQuery<'a>) -> Answer<'a, Page<Message>> {
        self.messages_page(query).boxed()
    }

    /// None, with a warning: a window shows names of files at most.
    fn files<'a>(&'a self, query: &'a FileQuery<'a>) -> Answer<'a, Page<FileEntry>> {
        let none = match query.after {
            Some(_) => Err(SourceError::StalePosition),
            None => Ok(page(
                std::iter::empty(),
                query.limit,
                vec![Warning::new(
                    "NO_FILES",
                    "the client's window gives no files; read them from another source",
                )],
            )),
        };
        ready(none).boxed()
    }

    fn file<'a>(&'a self, _: &'a str) -> Answer<'a, Option<FileEntry>> {
        ready(Ok(None)).boxed()
    }

    fn download<'a>(&'a self, _: &'a str) -> Answer<'a, Download> {
        ready(Err(SourceError::NotFound(
            "the client's window gives no files; download from another source".to_owned(),
        )))
        .boxed()
    }
}

/// What a profile that does not serve is to a caller; `doctor` tells the operator what is wrong with it.
fn unusable(error: &ProfileError) -> SourceError {
    tracing::warn!(%error, "the selector profile of the uia source cannot be used");
    SourceError::Unavailable {
        message: "the selector profile of the uia source cannot be used; its operator finds the reason with `countersign isphere \
                  doctor`"
            .to_owned(),
        retryable: false,
    }
}

/// Where messages go on after this position. A message that is no longer on the screen has no place.
fn place_after(messages: &[Message], position: &str) -> Result<usize, SourceError> {
    let id = position.strip_prefix("messages/").ok_or(SourceError::StalePosition)?;
    let place = messages.iter().position(|message| message.message_id == id);
    place.map(|place| place + 1).ok_or(SourceError::StalePosition)
}

/// Those that match, by class, then by name. `fields` gives the name and the department.
fn find<T>(
    table: &str,
    named: Named<T>,
    fields: impl Fn(&T) -> (String, Option<String>),
    lookup: &Lookup<'_>,
    warnings: &[Warning],
) -> Result<Page<Hit<T>>, SourceError> {
    let after = lookup.after.map(|position| parse_position(table, position)).transpose()?;
    let query = Query::new(lookup.query);
    let mut found: Vec<((u8, String), Hit<T>)> = Vec::new();
    for item in named.items {
        let (name, department) = fields(&item);
        let ranked = query.rank(&Fields {
            id: &name,
            name: &name,
            department: department.as_deref(),
            ..Fields::default()
        });
        let Some(ranked) = ranked else { continue };
        if after.is_none_or(|after| (ranked.class, name.as_str()) > after) {
            found.push(((ranked.class, name), Hit { item, confidence: ranked.confidence }));
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut warnings = warnings.to_vec();
    warnings.extend(named.missing);
    // Whatever is asked for: told only beside a hit, it would tell of one that the policy hides.
    if named.has_namesakes {
        warnings.push(Warning::new(
            "NAMESAKES",
            "several rows of the window have the same name and are shown as one; the window does not tell them apart",
        ));
    }
    let positioned = found.into_iter().map(|((class, name), hit)| (format!("{table}/{class}/{name}"), hit));
    Ok(page(positioned, lookup.limit, warnings))
}

/// `<table>/<class>/<name>`.
fn parse_position<'a>(table: &str, position: &'a str) -> Result<(u8, &'a str), SourceError> {
    let key = || {
        let (class, name) = position.strip_prefix(table)?.strip_prefix('/')?.split_once('/')?;
        Some((class.parse().ok()?, name))
    };
    key().ok_or(SourceError::StalePosition)
}

/// The first `limit` of the items; goes on after the last one when there is one more.
fn page<T>(items: impl Iterator<Item = (String, T)>, limit: usize, warnings: Vec<Warning>) -> Page<T> {
    let mut items = items.map(|(position, item)| Positioned { item, position });
    let taken: Vec<_> = items.by_ref().take(limit).collect();
    let next = taken.last().filter(|_| items.next().is_some()).map(|last| last.position.clone());
    Page { items: taken, next, warnings }
}
