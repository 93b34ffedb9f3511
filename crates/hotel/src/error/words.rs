//! What each error says to a person or a model.

use super::Error;
use crate::language::Language;

impl Error {
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
            Self::NameInvalid { most } => language.pick(
                format!("名称须为 1 至 {most} 个可见字符，且只有一行。"),
                format!("A name has 1 to {most} visible characters, on one line."),
            ),
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
            Self::ScopesInvalid => ("请至少选择一项权限。", "Choose at least one scope."),
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
}
