//! A small organisation in memory, and a caller of the tools.
#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::needless_pass_by_value, reason = "a call of a test reads better with the value itself")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::FutureExt as _;
use govern::audit::Channel;
use govern::clock::Clock;
use govern::credentials::Caller;
use govern::gate::Policy;
use govern::progress::Progress;
use govern::random::Random;
use govern::tool::{Call, Outcome, Service as _};
use isphere::app::Isphere;
pub use isphere::model::Message;
use isphere::model::{
    Attachment, Contact, ContentType, Conversation, ConversationType, FileEntry, Group, SourceName,
};
use isphere::search::{Fields, Query, text_contains};
use isphere::settings::Settings;
use isphere::sources::choice::{Opened, Sources};
use isphere::sources::{
    Answer, Download, FileQuery, Hit, Lookup, MessageQuery, Page, Positioned, Source, SourceError,
};
use isphere::tools::IsphereTools;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncRead;

/// 2026-11-30T00:00:00Z.
pub const NOW_MS: i64 = 1_795_996_800_000;

/// What the source holds, and how it behaves.
#[derive(Default)]
pub struct Fake {
    pub contacts: Vec<Contact>,
    pub groups: Vec<Group>,
    pub conversations: Vec<Conversation>,
    /// The newest first.
    pub messages: Vec<Message>,
    pub files: Vec<(FileEntry, Vec<u8>)>,
    pub fails: Option<SourceError>,
    pub hangs: AtomicBool,
    /// How many searches of people, groups and conversations there were.
    pub lookups: Arc<AtomicUsize>,
    /// A download breaks off after so many bytes.
    pub breaks_after: Option<usize>,
    /// A page of messages is searched for among so many; the next one goes on behind them.
    pub searches: Option<usize>,
    /// Instead of breaking off, it gives nothing more.
    pub stalls: bool,
}

impl Fake {
    /// Three people (two of one name), two groups, their conversations, messages and files.
    pub fn organisation() -> Self {
        let mut fake = Self {
            contacts: vec![
                contact("u1", "张三", Some("zhangsan")),
                contact("u2", "李四", Some("lisi")),
                contact("u3", "李四", Some("lisi2")),
                Contact { active: false, ..contact("u4", "王五", None) },
            ],
            groups: vec![group("g1", "财务部"), Group { archived: true, ..group("g2", "财务旧群") }],
            conversations: vec![
                conversation("d1", ConversationType::Direct, "张三", Some("u1")),
                conversation("d2", ConversationType::Direct, "李四", Some("u2")),
                conversation("d3", ConversationType::Direct, "李四", Some("u3")),
                conversation("c1", ConversationType::Group, "财务部", Some("g1")),
                conversation("s1", ConversationType::System, "系统通知", None),
            ],
            ..Self::default()
        };
        for number in (0..30).rev() {
            let place = ["d1", "c1", "d2"][number % 3];
            fake.messages.push(message(number, place, &format!("第{number}条 报表 report {number}")));
        }
        fake.messages[3].retracted = true;
        for number in (0..4).rev() {
            fake.add_file(
                number,
                "c1",
                &format!("报表{number}.txt"),
                format!("content {number}").into_bytes(),
            );
        }
        fake
    }

    pub fn add_file(&mut self, number: usize, conversation_id: &str, name: &str, content: Vec<u8>) {
        let entry = FileEntry {
            file_id: format!("f{number}"),
            message_id: Some("m1".to_owned()),
            conversation_id: Some(conversation_id.to_owned()),
            file_name: name.to_owned(),
            size_bytes: Some(content.len() as u64),
            mime_type: Some("text/plain".to_owned()),
            created_ms: Some(NOW_MS - 1_000),
            download_ref: Some("ref".to_owned()),
        };
        self.files.push((entry, content));
    }

    fn answer<'a, T: Send + 'a>(&'a self, value: impl FnOnce() -> T + Send + 'a) -> Answer<'a, T> {
        async move {
            if self.hangs.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            self.fails.clone().map_or_else(|| Ok(value()), Err)
        }
        .boxed()
    }
}

pub fn contact(id: &str, name: &str, account: Option<&str>) -> Contact {
    Contact {
        contact_id: id.to_owned(),
        display_name: name.to_owned(),
        account: account.map(str::to_owned),
        department: Some("销售部".to_owned()),
        title: None,
        active: true,
        raw_ref: "mock:contacts#000000000000".to_owned(),
    }
}

pub fn group(id: &str, name: &str) -> Group {
    Group {
        group_id: id.to_owned(),
        display_name: name.to_owned(),
        member_count: Some(3),
        owner_ref: Some("u1".to_owned()),
        archived: false,
        raw_ref: "mock:groups#000000000000".to_owned(),
    }
}

pub fn conversation(id: &str, kind: ConversationType, name: &str, peer: Option<&str>) -> Conversation {
    Conversation {
        conversation_id: id.to_owned(),
        conversation_type: kind,
        display_name: name.to_owned(),
        peer_id: peer.map(str::to_owned),
    }
}

/// Message `number`, a minute after the one before.
pub fn message(number: usize, conversation_id: &str, text: &str) -> Message {
    let at_ms = NOW_MS - 3_600_000 + i64::try_from(number).unwrap() * 60_000;
    Message {
        message_id: format!("m{number}"),
        conversation_id: conversation_id.to_owned(),
        sender_id: Some("u1".to_owned()),
        sender_name: Some("张三".to_owned()),
        content_type: ContentType::Text,
        text: text.to_owned(),
        attachments: vec![Attachment {
            file_id: format!("f{number}"),
            file_name: "报表.txt".to_owned(),
            size_bytes: Some(9),
            download_ref: None,
        }],
        created_ms: Some(at_ms),
        received_ms: None,
        retracted: false,
        raw_ref: "mock:messages#000000000000".to_owned(),
    }
}

/// A page of `items`, whose positions are their places in the list.
fn page<T>(items: impl Iterator<Item = T>, limit: usize, after: Option<&str>) -> Page<T> {
    let start = after.map_or(0, |after| after.parse::<usize>().unwrap());
    let mut rest = items.enumerate().skip(start);
    let items: Vec<Positioned<T>> = rest
        .by_ref()
        .take(limit)
        .map(|(number, item)| Positioned { item, position: (number + 1).to_string() })
        .collect();
    let next = rest.next().and(items.last()).map(|last| last.position.clone());
    Page { items, next, warnings: Vec::new() }
}

fn ranked<'a, T: Clone + 'a>(
    all: impl Iterator<Item = &'a T>,
    lookup: &Lookup<'_>,
    fields: impl Fn(&T) -> Fields<'_>,
) -> Page<Hit<T>> {
    let query = Query::new(lookup.query);
    let mut hits: Vec<_> = all
        .filter_map(|item| query.rank(&fields(item)).map(|rank| (rank.class, rank.confidence, item)))
        .collect();
    hits.sort_by_key(|(class, ..)| *class);
    let hits = hits.into_iter().map(|(_, confidence, item)| Hit { item: item.clone(), confidence });
    page(hits, lookup.limit, lookup.after)
}

impl Source for Fake {
    fn name(&self) -> SourceName {
        SourceName::Mock
    }

    fn health(&self) -> Answer<'_, ()> {
        self.answer(|| ())
    }

    fn contacts<'a>(&'a self, query: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Contact>>> {
        self.answer(|| {
            self.lookups.fetch_add(1, Ordering::SeqCst);
            let seen = self.contacts.iter().filter(|contact| contact.active || query.include_inactive);
            ranked(seen, query, |contact| Fields {
                id: &contact.contact_id,
                name: &contact.display_name,
                account: contact.account.as_deref(),
                department: contact.department.as_deref(),
                title: contact.title.as_deref(),
            })
        })
    }

    fn groups<'a>(&'a self, query: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Group>>> {
        self.answer(|| {
            self.lookups.fetch_add(1, Ordering::SeqCst);
            let seen = self.groups.iter().filter(|group| !group.archived || query.include_inactive);
            ranked(seen, query, |group| named(&group.group_id, &group.display_name))
        })
    }

    fn conversations<'a>(&'a self, query: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Conversation>>> {
        self.answer(|| {
            self.lookups.fetch_add(1, Ordering::SeqCst);
            ranked(self.conversations.iter(), query, |one| named(&one.conversation_id, &one.display_name))
        })
    }

    fn contact<'a>(&'a self, contact_id: &'a str) -> Answer<'a, Option<Contact>> {
        self.answer(move || self.contacts.iter().find(|one| one.contact_id == contact_id).cloned())
    }

    fn group<'a>(&'a self, group_id: &'a str) -> Answer<'a, Option<Group>> {
        self.answer(move || self.groups.iter().find(|one| one.group_id == group_id).cloned())
    }

    fn conversation<'a>(&'a self, conversation_id: &'a str) -> Answer<'a, Option<Conversation>> {
        self.answer(move || {
            self.conversations.iter().find(|one| one.conversation_id == conversation_id).cloned()
        })
    }

    fn message<'a>(&'a self, message_id: &'a str) -> Answer<'a, Option<Message>> {
        self.answer(move || self.messages.iter().find(|one| one.message_id == message_id).cloned())
    }

    fn messages<'a>(&'a self, query: &'a MessageQuery<'a>) -> Answer<'a, Page<Message>> {
        self.answer(move || {
            let type_of = |id: &str| {
                self.conversations.iter().find(|one| one.conversation_id == id).unwrap().conversation_type
            };
            let keyword = query.keyword.map(isphere::search::fold);
            let fits = |message: &&Message| {
                query.conversation_id.is_none_or(|id| id == message.conversation_id)
                    && query.conversation_type.is_none_or(|kind| kind == type_of(&message.conversation_id))
                    && query.since_ms.is_none_or(|since| message.at_ms() >= since)
                    && keyword.as_ref().is_none_or(|keyword| text_contains(&message.text, keyword))
            };
            let Some(most) = self.searches else {
                return page(self.messages.iter().filter(fits).cloned(), query.limit, query.after);
            };
            let start = query.after.map_or(0, |after| after.parse::<usize>().unwrap());
            let rest = self.messages[start..].iter().enumerate().take(most);
            let items = rest.filter(|(_, message)| fits(message)).map(|(number, message)| Positioned {
                item: message.clone(),
                position: (start + number + 1).to_string(),
            });
            let next = (start + most < self.messages.len()).then(|| (start + most).to_string());
            Page { items: items.collect(), next, warnings: Vec::new() }
        })
    }

    fn files<'a>(&'a self, query: &'a FileQuery<'a>) -> Answer<'a, Page<FileEntry>> {
        self.answer(move || {
            let is = |wanted: Option<&str>, actual: &Option<String>| {
                wanted.is_none_or(|wanted| actual.as_deref() == Some(wanted))
            };
            let seen = self.files.iter().map(|(entry, _)| entry).filter(|file| {
                is(query.conversation_id, &file.conversation_id) && is(query.message_id, &file.message_id)
            });
            page(seen.cloned(), query.limit, query.after)
        })
    }

    fn file<'a>(&'a self, file_id: &'a str) -> Answer<'a, Option<FileEntry>> {
        self.answer(move || {
            self.files.iter().map(|(entry, _)| entry).find(|file| file.file_id == file_id).cloned()
        })
    }

    fn download<'a>(&'a self, file_id: &'a str) -> Answer<'a, Download> {
        async move {
            let (entry, content) = self
                .files
                .iter()
                .find(|(entry, _)| entry.file_id == file_id)
                .ok_or_else(|| SourceError::NotFound("there is no such file".to_owned()))?;
            let content: Box<dyn AsyncRead + Send + Unpin> = match self.breaks_after {
                None => Box::new(std::io::Cursor::new(content.clone())),
                Some(at) => Box::new(Breaking { content: content[..at].to_vec(), stalls: self.stalls }),
            };
            Ok(Download { size_bytes: entry.size_bytes, content })
        }
        .boxed()
    }
}

fn named<'a>(id: &'a str, name: &'a str) -> Fields<'a> {
    Fields { id, name, account: None, department: None, title: None }
}

/// Gives its bytes, then an error or nothing more.
struct Breaking {
    content: Vec<u8>,
    stalls: bool,
}

impl AsyncRead for Breaking {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        if self.content.is_empty() {
            return if self.stalls {
                std::task::Poll::Pending
            } else {
                std::task::Poll::Ready(Err(std::io::Error::other("broken off")))
            };
        }
        buffer.put_slice(&std::mem::take(&mut self.content));
        std::task::Poll::Ready(Ok(()))
    }
}

/// The tools over a source, in folders of their own.
pub struct Rig {
    pub tools: IsphereTools,
    pub home: TempDir,
    pub clock: Clock,
    pub budget: usize,
    pub channel: Channel,
}

impl Rig {
    pub fn new(source: Fake) -> Self {
        Self::with(source, Policy::default(), |_| ())
    }

    pub fn with(source: Fake, policy: Policy, change: impl FnOnce(&mut Settings)) -> Self {
        Self::over(vec![(SourceName::Mock, Ok(Arc::new(source) as Arc<dyn Source>))], policy, change)
    }

    pub fn over(
        sources: Vec<(SourceName, Opened)>,
        policy: Policy,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let home = tempfile::tempdir().unwrap();
        let inbound = home.path().join("inbound");
        std::fs::create_dir(&inbound).unwrap();
        let mut settings = Settings {
            state_dir: home.path().join("state"),
            inbound_dir: Some(inbound),
            operator_id: Some("op-1".to_owned()),
            ..Settings::default()
        };
        change(&mut settings);
        let clock = Clock::manual(NOW_MS);
        let sources = Sources::new(sources, clock.clone());
        let app =
            Isphere::with_sources(settings, &policy, sources, clock.clone(), Random::seeded(7)).unwrap();
        Self { tools: IsphereTools(Arc::new(app)), home, clock, budget: 64 << 10, channel: Channel::McpStdio }
    }

    pub fn inbound(&self) -> std::path::PathBuf {
        self.home.path().join("inbound")
    }

    pub async fn outcome(&self, tool: &str, arguments: Value) -> Outcome {
        let arguments = serde_json::value::to_raw_value(&arguments).unwrap();
        let caller = Caller { name: "agent".to_owned(), scopes: Vec::new() };
        let tool = IsphereTools::tools().iter().find(|known| known.name == tool).unwrap();
        (tool.run)(&self.tools, self.call(&arguments, &caller)).await
    }

    pub fn call<'a>(&self, arguments: &'a serde_json::value::RawValue, caller: &'a Caller) -> Call<'a> {
        Call {
            arguments,
            caller,
            channel: self.channel,
            request_id: "req-00112233445566778899aabbccddeeff".to_owned(),
            trace_id: None,
            budget: self.budget,
            received_ms: NOW_MS,
            progress: Progress::default(),
        }
    }

    /// The structured content of the answer.
    pub async fn answer(&self, tool: &str, arguments: Value) -> Value {
        serde_json::from_str(self.outcome(tool, arguments).await.structured()).unwrap()
    }

    /// The code of the error, which must be one.
    pub async fn code(&self, tool: &str, arguments: Value) -> String {
        let answer = self.answer(tool, arguments).await;
        assert_eq!(answer["ok"], false, "{answer}");
        answer["error"]["code"].as_str().unwrap().to_owned()
    }

    /// All items of `list` over all pages, with the number of pages.
    pub async fn all(&self, tool: &str, mut arguments: Value, list: &str) -> (Vec<Value>, usize) {
        let (mut items, mut pages) = (Vec::new(), 0);
        loop {
            let answer = self.answer(tool, arguments.clone()).await;
            assert_eq!(answer["ok"], true, "{answer}");
            items.extend(answer[list].as_array().unwrap().iter().cloned());
            pages += 1;
            assert!(pages < 1_000, "paging ends");
            match answer["next_cursor"].as_str() {
                Some(cursor) => arguments["cursor"] = json!(cursor),
                None => return (items, pages),
            }
        }
    }
}

/// All files below a folder, by their relative paths.
pub fn tree(folder: &std::path::Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            found
                .extend(tree(&path).into_iter().map(|(inner, content)| (format!("{name}/{inner}"), content)));
        } else {
            found.insert(name, std::fs::read(&path).unwrap());
        }
    }
    found
}

/// The ids of some items, by the name of the field.
pub fn ids(items: &Value, field: &str) -> Vec<String> {
    items.as_array().unwrap().iter().map(|item| item[field].as_str().unwrap().to_owned()).collect()
}
