//! th_hotel_list_message_conversation_tasks (contract section 5).

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use govern::mcp::schema::{array, object, typed};
use govern::tool::{Call, Effect, Hints, Outcome, SchemaProfile, Tool};
use serde_json::Value;

use super::{HotelTools, TOOLSET, schemas};
use crate::app::conversation::{self, Query, Tasks};
use crate::language::Language;

/// The tool.
pub const TOOL: Tool<HotelTools> = Tool {
    name: "th_hotel_list_message_conversation_tasks",
    title: "查询邮件会话的任务",
    description: "查询某个邮件会话下已经生成的所有任务，避免对同一邮件链重复拆同类任务。external_conversation_id 与 source_message_id \
                  至少给一个，同时给时以 external_conversation_id 为准。按邮件接收时间、任务创建时间、任务 ID 正序。",
    toolset: TOOLSET,
    scope: "read",
    effect: Effect::Read,
    hints: Hints { destructive: false, idempotent: true, open_world: false },
    input: schemas::conversation_arguments,
    output,
    run,
};

fn output(profile: SchemaProfile) -> Value {
    let [conversation, truncated, next_cursor] = schemas::page_fields(profile);
    let data = object(
        [
            conversation,
            ("task_count", typed("integer", "任务总数")),
            ("tasks", array(&schemas::task_summary(profile), "任务")),
            truncated,
            next_cursor,
        ],
        &["external_conversation_id", "task_count", "tasks", "truncated", "next_cursor"],
    );
    schemas::envelope(data, profile)
}

fn run<'a>(tools: &'a HotelTools, call: Call<'a>) -> BoxFuture<'a, Outcome> {
    async move {
        let result = match call.parse::<Query>() {
            Ok(query) => conversation::tasks(&tools.0, query, call.budget).await,
            Err(fault) => Err(fault.into()),
        };
        let result = result.map(|tasks| (tasks, Vec::new()));
        tools.answer(&call, result, |tasks| summary(tasks, tools.0.language)).untrusted()
    }
    .boxed()
}

fn summary(tasks: &Tasks, language: Language) -> String {
    let shown: Vec<String> = tasks
        .tasks
        .iter()
        .take(20)
        .map(|task| format!("{} {} {}", task.task_id, task.system_task_type, task.task_status))
        .collect();
    let (count, listed, shown) = (tasks.task_count, tasks.tasks.len(), shown.join("; "));
    let more = next_page(tasks.next_cursor.as_deref(), language);
    language.pick(
        format!("会话共有 {count} 个任务，本页 {listed} 个：{shown}{more}"),
        format!("The conversation has {count} tasks, {listed} on this page: {shown}{more}"),
    )
}

/// How to go on, for a model that sees only text.
pub fn next_page(cursor: Option<&str>, language: Language) -> String {
    cursor.map_or_else(String::new, |cursor| {
        language.pick(format!("。下一页 cursor={cursor}"), format!(". Next page: cursor={cursor}"))
    })
}
