//! isphere_send_file.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use govern::hex::hex;
use govern::mcp::schema::{nullable_object, nullable_result, object, typed};
use govern::tool::{Call, Effect, Hints, Outcome, SchemaProfile, Tool};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::envelope::ExecutionMode;
use super::sending::{self, Draft, Recorded};
use super::{IsphereTools, TOOLSET, arguments, outside, schemas};
use crate::app::Isphere;
use crate::error::Error;
use crate::files::names::PATH_BYTES;
use crate::sending::Phase;
use crate::sending::content::{self, KEY_CHARS, TEXT_CHARS};
use crate::sending::gate::DEFAULT_CONNECTOR;
use crate::sending::ledger::Operation;
use crate::sending::target::TargetKind;
use crate::sources::choice::Preference;

/// Its name.
pub const NAME: &str = "isphere_send_file";

/// The tool.
pub const TOOL: Tool<IsphereTools> = Tool {
    name: NAME,
    title: "Send a file over iSphere",
    description: "Previews sending a file to a contact, a group or a conversation: checks the target, the policy and the \
                  file, and says what would be sent. The file must lie in the operator's outbound folder; file_path is \
                  relative to it. Give an idempotency_key, a new one for each send; it can never be used for another \
                  file or target. execution_mode production is rejected until the operator opens the gate.",
    toolset: TOOLSET,
    scope: "send",
    effect: Effect::Write,
    // Without a key, the same arguments again are a second send.
    hints: Hints { destructive: false, idempotent: false, open_world: true },
    input,
    output,
    run,
};

/// The tool's own fields of its answer; on an error all null, except in production, where what is known is told.
#[derive(Debug, Default, Serialize)]
pub struct SentFile {
    execution_mode: Option<ExecutionMode>,
    send_status: Option<&'static str>,
    target: Option<Target>,
    /// The connector's own reference to the file it sent; there is none before one has.
    file_ref: Option<String>,
    file_sha256: Option<String>,
    file_size_bytes: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Target {
    #[serde(rename = "target_type")]
    kind: TargetKind,
    #[serde(rename = "target_id")]
    id: String,
    display_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    target_type: TargetKind,
    target_id: String,
    file_path: String,
    caption: Option<String>,
    #[expect(dead_code, reason = "asked_phase reads it, also when the rest is wrong")]
    execution_mode: Option<Phase>,
    idempotency_key: Option<String>,
    source_preference: Option<FilePreference>,
}

/// `source_preference` of this tool: a local store cannot send, so it cannot be asked for.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FilePreference {
    Bridge,
    Uia,
    Network,
    Auto,
}

const TARGET_TYPES: [&str; 3] = ["contact", "group", "conversation"];

fn input(_: SchemaProfile) -> Value {
    let preference = json!({
        "type": "string", "enum": ["bridge", "uia", "network", "auto"], "default": "auto",
        "description": "Which source looks the target up; auto takes the first that is available.",
    });
    object(
        [
            ("target_type", schemas::one_of(&TARGET_TYPES, "What target_id is an id of.")),
            (
                "target_id",
                schemas::text("The contact_id, group_id or conversation_id.", arguments::LONGEST_ID),
            ),
            (
                "file_path",
                schemas::text("Relative to the outbound folder, or absolute inside it.", PATH_BYTES),
            ),
            ("caption", schemas::text("A text that goes with the file.", TEXT_CHARS)),
            ("execution_mode", sending::execution_mode()),
            ("idempotency_key", schemas::text("Recommended; a new one for each send.", KEY_CHARS)),
            ("source_preference", preference),
        ],
        &["target_type", "target_id", "file_path"],
    )
}

fn output(profile: SchemaProfile) -> Value {
    let target = schemas::record([
        ("target_type", schemas::one_of(&TARGET_TYPES, "What target_id is an id of.")),
        ("target_id", typed("string", "Its id.")),
        ("display_name", nullable_result("string", "The name people see.", profile)),
    ]);
    let words = |words, description| schemas::nullable_one_of(words, description, profile);
    schemas::answer(
        [
            ("execution_mode", words(&["preview", "production"], "What was asked for.")),
            (
                "send_status",
                words(&["planned", "sent", "rejected"], "planned: checked; rejected: nothing was sent."),
            ),
            ("target", nullable_object(target, profile)),
            (
                "file_ref",
                nullable_result("string", "The sent file's reference; null before it is sent.", profile),
            ),
            ("file_sha256", nullable_result("string", "SHA-256 of the file, in hex.", profile)),
            ("file_size_bytes", nullable_result("integer", "Its size in bytes.", profile)),
        ],
        profile,
    )
}

fn run<'a>(tools: &'a IsphereTools, call: Call<'a>) -> BoxFuture<'a, Outcome> {
    async move {
        let app = &tools.0;
        let parsed = call.parse::<Arguments>();
        let preference = parsed.as_ref().map_or(Preference::Auto, Arguments::preference);
        let mut draft = begin(tools, &call, preference);
        let result = match parsed {
            Ok(arguments) => app.within_limit(send(app, &arguments, &mut draft)).await,
            Err(fault) => Err(fault.into()),
        };
        draft.answer(&app.clock, result)
    }
    .boxed()
}

/// The answer to a call that was not let through.
pub fn refuse(tools: &IsphereTools, call: &Call<'_>, error: Error) -> Outcome {
    begin(tools, call, Preference::Auto).answer(&tools.0.clock, Err(error))
}

fn begin(tools: &IsphereTools, call: &Call<'_>, preference: Preference) -> Draft<SentFile> {
    let phase = sending::asked_phase(call);
    Draft {
        phase,
        attempt: tools.attempt(NAME, call, preference, phase.into()),
        body: SentFile::begin(phase),
        recorded: Recorded { connector: Some(DEFAULT_CONNECTOR), ..Recorded::default() },
    }
}

/// Goes as far as the phase goes and notes in `draft` what is known on the way. Answers the summary.
async fn send(app: &Isphere, arguments: &Arguments, draft: &mut Draft<SentFile>) -> Result<String, Error> {
    arguments::id("target_id", Some(&arguments.target_id))?;
    let caption = arguments.caption.as_deref().map(content::caption).transpose()?;
    let key_sha256 = arguments.idempotency_key.as_deref().map(content::key).transpose()?;
    let target_ref = arguments.target_type.reference(&arguments.target_id);
    draft.attempt.facts.target_ref = Some(target_ref.clone());
    draft.attempt.facts.content_sha256 = caption.map(|caption| hex(&caption.sha256));
    draft.recorded.content_length = caption.map(|caption| caption.length);
    draft.recorded.idempotency_key_sha256 = key_sha256.map(|key| hex(&key));
    let outbound = app.outbound.as_ref().ok_or_else(no_outbound_folder)?;
    let file = outbound.inspect(&arguments.file_path).await?;
    draft.attempt.facts.file_sha256 = Some(hex(&file.sha256));
    draft.body.file_sha256 = Some(hex(&file.sha256));
    draft.body.file_size_bytes = Some(file.size_bytes);
    let source = draft.attempt.source(app, arguments.preference(), None).await?;
    let target = arguments.target_type.resolve(&arguments.target_id, source.as_ref(), &app.access).await?;
    draft.attempt.warnings.extend(target.warning);
    draft.body.target = Some(Target {
        kind: arguments.target_type,
        id: arguments.target_id.clone(),
        display_name: Some(outside::name(&target.display_name)),
    });
    let caption = caption.map_or(Vec::new(), |caption| caption.sha256.to_vec());
    // The name is part of it, for the other side sees it.
    let sha256 = content::operation(&[target_ref.as_bytes(), file.name.as_bytes(), &file.sha256, &caption]);
    let operation = key_sha256.map(|key_sha256| Operation { tool: NAME, key_sha256, sha256 });
    sending::decide(app, draft.phase, operation).await?;
    let what = format!("a file of {} bytes", file.size_bytes);
    Ok(sending::summary(&what, &target_ref, &target.display_name))
}

fn no_outbound_folder() -> Error {
    Error::WriteNotReady(
        "no folder for files that are sent is configured; the operator has to set [isphere] outbound_dir"
            .to_owned(),
    )
}

impl Arguments {
    fn preference(&self) -> Preference {
        match self.source_preference {
            Some(FilePreference::Bridge) => Preference::Bridge,
            Some(FilePreference::Uia) => Preference::Uia,
            Some(FilePreference::Network) => Preference::Network,
            Some(FilePreference::Auto) | None => Preference::Auto,
        }
    }
}

impl SentFile {
    fn begin(phase: Phase) -> Self {
        let status = match phase {
            Phase::Preview => "planned",
            Phase::Production => "rejected",
        };
        Self { execution_mode: Some(phase.into()), send_status: Some(status), ..Self::default() }
    }
}
