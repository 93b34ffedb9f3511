//! Packs the helper: program, papers, checksums and SBOM in one zip archive.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cache::clear;
use super::target;
use crate::{packages, paths, process};

const LIMIT: Duration = Duration::from_mins(2);
const CHECKSUMS: &str = "SHA256SUMS";

/// What goes in beside the program: the name there and the place in the workspace.
const PAPERS: [(&str, &str); 5] = [
    ("README.md", "xtask/windows/package/README.md"),
    ("README.zh-CN.md", "xtask/windows/package/README.zh-CN.md"),
    ("LICENSE", "LICENSE"),
    // In a folder of their own, for beside the program they would replace the built-in lists.
    ("examples/entrypoints.toml", "crates/win-helper/data/entrypoints.toml"),
    ("examples/labels.toml", "crates/win-helper/data/labels.toml"),
];

/// Makes the archive of a program anew, with texts that were `generated` for it, and returns its path.
pub fn make(program: &Path, name: &str, generated: &[(&str, String)]) -> Result<PathBuf, String> {
    let folder = target().join("package/ISphereWinHelper");
    clear(&folder)?;
    fs::create_dir_all(folder.join("examples"))
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;

    packages::copy(program, &folder.join(name))?;
    for (paper, source) in PAPERS {
        packages::copy(&paths::workspace().join(source), &folder.join(paper))?;
    }
    for (paper, text) in generated {
        write(&folder.join(paper), text)?;
    }
    let papers = PAPERS.iter().map(|(paper, _)| *paper).chain(generated.iter().map(|(paper, _)| *paper));
    let files: Vec<&str> = papers.chain([name]).collect();
    let mut checksums = process::bounded(LIMIT, "sha256sum");
    write(&folder.join(CHECKSUMS), &process::output(checksums.args(files).current_dir(&folder))?)?;

    let archive = target().join(format!("isphere-win-helper-{}-x86_64.zip", env!("CARGO_PKG_VERSION")));
    let mut zip = process::bounded(LIMIT, "python3");
    // The archive then has one folder of this name, so that nothing is unpacked among other files.
    process::run(zip.args(["-m", "zipfile", "-c"]).args([&archive, &folder]))?;
    Ok(archive)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
