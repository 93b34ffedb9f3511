//! The desktop of Windows, by the calls that work on Windows 10 and later and on Wine 10.
//!
//! Nothing here writes: windows are listed, processes opened for queries only, elements asked for properties. This is
//! the only module of the product with unsafe code; each block says what makes it sound.

#![allow(unsafe_code, reason = "every call into Windows is unsafe; the rest of the crate denies it")]

mod automation;
mod control_type;
mod modules;
mod processes;
mod property;
mod top_level;

use ::windows::Win32::System::StationsAndDesktops::{
    CloseDesktop, DESKTOP_CONTROL_FLAGS, DESKTOP_READOBJECTS, OpenInputDesktop,
};
use ::windows::Win32::System::Threading::{GetCurrentProcess, TerminateProcess};
use ::windows::Win32::UI::HiDpi::{
    DPI_AWARENESS_CONTEXT_PER_MONITOR_AWARE_V2, SetProcessDpiAwarenessContext,
};

pub use automation::read_tree;
pub use modules::modules;
pub use processes::{is_64_bit_os, process_details, processes};
pub use top_level::windows;

use crate::desktop::{Availability, DesktopError};

/// What of the desktop is within reach. A locked screen shows another desktop, which is not.
pub fn availability() -> Availability {
    // SAFETY: plain values go in; the handle is closed by the next call and used for nothing else.
    let desktop = unsafe { OpenInputDesktop(DESKTOP_CONTROL_FLAGS(0), false, DESKTOP_READOBJECTS) };
    let desktop_access = desktop.is_ok();
    if let Ok(desktop) = desktop {
        // SAFETY: the handle is open and belongs to this function. That it may fail to close is of no consequence.
        let _ = unsafe { CloseDesktop(desktop) };
    }
    Availability { desktop_access, uia_available: automation::is_available() }
}

/// Ends this process at once, without waiting for threads that hang in a call.
pub fn end_process(code: u8) -> ! {
    // SAFETY: ends the own process; the pseudo handle of GetCurrentProcess needs no closing.
    let _ = unsafe { TerminateProcess(GetCurrentProcess(), code.into()) };
    std::process::exit(code.into())
}

/// Makes Windows answer in physical pixels. Without it the positions of windows on scaled displays would be
/// converted to this program's own scale, and would fit neither the screen nor those of UI Automation.
fn use_physical_pixels() {
    // SAFETY: a documented constant goes in. A second call is refused and changes nothing.
    let _ = unsafe { SetProcessDpiAwarenessContext(DPI_AWARENESS_CONTEXT_PER_MONITOR_AWARE_V2) };
}

/// Windows' error for something that was tried.
fn refused(action: &'static str, error: &::windows::core::Error) -> DesktopError {
    DesktopError::Refused { action, code: error.code().0.cast_unsigned() }
}

/// The text before the first NUL, or all of it.
fn until_nul(text: &[u16]) -> String {
    let end = text.iter().position(|unit| *unit == 0).unwrap_or(text.len());
    String::from_utf16_lossy(&text[..end])
}
