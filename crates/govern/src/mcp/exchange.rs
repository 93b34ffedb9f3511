//! One message of a client and all that goes back for it: reports of progress, then the reply.

use std::{
    future::{pending, poll_fn},
    mem,
    task::{Context, Poll},
};

use futures_util::{FutureExt, future::BoxFuture};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::task::JoinSet;

use super::{Reply, fault::Fault};
use crate::progress::{Report, Reports};

/// What goes to the client.
pub(super) enum Outgoing {
    /// A `notifications/progress` message.
    Report(Vec<u8>),
    /// The reply, after which nothing comes.
    Reply(Reply),
}

/// A message that is being answered. Dropped before its reply, it is cancelled.
pub(super) struct Exchange {
    dispatch: BoxFuture<'static, Reply>,
    reply: Option<Reply>,
    reports: Reports,
    in_task: bool,
}

impl Exchange {
    /// An exchange whose message `dispatch` answers, and reports to what it is given meanwhile.
    pub(super) fn new(dispatch: impl FnOnce(Reports) -> BoxFuture<'static, Reply>) -> Self {
        let reports = Reports::default();
        Self { dispatch: dispatch(reports.clone()), reply: None, reports, in_task: false }
    }

    /// The next message for the client. Must not be asked again after the reply.
    pub(super) async fn next(&mut self) -> Outgoing {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// [`next`](Self::next), polled.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Outgoing> {
        if self.reply.is_none()
            && let Poll::Ready(reply) = self.dispatch.poll_unpin(context)
        {
            self.reply = Some(reply);
        }
        if let Poll::Ready(report) = self.reports.poll_latest(context) {
            if self.reply.is_none() && !self.in_task {
                self.go_on_in_task();
            }
            return Poll::Ready(Outgoing::Report(notification(&report)));
        }
        self.reply.take().map_or(Poll::Pending, |reply| Poll::Ready(Outgoing::Reply(reply)))
    }

    /// From its first report on, a call is not polled by who writes to the client, for that one may wait long for a
    /// client that reads slowly.
    fn go_on_in_task(&mut self) {
        let dispatch = mem::replace(&mut self.dispatch, pending().boxed());
        // Dropped, the set aborts its task.
        let mut task = JoinSet::new();
        task.spawn(dispatch);
        self.dispatch = async move {
            match task.join_next().await {
                Some(Ok(reply)) => reply,
                Some(Err(_)) | None => Fault::internal().reply(None),
            }
        }
        .boxed();
        self.in_task = true;
    }
}

/// The report as the protocol has it (both eras: utilities, progress).
fn notification(report: &Report) -> Vec<u8> {
    #[derive(Serialize)]
    struct Notification<'a> {
        jsonrpc: &'static str,
        method: &'static str,
        params: Params<'a>,
    }
    #[derive(Serialize)]
    struct Params<'a> {
        #[serde(rename = "progressToken")]
        token: &'a RawValue,
        progress: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        total: Option<u64>,
        message: &'a str,
    }
    let Report { token, done, total, message } = report;
    let params = Params { token, progress: *done, total: *total, message };
    let notification = Notification { jsonrpc: "2.0", method: "notifications/progress", params };
    serde_json::to_vec(&notification).expect("strings and numbers serialise")
}
