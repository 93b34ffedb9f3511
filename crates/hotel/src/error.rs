//! The hotel's one error type, and the one table that maps it to codes, statuses and words.

mod words;

use serde_json::{Value, json};

use crate::faults::Faults;
use crate::store::StoreError;

/// A fault of one argument or payload member.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Fault {
    /// JSON path, `$` being the root: `$.message_events[2].case_keys`.
    pub path: String,
    /// Stable code of the kind of fault, such as `UNKNOWN_FIELD`.
    pub code: &'static str,
    /// What would have been right, and what came.
    pub expected: String,
}

/// Why the hotel refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A query argument is missing, extra or of the wrong kind.
    #[error("invalid argument {}", .0.path)]
    InvalidArgument(Fault),
    /// The adapter found faults in a submission; nothing was written (contract section 7.4).
    #[error("{} faults in the submission", .0.count())]
    SubmitPayloadInvalid(Faults),
    /// No hotel is ACTIVE, or several are.
    #[error("{active} hotels are ACTIVE")]
    HotelNotResolved {
        /// How many are.
        active: usize,
    },
    /// The caller named another hotel than the resolved one.
    #[error("the request names another hotel")]
    HotelMismatch,
    /// A submission without source_message.source_message_id.
    #[error("source_message_id is missing")]
    MissingSourceMessageId,
    /// No inbox message has this external id.
    #[error("no such source message")]
    SourceMessageNotFound,
    /// Several inbox messages have this external id.
    #[error("the source message id matches {} messages", .0.len())]
    SourceMessageAmbiguous(Vec<SourceMessageChoice>),
    /// No such order, or another hotel's.
    #[error("no such object")]
    ObjectNotFound,
    /// No such task, or another hotel's.
    #[error("no such task {0}")]
    TaskNotFound(i64),
    /// No such record of the audit trail.
    #[error("no such record {0}")]
    RecordNotFound(i64),
    /// A record of the audit trail holds what this program does not write there.
    #[error("the record {0} cannot be read")]
    RecordUnreadable(i64),
    /// No such hotel.
    #[error("no such hotel {0}")]
    HotelNotFound(i64),
    /// A name that an operator gave is blank, too long or hides something.
    #[error("the name is not 1 to {most} visible characters")]
    NameInvalid {
        /// How many characters it may have.
        most: usize,
    },
    /// A token without a scope, or with one that there is not.
    #[error("a token needs scopes that there are")]
    ScopesInvalid,
    /// No live token of this name or id.
    #[error("no live token {0}")]
    TokenNotFound(String),
    /// A live token has this name already.
    #[error("a live token is named {0}")]
    TokenNameTaken(String),
    /// A person of the console has this name already.
    #[error("a person is named {0}")]
    UserNameTaken(String),
    /// Nobody of the console has this name.
    #[error("no person {0}")]
    UserNotFound(String),
    /// The name or the password is wrong, or the person is kept out.
    #[error("the log-in is not valid")]
    LogInFailed,
    /// Too many attempts on this account or from this address.
    #[error("too many attempts to log in")]
    LogInLocked {
        /// When to try again.
        retry_after_ms: u64,
    },
    /// The page needs a person who is logged in.
    #[error("nobody is logged in")]
    NotLoggedIn,
    /// The form is not one that this session was given.
    #[error("the form is not this session's")]
    FormExpired,
    /// The person's role does not reach that far.
    #[error("the role may not do this")]
    RoleDenied,
    /// A password could not be hashed or its hash not be read.
    #[error("the password cannot be hashed")]
    PasswordHash,
    /// This message has an active batch with other content.
    #[error("the message has a batch with other content")]
    SubmitPayloadConflict(Value),
    /// The same external id came with other content.
    #[error("the external id is taken by other content")]
    IngestConflict {
        /// The inbox row that has it.
        inbox_id: i64,
    },
    /// The expected version is not the current one.
    #[error("the task has changed")]
    VersionConflict(Value),
    /// The task's status does not allow this move.
    #[error("the task is {status}")]
    MoveNotAllowed {
        /// The status it has.
        status: String,
        /// What was asked for.
        wanted: String,
    },
    /// A STOP warning stands against confirming.
    #[error("a STOP warning stands")]
    ConfirmBlocked(Value),
    /// A CONFIRM warning needs a person's reason.
    #[error("a reason is needed")]
    ReasonRequired(Value),
    /// The act needs a person's reason whatever the warnings.
    #[error("{0} needs a reason")]
    ReasonMissing(&'static str),
    /// The confirmation is another person's, and the one who would undo it is no admin.
    #[error("{0} confirmed it")]
    UndoByOther(String),
    /// The order changed after the confirmation that would be undone.
    #[error("the order changed since the confirmation")]
    OrderChangedSince,
    /// Nobody who may log in has this name, so the task cannot be theirs.
    #[error("no person {0} to give a task to")]
    AssigneeUnknown(String),
    /// The bearer token is missing or wrong.
    #[error("no valid credential")]
    Unauthenticated,
    /// The credentials cannot be checked now.
    #[error("the credentials cannot be checked")]
    CredentialsUnavailable,
    /// The Host or Origin header is not allowed; the text says which.
    #[error("{0}")]
    OriginRefused(String),
    /// No route has this path.
    #[error("no such route")]
    RouteNotFound,
    /// The route does not have this method.
    #[error("no such method on the route")]
    MethodNotAllowed,
    /// The body is over the limit.
    #[error("the body is over {limit} bytes")]
    BodyTooLarge {
        /// Bytes.
        limit: usize,
    },
    /// The body did not arrive completely.
    #[error("the body did not arrive completely")]
    BodyIncomplete,
    /// A handler panicked.
    #[error("a handler panicked")]
    Broken,
    /// The token lacks the scope.
    #[error("scope {0} is needed")]
    ScopeDenied(&'static str),
    /// The tool or route is switched off by policy.
    #[error("switched off by policy")]
    ToolDisabled,
    /// Too many calls in this minute.
    #[error("rate limited")]
    RateLimited {
        /// When to try again.
        retry_after_ms: u64,
    },
    /// The audit trail cannot be written, so nothing is done.
    #[error("the audit trail is not available")]
    AuditUnavailable,
    /// The mail reader broke off.
    #[error("the mail reader broke off")]
    MailReader,
    /// The database did not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A stored value is not what this program wrote.
    #[error("stored data is not readable: {0}")]
    Stored(#[from] serde_json::Error),
}

/// One of several messages under one external id.
#[derive(Debug, Clone, serde::Serialize)]
pub struct SourceMessageChoice {
    /// Its own, unambiguous external id.
    pub external_message_id: String,
    /// Source provider, such as AGENTBUS or FILE.
    pub provider: String,
    /// Source channel, such as EMAIL or OUTLOOK.
    pub channel: String,
}

impl Error {
    /// The stable code on the wire.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidArgument(_) | Self::NameInvalid { .. } | Self::ScopesInvalid => "INVALID_ARGUMENT",
            Self::SubmitPayloadInvalid(_) => "MCP_SUBMIT_PAYLOAD_INVALID",
            Self::HotelNotResolved { .. } => "HOTEL_NOT_RESOLVED",
            Self::HotelMismatch => "HOTEL_MISMATCH",
            Self::MissingSourceMessageId => "MISSING_SOURCE_MESSAGE_ID",
            Self::SourceMessageNotFound => "SOURCE_MESSAGE_NOT_FOUND",
            Self::SourceMessageAmbiguous(_) => "SOURCE_MESSAGE_AMBIGUOUS",
            Self::ObjectNotFound => "OBJECT_NOT_FOUND",
            Self::TaskNotFound(_) => "TASK_NOT_FOUND",
            Self::RecordNotFound(_) => "RECORD_NOT_FOUND",
            Self::RecordUnreadable(_) => "RECORD_UNREADABLE",
            Self::HotelNotFound(_) => "HOTEL_NOT_FOUND",
            Self::TokenNotFound(_) => "TOKEN_NOT_FOUND",
            Self::TokenNameTaken(_) => "TOKEN_NAME_TAKEN",
            Self::UserNameTaken(_) => "USER_NAME_TAKEN",
            Self::UserNotFound(_) => "USER_NOT_FOUND",
            Self::LogInFailed => "LOG_IN_FAILED",
            Self::LogInLocked { .. } => "LOG_IN_LOCKED",
            Self::NotLoggedIn => "NOT_LOGGED_IN",
            Self::FormExpired => "FORM_EXPIRED",
            Self::RoleDenied => "ROLE_DENIED",
            Self::SubmitPayloadConflict(_) => "SUBMIT_PAYLOAD_CONFLICT",
            Self::IngestConflict { .. } => "INGEST_CONFLICT",
            Self::VersionConflict(_) => "VERSION_CONFLICT",
            Self::MoveNotAllowed { .. } => "MOVE_NOT_ALLOWED",
            Self::ConfirmBlocked(_) => "CONFIRM_BLOCKED",
            Self::ReasonRequired(_) | Self::ReasonMissing(_) => "REASON_REQUIRED",
            Self::UndoByOther(_) => "UNDO_BY_OTHER",
            Self::OrderChangedSince => "ORDER_CHANGED_SINCE",
            Self::AssigneeUnknown(_) => "ASSIGNEE_UNKNOWN",
            Self::Unauthenticated => "AUTH_SIGNATURE_INVALID",
            Self::OriginRefused(_) | Self::BodyIncomplete => "MCP_REQUEST_INVALID",
            Self::RouteNotFound => "NOT_FOUND",
            Self::MethodNotAllowed => "METHOD_NOT_ALLOWED",
            Self::BodyTooLarge { .. } => "MCP_REQUEST_BODY_TOO_LARGE",
            Self::ScopeDenied(_) => "SCOPE_DENIED",
            Self::ToolDisabled => "MCP_TOOL_DISABLED",
            Self::RateLimited { .. } => "RATE_LIMITED",
            Self::CredentialsUnavailable | Self::AuditUnavailable | Self::Store(_) => "STORE_UNAVAILABLE",
            Self::Broken | Self::MailReader | Self::PasswordHash | Self::Stored(_) => "INTERNAL_ERROR",
        }
    }

    /// The HTTP status of the REST twins (design: Interfaces).
    pub fn status(&self) -> u16 {
        match self {
            Self::InvalidArgument(_)
            | Self::NameInvalid { .. }
            | Self::ScopesInvalid
            | Self::SubmitPayloadInvalid(_)
            | Self::BodyIncomplete => 400,
            Self::Unauthenticated | Self::LogInFailed | Self::NotLoggedIn => 401,
            Self::ScopeDenied(_) | Self::RoleDenied | Self::FormExpired | Self::OriginRefused(_) => 403,
            Self::MethodNotAllowed => 405,
            Self::BodyTooLarge { .. } => 413,
            Self::RouteNotFound
            | Self::SourceMessageNotFound
            | Self::ObjectNotFound
            | Self::TaskNotFound(_)
            | Self::RecordNotFound(_)
            | Self::HotelNotFound(_)
            | Self::TokenNotFound(_)
            | Self::UserNotFound(_) => 404,
            Self::HotelMismatch
            | Self::SourceMessageAmbiguous(_)
            | Self::SubmitPayloadConflict(_)
            | Self::IngestConflict { .. }
            | Self::VersionConflict(_)
            | Self::TokenNameTaken(_)
            | Self::UserNameTaken(_) => 409,
            Self::MissingSourceMessageId
            | Self::MoveNotAllowed { .. }
            | Self::ConfirmBlocked(_)
            | Self::ReasonRequired(_)
            | Self::ReasonMissing(_)
            | Self::UndoByOther(_)
            | Self::OrderChangedSince
            | Self::AssigneeUnknown(_) => 422,
            Self::RateLimited { .. } | Self::LogInLocked { .. } => 429,
            Self::Broken
            | Self::MailReader
            | Self::PasswordHash
            | Self::Stored(_)
            | Self::RecordUnreadable(_) => 500,
            Self::HotelNotResolved { .. }
            | Self::ToolDisabled
            | Self::CredentialsUnavailable
            | Self::AuditUnavailable
            | Self::Store(_) => 503,
        }
    }

    /// Machine-readable particulars; an empty object when there are none.
    pub fn details(&self) -> Value {
        match self {
            Self::InvalidArgument(fault) => json!({"faults": [fault]}),
            Self::SubmitPayloadInvalid(faults) => {
                json!({"faults": faults.listed(), "fault_count": faults.count()})
            }
            Self::HotelNotResolved { active } => json!({"active_hotels": active}),
            Self::SourceMessageAmbiguous(matches) => json!({"matches": matches}),
            Self::SubmitPayloadConflict(details)
            | Self::VersionConflict(details)
            | Self::ConfirmBlocked(details)
            | Self::ReasonRequired(details) => details.clone(),
            Self::RateLimited { retry_after_ms } => json!({"retry_after_ms": retry_after_ms}),
            Self::MoveNotAllowed { status, wanted } => json!({"status": status, "wanted": wanted}),
            Self::ScopeDenied(scope) => json!({"scope": scope}),
            _ => json!({}),
        }
    }
}
