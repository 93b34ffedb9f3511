//! th_hotel_submit_task_results (contract section 7).

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use govern::mcp::schema::{array, nullable_object, nullable_result, object, typed};
use govern::tool::{Call, Effect, Hints, Outcome, SchemaProfile, Tool};
use serde_json::{Value, json};

use super::{HotelTools, TOOLSET, request, schemas};
use crate::app::submit::{self, Answer, Submitted, adapter, shape};
use crate::error::Error;
use crate::language::Language;

/// The tool.
pub const TOOL: Tool<HotelTools> = Tool {
    name: submit::OPERATION,
    title: "提交任务识别结果",
    description: "提交对单封来源邮件的最终任务识别结果，写入 AI 过渡层、订单、任务和任务卡，由人工确认。三种形态选一：\
                  source_message + message_events（V3 业务根）；source_message + route_code（S10/S99）；\
                  source_message_id + ai_task_results（V2）。不要在试探或未完成推理时调用；source_message_id 必须是当前邮件的 \
                  external_message_id。相同内容重复提交返回第一次的结果；同一邮件提交不同内容会被拒绝。",
    toolset: TOOLSET,
    scope: "submit",
    effect: Effect::Write,
    hints: Hints { destructive: false, idempotent: true, open_world: false },
    input,
    output,
    run,
};

fn input(profile: SchemaProfile) -> Value {
    match profile {
        SchemaProfile::Portable => shape::portable_schema(),
        SchemaProfile::Contract => {
            // The contract's own text; a test reads it, so it is valid.
            serde_json::from_str(include_str!("submit_contract_schema.json")).unwrap_or_default()
        }
    }
}

fn output(profile: SchemaProfile) -> Value {
    let index = match profile {
        SchemaProfile::Portable => json!({"description": "事件索引：V3 为 1..n，V2 原样返回"}),
        SchemaProfile::Contract => {
            json!({"type": ["integer", "string"], "description": "事件索引：V3 为 1..n，V2 原样返回"})
        }
    };
    let fault = nullable_object(
        object(
            [("code", typed("string", "错误码")), ("message", typed("string", "说明"))],
            &["code", "message"],
        ),
        profile,
    );
    let item = object(
        [
            ("source_event_index", index.clone()),
            ("ai_transition_id", typed("string", "AI 过渡层 ID")),
            (
                "transition_status",
                json!({"type": "string", "enum": ["ACCEPTED", "CONTRACT_ERROR", "SUPERSEDED"]}),
            ),
            ("order_id", nullable_result("string", "订单 ID；没有目标为 null", profile)),
            ("task_id", nullable_result("string", "任务 ID", profile)),
            ("task_status", nullable_result("string", "任务状态", profile)),
            ("error", fault),
        ],
        &[
            "source_event_index",
            "ai_transition_id",
            "transition_status",
            "order_id",
            "task_id",
            "task_status",
            "error",
        ],
    );
    let mapping = object(
        [("original", index), ("source_event_index", typed("integer", "本系统一基索引"))],
        &["original", "source_event_index"],
    );
    let data = object(
        [
            ("batch_id", typed("string", "批次 ID")),
            ("idempotent_replay", typed("boolean", "是否幂等重放")),
            ("accepted_count", typed("integer", "接收数量")),
            ("items", array(&item, "每个事件一项，顺序与提交相同")),
            ("mapping_diagnostics", array(&mapping, "V3 事件索引映射")),
        ],
        &["batch_id", "idempotent_replay", "accepted_count", "items"],
    );
    schemas::envelope(data, profile)
}

fn run<'a>(tools: &'a HotelTools, call: Call<'a>) -> BoxFuture<'a, Outcome> {
    async move {
        match take(tools, &call).await {
            Ok(Submitted { answer, digest }) => {
                let target = format!("batch:{}", answer.batch_id);
                let result = Ok((answer, Vec::new()));
                tools
                    .answer(&call, result, |answer| summary(answer, tools.0.language))
                    .target(target)
                    .digest(digest)
                    .recorded_by_tool()
            }
            Err(error) => tools.failure(&call, &error),
        }
    }
    .boxed()
}

async fn take(tools: &HotelTools, call: &Call<'_>) -> Result<Submitted, Error> {
    let submission = adapter::from_mcp(serde_json::from_str(call.arguments.get())?)?;
    submit::submit(&tools.0, request(call), submission).await
}

fn summary(answer: &Answer, language: Language) -> String {
    let tasks: Vec<String> = answer
        .items
        .iter()
        .take(20)
        .map(|item| {
            let index = item.source_event_index.get();
            match (&item.task_id, &item.error) {
                (Some(task), _) => format!("{index} → {task} {}", item.task_status.as_deref().unwrap_or("")),
                (None, Some(error)) => format!("{index} → {}: {}", error.code, error.message),
                (None, None) => format!("{index} → {}", item.transition_status),
            }
        })
        .collect();
    let (batch, accepted, total) = (&answer.batch_id, answer.accepted_count, answer.items.len());
    let replay = if answer.idempotent_replay {
        language.pick("（重放，未写入新数据）", " (replay; nothing new was written)")
    } else {
        ""
    };
    let tasks = tasks.join("; ");
    language.pick(
        format!("批次 {batch}{replay}：接收 {accepted}/{total}。{tasks}"),
        format!("Batch {batch}{replay}: {accepted} of {total} accepted. {tasks}"),
    )
}
