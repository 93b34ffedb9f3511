//! What can go wrong with a request, and the contract's code for each.

use std::time::Duration;

use thiserror::Error;

use crate::desktop::WindowHandle;

/// Why a request was not carried out. The text is for whoever wrote the request, and says what to do.
#[derive(Debug, Error, PartialEq)]
pub enum Fault {
    /// stdin held something else than one request of this protocol.
    #[error("{0}")]
    InvalidRequest(String),
    /// No op of this name.
    #[error("there is no op of this name; the ops are {}", crate::ops::NAMES.join(", "))]
    UnsupportedOp,
    /// The op needs a Windows desktop and this is another system.
    #[error("`{0}` needs a Windows desktop; run the helper on the computer where the client is signed in")]
    NeedsWindows(&'static str),
    /// Windows refused something without which the op can say nothing.
    #[error(
        "Windows refused to {action} (error {code:#010x}); run the helper in the session of the signed-in user"
    )]
    Refused {
        /// What was tried, such as `list the windows`.
        action: &'static str,
        /// The HRESULT or Win32 error.
        code: u32,
    },
    /// A data file beside the program cannot be used.
    #[error("`{file}` beside the program cannot be used: {reason}")]
    DataFile {
        /// The file's name, without a path.
        file: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The op ended by a fault of the helper itself; the details went to stderr.
    #[error("the helper failed at this request; its stderr tells more")]
    Crashed,
    /// The time limit passed before there was anything to answer.
    #[error(
        "nothing could be read within {0} ms; is the client busy? Try again, or allow more with timeout_ms"
    )]
    TimedOut(u64),
    /// stdin did not end.
    #[error("no complete request came within {0:?}; write one JSON object to stdin and close it")]
    NoRequest(Duration),
    /// No window scores high enough to be taken for the client's.
    #[error(
        "no matching iSphere window found; sign in to the client, or name a window with hwnd (see scan_windows)"
    )]
    NoCandidate,
    /// The named window does not exist (any more).
    #[error("there is no window {0}; scan_windows lists those that are there")]
    NoSuchWindow(WindowHandle),
    /// More than one window could be meant.
    #[error("{} windows match ({}); name one with hwnd", .0.len(), list(.0))]
    SeveralCandidates(Vec<WindowHandle>),
    /// UI Automation did not give the window's root element.
    #[error(
        "UI Automation could not read the window (error {0:#010x}); is it still open, and not run as administrator?"
    )]
    Unreadable(u32),
}

impl Fault {
    /// The contract's error code (boundary contract, section 5.3).
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidRequest(_) | Self::NoRequest(_) => "INVALID_REQUEST",
            Self::UnsupportedOp => "UNSUPPORTED_OP",
            Self::NeedsWindows(_) | Self::Refused { .. } | Self::DataFile { .. } | Self::Crashed => {
                "HELPER_FAILED"
            }
            Self::TimedOut(_) => "TIMEOUT",
            Self::NoCandidate | Self::NoSuchWindow(_) => "WINDOW_NOT_FOUND",
            Self::SeveralCandidates(_) => "AMBIGUOUS_WINDOW",
            Self::Unreadable(_) => "UIA_DUMP_FAILED",
        }
    }
}

/// The first few handles, separated by commas.
fn list(handles: &[WindowHandle]) -> String {
    const SHOWN: usize = 8;
    let mut shown: Vec<String> = handles.iter().take(SHOWN).map(ToString::to_string).collect();
    if handles.len() > SHOWN {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}
