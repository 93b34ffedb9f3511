//! win_helper_self_check.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use govern::mcp::schema::{object, typed};
use govern::tool::{Call, Effect, Hints, Outcome, SchemaProfile, Tool};
use serde::Deserialize;
use serde_json::Value;

use super::{TOOLSET, answer, within_limit};
use crate::helper::SelfCheck;
use crate::tools::{IsphereTools, schemas};

/// Its name.
pub const NAME: &str = "win_helper_self_check";

/// The tool.
pub const TOOL: Tool<IsphereTools> = Tool {
    name: NAME,
    title: "What the Windows helper can reach",
    description: "Tells whether the Windows helper reaches an interactive desktop and UI Automation. What is missing is \
                  explained in warnings.",
    toolset: TOOLSET,
    scope: "read",
    effect: Effect::Read,
    hints: Hints { destructive: false, idempotent: true, open_world: false },
    input,
    output,
    run,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {}

fn input(_: SchemaProfile) -> Value {
    object([], &[])
}

fn output(profile: SchemaProfile) -> Value {
    let data = schemas::record([
        ("desktop_access", typed("boolean", "Whether the windows of an interactive desktop can be listed.")),
        ("uia_available", typed("boolean", "Whether UI Automation can be started.")),
    ]);
    answer(data, profile)
}

fn run<'a>(tools: &'a IsphereTools, call: Call<'a>) -> BoxFuture<'a, Outcome> {
    async move {
        let attempt = tools.look(NAME, &call);
        let result = match call.parse::<Arguments>() {
            Ok(Arguments {}) => within_limit(tools, tools.0.helper.self_check()).await,
            Err(fault) => Err(fault.into()),
        };
        tools.tell(attempt, result, |found| found, |found| summary(*found))
    }
    .boxed()
}

fn summary(found: SelfCheck) -> String {
    let SelfCheck { desktop_access, uia_available } = found;
    format!("desktop access: {desktop_access}, UI Automation: {uia_available}")
}
