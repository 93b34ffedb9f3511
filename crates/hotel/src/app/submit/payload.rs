//! The business form of a submission: what the adapter hands over and REST takes as it is.

use serde::Deserialize;
use serde_json::Value;

use super::normal;
use crate::domain::keys::CaseKeys;
use crate::error::Error;

/// Which of the three shapes a submission has (contract section 7.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// source_message + message_events.
    V3,
    /// source_message + route_code.
    Route,
    /// source_message_id + ai_task_results.
    V2,
}

impl Shape {
    /// The stored word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V3 => "V3",
            Self::Route => "ROUTE",
            Self::V2 => "V2",
        }
    }
}

/// A mapped submission, ready for the service.
#[derive(Debug, Clone)]
pub struct Submission {
    /// Its shape.
    pub shape: Shape,
    /// The caller's hotel_id, where it counts (V2 and REST).
    pub hotel_id: Option<String>,
    /// The external id of the message; none is the service's to refuse.
    pub source_message_id: Option<String>,
    /// The mapped payload: compatibility fields gone, indices 1..n, nulls that mean absence gone.
    pub payload: Value,
    /// How the agent's indices were mapped (V3 over MCP), in the order of the events.
    pub mapping: Vec<Mapping>,
}

/// One line of mapping_diagnostics.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Mapping {
    /// The index as the agent gave it.
    pub original: Value,
    /// Ours.
    pub source_event_index: u64,
}

/// One event of any shape, as the decision reads it. The payload itself is stored beside it.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Event {
    /// Index as it is answered: an integer, or what V2 gave.
    #[serde(default)]
    pub source_event_index: Value,
    /// V3.
    #[serde(default)]
    pub event_type: Option<String>,
    /// current (default) or history.
    #[serde(default)]
    pub current_or_history: Option<String>,
    /// FIT or GROUP.
    #[serde(default)]
    pub object_type: Option<String>,
    /// As sent, so that a missing key is told from a null one.
    #[serde(default)]
    pub case_keys: Option<Value>,
    /// As sent.
    #[serde(default)]
    pub proposed_changes: Option<Vec<ProposedChange>>,
    /// As sent.
    #[serde(default)]
    pub evidence: Option<Value>,
    /// As sent, so that an incomplete one is seen.
    #[serde(default)]
    pub manual_review: Option<Value>,
    /// The mapped index of the parent event.
    #[serde(default)]
    pub parent_source_event_index: Option<u64>,
    /// For people.
    #[serde(default)]
    pub summary: Option<String>,
    /// As sent.
    #[serde(default)]
    pub details: Option<Value>,
    /// V2.
    #[serde(default)]
    pub catalog_code: Option<String>,
    /// V2.
    #[serde(default)]
    pub result_type: Option<String>,
    /// V2.
    #[serde(default)]
    pub task_type: Option<String>,
}

/// A change that the agent proposes.
#[derive(Debug, Clone, Deserialize, serde::Serialize)]
pub struct ProposedChange {
    /// The field.
    pub field: String,
    /// What it was, as far as known.
    #[serde(default)]
    pub from: Value,
    /// What it shall be; a null clears the field, none was not said.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
}

/// Tells a null from a member that is not there.
fn said<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Submission {
    /// The events in their order, each text as a person sees it; S10 and S99 are one event. The payload itself,
    /// and with it the digest, stays as it was sent.
    pub fn events(&self) -> Result<Vec<Event>, Error> {
        let mut payload = normal::as_seen(&self.payload);
        let mut list = |name: &str| payload.get_mut(name).map(Value::take).unwrap_or_default();
        Ok(match self.shape {
            Shape::V3 => serde_json::from_value(list("message_events"))?,
            Shape::V2 => serde_json::from_value(list("ai_task_results"))?,
            Shape::Route => vec![route_event(&payload)],
        })
    }
}

fn route_event(payload: &Value) -> Event {
    let text = |pointer: &str| payload.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Event {
        source_event_index: 1.into(),
        event_type: text("/route_code"),
        current_or_history: text("/current_or_history"),
        manual_review: payload.get("manual_review").cloned(),
        summary: text("/notification/title").or_else(|| text("/agent_assessment/summary")),
        details: Some(serde_json::json!({
            "agent_assessment": payload.get("agent_assessment"),
            "notification": payload.get("notification"),
        })),
        ..Event::default()
    }
}

impl Event {
    /// The normalised keys; empty when none were sent.
    pub fn keys(&self) -> CaseKeys {
        let sent = self.case_keys.clone().and_then(|keys| serde_json::from_value::<CaseKeys>(keys).ok());
        sent.unwrap_or_default().normalised()
    }

    /// The value proposed for a field, or stated in details under that name.
    pub fn value(&self, field: &str) -> Option<&Value> {
        let proposed = self.proposed_changes.iter().flatten().find(|change| change.field == field);
        let stated = || self.details.as_ref().and_then(|details| details.get(field));
        proposed.and_then(|change| change.to.as_ref()).or_else(stated).filter(|value| !blank(value))
    }
}

fn blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
