//! The store: a few connections, the checked profile, and reading that stops when nobody waits for it any more.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::error::StoreError;
use super::functions;
use super::open::{Opener, Plan, settled};
use super::profile::{Profile, ProfileError, Section, SectionFault, Table};
use super::projection::{Projection, parts};
use super::reader::Reader;

/// Connections that are kept while nobody uses them.
const MAX_IDLE: usize = 4;
/// Queries that run at the same time; further ones wait for their turn.
const MOST_QUERIES: usize = 8;

/// The client's store and how to read it. Clones share the connections.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

/// Which store was read with which profile; an index belongs to one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreIdentity {
    /// The store's file, without links.
    pub path: String,
    /// SHA-256 of the profile, in hex.
    pub profile_digest: String,
}

struct Shared {
    opener: Opener,
    profile: Profile,
    files: Option<FilesFolder>,
    idle: Mutex<Vec<Lease>>,
    /// Queries beyond these wait: many scans at once would all be too late.
    turns: Semaphore,
    projections: Mutex<HashMap<(Table, String), Arc<Projection>>>,
}

/// The folder of the client's files; nothing outside of it can be opened through `folder`.
pub(super) struct FilesFolder {
    pub folder: Dir,
    /// Its name, to recognise absolute paths inside.
    pub path: std::path::PathBuf,
}

/// A connection, and the plan it was opened under.
pub(super) struct Lease {
    pub connection: Connection,
    pub plan: Plan,
}

impl Store {
    /// Opens a store and checks every SELECT of the profile on it. `files_dir` is the folder that the paths of files
    /// are relative to; without one, no file can be downloaded.
    pub fn open(path: &Path, profile: Profile, files_dir: Option<&Path>) -> Result<Self, StoreError> {
        let files = files_dir.map(FilesFolder::open).transpose()?;
        let shared = Shared {
            opener: Opener::new(path)?,
            profile,
            files,
            idle: Mutex::default(),
            turns: Semaphore::new(MOST_QUERIES),
            projections: Mutex::default(),
        };
        let store = Self { shared: Arc::new(shared) };
        store.retry(None, &mut |reader| {
            for (table, section) in store.profile().sections() {
                if reader.projections(table)?.is_empty() {
                    let pattern = section.tables.clone().unwrap_or_default();
                    return Err(store.profile_fault(table, SectionFault::NoTableFits(pattern)));
                }
            }
            Ok(())
        })?;
        Ok(store)
    }

    /// A reader, for a thread that may block. Several readers can be used at the same time.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        Reader::new(self.clone(), None)
    }

    /// Which store this is, and with which profile.
    pub fn identity(&self) -> StoreIdentity {
        StoreIdentity {
            path: self.shared.opener.path().to_string_lossy().into_owned(),
            profile_digest: self.profile().digest().to_owned(),
        }
    }

    /// Does `work` on a thread that may block, and again when the file changed meanwhile. Dropping the future
    /// interrupts the statement that runs.
    pub async fn query<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&mut Reader) -> Result<T, StoreError> + Send + 'static,
    {
        let _turn = self.shared.turns.acquire().await.map_err(|_| StoreError::Interrupted)?;
        let stop = Arc::new(AtomicBool::new(false));
        let _stops = StopOnDrop(Arc::clone(&stop));
        let store = self.clone();
        let done =
            tokio::task::spawn_blocking(move || store.retry(Some(&stop), &mut |reader| work(reader))).await;
        done.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(StoreError::Interrupted),
        })
    }

    /// How the store is read.
    pub fn profile(&self) -> &Profile {
        &self.shared.profile
    }

    /// Where the client's files are.
    pub(super) fn files(&self) -> Option<&FilesFolder> {
        self.shared.files.as_ref()
    }

    /// Does `work` on this thread, and again when the file changed meanwhile.
    pub(super) fn retry<T>(
        &self,
        stop: Option<&Arc<AtomicBool>>,
        work: &mut dyn FnMut(&mut Reader) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        settled(|| {
            let mut reader = Reader::new(self.clone(), stop.cloned())?;
            let result = work(&mut reader).map_err(|error| reader.reason(error));
            if reader.unchanged() { result } else { Err(StoreError::Changed) }
        })
    }

    /// A connection for the file as it is now: an idle one, when it fits.
    pub(super) fn lease(&self) -> Result<Lease, StoreError> {
        let plan = self.shared.opener.plan()?;
        {
            let mut idle = lock(&self.shared.idle);
            idle.retain(|lease| lease.plan == plan);
            if let Some(lease) = idle.pop() {
                return Ok(lease);
            }
        }
        let connection = self.shared.opener.open(&plan)?;
        functions::register(&connection, self.profile())?;
        Ok(Lease { connection, plan })
    }

    /// Keeps a connection for the next one, unless it would keep the client from removing its log.
    pub(super) fn give_back(&self, lease: Lease) {
        let mut idle = lock(&self.shared.idle);
        if !matches!(lease.plan, Plan::Log { .. }) && idle.len() < MAX_IDLE {
            idle.push(lease);
        }
    }

    /// The reason behind an error under this plan.
    pub(super) fn reason(&self, plan: &Plan, error: StoreError) -> StoreError {
        self.shared.opener.reason(plan, error)
    }

    /// Whether what was read under this plan is what was in the file.
    pub(super) fn unchanged(&self, plan: &Plan) -> bool {
        self.shared.opener.unchanged(plan)
    }

    /// The SELECTs of a section, one for each part that is there now.
    pub(super) fn projections(
        &self,
        connection: &Connection,
        table: Table,
    ) -> Result<Vec<Arc<Projection>>, StoreError> {
        let Some(section) = self.profile().section(table) else { return Ok(Vec::new()) };
        parts(connection, table, section)
            .and_then(|parts| {
                let projection = |part| self.projection(connection, table, section, part);
                parts.into_iter().map(projection).collect()
            })
            .map_err(|error| error.in_profile(self.profile().path()))
    }

    /// A fault of the profile's section.
    pub(super) fn profile_fault(&self, table: Table, fault: SectionFault) -> StoreError {
        StoreError::from(ProfileError::section(table, fault)).in_profile(self.profile().path())
    }

    fn projection(
        &self,
        connection: &Connection,
        table: Table,
        section: &Section,
        part: String,
    ) -> Result<Arc<Projection>, StoreError> {
        let key = (table, part);
        if let Some(known) = lock(&self.shared.projections).get(&key) {
            return Ok(Arc::clone(known));
        }
        let new = Arc::new(Projection::new(connection, table, section, &key.1)?);
        lock(&self.shared.projections).insert(key, Arc::clone(&new));
        Ok(new)
    }
}

impl FilesFolder {
    fn open(path: &Path) -> Result<Self, StoreError> {
        let path = std::fs::canonicalize(path).map_err(StoreError::FilesFolder)?;
        let folder = Dir::open_ambient_dir(&path, ambient_authority()).map_err(StoreError::FilesFolder)?;
        Ok(Self { folder, path })
    }
}

/// Tells the reading side that nobody waits any more.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
