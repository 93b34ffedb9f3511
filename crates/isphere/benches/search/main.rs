//! Searching a local store with its index, beside a complete, ordered `LIKE` scan of the same file, on three sizes.
//!
//! usage: search [--contacts N] [--messages N] [--questions N] [--keep FOLDER]
//! The sizes are N/4, N/2 and N. With `--keep`, stores are made in that folder once and found there the next time.
//! The questions are asked by a process of its own, whose memory is that of a server with the index open.

mod questions;
mod words;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use isphere::sample::{Sizes, write_store};
use isphere::settings;
use isphere::sources::local::index::{self, Summary};
use isphere::sources::local::open_configured;
use rusqlite::Connection;

use self::questions::Answers;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// What the command line says.
struct Options {
    contacts: u64,
    messages: u64,
    questions: usize,
    keep: Option<PathBuf>,
    /// The store that this process only asks.
    ask: Option<PathBuf>,
}

/// One size's figures.
struct Figures {
    contacts: u64,
    messages: u64,
    people_per_second: f64,
    messages_per_second: f64,
    /// Seconds for a thousand new messages.
    update: f64,
    answers: Answers,
}

fn main() -> Result<()> {
    let options = options()?;
    if let Some(store) = &options.ask {
        let answers = questions::ask(store, options.questions)?;
        writeln!(io::stdout(), "{}", answers.to_json())?;
        return Ok(());
    }
    let temporary = tempfile::tempdir()?;
    let folder = options.keep.as_deref().unwrap_or(temporary.path());
    let mut results = Vec::new();
    for share in [4, 2, 1] {
        let sizes =
            Sizes::new(options.contacts / share, options.contacts / share / 20, options.messages / share);
        let figures = measure(folder, sizes, options.questions)?;
        print(&figures)?;
        results.push(figures);
    }
    print_exponents(&results)?;
    Ok(())
}

/// Reads the command line; `cargo bench` adds a `--bench` of its own.
fn options() -> Result<Options> {
    let mut options = Options { contacts: 100_000, messages: 200_000, questions: 200, keep: None, ask: None };
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(flag) = words.next() {
        let value = words.next().ok_or_else(|| format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--contacts" => options.contacts = value.parse()?,
            "--messages" => options.messages = value.parse()?,
            "--questions" => options.questions = value.parse()?,
            "--keep" => options.keep = Some(value.into()),
            "--ask" => options.ask = Some(value.into()),
            _ => return Err(format!("unknown option {flag}").into()),
        }
    }
    Ok(options)
}

fn measure(folder: &Path, sizes: Sizes, questions: usize) -> Result<Figures> {
    let store = folder.join(format!("{}-{}.db", sizes.contacts, sizes.messages));
    if !store.exists() {
        write_store(&store, sizes, 7, &mut |_| {})?;
    }
    let index = store.with_extension("index");
    for ending in ["", "-wal", "-shm"] {
        // Built anew each time; what is not there need not be removed.
        let _ = std::fs::remove_file(format!("{}{ending}", index.display()));
    }
    let (people, messages) = build(&store, &index)?;
    let update = update(&store, &index)?;
    let child = Command::new(std::env::current_exe()?)
        .args(["--questions", &questions.to_string(), "--ask"])
        .arg(&store)
        .output()?;
    if !child.status.success() {
        return Err(String::from_utf8_lossy(&child.stderr).into());
    }
    Ok(Figures {
        contacts: sizes.contacts,
        messages: sizes.messages,
        people_per_second: people,
        messages_per_second: messages,
        update,
        answers: Answers::of_json(&child.stdout)?,
    })
}

/// Builds the index, and says how many people and how many messages a second.
fn build(store: &Path, index: &Path) -> Result<(f64, f64)> {
    let (summary, people, messages) = timed_update(store, index)?;
    Ok((per_second(summary.contacts.written, people), per_second(summary.messages_added, messages)))
}

/// Adds a thousand messages to the store as a client would, and brings the index up to date. Seconds for the messages;
/// people are compared one by one each time.
fn update(store: &Path, index: &Path) -> Result<f64> {
    Connection::open(store)?.execute(
        "INSERT INTO chat_message (seq, msg_id, session_id, from_id, from_name, msg_type, content, send_time, is_recalled)
         SELECT (SELECT max(seq) FROM chat_message) + row_number() OVER (), 'bench-' || (SELECT max(seq) FROM chat_message)
             || '-' || seq, session_id, from_id, from_name, msg_type, content, send_time + 1, is_recalled
         FROM chat_message ORDER BY seq LIMIT 1000",
        [],
    )?;
    let (summary, _, messages) = timed_update(store, index)?;
    assert_eq!(summary.messages_added, 1_000, "only what is new is indexed");
    Ok(messages)
}

/// Seconds for people, groups and conversations, and for messages.
fn timed_update(store: &Path, index: &Path) -> Result<(Summary, f64, f64)> {
    let opened = open_configured(&of(store))?;
    let start = Instant::now();
    let mut people = 0.0;
    let summary = index::update(&opened, index, &mut |progress| {
        if progress.space == index::Space::Conversations {
            people = start.elapsed().as_secs_f64();
        }
    })?;
    Ok((summary, people, start.elapsed().as_secs_f64() - people))
}

/// How this store is configured.
fn of(store: &Path) -> settings::LocalReadonly {
    settings::LocalReadonly { store: Some(store.to_owned()), ..settings::LocalReadonly::default() }
}

#[expect(clippy::cast_precision_loss, reason = "a count of rows is far below 2^52")]
fn per_second(rows: u64, seconds: f64) -> f64 {
    rows as f64 / seconds
}

fn print(figures: &Figures) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "\n{} people, {} messages: {:.0} people/s and {:.0} messages/s indexed, 1000 new messages in {:.2} s, \
         memory while asking {:.0} MB",
        figures.contacts,
        figures.messages,
        figures.people_per_second,
        figures.messages_per_second,
        figures.update,
        figures.answers.memory_mb
    )?;
    writeln!(out, "{:<34} {:>9} {:>9} {:>9} {:>9}", "question", "p50 ms", "p99 ms", "LIKE ms", "ratio")?;
    for row in &figures.answers.rows {
        let like = row.like_ms.map_or_else(String::new, |ms| format!("{ms:.1}"));
        let ratio = row.like_ms.map_or_else(String::new, |ms| format!("{:.0}x", ms / row.p99_ms));
        writeln!(out, "{:<34} {:>9.2} {:>9.2} {like:>9} {ratio:>9}", row.name, row.p50_ms, row.p99_ms)?;
    }
    Ok(())
}

fn print_exponents(results: &[Figures]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let (Some(first), Some(last)) = (results.first(), results.last()) else { return Ok(()) };
    writeln!(out, "\nexponent of p50 over the sizes (1 is linear)")?;
    for (small, large) in first.answers.rows.iter().zip(&last.answers.rows) {
        writeln!(out, "{:<34} {:>9.2}", small.name, (large.p50_ms / small.p50_ms).log(4.0))?;
    }
    Ok(())
}
