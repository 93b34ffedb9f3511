//! What the console calls the codes of the contract. A code without a word here is shown as it is.

use govern::language::Language;
use serde_json::Value;

use crate::app::tasks::Act;
use crate::domain::task_name;
use crate::domain::warning::WarningCode;

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
    task_name::names(code).map_or(code, |(chinese, english)| language.pick(chinese, english))
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
        "order" => ("订单", "Order"),
        "task" => ("任务", "Task"),
        "task_type" => ("类型", "Kind"),
        "summary" => ("摘要", "Summary"),
        "details" => ("明细", "Details"),
        "subject" => ("主题", "Subject"),
        "from" => ("发件人", "From"),
        "text" => ("正文", "Text"),
        "lines" => ("分房名单", "Rooming list"),
        "sequence" => ("序号", "No."),
        "name" => ("姓名", "Name"),
        "room" => ("房间", "Room"),
        "nights" => ("晚数", "Nights"),
        "children" => ("儿童", "Children"),
        "breakfast" => ("早餐", "Breakfast"),
        "remarks" => ("备注", "Remarks"),
        "payer" => ("付款人", "Payer"),
        "reference" => ("参考号", "Reference"),
        "date" => ("日期", "Date"),
        "title" => ("抬头", "Title"),
        "tax_number" => ("税号", "Tax number"),
        "email" => ("邮箱", "E-mail"),
        "phone" => ("电话", "Phone"),
        other => return other,
    };
    language.pick(chinese, english)
}

/// An order's status.
pub(super) fn order_status(code: &str, language: Language) -> &str {
    let (chinese, english) = match code {
        "DRAFT" => ("草稿", "Draft"),
        "RESERVED" => ("已预订", "Reserved"),
        "REQUESTED" => ("已申请", "Requested"),
        "WAITLISTED" | "WAITLIST" => ("候补", "Waitlist"),
        "DUE_IN" => ("今日到店", "Due in"),
        "IN_HOUSE" => ("在住", "In house"),
        "DUE_OUT" => ("今日离店", "Due out"),
        "CHECKED_OUT" => ("已退房", "Checked out"),
        "PENDING_CHECKOUT" => ("待结账", "Pending check-out"),
        "NO_SHOW" => ("未到店", "No-show"),
        "CANCELLED" => ("已取消", "Cancelled"),
        "INQUIRY" => ("询价", "Inquiry"),
        "TENTATIVE" => ("暂定", "Tentative"),
        "DEFINITE" => ("确定", "Definite"),
        "ACTUAL" => ("已发生", "Actual"),
        "LOST" => ("流失", "Lost"),
        "REFUSED" => ("已拒绝", "Refused"),
        other => return other,
    };
    language.pick(chinese, english)
}

/// How an order's status looks: the style of its tag.
pub(super) fn order_status_style(code: &str) -> &'static str {
    match code {
        "DRAFT" => "confirm",
        "RESERVED" | "DUE_IN" | "IN_HOUSE" | "DUE_OUT" | "DEFINITE" | "ACTUAL" => "done",
        "CANCELLED" | "NO_SHOW" | "LOST" | "REFUSED" => "stop",
        _ => "",
    }
}

/// Whether an order is an individual reservation or a group block.
pub(super) fn object_type(code: &str, language: Language) -> &str {
    match code {
        "FIT" => language.pick("散客", "Individual"),
        "GROUP" => language.pick("团队", "Group"),
        other => other,
    }
}

/// What a warning says, in English; its own message is in Chinese and stands beside it.
pub(super) fn warning(code: WarningCode) -> &'static str {
    match code {
        WarningCode::TargetNotFound => "No order has these keys.",
        WarningCode::TargetAmbiguous => "Several orders have these keys.",
        WarningCode::KeyFromHistoryOnly => "The key stands only in what the mail quotes.",
        WarningCode::KeyConflict => "The keys belong to different orders.",
        WarningCode::AlreadyExists => "An order with this key exists already.",
        WarningCode::OpenTaskSameType => "The order has an open task of the same kind.",
        WarningCode::OrderCancelled => "The order is cancelled.",
        WarningCode::OrderCheckedOut => "The order is checked out.",
        WarningCode::OrderInHouse => "The guest is in the house; the order cannot be cancelled.",
        WarningCode::ArrivalLockedInHouse => "The guest is in the house; the arrival cannot change.",
        WarningCode::NoShow => "The guest did not come.",
        WarningCode::CancelBlockedByPickup => "The group has rooms picked up.",
        WarningCode::PastCutoff => "The group's cut-off date has passed.",
        WarningCode::DepartureNotAfterArrival => "The departure is not after the arrival.",
        WarningCode::ArrivalInPast => "The arrival is in the past.",
        WarningCode::OccupancyMismatch => "Rooms and guests do not fit together.",
        WarningCode::DuplicateRoomingName => "A name stands twice in the rooming list.",
        WarningCode::NeedMissing => "Something that this task needs is missing.",
        WarningCode::DepositOutstanding => "The deposit has not come.",
        WarningCode::CurrencyMismatch => "The currency is not that of the order.",
        WarningCode::OperaProjectionMissing => "There is no mirror of OPERA to compare with.",
        WarningCode::OperaProjectionStale => "The mirror of OPERA is out of date.",
        WarningCode::InvalidProposedValue => "A value does not fit its field.",
        WarningCode::ChangedSinceProposed => "The order has another value by now.",
        WarningCode::HiddenContentRemoved => "Something hidden was removed from the mail.",
    }
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

/// What a token may do.
pub(super) fn scope(code: &str, language: Language) -> &str {
    let (chinese, english) = match code {
        "read" => ("查询", "read"),
        "submit" => ("提交", "submit"),
        "ingest" => ("收取邮件", "take mails in"),
        "admin" => ("运维", "operate"),
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
    use crate::domain::order::ORDER_STATUSES;
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
        for code in ORDER_STATUSES {
            assert_ne!(order_status(code, Language::English), code);
        }
    }

    #[test]
    fn sizes_are_rounded_down_to_a_tenth() {
        assert_eq!([0, 1_023, 1_536, 5 << 20].map(size), ["0 B", "1023 B", "1.5 KB", "5.0 MB"]);
    }
}
