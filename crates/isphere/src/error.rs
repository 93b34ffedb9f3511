//! The one error of this half, and its codes on the wire (contract: Common error codes).

use govern::arguments::ArgumentFault;
use thiserror::Error;

use crate::sources::SourceError;

/// Why a tool did not do what was asked. Each message says what to do next and holds no path, SQL, body or key.
#[derive(Debug, Error)]
pub enum Error {
    /// The arguments are not valid.
    #[error("{}", .0.message)]
    InvalidArgument(ArgumentFault),
    /// The source did not answer as asked.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl Error {
    /// The code of the contract.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidArgument(_) | Self::Source(SourceError::StalePosition) => "INVALID_ARGUMENT",
            Self::Source(SourceError::Unavailable { .. }) => "SOURCE_UNAVAILABLE",
            Self::Source(SourceError::NotLoggedIn(_)) => "NOT_LOGGED_IN",
            Self::Source(SourceError::Failed(_)) => "CONNECTOR_FAILED",
            Self::Source(SourceError::Timeout(_)) => "TIMEOUT",
            Self::Source(SourceError::NotFound(_)) => "TARGET_NOT_FOUND",
        }
    }
}

impl From<ArgumentFault> for Error {
    fn from(fault: ArgumentFault) -> Self {
        Self::InvalidArgument(fault)
    }
}
