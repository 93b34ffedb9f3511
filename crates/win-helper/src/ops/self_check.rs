//! `self_check`: tells what of the desktop is within reach (boundary contract, section 6.2).

use crate::desktop::{self, Availability};
use crate::progress::Progress;

/// The op's name.
pub const NAME: &str = "self_check";

/// Tries the desktop and UI Automation; what is missing is explained by a warning.
pub fn run(progress: &Progress) -> Availability {
    let availability = desktop::availability();
    if cfg!(not(windows)) {
        progress.warn(
            "NOT_WINDOWS",
            "there is no Windows desktop here; only probe_send_entrypoints works in full",
        );
    } else if !availability.desktop_access {
        progress.warn(
            "NO_DESKTOP",
            "no interactive desktop; run the helper in the session of the signed-in user",
        );
    } else if !availability.uia_available {
        progress
            .warn("NO_UI_AUTOMATION", "UI Automation does not start; UIAutomationCore.dll may be missing");
    }
    availability
}
