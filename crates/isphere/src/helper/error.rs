//! Why the helper did not do what was asked, and what that is to a caller of a tool.

use std::io;

use thiserror::Error;

use crate::error::Error as ToolError;
use crate::sources::SourceError;

/// Why the helper did not do what was asked. The messages hold no path; what the operating system said is the source, for
/// the log.
#[derive(Debug, Error)]
pub enum HelperError {
    /// The settings name no program.
    #[error("no Windows helper is configured; its operator has to set [isphere.helper] program")]
    NotConfigured,
    /// The server is about to end.
    #[error("this server ends, so the Windows helper was ended; call again when the server is back")]
    ServerEnds,
    /// The program is not there, or may not be run.
    #[error(
        "the Windows helper cannot be started; check [isphere.helper] program and arguments, then run `countersign isphere doctor`"
    )]
    NotStarted(#[source] io::Error),
    /// The operating system broke the conversation.
    #[error("the conversation with the Windows helper broke off; try again")]
    Pipe(#[source] io::Error),
    /// It did not end in time.
    #[error(
        "the Windows helper gave no answer within {limit_ms} ms and was ended; is the client busy? Try again, or raise [isphere.helper] timeout_ms"
    )]
    TimedOut {
        /// How long it was waited for.
        limit_ms: u64,
    },
    /// Its process failed; then what it wrote does not count (boundary contract, section 4).
    #[error(
        "the Windows helper failed ({}); the log of this server has what it said",
        code.map_or_else(|| "it was ended from outside".to_owned(), |code| format!("exit code {code}"))
    )]
    Ended {
        /// Its exit code; none when something ended it.
        code: Option<i32>,
    },
    /// It wrote more than any answer has.
    #[error("the Windows helper wrote more than {} MiB; ask for less, with max_depth or max_children", super::process::MOST_ANSWER_BYTES >> 20)]
    TooLarge,
    /// stdout held something else than one response.
    #[error("the Windows helper's answer is {0}; check that [isphere.helper] program is ISphereWinHelper")]
    Malformed(String),
    /// The response belongs to another request.
    #[error("the Windows helper answered another request than the one it was given")]
    OtherRequest,
    /// The response tells of another window.
    #[error(
        "the Windows helper answered for another window than it was asked for; scan the windows, then try again"
    )]
    OtherWindow,
    /// It answered `ok: false`.
    #[error("{code}: {message}")]
    Refused {
        /// The contract's code (boundary contract, section 5.3).
        code: String,
        /// The helper's words, on one line.
        message: String,
    },
}

impl HelperError {
    /// The code of the tools' contract, by the mapping of the design.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotConfigured | Self::NotStarted(_) | Self::ServerEnds => "SOURCE_UNAVAILABLE",
            Self::TimedOut { .. } => "TIMEOUT",
            Self::Refused { code, .. } => match code.as_str() {
                "TIMEOUT" => "TIMEOUT",
                "WINDOW_NOT_FOUND" | "AMBIGUOUS_WINDOW" | "APP_BUSY" => "SOURCE_UNAVAILABLE",
                "APP_NOT_LOGGED_IN" => "NOT_LOGGED_IN",
                "WRITE_NOT_READY" => "WRITE_NOT_READY",
                _ => "CONNECTOR_FAILED",
            },
            Self::Pipe(_)
            | Self::Ended { .. }
            | Self::TooLarge
            | Self::Malformed(_)
            | Self::OtherRequest
            | Self::OtherWindow => "CONNECTOR_FAILED",
        }
    }

    /// What it is to the operator: with what the operating system said.
    pub fn told(&self) -> String {
        match self {
            Self::NotStarted(cause) | Self::Pipe(cause) => format!("{self} ({cause})"),
            _ => self.to_string(),
        }
    }

    /// What it is to whoever asked a source.
    pub fn into_source(self) -> SourceError {
        let message = self.to_string();
        match self.code() {
            "SOURCE_UNAVAILABLE" => SourceError::Unavailable { message, retryable: self.may_pass() },
            "NOT_LOGGED_IN" => SourceError::NotLoggedIn(message),
            "TIMEOUT" => SourceError::Timeout(message),
            _ => SourceError::Failed(message),
        }
    }

    /// Whether the client may be there, or have time, a little later.
    fn may_pass(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "WINDOW_NOT_FOUND" || code == "APP_BUSY")
    }
}

impl From<HelperError> for ToolError {
    fn from(error: HelperError) -> Self {
        match error.code() {
            "WRITE_NOT_READY" => Self::WriteNotReady(error.to_string()),
            _ => Self::Source(error.into_source()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_of_the_helper_has_the_business_code_of_the_design() {
        for (code, business) in [
            ("TIMEOUT", "TIMEOUT"),
            ("WINDOW_NOT_FOUND", "SOURCE_UNAVAILABLE"),
            ("AMBIGUOUS_WINDOW", "SOURCE_UNAVAILABLE"),
            ("APP_BUSY", "SOURCE_UNAVAILABLE"),
            ("APP_NOT_LOGGED_IN", "NOT_LOGGED_IN"),
            ("WRITE_NOT_READY", "WRITE_NOT_READY"),
            ("INVALID_REQUEST", "CONNECTOR_FAILED"),
            ("UNSUPPORTED_OP", "CONNECTOR_FAILED"),
            ("HELPER_FAILED", "CONNECTOR_FAILED"),
            ("UIA_DUMP_FAILED", "CONNECTOR_FAILED"),
            ("SELECTOR_NOT_FOUND", "CONNECTOR_FAILED"),
            ("A_CODE_OF_TOMORROW", "CONNECTOR_FAILED"),
        ] {
            let refused = HelperError::Refused { code: code.to_owned(), message: "x".to_owned() };
            assert_eq!(refused.code(), business, "{code}");
            assert_eq!(ToolError::from(refused).code(), business, "{code}");
        }
    }
}
