//! The console in a real browser, as `tests/browser` describes: `cargo xtask browser`, and the pictures of README.md.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::postgres::Postgres;
use crate::{packages, paths, process, server};

/// How long all scenarios may take; they need less than three minutes.
const LIMIT: Duration = Duration::from_mins(15);

/// The pictures that `tests/browser/pictures/take.mjs` takes.
const PICTURES: [&str; 6] = [
    "console-board.png",
    "console-card.png",
    "console-conversation.png",
    "console-order.png",
    "console-charts.png",
    "console-card-phone.png",
];
/// Most bytes of a picture: every clone of the repository has all that were ever committed.
const MOST_BYTES: u64 = 250_000;

/// Installs what the scenarios need and builds the program that they drive.
pub fn set_up() -> Result<(), String> {
    packages::debian()?;
    packages::npm()?;
    packages::browser()?;
    server::build()
}

/// Runs the scenarios whose file names contain one of the words, or all.
pub fn run(words: &[&str]) -> Result<(), String> {
    let scenarios = scenarios(words)?;
    let postgres = Postgres::start()?;
    let output = paths::target().join("browser");
    let mut command = node(&output)?;
    // Two at a time: each is a browser and a server, and there are two cores.
    command.args(["--test", "--test-reporter=spec", "--test-concurrency=2", "--test-timeout=120000"]);
    command.args(scenarios).env("COUNTERSIGN_TEST_POSTGRES", &postgres.url);
    process::run(&mut command)
}

/// Takes the pictures of README.md into `docs/images`.
pub fn take_pictures() -> Result<(), String> {
    set_up()?;
    let output = paths::target().join("pictures");
    let mut command = node(&output)?;
    process::run(command.arg("pictures/take.mjs").env("COUNTERSIGN_FAKE_CLOCK", packages::fake_clock()))?;
    let images = images();
    fs::create_dir_all(&images).map_err(|error| format!("cannot make {}: {error}", images.display()))?;
    for picture in PICTURES {
        packages::copy(&output.join(picture), &images.join(picture))?;
    }
    check_pictures()
}

/// Fails when a picture is missing, too large, or not shown in both READMEs. What is on it is not compared: another
/// version of Chromium or of a font draws other pixels.
pub fn check_pictures() -> Result<(), String> {
    for picture in PICTURES {
        let size = fs::metadata(images().join(picture)).map_or(0, |file| file.len());
        if size == 0 || size > MOST_BYTES {
            return Err(format!("docs/images/{picture} has {size} bytes; 1 to {MOST_BYTES} are right"));
        }
        for readme in ["README.md", "README.zh-CN.md"] {
            let text = fs::read_to_string(paths::workspace().join(readme)).unwrap_or_default();
            if !text.contains(&format!("(docs/images/{picture})")) {
                return Err(format!("{readme} does not show docs/images/{picture}"));
            }
        }
    }
    Ok(())
}

fn images() -> PathBuf {
    paths::workspace().join("docs/images")
}

/// Node.js with what `tests/browser/harness/settings.mjs` asks for; `output` is emptied.
fn node(output: &Path) -> Result<Command, String> {
    if output.exists() {
        fs::remove_dir_all(output).map_err(|error| format!("cannot clear {}: {error}", output.display()))?;
    }
    let mut command = process::bounded(LIMIT, &packages::npm()?.node.to_string_lossy());
    // Its SQLite is called an experiment.
    command.arg("--disable-warning=ExperimentalWarning").current_dir(folder());
    command.env("COUNTERSIGN_PROGRAM", server::binary());
    command.env("COUNTERSIGN_BROWSER_OUTPUT", output);
    command.env("COUNTERSIGN_BROWSER_PACKAGES", packages::browser()?);
    Ok(command)
}

fn scenarios(words: &[&str]) -> Result<Vec<PathBuf>, String> {
    let entries =
        fs::read_dir(folder().join("scenarios")).map_err(|error| format!("no scenarios: {error}"))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".test.mjs") && (words.is_empty() || words.iter().any(|word| name.contains(word)))
    });
    files.sort();
    if files.is_empty() { Err(format!("no scenario is named like {}", words.join(", "))) } else { Ok(files) }
}

fn folder() -> PathBuf {
    paths::workspace().join("tests/browser")
}
