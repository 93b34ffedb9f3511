//! The one place that asks the operating system for the time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// The source of time; passed in, so that a test decides what time it is.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The clock of the operating system.
    System,
    /// A clock that stands still at this many Unix milliseconds until a test moves it.
    Manual(Arc<AtomicI64>),
}

/// Measures how long something took, from the moment [`Clock::stopwatch`] made it.
#[derive(Clone, Debug)]
pub struct Stopwatch(Started);

#[derive(Clone, Debug)]
enum Started {
    Monotonic(Instant),
    Manual { clock: Arc<AtomicI64>, at_ms: i64 },
}

impl Clock {
    /// A manual clock that starts at `ms` Unix milliseconds.
    pub fn manual(ms: i64) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(ms)))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    #[allow(clippy::disallowed_methods, reason = "the one place where wall time enters")]
    pub fn now_ms(&self) -> i64 {
        match self {
            Self::System => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)),
            Self::Manual(ms) => ms.load(Ordering::SeqCst),
        }
    }

    /// Moves a manual clock on. The system's clock is left alone.
    pub fn advance(&self, by: Duration) {
        if let Self::Manual(ms) = self {
            ms.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
        }
    }

    /// Starts measuring a duration; a step of the wall clock does not disturb it.
    #[allow(clippy::disallowed_methods, reason = "the one place where monotonic time enters")]
    pub fn stopwatch(&self) -> Stopwatch {
        Stopwatch(match self {
            Self::System => Started::Monotonic(Instant::now()),
            Self::Manual(clock) => {
                Started::Manual { clock: Arc::clone(clock), at_ms: clock.load(Ordering::SeqCst) }
            }
        })
    }
}

impl Stopwatch {
    /// Microseconds since the start.
    pub fn elapsed_us(&self) -> u64 {
        match &self.0 {
            Started::Monotonic(instant) => u64::try_from(instant.elapsed().as_micros()).unwrap_or(u64::MAX),
            Started::Manual { clock, at_ms } => {
                u64::try_from(clock.load(Ordering::SeqCst) - at_ms).unwrap_or(0) * 1000
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = Clock::manual(1_000);
        let watch = clock.stopwatch();
        assert_eq!(clock.now_ms(), 1_000);
        clock.advance(Duration::from_millis(20));
        assert_eq!(clock.now_ms(), 1_020);
        assert_eq!(watch.elapsed_us(), 20_000);
    }
}
