//! isphere_search_groups.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use govern::mcp::schema::{array, nullable_result, typed};
use govern::tool::{Call, Effect, Hints, Outcome, SchemaProfile, Tool};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::envelope::{Attempt, ExecutionMode};
use super::search::{self, Asked, Kind};
use super::{IsphereTools, TOOLSET, outside, paging, schemas};
use crate::app::{Deadline, Isphere};
use crate::error::Error;
use crate::model::{Group, SourceName};
use crate::sources::Hit;
use crate::sources::choice::Preference;

/// Its name.
pub const NAME: &str = "isphere_search_groups";

/// The tool.
pub const TOOL: Tool<IsphereTools> = Tool {
    name: NAME,
    title: "Search iSphere groups",
    description: "Finds groups by name: by a part of it, by its beginning, by full pinyin or initials. The best match comes \
                  first; confidence 1.0 is an exact match. Use it to get the group_id before reading or sending.",
    toolset: TOOLSET,
    scope: "read",
    effect: Effect::Read,
    hints: Hints { destructive: false, idempotent: true, open_world: false },
    input,
    output,
    run,
};

/// The tool's own fields of its answer.
#[derive(Debug, Default, Serialize)]
pub struct GroupPage {
    groups: Vec<Found>,
    next_cursor: Option<String>,
    truncated: bool,
}

#[derive(Debug, Serialize)]
struct Found {
    group_id: String,
    display_name: String,
    member_count: Option<u64>,
    owner_ref: Option<String>,
    source: SourceName,
    confidence: f64,
    raw_ref: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    limit: Option<u64>,
    cursor: Option<String>,
    source_preference: Option<Preference>,
    include_archived: Option<bool>,
}

const KIND: Kind<Group> = Kind {
    ask: |source, lookup| source.groups(lookup),
    visible: |access, group| access.group(&group.group_id),
};

fn input(_: SchemaProfile) -> Value {
    search::input("include_archived", "Also groups that were closed.")
}

fn output(profile: SchemaProfile) -> Value {
    let group = schemas::record([
        ("group_id", typed("string", "The id to read or send with.")),
        ("display_name", typed("string", "The name people see.")),
        ("member_count", nullable_result("integer", "How many are in it.", profile)),
        ("owner_ref", nullable_result("string", "The contact_id of its owner.", profile)),
        ("source", schemas::source()),
        ("confidence", typed("number", "How sure the match is, 0 to 1; 1 is exact.")),
        ("raw_ref", typed("string", "Where it was read, without giving the row away.")),
    ]);
    let [next_cursor, truncated] = schemas::page_fields(profile);
    schemas::answer([("groups", array(&group, "The best match first.")), next_cursor, truncated], profile)
}

fn run<'a>(tools: &'a IsphereTools, call: Call<'a>) -> BoxFuture<'a, Outcome> {
    async move {
        let parsed = call.parse::<Arguments>();
        let preference = parsed.as_ref().ok().and_then(|arguments| arguments.source_preference);
        let mut attempt = tools.attempt(NAME, &call, preference.unwrap_or_default(), ExecutionMode::Read);
        let result = match parsed {
            Ok(arguments) => {
                let deadline = tools.0.deadline();
                deadline.run(search(&tools.0, &arguments, call.budget, &mut attempt, &deadline)).await
            }
            Err(fault) => Err(fault.into()),
        };
        tools.finish(attempt, result, summary)
    }
    .boxed()
}

async fn search(
    app: &Isphere,
    arguments: &Arguments,
    budget: usize,
    attempt: &mut Attempt,
    deadline: &Deadline,
) -> Result<GroupPage, Error> {
    let asked = Asked {
        tool: NAME,
        query: &arguments.query,
        limit: arguments.limit,
        cursor: arguments.cursor.as_deref(),
        preference: arguments.source_preference,
        include_inactive: arguments.include_archived,
    };
    let found = search::page(app, &asked, &KIND, Found::new, budget, attempt, deadline).await?;
    Ok(GroupPage { groups: found.hits, next_cursor: found.next_cursor, truncated: found.truncated })
}

impl Found {
    fn new(hit: Hit<Group>, source: SourceName) -> Self {
        let Hit { item: group, confidence } = hit;
        Self {
            display_name: outside::name(&group.display_name),
            group_id: outside::id(&group.group_id),
            member_count: group.member_count,
            owner_ref: outside::optional_id(group.owner_ref),
            source,
            confidence,
            raw_ref: group.raw_ref,
        }
    }

    fn line(&self) -> String {
        let members = self.member_count.map_or_else(String::new, |count| format!(" [{count} members]"));
        format!("{} {}{members} {:.2}", self.group_id, self.display_name, self.confidence)
    }
}

fn summary(found: &GroupPage) -> String {
    let lines = found.groups.iter().map(Found::line);
    paging::listing(paging::counted(found.groups.len(), "group"), lines, found.next_cursor.as_ref())
}
