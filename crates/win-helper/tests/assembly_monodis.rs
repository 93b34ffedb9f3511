//! The reader of assemblies beside Mono's disassembler, on Mono's own class library and on one compiled here.
//!
//! It needs the Debian packages mono-utils and mono-mcs, which `cargo xtask test` installs; it then sets
//! `COUNTERSIGN_TEST_MONO`, and a missing tool is a failure. Without it and without the tools only a line says that
//! nothing was compared.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may")]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use listing::{CLIENT, listing};

mod listing;

/// Where Debian's Mono packages put assemblies.
const MONO: &str = "/usr/lib/mono";

/// Whether Mono's tools are here; a failure when the run promises them.
fn has_mono() -> bool {
    let present = |tool: &str| Path::new("/usr/bin").join(tool).exists();
    let all = present("monodis") && present("mcs");
    if !all {
        let promised = std::env::var_os("COUNTERSIGN_TEST_MONO").is_some();
        assert!(!promised, "monodis or mcs is missing: apt-get install mono-utils mono-mcs");
        // Not by a macro, whose output the test harness keeps to itself.
        let missing = "not compared with monodis: it is missing; cargo xtask test installs it\n";
        std::io::stderr().write_all(missing.as_bytes()).unwrap();
    }
    all
}

/// The numbered rows of a table that monodis prints.
fn monodis(table: &str, file: &Path) -> Vec<String> {
    let output = Command::new("monodis").arg(table).arg(file).output().unwrap();
    assert!(output.status.success(), "monodis {table} {}", file.display());
    let mut rows = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let number = format!("{}: ", rows.len() + 1);
        rows.extend(line.strip_prefix(&number).map(str::to_owned));
    }
    rows
}

/// A type of monodis' listing: its name, as reflection writes it, and its first method, counted from 1.
fn type_of(row: &str) -> (String, usize) {
    let (name, rest) = row.rsplit_once(" (flist=").unwrap();
    let first_method = rest.split("mlist=").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    // monodis has no name for the first type.
    let name = if name == "(null)" { "<Module>".to_owned() } else { unquoted(name).replace('/', "+") };
    (name, first_method)
}

/// monodis puts what is no plain identifier in quotes, with a backslash before a quote or a backslash.
fn unquoted(name: &str) -> String {
    match name.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(inner) => inner.replace("\\'", "'").replace("\\\\", "\\"),
        None => name.to_owned(),
    }
}

/// Whether a declaration, as monodis prints it, declares a method of this name: the name stands between a space
/// and its parameters, generic ones or others.
fn declares(declaration: &str, name: &str) -> bool {
    let quoted = format!("'{}'", name.replace('\\', "\\\\").replace('\'', "\\'"));
    [name, &quoted]
        .into_iter()
        .any(|name| declaration.contains(&format!(" {name} (")) || declaration.contains(&format!(" {name}<")))
}

fn compare(file: &Path) -> usize {
    let ours = listing(&fs::read(file).unwrap()).unwrap();
    let types: Vec<(String, usize)> = monodis("--typedef", file).iter().map(|row| type_of(row)).collect();
    let declarations = monodis("--method", file);
    let names: Vec<&String> = ours.iter().map(|(name, _)| name).collect();
    assert_eq!(names, types.iter().map(|(name, _)| name).collect::<Vec<_>>(), "{}", file.display());
    let mut first_method = 1;
    for ((name, methods), (_, expected)) in ours.iter().zip(&types) {
        assert_eq!(first_method, *expected, "first method of {name} in {}", file.display());
        first_method += methods.len();
    }
    let methods: Vec<&String> = ours.iter().flat_map(|(_, methods)| methods).collect();
    assert_eq!(methods.len(), declarations.len(), "{}", file.display());
    for (method, declaration) in methods.iter().zip(&declarations) {
        assert!(declares(declaration, method), "{}: {method} is not in {declaration}", file.display());
    }
    methods.len()
}

fn assemblies(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assemblies(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "dll" || extension == "exe") {
            // Most are there twice, once as a link.
            found.insert(path.canonicalize().unwrap());
        }
    }
}

#[test]
fn monos_own_assemblies_are_read_as_monodis_reads_them() {
    if !has_mono() {
        return;
    }
    let mut files = BTreeSet::new();
    assemblies(Path::new(MONO), &mut files);
    let methods: usize = files.iter().map(|file| compare(file)).sum();
    assert!(files.len() >= 8 && methods > 50_000, "{} assemblies, {methods} methods", files.len());
}

#[test]
fn the_contracts_type_and_method_are_read_from_what_mcs_compiles() {
    if !has_mono() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/assemblies/IMPlatformClient.cs");
    let compiled = folder.path().join("IMPlatformClient.exe");
    let done = Command::new("mcs")
        .args(["-target:exe", &format!("-out:{}", compiled.display())])
        .arg(source)
        .status()
        .unwrap();
    assert!(done.success());
    compare(&compiled);
    let types = listing(&fs::read(&compiled).unwrap()).unwrap();
    // The one beside the source is what the other tests read.
    assert_eq!(types, listing(CLIENT).unwrap());
    let has_method = |(name, methods): &(String, Vec<String>)| {
        name == "IMPP.Client.Core.Plugins.Manager.AppContextManager"
            && methods.contains(&"SendTxtMessageByJid".to_owned())
    };
    assert!(types.iter().any(has_method));
}
