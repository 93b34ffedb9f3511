//! What the hotel does, whoever asks: the MCP tools, the REST routes and the command line all come here.

pub mod board;
pub mod card;
pub mod case_context;
mod confirm;
pub mod conversation;
pub mod hotels;
pub mod inbox;
pub mod ingest;
pub mod live;
pub mod messages;
pub mod object_detail;
pub mod orders;
mod password;
pub mod search;
pub mod sessions;
pub mod statistics;
pub mod submit;
pub mod target;
pub mod tasks;
pub mod tokens;
pub mod trail;
pub mod users;

use std::sync::Arc;

use govern::clock::Clock;
use govern::random::Random;
use govern::text::visible;

use crate::audit::AuditKey;
use crate::catalog::Catalog;
use crate::error::Error;
use crate::language::Language;
use crate::mail::LinkPolicy;
use crate::metrics::Metrics;
use crate::store::Db;

/// Who does something, and under which request: what every write records about itself.
#[derive(Debug, Clone)]
pub struct Request {
    /// Our id of the call.
    pub request_id: String,
    /// The caller's.
    pub trace_id: Option<String>,
    /// The token's or the person's name.
    pub caller: String,
    /// The way in.
    pub channel: govern::audit::Channel,
    /// When it began, unix milliseconds.
    pub received_ms: i64,
    /// How many bytes of JSON an answer may have.
    pub budget: usize,
}

/// What happens when a message that has tasks is submitted again with other content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangedPayload {
    /// SUBMIT_PAYLOAD_CONFLICT.
    #[default]
    Conflict,
    /// A new batch takes the old one's place while every task is still pending.
    SupersedeUntouched,
}

/// The hotel half: its store, its catalogue and its settings.
#[derive(Debug, Clone)]
pub struct Hotel {
    /// The database.
    pub db: Db,
    /// The task catalogue.
    pub catalog: Catalog,
    /// The language of messages.
    pub language: Language,
    /// `[hotel] on_changed_payload`.
    pub on_changed_payload: ChangedPayload,
    /// `[hotel] text_links`.
    pub links: LinkPolicy,
    /// The key of the audit trail.
    pub audit_key: AuditKey,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// Who watches for changes.
    pub streams: Arc<live::Streams>,
    /// Time.
    pub clock: Clock,
    /// Randomness.
    pub random: Random,
}

impl Hotel {
    /// The audit record of a write that succeeded, for the write's own transaction.
    fn record(
        &self,
        request: &Request,
        operation: &'static str,
        target: String,
        digest: Option<String>,
    ) -> govern::audit::Record {
        let record = self.unobserved_record(request, operation, target, digest);
        self.metrics.observe(&record);
        record
    }

    /// The record of a write that was refused, for the transaction that notes it.
    fn refusal_record(
        &self,
        request: &Request,
        operation: &'static str,
        target: String,
        error: &Error,
    ) -> govern::audit::Record {
        let done = self.unobserved_record(request, operation, target, None);
        let (outcome, code) = (govern::audit::Ending::Refused, Some(error.code().into()));
        let record = govern::audit::Record { outcome, code, ..done };
        self.metrics.observe(&record);
        record
    }

    fn unobserved_record(
        &self,
        request: &Request,
        operation: &'static str,
        target: String,
        digest: Option<String>,
    ) -> govern::audit::Record {
        let elapsed = self.clock.now_ms().saturating_sub(request.received_ms);
        govern::audit::Record {
            at_ms: request.received_ms,
            request_id: request.request_id.clone(),
            trace_id: request.trace_id.clone(),
            caller: request.caller.clone(),
            channel: request.channel,
            operation: operation.into(),
            effect: Some(govern::tool::Effect::Write),
            outcome: govern::audit::Ending::Ok,
            code: None,
            target: Some(target),
            digest,
            detail: None,
            duration_us: u64::try_from(elapsed).unwrap_or(0).saturating_mul(1000),
        }
    }
}

/// A name that an operator gives, without the blanks around it: at most `most` characters, all visible, on one line.
fn good_name(name: &str, most: usize) -> Result<String, Error> {
    let name = name.trim();
    let hides = visible(name).text != name || name.contains(['\n', '\t']);
    if name.is_empty() || name.chars().count() > most || hides {
        return Err(Error::NameInvalid { most });
    }
    Ok(name.to_owned())
}
