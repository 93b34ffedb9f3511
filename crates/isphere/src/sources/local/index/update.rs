//! Building an index, and bringing it up to date with work in proportion to what changed.

mod entries;
mod messages;

use std::fs::TryLockError;
use std::path::Path;

use govern::private::file_options;
use serde::Serialize;

use super::error::IndexError;
use super::file::{IndexFile, Space};
use crate::model::{Contact, Conversation, Group};
use crate::sources::local::{Reader, Store, StoreIdentity};

/// How far the work has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being indexed.
    pub space: Space,
    /// How many rows of it were read.
    pub rows: u64,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// People.
    pub contacts: Changes,
    /// Groups.
    pub groups: Changes,
    /// Conversations.
    pub conversations: Changes,
    /// Messages; those that were removed or changed are seen when they are read.
    pub messages_added: u64,
}

/// What was done to people, groups or conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// Rows that are new or were changed.
    pub written: u64,
    /// Rows that are no longer there.
    pub removed: u64,
}

/// Brings the index at this path up to date with the store, and builds it when it is not there or of another store or
/// profile. What was committed when it is interrupted is kept, and the next run goes on from there.
pub fn update(store: &Store, path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Summary, IndexError> {
    build(IndexFile::create, store, path, progress)
}

/// Empties the index at this path and builds it, also when its file is damaged. Until the end, searches read the store
/// itself. When it is interrupted, [`update`] goes on from there.
pub fn rebuild(
    store: &Store,
    path: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Summary, IndexError> {
    build(IndexFile::create_anew, store, path, progress)
}

fn build(
    open: fn(&Path, &StoreIdentity) -> Result<IndexFile, IndexError>,
    store: &Store,
    path: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Summary, IndexError> {
    if let Some(folder) = path.parent() {
        govern::private::make_folder(folder)?;
    }
    // Held until the file is closed, at the end of this function or of the process.
    let lock = file_options().create(true).truncate(false).open(path.with_added_extension("lock"))?;
    lock.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => IndexError::Busy,
        TryLockError::Error(error) => IndexError::Folder(error),
    })?;
    let mut file = open(path, &store.identity())?;
    let summary = Summary {
        contacts: entries::update(&mut file, store, Space::Contacts, progress, |reader, visit| {
            reader.contacts(&mut |contact: Contact| visit(contact.into()))
        })?,
        groups: entries::update(&mut file, store, Space::Groups, progress, |reader, visit| {
            reader.groups(&mut |group: Group| visit(group.into()))
        })?,
        conversations: entries::update(&mut file, store, Space::Conversations, progress, |reader, visit| {
            reader.conversations(&mut |conversation: Conversation| visit(conversation.into()))
        })?,
        messages_added: messages::update(&mut file, store, progress)?,
    };
    Ok(summary)
}

/// Does `work`, again when the store changed under it.
fn unchanged<T>(
    store: &Store,
    mut work: impl FnMut(&mut Reader) -> Result<T, IndexError>,
) -> Result<T, IndexError> {
    store.retry(None, &mut |reader| match work(reader) {
        Err(IndexError::Store(error)) => Err(error),
        other => Ok(other),
    })?
}

/// Whether a chunk and the one after it become one: then each document is written anew once for each doubling of its
/// chunk, and there are few chunks that are not full.
fn should_merge(before: usize, after: usize, most: usize) -> bool {
    before <= 2 * after && before + after <= most
}
