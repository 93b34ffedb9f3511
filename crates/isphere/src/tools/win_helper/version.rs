//! win_helper_version.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use govern::mcp::schema::{object, typed};
use govern::tool::{Call, Effect, Hints, Outcome, SchemaProfile, Tool};
use serde::Deserialize;
use serde_json::Value;

use super::{TOOLSET, answer, within_limit};
use crate::helper::Version;
use crate::outside;
use crate::tools::{IsphereTools, schemas};

/// Its name.
pub const NAME: &str = "win_helper_version";

/// The tool.
pub const TOOL: Tool<IsphereTools> = Tool {
    name: NAME,
    title: "Version of the Windows helper",
    description: "Starts the Windows helper once and tells its name, version, protocol and build target. Use it to see whether \
                  the helper runs at all.",
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
        ("helper_name", typed("string", "The program's name.")),
        ("helper_version", typed("string", "The program's version.")),
        ("protocol", typed("string", "The protocol it speaks.")),
        ("runtime", typed("string", "What it was built for.")),
    ]);
    answer(data, profile)
}

fn run<'a>(tools: &'a IsphereTools, call: Call<'a>) -> BoxFuture<'a, Outcome> {
    async move {
        let attempt = tools.look(NAME, &call);
        let result = match call.parse::<Arguments>() {
            Ok(Arguments {}) => within_limit(tools, tools.0.helper.version()).await,
            Err(fault) => Err(fault.into()),
        };
        tools.tell(attempt, result, view, summary)
    }
    .boxed()
}

fn view(version: Version) -> Version {
    let Version { helper_name, helper_version, protocol, runtime } = version;
    let [helper_name, helper_version, protocol, runtime] =
        [helper_name, helper_version, protocol, runtime].map(|text| outside::name(&text));
    Version { helper_name, helper_version, protocol, runtime }
}

fn summary(version: &Version) -> String {
    let Version { helper_name, helper_version, protocol, runtime } = version;
    format!("{helper_name} {helper_version}, {protocol}, {runtime}")
}
