//! What the console calls the codes of the contract. A code without a word here is shown as it is.

use govern::language::Language;
use serde_json::Value;

use crate::app::tasks::Act;

/// A task's status.
pub(super) fn status(code: &str, language: Language) -> &str {
    let (chinese, english) = match code {
        "PENDING_CONFIRMATION" => ("待确认", "To confirm"),
        "PENDING_MANUAL_REVIEW" => ("待人工处理", "Manual review"),
        "INFORMATIONAL" => ("仅供参考", "Information"),
        "CONFIRMED" => ("已确认", "Confirmed"),
        "IN_PROGRESS" => ("处理中", "In progress"),
        "FAILED" => ("失败", "Failed"),
        "DONE" => ("已完成", "Done"),
        "REJECTED" => ("已退回", "Rejected"),
        "SUPERSEDED" => ("已被取代", "Superseded"),
        "CANCELLED" => ("已取消", "Cancelled"),
        "CLOSED" => ("已关闭", "Closed"),
        "ACKNOWLEDGED" => ("已阅", "Acknowledged"),
        other => return other,
    };
    language.pick(chinese, english)
}

/// How a status looks: the style of its tag.
pub(super) fn status_style(code: &str) -> &'static str {
    match code {
        "PENDING_CONFIRMATION" | "PENDING_MANUAL_REVIEW" => "confirm",
        "CONFIRMED" | "DONE" | "ACKNOWLEDGED" => "done",
        "FAILED" | "REJECTED" => "stop",
        _ => "",
    }
}

/// What a person can do with a task.
pub(super) fn act(act: Act, language: Language) -> &'static str {
    let (chinese, english) = match act {
        Act::Confirm => ("确认", "Confirm"),
        Act::Reject => ("退回", "Reject"),
        Act::Review => ("转人工处理", "To manual review"),
        Act::Return => ("转回待确认", "Back to confirm"),
        Act::Start => ("开始处理", "Start"),
        Act::Done => ("完成", "Done"),
        Act::Fail => ("处理失败", "Failed"),
        Act::Retry => ("重试", "Try again"),
        Act::Cancel => ("取消任务", "Cancel the task"),
        Act::Close => ("关闭", "Close"),
        Act::Acknowledge => ("已阅", "Acknowledge"),
        Act::Undo => ("撤销确认", "Undo the confirmation"),
    };
    language.pick(chinese, english)
}

/// How the button of an act looks.
pub(super) fn act_style(act: Act) -> &'static str {
    match act {
        Act::Confirm | Act::Start | Act::Done | Act::Acknowledge | Act::Return | Act::Retry => "primary",
        Act::Reject | Act::Fail | Act::Cancel => "danger",
        Act::Review | Act::Close | Act::Undo => "",
    }
}

/// The key that presses the button of an act.
pub(super) fn act_key(act: Act) -> &'static str {
    match act {
        Act::Confirm | Act::Acknowledge => "c",
        Act::Reject => "r",
        Act::Review | Act::Return => "m",
        Act::Start | Act::Retry => "s",
        Act::Done => "d",
        Act::Fail => "f",
        Act::Undo => "u",
        Act::Cancel | Act::Close => "x",
    }
}

/// The kind of a task: the catalogue's task_type.
pub(super) fn task_type(code: &str, language: Language) -> &str {
    let (chinese, english) = match code {
        "CREATE_RESERVATION" => ("新建散客预订", "New reservation"),
        "CREATE_GROUP_BLOCK" => ("新建团队预留", "New group block"),
        "AMEND_RESERVATION" => ("修改散客预订", "Amend reservation"),
        "AMEND_GROUP_BLOCK" => ("修改团队预留", "Amend group block"),
        "CANCEL_RESERVATION" => ("取消散客预订", "Cancel reservation"),
        "CANCEL_GROUP_BLOCK" => ("取消团队预留", "Cancel group block"),
        "REINSTATE_RESERVATION" => ("恢复预订", "Reinstate reservation"),
        "PROCESS_ROOMING_LIST" => ("处理分房名单", "Rooming list"),
        "ATTACH_PAYMENT_PROOF" => ("登记付款凭证", "Payment proof"),
        "PAYMENT_FOLLOW_UP" => ("跟进付款", "Payment follow-up"),
        "UPDATE_GUARANTEE" => ("更新担保", "Update guarantee"),
        "ISSUE_INVOICE" => ("开具发票", "Issue invoice"),
        "SEND_CONFIRMATION" => ("发送确认函", "Send confirmation"),
        "ANSWER_INQUIRY" => ("回复询价", "Answer inquiry"),
        "HANDLE_SPECIAL_REQUEST" => ("处理特殊要求", "Special request"),
        "HANDLE_DISPUTE_OR_COMPLAINT" => ("处理争议或投诉", "Dispute or complaint"),
        "INFORMATION_ONLY" => ("仅供参考", "Information only"),
        "MANUAL_REVIEW" => ("人工处理", "Manual review"),
        other => return other,
    };
    language.pick(chinese, english)
}

/// A field of an order.
pub(super) fn field(name: &str, language: Language) -> &str {
    let (chinese, english) = match name {
        "arrival" => ("入住", "Arrival"),
        "departure" => ("离店", "Departure"),
        "rooms" => ("房间数", "Rooms"),
        "room_type" => ("房型", "Room type"),
        "guests" => ("人数", "Guests"),
        "adults" => ("成人", "Adults"),
        "guest_name" => ("客人姓名", "Guest"),
        "agency" => ("旅行社", "Agency"),
        "group_name" => ("团队名称", "Group"),
        "group_code" => ("团号", "Group code"),
        "confirmation_number" => ("确认号", "Confirmation number"),
        "reservation_no" => ("预订号", "Reservation number"),
        "cutoff" => ("截止日", "Cut-off"),
        "rate" => ("房价", "Rate"),
        "status" => ("状态", "Status"),
        "scope" => ("范围", "Scope"),
        "reason" => ("原因", "Reason"),
        "amount" => ("金额", "Amount"),
        "currency" => ("币种", "Currency"),
        other => return other,
    };
    language.pick(chinese, english)
}

/// Why a message is shown as less than what was sent.
pub(super) fn degraded(code: &str, language: Language) -> &str {
    let (chinese, english) = match code {
        "TOO_LARGE" => ("邮件过大，仅显示文本", "too large, shown as text"),
        "TOO_DEEP" => ("结构过于复杂，仅显示文本", "too deeply nested, shown as text"),
        "UNDECODABLE" => ("部分内容无法解码", "partly not decodable"),
        "ENCRYPTED" => ("邮件已加密", "encrypted"),
        "TNEF_UNREADABLE" => ("winmail.dat 无法读取", "winmail.dat is not readable"),
        "OVER_BUDGET" => ("内容超出限制，仅显示文本", "over the limit, shown as text"),
        other => return other,
    };
    language.pick(chinese, english)
}

/// What a reader should know about how a message was read.
pub(super) fn message_warning(code: &str, language: Language) -> &str {
    let (chinese, english) = match code {
        "HIDDEN_CONTENT_REMOVED" => ("已移除隐藏内容", "hidden content removed"),
        "CONTENT_DROPPED" => ("部分内容未显示", "some content is not shown"),
        other => return other,
    };
    language.pick(chinese, english)
}

/// How a call ended.
pub(super) fn outcome(code: &str, language: Language) -> &str {
    let (chinese, english) = match code {
        "ok" => ("成功", "done"),
        "refused" => ("被拒绝", "refused"),
        "error" => ("失败", "failed"),
        other => return other,
    };
    language.pick(chinese, english)
}

/// Through which door a call came.
pub(super) fn channel(code: &str, language: Language) -> &str {
    let (chinese, english) = match code {
        "mcp-http" => ("MCP（HTTP）", "MCP over HTTP"),
        "mcp-stdio" => ("MCP（stdio）", "MCP over stdio"),
        "rest" => ("REST 接口", "REST"),
        "cli" => ("命令行", "command line"),
        "console" => ("控制台", "console"),
        other => return other,
    };
    language.pick(chinese, english)
}

/// What a call does to the world; empty for what does not exist.
pub(super) fn effect(code: &str, language: Language) -> &str {
    let (chinese, english) = match code {
        "read" => ("读取", "reads"),
        "write" => ("写入", "writes"),
        "" => ("未知操作", "unknown operation"),
        other => return other,
    };
    language.pick(chinese, english)
}

/// The name under which calls are counted.
pub(super) fn operation(name: &str, language: Language) -> &str {
    if name == "unknown" { language.pick("未知操作", "unknown operation") } else { name }
}

/// A value as a person reads it.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "—".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value as a person edits it; none is an empty text.
pub(super) fn input(value: &Value) -> String {
    if value.is_null() { String::new() } else { plain(value) }
}

/// A size in bytes, as people say it.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")];
    match UNITS.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use crate::domain::task::TASK_STATUSES;

    #[test]
    fn every_status_and_every_kind_of_the_catalogue_has_a_word_in_both_languages() {
        let catalog = Catalog::embedded().unwrap();
        for language in [Language::Chinese, Language::English] {
            for code in TASK_STATUSES.map(crate::domain::task::TaskStatus::as_str) {
                assert_ne!(status(code, language), code);
            }
            for entry in catalog.entries() {
                assert_ne!(task_type(&entry.task_type, language), entry.task_type);
            }
        }
        assert_eq!(status("NEW_ONE", Language::English), "NEW_ONE");
    }

    #[test]
    fn sizes_are_rounded_down_to_a_tenth() {
        assert_eq!([0, 1_023, 1_536, 5 << 20].map(size), ["0 B", "1023 B", "1.5 KB", "5.0 MB"]);
    }
}
