//! How a call tells its client how far it is.
//!
//! A call and the connection of its client share one place for the latest report. A client that reads slowly thus
//! misses reports that were overtaken, and never holds up the call.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, Waker},
};

use serde_json::value::RawValue;

/// Takes the reports of one call; clones share it. The default one is of a client that did not ask for reports.
#[derive(Clone, Debug, Default)]
pub struct Progress(Option<Listener>);

#[derive(Clone, Debug)]
struct Listener {
    token: Arc<RawValue>,
    reports: Reports,
}

/// One report on its way to the client.
#[derive(Debug)]
pub(crate) struct Report {
    /// The client's name for the call: a JSON string or integer.
    pub(crate) token: Arc<RawValue>,
    pub(crate) done: u64,
    pub(crate) total: Option<u64>,
    pub(crate) message: String,
}

/// The place for the latest report, as the connection sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports(Arc<Mutex<Latest>>);

#[derive(Debug, Default)]
struct Latest {
    done: Option<u64>,
    unsent: Option<Report>,
    waker: Option<Waker>,
}

impl Progress {
    /// Says that `done` of `total` is done, in a unit of the tool's choice; `message` is a short sentence for a person.
    /// Cheap, and nothing at all when the client did not ask. A `done` that is not above the last one is dropped, for
    /// progress must increase.
    pub fn report(&self, done: u64, total: Option<u64>, message: &str) {
        if let Some(Listener { token, reports }) = &self.0 {
            let report = Report { token: Arc::clone(token), done, total, message: message.to_owned() };
            reports.put(report);
        }
    }
}

impl Reports {
    /// What a call reports to here, under the client's `token`.
    pub(crate) fn progress(&self, token: &RawValue) -> Progress {
        Progress(Some(Listener { token: Arc::from(token.to_owned()), reports: self.clone() }))
    }

    /// The latest report that was not taken yet; wakes the caller when there is one.
    pub(crate) fn poll_latest(&self, context: &Context<'_>) -> Poll<Report> {
        let mut latest = self.lock();
        if let Some(report) = latest.unsent.take() {
            return Poll::Ready(report);
        }
        latest.waker = Some(context.waker().clone());
        Poll::Pending
    }

    fn put(&self, report: Report) {
        let mut latest = self.lock();
        if latest.done.is_some_and(|done| report.done <= done) {
            return;
        }
        latest.done = Some(report.done);
        latest.unsent = Some(report);
        let waker = latest.waker.take();
        drop(latest);
        waker.inspect(Waker::wake_by_ref);
    }

    fn lock(&self) -> MutexGuard<'_, Latest> {
        self.0.lock().expect("no holder of this lock panics")
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use futures_util::FutureExt;

    use super::*;

    fn pair() -> (Progress, Reports) {
        let reports = Reports::default();
        (reports.progress(serde_json::from_str("7").unwrap()), reports)
    }

    fn taken(reports: &Reports) -> Option<(u64, String)> {
        let report = poll_fn(|context| reports.poll_latest(context)).now_or_never()?;
        Some((report.done, report.message))
    }

    #[test]
    fn the_latest_report_overtakes_those_that_were_not_taken() {
        let (progress, reports) = pair();
        assert_eq!(taken(&reports), None);
        progress.report(1, None, "one");
        progress.clone().report(2, Some(3), "two");
        assert_eq!(taken(&reports), Some((2, "two".to_owned())));
        assert_eq!(taken(&reports), None);
    }

    #[test]
    fn progress_only_increases() {
        let (progress, reports) = pair();
        progress.report(2, None, "two");
        progress.report(2, None, "two again");
        assert_eq!(taken(&reports), Some((2, "two".to_owned())));
        progress.report(1, None, "one");
        assert_eq!(taken(&reports), None);
    }

    #[tokio::test]
    async fn a_report_wakes_the_connection_that_waits_for_it() {
        let (progress, reports) = pair();
        let waiting = tokio::spawn(async move { poll_fn(|context| reports.poll_latest(context)).await.done });
        tokio::task::yield_now().await;
        progress.report(5, None, "five");
        assert_eq!(waiting.await.unwrap(), 5);
    }

    #[test]
    fn without_a_listener_a_report_goes_nowhere() {
        Progress::default().report(1, None, "one");
    }
}
