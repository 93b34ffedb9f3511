//! The OpenAPI document of the REST routes, from the same schemas as the tools.

use govern::mcp::schema::{array, object, typed};
use govern::tool::{SchemaProfile, Service};
use serde_json::{Map, Value, json};

use super::routes::{ROUTES, Route};
use crate::mcp::{HotelTools, envelope_schema};

/// OpenAPI 3.1.
pub fn document() -> Value {
    let paths: Map<String, Value> =
        ROUTES.iter().map(|route| (route.path.to_owned(), json!({"post": operation(route)}))).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Countersign · TH Hotel",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The REST twins of the MCP tools, and the intake of messages.",
        },
        "paths": paths,
        "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
        "security": [{"bearer": []}],
    })
}

fn operation(route: &Route) -> Value {
    let tool = HotelTools::tools().iter().find(|tool| tool.name == route.operation);
    let (title, description, body, answer) = match tool {
        Some(tool) => (
            tool.title,
            tool.description,
            (tool.input)(SchemaProfile::Contract),
            (tool.output)(SchemaProfile::Contract),
        ),
        None => {
            ("接收一封邮件", "AgentBus 推送一封邮件；相同内容重复推送不产生新记录。", message(), ingested())
        }
    };
    let content = |schema: &Value| json!({"application/json": {"schema": schema}});
    let mut responses = Map::new();
    responses.insert("200".into(), json!({"description": "成功", "content": content(&answer)}));
    for (status, reason) in [
        ("400", "INVALID_ARGUMENT, MCP_SUBMIT_PAYLOAD_INVALID"),
        ("401", "AUTH_SIGNATURE_INVALID"),
        ("403", "SCOPE_DENIED, MCP_REQUEST_INVALID"),
        ("404", "OBJECT_NOT_FOUND, SOURCE_MESSAGE_NOT_FOUND"),
        ("409", "SOURCE_MESSAGE_AMBIGUOUS, SUBMIT_PAYLOAD_CONFLICT, INGEST_CONFLICT, HOTEL_MISMATCH"),
        ("413", "MCP_REQUEST_BODY_TOO_LARGE"),
        ("422", "MISSING_SOURCE_MESSAGE_ID"),
        ("429", "RATE_LIMITED"),
        ("500", "INTERNAL_ERROR"),
        ("503", "HOTEL_NOT_RESOLVED, STORE_UNAVAILABLE, MCP_TOOL_DISABLED"),
    ] {
        responses.insert(status.into(), json!({"description": reason, "content": content(&answer)}));
    }
    json!({
        "operationId": route.operation,
        "summary": title,
        "description": format!("{description} Scope: {}.", route.scope),
        "requestBody": {"required": true, "content": content(&body)},
        "responses": responses,
    })
}

/// The body of `POST /api/integrations/agentbus/messages` (design: E-mail, AgentBus JSON).
fn message() -> Value {
    let nullable = |description: &str| json!({"type": ["string", "null"], "description": description});
    let texts = |description: &str| array(&json!({"type": "string"}), description);
    let attachment = object(
        [
            ("name", typed("string", "文件名")),
            ("size", typed("integer", "字节数")),
            ("type", typed("string", "媒体类型")),
        ],
        &["name"],
    );
    let source = object(
        [
            ("provider", typed("string", "来源提供方，例如 AGENTBUS")),
            ("channel", typed("string", "来源渠道，例如 EMAIL 或 OUTLOOK")),
            ("external_message_id", typed("string", "外部消息 ID，同一来源内唯一")),
            ("external_conversation_id", nullable("外部会话 ID；没有则自成一个会话")),
        ],
        &["provider", "channel", "external_message_id"],
    );
    object(
        [
            ("source", source),
            ("subject", nullable("主题")),
            ("from", nullable("发件人")),
            ("to", texts("收件人")),
            ("cc", texts("抄送")),
            ("received_at", typed("string", "接收时间，ISO-8601，带时区")),
            ("text_body", nullable("纯文本正文")),
            ("html_body", nullable("HTML 正文，保存前清洗")),
            ("attachments", array(&attachment, "附件的名称、大小和类型")),
            ("raw_base64", nullable("原始邮件，base64")),
        ],
        &["source", "received_at"],
    )
}

fn ingested() -> Value {
    let data = object(
        [
            ("inbox_id", typed("string", "内部 Inbox ID")),
            ("external_message_id", typed("string", "查询和提交时使用的 ID")),
            ("created", typed("boolean", "是否为新邮件")),
            ("html_degraded_reason", json!({"type": ["string", "null"], "description": "HTML 降级原因"})),
        ],
        &["inbox_id", "external_message_id", "created", "html_degraded_reason"],
    );
    envelope_schema(data, SchemaProfile::Contract)
}
