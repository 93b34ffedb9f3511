//! `tools/call`: find the tool, take a place for the record, ask the gate, run, record, answer.

use std::{borrow::Cow, panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use serde_json::value::RawValue;

use super::{
    Reply, Server, TextBlock,
    era::Era,
    fault::{Fault, INTERNAL_ERROR, REQUEST_INVALID, TOOL_NOT_FOUND},
    message::is_object,
};
use crate::{
    audit::{Channel, Ending, Record, Slot},
    clock::Stopwatch,
    credentials::Caller,
    progress::Progress,
    tool::{Call, Effect, Outcome, Refusal, Service, Tool},
};

/// The longest name of an unknown tool that goes into a record.
const LONGEST_NAME: usize = 128;

/// What a `tools/call` request asks for.
pub(super) struct CallRequest<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: Option<&'a RawValue>,
    pub(super) trace_id: Option<String>,
    pub(super) channel: Channel,
    pub(super) era: Era,
    pub(super) progress: Progress,
}

impl<S: Service> Server<S> {
    pub(super) async fn call(
        &self,
        id: &str,
        caller: &Arc<Caller>,
        request: CallRequest<'_>,
    ) -> Result<Reply, Fault> {
        let CallRequest { name, arguments, trace_id, channel, era, progress } = request;
        let tool = S::tools().iter().find(|tool| tool.name == name);
        let call = Call {
            arguments: arguments.unwrap_or_else(no_arguments),
            caller,
            channel,
            request_id: self.random.request_id(),
            trace_id,
            budget: self.options.result_budget_bytes,
            received_ms: self.clock.now_ms(),
            progress,
        };
        let Ok(slot) = self.recorder.reserve().await else {
            let tool = tool.ok_or_else(|| Fault::tool_not_found(name, era))?;
            return Ok(self.result(id, era, &self.service.refuse(tool, &Refusal::AuditUnavailable, &call)));
        };
        let operation = tool.map_or_else(|| Cow::Owned(shortened(name)), |tool| Cow::Borrowed(tool.name));
        let pending = Pending::new(
            slot,
            &call,
            channel,
            operation,
            tool.map(|tool| tool.effect),
            self.clock.stopwatch(),
        );
        let Some(tool) = tool else {
            pending.end(Ending::Refused, Some(TOOL_NOT_FOUND.into()));
            return Err(Fault::tool_not_found(name, era));
        };
        if !is_object(call.arguments.get()) {
            pending.end(Ending::Refused, Some(REQUEST_INVALID.into()));
            return Err(Fault::params("params.arguments must be an object"));
        }
        if let Err(refusal) = self.gate.admit(tool, caller, call.received_ms) {
            let outcome = self.service.refuse(tool, &refusal, &call);
            pending.end_refused(&outcome, &refusal);
            return Ok(self.result(id, era, &outcome));
        }
        let outcome = match tool.effect {
            Effect::Read => run(&*self.service, tool, call, pending).await?,
            Effect::Write => self.run_to_its_end(tool, &call, Arc::clone(caller), pending).await?,
        };
        Ok(self.result(id, era, &outcome))
    }

    /// Runs in a task of its own, which nobody can cancel: a write is done or not done, but never half.
    async fn run_to_its_end(
        &self,
        tool: &'static Tool<S>,
        call: &Call<'_>,
        caller: Arc<Caller>,
        pending: Pending,
    ) -> Result<Outcome, Fault> {
        let service = Arc::clone(&self.service);
        let arguments = call.arguments.to_owned();
        let (channel, request_id, trace_id) = (call.channel, call.request_id.clone(), call.trace_id.clone());
        let (budget, received_ms, progress) = (call.budget, call.received_ms, call.progress.clone());
        let task = tokio::spawn(async move {
            let call = Call {
                arguments: &arguments,
                caller: &caller,
                channel,
                request_id,
                trace_id,
                budget,
                received_ms,
                progress,
            };
            run(&*service, tool, call, pending).await
        });
        // The task catches panics itself; it ends early only when the runtime does.
        task.await.unwrap_or_else(|_| Err(Fault::internal()))
    }

    fn result(&self, id: &str, era: Era, outcome: &Outcome) -> Reply {
        Reply::result(id, |body| {
            body.extend_from_slice(br#"{"content":"#);
            self.write_content(outcome, body);
            body.extend_from_slice(br#","structuredContent":"#);
            body.extend_from_slice(outcome.structured.as_bytes());
            body.extend_from_slice(if outcome.code.is_some() {
                br#","isError":true"#
            } else {
                br#","isError":false"#
            });
            if era == Era::Stateless {
                body.extend_from_slice(br#","resultType":"complete""#);
            }
            self.write_meta(era, outcome.untrusted, body);
            body.push(b'}');
        })
    }

    fn write_content(&self, outcome: &Outcome, body: &mut Vec<u8>) {
        if let Some(blocks) = &outcome.blocks {
            body.extend_from_slice(blocks.as_bytes());
            return;
        }
        let text = match self.options.text {
            TextBlock::Summary => &outcome.text,
            TextBlock::Json => &outcome.structured,
        };
        body.extend_from_slice(br#"[{"type":"text","text":"#);
        serde_json::to_writer(&mut *body, text).expect("a string serialises");
        body.extend_from_slice(b"}]");
    }

    /// `serverInfo` in the stateless era, and whether the result holds text from outside.
    fn write_meta(&self, era: Era, untrusted: bool, body: &mut Vec<u8>) {
        const UNTRUSTED: &[u8] = br#""content_trust":"untrusted""#;
        match (era, untrusted) {
            (Era::Handshake, false) => {}
            (Era::Handshake, true) => {
                body.extend_from_slice(br#","_meta":{"#);
                body.extend_from_slice(UNTRUSTED);
                body.push(b'}');
            }
            (Era::Stateless, _) => {
                body.extend_from_slice(br#","_meta":"#);
                body.extend_from_slice(self.listing.meta().as_bytes());
                if untrusted {
                    body.pop();
                    body.push(b',');
                    body.extend_from_slice(UNTRUSTED);
                    body.push(b'}');
                }
            }
        }
    }
}

/// Runs the tool and records how it ended, a panic and a cancellation included.
async fn run<S: Service>(
    service: &S,
    tool: &Tool<S>,
    call: Call<'_>,
    pending: Pending,
) -> Result<Outcome, Fault> {
    // A handler may panic before its first await as well, when its future is made.
    let ended = AssertUnwindSafe(async { (tool.run)(service, call).await }).catch_unwind().await;
    let Ok(outcome) = ended else {
        tracing::error!(tool = tool.name, "a tool panicked");
        pending.end(Ending::Error, Some(INTERNAL_ERROR.into()));
        return Err(Fault::internal());
    };
    pending.end_with(&outcome);
    Ok(outcome)
}

/// A record that waits for the end of its call. Dropped before that, the call was cancelled.
struct Pending(Option<(Slot, Record, Stopwatch)>);

impl Pending {
    fn new(
        slot: Slot,
        call: &Call<'_>,
        channel: Channel,
        operation: Cow<'static, str>,
        effect: Option<Effect>,
        watch: Stopwatch,
    ) -> Self {
        let record = Record {
            at_ms: call.received_ms,
            request_id: call.request_id.clone(),
            trace_id: call.trace_id.clone(),
            caller: call.caller.name.clone(),
            channel,
            operation,
            effect,
            outcome: Ending::Error,
            code: Some("CANCELLED".into()),
            target: None,
            digest: None,
            detail: None,
            duration_us: 0,
        };
        Self(Some((slot, record, watch)))
    }

    fn end(mut self, ending: Ending, code: Option<Cow<'static, str>>) {
        if let Some((_, record, _)) = &mut self.0 {
            record.outcome = ending;
            record.code = code;
        }
    }

    fn end_with(mut self, outcome: &Outcome) {
        if outcome.recorded_by_tool {
            self.0 = None;
            return;
        }
        self.describe(outcome);
        let ending = if outcome.code.is_some() { Ending::Error } else { Ending::Ok };
        self.end(ending, outcome.code.clone());
    }

    fn end_refused(mut self, outcome: &Outcome, refusal: &Refusal) {
        self.describe(outcome);
        self.end(Ending::Refused, outcome.code.clone().or(Some(refusal.code().into())));
    }

    fn describe(&mut self, outcome: &Outcome) {
        if let Some((_, record, _)) = &mut self.0 {
            record.target.clone_from(&outcome.target);
            record.digest.clone_from(&outcome.digest);
            record.detail.clone_from(&outcome.detail);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some((slot, mut record, watch)) = self.0.take() {
            record.duration_us = watch.elapsed_us();
            slot.record(record);
        }
    }
}

fn shortened(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect()
}

/// Absent arguments are an empty object.
fn no_arguments<'a>() -> &'a RawValue {
    serde_json::from_str("{}").expect("an empty object is JSON")
}
