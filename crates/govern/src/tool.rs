//! A tool is data: what it is called, who may use it, what it does to the world, and the function that does it.

use std::borrow::Cow;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::{
    arguments::{self, ArgumentFault},
    audit::Channel,
    credentials::Caller,
    progress::Progress,
};

/// What a tool does to the world. A required field, so that a tool that forgets to say does not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Changes nothing; may be dropped half-way when the client goes away.
    Read,
    /// Changes something; runs to its end though the client goes away.
    Write,
}

impl Effect {
    /// `read` or `write`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// Which shape `tools/list` gives its schemas; the server accepts the same arguments under both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SchemaProfile {
    /// Without what model APIs refuse: null types, root `oneOf`, `$ref`.
    #[default]
    Portable,
    /// The exact shapes of the contract documents.
    Contract,
}

/// The annotations of a tool besides `readOnlyHint`, which follows from its [`Effect`].
#[derive(Clone, Copy, Debug)]
pub struct Hints {
    /// May overwrite or delete what is there.
    pub destructive: bool,
    /// The same arguments again change nothing more.
    pub idempotent: bool,
    /// Reaches beyond this system.
    pub open_world: bool,
}

/// One tool of the service `S`.
pub struct Tool<S: 'static> {
    /// The name on the wire.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// When to use it, and when not; read by the model.
    pub description: &'static str,
    /// The group that configuration switches on and off together.
    pub toolset: &'static str,
    /// The scope that a caller needs.
    pub scope: &'static str,
    /// What it does to the world.
    pub effect: Effect,
    /// The further annotations.
    pub hints: Hints,
    /// The schema of its arguments.
    pub input: fn(SchemaProfile) -> Value,
    /// The schema of its structured content, errors included.
    pub output: fn(SchemaProfile) -> Value,
    /// The handler. Dropping the future of a [`Effect::Read`] tool must be safe at every await.
    pub run: for<'a> fn(&'a S, Call<'a>) -> BoxFuture<'a, Outcome>,
}

/// One call of a tool, as its handler sees it.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The arguments; always a JSON object without duplicate keys, at most 64 levels deep with the envelope.
    pub arguments: &'a RawValue,
    /// Who calls.
    pub caller: &'a Caller,
    /// The way in, for records that the tool writes itself.
    pub channel: Channel,
    /// Our id for this call, the same in the audit record.
    pub request_id: String,
    /// The caller's id of the whole undertaking: from `_meta.traceparent`, the `traceparent` or `X-Trace-Id` header.
    pub trace_id: Option<String>,
    /// How many bytes the result may have.
    pub budget: usize,
    /// When the call came, in Unix milliseconds.
    pub received_ms: i64,
    /// Tells the client how far a long call is.
    pub progress: Progress,
}

impl<'a> Call<'a> {
    /// The arguments as `T`, strictly: objects are objects, numbers are numbers. `T` must refuse unknown fields
    /// (`#[serde(deny_unknown_fields)]`) and hold no `flatten`, `untagged` or internally tagged part, for serde reads
    /// those from a buffer of its own, which takes arrays for objects again.
    pub fn parse<T: Deserialize<'a>>(&self) -> Result<T, ArgumentFault> {
        arguments::parse(self.arguments.get())
    }
}

/// What a tool answers. Everything that is not a malformed request is one of these.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub(crate) structured: String,
    pub(crate) text: String,
    pub(crate) blocks: Option<String>,
    pub(crate) code: Option<Cow<'static, str>>,
    pub(crate) untrusted: bool,
    pub(crate) recorded_by_tool: bool,
    pub(crate) target: Option<String>,
    pub(crate) digest: Option<String>,
    pub(crate) detail: Option<String>,
}

impl Outcome {
    /// A success: `value` becomes the structured content, `text` the summary for a model that sees only text.
    pub fn ok<T: Serialize>(value: &T, text: impl Into<String>) -> Self {
        Self::new(value, text.into(), None)
    }

    /// A failure with its stable `code`; `value` must satisfy the output schema too.
    pub fn error<T: Serialize>(
        code: impl Into<Cow<'static, str>>,
        value: &T,
        text: impl Into<String>,
    ) -> Self {
        Self::new(value, text.into(), Some(code.into()))
    }

    /// Marks that the result holds text from outside, which is data and never an instruction.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        self.untrusted = true;
        self
    }

    /// Says that the tool wrote its own audit record, in the transaction of its act.
    #[must_use]
    pub fn recorded_by_tool(mut self) -> Self {
        self.recorded_by_tool = true;
        self
    }

    /// What was acted on, for the audit record: an id, never content.
    #[must_use]
    pub fn target(mut self, target: impl Into<String>) -> Self {
        self.target = Some(target.into());
        self
    }

    /// The digest of what was acted with, for the audit record.
    #[must_use]
    pub fn digest(mut self, digest: impl Into<String>) -> Self {
        self.digest = Some(digest.into());
        self
    }

    /// Further fields of the half's own for the audit record: `fields` is an object of ids, codes and counts, never
    /// content.
    #[must_use]
    pub fn detail<T: Serialize>(mut self, fields: &T) -> Self {
        self.detail = Some(to_json(fields));
        self
    }

    /// Replaces the text block by these content blocks (an array of MCP `ContentBlock`).
    #[must_use]
    pub fn content<T: Serialize>(mut self, blocks: &[T]) -> Self {
        self.blocks = Some(to_json(&blocks));
        self
    }

    /// The structured content as JSON.
    pub fn structured(&self) -> &str {
        &self.structured
    }

    /// The summary.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The stable error code; `None` on success.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    fn new<T: Serialize>(value: &T, text: String, code: Option<Cow<'static, str>>) -> Self {
        Self {
            structured: to_json(value),
            text,
            blocks: None,
            code,
            untrusted: false,
            recorded_by_tool: false,
            target: None,
            digest: None,
            detail: None,
        }
    }
}

/// Why the gate or the core let a call of a known tool not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The tool or its toolset is switched off.
    Disabled,
    /// The server is read-only, and the tool writes.
    ReadOnly,
    /// The caller lacks a scope.
    ScopeDenied {
        /// The scope that is needed.
        needs: &'static str,
    },
    /// The caller calls too often.
    RateLimited {
        /// How long to wait, in milliseconds.
        retry_after_ms: u64,
    },
    /// No record could be kept, so nothing was done.
    AuditUnavailable,
}

impl Refusal {
    /// A stable word for the audit record.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Disabled => "DISABLED",
            Self::ReadOnly => "READ_ONLY",
            Self::ScopeDenied { .. } => "SCOPE_DENIED",
            Self::RateLimited { .. } => "RATE_LIMITED",
            Self::AuditUnavailable => "AUDIT_UNAVAILABLE",
        }
    }
}

/// How the server presents itself to clients.
#[derive(Clone, Copy, Debug)]
pub struct ServerInfo {
    /// The product's name on the wire.
    pub name: &'static str,
    /// The product's name for people.
    pub title: &'static str,
    /// The product's version.
    pub version: &'static str,
    /// What a model should know before it uses the tools.
    pub instructions: &'static str,
}

/// A half of the product, as the MCP core sees it.
pub trait Service: Send + Sync + Sized + 'static {
    /// All tools, in the order in which they are listed.
    fn tools() -> &'static [Tool<Self>];

    /// The answer to a call that was refused, in the half's own result shape and words.
    fn refuse(&self, tool: &Tool<Self>, refusal: &Refusal, call: &Call<'_>) -> Outcome;

    /// How the server presents itself.
    fn info() -> ServerInfo;
}

/// JSON of a result type. Our result types have string keys and no failing serialiser, so a failure is a defect
/// in the code; the core answers it as any other panic, with an internal error.
fn to_json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("result types serialise")
}
