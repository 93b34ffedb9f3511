//! th_hotel_query_case_context (contract section 3).

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use govern::mcp::schema::{array, nullable_argument, object, typed};
use govern::tool::{Call, Effect, Hints, Outcome, SchemaProfile, Tool};
use serde_json::{Value, json};

use super::{HotelTools, TOOLSET, schemas};
use crate::app::case_context::{self, CaseContext, Query};
use crate::language::Language;

/// The tool.
pub const TOOL: Tool<HotelTools> = Tool {
    name: "th_hotel_query_case_context",
    title: "查询订单上下文",
    description: "查询订单上下文：邮件中的 group_code、confirmation_number 或 reservation_no 是否已有订单、是否有未完成任务、\
                  是否可以新建、更新、取消或附加付款凭证。三个 key 至少给一个。精确匹配，不是全文搜索；只在历史邮件中出现的 key \
                  请设 body_thread_used_only_as_evidence=true。",
    toolset: TOOLSET,
    scope: "read",
    effect: Effect::Read,
    hints: Hints { destructive: false, idempotent: true, open_world: false },
    input,
    output,
    run,
};

fn input(profile: SchemaProfile) -> Value {
    let text = |description| nullable_argument("string", description, profile);
    object(
        [
            ("hotel_id", schemas::hotel_id(profile)),
            ("group_code", text("Group / Allotment 查询 key")),
            ("confirmation_number", text("FIT confirmation number 查询 key")),
            ("reservation_no", text("OPERA reservation no")),
            ("object_type_hint", text("调用方推测的对象类型")),
            ("target_key_source", text("key 来源，例如 body_current 或 body_thread_evidence")),
            ("body_thread_used_only_as_evidence", typed("boolean", "历史线程 key 是否仅作为证据")),
        ],
        &[],
    )
}

fn output(profile: SchemaProfile) -> Value {
    let mut record: Vec<(&str, Value)> = schemas::order_fields(profile).into();
    record.push(("matched_by", array(&json!({"type": "string"}), "命中的 key")));
    let required: Vec<&str> = record.iter().map(|(name, _)| *name).collect();
    let record = json!({
        "type": "object",
        "properties": record.iter().cloned().map(|(name, schema)| (name.to_owned(), schema)).collect::<serde_json::Map<_, _>>(),
        "required": required,
        "additionalProperties": false,
    });
    let validation = object(
        [
            ("target", json!({"type": "string", "enum": ["NONE", "UNIQUE", "AMBIGUOUS"]})),
            ("create_allowed", typed("boolean", "是否允许新建")),
            ("update_allowed", typed("boolean", "是否允许更新")),
            ("cancel_allowed", typed("boolean", "是否允许取消")),
            ("attach_proof_allowed", typed("boolean", "是否允许附加付款凭证")),
            ("reasons", array(&json!({"type": "string"}), "不允许的原因码")),
        ],
        &["target", "create_allowed", "update_allowed", "cancel_allowed", "attach_proof_allowed", "reasons"],
    );
    let data = object(
        [
            ("matched_order_records", array(&record, "匹配到的订单")),
            ("pending_or_open_tasks", array(&schemas::task_summary(profile), "未完成的任务")),
            ("target_object_validation", validation),
            ("truncated", typed("boolean", "是否因大小省略了订单或任务")),
        ],
        &["matched_order_records", "pending_or_open_tasks", "target_object_validation", "truncated"],
    );
    schemas::envelope(data, profile)
}

fn run<'a>(tools: &'a HotelTools, call: Call<'a>) -> BoxFuture<'a, Outcome> {
    async move {
        let result = match call.parse::<Query>() {
            Ok(query) => case_context::query(&tools.0, query, call.budget).await,
            Err(fault) => Err(fault.into()),
        };
        let result = result.map(|context| {
            let warnings = context.warnings.clone();
            (context, warnings)
        });
        tools.answer(&call, result, |context| summary(context, tools.0.language)).untrusted()
    }
    .boxed()
}

fn summary(context: &CaseContext, language: Language) -> String {
    let orders: Vec<String> = context
        .matched_order_records
        .iter()
        .take(10)
        .map(|order| format!("{} {} {}", order.object_id, order.object_type.as_str(), order.status))
        .collect();
    let tasks: Vec<String> = context
        .pending_or_open_tasks
        .iter()
        .take(10)
        .map(|task| format!("{} {} {}", task.task_id, task.system_task_type, task.task_status))
        .collect();
    let validation = &context.target_object_validation;
    let allowed: Vec<&str> = [
        (validation.create_allowed, "create"),
        (validation.update_allowed, "update"),
        (validation.cancel_allowed, "cancel"),
        (validation.attach_proof_allowed, "attach_proof"),
    ]
    .into_iter()
    .filter_map(|(allowed, word)| allowed.then_some(word))
    .collect();
    let none = language.pick("无", "none");
    let join = |list: &[String]| if list.is_empty() { none.to_owned() } else { list.join("; ") };
    let allowed = if allowed.is_empty() { none.to_owned() } else { allowed.join(", ") };
    let (target, orders, tasks) = (validation.target, join(&orders), join(&tasks));
    let count = context.matched_order_records.len();
    let open = context.pending_or_open_tasks.len();
    language.pick(
        format!(
            "匹配订单 {count} 个：{orders}。未完成任务 {open} 个：{tasks}。目标 {target}，允许：{allowed}。"
        ),
        format!(
            "{count} orders match: {orders}. {open} open tasks: {tasks}. Target {target}, allowed: {allowed}."
        ),
    )
}
