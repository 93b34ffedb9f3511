//! SQLite's one writer: jobs queue here, and whatever waits is committed together.

use std::any::Any;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::{mpsc, oneshot};

use super::changes::Changes;
use super::{Job, StoreError, Transaction};
use crate::error::Error;

/// Most jobs in one commit; bounds how long the first of them waits.
const GROUP: usize = 128;
/// Jobs that may wait; a caller beyond that waits for room.
const QUEUE: usize = 1024;

type AnyResult = Result<Box<dyn Any + Send>, Error>;
type AnyJob = Box<dyn for<'t, 'c> Fn(&'t mut Transaction<'c>) -> BoxFuture<'t, AnyResult> + Send + Sync>;

enum Order {
    Run(AnyJob, oneshot::Sender<AnyResult>),
    Stop(oneshot::Sender<()>),
}

/// Handle to the writer task.
#[derive(Debug, Clone)]
pub struct Writer(mpsc::Sender<Order>);

impl std::fmt::Debug for Order {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Order")
    }
}

impl Writer {
    /// Starts the task on the connection that it alone writes through; it says when it has committed.
    pub fn start(connection: SqliteConnection, changes: Changes) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        tokio::spawn(serve(connection, receiver, changes));
        Self(sender)
    }

    /// Queues a job and waits until its commit is on disk. Dropping the future does not undo the job.
    pub async fn run<T: Send + 'static>(&self, job: Job<T>) -> Result<T, Error> {
        let erased: AnyJob = Box::new(move |transaction| {
            let job = Arc::clone(&job);
            Box::pin(
                async move { job(transaction).await.map(|value| Box::new(value) as Box<dyn Any + Send>) },
            )
        });
        let (answer, wait) = oneshot::channel();
        self.0.send(Order::Run(erased, answer)).await.map_err(|_| StoreError::WriterStopped)?;
        let value = wait.await.map_err(|_| StoreError::WriterStopped)??;
        value.downcast::<T>().map(|value| *value).map_err(|_| StoreError::RowMissing.into())
    }

    /// Lets what is queued finish and closes the connection.
    pub async fn stop(&self) {
        let (done, wait) = oneshot::channel();
        if self.0.send(Order::Stop(done)).await.is_ok() {
            // An error here means that the task has ended already, which is what was asked for.
            wait.await.ok();
        }
    }
}

async fn serve(mut connection: SqliteConnection, mut orders: mpsc::Receiver<Order>, changes: Changes) {
    let mut queue = Vec::with_capacity(GROUP);
    let mut stopping = None;
    while stopping.is_none() && orders.recv_many(&mut queue, GROUP).await > 0 {
        let mut jobs = Vec::with_capacity(queue.len());
        for order in queue.drain(..) {
            match order {
                Order::Run(job, answer) => jobs.push((job, answer)),
                Order::Stop(done) => stopping = Some(done),
            }
        }
        commit_together(&mut connection, jobs).await;
        changes.committed();
    }
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "closing the database failed");
    }
    if let Some(done) = stopping {
        // The caller of stop may have gone; nothing is lost by that.
        done.send(()).ok();
    }
}

/// One transaction around all jobs, each in a savepoint of its own, so that one that fails takes
/// nothing with it. Nobody is answered before the commit.
async fn commit_together(connection: &mut SqliteConnection, jobs: Vec<(AnyJob, oneshot::Sender<AnyResult>)>) {
    if jobs.is_empty() {
        return;
    }
    let mut answers = Vec::with_capacity(jobs.len());
    let outcome = run_all(connection, jobs, &mut answers).await;
    let failure = outcome.err().map(|error| {
        tracing::error!(%error, "a write transaction failed");
        Arc::new(error)
    });
    if failure.is_some() {
        // When BEGIN itself failed there is nothing to roll back, and SQLite says so.
        sqlx::query("ROLLBACK").execute(&mut *connection).await.ok();
    }
    for (result, answer) in answers {
        let result = match &failure {
            None => result,
            Some(error) => Err(StoreError::Commit(Arc::clone(error)).into()),
        };
        // A caller that has gone misses only the answer, not the write.
        answer.send(result).ok();
    }
}

async fn run_all(
    connection: &mut SqliteConnection,
    jobs: Vec<(AnyJob, oneshot::Sender<AnyResult>)>,
    answers: &mut Vec<(AnyResult, oneshot::Sender<AnyResult>)>,
) -> Result<(), sqlx::Error> {
    let begun = sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await;
    let mut failed = begun.err();
    for (job, answer) in jobs {
        if failed.is_some() {
            answers.push((Err(StoreError::WriterStopped.into()), answer));
            continue;
        }
        match run_in_savepoint(connection, &job).await {
            Ok(result) => answers.push((result, answer)),
            Err(error) => {
                failed = Some(error);
                answers.push((Err(StoreError::WriterStopped.into()), answer));
            }
        }
    }
    match failed {
        Some(error) => Err(error),
        None => sqlx::query("COMMIT").execute(&mut *connection).await.map(|_| ()),
    }
}

async fn run_in_savepoint(connection: &mut SqliteConnection, job: &AnyJob) -> Result<AnyResult, sqlx::Error> {
    sqlx::query("SAVEPOINT job").execute(&mut *connection).await?;
    let result = job(&mut Transaction::Sqlite(&mut *connection)).await;
    if result.is_err()
        && let Err(error) = sqlx::query("ROLLBACK TO job").execute(&mut *connection).await
    {
        // When the disk is full, SQLite rolls back the whole transaction by itself. That the savepoint is gone then
        // says less than what the job met.
        return Err(match result {
            Err(Error::Store(StoreError::Database(cause))) => cause,
            _ => error,
        });
    }
    sqlx::query("RELEASE job").execute(&mut *connection).await?;
    Ok(result)
}
