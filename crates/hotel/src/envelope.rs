//! The envelope of every answer, over MCP and over REST (contract sections 2 and 8).

use serde::Serialize;
use serde_json::Value;

use crate::domain::warning::Warning;
use crate::error::Error;
use crate::language::Language;

/// What every answer looks like.
#[derive(Debug, Serialize)]
pub struct Envelope<'a, T> {
    /// Whether it was done.
    pub success: bool,
    /// Our id of the call.
    pub request_id: &'a str,
    /// The caller's.
    pub trace_id: Option<&'a str>,
    /// The answer; null on an error.
    pub data: Option<T>,
    /// What the caller should know beside it.
    pub warnings: &'a [Warning],
    /// What went wrong; null on success.
    pub error: Option<ErrorBody>,
}

/// What went wrong.
#[derive(Debug, Serialize)]
pub struct ErrorBody {
    /// Stable code.
    pub code: &'static str,
    /// For people and models; says what to do next.
    pub message: String,
    /// Machine-readable particulars.
    pub details: Value,
}

impl ErrorBody {
    /// The body for an error.
    pub fn new(error: &Error, language: Language) -> Self {
        Self { code: error.code(), message: error.message(language), details: error.details() }
    }
}

/// Logs what the operator has to mend, once, at the boundary; a caller's mistakes are in the audit trail.
pub fn log(error: &Error, request_id: &str) {
    if error.status() >= 500 {
        tracing::error!(%error, request_id, "a request failed");
    }
}
