//! What an op has found so far, shared with the watchdog that may have to answer in its place.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::desktop::WindowHandle;
use crate::protocol::Warning;
use crate::tree::Tree;

/// The most warnings of one response; further ones are counted in a last one.
const MOST_WARNINGS: usize = 100;

/// The shared state of one request.
#[derive(Debug, Default)]
pub struct Progress {
    window: OnceLock<WindowHandle>,
    tree: Mutex<Option<Tree>>,
    warnings: Mutex<Warnings>,
}

#[derive(Debug, Default)]
struct Warnings {
    kept: Vec<Warning>,
    left_out: usize,
}

impl Progress {
    /// Notes whose tree is read from now on.
    pub fn reads(&self, window: WindowHandle) {
        // A request reads one window, so that there is nothing to replace.
        let _ = self.window.set(window);
    }

    /// The window whose tree is read.
    pub fn window(&self) -> Option<WindowHandle> {
        self.window.get().copied()
    }

    /// The tree read so far; `None` until its root was read.
    pub fn tree(&self) -> MutexGuard<'_, Option<Tree>> {
        // A tree is only ever appended to, so that one left by a panic is as good as any.
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a warning to the response.
    pub fn warn(&self, code: &'static str, message: impl Into<String>) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if warnings.kept.len() < MOST_WARNINGS {
            warnings.kept.push(Warning { code, message: message.into() });
        } else {
            warnings.left_out += 1;
        }
    }

    /// The warnings so far.
    pub fn warnings(&self) -> Vec<Warning> {
        let warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = warnings.kept.clone();
        if warnings.left_out > 0 {
            let message = format!("{} further warnings are not listed", warnings.left_out);
            all.push(Warning { code: "MORE_WARNINGS", message });
        }
        all
    }
}
