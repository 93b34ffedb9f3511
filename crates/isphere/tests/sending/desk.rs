//! A server over a small office, asked over stdio as a client asks.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use govern::audit::{Recorder, RecorderHandle};
use govern::clock::Clock;
use govern::credentials::Caller;
use govern::gate::{Gate, Policy};
use govern::hex::hex;
use govern::mcp::{McpOptions, Server, stdio};
use govern::random::Random;
use govern::tool::{SchemaProfile, Service as _};
use isphere::app::Isphere;
use isphere::audit::trail::Trail;
use isphere::model::{Contact, Conversation, ConversationType, FileEntry, Group, Message, SourceName};
use isphere::settings::Settings;
use isphere::sources::choice::Sources;
use isphere::sources::{Answer, Download, FileQuery, Hit, Lookup, MessageQuery, Page, Source, SourceError};
use isphere::tools::IsphereTools;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

const NOW_MS: i64 = 1_796_049_720_000;

/// An office of one person, one who left, one group, one that was closed, and the client's notices. Only what a send looks
/// up is there.
struct Office {
    up: bool,
}

fn nothing<T: Send + 'static>() -> Answer<'static, Page<T>> {
    std::future::ready(Ok(Page { items: Vec::new(), next: None, warnings: Vec::new() })).boxed()
}

fn found<T: Send + 'static>(item: Option<T>) -> Answer<'static, Option<T>> {
    std::future::ready(Ok(item)).boxed()
}

impl Source for Office {
    fn name(&self) -> SourceName {
        SourceName::Mock
    }

    fn health(&self) -> BoxFuture<'_, Result<(), SourceError>> {
        let down = SourceError::Unavailable { message: "the office is closed".to_owned(), retryable: true };
        std::future::ready(if self.up { Ok(()) } else { Err(down) }).boxed()
    }

    fn contact<'a>(&'a self, contact_id: &'a str) -> Answer<'a, Option<Contact>> {
        found(matches!(contact_id, "zhangsan" | "left").then(|| Contact {
            contact_id: contact_id.to_owned(),
            display_name: "张三\u{202E}".to_owned(),
            account: None,
            department: None,
            title: None,
            active: contact_id != "left",
            raw_ref: "mock:contacts#000000000001".to_owned(),
        }))
    }

    fn group<'a>(&'a self, group_id: &'a str) -> Answer<'a, Option<Group>> {
        found(matches!(group_id, "sales" | "closed").then(|| Group {
            group_id: group_id.to_owned(),
            display_name: "销售部".to_owned(),
            member_count: Some(12),
            owner_ref: None,
            archived: group_id == "closed",
            raw_ref: "mock:groups#000000000001".to_owned(),
        }))
    }

    fn conversation<'a>(&'a self, conversation_id: &'a str) -> Answer<'a, Option<Conversation>> {
        found(matches!(conversation_id, "talk" | "notices").then(|| Conversation {
            conversation_id: conversation_id.to_owned(),
            conversation_type: match conversation_id {
                "talk" => ConversationType::Group,
                _ => ConversationType::System,
            },
            display_name: "周会".to_owned(),
            peer_id: (conversation_id == "talk").then(|| "sales".to_owned()),
        }))
    }

    fn contacts<'a>(&'a self, _: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Contact>>> {
        nothing()
    }

    fn groups<'a>(&'a self, _: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Group>>> {
        nothing()
    }

    fn conversations<'a>(&'a self, _: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Conversation>>> {
        nothing()
    }

    fn message<'a>(&'a self, _: &'a str) -> Answer<'a, Option<Message>> {
        found(None)
    }

    fn messages<'a>(&'a self, _: &'a MessageQuery<'a>) -> Answer<'a, Page<Message>> {
        nothing()
    }

    fn files<'a>(&'a self, _: &'a FileQuery<'a>) -> Answer<'a, Page<FileEntry>> {
        nothing()
    }

    fn file<'a>(&'a self, _: &'a str) -> Answer<'a, Option<FileEntry>> {
        found(None)
    }

    fn download<'a>(&'a self, _: &'a str) -> Answer<'a, Download> {
        std::future::ready(Err(SourceError::NotFound("there is no such file".to_owned()))).boxed()
    }
}

/// Keeps what is written to any of its clones.
#[derive(Clone, Default)]
pub struct Written(pub Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A server over the office, with a file `报表.txt` to send.
pub struct Desk {
    /// The folder of everything.
    pub home: tempfile::TempDir,
    server: Arc<Server<IsphereTools>>,
    recorder: RecorderHandle,
}

impl Desk {
    pub fn new() -> Self {
        Self::with(Policy::default(), true)
    }

    pub fn with(policy: Policy, up: bool) -> Self {
        let home = tempfile::tempdir().unwrap();
        let outbound = home.path().join("outbound");
        fs::create_dir(&outbound).unwrap();
        fs::write(outbound.join("报表.txt"), "营收").unwrap();
        let settings = Settings {
            state_dir: home.path().join("state"),
            outbound_dir: Some(outbound),
            operator_id: Some("ops-7".to_owned()),
            max_file_bytes: 1_000,
            ..Settings::default()
        };
        Self::over(home, settings, &policy, up)
    }

    pub fn over(home: tempfile::TempDir, settings: Settings, policy: &Policy, up: bool) -> Self {
        let (clock, random) = (Clock::manual(NOW_MS), Random::seeded(1));
        let office: Arc<dyn Source> = Arc::new(Office { up });
        let sources = Sources::new([(SourceName::Mock, Ok(office))], clock.clone());
        let app = Isphere::with_sources(settings, policy, sources, clock.clone(), random.clone()).unwrap();
        let trail = Trail::open(&app.settings.state_dir, app.key.clone(), clock.clone()).unwrap();
        let (queue, recorder) = Recorder::start(Arc::new(trail));
        let gate = Arc::new(Gate::new(policy, IsphereTools::tools()));
        let service = Arc::new(IsphereTools(Arc::new(app)));
        let server = Arc::new(Server::new(service, gate, queue, McpOptions::default(), clock, random));
        Self { home, server, recorder }
    }

    pub fn state(&self) -> PathBuf {
        self.home.path().join("state")
    }

    /// The result of one request over stdio.
    pub async fn ask(&self, caller: Caller, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let (server, written, runtime) = (Arc::clone(&self.server), Written::default(), Handle::current());
        let output = written.clone();
        let reading = spawn_blocking(move || {
            stdio::serve(&server, &Arc::new(caller), request.as_bytes(), output, &runtime)
        });
        reading.await.unwrap().unwrap();
        let reply = written.0.lock().unwrap().clone();
        serde_json::from_slice::<Value>(&reply).unwrap()["result"].clone()
    }

    /// The whole result of a call, whose structured content satisfies both output schemas.
    pub async fn call_as(&self, caller: Caller, tool: &str, arguments: Value) -> Value {
        let result = self.ask(caller, "tools/call", json!({"name": tool, "arguments": arguments})).await;
        let tool = IsphereTools::tools().iter().find(|known| known.name == tool).unwrap();
        for profile in [SchemaProfile::Portable, SchemaProfile::Contract] {
            let schema = jsonschema::validator_for(&(tool.output)(profile)).unwrap();
            let faults: Vec<_> =
                schema.iter_errors(&result["structuredContent"]).map(|fault| fault.to_string()).collect();
            assert!(faults.is_empty(), "{profile:?}: {faults:?}\n{result}");
        }
        assert_eq!(result["isError"].as_bool().unwrap_or(false), result["structuredContent"]["ok"] == false);
        result
    }

    pub async fn send_message(&self, change: Value) -> Value {
        let arguments = changed(message(), change);
        self.call_as(Caller::local(), "isphere_send_message", arguments).await["structuredContent"].clone()
    }

    pub async fn send_file(&self, change: Value) -> Value {
        let arguments = changed(file(), change);
        self.call_as(Caller::local(), "isphere_send_file", arguments).await["structuredContent"].clone()
    }

    /// Stops the server; the records in its trail, and the folder it leaves behind.
    pub async fn stop(self) -> (Vec<Value>, tempfile::TempDir) {
        self.recorder.shutdown().await;
        let mut records = Vec::new();
        for file in fs::read_dir(self.home.path().join("state/audit")).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                let lines = fs::read_to_string(path).unwrap();
                records.extend(lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
            }
        }
        (records, self.home)
    }
}

/// All bytes of all files below `folder`.
pub fn all_bytes(folder: &Path) -> Vec<u8> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { all_bytes(&path) } else { fs::read(path).unwrap() }).collect()
}

/// In hex.
pub fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text))
}

/// The arguments of a message that can be previewed.
pub fn message() -> Value {
    json!({"target_type": "direct", "target_id": "zhangsan", "content_text": "你好 😀",
        "content_sha256": sha256("你好 😀"), "idempotency_key": "key-1"})
}

/// The arguments of a file that can be previewed.
pub fn file() -> Value {
    json!({"target_type": "group", "target_id": "sales", "file_path": "报表.txt", "caption": "三月",
        "idempotency_key": "key-1"})
}

/// `arguments` with the members of `change`; a member `"-"` is taken away.
pub fn changed(mut arguments: Value, change: Value) -> Value {
    for (name, value) in change.as_object().unwrap() {
        if value == "-" {
            arguments.as_object_mut().unwrap().remove(name);
        } else {
            arguments[name] = value.clone();
        }
    }
    arguments
}
