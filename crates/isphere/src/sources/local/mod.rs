//! The client's local store: an SQLite file of unknown layout, read through a profile and never changed.
//!
//! `mod` ([`LocalReadonly`], the source) → `index` (when it was built), `scan` (searches), `timeline` (messages and files by
//! time), `download`, `survey` (what the doctor counts) →
//! `reader` (rows) → `store` (connections, interrupts) → `open` (the file), `projection` (the profile's SELECTs).

mod download;
mod error;
mod functions;
pub mod index;
pub mod inspect;
mod open;
pub mod profile;
mod projection;
mod reader;
mod scan;
mod store;
pub mod survey;
pub mod time;
mod timeline;
mod value;

use std::path::PathBuf;

use tokio::sync::Mutex;

pub use error::StoreError;
pub use profile::Profile;
pub use reader::Reader;
pub use store::{Store, StoreIdentity};

use self::index::{Entry, Index, IndexError, MessagesAsked, Place, Space, usable};
use self::profile::Table;
use self::reader::Rows;
use self::scan::{Found, Scan};
use self::timeline::{Needle, Position, Run, Timeline};
use super::{Answer, Download, FileQuery, Hit, Lookup, MessageQuery, Page, Positioned, Source, SourceError};
use crate::model::{Contact, Conversation, FileEntry, Group, LONGEST_ID, Message, SourceName, Warning};
use crate::search::fold;
use crate::settings;

/// The source `local_readonly`. It opens the store when it is first asked, and again when that failed.
pub struct LocalReadonly {
    settings: settings::LocalReadonly,
    index_path: Option<PathBuf>,
    opened: Mutex<Option<Opened>>,
}

#[derive(Clone)]
struct Opened {
    store: Store,
    index: Option<Index>,
}

/// Messages whose texts are searched for one page without an index: few enough that this takes little longer than the look at
/// the times of all messages that comes before it.
const MOST_SEARCHED: usize = 200_000;

/// Messages behind the index that are read with every question before the caller is told.
const MAX_BEHIND: usize = 5_000;

/// Opens the store that the configuration names. Without a profile there, the file beside the store that ends in
/// `.profile.toml` is taken; without a folder of files, the one that ends in `.files`, when it is there.
pub fn open_configured(settings: &settings::LocalReadonly) -> Result<Store, StoreError> {
    let path = settings.store.as_ref().ok_or(StoreError::NotConfigured)?;
    if !path.exists() {
        return Err(StoreError::NotThere);
    }
    let profile_path = settings.profile_path(path);
    let profile = Profile::load(&profile_path)
        .map_err(|fault| StoreError::from(fault).in_profile(Some(&profile_path)))?;
    Store::open(path, profile, settings.files_folder(path).as_deref())
}

impl LocalReadonly {
    /// A source that reads the store of this configuration, without an index.
    pub fn new(settings: settings::LocalReadonly) -> Self {
        Self { settings, index_path: None, opened: Mutex::new(None) }
    }

    /// The same, which uses the index at this path (see [`index::path`]) as soon as it is built.
    #[must_use]
    pub fn with_index(self, path: PathBuf) -> Self {
        Self { index_path: Some(path), ..self }
    }

    async fn opened(&self) -> Result<Opened, StoreError> {
        let mut opened = self.opened.lock().await;
        if let Some(opened) = &*opened {
            return Ok(opened.clone());
        }
        let settings = self.settings.clone();
        let store = tokio::task::spawn_blocking(move || open_configured(&settings)).await;
        let store = store.map_err(|_| StoreError::Interrupted)??;
        let index = self.index_path.clone().map(|path| Index::new(path, store.identity()));
        Ok(opened.insert(Opened { store, index }).clone())
    }

    async fn read<T, W>(&self, work: W) -> Result<T, SourceError>
    where
        T: Send + 'static,
        W: Fn(&mut Reader) -> Result<T, StoreError> + Send + 'static,
    {
        Ok(self.opened().await?.store.query(work).await?)
    }

    /// Asks the index, or reads all rows when there is none.
    async fn search<T>(
        &self,
        space: Space,
        query: &Lookup<'_>,
        scan: fn(&Scan, &mut Reader) -> Result<Found<T>, StoreError>,
        complete: fn(&mut Reader, &mut T) -> Result<(), StoreError>,
    ) -> Result<Page<Hit<T>>, SourceError>
    where
        T: From<Entry> + Send + 'static,
    {
        let asked = Scan::of(query)?;
        let Opened { store, index } = self.opened().await?;
        let page = store.query(move |reader| {
            let (mut found, warning) = match asked.indexed(index.as_ref(), space)? {
                Ok(found) => (found, None),
                Err(unusable) => (scan(&asked, reader)?, Some(without_index(&unusable))),
            };
            for (hit, _) in &mut found.items {
                complete(reader, &mut hit.item)?;
            }
            Ok(found_page(found, warning))
        });
        Ok(page.await?)
    }
}

impl Source for LocalReadonly {
    fn name(&self) -> SourceName {
        SourceName::LocalReadonly
    }

    fn health(&self) -> Answer<'_, ()> {
        Box::pin(self.read(|_| Ok(())))
    }

    fn contacts<'a>(&'a self, query: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Contact>>> {
        Box::pin(self.search(Space::Contacts, query, Scan::contacts, |_, _| Ok(())))
    }

    fn groups<'a>(&'a self, query: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Group>>> {
        Box::pin(self.search(Space::Groups, query, Scan::groups, Reader::count_members))
    }

    fn conversations<'a>(&'a self, query: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Conversation>>> {
        Box::pin(self.search(Space::Conversations, query, Scan::conversations, |_, _| Ok(())))
    }

    fn contact<'a>(&'a self, contact_id: &'a str) -> Answer<'a, Option<Contact>> {
        let id = contact_id.to_owned();
        Box::pin(self.read(move |reader| reader.contact(&id)))
    }

    fn group<'a>(&'a self, group_id: &'a str) -> Answer<'a, Option<Group>> {
        let id = group_id.to_owned();
        Box::pin(self.read(move |reader| reader.group(&id)))
    }

    fn conversation<'a>(&'a self, conversation_id: &'a str) -> Answer<'a, Option<Conversation>> {
        let id = conversation_id.to_owned();
        Box::pin(self.read(move |reader| reader.conversation(&id)))
    }

    fn message<'a>(&'a self, message_id: &'a str) -> Answer<'a, Option<Message>> {
        let id = message_id.to_owned();
        Box::pin(self.read(move |reader| reader.message_by_id(&id)))
    }

    fn messages<'a>(&'a self, query: &'a MessageQuery<'a>) -> Answer<'a, Page<Message>> {
        Box::pin(async move {
            let (place, after) = match query.after {
                None => (None, None),
                Some(text) => {
                    if let Some(place) = Place::parse(text) {
                        (Some(place), None)
                    } else {
                        let position = Position::parse(Table::Messages, text)?;
                        (position.place(), Some(position))
                    }
                }
            };
            let timeline = Timeline {
                table: Table::Messages,
                equal: query.conversation_id.map(|id| ("conversation", id.to_owned())).into_iter().collect(),
                conversation_type: query.conversation_type,
                needle: query.keyword.map(|keyword| Needle {
                    folded: fold(keyword).into_owned(),
                    most_searched: MOST_SEARCHED,
                    until: query.until,
                }),
                since_ms: query.since_ms,
                limit: query.limit,
                after,
            };
            let Opened { store, index } = self.opened().await?;
            let page =
                store.query(move |reader| read_messages(reader, index.as_ref(), &timeline, place.as_ref()));
            Ok(page.await?)
        })
    }

    fn files<'a>(&'a self, query: &'a FileQuery<'a>) -> Answer<'a, Page<FileEntry>> {
        Box::pin(async move {
            let equal = [("conversation", query.conversation_id), ("message", query.message_id)];
            let timeline = Timeline {
                table: Table::Files,
                equal: equal.into_iter().filter_map(|(column, id)| Some((column, id?.to_owned()))).collect(),
                conversation_type: None,
                needle: None,
                since_ms: None,
                limit: query.limit,
                after: query.after.map(|text| Position::parse(Table::Files, text)).transpose()?,
            };
            let run = self
                .read(move |reader| {
                    timeline.read(reader, |rows, row| Ok(rows.file(row)?.map(|file| file.entry)))
                })
                .await?;
            Ok(run_page(run))
        })
    }

    fn file<'a>(&'a self, file_id: &'a str) -> Answer<'a, Option<FileEntry>> {
        let id = file_id.to_owned();
        Box::pin(self.read(move |reader| Ok(reader.file(&id)?.map(|file| file.entry))))
    }

    fn download<'a>(&'a self, file_id: &'a str) -> Answer<'a, Download> {
        let id = file_id.to_owned();
        Box::pin(async move {
            let opened = self
                .read(move |reader| {
                    let stored = reader.file(&id)?;
                    Ok(stored.map(|file| file.path.and_then(|path| reader.files()?.open_file(&path))))
                })
                .await?;
            let Some(opened) = opened else {
                return Err(SourceError::NotFound("no file has this file_id; list the files first".into()));
            };
            let Some((file, bytes)) = opened else {
                let message =
                    "the client no longer has this file on this machine; open it once in the client";
                return Err(SourceError::NotFound(message.into()));
            };
            let content = Box::new(tokio::fs::File::from_std(file.into_std()));
            Ok(Download { size_bytes: Some(bytes), content })
        })
    }
}

/// Reads a page after `place` with the index, else after the timeline's position without. A place alone is not enough
/// for that, which only happens when the index was taken away.
fn read_messages(
    reader: &mut Reader,
    index: Option<&Index>,
    timeline: &Timeline,
    place: Option<&Place>,
) -> Result<Page<Message>, StoreError> {
    // Before the index is asked, which only says that there are none.
    reader.rows(Table::Messages)?;
    let indexed = match index.filter(|_| timeline.after.is_none() || place.is_some()) {
        Some(index) => indexed_messages(reader, index, timeline, place)?,
        None => Err(IndexError::NotBuilt),
    };
    let mut page = match indexed {
        Ok(page) => page,
        Err(_) if place.is_some() && timeline.after.is_none() => return Err(StoreError::Position),
        Err(unusable) => {
            let mut page = run_page(timeline.read(reader, Rows::message)?);
            page.warnings.extend(timeline.needle.iter().map(|_| without_index(&unusable)));
            page
        }
    };
    let ids: Vec<&str> = page.items.iter().map(|message| message.item.message_id.as_str()).collect();
    let mut attachments = reader.attachments(&ids)?;
    for Positioned { item, .. } in &mut page.items {
        item.attachments = attachments.remove(&item.message_id).unwrap_or_default();
    }
    Ok(page)
}

fn indexed_messages(
    reader: &mut Reader,
    index: &Index,
    timeline: &Timeline,
    place: Option<&Place>,
) -> Result<Result<Page<Message>, IndexError>, StoreError> {
    let asked = MessagesAsked {
        conversation_id: timeline.equal.first().map(|(_, id)| id.as_str()),
        conversation_type: timeline.conversation_type,
        keyword: timeline.needle.as_ref().map(|needle| needle.folded.as_str()),
        since_ms: timeline.since_ms,
        before: place,
        limit: timeline.limit + 1,
    };
    let mut found = match usable(index.messages(reader, &asked))? {
        Ok(found) => found,
        Err(unusable) => return Ok(Err(unusable)),
    };
    let more = found.messages.len() > timeline.limit;
    found.messages.truncate(timeline.limit);
    let warnings = if found.behind > MAX_BEHIND { vec![behind(found.behind)] } else { Vec::new() };
    let items = found.messages.into_iter();
    let items = items.map(|(place, item)| Positioned { item, position: place.word() });
    Ok(Ok(page(items.collect(), more, warnings)))
}

fn found_page<T>(found: Found<T>, warning: Option<Warning>) -> Page<Hit<T>> {
    let items =
        found.items.into_iter().map(|(item, position)| Positioned { item, position: position.word() });
    page(items.collect(), found.more, warning.into_iter().collect())
}

fn run_page<T>(run: Run<T>) -> Page<T> {
    let warnings = if run.left_out > 0 { vec![rows_left_out(run.left_out)] } else { Vec::new() };
    let items = run.items.into_iter().map(|(item, position)| Positioned { item, position: position.word() });
    Page { items: items.collect(), next: run.next.map(|position| position.word()), warnings }
}

fn page<T>(items: Vec<Positioned<T>>, more: bool, warnings: Vec<Warning>) -> Page<T> {
    let next = items.last().filter(|_| more).map(|last| last.position.clone());
    Page { items, next, warnings }
}

fn without_index(unusable: &IndexError) -> Warning {
    Warning::new("SEARCH_WITHOUT_INDEX", format!("the store itself was read for this search: {unusable}"))
}

fn rows_left_out(rows: usize) -> Warning {
    Warning::new(
        "ROWS_LEFT_OUT",
        format!(
            "{rows} rows of this page were left out, for their ids cannot be used: they are missing, longer than \
             {LONGEST_ID} characters, or hold characters that nobody sees"
        ),
    )
}

fn behind(messages: usize) -> Warning {
    Warning::new(
        "INDEX_BEHIND",
        format!(
            "{messages} messages are newer than the index and are read with every question; \
             `countersign isphere index` brings it up to date"
        ),
    )
}
