//! The record of every call: a bounded queue in front of a sink that keeps it.
//!
//! A place in the queue is taken before the call runs. When there is none, nothing is done: no call without a
//! record. Records are flushed at 512 or after half a second, so a crash loses at most that of reads; a write
//! that must never lose its record writes it in its own transaction and says so
//! ([`Outcome::recorded_by_tool`](crate::tool::Outcome::recorded_by_tool)).

pub mod head;

use std::{borrow::Cow, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde::Serialize;
use thiserror::Error;
use tokio::{
    sync::{Notify, mpsc, oneshot},
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::tool::Effect;

/// Through which door a call came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// MCP over HTTP.
    McpHttp,
    /// MCP over stdin and stdout.
    McpStdio,
    /// The REST interface.
    Rest,
    /// The command line.
    Cli,
    /// The pages where people confirm.
    Console,
}

impl Channel {
    /// `mcp-http`, `mcp-stdio`, `rest`, `cli` or `console`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::McpHttp => "mcp-http",
            Self::McpStdio => "mcp-stdio",
            Self::Rest => "rest",
            Self::Cli => "cli",
            Self::Console => "console",
        }
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// It did what was asked.
    Ok,
    /// It ran and failed, or was cancelled.
    Error,
    /// It was not let run.
    Refused,
}

impl Ending {
    /// `ok`, `error` or `refused`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Refused => "refused",
        }
    }
}

/// One call. Holds ids and codes, never content or secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Record {
    /// When the call came, in Unix milliseconds.
    pub at_ms: i64,
    /// Our id for it.
    pub request_id: String,
    /// The caller's id of the whole undertaking.
    pub trace_id: Option<String>,
    /// The caller's name.
    pub caller: String,
    /// Through which door it came.
    pub channel: Channel,
    /// The tool's name, or what was asked for in its stead.
    pub operation: Cow<'static, str>,
    /// What the tool does to the world; `None` for a tool that does not exist.
    pub effect: Option<Effect>,
    /// How it ended.
    pub outcome: Ending,
    /// The stable error code.
    pub code: Option<Cow<'static, str>>,
    /// The id of what was acted on.
    pub target: Option<String>,
    /// The digest of what was acted with.
    pub digest: Option<String>,
    /// Further fields of the half's own: an object as JSON text.
    pub detail: Option<String>,
    /// How long it took, in microseconds.
    pub duration_us: u64,
}

/// The sink did not keep a batch.
#[derive(Debug, Error)]
#[error("the audit records were not kept: {0}")]
pub struct SinkError(pub String);

/// Where records are kept.
pub trait Sink: Send + Sync {
    /// Keeps all of `batch`, in its order, or none of it. A failed batch is offered again.
    fn append<'a>(&'a self, batch: &'a [Record]) -> BoxFuture<'a, Result<(), SinkError>>;
}

/// No place in the queue: the sink has not kept up for [`PATIENCE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the audit record cannot be kept right now, so nothing was done; try again shortly")]
pub struct AuditUnavailable;

const QUEUE: usize = 8192;
const BATCH: usize = 512;
const FLUSH_EVERY: Duration = Duration::from_millis(500);

/// How long a call waits for a place in the queue before it is refused.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// How long a shutdown goes on offering its last records to a failing sink.
const LAST_TRIES: Duration = Duration::from_secs(5);

/// Takes records; clones share one queue.
#[derive(Clone)]
pub struct Recorder {
    queue: mpsc::Sender<Record>,
    batch_ready: Arc<Notify>,
}

/// A place in the queue, taken before a call runs. Dropped unused, it is given back.
pub struct Slot {
    place: mpsc::OwnedPermit<Record>,
    batch_ready: Arc<Notify>,
}

/// Ends the flushing task.
pub struct RecorderHandle {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Recorder {
    /// Starts the flushing task on the current runtime.
    pub fn start(sink: Arc<dyn Sink>) -> (Self, RecorderHandle) {
        let (queue, records) = mpsc::channel(QUEUE);
        let batch_ready = Arc::new(Notify::new());
        let (stop, stopped) = oneshot::channel();
        let task =
            tokio::spawn(Flusher { sink, records, batch_ready: Arc::clone(&batch_ready) }.run(stopped));
        (Self { queue, batch_ready }, RecorderHandle { stop, task })
    }

    /// Takes a place in the queue; waits for one at most [`PATIENCE`].
    pub async fn reserve(&self) -> Result<Slot, AuditUnavailable> {
        let place = match self.queue.clone().try_reserve_owned() {
            Ok(place) => place,
            Err(mpsc::error::TrySendError::Full(queue)) => timeout(PATIENCE, queue.reserve_owned())
                .await
                .map_err(|_| AuditUnavailable)?
                .map_err(|_| AuditUnavailable)?,
            Err(mpsc::error::TrySendError::Closed(_)) => return Err(AuditUnavailable),
        };
        Ok(Slot { place, batch_ready: Arc::clone(&self.batch_ready) })
    }

    /// Records a call that is over.
    pub async fn record(&self, record: Record) -> Result<(), AuditUnavailable> {
        self.reserve().await?.record(record);
        Ok(())
    }
}

impl Slot {
    /// Records the call for which the place was taken.
    pub fn record(self, record: Record) {
        let queue = self.place.send(record);
        // The task sleeps until its batch is full, for waking it on every record would cost more than the record.
        if queue.max_capacity() - queue.capacity() >= BATCH {
            self.batch_ready.notify_one();
        }
    }
}

impl RecorderHandle {
    /// Flushes what is queued and ends the task; records offered later are refused.
    pub async fn shutdown(self) {
        // The task may have ended with its runtime; then there is nothing left to do.
        let _ = self.stop.send(());
        let _ = self.task.await;
    }
}

struct Flusher {
    sink: Arc<dyn Sink>,
    records: mpsc::Receiver<Record>,
    batch_ready: Arc<Notify>,
}

impl Flusher {
    async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            tokio::select! {
                count = self.records.recv_many(&mut batch, 1) => if count == 0 { return },
                _ = &mut stopped => break,
            }
            tokio::select! {
                () = sleep(FLUSH_EVERY) => {}
                () = self.batch_ready.notified() => {}
                _ = &mut stopped => break,
            }
            while !batch.is_empty() {
                self.fill(&mut batch);
                if !self.keep(&batch, &mut stopped).await {
                    return self.finish(batch).await;
                }
                batch.clear();
                self.fill(&mut batch);
            }
        }
        self.finish(batch).await;
    }

    fn fill(&mut self, batch: &mut Vec<Record>) {
        while batch.len() < BATCH
            && let Ok(record) = self.records.try_recv()
        {
            batch.push(record);
        }
    }

    /// Offers the batch until it is kept; false when told to stop before that.
    async fn keep(&self, batch: &[Record], stopped: &mut oneshot::Receiver<()>) -> bool {
        let mut pause = Duration::from_millis(100);
        while let Err(error) = self.sink.append(batch).await {
            tracing::error!(%error, records = batch.len(), "audit records wait for the next try");
            tokio::select! {
                () = sleep(pause) => {}
                _ = &mut *stopped => return false,
            }
            pause = (pause * 2).min(Duration::from_secs(5));
        }
        true
    }

    async fn finish(mut self, mut batch: Vec<Record>) {
        self.records.close();
        let rest = async {
            loop {
                // Ends when the queue is empty and no call that is still running holds a place in it.
                let more = self.records.recv_many(&mut batch, BATCH).await > 0;
                while !batch.is_empty() && self.sink.append(&batch).await.is_err() {
                    sleep(Duration::from_millis(100)).await;
                }
                batch.clear();
                if !more {
                    return;
                }
            }
        };
        let in_time = timeout(LAST_TRIES, rest).await.is_ok();
        let lost = batch.len() + self.records.len();
        if !in_time && lost > 0 {
            tracing::error!(records = lost, "audit records lost at shutdown");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    /// Keeps records, after it has failed as often as told.
    #[derive(Default)]
    struct Memory {
        failures: AtomicUsize,
        kept: Mutex<Vec<Record>>,
        batches: AtomicUsize,
    }

    impl Sink for Memory {
        fn append<'a>(&'a self, batch: &'a [Record]) -> BoxFuture<'a, Result<(), SinkError>> {
            let fails = |left: usize| left.checked_sub(1);
            let result = if self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fails).is_ok() {
                Err(SinkError("told to fail".into()))
            } else {
                self.batches.fetch_add(1, Ordering::SeqCst);
                self.kept.lock().unwrap().extend_from_slice(batch);
                Ok(())
            };
            Box::pin(std::future::ready(result))
        }
    }

    fn record(number: usize) -> Record {
        Record {
            at_ms: 0,
            request_id: format!("req-{number}"),
            trace_id: None,
            caller: "agent".into(),
            channel: Channel::McpHttp,
            operation: "find".into(),
            effect: Some(Effect::Read),
            outcome: Ending::Ok,
            code: None,
            target: None,
            digest: None,
            detail: None,
            duration_us: 5,
        }
    }

    async fn record_all(recorder: &Recorder, count: usize) {
        for number in 0..count {
            recorder.record(record(number)).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_shutdown_keeps_what_is_queued_in_order() {
        let sink = Arc::new(Memory::default());
        let (recorder, handle) = Recorder::start(sink.clone());
        record_all(&recorder, 1500).await;
        handle.shutdown().await;
        let kept = sink.kept.lock().unwrap();
        assert_eq!(kept.len(), 1500);
        assert!(kept.iter().enumerate().all(|(number, kept)| *kept == record(number)));
        assert!(sink.batches.load(Ordering::SeqCst) <= 1500 / BATCH + 2, "records are kept in batches");
    }

    #[tokio::test]
    async fn a_failed_batch_is_offered_again() {
        let sink = Arc::new(Memory { failures: AtomicUsize::new(2), ..Memory::default() });
        let (recorder, handle) = Recorder::start(sink.clone());
        record_all(&recorder, BATCH).await;
        handle.shutdown().await;
        assert_eq!(sink.kept.lock().unwrap().len(), BATCH);
    }

    #[tokio::test]
    async fn a_full_queue_refuses_after_patience_instead_of_losing_records() {
        let sink = Arc::new(Memory { failures: AtomicUsize::new(usize::MAX), ..Memory::default() });
        let (recorder, _handle) = Recorder::start(sink);
        let mut slots = Vec::new();
        while slots.len() < QUEUE {
            slots.push(recorder.reserve().await.unwrap());
        }
        assert_eq!(recorder.record(record(0)).await, Err(AuditUnavailable));
        slots.pop();
        assert_eq!(recorder.record(record(0)).await, Ok(()), "a place given back is a place again");
    }

    #[tokio::test]
    async fn after_a_shutdown_nothing_is_taken() {
        let (recorder, handle) = Recorder::start(Arc::new(Memory::default()));
        handle.shutdown().await;
        assert_eq!(recorder.record(record(0)).await, Err(AuditUnavailable));
    }
}
