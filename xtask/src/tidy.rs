//! House rules that no other tool knows, checked on every file that git tracks.

use std::fs;
use std::process::Command;

use crate::{paths, process, steps};

/// Lines of a Rust file up to its `#[cfg(test)]`.
const MOST_LINES: usize = 600;

/// The one file of the product that may print on stdout: there, stdout carries the protocol.
const PRINTING: [&str; 1] = ["crates/countersign/src/print.rs"];

/// A rule gives back what is wrong with a line, if anything.
type Rule = fn(path: &str, line: &str) -> Option<&'static str>;

const RULES: [Rule; 5] =
    [no_registry_address, no_machine_path, no_silenced_test, no_printing, no_open_conflict];

/// Checks every tracked text file; prints each finding with its place.
pub fn run() -> Result<(), String> {
    let mut git = Command::new("git");
    let listed = process::output(git.args(["ls-files", "-z"]).current_dir(paths::workspace()))?;
    let mut findings = Vec::new();
    for path in listed.split_terminator('\0') {
        // Files that are not text, and those deleted but not yet committed, hold nothing to check.
        if let Ok(text) = fs::read_to_string(paths::workspace().join(path)) {
            findings.extend(in_file(path, &text));
        }
    }
    for finding in &findings {
        steps::complain(finding);
    }
    if findings.is_empty() { Ok(()) } else { Err(format!("{} findings", findings.len())) }
}

fn in_file(path: &str, text: &str) -> Vec<String> {
    // This file names what it forbids.
    if path == "xtask/src/tidy.rs" {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let length = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
    if has_extension(path, "rs") && length > MOST_LINES {
        findings.push(format!("{path}: {length} lines without its tests, {MOST_LINES} are the most"));
    }
    for (index, line) in text.lines().enumerate() {
        for problem in RULES.iter().filter_map(|rule| rule(path, line)) {
            findings.push(format!("{path}:{}: {problem}", index + 1));
        }
    }
    findings
}

fn no_registry_address(path: &str, line: &str) -> Option<&'static str> {
    const IN_HOST: [&str; 6] = ["registry", "mirror", "crates", "npmjs", "pypi", "pythonhosted"];
    let mut hosts =
        line.split("://").skip(1).filter_map(|address| address.split(['/', ':', '"', ' ']).next());
    let named = hosts.any(|host| IN_HOST.iter().any(|word| host.contains(word)));
    let resolved = has_extension(path, "json") && line.contains("\"resolved\":");
    (named || resolved)
        .then_some("names a package registry; lock files and scripts leave that to the machine")
}

fn no_machine_path(path: &str, line: &str) -> Option<&'static str> {
    const FOLDERS: [&str; 5] = ["home", "root", "Users", "work", "tmp"];
    // Only where a path begins: not inside an address or a longer path.
    let begins_in = |folder: &str| {
        line.match_indices(&format!("/{folder}/")).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            !before.is_some_and(|character| character.is_alphanumeric() || ".:/_-}*~".contains(character))
        })
    };
    // A message may say what it likes.
    let data = has_extension(path, "eml");
    (!data && FOLDERS.into_iter().any(begins_in)).then_some("has an absolute path of one machine")
}

fn no_open_conflict(_: &str, line: &str) -> Option<&'static str> {
    let marker = line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
    marker.then_some("a merge conflict was committed")
}

fn no_silenced_test(path: &str, line: &str) -> Option<&'static str> {
    let silenced = line.contains("#[ignore") || line.contains("todo!(");
    (has_extension(path, "rs") && silenced).then_some("a test is run or removed, code is written or left out")
}

fn no_printing(path: &str, line: &str) -> Option<&'static str> {
    // Elsewhere the lint `print_stdout` keeps watch; this keeps it from being switched off.
    let switched_off =
        line.contains("clippy::print_stdout") && (line.contains("allow") || line.contains("expect"));
    let product = path.starts_with("crates/") && !PRINTING.contains(&path);
    (product && switched_off).then_some("only the CLI's printing module prints on stdout")
}

fn has_extension(path: &str, extension: &str) -> bool {
    std::path::Path::new(path).extension().is_some_and(|found| found == extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_over_the_limit_is_found_but_its_tests_do_not_count() {
        let long = "line\n".repeat(MOST_LINES + 1);
        assert_eq!(in_file("a.rs", &long).len(), 1);
        let tested = format!("line\n#[cfg(test)]\n{long}");
        assert!(in_file("a.rs", &tested).is_empty());
    }

    #[test]
    fn each_rule_finds_what_it_forbids() {
        for (path, line) in [
            ("package-lock.json", "      \"resolved\": \"somewhere\","),
            ("a.md", "from https://registry.example.org/thing"),
            ("a.sh", "cd /home/someone/project"),
            ("a.rs", "    #[ignore]"),
            ("a.rs", "    todo!()"),
            ("a.md", "<<<<<<< HEAD"),
            ("a.md", ">>>>>>> other"),
            ("crates/hotel/src/lib.rs", "#[allow(clippy::print_stdout)]"),
        ] {
            assert_eq!(in_file(path, line).len(), 1, "{path}: {line}");
        }
    }

    #[test]
    fn what_only_looks_alike_is_left_alone() {
        for (path, line) in [
            ("Cargo.lock", "source = \"registry+https://github.com/rust-lang/crates.io-index\""),
            ("a.md", "see https://example.org/home/page and ./tmp/here"),
            ("crates/countersign/src/print.rs", "#![allow(clippy::print_stdout)]"),
        ] {
            assert_eq!(in_file(path, line), Vec::<String>::new(), "{path}: {line}");
        }
    }
}
