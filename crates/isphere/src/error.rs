//! The one error of this half, and its codes on the wire (contract: Common error codes).

use govern::arguments::ArgumentFault;
use govern::text::visible;
use govern::tool::{Effect, Refusal};
use serde::Serialize;
use thiserror::Error;

use crate::files::inbound::InboundError;
use crate::files::outbound::OutboundError;
use crate::model::ConversationType;
use crate::sources::SourceError;

/// Why a tool did not do what was asked. Each message says what to do next and holds no path, SQL, body or key.
#[derive(Debug, Error)]
pub enum Error {
    /// The arguments are not valid.
    #[error("{}", .0.message)]
    InvalidArgument(ArgumentFault),
    /// The source did not answer as asked.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The contact, group, conversation, message or file is not there.
    #[error("{0}")]
    TargetNotFound(String),
    /// Several targets have the name that was given.
    #[error("several targets match `{name}`; call again with the conversation_id of one of the candidates")]
    AmbiguousTarget {
        /// The name that was given.
        name: String,
        /// Those that have it, the likeliest first, at most 10.
        candidates: Vec<Candidate>,
    },
    /// The operator's policy forbids this target.
    #[error("the policy of this server does not allow `{target_ref}`; only its operator can change that")]
    PolicyDenied {
        /// `contact:<id>`, `group:<id>` or `conversation:<id>`.
        target_ref: String,
    },
    /// The operator's policy forbids to show this.
    #[error("{0}")]
    NotShown(String),
    /// The configuration allows only the preview of this.
    #[error("{0}")]
    PreviewOnly(String),
    /// A send cannot be executed.
    #[error("{0}")]
    WriteNotReady(String),
    /// The target of a send cannot be looked up: no source is available (the contract has no SOURCE_UNAVAILABLE for
    /// sends).
    #[error("the target cannot be looked up: {0}")]
    TargetNotLookedUp(SourceError),
    /// A downloaded file was not saved.
    #[error(transparent)]
    Inbound(#[from] InboundError),
    /// A file cannot be sent.
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    /// The call took longer than the configuration allows.
    #[error(
        "the call was stopped after {limit_ms} ms; ask for less (a smaller limit, a later since), or try again"
    )]
    TimedOut {
        /// The configured limit, in milliseconds.
        limit_ms: u64,
    },
    /// The gate or the core did not let the call run.
    #[error("{}", refusal_message(.refusal))]
    Refused {
        /// Why.
        refusal: Refusal,
        /// What the tool does to the world.
        effect: Effect,
    },
    /// Something of this server's own failed; what, is in its log.
    #[error("{message}")]
    Internal {
        /// For the caller.
        message: &'static str,
        /// For the operator's log.
        cause: String,
    },
}

/// One of several targets that a name may mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The id to call again with.
    pub conversation_id: String,
    /// Between whom it is.
    pub conversation_type: ConversationType,
    /// The name people see.
    pub display_name: String,
    /// How sure the match is.
    pub confidence: f64,
}

/// `error` of an answer.
#[derive(Debug, Serialize)]
pub struct ErrorBody<'a> {
    code: &'static str,
    message: String,
    field: Option<&'a str>,
    retryable: bool,
    retry_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "<[Candidate]>::is_empty")]
    candidates: &'a [Candidate],
}

impl ErrorBody<'_> {
    /// What is wrong and what to do.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// The longest message, in bytes: parts of it may come from the caller's arguments.
const LONGEST_MESSAGE: usize = 1_000;

impl Error {
    /// A fault of one argument: `field` must be `expected`, `came` is what was there instead.
    pub fn argument(field: &str, expected: impl Into<String>, came: impl std::fmt::Display) -> Self {
        Self::InvalidArgument(ArgumentFault::new(format!("$.{field}"), expected, came))
    }

    /// The code of the contract.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidArgument(_) | Self::Source(SourceError::StalePosition) => "INVALID_ARGUMENT",
            Self::Source(SourceError::Unavailable { .. }) => "SOURCE_UNAVAILABLE",
            Self::Source(SourceError::NotLoggedIn(_)) => "NOT_LOGGED_IN",
            Self::Source(SourceError::Failed(_)) => "CONNECTOR_FAILED",
            Self::Source(SourceError::Timeout(_)) | Self::TimedOut { .. } => "TIMEOUT",
            Self::Source(SourceError::NotFound(_)) | Self::TargetNotFound(_) => "TARGET_NOT_FOUND",
            Self::AmbiguousTarget { .. } => "AMBIGUOUS_TARGET",
            Self::PolicyDenied { .. } | Self::NotShown(_) => "PERMISSION_DENIED",
            Self::PreviewOnly(_) => "PREVIEW_ONLY",
            Self::WriteNotReady(_) | Self::TargetNotLookedUp(_) => "WRITE_NOT_READY",
            Self::Inbound(error) => error.code(),
            Self::Outbound(error) => error.code(),
            Self::Refused { refusal, effect } => refusal_code(refusal, *effect),
            Self::Internal { .. } => "INTERNAL_ERROR",
        }
    }

    /// The same failure as a send has it: an unavailable source is one more reason why nothing can be sent.
    #[must_use]
    pub fn of_send(self) -> Self {
        match self {
            Self::Source(reason @ SourceError::Unavailable { .. }) => Self::TargetNotLookedUp(reason),
            other => other,
        }
    }

    /// The argument that is wrong, when it is one.
    fn field(&self) -> Option<&str> {
        match self {
            Self::InvalidArgument(fault) => fault.path.strip_prefix("$."),
            Self::Source(SourceError::StalePosition) => Some("cursor"),
            Self::Inbound(error) => error.field(),
            Self::Outbound(error) => error.field(),
            _ => None,
        }
    }

    /// Whether the same call may succeed later without anyone doing something.
    fn retryable(&self) -> bool {
        match self {
            Self::Source(SourceError::Unavailable { retryable, .. })
            | Self::TargetNotLookedUp(SourceError::Unavailable { retryable, .. }) => *retryable,
            Self::Source(SourceError::Timeout(_)) | Self::TimedOut { .. } => true,
            Self::Refused { refusal, .. } => {
                matches!(refusal, Refusal::RateLimited { .. } | Refusal::AuditUnavailable)
            }
            _ => false,
        }
    }

    /// `error` of an answer.
    pub fn body(&self) -> ErrorBody<'_> {
        let message = self.to_string();
        let message = visible(&message[..message.floor_char_boundary(LONGEST_MESSAGE)]).text.into_owned();
        let retry_after_ms = match self {
            Self::Refused { refusal: Refusal::RateLimited { retry_after_ms }, .. } => Some(*retry_after_ms),
            _ => None,
        };
        let candidates = match self {
            Self::AmbiguousTarget { candidates, .. } => candidates.as_slice(),
            _ => &[],
        };
        let (code, field, retryable) = (self.code(), self.field(), self.retryable());
        ErrorBody { code, message, field, retryable, retry_after_ms, candidates }
    }

    /// Logs what the operator has to mend, once, at the boundary; a caller's mistakes are in the audit trail.
    pub fn log(&self, request_id: &str) {
        match self {
            Self::Internal { message, cause } => {
                tracing::error!(%cause, request_id, "{message}");
            }
            Self::Inbound(InboundError::NotWritten { cause } | InboundError::NoFolder { cause }) => {
                tracing::error!(%cause, request_id, "a downloaded file was not saved");
            }
            Self::Outbound(OutboundError::Unreadable { cause } | OutboundError::NoFolder { cause }) => {
                tracing::error!(%cause, request_id, "a file in the outbound folder cannot be read");
            }
            Self::Source(SourceError::Failed(message)) => {
                tracing::error!(message, request_id, "a source failed");
            }
            _ => {}
        }
    }
}

impl From<ArgumentFault> for Error {
    fn from(fault: ArgumentFault) -> Self {
        Self::InvalidArgument(fault)
    }
}

fn refusal_code(refusal: &Refusal, effect: Effect) -> &'static str {
    match (refusal, effect) {
        (Refusal::ScopeDenied { .. }, _) | (Refusal::Disabled | Refusal::ReadOnly, Effect::Read) => {
            "PERMISSION_DENIED"
        }
        (Refusal::RateLimited { .. }, Effect::Read) => "SOURCE_UNAVAILABLE",
        (Refusal::Disabled | Refusal::ReadOnly | Refusal::RateLimited { .. }, Effect::Write) => {
            "WRITE_NOT_READY"
        }
        (Refusal::AuditUnavailable, _) => "INTERNAL_ERROR",
    }
}

fn refusal_message(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Disabled => "the operator of this server switched this tool off".to_owned(),
        Refusal::ReadOnly => "this server is read-only ([policy] read_only); nothing can be sent".to_owned(),
        Refusal::ScopeDenied { needs } => {
            format!("this token lacks the scope `{needs}`; ask the operator for one that has it")
        }
        Refusal::RateLimited { retry_after_ms } => {
            format!("too many calls in a minute; call again in {retry_after_ms} ms")
        }
        Refusal::AuditUnavailable => {
            "the audit record cannot be kept right now, so nothing was done; try again shortly".to_owned()
        }
    }
}
