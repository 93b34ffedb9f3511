//! The time limit: work happens in a thread of its own, and when it does not come to its end in time, an answer is
//! made from what it found so far.
//!
//! A call into UI Automation cannot be stopped, so the thread is left behind and the process ends under it.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::fault::Fault;
use crate::progress::Progress;

/// Runs `work` for at most `limit`, then gives `so_far` of what it found; without anything found the fault is
/// [`Fault::TimedOut`]. A panic of `work` is [`Fault::Crashed`].
pub fn within<D: Send + 'static>(
    limit: Duration,
    timeout_ms: u64,
    progress: &Arc<Progress>,
    work: impl FnOnce(&Progress) -> Result<D, Fault> + Send + 'static,
    so_far: impl FnOnce(&Progress) -> Option<D>,
) -> Result<D, Fault> {
    let (done, outcome) = sync_channel(1);
    let shared = Arc::clone(progress);
    thread::spawn(move || {
        // Nobody listens any more when the time limit passed; then the outcome is not needed.
        let _ = done.send(work(&shared));
    });
    match outcome.recv_timeout(limit) {
        Ok(outcome) => outcome,
        Err(RecvTimeoutError::Disconnected) => Err(Fault::Crashed),
        Err(RecvTimeoutError::Timeout) => {
            let found = so_far(progress).ok_or(Fault::TimedOut(timeout_ms))?;
            progress.warn(
                "DEADLINE",
                format!("the time limit of {timeout_ms} ms passed; this is what was read until then"),
            );
            Ok(found)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};

    const LONG: Duration = Duration::from_mins(1);
    const SHORT: Duration = Duration::from_millis(20);

    /// Work that does not end before its sender is dropped.
    fn endless() -> (Sender<()>, impl FnOnce(&Progress) -> Result<u8, Fault> + Send) {
        let (hold, released) = channel::<()>();
        let work = move |_: &Progress| {
            let _ = released.recv();
            Ok(1)
        };
        (hold, work)
    }

    #[test]
    fn work_that_ends_in_time_is_the_answer() {
        let progress = Arc::default();
        assert_eq!(within(LONG, 60_000, &progress, |_| Ok(1), |_| None), Ok(1));
        assert_eq!(progress.warnings(), []);
    }

    #[test]
    fn what_was_found_until_the_limit_is_the_answer_with_a_warning() {
        let (_hold, work) = endless();
        let progress = Arc::default();
        assert_eq!(within(SHORT, 20, &progress, work, |_| Some(2)), Ok(2));
        assert_eq!(progress.warnings()[0].code, "DEADLINE");
    }

    #[test]
    fn nothing_found_until_the_limit_is_a_timeout() {
        let (_hold, work) = endless();
        let outcome = within(SHORT, 20, &Arc::default(), work, |_| None);
        assert_eq!(outcome, Err(Fault::TimedOut(20)));
    }

    #[test]
    fn work_that_panics_is_a_fault_of_the_helper() {
        let work = |_: &Progress| -> Result<u8, Fault> { panic!("a test's own") };
        assert_eq!(within(LONG, 60_000, &Arc::default(), work, |_| None), Err(Fault::Crashed));
    }
}
