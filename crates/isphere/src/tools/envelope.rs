//! What is around every answer: `ok`, `warnings`, `error` and the audit object (contract: Common audit fields).

use std::sync::Arc;

use govern::audit::Channel;
use govern::budget::json_len;
use govern::clock::Clock;
use govern::time::iso;
use govern::tool::{Call, Outcome};
use serde::Serialize;

use super::cursor::Cursor;
use super::paging::{self, Cut};
use crate::app::Isphere;
use crate::error::{Error, ErrorBody};
use crate::model::{SourceName, Warning};
use crate::request_id::uuid;
use crate::sources::choice::Preference;
use crate::sources::{Page, Source};

/// How far a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionMode {
    /// It reads.
    Read,
    /// It says what it would do.
    Preview,
    /// It acts.
    Production,
}

/// One call on its way to its answer: what the audit object will say, and what the caller should know.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// For the audit object and the record.
    pub facts: Facts,
    /// What the caller should know though the call may succeed.
    pub warnings: Vec<Warning>,
    tool: &'static str,
    started_ms: i64,
}

/// The facts that both the audit object of the answer and the record of the audit trail hold.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// The id of the call as the contract writes ids.
    pub request_id: String,
    /// The source that was used or, when none was reached, the first that would have been.
    pub source: SourceName,
    /// Who answers for the call: the token's name, over stdio the configured operator.
    pub operator_id: Option<String>,
    /// How far the call goes.
    pub execution_mode: ExecutionMode,
    /// What was acted on, such as `conversation:<id>`.
    pub target_ref: Option<String>,
    /// SHA-256 of the text that was acted with, in hex.
    pub content_sha256: Option<String>,
    /// SHA-256 of the file that was acted with, in hex.
    pub file_sha256: Option<String>,
}

#[derive(Serialize)]
struct Answer<'a, T> {
    ok: bool,
    #[serde(flatten)]
    body: &'a T,
    warnings: &'a [Warning],
    error: Option<ErrorBody<'a>>,
    audit: Audit<'a>,
}

#[derive(Serialize)]
struct Audit<'a> {
    tool: &'a str,
    #[serde(flatten)]
    facts: &'a Facts,
    started_at: String,
    finished_at: String,
    result: &'static str,
}

/// What the envelope takes of the byte budget, besides the warnings.
pub const ENVELOPE_BYTES: usize = 3 << 10;

impl Attempt {
    /// A call that has just come.
    pub fn new(
        app: &Isphere,
        tool: &'static str,
        call: &Call<'_>,
        source: SourceName,
        execution_mode: ExecutionMode,
    ) -> Self {
        let operator_id = match call.channel {
            Channel::McpHttp | Channel::Rest | Channel::Console => Some(call.caller.name.clone()),
            Channel::McpStdio | Channel::Cli => app.settings.operator_id.clone(),
        };
        let facts = Facts {
            request_id: uuid(&call.request_id),
            source,
            operator_id,
            execution_mode,
            target_ref: None,
            content_sha256: None,
            file_sha256: None,
        };
        Self { facts, warnings: Vec::new(), tool, started_ms: call.received_ms }
    }

    /// Adds a warning, unless it is there already.
    pub fn warn(&mut self, warning: Warning) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Adds warnings of a source.
    pub fn warn_all(&mut self, warnings: Vec<Warning>) {
        for warning in warnings {
            self.warn(warning);
        }
    }

    /// The source of this call: that of the pages before, else the one for the preference.
    pub async fn source(
        &mut self,
        app: &Isphere,
        preference: Preference,
        cursor: Option<&Cursor>,
    ) -> Result<Arc<dyn Source>, Error> {
        let source = if let Some(cursor) = cursor {
            self.facts.source = cursor.source;
            app.sources.named(cursor.source).await?
        } else {
            let chosen = app.sources.choose(preference).await?;
            self.warn_all(chosen.skipped);
            chosen.source
        };
        self.facts.source = source.name();
        Ok(source)
    }

    /// The part of a page that fits when `used` bytes of `budget` are spent besides the warnings, which are noted.
    pub fn cut<T: Serialize>(&mut self, page: Page<T>, used: usize, budget: usize) -> Cut<T> {
        self.warn_all(page.warnings);
        paging::cut(page.items, page.next, used + json_len(&self.warnings), budget)
    }

    /// The outcome with this `body`, which has the tool's own fields, and this summary before the warnings.
    pub fn answer<T: Serialize>(
        self,
        clock: &Clock,
        body: &T,
        error: Option<&Error>,
        summary: &str,
    ) -> Outcome {
        let answer = Answer {
            ok: error.is_none(),
            body,
            warnings: &self.warnings,
            error: error.map(Error::body),
            audit: Audit {
                tool: self.tool,
                facts: &self.facts,
                started_at: iso(self.started_ms),
                finished_at: iso(clock.now_ms()),
                result: if error.is_none() { "ok" } else { "error" },
            },
        };
        let text = self.text(error, summary);
        let mut outcome = match error {
            None => Outcome::ok(&answer, text),
            Some(error) => {
                error.log(&self.facts.request_id);
                Outcome::error(error.code(), &answer, text)
            }
        };
        if let Some(target) = &self.facts.target_ref {
            outcome = outcome.target(target);
        }
        if let Some(digest) = self.facts.content_sha256.as_ref().or(self.facts.file_sha256.as_ref()) {
            outcome = outcome.digest(digest);
        }
        outcome.detail(&self.facts).untrusted()
    }

    /// For a model that sees only text.
    fn text(&self, error: Option<&Error>, summary: &str) -> String {
        let mut lines = Vec::new();
        if let Some(error) = error {
            lines.push(format!("{}: {}", error.code(), error.body().message()));
            if let Error::AmbiguousTarget { candidates, .. } = error {
                lines.extend(candidates.iter().map(|candidate| {
                    let kind = candidate.conversation_type.as_str();
                    format!("- {} ({kind}) {}", candidate.conversation_id, candidate.display_name)
                }));
            }
        }
        if !summary.is_empty() {
            lines.push(summary.to_owned());
        }
        lines.extend(
            self.warnings.iter().map(|warning| format!("Warning {}: {}", warning.code, warning.message)),
        );
        lines.join("\n")
    }
}
