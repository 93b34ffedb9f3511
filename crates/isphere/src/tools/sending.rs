//! What the two tools that send have in common.

use govern::clock::Clock;
use govern::language::Language;
use govern::tool::{Call, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::envelope::{Attempt, ExecutionMode, Facts};
use super::outside;
use crate::app::Isphere;
use crate::error::Error;
use crate::sending::Phase;
use crate::sending::gate::GateStatus;
use crate::sending::ledger::Operation;

/// A send on its way to its answer.
pub struct Draft<T> {
    /// How far it is to go.
    pub phase: Phase,
    /// What every call has.
    pub attempt: Attempt,
    /// The tool's own fields, as far as they are known.
    pub body: T,
    /// What the audit record has besides.
    pub recorded: Recorded,
}

/// What the audit record of a send has besides the facts of every call.
#[derive(Default, Serialize)]
pub struct Recorded {
    /// The digest of the idempotency key, in hex; the key itself is kept nowhere.
    pub idempotency_key_sha256: Option<String>,
    /// The Unicode characters of the text.
    pub content_length: Option<usize>,
    /// The connector that would send.
    pub connector: Option<&'static str>,
}

#[derive(Serialize)]
struct Detail<'a> {
    #[serde(flatten)]
    facts: &'a Facts,
    #[serde(flatten)]
    recorded: &'a Recorded,
}

impl<T: Serialize + Default> Draft<T> {
    /// The answer and its audit record. A preview that failed has null fields, as every failure; production tells what
    /// is known, above all that nothing was sent (contract: R6b rule).
    pub fn answer(self, clock: &Clock, result: Result<String, Error>) -> Outcome {
        let facts = self.attempt.facts.clone();
        let outcome = match (result.map_err(Error::of_send), self.phase) {
            (Ok(summary), _) => self.attempt.answer(clock, &self.body, None, &summary),
            (Err(error), Phase::Preview) => self.attempt.answer(clock, &T::default(), Some(&error), ""),
            (Err(error), Phase::Production) => self.attempt.answer(clock, &self.body, Some(&error), ""),
        };
        outcome.detail(&Detail { facts: &facts, recorded: &self.recorded })
    }
}

/// How far the caller wants the send to go, also when the rest of the arguments is wrong or the call is refused: an
/// answer to production always says that nothing was sent.
pub fn asked_phase(call: &Call<'_>) -> Phase {
    #[derive(Deserialize)]
    struct Asked {
        execution_mode: Option<Phase>,
    }
    let asked = serde_json::from_str::<Asked>(call.arguments.get()).ok();
    asked.and_then(|asked| asked.execution_mode).unwrap_or_default()
}

/// A preview is noted in the ledger. Production is compared with what is noted there and then ends at the gate, which
/// no connector of this release opens. Without a key there is nothing to note or compare.
pub async fn decide(app: &Isphere, phase: Phase, operation: Option<Operation>) -> Result<(), Error> {
    match (phase, operation) {
        (Phase::Preview, Some(operation)) => Ok(app.ledger.plan(operation, app.clock.now_ms()).await?),
        (Phase::Preview, None) => Ok(()),
        (Phase::Production, operation) => {
            if let Some(operation) = operation {
                app.ledger.check(operation).await?;
            }
            let gate = GateStatus::current();
            Err(Error::WriteNotReady(gate.explanation(Language::English)))
        }
    }
}

/// A preview for a model that sees only text.
pub fn summary(what: &str, target_ref: &str, display_name: &str) -> String {
    let name = outside::name(display_name);
    format!(
        "Preview: {what} to {name} ({target_ref}) is planned. Nothing was sent; production is closed on this server, so a \
         person has to send it."
    )
}

/// The argument `execution_mode`.
pub fn execution_mode() -> Value {
    json!({
        "type": "string", "enum": ["preview", "production"], "default": "preview",
        "description": "preview says what would be sent; production is blocked until the operator opens the gate.",
    })
}

/// An argument that is a SHA-256.
pub fn sha256_argument(description: &str) -> Value {
    json!({"type": "string", "minLength": 64, "maxLength": 64, "pattern": "^[0-9a-fA-F]{64}$", "description": description})
}

impl From<Phase> for ExecutionMode {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Preview => Self::Preview,
            Phase::Production => Self::Production,
        }
    }
}
