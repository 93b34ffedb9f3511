//! The list of what a program was linked from, as a CycloneDX 1.6 document.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::{Value, json};

use crate::{paths, process};

/// What one crate of the workspace is linked from when it is built for `target`, itself included. Crates that only
/// build or test it are left out.
pub fn components(package: &str, target: &str) -> Result<Vec<Component>, String> {
    let mut command = Command::new("cargo");
    command.args(["tree", "--locked", "--package", package, "--target", target]);
    command.args(["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}\t{l}"]);
    let listed = process::output(command.current_dir(paths::workspace()))?;
    // A crate that is needed twice is listed twice, the second time with a mark.
    let crates: BTreeSet<Component> = listed.lines().filter_map(Component::read).collect();
    Ok(crates.into_iter().collect())
}

/// The document for `package`, one of the components.
pub fn document(package: &str, components: &[Component]) -> Result<String, String> {
    let (main, parts): (Vec<&Component>, Vec<&Component>) =
        components.iter().partition(|component| component.name == package);
    let main = main.first().ok_or_else(|| format!("cargo tree does not list {package}"))?;
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": main.shown() },
        "components": parts.into_iter().map(Component::shown).collect::<Vec<Value>>(),
    });
    serde_json::to_string_pretty(&document).map_err(|error| format!("cannot write the SBOM: {error}"))
}

/// A crate.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The SPDX expression that it may be used under.
    pub licence: String,
}

impl Component {
    /// Reads `name vVERSION (where from)<tab>licence`.
    fn read(line: &str) -> Option<Self> {
        let (crate_, licence) = line.split_once('\t')?;
        let mut words = crate_.split(' ');
        let name = words.next()?.to_owned();
        let version = words.next()?.strip_prefix('v')?.to_owned();
        // `MIT/Apache-2.0` is how expressions were written before there was SPDX's OR.
        let licence = licence.trim_end_matches(" (*)").replace('/', " OR ");
        Some(Self { name, version, licence })
    }

    fn shown(&self) -> Value {
        let Self { name, version, licence } = self;
        let reference = format!("pkg:cargo/{name}@{version}");
        json!({
            "type": "library",
            "bom-ref": reference,
            "name": name,
            "version": version,
            "licenses": [{ "expression": licence }],
            "purl": reference,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_cargo_tree_is_a_component_whether_it_is_marked_as_seen_or_not() {
        let once = Component::read("serde v1.0.229\tMIT/Apache-2.0").unwrap();
        let again = Component::read("serde v1.0.229\tMIT/Apache-2.0 (*)").unwrap();
        assert!(once == again);
        assert_eq!(once.shown()["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(once.shown()["purl"], "pkg:cargo/serde@1.0.229");
    }
}
