//! The hotel's one error type, and the one table that maps it to codes, statuses and words.

use serde_json::{Value, json};

use crate::faults::Faults;
use crate::language::Language;
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
            Self::InvalidArgument(_) => "INVALID_ARGUMENT",
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
            Self::InvalidArgument(_) | Self::SubmitPayloadInvalid(_) | Self::BodyIncomplete => 400,
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

    /// What happened and what to do next, for a person or a model. Never a path, SQL or a secret.
    pub fn message(&self, language: Language) -> String {
        match self {
            Self::InvalidArgument(fault) => language.pick(
                format!("参数 {} 不正确：{}", fault.path, fault.expected),
                format!("Argument {} is not valid: {}", fault.path, fault.expected),
            ),
            Self::SubmitPayloadInvalid(faults) => {
                let first = faults.listed().first().map(|fault| format!("{} — {}", fault.path, fault.expected));
                let first = first.unwrap_or_default();
                language.pick(
                    format!("提交内容未通过校验，共 {} 处，未写入任何数据。第一处：{first}", faults.count()),
                    format!("The submission has {} faults; nothing was written. First: {first}", faults.count()),
                )
            }
            Self::HotelNotResolved { active: 0 } => language.pick(
                "没有处于 ACTIVE 状态的酒店。请运行 `countersign hotel hotels add --name 名称 --active`。".into(),
                "No hotel is ACTIVE. Run `countersign hotel hotels add --name NAME --active`.".into(),
            ),
            Self::HotelNotResolved { active } => language.pick(
                format!("有 {active} 家酒店处于 ACTIVE 状态。请运行 `countersign hotel hotels activate ID` 只保留一家。"),
                format!("{active} hotels are ACTIVE. Run `countersign hotel hotels activate ID` to keep one."),
            ),
            Self::OriginRefused(text) => text.clone(),
            Self::BodyTooLarge { limit } => language.pick(
                format!("请求体超过 {limit} 字节。请减小后重试。"),
                format!("The request body is over {limit} bytes. Send less."),
            ),
            Self::ScopeDenied(scope) => language.pick(
                format!("凭证缺少 {scope} 权限。请使用具有该权限的令牌。"),
                format!("The token lacks the scope {scope}. Use a token that has it."),
            ),
            Self::MoveNotAllowed { status, wanted } => language.pick(
                format!("任务当前状态为 {status}，不能变为 {wanted}。"),
                format!("The task is {status} and cannot become {wanted}."),
            ),
            Self::UndoByOther(name) => language.pick(
                format!("该任务由 {name} 确认。请由本人或管理员撤销。"),
                format!("{name} confirmed the task. Only that person or an admin can undo it."),
            ),
            Self::AssigneeUnknown(name) => language.pick(
                format!("没有可以登录的用户 {name}。请选择列表中的用户。"),
                format!("Nobody who may log in is named {name}. Choose somebody of the list."),
            ),
            Self::TaskNotFound(id) => {
                language.pick(format!("没有任务 {id}。"), format!("There is no task {id}."))
            }
            Self::RecordNotFound(id) => {
                language.pick(format!("审计记录中没有 {id}。"), format!("The trail has no record {id}."))
            }
            Self::RecordUnreadable(id) => language.pick(
                format!("审计记录 {id} 无法读取，它在数据库中被改动过。请运行 countersign audit verify 查明。"),
                format!(
                    "Record {id} cannot be read: it was changed in the database. Run countersign audit verify to find out more."
                ),
            ),
            Self::HotelNotFound(id) => {
                language.pick(format!("没有酒店 {id}。"), format!("There is no hotel {id}."))
            }
            Self::TokenNotFound(name) => {
                language.pick(format!("没有有效的令牌 {name}。"), format!("There is no live token {name}."))
            }
            Self::TokenNameTaken(name) => language.pick(
                format!("已有名为 {name} 的有效令牌。请换一个名称，或先撤销它。"),
                format!("A live token is named {name} already. Choose another name or revoke it first."),
            ),
            Self::UserNameTaken(name) => language.pick(
                format!("已有名为 {name} 的用户。请换一个名称。"),
                format!("There is a user {name} already. Choose another name."),
            ),
            Self::UserNotFound(name) => {
                language.pick(format!("没有用户 {name}。"), format!("There is no user {name}."))
            }
            Self::LogInLocked { retry_after_ms } => {
                let minutes = retry_after_ms.div_ceil(60_000);
                language.pick(
                    format!("登录尝试过多，请 {minutes} 分钟后再试，或请管理员重置密码。"),
                    format!("Too many attempts to log in. Try again in {minutes} minutes, or ask for a reset."),
                )
            }
            other => other.fixed_message(language).to_owned(),
        }
    }

    fn fixed_message(&self, language: Language) -> &'static str {
        let (chinese, english) = match self {
            Self::HotelMismatch => (
                "hotel_id 与系统酒店不一致。请不要传 hotel_id。",
                "hotel_id is not the system's hotel. Leave hotel_id out.",
            ),
            Self::MissingSourceMessageId => (
                "缺少 source_message.source_message_id，请填写来源邮件的 external_message_id。",
                "source_message.source_message_id is missing; give the e-mail's external_message_id.",
            ),
            Self::SourceMessageNotFound => (
                "找不到该来源消息。请使用 AgentBus 的 source.external_message_id。",
                "There is no such source message. Use AgentBus' source.external_message_id.",
            ),
            Self::SourceMessageAmbiguous(_) => (
                "该来源消息 ID 匹配多条 Inbox 记录。请改用 details.matches 中的 external_message_id，或传 source_provider / source_channel。",
                "The source message id matches several inbox messages. Use an external_message_id of details.matches, or give source_provider / source_channel.",
            ),
            Self::Unauthenticated => (
                "缺少访问凭证或凭证无效。请使用 `Authorization: Bearer <令牌>`。",
                "The credential is missing or not valid. Send `Authorization: Bearer <token>`.",
            ),
            Self::BodyIncomplete => {
                ("请求体不完整，请重新发送。", "The body did not arrive completely; send it again.")
            }
            Self::RouteNotFound => (
                "没有这个接口。`/openapi.json` 列出全部接口。",
                "There is no such interface. `/openapi.json` lists those there are.",
            ),
            Self::MethodNotAllowed => (
                "该接口不支持此 HTTP 方法。请使用 Allow 响应头列出的方法。",
                "The interface does not have this HTTP method. Use one of the Allow header.",
            ),
            Self::CredentialsUnavailable => {
                ("暂时无法校验凭证，请稍后重试。", "The credential cannot be checked now; try again later.")
            }
            Self::ObjectNotFound => ("找不到该对象。", "There is no such object."),
            Self::SubmitPayloadConflict(_) => (
                "该邮件已有内容不同的提交。请先查询已有任务，不要重复提交。",
                "This message has a submission with other content. Look at its tasks; do not submit again.",
            ),
            Self::IngestConflict { .. } => (
                "相同的 external_message_id 已存在且内容不同，未覆盖。",
                "The external_message_id exists with other content; it was not overwritten.",
            ),
            Self::VersionConflict(_) => (
                "任务已被他人更改。请查看 details 中的变化后重试。",
                "The task was changed meanwhile. Look at what changed in details and try again.",
            ),
            Self::ConfirmBlocked(_) => (
                "存在 STOP 级警告，不能确认。请退回或转人工处理。",
                "A STOP warning stands; the task cannot be confirmed. Reject it or handle it by hand.",
            ),
            Self::ReasonRequired(_) => (
                "存在需要说明理由的警告，请填写 reason。",
                "A warning needs a person's reason; give a reason.",
            ),
            Self::ReasonMissing(_) => ("此操作需要填写理由（reason）。", "This needs a reason; give one."),
            Self::OrderChangedSince => (
                "确认之后订单又有改动，无法撤销。请改为提交新的修改或取消该任务。",
                "The order changed after the confirmation, so it cannot be undone. Cancel the task, or change the order by another one.",
            ),
            Self::LogInFailed => ("用户名或密码不正确。", "The name or the password is not right."),
            Self::NotLoggedIn => ("请先登录。", "Log in first."),
            Self::FormExpired => (
                "页面已过期，未执行任何操作。请返回重新打开页面后再提交。",
                "The page is out of date; nothing was done. Open it again and send it once more.",
            ),
            Self::RoleDenied => (
                "您的角色不能执行此操作。如有需要，请联系管理员。",
                "Your role may not do this. Ask an administrator if you need to.",
            ),
            Self::ToolDisabled => ("该工具已被管理员停用。", "This tool is switched off by the operator."),
            Self::RateLimited { .. } => ("调用过于频繁，请稍后重试。", "Too many calls; try again later."),
            Self::AuditUnavailable => (
                "审计记录暂不可用，未执行任何操作。请稍后重试。",
                "The audit trail is not available, so nothing was done. Try again later.",
            ),
            Self::Store(_) => (
                "数据库暂不可用，未写入任何数据。请稍后重试。",
                "The database is not available; nothing was written. Try again later.",
            ),
            _ => (
                "内部错误。请联系管理员并提供 request_id。",
                "Internal error. Tell the operator the request_id.",
            ),
        };
        language.pick(chinese, english)
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
