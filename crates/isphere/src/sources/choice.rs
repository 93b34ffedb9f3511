//! Which source answers: the one that the caller names, or for `auto` the first of the configured ones that is healthy.

use std::fmt;
use std::sync::{Arc, Mutex};

use govern::clock::Clock;
use serde::{Deserialize, Serialize};

use super::local::{LocalReadonly, index};
use super::mock::Mock;
use super::uia::Uia;
use super::{Source, SourceError};
use crate::helper::HelperClient;
use crate::model::{SourceName, Warning};
use crate::settings::Settings;

/// `source_preference` of the contract. `mock` cannot be asked for; where it is configured, `auto` takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preference {
    /// Another instance of this product.
    Bridge,
    /// The client's local store.
    LocalReadonly,
    /// The client's window.
    Uia,
    /// The XMPP network.
    Network,
    /// The first of the configured sources that is healthy.
    #[default]
    Auto,
}

/// The configured sources, in the order in which `auto` tries them.
pub struct Sources {
    entries: Vec<Entry>,
    clock: Clock,
}

/// A source that is there, or why it is not.
pub type Opened = Result<Arc<dyn Source>, SourceError>;

/// The source that answers a call.
pub struct Chosen {
    /// The source.
    pub source: Arc<dyn Source>,
    /// Those that `auto` tried before it, and why it did not take them.
    pub skipped: Vec<Warning>,
}

struct Entry {
    name: SourceName,
    source: Opened,
    health: Mutex<Option<Health>>,
}

#[derive(Clone)]
struct Health {
    state: Result<(), SourceError>,
    until_ms: i64,
}

/// The organisation that the demo shows.
const DEMO_SEED: u64 = 1;

/// How long an answer about a source's health is believed, in milliseconds.
const BELIEVED_MS: i64 = 1_000;

impl Sources {
    /// These sources, in this order.
    pub fn new(entries: impl IntoIterator<Item = (SourceName, Opened)>, clock: Clock) -> Self {
        let entry = |(name, source)| Entry { name, source, health: Mutex::default() };
        Self { entries: entries.into_iter().map(entry).collect(), clock }
    }

    /// The sources that the settings name; `helper` looks at windows for them. One that is not there is kept with its reason,
    /// for another may serve.
    pub fn open(settings: &Settings, helper: &Arc<HelperClient>, clock: &Clock) -> Self {
        let open = |name: &SourceName| {
            let source: Opened = match name {
                SourceName::Mock => Ok(Arc::new(Mock::new(DEMO_SEED))),
                SourceName::LocalReadonly => Ok(Arc::new(
                    LocalReadonly::new(settings.local_readonly.clone())
                        .with_index(index::path(&settings.state_dir)),
                )),
                SourceName::Uia => {
                    Ok(Arc::new(Uia::new(Arc::clone(helper), settings.uia.clone(), clock.clone())))
                }
                SourceName::Bridge | SourceName::Network => Err(not_built(*name)),
            };
            (*name, source)
        };
        Self::new(settings.sources.iter().map(open), clock.clone())
    }

    /// The source for this preference, healthy a second ago at the latest.
    pub async fn choose(&self, preference: Preference) -> Result<Chosen, SourceError> {
        if let Some(name) = preference.name() {
            return self.named(name).await.map(|source| Chosen { source, skipped: Vec::new() });
        }
        let mut failed = Vec::new();
        for entry in &self.entries {
            match self.healthy(entry).await {
                Ok(source) => {
                    let skipped = failed
                        .iter()
                        .map(|(name, error): &(SourceName, SourceError)| {
                            Warning::new(
                                "SOURCE_SKIPPED",
                                format!("{} was tried first: {error}", name.as_str()),
                            )
                        })
                        .collect();
                    return Ok(Chosen { source, skipped });
                }
                Err(error) => failed.push((entry.name, error)),
            }
        }
        Err(none_healthy(failed))
    }

    /// The source of this name, and no other in its stead.
    pub async fn named(&self, name: SourceName) -> Result<Arc<dyn Source>, SourceError> {
        match self.entries.iter().find(|entry| entry.name == name) {
            Some(entry) => self.healthy(entry).await,
            None => Err(not_configured(name)),
        }
    }

    /// The one that this preference would try first; for the audit object of a call that reached none.
    pub fn first(&self, preference: Preference) -> SourceName {
        let configured = || self.entries.first().map_or(SourceName::LocalReadonly, |entry| entry.name);
        preference.name().unwrap_or_else(configured)
    }

    async fn healthy(&self, entry: &Entry) -> Opened {
        let source = entry.source.as_ref().map_err(Clone::clone)?;
        let now_ms = self.clock.now_ms();
        let known = entry.health().clone().filter(|health| health.until_ms > now_ms);
        let state = if let Some(health) = known {
            health.state
        } else {
            let state = source.health().await;
            *entry.health() = Some(Health { state: state.clone(), until_ms: now_ms + BELIEVED_MS });
            state
        };
        state.map(|()| Arc::clone(source))
    }
}

impl Entry {
    fn health(&self) -> std::sync::MutexGuard<'_, Option<Health>> {
        self.health.lock().expect("no holder of this lock panics")
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.entries.iter().map(|entry| entry.name)).finish()
    }
}

impl Preference {
    /// The source that is named; none for `auto`.
    pub fn name(self) -> Option<SourceName> {
        match self {
            Self::Bridge => Some(SourceName::Bridge),
            Self::LocalReadonly => Some(SourceName::LocalReadonly),
            Self::Uia => Some(SourceName::Uia),
            Self::Network => Some(SourceName::Network),
            Self::Auto => None,
        }
    }
}

/// What a source says that this release does not have.
pub fn not_built(name: SourceName) -> SourceError {
    SourceError::Unavailable {
        message: format!(
            "the source {} comes with a later release; configure local_readonly ([isphere] sources, [isphere.local_readonly] store)",
            name.as_str()
        ),
        retryable: false,
    }
}

fn not_configured(name: SourceName) -> SourceError {
    match name {
        SourceName::Bridge | SourceName::Network => not_built(name),
        SourceName::LocalReadonly | SourceName::Uia | SourceName::Mock => SourceError::Unavailable {
            message: format!(
                "the source {0} is not configured; add \"{0}\" to [isphere] sources, or call with source_preference auto",
                name.as_str()
            ),
            retryable: false,
        },
    }
}

/// With one source its own word; with several, the words of all.
fn none_healthy(mut failed: Vec<(SourceName, SourceError)>) -> SourceError {
    if failed.len() == 1
        && let Some((_, error)) = failed.pop()
    {
        return error;
    }
    let retryable =
        failed.iter().any(|(_, error)| matches!(error, SourceError::Unavailable { retryable: true, .. }));
    let tried: Vec<String> =
        failed.iter().map(|(name, error)| format!("{}: {error}", name.as_str())).collect();
    SourceError::Unavailable { message: format!("no source is available; {}", tried.join("; ")), retryable }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures_util::FutureExt as _;

    use super::*;
    use crate::model::{Contact, Conversation, FileEntry, Group, Message};
    use crate::sources::{Answer, Download, FileQuery, Hit, Lookup, MessageQuery, Page};

    /// Is healthy from its second second on, and has nothing.
    struct Slow(SourceName, Clock, AtomicUsize);

    fn nothing<'a, T>() -> Answer<'a, T> {
        async { Err(SourceError::Failed("nothing here".to_owned())) }.boxed()
    }

    impl Source for Slow {
        fn name(&self) -> SourceName {
            self.0
        }
        fn health(&self) -> Answer<'_, ()> {
            self.2.fetch_add(1, Ordering::SeqCst);
            let healthy = self.1.now_ms() >= 1_000;
            let down = SourceError::Unavailable { message: "it starts".to_owned(), retryable: true };
            async move { if healthy { Ok(()) } else { Err(down) } }.boxed()
        }
        fn contacts<'a>(&'a self, _: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Contact>>> {
            nothing()
        }
        fn groups<'a>(&'a self, _: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Group>>> {
            nothing()
        }
        fn conversations<'a>(&'a self, _: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Conversation>>> {
            nothing()
        }
        fn contact<'a>(&'a self, _: &'a str) -> Answer<'a, Option<Contact>> {
            nothing()
        }
        fn group<'a>(&'a self, _: &'a str) -> Answer<'a, Option<Group>> {
            nothing()
        }
        fn conversation<'a>(&'a self, _: &'a str) -> Answer<'a, Option<Conversation>> {
            nothing()
        }
        fn message<'a>(&'a self, _: &'a str) -> Answer<'a, Option<Message>> {
            nothing()
        }
        fn messages<'a>(&'a self, _: &'a MessageQuery<'a>) -> Answer<'a, Page<Message>> {
            nothing()
        }
        fn files<'a>(&'a self, _: &'a FileQuery<'a>) -> Answer<'a, Page<FileEntry>> {
            nothing()
        }
        fn file<'a>(&'a self, _: &'a str) -> Answer<'a, Option<FileEntry>> {
            nothing()
        }
        fn download<'a>(&'a self, _: &'a str) -> Answer<'a, Download> {
            nothing()
        }
    }

    fn rig() -> (Clock, Arc<Slow>, Sources) {
        let clock = Clock::manual(0);
        let local = Arc::new(Slow(SourceName::LocalReadonly, clock.clone(), AtomicUsize::new(0)));
        let mock: Opened = Ok(Arc::new(Mock::new(1)));
        let entries = [
            (SourceName::Bridge, Err(not_built(SourceName::Bridge))),
            (SourceName::LocalReadonly, Ok(Arc::clone(&local) as Arc<dyn Source>)),
            (SourceName::Mock, mock),
        ];
        (clock.clone(), local, Sources::new(entries, clock))
    }

    #[tokio::test]
    async fn auto_takes_the_first_that_is_healthy_and_says_which_it_skipped() {
        let (clock, _, sources) = rig();
        let chosen = sources.choose(Preference::Auto).await.unwrap();
        assert_eq!(chosen.source.name(), SourceName::Mock);
        let skipped: Vec<_> = chosen.skipped.iter().map(|warning| warning.message.as_str()).collect();
        assert!(skipped[0].starts_with("bridge") && skipped[1].starts_with("local_readonly"), "{skipped:?}");
        clock.advance(Duration::from_secs(1));
        assert_eq!(sources.choose(Preference::Auto).await.unwrap().source.name(), SourceName::LocalReadonly);
    }

    #[tokio::test]
    async fn a_named_source_has_no_substitute() {
        let (_, _, sources) = rig();
        for (preference, word) in [
            (Preference::LocalReadonly, "it starts"),
            (Preference::Bridge, "later release"),
            (Preference::Network, "later release"),
        ] {
            let error = sources.choose(preference).await.err().unwrap().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[tokio::test]
    async fn health_is_asked_once_a_second() {
        let (clock, local, sources) = rig();
        for _ in 0..5 {
            assert!(sources.choose(Preference::LocalReadonly).await.is_err());
        }
        assert_eq!(local.2.load(Ordering::SeqCst), 1);
        clock.advance(Duration::from_secs(1));
        assert!(sources.choose(Preference::LocalReadonly).await.is_ok());
    }

    #[tokio::test]
    async fn when_none_is_healthy_each_is_named() {
        let clock = Clock::manual(0);
        let down = |name| (name, Err(not_built(name)));
        let sources = Sources::new([down(SourceName::Bridge), down(SourceName::Uia)], clock);
        let error = sources.choose(Preference::Auto).await.err().unwrap().to_string();
        assert!(error.contains("bridge: ") && error.contains("uia: "), "{error}");
    }
}
