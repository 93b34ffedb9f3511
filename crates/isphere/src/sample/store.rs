//! The organisation as a chat client would keep it: an SQLite file with tables of its own, a folder of files, and the
//! profile that tells how to read them. The layout is invented; it is that of no real client.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
};

use rusqlite::{Connection, params};
use thiserror::Error;

use super::{Organisation, Sizes, SizesError, contact_id, group_id};
use crate::model::{ContentType, ConversationType, Message};

/// Writes a store, `<name>.profile.toml` and `<name>.files/` beside it, for the organisation of this seed.
///
/// None of the three may be there. The store is written under a name that ends in `.partial` and renamed when it is
/// whole; after an error nothing is left. `progress` is called every few thousand rows.
pub fn write_store(
    store: &Path,
    sizes: Sizes,
    seed: u64,
    progress: &mut dyn FnMut(Progress),
) -> Result<Written, WriteError> {
    let organisation = Organisation::new(seed, sizes)?;
    let written =
        Written { profile: store.with_extension("profile.toml"), files: store.with_extension("files") };
    let partial = store.with_added_extension("partial");
    for path in [store, &partial, &written.profile, &written.files] {
        if path.symlink_metadata().is_ok() {
            return Err(WriteError::Exists(path.to_owned()));
        }
    }
    // Whoever makes the folder has the name, so that what is removed after an error is not another run's.
    fs::create_dir(&written.files).map_err(|source| WriteError::file(&written.files, source))?;
    let built = build(&organisation, &partial, &written, progress)
        .and_then(|()| fs::rename(&partial, store).map_err(|source| WriteError::file(store, source)));
    if built.is_err() {
        // What was not made cannot be removed, and the first error is the one to tell.
        let _ = fs::remove_file(&partial);
        let _ = fs::remove_file(&written.profile);
        let _ = fs::remove_dir_all(&written.files);
    }
    built.map(|()| written)
}

/// What lies beside the store.
#[derive(Clone, Debug)]
pub struct Written {
    /// How to read the store.
    pub profile: PathBuf,
    /// The folder of files.
    pub files: PathBuf,
}

/// How far the work has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being made.
    pub step: Step,
    /// How many are made.
    pub done: u64,
    /// How many will be.
    pub total: u64,
}

/// What is being made, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// People.
    Contacts,
    /// Groups, their members and the conversations.
    Groups,
    /// Messages, the longest step.
    Messages,
    /// Files, in the store and in the folder.
    Files,
    /// The store's indexes.
    Indexes,
}

/// Why there is no store.
#[derive(Debug, Error)]
pub enum WriteError {
    /// A size is out of range.
    #[error(transparent)]
    Sizes(#[from] SizesError),
    /// Something has the name of what would be written.
    #[error("{} is there already; remove it or choose another name", .0.display())]
    Exists(PathBuf),
    /// A file or folder cannot be written.
    #[error("{} cannot be written; check that its folder is there, may be written and has space", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The store cannot be written.
    #[error("the store cannot be written; check that the disk has space")]
    Database(#[from] rusqlite::Error),
}

impl WriteError {
    fn file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }
}

/// Rows between two reports of progress, and messages that are handed over together.
const BATCH: u64 = 4_096;

const TABLES: &str = "
CREATE TABLE contact_info(user_id TEXT PRIMARY KEY NOT NULL, nick_name TEXT NOT NULL, login_name TEXT, dept_path TEXT,
  duty TEXT, is_valid INTEGER NOT NULL, update_time INTEGER NOT NULL);
CREATE TABLE room_info(room_id TEXT PRIMARY KEY NOT NULL, room_name TEXT NOT NULL, member_total INTEGER NOT NULL,
  owner_id TEXT, is_closed INTEGER NOT NULL);
CREATE TABLE room_member(room_id TEXT NOT NULL, user_id TEXT NOT NULL, PRIMARY KEY (room_id, user_id)) WITHOUT ROWID;
CREATE TABLE chat_session(session_id TEXT PRIMARY KEY NOT NULL, session_type INTEGER NOT NULL, title TEXT NOT NULL,
  peer_id TEXT);
CREATE TABLE chat_message(seq INTEGER PRIMARY KEY, msg_id TEXT NOT NULL, session_id TEXT NOT NULL, from_id TEXT,
  from_name TEXT, msg_type INTEGER NOT NULL, content TEXT NOT NULL, send_time INTEGER, recv_time INTEGER,
  is_recalled INTEGER NOT NULL);
CREATE TABLE chat_file(file_id TEXT PRIMARY KEY NOT NULL, msg_id TEXT, session_id TEXT, file_name TEXT NOT NULL,
  file_size INTEGER, mime TEXT, send_time INTEGER, local_path TEXT);
";

/// The indexes that a client has for its own windows; made last, for sorting once is faster than inserting in order.
const INDEXES: [&str; 5] = [
    "CREATE INDEX chat_message_by_session ON chat_message(session_id, send_time)",
    "CREATE INDEX chat_message_by_time ON chat_message(send_time)",
    "CREATE UNIQUE INDEX chat_message_by_id ON chat_message(msg_id)",
    "CREATE INDEX chat_file_by_message ON chat_file(msg_id)",
    "CREATE INDEX chat_file_by_session ON chat_file(session_id, send_time)",
];

fn build(
    organisation: &Organisation,
    partial: &Path,
    written: &Written,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), WriteError> {
    let file = fs::File::create_new(partial).map_err(|source| WriteError::file(partial, source))?;
    let connection = Connection::open(partial)?;
    // Nothing can be lost: until the whole file is renamed it is worth nothing.
    connection.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;
         PRAGMA cache_size = -65536; PRAGMA threads = 2; BEGIN;",
    )?;
    connection.execute_batch(TABLES)?;
    write_contacts(organisation, &connection, progress)?;
    write_groups(organisation, &connection, progress)?;
    write_messages(organisation, &connection, progress)?;
    write_files(organisation, &connection, &written.files, progress)?;
    for (done, index) in (1..).zip(INDEXES) {
        connection.execute_batch(index)?;
        progress(Progress { step: Step::Indexes, done, total: INDEXES.len() as u64 });
    }
    connection.execute_batch("COMMIT")?;
    connection.close().map_err(|(_, error)| error)?;
    file.sync_all().map_err(|source| WriteError::file(partial, source))?;
    fs::File::create_new(&written.profile)
        .and_then(|mut file| file.write_all(include_str!("store.profile.toml").as_bytes()))
        .map_err(|source| WriteError::file(&written.profile, source))
}

fn write_contacts(
    organisation: &Organisation,
    connection: &Connection,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), WriteError> {
    let mut insert = connection.prepare("INSERT INTO contact_info VALUES (?, ?, ?, ?, ?, ?, ?)")?;
    write_rows(organisation.sizes().contacts, Step::Contacts, progress, |number| {
        let contact = organisation.contact(number);
        insert.execute(params![
            contact.contact_id,
            contact.display_name,
            contact.account,
            contact.department,
            contact.title,
            contact.active,
            organisation.written_ms(0),
        ])?;
        Ok(())
    })
}

fn write_groups(
    organisation: &Organisation,
    connection: &Connection,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), WriteError> {
    let mut insert = connection.prepare("INSERT INTO room_info VALUES (?, ?, ?, ?, ?)")?;
    let mut insert_member = connection.prepare("INSERT INTO room_member VALUES (?, ?)")?;
    let mut insert_conversation = connection.prepare("INSERT INTO chat_session VALUES (?, ?, ?, ?)")?;
    write_rows(organisation.sizes().groups, Step::Groups, progress, |number| {
        let group = organisation.group(number);
        insert.execute(params![
            group.group_id,
            group.display_name,
            group.member_count.map(u64::cast_signed),
            group.owner_ref,
            group.archived,
        ])?;
        for member in organisation.members(number) {
            insert_member.execute((group_id(number), contact_id(member)))?;
        }
        Ok(())
    })?;
    for number in 0..organisation.conversations() {
        let conversation = organisation.conversation(number);
        let conversation_type = match conversation.conversation_type {
            ConversationType::Direct => 1,
            ConversationType::Group => 2,
            ConversationType::System => 9,
        };
        insert_conversation.execute(params![
            conversation.conversation_id,
            conversation_type,
            conversation.display_name,
            conversation.peer_id,
        ])?;
    }
    Ok(())
}

/// Messages are made on a thread of their own while the ones before are inserted.
fn write_messages(
    organisation: &Organisation,
    connection: &Connection,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), WriteError> {
    let total = organisation.sizes().messages;
    let mut insert = connection.prepare("INSERT INTO chat_message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel::<Vec<Message>>(4);
        scope.spawn(move || {
            for batch in 0..total.div_ceil(BATCH) {
                let numbers = batch * BATCH..total.min((batch + 1) * BATCH);
                if sender.send(numbers.map(|number| organisation.message(number)).collect()).is_err() {
                    // The inserting side met an error and went away.
                    return;
                }
            }
        });
        let mut done = 0;
        for message in receiver.into_iter().flatten() {
            done += 1;
            insert_message(&mut insert, done, &message)?;
            report(Progress { step: Step::Messages, done, total }, progress);
        }
        Ok(())
    })
}

fn insert_message(
    insert: &mut rusqlite::Statement<'_>,
    sequence: u64,
    message: &Message,
) -> Result<usize, rusqlite::Error> {
    let message_type = match message.content_type {
        ContentType::Text => 1,
        ContentType::Image => 2,
        ContentType::File => 3,
        ContentType::Rich => 4,
        ContentType::Notify => 10,
        ContentType::Unknown => 99,
    };
    insert.execute(params![
        sequence.cast_signed(),
        message.message_id,
        message.conversation_id,
        message.sender_id,
        message.sender_name,
        message_type,
        message.text,
        message.created_ms,
        message.received_ms,
        message.retracted,
    ])
}

fn write_files(
    organisation: &Organisation,
    connection: &Connection,
    folder: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), WriteError> {
    let mut insert = connection.prepare("INSERT INTO chat_file VALUES (?, ?, ?, ?, ?, ?, ?, ?)")?;
    write_rows(organisation.sizes().files, Step::Files, progress, |number| {
        let file = organisation.file(number);
        let local_path = match organisation.file_content(number) {
            Some(content) => Some(write_file(folder, number, &file.file_name, &content)?),
            None => None,
        };
        insert.execute(params![
            file.file_id,
            file.message_id,
            file.conversation_id,
            file.file_name,
            file.size_bytes.map(u64::cast_signed),
            file.mime_type,
            file.created_ms,
            local_path,
        ])?;
        Ok(())
    })
}

/// Writes a file into a folder of its own thousand; returns its path from `folder`.
fn write_file(folder: &Path, number: u64, name: &str, content: &[u8]) -> Result<String, WriteError> {
    let thousand = format!("{:04}", number / 1_000);
    let path = format!("{thousand}/{number:07}-{name}");
    let full = folder.join(&path);
    fs::create_dir_all(folder.join(thousand))
        .and_then(|()| fs::write(&full, content))
        .map_err(|source| WriteError::file(&full, source))?;
    Ok(path)
}

/// Writes the rows below `total` one by one.
fn write_rows(
    total: u64,
    step: Step,
    progress: &mut dyn FnMut(Progress),
    mut write_row: impl FnMut(u64) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    for number in 0..total {
        write_row(number)?;
        report(Progress { step, done: number + 1, total }, progress);
    }
    Ok(())
}

fn report(now: Progress, progress: &mut dyn FnMut(Progress)) {
    if now.done.is_multiple_of(BATCH) || now.done == now.total {
        progress(now);
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use rusqlite::Connection;

    use super::{Progress, Sizes, Step, WriteError, write_store};
    use crate::sample::Organisation;

    const SIZES: Sizes = Sizes { contacts: 60, groups: 9, messages: 9_000, files: 70 };

    fn written() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store.db");
        write_store(&store, SIZES, 1, &mut |_| {}).unwrap();
        (folder, store)
    }

    fn count(connection: &Connection, select: &str) -> u64 {
        connection.query_row(select, [], |row| row.get::<_, i64>(0)).unwrap().try_into().unwrap()
    }

    #[test]
    fn the_store_holds_the_organisation() {
        let (_folder, store) = written();
        let connection = Connection::open(&store).unwrap();
        let organisation = Organisation::new(1, SIZES).unwrap();
        let members: u64 = (0..9).filter_map(|number| organisation.group(number).member_count).sum();
        for (table, rows) in [
            ("contact_info", 60),
            ("room_info", 9),
            ("room_member", members),
            ("chat_session", organisation.conversations()),
            ("chat_message", 9_000),
            ("chat_file", 70),
        ] {
            assert_eq!(count(&connection, &format!("SELECT count(*) FROM {table}")), rows, "{table}");
        }
        let text: String = connection
            .query_row("SELECT content FROM chat_message WHERE seq = 5001", [], |row| row.get(0))
            .unwrap();
        assert_eq!(text, organisation.message(5_000).text);
    }

    #[test]
    fn the_store_is_sound_and_nothing_but_it_the_profile_and_the_files_is_there() {
        let (folder, store) = written();
        let connection = Connection::open(&store).unwrap();
        let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok");
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["store.db", "store.files", "store.profile.toml"]);
    }

    #[test]
    fn every_file_that_was_fetched_lies_where_the_store_says() {
        let (folder, store) = written();
        let connection = Connection::open(&store).unwrap();
        let mut select = connection.prepare("SELECT local_path FROM chat_file ORDER BY file_id").unwrap();
        let paths = select.query_map([], |row| row.get::<_, Option<String>>(0)).unwrap();
        let organisation = Organisation::new(1, SIZES).unwrap();
        for (number, path) in (0..).zip(paths) {
            let bytes =
                path.unwrap().map(|path| fs::read(folder.path().join("store.files").join(path)).unwrap());
            assert_eq!(bytes, organisation.file_content(number));
        }
    }

    #[test]
    fn every_select_of_the_profile_runs() {
        let (folder, store) = written();
        let connection = Connection::open(&store).unwrap();
        let profile = fs::read_to_string(folder.path().join("store.profile.toml")).unwrap();
        let profile: toml::Table = profile.parse().unwrap();
        assert_eq!(profile.len(), 6);
        for (table, section) in &profile {
            let select = section["select"].as_str().unwrap();
            assert!(count(&connection, &format!("SELECT count(*) FROM ({select})")) > 0, "{table}");
        }
    }

    #[test]
    fn messages_of_a_conversation_are_found_by_an_index() {
        let (_folder, store) = written();
        let connection = Connection::open(&store).unwrap();
        let plan: String = connection
            .query_row(
                "EXPLAIN QUERY PLAN SELECT * FROM chat_message WHERE session_id = 's-1' ORDER BY send_time DESC",
                [],
                |row| row.get("detail"),
            )
            .unwrap();
        assert!(plan.contains("USING INDEX chat_message_by_session"), "{plan}");
    }

    #[test]
    fn nothing_that_is_there_is_overwritten() {
        let (folder, store) = written();
        let again = |path: &PathBuf| write_store(path, SIZES, 2, &mut |_| {});
        let before = fs::read(&store).unwrap();
        assert!(matches!(again(&store), Err(WriteError::Exists(path)) if path == store));
        assert_eq!(fs::read(&store).unwrap(), before);

        let other = folder.path().join("other.db");
        fs::write(folder.path().join("other.profile.toml"), "mine").unwrap();
        assert!(matches!(again(&other), Err(WriteError::Exists(_))));
        assert_eq!(fs::read_to_string(folder.path().join("other.profile.toml")).unwrap(), "mine");
        assert!(!other.exists());
    }

    #[test]
    fn a_store_that_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("nowhere").join("store.db");
        let error = write_store(&store, SIZES, 1, &mut |_| {}).unwrap_err();
        assert!(matches!(error, WriteError::File { .. }));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn progress_ends_with_every_message() {
        let folder = tempfile::tempdir().unwrap();
        let mut seen = Vec::new();
        write_store(&folder.path().join("store.db"), SIZES, 1, &mut |progress| seen.push(progress)).unwrap();
        let messages: Vec<_> = seen.into_iter().filter(|progress| progress.step == Step::Messages).collect();
        assert!(messages.is_sorted_by_key(|progress| progress.done));
        assert_eq!(messages.last(), Some(&Progress { step: Step::Messages, done: 9_000, total: 9_000 }));
    }
}
