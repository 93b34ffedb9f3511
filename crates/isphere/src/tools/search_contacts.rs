//! isphere_search_contacts.

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
use crate::model::{Contact, SourceName};
use crate::sources::Hit;
use crate::sources::choice::Preference;

/// Its name.
pub const NAME: &str = "isphere_search_contacts";

/// The tool.
pub const TOOL: Tool<IsphereTools> = Tool {
    name: NAME,
    title: "Search iSphere contacts",
    description: "Finds people by name, account, department or title: by a part of it, by its beginning, by full pinyin \
                  (zhangsan) or initials (zs). The best match comes first; confidence 1.0 is an exact match. Use it to get \
                  the contact_id before reading or sending.",
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
pub struct ContactPage {
    contacts: Vec<Found>,
    next_cursor: Option<String>,
    truncated: bool,
}

#[derive(Debug, Serialize)]
struct Found {
    contact_id: String,
    display_name: String,
    account: Option<String>,
    department: Option<String>,
    title: Option<String>,
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
    include_inactive: Option<bool>,
}

const KIND: Kind<Contact> = Kind {
    ask: |source, lookup| source.contacts(lookup),
    visible: |access, contact| access.contact(&contact.contact_id),
};

fn input(_: SchemaProfile) -> Value {
    search::input("include_inactive", "Also people who left.")
}

fn output(profile: SchemaProfile) -> Value {
    let text = |description| nullable_result("string", description, profile);
    let contact = schemas::record([
        ("contact_id", typed("string", "The id to read or send with.")),
        ("display_name", typed("string", "The name people see.")),
        ("account", text("The account the person logs in with.")),
        ("department", text("Where the person works.")),
        ("title", text("What the person is.")),
        ("source", schemas::source()),
        ("confidence", typed("number", "How sure the match is, 0 to 1; 1 is exact.")),
        ("raw_ref", typed("string", "Where it was read, without giving the row away.")),
    ]);
    let [next_cursor, truncated] = schemas::page_fields(profile);
    schemas::answer([("contacts", array(&contact, "The best match first.")), next_cursor, truncated], profile)
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
) -> Result<ContactPage, Error> {
    let asked = Asked {
        tool: NAME,
        query: &arguments.query,
        limit: arguments.limit,
        cursor: arguments.cursor.as_deref(),
        preference: arguments.source_preference,
        include_inactive: arguments.include_inactive,
    };
    let found = search::page(app, &asked, &KIND, Found::new, budget, attempt, deadline).await?;
    Ok(ContactPage { contacts: found.hits, next_cursor: found.next_cursor, truncated: found.truncated })
}

impl Found {
    fn new(hit: Hit<Contact>, source: SourceName) -> Self {
        let Hit { item: contact, confidence } = hit;
        Self {
            display_name: outside::name(&contact.display_name),
            account: outside::optional_name(contact.account.as_ref()),
            department: outside::optional_name(contact.department.as_ref()),
            title: outside::optional_name(contact.title.as_ref()),
            contact_id: outside::id(&contact.contact_id),
            source,
            confidence,
            raw_ref: contact.raw_ref,
        }
    }

    fn line(&self) -> String {
        let more = [&self.account, &self.department, &self.title].into_iter().flatten();
        let more: Vec<&str> = more.map(String::as_str).collect();
        format!("{} {} [{}] {:.2}", self.contact_id, self.display_name, more.join(", "), self.confidence)
    }
}

fn summary(found: &ContactPage) -> String {
    let lines = found.contacts.iter().map(Found::line);
    paging::listing(paging::counted(found.contacts.len(), "contact"), lines, found.next_cursor.as_ref())
}
