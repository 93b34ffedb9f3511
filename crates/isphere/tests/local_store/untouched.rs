//! Reading changes nothing of the client's: no byte, no time, no file beside the store, whatever journal the client
//! uses and whether it is running.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::SystemTime;

use super::support::{Fixture, all_pages, insert_message};
use isphere::sources::local::LocalReadonly;
use isphere::sources::local::inspect::inspect;
use isphere::sources::{Lookup, MessageQuery, Source, SourceError};
use rusqlite::Connection;
use sha2::{Digest, Sha256};

const STORE: &str = "ISPHERE_TEST_STORE";

/// The client: a process of its own that does on its input's lines what they say and answers each with a line.
#[test]
fn client() {
    let Ok(path) = std::env::var(STORE) else { return };
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA wal_autocheckpoint = 0; PRAGMA busy_timeout = 20000").unwrap();
    let mut number = 10_000;
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        if line == "insert" {
            let ts = 1_800_000_000_000 + number as i64;
            insert_message(&connection, "c1", number, ts);
            number += 1;
        } else {
            connection.execute_batch(&line).unwrap();
        }
        println!("\ndone {line}");
    }
}

struct Client {
    process: Child,
    answers: BufReader<ChildStdout>,
}

impl Client {
    fn start(store: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "untouched::client", "--nocapture"])
            .env(STORE, store)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Self { process, answers }
    }

    /// Returns when it is done.
    fn tell(&mut self, line: &str) {
        writeln!(self.process.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        while !answer.starts_with("done ") {
            answer.clear();
            assert!(self.answers.read_line(&mut answer).unwrap() > 0, "the client ended");
        }
    }

    fn end(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }

    fn crash(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Every file of the folder: what it holds, and when it was changed.
fn listing(folder: &Path) -> BTreeMap<String, (String, SystemTime)> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| {
            let digest = Sha256::digest(std::fs::read(entry.path()).unwrap());
            let name = entry.file_name().into_string().unwrap();
            (name, (format!("{digest:x?}"), entry.metadata().unwrap().modified().unwrap()))
        })
        .collect()
}

fn names(folder: &Path) -> Vec<String> {
    listing(folder).into_keys().filter(|name| name.starts_with("store.db")).collect()
}

async fn read_everything(source: &LocalReadonly) -> usize {
    let lookup = Lookup { query: "张", include_inactive: true, limit: 5, after: None };
    assert!(!source.contacts(&lookup).await.unwrap().items.is_empty());
    let query = MessageQuery {
        conversation_id: Some("c1"),
        conversation_type: None,
        keyword: None,
        since_ms: None,
        limit: 7,
        after: None,
        until: None,
    };
    let messages = all_pages(async |after| source.messages(&MessageQuery { after, ..query }).await).await;
    messages.len()
}

#[tokio::test]
async fn nothing_changes_whatever_the_journal_and_whether_the_client_runs() {
    for journal in ["DELETE", "TRUNCATE", "PERSIST", "WAL"] {
        let fixture = Fixture::chat(20);
        let mut client = Client::start(&fixture.store);
        client.tell(&format!("PRAGMA journal_mode = {journal}"));
        client.tell("insert");
        let before = listing(fixture.folder.path());
        let source = fixture.source();
        assert_eq!(read_everything(&source).await, 21, "{journal}, running");
        inspect(&fixture.store).unwrap();
        assert_eq!(listing(fixture.folder.path()), before, "{journal}, running");

        client.tell("BEGIN IMMEDIATE");
        client.tell("insert");
        let before = listing(fixture.folder.path());
        assert_eq!(read_everything(&source).await, 21, "{journal}, writing");
        assert_eq!(listing(fixture.folder.path()), before, "{journal}, writing");

        client.tell("COMMIT");
        assert_eq!(read_everything(&source).await, 22, "{journal}, written");
        client.end();
        let before = listing(fixture.folder.path());
        assert_eq!(read_everything(&source).await, 22, "{journal}, ended");
        assert_eq!(read_everything(&fixture.source()).await, 22, "{journal}, ended");
        inspect(&fixture.store).unwrap();
        assert_eq!(listing(fixture.folder.path()), before, "{journal}, ended");
    }
}

#[tokio::test]
async fn the_client_removes_its_log_when_it_ends_though_the_store_was_read() {
    let fixture = Fixture::chat(5);
    let mut client = Client::start(&fixture.store);
    client.tell("PRAGMA journal_mode = WAL");
    client.tell("insert");
    let source = fixture.source();
    assert_eq!(read_everything(&source).await, 6);
    client.end();
    assert_eq!(names(fixture.folder.path()), ["store.db"]);
    assert_eq!(read_everything(&source).await, 6);
    assert_eq!(names(fixture.folder.path()), ["store.db"]);
}

#[tokio::test]
async fn what_a_crashed_client_left_in_its_log_is_read_and_stays() {
    let fixture = Fixture::chat(5);
    let mut client = Client::start(&fixture.store);
    client.tell("PRAGMA journal_mode = WAL");
    client.tell("insert");
    client.crash();
    let before = listing(fixture.folder.path());
    assert_eq!(read_everything(&fixture.source()).await, 6);
    assert_eq!(listing(fixture.folder.path()), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_goes_on_while_the_client_writes_starts_and_ends() {
    for journal in ["DELETE", "WAL"] {
        let fixture = Fixture::chat(20);
        let store = fixture.store.clone();
        let writing = tokio::task::spawn_blocking(move || {
            for _ in 0..3 {
                let mut client = Client::start(&store);
                client.tell(&format!("PRAGMA journal_mode = {journal}"));
                for _ in 0..20 {
                    client.tell("insert");
                }
                client.tell("DELETE FROM msg WHERE ts >= 1800000000000");
                client.end();
            }
        });
        let source = fixture.source();
        while !writing.is_finished() {
            let query = MessageQuery {
                conversation_id: Some("c1"),
                conversation_type: None,
                keyword: None,
                since_ms: None,
                limit: 200,
                after: None,
                until: None,
            };
            // A writer that commits all the time may keep a reader out; that is said, and never half a page.
            match source.messages(&query).await {
                Ok(page) => assert!((20..=40).contains(&page.items.len()), "{journal} {}", page.items.len()),
                Err(error) => assert!(error.to_string().contains("try again"), "{journal} {error}"),
            }
        }
        writing.await.unwrap();
        assert_eq!(read_everything(&source).await, 20);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_writer_is_never_taken_for_a_dead_one() {
    for journal in ["DELETE", "TRUNCATE", "PERSIST"] {
        let fixture = Fixture::chat(100);
        let mut client = Client::start(&fixture.store);
        client.tell(&format!("PRAGMA synchronous = OFF; PRAGMA journal_mode = {journal}"));
        let writing = tokio::task::spawn_blocking(move || {
            for _ in 0..10 {
                client.tell(&"UPDATE room SET title = title || '';".repeat(500));
            }
            client.end();
        });
        let source = fixture.source();
        let mut read = 0;
        while !writing.is_finished() {
            let query = MessageQuery {
                conversation_id: Some("c1"),
                conversation_type: None,
                keyword: Some("报价"),
                since_ms: None,
                limit: 200,
                after: None,
                until: None,
            };
            match source.messages(&query).await {
                Ok(page) => {
                    assert_eq!(page.items.len(), 100);
                    read += 1;
                }
                Err(SourceError::Unavailable { retryable: true, .. }) => {}
                Err(error) => panic!("{journal}: {error}"),
            }
        }
        writing.await.unwrap();
        assert!(read > 0, "{journal}: nothing was read beside the writer");
    }
}
