//! The top-level windows of the desktop.

use std::collections::HashMap;

use ::windows::Win32::Foundation::{HWND, LPARAM, RECT};
use ::windows::Win32::UI::WindowsAndMessaging::{
    EnumWindows, GetClassNameW, GetWindowRect, GetWindowThreadProcessId, InternalGetWindowText, IsWindow,
    IsWindowVisible,
};
use ::windows::core::BOOL;

use super::{processes, refused, use_physical_pixels};
use crate::desktop::{Bounds, DesktopError, Window, WindowHandle};
use crate::progress::Progress;

/// The most windows that are looked at; a desktop has some hundreds.
const MOST_WINDOWS: usize = 10_000;
/// The longest title that is read, in UTF-16 units; a longer one is cut.
const MOST_TITLE_UNITS: usize = 1024;
/// The longest class name that Windows allows, with its NUL.
const MOST_CLASS_UNITS: usize = 257;

/// All top-level windows, the topmost first. A window whose process cannot be read has an empty process name and a
/// warning.
pub fn windows(progress: &Progress) -> Result<Vec<Window>, DesktopError> {
    use_physical_pixels();
    let mut handles: Vec<HWND> = Vec::new();
    let list = LPARAM(std::ptr::from_mut(&mut handles).expose_provenance().cast_signed());
    // SAFETY: `collect` gets `list` back while this call runs, on this thread, and `handles` outlives it.
    let listed = unsafe { EnumWindows(Some(collect), list) };
    // The callback stops the listing at its bound, which Windows reports like a failure.
    if handles.len() == MOST_WINDOWS {
        progress.warn("MAX_WINDOWS", format!("only the {MOST_WINDOWS} topmost windows were looked at"));
    } else {
        listed.map_err(|error| refused("list the windows", &error))?;
    }
    let names: HashMap<u32, String> =
        processes()?.into_iter().map(|process| (process.pid, process.name)).collect();
    Ok(handles.into_iter().filter_map(|hwnd| window(hwnd, &names, progress)).collect())
}

/// The handle in the form of Windows' functions. A handle has 32 bits, which fill the others by their sign.
pub fn native(window: WindowHandle) -> HWND {
    let extended = window.0.cast_signed() as isize;
    HWND(std::ptr::with_exposed_provenance_mut(extended.cast_unsigned()))
}

/// The handle in the form of the protocol.
#[expect(clippy::cast_possible_truncation, reason = "the upper bits only repeat the sign")]
fn portable(hwnd: HWND) -> WindowHandle {
    WindowHandle(hwnd.0.expose_provenance() as u32)
}

/// Whether the window is there.
pub fn exists(window: WindowHandle) -> bool {
    // SAFETY: any value may be asked about.
    unsafe { IsWindow(Some(native(window))) }.as_bool()
}

unsafe extern "system" fn collect(hwnd: HWND, list: LPARAM) -> BOOL {
    // SAFETY: `windows` passes a pointer to its own list, which nobody else uses during the call.
    let list = unsafe { &mut *std::ptr::with_exposed_provenance_mut::<Vec<HWND>>(list.0.cast_unsigned()) };
    list.push(hwnd);
    BOOL::from(list.len() < MOST_WINDOWS)
}

/// What a window says about itself; `None` when it is gone.
fn window(hwnd: HWND, names: &HashMap<u32, String>, progress: &Progress) -> Option<Window> {
    let handle = portable(hwnd);
    let mut pid = 0;
    // SAFETY: any handle may be asked about; `pid` is written during the call only.
    if unsafe { GetWindowThreadProcessId(hwnd, Some(&raw mut pid)) } == 0 {
        return None;
    }
    // SAFETY: a plain question about a handle.
    let visible = unsafe { IsWindowVisible(hwnd) }.as_bool();
    let process_name = names.get(&pid).cloned().unwrap_or_else(|| {
        progress
            .warn("PROCESS_NOT_READABLE", format!("the process {pid} of window {handle} could not be read"));
        String::new()
    });
    // Unlike GetWindowText this never sends a message, so that a window that hangs cannot hold it up.
    // SAFETY: both functions write at most the length of the slice that they are given.
    let title = text::<MOST_TITLE_UNITS>(|buffer| unsafe { InternalGetWindowText(hwnd, buffer) });
    // SAFETY: as above.
    let class_name = text::<MOST_CLASS_UNITS>(|buffer| unsafe { GetClassNameW(hwnd, buffer) });
    Some(Window { hwnd: handle, pid, process_name, title, class_name, visible, bounds: bounds(hwnd) })
}

/// The text that a function wrote into a buffer of `UNITS`; it returns how much it wrote.
fn text<const UNITS: usize>(write: impl FnOnce(&mut [u16]) -> i32) -> String {
    let mut buffer = [0; UNITS];
    let written = usize::try_from(write(&mut buffer)).unwrap_or(0);
    String::from_utf16_lossy(&buffer[..written.min(UNITS)])
}

/// Where a window is; nothing for one that is gone.
fn bounds(hwnd: HWND) -> Bounds {
    let mut frame = RECT::default();
    // SAFETY: `frame` is written during the call only.
    if unsafe { GetWindowRect(hwnd, &raw mut frame) }.is_err() {
        return Bounds::default();
    }
    Bounds {
        x: frame.left,
        y: frame.top,
        width: frame.right.saturating_sub(frame.left),
        height: frame.bottom.saturating_sub(frame.top),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_keeps_its_value_with_either_sign() {
        for value in [1, 0x001A_0B2C, 0x7FFF_FFFF, 0x8000_0001, 0xFFFF_FFFF] {
            assert_eq!(portable(native(WindowHandle(value))), WindowHandle(value));
        }
        assert_eq!(native(WindowHandle(0xFFFF_FFFF)).0.expose_provenance(), usize::MAX);
    }
}
