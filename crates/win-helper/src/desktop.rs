//! The one door to the operating system's desktop: windows, processes, modules, UI Automation.
//!
//! On Windows these functions are those of `windows`; elsewhere there is no desktop to look at, and each says so.
//! None of them decides anything about the client; that is the ops' part.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::fault::Fault;

#[cfg(windows)]
pub use crate::windows::{
    availability, end_process, is_64_bit_os, modules, process_details, processes, read_tree, windows,
};
#[cfg(not(windows))]
pub use elsewhere::{
    availability, end_process, is_64_bit_os, modules, process_details, processes, read_tree, windows,
};

/// A window's handle: `0x` and 8 hexadecimal digits, written in upper case and read in either. Windows keeps handles
/// within 32 bits, also for 64-bit programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowHandle(pub u32);

/// Where something is on the screen, in physical pixels, whatever the scaling of the display.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bounds {
    /// Left edge; negative on a screen left of the first one.
    pub x: i32,
    /// Upper edge.
    pub y: i32,
    /// Width, 0 for what is not shown.
    pub width: i32,
    /// Height, 0 for what is not shown.
    pub height: i32,
}

/// A top-level window.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Its handle.
    pub hwnd: WindowHandle,
    /// The process that owns it.
    pub pid: u32,
    /// The name of that process without `.exe`; empty when Windows does not tell.
    pub process_name: String,
    /// Its title.
    pub title: String,
    /// Its window class.
    pub class_name: String,
    /// Whether it is shown (also when it lies under others or is minimised).
    pub visible: bool,
    /// Where it is.
    pub bounds: Bounds,
}

/// A running process.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its name without `.exe`.
    pub name: String,
}

/// What can be read of a process without more rights than its user has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessDetails {
    /// The full path of its program; `None` when Windows does not tell.
    pub executable_path: Option<String>,
    /// `x86`, `x64` or `arm64`; `None` when Windows does not tell.
    pub bitness: Option<&'static str>,
}

/// A file that a process has loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Module {
    /// Its file name.
    pub name: String,
    /// Its full path.
    pub path: String,
}

/// The files that a process has loaded, as modules or only mapped, as .NET does with its assemblies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Modules {
    /// Those that were found, each path once.
    pub found: Vec<Module>,
    /// Whether everything could be looked at; if not, `found` may lack some.
    pub complete: bool,
}

/// What of the desktop is within reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Availability {
    /// Whether the windows of an interactive desktop can be listed.
    pub desktop_access: bool,
    /// Whether UI Automation can be started.
    pub uia_available: bool,
}

/// Why the desktop could not be looked at.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum DesktopError {
    /// This is another system.
    #[error("there is no Windows desktop here")]
    NotWindows,
    /// The window is not there (any more).
    #[error("there is no such window")]
    NoSuchWindow,
    /// The process is not there (any more).
    #[error("there is no such process")]
    NoSuchProcess,
    /// Windows refused.
    #[error("Windows refused to {action} (error {code:#010x})")]
    Refused {
        /// What was tried, such as `list the windows`.
        action: &'static str,
        /// The HRESULT or Win32 error.
        code: u32,
    },
    /// UI Automation did not give the root element.
    #[error("UI Automation failed (error {0:#010x})")]
    Automation(u32),
}

impl DesktopError {
    /// The answer to `op` when this happened to `window`, where one was asked for.
    pub fn into_fault(self, op: &'static str, window: Option<WindowHandle>) -> Fault {
        match self {
            Self::NotWindows => Fault::NeedsWindows(op),
            Self::NoSuchWindow => window.map_or(Fault::NoCandidate, Fault::NoSuchWindow),
            Self::NoSuchProcess => Fault::NoCandidate,
            Self::Refused { action, code } => Fault::Refused { action, code },
            Self::Automation(code) => Fault::Unreadable(code),
        }
    }
}

impl fmt::Display for WindowHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "0x{:08X}", self.0)
    }
}

impl Serialize for WindowHandle {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for WindowHandle {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let text = String::deserialize(deserializer)?;
        let digits = text
            .strip_prefix("0x")
            .filter(|digits| digits.len() == 8 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
            None => Err(D::Error::custom("hwnd must be `0x` and 8 hexadecimal digits, such as 0x001A0B2C")),
            Some(0) => Err(D::Error::custom(
                "hwnd 0x00000000 is no window; put one that scan_windows lists in its place",
            )),
            Some(number) => Ok(Self(number)),
        }
    }
}

/// Every system but Windows.
#[cfg(not(windows))]
mod elsewhere {
    use super::{Availability, DesktopError, Modules, Process, ProcessDetails, Window, WindowHandle};
    use crate::progress::Progress;
    use crate::tree::Limits;

    /// What of the desktop is within reach.
    pub fn availability() -> Availability {
        Availability::default()
    }

    /// Whether the operating system is a 64-bit one, whatever this program is.
    pub fn is_64_bit_os() -> bool {
        cfg!(target_pointer_width = "64")
    }

    /// All top-level windows, the topmost first. A window whose process cannot be read has an empty process name and
    /// a warning.
    pub fn windows(_progress: &Progress) -> Result<Vec<Window>, DesktopError> {
        Err(DesktopError::NotWindows)
    }

    /// All running processes, by id.
    pub fn processes() -> Result<Vec<Process>, DesktopError> {
        Err(DesktopError::NotWindows)
    }

    /// Program and bitness of a process.
    pub fn process_details(_pid: u32) -> Result<ProcessDetails, DesktopError> {
        Err(DesktopError::NotWindows)
    }

    /// The files that a process has loaded.
    pub fn modules(_pid: u32) -> Result<Modules, DesktopError> {
        Err(DesktopError::NotWindows)
    }

    /// Reads the UI Automation tree of a window into `progress`, by [`crate::tree::walk`]. Without `include_names` the
    /// names are not even asked for.
    pub fn read_tree(
        _window: WindowHandle,
        _include_names: bool,
        _limits: Limits,
        _progress: &Progress,
    ) -> Result<(), DesktopError> {
        Err(DesktopError::NotWindows)
    }

    /// Ends this process at once, without waiting for threads that hang in a call.
    pub fn end_process(code: u8) -> ! {
        std::process::exit(code.into())
    }
}
