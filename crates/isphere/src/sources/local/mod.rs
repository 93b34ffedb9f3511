//! The client's local store: an SQLite file of unknown layout, read through a profile and never changed.
//!
//! `mod` ([`LocalReadonly`], the source) → `scan` (searches), `timeline` (messages and files by time), `download` →
//! `reader` (rows) → `store` (connections, interrupts) → `open` (the file), `projection` (the profile's SELECTs).

mod download;
mod error;
mod functions;
pub mod inspect;
mod open;
pub mod profile;
mod projection;
mod reader;
mod scan;
mod store;
pub mod time;
mod timeline;
mod value;

use std::path::PathBuf;

use tokio::sync::Mutex;

pub use error::StoreError;
pub use profile::Profile;
pub use reader::Reader;
pub use store::{Store, StoreIdentity};

use self::profile::Table;
use self::reader::Rows;
use self::scan::{Found, Scan};
use self::timeline::{Position, Run, Timeline};
use super::{Answer, Download, FileQuery, Hit, Lookup, MessageQuery, Page, Positioned, Source, SourceError};
use crate::model::{Contact, Conversation, FileEntry, Group, Message, SourceName, Warning};
use crate::search::fold;
use crate::settings;

/// The source `local_readonly`. It opens the store when it is first asked, and again when that failed.
pub struct LocalReadonly {
    settings: settings::LocalReadonly,
    store: Mutex<Option<Store>>,
}

/// Opens the store that the configuration names. Without a profile there, the file beside the store that ends in
/// `.profile.toml` is taken; without a folder of files, the one that ends in `.files`, when it is there.
pub fn open_configured(settings: &settings::LocalReadonly) -> Result<Store, StoreError> {
    let path = settings.store.as_ref().ok_or(StoreError::NotConfigured)?;
    let beside = |ending: &str| path.with_extension(ending);
    if !path.exists() {
        return Err(StoreError::NotThere);
    }
    let profile = Profile::load(&settings.profile.clone().unwrap_or_else(|| beside("profile.toml")))?;
    let files: Option<PathBuf> =
        settings.files_dir.clone().or_else(|| Some(beside("files")).filter(|dir| dir.is_dir()));
    Store::open(path, profile, files.as_deref())
}

impl LocalReadonly {
    /// A source that reads the store of this configuration.
    pub fn new(settings: settings::LocalReadonly) -> Self {
        Self { settings, store: Mutex::new(None) }
    }

    async fn store(&self) -> Result<Store, StoreError> {
        let mut store = self.store.lock().await;
        if let Some(store) = &*store {
            return Ok(store.clone());
        }
        let settings = self.settings.clone();
        let opened = tokio::task::spawn_blocking(move || open_configured(&settings)).await;
        let opened = opened.map_err(|_| StoreError::Interrupted)??;
        Ok(store.insert(opened).clone())
    }

    async fn read<T, W>(&self, work: W) -> Result<T, SourceError>
    where
        T: Send + 'static,
        W: Fn(&mut Reader) -> Result<T, StoreError> + Send + 'static,
    {
        Ok(self.store().await?.query(work).await?)
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
        Box::pin(async move {
            let scan = Scan::of(query)?;
            self.read(move |reader| scan.contacts(reader)).await.map(found_page)
        })
    }

    fn groups<'a>(&'a self, query: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Group>>> {
        Box::pin(async move {
            let scan = Scan::of(query)?;
            self.read(move |reader| scan.groups(reader)).await.map(found_page)
        })
    }

    fn conversations<'a>(&'a self, query: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Conversation>>> {
        Box::pin(async move {
            let scan = Scan::of(query)?;
            self.read(move |reader| scan.conversations(reader)).await.map(found_page)
        })
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

    fn messages<'a>(&'a self, query: &'a MessageQuery<'a>) -> Answer<'a, Page<Message>> {
        Box::pin(async move {
            let timeline = Timeline {
                table: Table::Messages,
                equal: query.conversation_id.map(|id| ("conversation", id.to_owned())).into_iter().collect(),
                conversation_type: query.conversation_type,
                needle: query.keyword.map(|keyword| fold(keyword).into_owned()),
                since_ms: query.since_ms,
                limit: query.limit,
                after: query.after.map(|text| Position::parse(Table::Messages, text)).transpose()?,
            };
            let warnings = if query.keyword.is_some() { vec![without_index()] } else { Vec::new() };
            let run = self.read(move |reader| read_messages(reader, &timeline)).await?;
            Ok(run_page(run, warnings))
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
            let run =
                self.read(move |reader| timeline.read(reader, |rows, row| Ok(rows.file(row)?.entry))).await?;
            Ok(run_page(run, Vec::new()))
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

fn read_messages(reader: &mut Reader, timeline: &Timeline) -> Result<Run<Message>, StoreError> {
    let mut run = timeline.read(reader, Rows::message)?;
    let ids: Vec<&str> = run.items.iter().map(|(message, _)| message.message_id.as_str()).collect();
    let mut attachments = reader.attachments(&ids)?;
    for (message, _) in &mut run.items {
        message.attachments = attachments.remove(&message.message_id).unwrap_or_default();
    }
    Ok(run)
}

fn found_page<T>(found: Found<T>) -> Page<Hit<T>> {
    let items =
        found.items.into_iter().map(|(item, position)| Positioned { item, position: position.word() });
    page(items.collect(), found.more, vec![without_index()])
}

fn run_page<T>(run: Run<T>, warnings: Vec<Warning>) -> Page<T> {
    let items = run.items.into_iter().map(|(item, position)| Positioned { item, position: position.word() });
    page(items.collect(), run.more, warnings)
}

fn page<T>(items: Vec<Positioned<T>>, more: bool, warnings: Vec<Warning>) -> Page<T> {
    let next = items.last().filter(|_| more).map(|last| last.position.clone());
    Page { items, next, warnings }
}

fn without_index() -> Warning {
    Warning::new(
        "SEARCH_WITHOUT_INDEX",
        "the whole store was read for this search; `countersign isphere index` builds an index that makes it fast",
    )
}
