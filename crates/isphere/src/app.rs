//! What the tools work with: the configured sources, the policy, the key that seals cursors, the clock.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use govern::clock::Clock;
use govern::gate::Policy;
use govern::random::Random;
use thiserror::Error as ThisError;
use tokio::time::Instant;

use crate::access::{Access, AccessError};
use crate::audit::key::{KeyError, StateKey};
use crate::error::Error;
use crate::files::inbound::Inbound;
use crate::files::outbound::Outbound;
use crate::helper::HelperClient;
use crate::sending::ledger::{self, Ledger};
use crate::settings::{Settings, SettingsFault};
use crate::sources::choice::Sources;

/// The iSphere half.
#[derive(Debug)]
pub struct Isphere {
    /// The `[isphere]` section.
    pub settings: Settings,
    /// No write at all, whatever else is allowed; downloads are only previewed.
    pub read_only: bool,
    /// Where data comes from.
    pub sources: Sources,
    /// What looks at windows.
    pub helper: Arc<HelperClient>,
    /// Whose data may be seen.
    pub access: Access,
    /// Where downloads go; none when it is not configured.
    pub inbound: Option<Inbound>,
    /// Where files that are sent lie; none when it is not configured.
    pub outbound: Option<Outbound>,
    /// Which idempotency keys belong to which sends.
    pub ledger: Ledger,
    /// The key of the state folder.
    pub key: StateKey,
    /// The time.
    pub clock: Clock,
    /// Randomness.
    pub random: Random,
}

/// Why the iSphere half cannot start. For the operator: it may name files.
#[derive(Debug, ThisError)]
pub enum OpenError {
    /// The settings cannot work.
    #[error(transparent)]
    Settings(#[from] SettingsFault),
    /// The state folder cannot be made.
    #[error("the state folder {} cannot be made: {reason}; set [isphere] state_dir to a folder that can be written", path.display())]
    StateDir {
        /// The folder.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// The policy has an entry that means nothing.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The state key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The ledger of sends cannot be used.
    #[error(transparent)]
    Ledger(#[from] ledger::OpenError),
    /// The outbound folder cannot be opened.
    #[error("[isphere] outbound_dir {} cannot be opened: {reason}; make the folder, or leave outbound_dir out", path.display())]
    Outbound {
        /// The folder.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// The inbound folder cannot be opened.
    #[error("[isphere] inbound_dir {} cannot be opened: {reason}; make the folder, or leave inbound_dir out", path.display())]
    Inbound {
        /// The folder.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
}

impl Isphere {
    /// The half as configured; makes the state folder and its key when they are not there.
    pub fn open(
        settings: Settings,
        policy: &Policy,
        clock: Clock,
        random: Random,
    ) -> Result<Self, OpenError> {
        settings.check()?;
        let helper = Arc::new(HelperClient::new(&settings.helper, random.clone()));
        let sources = Sources::open(&settings, &helper, &clock);
        // One client for the source and the tools, so that a window is read by one at a time.
        Ok(Self { helper, ..Self::with_sources(settings, policy, sources, clock, random)? })
    }

    /// The half over these sources, whatever the settings name.
    pub fn with_sources(
        settings: Settings,
        policy: &Policy,
        sources: Sources,
        clock: Clock,
        random: Random,
    ) -> Result<Self, OpenError> {
        govern::private::make_folder(&settings.state_dir)
            .map_err(|reason| OpenError::StateDir { path: settings.state_dir.clone(), reason })?;
        let inbound = settings
            .inbound_dir
            .as_ref()
            .map(|path| {
                Inbound::open(path, settings.max_file_bytes, random.clone())
                    .map_err(|reason| OpenError::Inbound { path: path.clone(), reason })
            })
            .transpose()?;
        let outbound = settings
            .outbound_dir
            .as_ref()
            .map(|path| {
                Outbound::open(path, settings.max_file_bytes)
                    .map_err(|reason| OpenError::Outbound { path: path.clone(), reason })
            })
            .transpose()?;
        Ok(Self {
            access: Access::new(policy)?,
            key: StateKey::open(&settings.state_dir, &random)?,
            ledger: Ledger::open(&settings.state_dir)?,
            helper: Arc::new(HelperClient::new(&settings.helper, random.clone())),
            read_only: policy.read_only,
            settings,
            sources,
            inbound,
            outbound,
            clock,
            random,
        })
    }

    /// Where downloads may be written, or which key of the configuration forbids it.
    pub fn downloads(&self) -> Result<&Inbound, Error> {
        if self.read_only {
            return Err(Error::PreviewOnly(
                "this server is read-only ([policy] read_only), so a download is only previewed; call with preview true"
                    .to_owned(),
            ));
        }
        self.inbound.as_ref().ok_or_else(|| {
            Error::PreviewOnly(
                "no folder for downloads is configured, so nothing can be saved; the operator has to set [isphere] inbound_dir"
                    .to_owned(),
            )
        })
    }

    /// When a call that begins now is over.
    pub fn deadline(&self) -> Deadline {
        Deadline::after(self.settings.timeout_ms)
    }

    /// Runs `work` at most as long as one call may take.
    pub async fn within_limit<T>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, Error> {
        self.deadline().run(work).await
    }
}

/// When a call is over.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    limit_ms: u64,
    at: Instant,
}

impl Deadline {
    /// One that is so many milliseconds away.
    pub fn after(limit_ms: u64) -> Self {
        Self { limit_ms, at: Instant::now() + Duration::from_millis(limit_ms) }
    }

    /// Whether half of the time has gone, so that what may take as long again had better not begin.
    pub fn is_near(&self) -> bool {
        Instant::now() + Duration::from_millis(self.limit_ms / 2) >= self.at
    }

    /// When a search that has begun stops, so that what it found is answered in time: an eighth of the time before.
    pub fn search_until(&self) -> Instant {
        self.at - Duration::from_millis(self.limit_ms / 8)
    }

    /// Runs `work` until then; [`Error::TimedOut`] when it is not done.
    pub async fn run<T>(&self, work: impl Future<Output = Result<T, Error>> + Send) -> Result<T, Error> {
        tokio::time::timeout_at(self.at, work)
            .await
            .unwrap_or(Err(Error::TimedOut { limit_ms: self.limit_ms }))
    }
}
