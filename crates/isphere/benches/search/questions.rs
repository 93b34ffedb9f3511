//! The questions, and how long each takes with the index and by `LIKE`.

use std::path::Path;
use std::time::Instant;

use isphere::search::Query;
use isphere::sources::local::index::{EntryQuery, Index, MessagesAsked, Place, Space};
use isphere::sources::local::open_configured;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::Result;

/// Items on a page of people, and of messages.
const PEOPLE: usize = 20;
const MESSAGES: usize = 50;

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

const PEOPLE_QUESTIONS: [(&str, &[&str]); 7] = [
    ("people, 1 character", &["王", "伟", "部", "z", "1", "洁"]),
    ("people, 2 characters", &["张伟", "研发", "zw", "li", "12", "秀英"]),
    ("people, 3 and more characters", &["欧阳娜", "工程师", "zhangwei", "wangfang1", "研发中心", "4321"]),
    ("people, pinyin", &["zhang", "wangxiuying", "ouyang", "chenjing", "xiuy", "zhuge"]),
    ("people, initials", &["zw", "lxy", "oyn", "wxy", "zz", "q"]),
    ("people, in the title or department", &["经理", "总监", "财务", "客户", "助理", "主管"]),
    ("people, found nowhere", &["不在这里", "qqqqxx", "龘", "zzzzzzz", "zqx", "没有"]),
];

const KEYWORDS: [(&str, &[&str]); 4] = [
    ("keyword, 1 character", &["的", "好", "票", "a", "9", "龘"]),
    ("keyword, 2 characters", &["会议", "收到", "合同", "ok", "12", "没龘"]),
    ("keyword, 3 and more characters", &["会议室", "没问题", "报销单", "项目进度", "http", "收到，谢谢"]),
    ("keyword, found nowhere", &["不在这里的话", "qqqqxx", "龘龘", "会议会议会议", "好的票", "zqx"]),
];

/// Asks each question `times` times.
pub fn ask(store: &Path, times: usize) -> Result<Answers> {
    let opened = open_configured(&super::of(store))?;
    let index = Index::new(store.with_extension("index"), opened.identity());
    let like = Connection::open(store)?;
    let mut rows = Vec::new();
    for (name, words) in PEOPLE_QUESTIONS {
        let took = time(words, times, |word| {
            let query = Query::new(word);
            let asked = EntryQuery { query: &query, include_inactive: false, after: None, limit: PEOPLE };
            Ok(index.entries(Space::Contacts, &asked)?.len())
        })?;
        let scan = time(words, 1, |word| like_people(&like, word))?;
        rows.push(row(name, &took, Some(&scan)));
    }
    let mut reader = opened.reader()?;
    for (name, words) in KEYWORDS {
        let took = time(words, times, |word| {
            let asked = MessagesAsked { keyword: Some(word), limit: MESSAGES, ..MessagesAsked::default() };
            Ok(index.messages(&mut reader, &asked)?.messages.len())
        })?;
        let scan = time(words, 1, |word| like_messages(&like, word))?;
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
            let took = time(&[""], times * 6, |_| {
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

/// Milliseconds of each question, ascending.
fn time(words: &[&str], times: usize, mut question: impl FnMut(&str) -> Result<usize>) -> Result<Vec<f64>> {
    let mut took = Vec::new();
    for word in words.iter().cycle().take(words.len() * times) {
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
