//! isphere_send_message.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use govern::arguments::ArgumentFault;
use govern::hex::hex;
use govern::mcp::schema::{nullable_object, nullable_result, object, typed};
use govern::tool::{Call, Effect, Hints, Outcome, SchemaProfile, Tool};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::envelope::ExecutionMode;
use super::sending::{self, Draft, Recorded};
use super::{IsphereTools, TOOLSET, arguments, schemas};
use crate::app::Isphere;
use crate::error::Error;
use crate::sending::Phase;
use crate::sending::content::{self, KEY_CHARS, TEXT_CHARS};
use crate::sending::gate::DEFAULT_CONNECTOR;
use crate::sending::ledger::Operation;
use crate::sending::target::TargetKind;
use crate::sources::choice::Preference;

/// Its name.
pub const NAME: &str = "isphere_send_message";

/// The tool.
pub const TOOL: Tool<IsphereTools> = Tool {
    name: NAME,
    title: "Send an iSphere message",
    description: "Previews a text message to a person (direct) or a group: checks the target, the policy and the digest, and \
                  says what would be sent. Get target_id from isphere_search_contacts or isphere_search_groups. \
                  content_sha256 is the SHA-256, in hex, of content_text as UTF-8. Take a new idempotency_key for each \
                  message and the same one to repeat a call; it can never be used for another text or target. \
                  execution_mode production is blocked until the operator opens the gate.",
    toolset: TOOLSET,
    scope: "send",
    effect: Effect::Write,
    hints: Hints { destructive: false, idempotent: true, open_world: true },
    input,
    output,
    run,
};

/// The tool's own fields of its answer; on an error all null, except in production, where what is known is told.
#[derive(Debug, Default, Serialize)]
pub struct Message {
    execution_mode: Option<ExecutionMode>,
    send_status: Option<&'static str>,
    connector: Option<&'static str>,
    connector_stage: Option<&'static str>,
    target: Option<Target>,
    content: Option<Content>,
    idempotency: Option<Idempotency>,
    side_effects: Option<SideEffects>,
}

#[derive(Debug, Serialize)]
struct Target {
    #[serde(rename = "target_type")]
    kind: TargetType,
    #[serde(rename = "target_id")]
    id: String,
    #[serde(rename = "target_ref")]
    reference: String,
}

#[derive(Debug, Serialize)]
struct Content {
    content_sha256: String,
    content_length: usize,
}

#[derive(Debug, Serialize)]
struct Idempotency {
    idempotency_key_sha256: String,
}

/// What the call did to the world; nothing in this release.
#[derive(Debug, Default, Serialize)]
struct SideEffects {
    sent_message: bool,
    sent_file: bool,
    uploaded_file: bool,
    clicked_ui: bool,
    typed_text: bool,
    captured_network: bool,
    attached_hook: bool,
    modified_client_data: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    target_type: TargetType,
    target_id: String,
    content_text: String,
    content_sha256: String,
    idempotency_key: String,
    #[expect(dead_code, reason = "asked_phase reads it, also when the rest is wrong")]
    execution_mode: Option<Phase>,
    source_preference: Option<IgnoredAny>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TargetType {
    Direct,
    Group,
}

fn input(_: SchemaProfile) -> Value {
    object(
        [
            (
                "target_type",
                schemas::one_of(&["direct", "group"], "Whether target_id is a person or a group."),
            ),
            ("target_id", schemas::text("The contact_id or group_id.", arguments::LONGEST_ID)),
            ("content_text", schemas::text("The message.", TEXT_CHARS)),
            ("content_sha256", sending::sha256_argument("SHA-256 of content_text as UTF-8, in hex.")),
            ("idempotency_key", schemas::text("A new one for each message.", KEY_CHARS)),
            ("execution_mode", sending::execution_mode()),
        ],
        &["target_type", "target_id", "content_text", "content_sha256", "idempotency_key"],
    )
}

fn output(profile: SchemaProfile) -> Value {
    let target = schemas::record([
        ("target_type", schemas::one_of(&["direct", "group"], "A person or a group.")),
        ("target_id", typed("string", "Its id.")),
        ("target_ref", typed("string", "contact:<id> or group:<id>.")),
    ]);
    let content = schemas::record([
        ("content_sha256", typed("string", "SHA-256 of the text as UTF-8, in hex.")),
        ("content_length", typed("integer", "Its Unicode characters.")),
    ]);
    let idempotency =
        schemas::record([("idempotency_key_sha256", typed("string", "SHA-256 of the key, in hex."))]);
    let did = |what| json!({"type": "boolean", "description": what});
    let side_effects = schemas::record([
        ("sent_message", did("A message was sent.")),
        ("sent_file", did("A file was sent.")),
        ("uploaded_file", did("A file was uploaded.")),
        ("clicked_ui", did("Something was clicked in the client.")),
        ("typed_text", did("Text was typed in the client.")),
        ("captured_network", did("Network traffic was read.")),
        ("attached_hook", did("A hook was put into the client.")),
        ("modified_client_data", did("The client's data was changed.")),
    ]);
    let words = |words, description| schemas::nullable_one_of(words, description, profile);
    schemas::answer(
        [
            ("execution_mode", words(&["preview", "production"], "What was asked for.")),
            (
                "send_status",
                words(&["planned", "blocked"], "planned: checked and noted; blocked: nothing was sent."),
            ),
            ("connector", nullable_result("string", "What would send it.", profile)),
            ("connector_stage", words(&["preview", "blocked"], "How far the connector went.")),
            ("target", nullable_object(target, profile)),
            ("content", nullable_object(content, profile)),
            ("idempotency", nullable_object(idempotency, profile)),
            ("side_effects", nullable_object(side_effects, profile)),
        ],
        profile,
    )
}

fn run<'a>(tools: &'a IsphereTools, call: Call<'a>) -> BoxFuture<'a, Outcome> {
    async move {
        let app = &tools.0;
        let mut draft = begin(tools, &call);
        let result = match call.parse::<Arguments>() {
            Ok(arguments) => app.within_limit(send(app, &arguments, &mut draft)).await,
            Err(fault) => Err(fault.into()),
        };
        draft.answer(&app.clock, result)
    }
    .boxed()
}

/// The answer to a call that was not let through.
pub fn refuse(tools: &IsphereTools, call: &Call<'_>, error: Error) -> Outcome {
    begin(tools, call).answer(&tools.0.clock, Err(error))
}

fn begin(tools: &IsphereTools, call: &Call<'_>) -> Draft<Message> {
    let phase = sending::asked_phase(call);
    Draft {
        phase,
        attempt: tools.attempt(NAME, call, Preference::Auto, phase.into()),
        body: Message::begin(phase),
        recorded: Recorded { connector: Some(DEFAULT_CONNECTOR), ..Recorded::default() },
    }
}

/// Goes as far as the phase goes and notes in `draft` what is known on the way. Answers the summary.
async fn send(app: &Isphere, arguments: &Arguments, draft: &mut Draft<Message>) -> Result<String, Error> {
    if arguments.source_preference.is_some() {
        return Err(no_source_preference().into());
    }
    arguments::id("target_id", Some(&arguments.target_id))?;
    let content = content::check(&arguments.content_text, &arguments.content_sha256)?;
    let key_sha256 = content::key(&arguments.idempotency_key)?;
    let kind = arguments.target_type.kind();
    let target_ref = kind.reference(&arguments.target_id);
    draft.attempt.facts.target_ref = Some(target_ref.clone());
    draft.attempt.facts.content_sha256 = Some(hex(&content.sha256));
    draft.recorded.content_length = Some(content.length);
    draft.recorded.idempotency_key_sha256 = Some(hex(&key_sha256));
    draft.body.content =
        Some(Content { content_sha256: hex(&content.sha256), content_length: content.length });
    draft.body.idempotency = Some(Idempotency { idempotency_key_sha256: hex(&key_sha256) });
    let source = draft.attempt.source(app, Preference::Auto, None).await?;
    let target = kind.resolve(&arguments.target_id, source.as_ref(), &app.access).await?;
    draft.attempt.warnings.extend(target.warning);
    draft.body.target = Some(Target {
        kind: arguments.target_type,
        id: arguments.target_id.clone(),
        reference: target_ref.clone(),
    });
    let sha256 = content::operation(&[target_ref.as_bytes(), &content.sha256]);
    sending::decide(app, draft.phase, Some(Operation { tool: NAME, key_sha256, sha256 })).await?;
    let what = format!("a message of {} characters", content.length);
    Ok(sending::summary(&what, &target_ref, &target.display_name))
}

fn no_source_preference() -> ArgumentFault {
    ArgumentFault {
        path: "$.source_preference".to_owned(),
        expected: "absent".to_owned(),
        message: "`$.source_preference` is not accepted here: the configured connector sends, and the target is looked up \
                  in the configured sources. Leave it out."
            .to_owned(),
    }
}

impl TargetType {
    fn kind(self) -> TargetKind {
        match self {
            Self::Direct => TargetKind::Contact,
            Self::Group => TargetKind::Group,
        }
    }
}

impl Message {
    fn begin(phase: Phase) -> Self {
        let (status, stage) = match phase {
            Phase::Preview => ("planned", "preview"),
            Phase::Production => ("blocked", "blocked"),
        };
        Self {
            execution_mode: Some(phase.into()),
            send_status: Some(status),
            connector: Some(DEFAULT_CONNECTOR),
            connector_stage: Some(stage),
            side_effects: Some(SideEffects::default()),
            ..Self::default()
        }
    }
}
