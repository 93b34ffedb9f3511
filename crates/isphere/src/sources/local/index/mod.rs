//! The search index of a local store: a file of its own, built and brought up to date by `countersign isphere index`.
//!
//! What the index finds is verified with the functions that a scan uses, on the row itself, so that both give the same
//! items in the same order; positions are places in that order and stay valid when the index is built anew.
//!
//! `entries` (people, groups, conversations; by `lookup`) and `messages` ask, `update` builds → `file` (the SQLite file) →
//! `terms` (what a document is found by), `offsets` (sets of documents), `checksum` (damage), `merge` (ordered chunks).

mod checksum;
mod entries;
mod error;
mod file;
mod lookup;
mod merge;
mod messages;
mod offsets;
mod terms;
mod update;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub use entries::{Entry, EntryQuery, Found};
pub use error::IndexError;
pub use file::Space;
pub use messages::{MessagesAsked, MessagesFound, Place};
pub use update::{Changes, Progress, Summary, rebuild, update};

use self::file::IndexFile;
use super::{Reader, StoreError, StoreIdentity};
use crate::files::FileNumber;

/// Connections that are kept while nobody uses them.
const MAX_IDLE: usize = 4;

/// An index that answers. Clones share the connections.
#[derive(Clone)]
pub struct Index {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    identity: StoreIdentity,
    /// Each with the number that the file had when it was opened.
    idle: Mutex<Vec<(Option<FileNumber>, IndexFile)>>,
}

/// What the index answered, or why it cannot be used, so that the caller reads the store itself.
pub(super) fn usable<T>(answer: Result<T, IndexError>) -> Result<Result<T, IndexError>, StoreError> {
    match answer {
        Err(IndexError::Store(error)) => Err(error),
        Err(error) => {
            if !matches!(error, IndexError::NotBuilt) {
                tracing::warn!(?error, "the search index is not used");
            }
            Ok(Err(error))
        }
        answer => Ok(answer),
    }
}

/// Where the index of the local store is, in the state folder.
pub fn path(state_dir: &Path) -> PathBuf {
    state_dir.join("index").join("local_readonly.db")
}

impl Index {
    /// The index of this store. It is opened when it is asked, so that it is used as soon as it is built.
    pub fn new(path: PathBuf, identity: StoreIdentity) -> Self {
        Self { shared: Arc::new(Shared { path, identity, idle: Mutex::default() }) }
    }

    /// The people, groups or conversations that match, the best first, of one class by id. They are as they were when
    /// the index was last brought up to date. Fails with [`IndexError::NotBuilt`] before the index was complete once.
    pub fn entries(&self, space: Space, asked: &EntryQuery<'_>) -> Result<Vec<Found>, IndexError> {
        self.ask(space, |file| entries::search(file, space, asked))
    }

    /// The messages asked for, the newest first, as the store has them now; those that came after the index was last
    /// brought up to date are among them. Fails as [`Self::entries`] does.
    pub fn messages(
        &self,
        reader: &mut Reader,
        asked: &MessagesAsked<'_>,
    ) -> Result<MessagesFound, IndexError> {
        self.ask(Space::Messages, |file| messages::search(file, reader, asked))
    }

    fn ask<T>(
        &self,
        space: Space,
        question: impl FnOnce(&IndexFile) -> Result<T, IndexError>,
    ) -> Result<T, IndexError> {
        let idle = || self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let number = FileNumber::of(&self.shared.path);
        let kept = {
            let mut idle = idle();
            // The file may have been removed, or another one put in its place.
            idle.retain(|(opened, _)| *opened == number);
            idle.pop()
        };
        let file = match kept {
            Some((_, file)) => file,
            None => IndexFile::open(&self.shared.path, &self.shared.identity)?,
        };
        let answer = {
            let _state = file.read()?;
            // Another program may have built it anew since it was opened.
            if !file.is_of(&self.shared.identity)? {
                return Err(IndexError::OfAnotherStore);
            }
            if !file.is_complete(space)? {
                return Err(IndexError::NotBuilt);
            }
            question(&file)?
        };
        let mut idle = idle();
        if idle.len() < MAX_IDLE {
            idle.push((number, file));
        }
        Ok(answer)
    }
}
