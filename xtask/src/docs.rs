//! `cargo xtask docs`: the pages under docs/ that the program writes about itself, and the pictures of the console.

use std::fs;
use std::time::Duration;

use crate::{browser, paths, process, server};

/// A generated page and the hidden subcommand that prints it.
const PAGES: [(&str, [&str; 2]); 1] = [("docs/tools.md", ["docs", "tools"])];

/// Writes the pages and takes the pictures.
pub fn write() -> Result<(), String> {
    for (page, text) in generated()? {
        let path = paths::workspace().join(page);
        fs::create_dir_all(path.parent().unwrap_or(&path))
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| format!("cannot write {page}: {error}"))?;
    }
    browser::take_pictures()
}

/// Fails when a page is not what the program writes now, or a picture is missing.
pub fn check() -> Result<(), String> {
    for (page, text) in generated()? {
        if !fs::read_to_string(paths::workspace().join(page)).is_ok_and(|committed| committed == text) {
            return Err(format!("{page} is out of date; run `cargo xtask docs` and commit the result"));
        }
    }
    browser::check_pictures()
}

fn generated() -> Result<Vec<(&'static str, String)>, String> {
    server::build()?;
    let program = server::binary();
    PAGES
        .iter()
        .map(|(page, arguments)| {
            let mut command = process::bounded(Duration::from_mins(1), &program);
            process::output(command.args(arguments)).map(|text| (*page, text))
        })
        .collect()
}
