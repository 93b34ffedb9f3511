//! The auxiliary tools `win_helper_*`: one op of the Windows helper each (boundary contract, section 6). They show windows as
//! they are, so they are off unless `[isphere.helper] tools` switches them on.

pub mod dump_uia;
mod prune;
pub mod scan_windows;
pub mod self_check;
pub mod version;

use govern::gate::Policy;
use govern::mcp::schema::{nullable_object, typed};
use govern::tool::{Call, Outcome, SchemaProfile, Service as _};
use serde::Serialize;
use serde_json::{Value, json};

use super::envelope::{Attempt, ExecutionMode};
use super::{IsphereTools, schemas};
use crate::error::Error;
use crate::helper::{HelperError, Reply};
use crate::model::{SourceName, Warning};
use crate::settings::Settings;
use crate::sources::choice::Preference;

/// The toolset of these tools.
pub const TOOLSET: &str = "win_helper";

/// The policy as it stands with these settings: without `[isphere.helper] tools` all tools of the set are off.
pub fn policy(settings: &Settings, policy: &Policy) -> Policy {
    let mut policy = policy.clone();
    if !settings.helper.tools {
        let tools = IsphereTools::tools().iter().filter(|tool| tool.toolset == TOOLSET);
        policy.disabled_tools.extend(tools.map(|tool| tool.name.to_owned()));
    }
    policy
}

/// The tool's own field of an answer; null on an error.
#[derive(Debug, Serialize)]
pub struct Body<T> {
    data: Option<T>,
}

impl<T> Default for Body<T> {
    fn default() -> Self {
        Self { data: None }
    }
}

/// Where text is left out because a policy lists whom this server may show.
const TEXT_LEFT_OUT: &str = "[policy] allow or deny lists whom this server may show, and a window cannot be matched with it, so texts are \
                             left out";

/// The schema of an answer whose data is `data`.
fn answer(data: Value, profile: SchemaProfile) -> Value {
    schemas::answer([("data", nullable_object(data, profile))], profile)
}

/// The schema of a list of windows or elements: where it is on the screen.
fn bounds() -> Value {
    let number = |description| typed("integer", description);
    schemas::record([
        ("x", number("Left edge, in physical pixels.")),
        ("y", number("Upper edge.")),
        ("width", number("Width.")),
        ("height", number("Height.")),
    ])
}

/// The schema of a window's handle as an argument.
fn hwnd(description: &str) -> Value {
    json!({"type": "string", "pattern": "^0x[0-9A-Fa-f]{8}$", "description": description})
}

impl IsphereTools {
    /// Begins the answer to a call of one of these tools.
    pub(super) fn look(&self, tool: &'static str, call: &Call<'_>) -> Attempt {
        let attempt = self.attempt(tool, call, Preference::Uia, ExecutionMode::Read);
        debug_assert_eq!(attempt.facts.source, SourceName::Uia);
        attempt
    }

    /// The answer with what the helper found, as `view` shows it, or with its failure.
    fn tell<T, V: Serialize>(
        &self,
        mut attempt: Attempt,
        result: Result<Reply<T>, Error>,
        view: impl FnOnce(T) -> V,
        summary: impl FnOnce(&V) -> String,
    ) -> Outcome {
        let result = result.map(|reply| {
            attempt.warn_all(reply.warnings);
            Body { data: Some(view(reply.data)) }
        });
        self.finish(attempt, result, |body| body.data.as_ref().map(summary).unwrap_or_default())
    }

    /// Whether the policy lets texts of windows be shown.
    fn shows_text(&self) -> bool {
        self.0.access.is_open()
    }
}

fn text_left_out() -> Warning {
    Warning::new("TEXT_LEFT_OUT", TEXT_LEFT_OUT)
}

/// Waits for the helper as long as a call may take.
async fn within_limit<T>(
    tools: &IsphereTools,
    work: impl Future<Output = Result<Reply<T>, HelperError>> + Send,
) -> Result<Reply<T>, Error> {
    tools.0.within_limit(async { Ok(work.await?) }).await
}
