//! th_hotel_query_object_detail (contract section 4).

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use govern::mcp::schema::{array, nullable_argument, nullable_result, object, typed};
use govern::tool::{Call, Effect, Hints, Outcome, SchemaProfile, Tool};
use serde_json::{Map, Value, json};

use super::{HotelTools, TOOLSET, schemas};
use crate::app::object_detail::{self, ObjectDetail, Query};
use crate::language::Language;

/// The tool.
pub const TOOL: Tool<HotelTools> = Tool {
    name: "th_hotel_query_object_detail",
    title: "查询对象详情",
    description: "按 object_id（ORDER:{order_id}，由 th_hotel_query_case_context 返回）查询订单状态、业务 key、可更新/可取消状态和已知字段。\
                  返回的 source_message_id 是内部 Inbox ID，不能用于提交任务结果。",
    toolset: TOOLSET,
    scope: "read",
    effect: Effect::Read,
    hints: Hints { destructive: false, idempotent: true, open_world: false },
    input,
    output,
    run,
};

fn input(profile: SchemaProfile) -> Value {
    object(
        [
            ("hotel_id", schemas::hotel_id(profile)),
            ("object_id", typed("string", "查询对象 ID，第一版支持 ORDER:{order_id}")),
            ("object_type", nullable_argument("string", "调用方对象类型提示", profile)),
        ],
        &["object_id"],
    )
}

fn output(profile: SchemaProfile) -> Value {
    let mut properties: Map<String, Value> =
        schemas::order_fields(profile).into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let more = [
        ("fields", json!({"type": "object", "description": "已知订单字段"})),
        ("version", typed("integer", "订单版本")),
        (
            "source_message_id",
            nullable_result("string", "创建订单的内部 Inbox ID；导入的订单为 null", profile),
        ),
        ("hard_validation_warnings", array(&schemas::warning(), "硬校验提示")),
    ];
    properties.extend(more.into_iter().map(|(name, schema)| (name.to_owned(), schema)));
    let required: Vec<String> = properties.keys().cloned().collect();
    let data = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    schemas::envelope(data, profile)
}

fn run<'a>(tools: &'a HotelTools, call: Call<'a>) -> BoxFuture<'a, Outcome> {
    async move {
        let result = match call.parse::<Query>() {
            Ok(query) => object_detail::query(&tools.0, query).await,
            Err(fault) => Err(fault.into()),
        };
        let result = result.map(|detail| {
            let warnings = detail.warnings.clone();
            (detail, warnings)
        });
        tools.answer(&call, result, |detail| summary(detail, tools.0.language)).untrusted()
    }
    .boxed()
}

fn summary(detail: &ObjectDetail, language: Language) -> String {
    let order = &detail.order;
    let (id, kind, status, version) =
        (&order.object_id, order.object_type.as_str(), &order.status, detail.version);
    let yes_no = |yes: bool| if yes { language.pick("可", "yes") } else { language.pick("不可", "no") };
    let (update, cancel) = (yes_no(order.can_update), yes_no(order.can_cancel));
    let codes: Vec<String> =
        detail.hard_validation_warnings.iter().map(|warning| warning.message.clone()).collect();
    let codes = codes.join(" ");
    language.pick(
        format!("{id} {kind}，状态 {status}，版本 {version}。更新：{update}；取消：{cancel}。{codes}"),
        format!(
            "{id} {kind}, status {status}, version {version}. Update: {update}; cancel: {cancel}. {codes}"
        ),
    )
}
