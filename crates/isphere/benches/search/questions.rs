//! How long questions take with the index and by `LIKE`.

use std::path::Path;
use std::time::Instant;

use isphere::search::Query;
use isphere::sources::local::index::{EntryQuery, Index, MessagesAsked, Place, Space};
use isphere::sources::local::open_configured;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::{Result, words};

/// Items on a page of people, and of messages.
const PEOPLE: usize = 20;
const MESSAGES: usize = 50;

/// Words of each kind that are also looked for by `LIKE`, which takes seconds for each.
const SCANS: usize = 7;

/// All answers, and the memory they took.
#[derive(Serialize, Deserialize)]
pub struct Answers {
    pub rows: Vec<Row>,
    pub memory_mb: f64,
}

/// How long one kind of question takes.
#[derive(Serialize, Deserialize)]
pub struct Row {
    pub name: String,
    pub p50_ms: f64,
    pub p99_ms: f64,
    /// The complete, ordered `LIKE` scan of the same file, where there is one.
    pub like_ms: Option<f64>,
}

impl Answers {
    /// Read by the process that prints.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What [`Self::to_json`] wrote.
    pub fn of_json(json: &[u8]) -> Result<Self> {
        Ok(serde_json::from_slice(json)?)
    }
}

/// Asks so many different questions of each kind, each once.
pub fn ask(store: &Path, questions: usize) -> Result<Answers> {
    let opened = open_configured(&super::of(store))?;
    let path = store.with_extension("index");
    read_through(store)?;
    read_through(&path)?;
    let index = Index::new(path, opened.identity());
    let like = Connection::open(store)?;
    let mut rows = Vec::new();
    for (name, words) in words::of_people(&like, questions)? {
        let took = time(&words, |word| {
            let query = Query::new(word);
            let asked = EntryQuery { query: &query, include_inactive: false, after: None, limit: PEOPLE };
            Ok(index.entries(Space::Contacts, &asked)?.len())
        })?;
        let scan = time(words.get(..SCANS).unwrap_or(&words), |word| like_people(&like, word))?;
        rows.push(row(name, &took, Some(&scan)));
    }
    let mut reader = opened.reader()?;
    for (name, words) in words::of_messages(&like, questions)? {
        let took = time(&words, |word| {
            let asked = MessagesAsked { keyword: Some(word), limit: MESSAGES, ..MessagesAsked::default() };
            Ok(index.messages(&mut reader, &asked)?.messages.len())
        })?;
        let scan = time(words.get(..SCANS).unwrap_or(&words), |word| like_messages(&like, word))?;
        rows.push(row(name, &took, Some(&scan)));
    }
    let (conversation, oldest, newest): (String, i64, i64) = like.query_row(
        "SELECT session_id, min(send_time), max(send_time) FROM chat_message WHERE send_time > 0 GROUP BY session_id ORDER BY count(*) DESC LIMIT 1",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    for (name, depth) in [("page, the first", 0), ("page, in the middle", 50), ("page, near the end", 95)] {
        let at_ms = newest + 1 - (newest - oldest) / 100 * depth;
        let before = Place { at_ms, part: String::new(), seq: 0 };
        for (name, id) in
            [(format!("{name}, of all"), None), (format!("{name}, of one talk"), Some(conversation.as_str()))]
        {
            let took = time(&vec![String::new(); questions], |_| {
                let asked = MessagesAsked {
                    conversation_id: id,
                    before: Some(&before),
                    limit: MESSAGES,
                    ..MessagesAsked::default()
                };
                Ok(index.messages(&mut reader, &asked)?.messages.len())
            })?;
            rows.push(row(&name, &took, None));
        }
    }
    Ok(Answers { rows, memory_mb: memory_mb() })
}

/// The complete, ordered scan of people.
fn like_people(store: &Connection, word: &str) -> Result<usize> {
    let mut statement = store.prepare_cached(
        "SELECT user_id FROM contact_info
         WHERE is_valid AND (nick_name LIKE ?1 OR login_name LIKE ?1 OR dept_path LIKE ?1 OR duty LIKE ?1)
         ORDER BY nick_name LIKE ?1 DESC, user_id LIMIT 20",
    )?;
    let found = statement.query_map([format!("%{word}%")], |row| row.get::<_, String>(0))?;
    Ok(found.count())
}

/// The complete, ordered scan of messages.
fn like_messages(store: &Connection, word: &str) -> Result<usize> {
    let mut statement = store.prepare_cached(
        "SELECT seq FROM chat_message NOT INDEXED WHERE content LIKE ?1 ORDER BY send_time DESC, seq DESC LIMIT 50",
    )?;
    let found = statement.query_map([format!("%{word}%")], |row| row.get::<_, i64>(0))?;
    Ok(found.count())
}

/// Reads a file, so that the system has it in memory as that of a machine that was asked before.
fn read_through(path: &Path) -> Result<()> {
    std::io::copy(&mut std::fs::File::open(path)?, &mut std::io::sink())?;
    Ok(())
}

/// Milliseconds of each question, ascending.
fn time(words: &[String], mut question: impl FnMut(&str) -> Result<usize>) -> Result<Vec<f64>> {
    let mut took = Vec::new();
    for word in words {
        let start = Instant::now();
        question(word)?;
        took.push(start.elapsed().as_secs_f64() * 1000.0);
    }
    took.sort_by(f64::total_cmp);
    Ok(took)
}

fn row(name: &str, took: &[f64], scan: Option<&[f64]>) -> Row {
    Row {
        name: name.to_owned(),
        p50_ms: took[took.len() / 2],
        p99_ms: took[took.len() * 99 / 100],
        like_ms: scan.map(|scan| scan[scan.len() / 2]),
    }
}

/// Memory of this process, where the system tells.
fn memory_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = resident.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) / 1024.0
}
