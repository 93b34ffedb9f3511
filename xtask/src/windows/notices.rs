//! The licence texts that have to come with the program: those of crates that are not under Apache-2.0, whose text the
//! archive has anyway as the project's own.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::sbom::Component;
use crate::{paths, process};

const OWN_LICENCE: &str = "Apache-2.0";

/// One text with the notices of all such components.
pub fn of(components: &[Component]) -> Result<String, String> {
    let mut command = Command::new("cargo");
    command.args(["metadata", "--locked", "--format-version", "1"]).current_dir(paths::workspace());
    let metadata: Value = serde_json::from_str(&process::output(&mut command)?)
        .map_err(|error| format!("cargo metadata is not JSON: {error}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;

    let mut text = format!(
        "Parts of ISphereWinHelper.exe that are not under {OWN_LICENCE} (LICENSE); sbom.cdx.json lists all parts.\n"
    );
    for component in components.iter().filter(|component| !component.licence.contains(OWN_LICENCE)) {
        let Component { name, version, licence } = component;
        let package =
            packages.iter().find(|package| package["name"] == **name && package["version"] == **version);
        let manifest = package.and_then(|package| package["manifest_path"].as_str());
        let folder = manifest.and_then(|manifest| Path::new(manifest).parent());
        let notice =
            folder.and_then(licence_text).ok_or_else(|| format!("{name} {version} has no licence text"))?;
        let _ = write!(text, "\n==== {name} {version} ({licence})\n\n{}\n", notice.trim());
    }
    Ok(text)
}

/// The first licence file in the folder of a crate's source.
fn licence_text(folder: &Path) -> Option<String> {
    let mut files: Vec<_> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let named = |path: &&std::path::PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().to_uppercase().contains("LICENSE"))
    };
    fs::read_to_string(files.iter().find(named)?).ok()
}
