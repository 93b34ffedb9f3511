//! Packs the helper: program, papers, checksums and SBOM in one zip archive.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cache::clear;
use super::target;
use crate::{packages, paths, process};

const LIMIT: Duration = Duration::from_mins(2);
const SBOM: &str = "sbom.cdx.json";
const CHECKSUMS: &str = "SHA256SUMS";

/// What goes in beside the program, by its place in the workspace.
const PAPERS: [&str; 3] =
    ["xtask/windows/package/README.md", "xtask/windows/package/README.zh-CN.md", "LICENSE"];

/// Makes the archive anew and returns its path.
pub fn make(program: &Path, sbom: &str) -> Result<PathBuf, String> {
    let folder = target().join("package");
    clear(&folder)?;
    fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;

    let mut names = Vec::new();
    let papers = PAPERS.map(|paper| paths::workspace().join(paper));
    for source in papers.iter().map(PathBuf::as_path).chain([program]) {
        let name = source.file_name().ok_or("a paper without a name")?.to_owned();
        packages::copy(source, &folder.join(&name))?;
        names.push(name);
    }
    write(&folder.join(SBOM), sbom)?;
    names.push(SBOM.into());

    let mut checksums = process::bounded(LIMIT, "sha256sum");
    write(&folder.join(CHECKSUMS), &process::output(checksums.args(&names).current_dir(&folder))?)?;
    names.push(CHECKSUMS.into());

    let archive = target().join(format!("isphere-win-helper-{}-x86_64.zip", env!("CARGO_PKG_VERSION")));
    let mut zip = process::bounded(LIMIT, "python3");
    zip.args(["-m", "zipfile", "-c"]).arg(&archive).args(&names);
    process::run(zip.current_dir(&folder))?;
    Ok(archive)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
