//! Where things lie. Nothing outside the workspace and its target folder is written.

use std::path::{Path, PathBuf};

/// The root of the workspace.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// The folder that cargo builds into. xtask itself lies in it, two levels down.
pub fn target() -> PathBuf {
    std::env::current_exe()
        .ok()
        .and_then(|program| Some(program.parent()?.parent()?.to_owned()))
        .unwrap_or_else(|| workspace().join("target"))
}

/// The folder for what xtask installs and keeps between runs.
pub fn cache() -> PathBuf {
    target().join("xtask")
}
