//! Schemas that several tools share.

use govern::mcp::schema::{array, nullable_argument, nullable_object, nullable_result, object, typed};
use govern::tool::SchemaProfile;
use serde_json::{Value, json};

/// The envelope around `data` (contract section 2).
pub fn envelope(data: Value, profile: SchemaProfile) -> Value {
    let fault = nullable_object(
        object(
            [
                ("code", typed("string", "稳定的错误码")),
                ("message", typed("string", "错误说明和下一步")),
                ("details", json!({"type": "object", "description": "机器可读的细节"})),
            ],
            &["code", "message", "details"],
        ),
        profile,
    );
    object(
        [
            ("success", typed("boolean", "是否成功")),
            ("request_id", typed("string", "本系统的请求 ID")),
            ("trace_id", nullable_result("string", "调用方的 trace ID", profile)),
            ("data", nullable_object(data, profile)),
            ("warnings", array(&warning(), "警告")),
            ("error", fault),
        ],
        &["success", "request_id", "trace_id", "data", "warnings", "error"],
    )
}

/// A warning `{code, severity, field?, message}`.
pub fn warning() -> Value {
    object(
        [
            ("code", typed("string", "稳定的警告码")),
            ("severity", json!({"type": "string", "enum": ["STOP", "CONFIRM"]})),
            ("field", typed("string", "相关字段")),
            ("message", typed("string", "说明")),
        ],
        &["code", "severity", "message"],
    )
}

/// The fields of an order that case-context and object-detail both show.
pub fn order_fields(profile: SchemaProfile) -> [(&'static str, Value); 12] {
    let text = |description| nullable_result("string", description, profile);
    [
        ("object_id", typed("string", "ORDER:{order_id}")),
        ("order_id", typed("string", "订单内部 ID")),
        ("object_type", json!({"type": "string", "enum": ["FIT", "GROUP"]})),
        ("group_code", text("Group / Allotment key")),
        ("confirmation_number", text("FIT confirmation number")),
        ("reservation_no", text("OPERA reservation no")),
        ("status", typed("string", "订单状态")),
        ("status_source", json!({"type": "string", "enum": ["LOCAL", "OPERA_PROJECTION"]})),
        ("arrival", text("到店日期")),
        ("departure", text("离店日期")),
        ("can_update", typed("boolean", "是否可更新")),
        ("can_cancel", typed("boolean", "是否可取消")),
    ]
}

/// A task as queries show it (contract section 5.4).
pub fn task_summary(profile: SchemaProfile) -> Value {
    object(
        [
            ("external_source_message_id", typed("string", "外部来源消息 ID")),
            ("task_id", typed("string", "任务 ID")),
            ("task_status", typed("string", "任务状态")),
            ("system_task_type", typed("string", "系统任务类型")),
            ("task_created_at", typed("string", "任务创建时间")),
            ("order_id", nullable_result("string", "订单内部 ID", profile)),
            ("catalog_code", typed("string", "目录编码")),
        ],
        &[
            "external_source_message_id",
            "task_id",
            "task_status",
            "system_task_type",
            "task_created_at",
            "order_id",
            "catalog_code",
        ],
    )
}

/// The optional hotel context, in every tool.
pub fn hotel_id(profile: SchemaProfile) -> Value {
    nullable_argument("string", "可选酒店上下文 ID；默认由 TH Hotel 后端解析", profile)
}

/// The arguments of both conversation tools (contract sections 5.3 and 6.4). `cursor` is an addition.
pub fn conversation_arguments(profile: SchemaProfile) -> Value {
    let text = |description| nullable_argument("string", description, profile);
    let mut schema = object(
        [
            ("hotel_id", hotel_id(profile)),
            ("source_provider", text("来源提供方，默认 AGENTBUS")),
            ("source_channel", text("来源渠道，默认 EMAIL")),
            ("external_conversation_id", text("外部邮件会话 ID")),
            ("source_message_id", text("外部来源消息 ID，可作为锚点反查会话")),
        ],
        &[],
    );
    if profile == SchemaProfile::Portable {
        schema["properties"]["cursor"] = typed("string", "上一页返回的 next_cursor；第一页不传");
    }
    schema
}

/// What both conversation tools add around their items.
pub fn page_fields(profile: SchemaProfile) -> [(&'static str, Value); 3] {
    [
        ("external_conversation_id", nullable_result("string", "外部邮件会话 ID；未知会话为 null", profile)),
        ("truncated", typed("boolean", "是否还有下一页")),
        ("next_cursor", nullable_result("string", "下一页的 cursor", profile)),
    ]
}
