//! What the tests of the local store share: a small store as a chat client would lay it out, and paging to the end.

use std::path::{Path, PathBuf};

use isphere::settings;
use isphere::sources::local::LocalReadonly;
use isphere::sources::{Page, Source, SourceError};
use rusqlite::Connection;
use tempfile::TempDir;

/// The profile of [`SCHEMA`].
pub const PROFILE: &str = r#"
[contacts]
select = "SELECT uid AS id, nick AS name, login AS account, dept AS department, job AS title, state = 1 AS active FROM user"
[groups]
select = "SELECT gid AS id, title AS name, owner, closed AS archived FROM room"
[members]
select = 'SELECT gid AS "group", uid AS contact FROM room_user'
[conversations]
select = "SELECT cid AS id, title AS name, kind AS type, peer FROM chat"
types = { 1 = "direct", 2 = "group" }
[messages]
select = "SELECT rowid AS seq, mid AS id, cid AS conversation, uid AS sender, nick AS sender_name, kind AS type, body AS text, ts AS created, recv AS received, del AS deleted FROM msg"
time = { created = "unix_ms", received = "unix_ms" }
types = { 1 = "text", 2 = "file" }
[files]
select = "SELECT fid AS id, mid AS message, cid AS conversation, name, size, mime, ts AS created, path FROM att"
time = { created = "unix_ms" }
"#;

/// A chat client's tables.
pub const SCHEMA: &str = "
CREATE TABLE user(uid INTEGER PRIMARY KEY, nick TEXT, login TEXT, dept TEXT, job TEXT, state INTEGER);
CREATE TABLE room(gid TEXT PRIMARY KEY, title TEXT, owner TEXT, closed INTEGER);
CREATE TABLE room_user(gid TEXT, uid INTEGER);
CREATE TABLE chat(cid TEXT PRIMARY KEY, title TEXT, kind INTEGER, peer TEXT);
CREATE TABLE msg(mid TEXT, cid TEXT, uid INTEGER, nick TEXT, kind INTEGER, body, ts INTEGER, recv INTEGER, del INTEGER);
CREATE INDEX msg_time ON msg(cid, ts);
CREATE TABLE att(fid TEXT PRIMARY KEY, mid TEXT, cid TEXT, name TEXT, size INTEGER, mime TEXT, ts INTEGER, path TEXT);
INSERT INTO user VALUES (1, '张三', 'zhangsan', '销售部', '经理', 1), (2, '李四', 'lisi', '研发部', NULL, 1),
  (10, '张三丰', 'zsf', '武当', NULL, 0);
INSERT INTO room VALUES ('g1', '项目群', '1', 0), ('g2', '旧项目群', NULL, 1);
INSERT INTO room_user VALUES ('g1', 1), ('g1', 2);
INSERT INTO chat VALUES ('c1', '李四', 1, '2'), ('c2', '项目群', 2, 'g1');
";

/// A folder with `store.db`, its profile and `store.files/`.
pub struct Fixture {
    pub folder: TempDir,
    pub store: PathBuf,
}

impl Fixture {
    /// A store with these statements and this profile.
    pub fn new(statements: &str, profile: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store.db");
        Connection::open(&store).unwrap().execute_batch(statements).unwrap();
        std::fs::write(folder.path().join("store.profile.toml"), profile).unwrap();
        std::fs::create_dir(folder.path().join("store.files")).unwrap();
        Self { folder, store }
    }

    /// The chat client's store, with `messages` messages in each of two conversations, a second apart.
    pub fn chat(messages: usize) -> Self {
        let fixture = Self::new(SCHEMA, PROFILE);
        let mut writer = fixture.writer();
        let transaction = writer.transaction().unwrap();
        for number in 0..messages {
            for conversation in ["c1", "c2"] {
                insert_message(&transaction, conversation, number, 1_700_000_000_000 + 1000 * number as i64);
            }
        }
        transaction.commit().unwrap();
        fixture
    }

    /// A connection that may write, as the client has.
    pub fn writer(&self) -> Connection {
        Connection::open(&self.store).unwrap()
    }

    /// The source over this store.
    pub fn source(&self) -> LocalReadonly {
        source(&self.store)
    }

    /// The source too; the fixture's folder must outlive it.
    pub fn with_source(self) -> (Self, LocalReadonly) {
        let source = self.source();
        (self, source)
    }

    /// Writes a file of the client.
    pub fn add_file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.folder.path().join("store.files").join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

/// The source over the store of this name.
pub fn source(store: &Path) -> LocalReadonly {
    LocalReadonly::new(settings::LocalReadonly { store: Some(store.to_owned()), ..Default::default() })
}

/// A message whose text says its number.
pub fn insert_message(connection: &Connection, conversation: &str, number: usize, ts: i64) {
    connection
        .prepare_cached("INSERT INTO msg VALUES (?1, ?2, 1, '张三', 1, ?3, ?4, ?4, 0)")
        .unwrap()
        .execute((format!("{conversation}-{number}"), conversation, format!("第{number}条 报价 Ａ"), ts))
        .unwrap();
}

/// All items of all pages.
pub async fn all_pages<T, F>(mut ask: F) -> Vec<T>
where
    F: AsyncFnMut(Option<&str>) -> Result<Page<T>, SourceError>,
{
    let mut items = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = ask(after.as_deref()).await.unwrap();
        items.extend(page.items.into_iter().map(|positioned| positioned.item));
        after = page.next;
        if after.is_none() {
            return items;
        }
    }
}

/// Why the source cannot be read.
pub async fn refusal(source: &LocalReadonly) -> SourceError {
    source.health().await.unwrap_err()
}
