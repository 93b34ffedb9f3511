//! Stores and profiles that cannot be used are refused with a word on what to do, and never with a panic.

use std::path::Path;

use super::support::{Fixture, PROFILE, SCHEMA, insert_message, refusal, source};
use isphere::sources::local::profile::ProfileError;
use isphere::sources::local::{Profile, Store};
use isphere::sources::{MessageQuery, Source, SourceError};
use rusqlite::Connection;

/// The store's message for this content of its file.
async fn refused(content: &[u8]) -> String {
    let fixture = Fixture::chat(0);
    std::fs::write(&fixture.store, content).unwrap();
    refusal(&fixture.source()).await.to_string()
}

#[tokio::test]
async fn what_is_no_database_is_told_apart() {
    let noise: Vec<u8> =
        (0_u32..16_384).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8 ^ (at >> 5) as u8).collect();
    assert!(refused(&noise).await.contains("encrypted"));
    assert!(refused(&noise[..1000]).await.contains("not an SQLite database"));
    assert!(refused(b"").await.contains("not an SQLite database"));
    assert!(refused("你好，世界\n".repeat(512).as_bytes()).await.contains("not an SQLite database"));
    assert!(refused(b"SQLite format 3\0").await.contains("cut short"));
}

#[tokio::test]
async fn a_truncated_or_damaged_store_says_so() {
    let fixture = Fixture::chat(500);
    let content = std::fs::read(&fixture.store).unwrap();
    std::fs::write(&fixture.store, &content[..content.len() / 2]).unwrap();
    assert!(refusal(&fixture.source()).await.to_string().contains("cut short"));

    let mut damaged = content.clone();
    damaged[100..4096].fill(0xa5);
    std::fs::write(&fixture.store, &damaged).unwrap();
    assert!(refusal(&fixture.source()).await.to_string().contains("damaged"));
}

#[tokio::test]
async fn a_store_that_is_not_there_or_is_a_folder_says_so() {
    let folder = tempfile::tempdir().unwrap();
    assert!(refusal(&source(&folder.path().join("no.db"))).await.to_string().contains("not there"));
    std::fs::write(folder.path().join("x.profile.toml"), PROFILE).unwrap();
    std::fs::create_dir(folder.path().join("x.db")).unwrap();
    assert!(
        refusal(&source(&folder.path().join("x.db"))).await.to_string().contains("not an SQLite database")
    );
}

#[tokio::test]
async fn an_exclusive_lock_is_an_error_that_may_pass() {
    let (fixture, source) = Fixture::chat(3).with_source();
    let writer = fixture.writer();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    match refusal(&source).await {
        SourceError::Unavailable { message, retryable } => {
            assert!(retryable && message.contains("locked"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    writer.execute_batch("ROLLBACK").unwrap();
    source.health().await.unwrap();
}

#[tokio::test]
async fn a_client_that_keeps_its_log_to_itself_has_the_store_locked() {
    let fixture = Fixture::chat(3);
    let client = fixture.writer();
    client
        .execute_batch(
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; INSERT INTO room VALUES ('g9', 'x', NULL, 0)",
        )
        .unwrap();
    let names = || {
        let entries = std::fs::read_dir(fixture.folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<std::collections::BTreeSet<_>>()
    };
    let before = names();
    assert!(
        before.contains("store.db-wal".as_ref() as &std::ffi::OsStr)
            && !before.contains("store.db-shm".as_ref() as &std::ffi::OsStr)
    );
    let refused = refusal(&fixture.source()).await;
    assert!(
        matches!(&refused, SourceError::Unavailable { retryable: true, message } if message.contains("locked")),
        "{refused}"
    );
    assert_eq!(names(), before);
}

#[tokio::test]
async fn a_half_written_store_is_refused_and_left_alone() {
    let fixture = Fixture::chat(200);
    let writer = fixture.writer();
    writer.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; UPDATE msg SET body = body || 'xxxxxxxxxxxxxxxx'").unwrap();
    // What a crash leaves: the pages and the journal as they are now.
    let copy = tempfile::tempdir().unwrap();
    for name in ["store.db", "store.db-journal", "store.profile.toml"] {
        std::fs::copy(fixture.folder.path().join(name), copy.path().join(name)).unwrap();
    }
    let journal = std::fs::read(copy.path().join("store.db-journal")).unwrap();
    let store = copy.path().join("store.db");
    let message = refusal(&source(&store)).await.to_string();
    assert!(message.contains("half-written"), "{message}");
    assert_eq!(std::fs::read(copy.path().join("store.db-journal")).unwrap(), journal);
}

#[tokio::test]
async fn a_log_without_its_shared_memory_is_refused_and_nothing_is_made() {
    let fixture = Fixture::chat(3);
    let writer = fixture.writer();
    writer.execute_batch("PRAGMA journal_mode = WAL; INSERT INTO room VALUES ('g9', 'x', NULL, 0)").unwrap();
    let copy = tempfile::tempdir().unwrap();
    for name in ["store.db", "store.db-wal", "store.profile.toml"] {
        std::fs::copy(fixture.folder.path().join(name), copy.path().join(name)).unwrap();
    }
    let message = refusal(&source(&copy.path().join("store.db"))).await.to_string();
    assert!(message.contains("write-ahead log") && !message.contains("remove"), "{message}");
    assert_eq!(std::fs::read_dir(copy.path()).unwrap().count(), 3);
}

#[tokio::test]
async fn a_store_that_vanishes_while_paging_says_so_and_is_found_again() {
    let (fixture, source) = Fixture::chat(10).with_source();
    let query = MessageQuery {
        conversation_id: Some("c1"),
        conversation_type: None,
        keyword: None,
        since_ms: None,
        limit: 4,
        after: None,
        until: None,
    };
    let first = source.messages(&query).await.unwrap();
    let moved = fixture.folder.path().join("moved.db");
    std::fs::rename(&fixture.store, &moved).unwrap();
    let next = MessageQuery { after: first.next.as_deref(), ..query };
    assert!(source.messages(&next).await.unwrap_err().to_string().contains("not there"));
    std::fs::rename(&moved, &fixture.store).unwrap();
    assert_eq!(source.messages(&next).await.unwrap().items[0].item.message_id, "c1-5");
}

#[tokio::test]
async fn a_client_gets_no_sql_and_no_path() {
    let fixture =
        Fixture::new(SCHEMA, "[contacts]\nselect = 'SELECT secret_column AS id, nick AS name FROM user'");
    let message = refusal(&fixture.source()).await.to_string();
    assert!(message.contains("doctor") && !message.contains("secret_column"), "{message}");
}

#[tokio::test]
async fn a_select_that_fails_while_it_is_read_is_told_to_a_client_in_one_short_sentence() {
    let fixture =
        Fixture::new(SCHEMA, &PROFILE.replace("body AS text", "json_extract('secret', '$.a') AS text"));
    insert_message(&fixture.writer(), "c1", 1, 1_700_000_000_000);
    let query = MessageQuery {
        conversation_id: Some("c1"),
        conversation_type: None,
        keyword: None,
        since_ms: None,
        limit: 4,
        after: None,
        until: None,
    };
    let refused = fixture.source().messages(&query).await.unwrap_err();
    assert!(
        matches!(&refused, SourceError::Failed(message)
            if message == "the local store refused a query of the profile; run `countersign isphere doctor`"),
        "{refused:?}"
    );
}

#[cfg(unix)]
#[test]
fn a_profile_that_is_too_large_or_never_ends_is_not_read() {
    let fixture = Fixture::chat(1);
    let path = fixture.folder.path().join("large.toml");
    std::fs::write(&path, "#".repeat((1 << 20) + 1)).unwrap();
    assert!(matches!(Profile::load(&path), Err(ProfileError::TooLarge)));
    for endless in ["/dev/zero", "."] {
        assert!(matches!(Profile::load(Path::new(endless)), Err(ProfileError::Unreadable(_))), "{endless}");
    }
}

#[test]
fn a_profile_that_fails_or_does_more_than_read_is_refused_when_it_is_loaded() {
    let fixture = Fixture::chat(1);
    let before = std::fs::read(&fixture.store).unwrap();
    let other = fixture.folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE t(id, name)").unwrap();
    let attach = format!("ATTACH '{}' AS o", other.display());
    for (select, word) in [
        ("SELECT \"no_such_column\" AS id, nick AS name FROM user", "no_such_column"),
        ("SELECT uid AS id, nick AS name FROM user WHERE uid = ?1", "parameter"),
        ("SELECT nope AS id, nick AS name FROM user", "nope"),
        ("SELECT uid AS id FROM user", "no column name"),
        ("SELECT uid AS id, nick AS name, dept AS deparment FROM user", "deparment"),
        ("SELECT uid AS id, nick AS name, login AS NAME FROM user", "yields `name` twice"),
        ("SELECT uid AS id, nick AS name, 0 AS updated FROM user", "unit of `updated`"),
        ("SELECT uid AS id, nick AS name FROM user; SELECT 1", "more than one"),
        ("DELETE FROM user", "does more than read"),
        ("DELETE FROM user RETURNING uid AS id, nick AS name", "does more than read"),
        ("INSERT INTO user(uid) VALUES (9)", "does more than read"),
        ("PRAGMA table_info(user)", "does more than read"),
        ("SELECT name, name AS id FROM pragma_table_info('user')", "[contacts]"),
        ("SELECT load_extension('x') AS id, 1 AS name", "[contacts]"),
        ("EXPLAIN SELECT uid AS id, nick AS name FROM user", "[contacts]"),
        ("SELECT uid AS id, nick AS name FROM user) UNION SELECT (1", "[contacts]"),
        ("SELECT uid AS id, nick AS name FROM user /* people", "comment open"),
        ("SELECT uid AS id, nick AS name FROM user /*", "[contacts]"),
        ("SELECT uid AS id, nick AS name FROM user; /* people", "[contacts]"),
        ("VACUUM", "must be a SELECT"),
        (attach.as_str(), "[contacts]"),
        ("BEGIN", "[contacts]"),
        ("", "[contacts]"),
        ("SELEKT", "syntax"),
    ] {
        let profile = Profile::parse(&format!("[contacts]\nselect = '''{select}'''")).unwrap();
        let refused = Store::open(&fixture.store, profile, None).err().map(|error| error.to_string());
        let refused = refused.unwrap_or_else(|| panic!("accepted: {select}"));
        assert!(refused.contains("[contacts]") && refused.contains(word), "{select}: {refused}");
    }
    assert_eq!(std::fs::read(&fixture.store).unwrap(), before);
}

#[test]
fn a_nul_that_would_hide_the_end_of_a_select_is_refused_when_the_profile_is_loaded() {
    for select in ["SELECT uid AS id, nick AS name FROM user\\u0000 WHERE no such", "\\u0000"] {
        let refused =
            Profile::parse(&format!("[contacts]\nselect = \"{select}\"")).err().unwrap().to_string();
        assert!(refused.contains("[contacts]") && refused.contains("NUL"), "{refused}");
    }
}

#[test]
fn a_select_may_end_in_a_comment_or_a_semicolon() {
    let fixture = Fixture::chat(0);
    for select in
        ["SELECT uid AS ID, nick AS Name FROM user;", "SELECT uid AS id, nick AS name FROM user -- people"]
    {
        let profile = Profile::parse(&format!("[contacts]\nselect = '''{select}'''")).unwrap();
        assert!(Store::open(&fixture.store, profile, None).is_ok(), "{select}");
    }
}

#[test]
fn split_tables_that_fit_nothing_are_refused() {
    let fixture = Fixture::chat(0);
    let profile =
        "[messages]\ntables = 'no*'\nselect = 'SELECT 1 AS id, 2 AS conversation, 3 AS text FROM {table}'";
    let refused =
        Store::open(&fixture.store, Profile::parse(profile).unwrap(), None).err().unwrap().to_string();
    assert!(refused.contains("fits no table"), "{refused}");
}

#[tokio::test]
async fn dropping_a_query_interrupts_it() {
    let endless = "[contacts]\nselect = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, i AS name FROM n WHERE i < 0'";
    let fixture = Fixture::new(SCHEMA, endless);
    let store = Store::open(&fixture.store, Profile::parse(endless).unwrap(), None).unwrap();
    let (started, has_started) = tokio::sync::oneshot::channel();
    let (ended, has_ended) = std::sync::mpsc::channel();
    let started = std::sync::Mutex::new(Some(started));
    let waiting = tokio::spawn(async move {
        let query = store.query(move |reader| {
            started.lock().unwrap().take().map(|started| started.send(()));
            let result = reader.contacts(&mut |_| std::ops::ControlFlow::Continue(()));
            ended.send(result.is_err()).unwrap();
            result
        });
        query.await
    });
    has_started.await.unwrap();
    waiting.abort();
    let interrupted =
        tokio::task::spawn_blocking(move || has_ended.recv_timeout(std::time::Duration::from_secs(20)));
    assert_eq!(interrupted.await.unwrap(), Ok(true));
}
