//! Third-party messages and payloads, when they lie beside the workspace: nothing panics, hangs or slips through.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking and tells what it did not run"
)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hotel::mail::{self, LinkPolicy, source};

/// A second in a release build; an unoptimised one on a busy machine is several times slower.
const LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 5 } else { 1 });

#[test]
fn every_third_party_message_is_read_within_a_second() {
    let Some(folder) = corpora("eml", 150) else { return };
    let mut read = 0;
    for path in files_in(&folder) {
        for message in source::read(&path) {
            let message = message.unwrap();
            let start = Instant::now();
            let mail = mail::parse(&message.bytes, LinkPolicy::Host);
            assert!(start.elapsed() < LIMIT, "{} took {:?}", message.origin, start.elapsed());
            assert!(!mail.body.text.contains("://"), "{} keeps a URL", message.origin);
            read += 1;
        }
    }
    assert!(read > 150, "only {read} messages");
}

#[test]
fn messages_in_a_folder_are_found_by_their_shape() {
    let Some(folder) = corpora("eml", 1) else { return };
    let found = source::read(&folder.join("python-email")).flatten().count();
    assert!(found >= 20, "only {found} of 24 messages look like mail");
}

#[test]
fn no_payload_leaves_a_script_or_url_in_a_tag() {
    let Some(file) = corpora("xss/payloads.json", 112) else { return };
    let payloads: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    for payload in payloads {
        let payload = payload["payload"].as_str().unwrap();
        let html = mail::html::sanitise(payload, LinkPolicy::Host).html;
        for tag in html.split('<').skip(1).map(|piece| piece.split_once('>').unwrap().0) {
            let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
            assert!(
                name.trim_start_matches('/').bytes().all(|byte| byte.is_ascii_alphanumeric()),
                "{tag} from {payload}"
            );
            assert!(
                !["script", "a", "img", "svg", "iframe", "style"].contains(&name),
                "{tag} from {payload}"
            );
            let is_span = |word: &str| word.starts_with("colspan=\"") || word.starts_with("rowspan=\"");
            assert!(attributes.split_whitespace().all(is_span), "{tag} from {payload}");
        }
        assert_eq!(mail::html::sanitise(&html, LinkPolicy::Host).html, html, "unstable: {payload}");
    }
}

fn corpora(name: &str, tests: usize) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("corpora absent: {tests} tests not run");
    None
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_in(&path));
        } else if path.extension().is_some_and(|extension| extension != "json") {
            files.push(path);
        }
    }
    files.sort();
    files
}
