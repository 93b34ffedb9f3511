//! `inspect` proposes a profile for stores that it has never seen; the proposed profile loads and reads the rows right.

use super::support::Fixture;
use isphere::model::{Contact, ContentType, ConversationType, Message};
use isphere::sample::{Sizes, write_store};
use isphere::sources::local::inspect::{Inspection, inspect, propose};
use isphere::sources::local::profile::Table;
use isphere::sources::local::{LocalReadonly, Profile, Store};
use isphere::sources::{FileQuery, MessageQuery, Source};
use std::ops::ControlFlow;

/// 2024-01-02 03:04:05 UTC.
const CREATED_MS: i64 = 1_704_164_645_000;

/// A store of this layout with its proposed profile in place.
fn proposed(statements: &str) -> (Fixture, LocalReadonly, Inspection, String) {
    let fixture = Fixture::new(statements, "");
    let inspection = inspect(&fixture.store).unwrap();
    let profile = propose(&inspection);
    std::fs::write(fixture.folder.path().join("store.profile.toml"), &profile).unwrap();
    if let Err(error) = Store::open(&fixture.store, Profile::parse(&profile).unwrap(), None) {
        panic!("{error}\n{profile}");
    }
    let source = fixture.source();
    (fixture, source, inspection, profile)
}

async fn messages(source: &LocalReadonly, conversation_id: &str) -> Vec<Message> {
    let query = MessageQuery {
        conversation_id: Some(conversation_id),
        conversation_type: None,
        keyword: None,
        since_ms: None,
        limit: 50,
        after: None,
        until: None,
    };
    let page = source.messages(&query).await.unwrap_or_else(|error| panic!("{error}"));
    page.items.into_iter().map(|positioned| positioned.item).collect()
}

async fn contact(source: &LocalReadonly, id: &str) -> Contact {
    source.contact(id).await.unwrap().unwrap()
}

#[tokio::test]
async fn english_names_with_milliseconds() {
    let (_fixture, source, _, profile) = proposed(
        "CREATE TABLE contacts(id TEXT PRIMARY KEY, display_name TEXT, account TEXT, department TEXT, job_title TEXT, is_active INTEGER, updated_at INTEGER);
         CREATE TABLE groups(id TEXT, name TEXT, member_count INTEGER, owner_id TEXT, is_archived INTEGER);
         CREATE TABLE group_members(group_id TEXT, user_id TEXT);
         CREATE TABLE conversations(id TEXT, type TEXT, title TEXT, peer_id TEXT);
         CREATE TABLE messages(id TEXT, conversation_id TEXT, sender_id TEXT, sender_name TEXT, type TEXT, content TEXT, created_at INTEGER, received_at INTEGER, is_deleted INTEGER);
         CREATE TABLE attachments(id TEXT, message_id TEXT, conversation_id TEXT, file_name TEXT, size INTEGER, mime_type TEXT, created_at INTEGER, local_path TEXT);
         INSERT INTO contacts VALUES ('u1', '张三', 'zhangsan', '销售部', '经理', 1, 1704164645000), ('u2', '李四', 'lisi', '研发部', '', 0, 1704164645000);
         INSERT INTO groups VALUES ('g1', '项目群', 12, 'u1', 0);
         INSERT INTO group_members VALUES ('g1', 'u1');
         INSERT INTO conversations VALUES ('c1', 'single', '张三', 'u1'), ('c2', 'group', '项目群', 'g1');
         INSERT INTO messages VALUES ('m1', 'c1', 'u1', '张三', 'text', '你好', 1704164645000, 1704164646000, 0), ('m2', 'c1', 'u1', '张三', 'picture', '', 1704164647000, 1704164648000, 1);
         INSERT INTO attachments VALUES ('f1', 'm2', 'c1', 'a.png', 7, 'image/png', 1704164647000, 'a.png');",
    );
    for table in Table::ALL {
        assert!(Profile::parse(&profile).unwrap().section(table).is_some(), "{profile}");
    }
    let zhang = contact(&source, "u1").await;
    assert_eq!((zhang.display_name.as_str(), zhang.account.as_deref()), ("张三", Some("zhangsan")));
    assert_eq!(
        (zhang.department.as_deref(), zhang.title.as_deref(), zhang.active),
        (Some("销售部"), Some("经理"), true)
    );
    assert!(!contact(&source, "u2").await.active);
    let group = source.group("g1").await.unwrap().unwrap();
    assert_eq!((group.member_count, group.owner_ref.as_deref()), (Some(12), Some("u1")));
    assert_eq!(source.conversation("c2").await.unwrap().unwrap().conversation_type, ConversationType::Group);
    let found = messages(&source, "c1").await;
    assert_eq!(
        (found[0].content_type, found[0].retracted, found[0].attachments.len()),
        (ContentType::Image, true, 1)
    );
    assert_eq!((found[1].text.as_str(), found[1].created_ms), ("你好", Some(CREATED_MS)));
    assert_eq!(found[1].received_ms, Some(CREATED_MS + 1000));
}

#[tokio::test]
async fn chinese_names_with_written_times() {
    let (_fixture, source, _, profile) = proposed(
        "CREATE TABLE 通讯录(工号 TEXT, 姓名 TEXT, 账号 TEXT, 部门 TEXT, 职务 TEXT, 离职 INTEGER);
         CREATE TABLE 群组(群号 TEXT, 群名称 TEXT, 群主 TEXT, 解散 INTEGER);
         CREATE TABLE 群成员(群号 TEXT, 工号 TEXT);
         CREATE TABLE 会话(会话编号 TEXT, 会话名称 TEXT, 会话类型 TEXT);
         CREATE TABLE 聊天记录(消息编号 TEXT, 会话编号 TEXT, 发送者 TEXT, 发送者姓名 TEXT, 消息类型 TEXT, 内容 TEXT, 发送时间 TEXT, 删除标志 INTEGER);
         CREATE TABLE 附件(附件ID TEXT, 消息编号 TEXT, 文件名 TEXT, 大小 INTEGER, 保存路径 TEXT);
         INSERT INTO 通讯录 VALUES ('001', '张三', 'zs', '华东区', '经理', 0), ('002', '李四', 'ls', '华北区', '', 1);
         INSERT INTO 群组 VALUES ('9', '项目群', '001', 0);
         INSERT INTO 群成员 VALUES ('9', '001'), ('9', '002');
         INSERT INTO 会话 VALUES ('h1', '张三', '单聊'), ('h2', '项目群', '群聊');
         INSERT INTO 聊天记录 VALUES ('x1', 'h1', '001', '张三', '文本', '合同已发', '2024-01-02 03:04:05', 0), ('x2', 'h1', '001', '张三', '图片', '', '2024-01-02 03:05:05', 1);
         INSERT INTO 附件 VALUES ('f1', 'x1', '合同.docx', 10, '合同.docx');",
    );
    assert!(contact(&source, "001").await.active, "{profile}");
    assert!(!contact(&source, "002").await.active);
    assert_eq!(source.group("9").await.unwrap().unwrap().member_count, Some(2));
    assert_eq!(source.conversation("h2").await.unwrap().unwrap().conversation_type, ConversationType::Group);
    let found = messages(&source, "h1").await;
    assert_eq!((found[0].retracted, found[0].content_type), (true, ContentType::Image));
    assert_eq!((found[1].created_ms, found[1].sender_name.as_deref()), (Some(CREATED_MS), Some("张三")));
    assert_eq!(found[1].attachments[0].file_name, "合同.docx");
}

#[tokio::test]
async fn pinyin_names_with_seconds_and_numbers_for_types() {
    let (_fixture, source, _, profile) = proposed(
        "CREATE TABLE t_lianxiren(yonghu_id INTEGER PRIMARY KEY, xingming TEXT, zhanghao TEXT, bumen TEXT, zhiwei TEXT);
         CREATE TABLE t_qun(qun_id INTEGER PRIMARY KEY, qun_mingcheng TEXT, qunzhu INTEGER);
         CREATE TABLE t_huihua(huihua_id INTEGER PRIMARY KEY, huihua_mingcheng TEXT, duifang_id INTEGER, leixing INTEGER);
         CREATE TABLE t_xiaoxi(xiaoxi_id INTEGER PRIMARY KEY, huihua_id INTEGER, fasongzhe INTEGER, neirong TEXT, xiaoxi_leixing INTEGER, fasong_shijian INTEGER, shanchu INTEGER);
         INSERT INTO t_lianxiren VALUES (11, '王五', 'ww', '财务部', '会计');
         INSERT INTO t_qun VALUES (77, '财务群', 11);
         INSERT INTO t_huihua VALUES (1, '王五', 11, 0), (2, '财务群', 77, 1);
         INSERT INTO t_xiaoxi VALUES (5, 2, 11, '报销', 1, 1704164645, 0), (6, 2, 11, '发票', 1, 1704164646, 1), (7, 2, 11, '', 3, 1704164647, 0);",
    );
    assert_eq!(contact(&source, "11").await.department.as_deref(), Some("财务部"), "{profile}");
    assert_eq!(source.conversation("2").await.unwrap().unwrap().conversation_type, ConversationType::Group);
    assert_eq!(source.conversation("1").await.unwrap().unwrap().conversation_type, ConversationType::Direct);
    let found = messages(&source, "2").await;
    assert_eq!(found.len(), 3, "{profile}");
    assert_eq!((found[2].created_ms, found[2].content_type), (Some(CREATED_MS), ContentType::Text));
    assert!(found[1].retracted);
    assert!(profile.contains("All types: 1, 3"), "{profile}");
}

#[tokio::test]
async fn dotnet_ticks_and_bodies_in_blobs() {
    let (_fixture, source, _, profile) = proposed(
        "CREATE TABLE UserInfo(UserId TEXT, RealName TEXT, LoginName TEXT, DeptName TEXT, IsDeleted INTEGER);
         CREATE TABLE Session(SessionId TEXT, SessionName TEXT, SessionType TEXT);
         CREATE TABLE ChatMessage(MsgId BLOB, SessionId TEXT, FromUid TEXT, MsgContent BLOB, SendTime INTEGER, IsRecalled INTEGER);
         INSERT INTO UserInfo VALUES ('a', '赵六', 'zl', '法务', 0), ('b', '钱七', 'qq', '法务', 1);
         INSERT INTO Session VALUES ('s', '法务群', 'GroupChat');
         INSERT INTO ChatMessage VALUES (x'00ff10', 's', 'a', x'604f7d5901ff0d000a00', 638397614450000000, 0);",
    );
    let found = messages(&source, "s").await;
    assert_eq!(found.len(), 1, "{profile}");
    assert_eq!((found[0].text.as_str(), found[0].message_id.as_str()), ("你好！\r\n", "00FF10"), "{profile}");
    assert_eq!(found[0].created_ms, Some(CREATED_MS));
    assert!(!contact(&source, "b").await.active);
    assert_eq!(source.conversation("s").await.unwrap().unwrap().conversation_type, ConversationType::Group);
}

#[tokio::test]
async fn a_table_of_messages_for_each_month() {
    let month = |number: u32, hour: i64| {
        format!(
            "CREATE TABLE im_msg_2024{number:02}(guid TEXT, talker TEXT, body BLOB, ts INTEGER);
             INSERT INTO im_msg_2024{number:02} VALUES ('k{number}', 'r', x'c4e3bac3cac0bde7', {});",
            133_486_382_450_000_000 + hour * 36_000_000_000
        )
    };
    let (_fixture, source, inspection, profile) = proposed(&(month(1, 0) + &month(2, 1) + &month(3, 2)));
    assert_eq!(inspection.tables.len(), 1);
    assert_eq!((inspection.tables[0].parts.len(), inspection.tables[0].rows), (3, 3));
    assert!(
        profile.contains("# - im_msg_[0-9]*: 3 tables, 3 rows; guid (text), talker (text), body (blob), "),
        "{profile}"
    );
    let found = messages(&source, "r").await;
    let ids: Vec<&str> = found.iter().map(|message| message.message_id.as_str()).collect();
    assert_eq!(ids, ["k3", "k2", "k1"], "{profile}");
    assert_eq!((found[2].created_ms, found[2].text.as_str()), (Some(CREATED_MS), "你好世界"), "{profile}");
}

#[tokio::test]
async fn messages_alone_and_files_without_an_id_of_their_own() {
    let (_fixture, source, _, profile) = proposed(
        "CREATE TABLE history(talker TEXT, sender TEXT, message TEXT, time REAL);
         CREATE TABLE msg_file(filename TEXT, filesize TEXT, chat_id TEXT, msgtime INTEGER, filepath TEXT);
         CREATE TABLE settings(key TEXT, value TEXT);
         INSERT INTO history VALUES ('r1', 'a', 'hello', 2460311.6278356483), ('r2', 'b', 'hi', 2460311.7);
         INSERT INTO msg_file VALUES ('x.pdf', '12', 'r1', 1704164645000000, 'x.pdf');",
    );
    let found = messages(&source, "r1").await;
    assert_eq!(found.len(), 1, "{profile}");
    assert_eq!((found[0].message_id.as_str(), found[0].created_ms), ("1", Some(CREATED_MS)));
    assert_eq!(source.conversation("r2").await.unwrap().unwrap().conversation_id, "r2");
    let query = FileQuery { conversation_id: Some("r1"), message_id: None, limit: 5, after: None };
    let files = source.files(&query).await.unwrap();
    let file = &files.items[0].item;
    assert_eq!((file.file_id.as_str(), file.size_bytes, file.created_ms), ("1", Some(12), Some(CREATED_MS)));
    assert!(profile.contains("No table was recognised as contacts"), "{profile}");
}

/// A month of messages with one in each of these conversations.
fn month(number: u32, conversations: &[&str]) -> String {
    let table = format!("im_msg_2024{number:02}");
    let row = |(at, talker)| {
        format!("INSERT INTO {table} VALUES ('k{number}-{at}', '{talker}', 'hi', 170416464{at});")
    };
    let rows: Vec<String> = conversations.iter().enumerate().map(row).collect();
    format!("CREATE TABLE {table}(guid TEXT, talker TEXT, body TEXT, ts INTEGER); {}", rows.join(" "))
}

async fn conversation(source: &LocalReadonly, id: &str) -> (String, ConversationType, Option<String>) {
    let found = source.conversation(id).await.unwrap().unwrap_or_else(|| panic!("no conversation {id}"));
    (found.display_name, found.conversation_type, found.peer_id)
}

const PEOPLE_AND_GROUPS: &str =
    "CREATE TABLE contacts(id TEXT, name TEXT); CREATE TABLE groups(id TEXT, name TEXT);
    INSERT INTO contacts VALUES ('u1', '张三'); INSERT INTO groups VALUES ('g1', '项目群');";

#[tokio::test]
async fn without_a_table_of_conversations_groups_and_people_are_those_of_messages_split_by_month() {
    let (fixture, source, _, profile) =
        proposed(&(month(1, &["u1"]) + &month(2, &["g1"]) + PEOPLE_AND_GROUPS));
    let group = conversation(&source, "g1").await;
    assert_eq!(group, ("项目群".to_owned(), ConversationType::Group, Some("g1".to_owned())), "{profile}");
    let person = conversation(&source, "u1").await;
    assert_eq!(person, ("张三".to_owned(), ConversationType::Direct, Some("u1".to_owned())));
    fixture.writer().execute_batch(&month(3, &["u1"])).unwrap();
    assert_eq!(messages(&source, "u1").await.len(), 2);
}

#[tokio::test]
async fn without_people_too_the_conversations_are_those_that_the_months_name() {
    let (_fixture, source, _, profile) = proposed(&(month(1, &["a", "b"]) + &month(2, &["b", "c"])));
    for id in ["a", "b", "c"] {
        let expected = (id.to_owned(), ConversationType::Direct, None);
        assert_eq!(conversation(&source, id).await, expected, "{profile}");
    }
    assert!(source.conversation("d").await.unwrap().is_none());
}

#[tokio::test]
async fn conversations_that_one_table_of_messages_names_get_the_names_of_groups_and_people() {
    let (_fixture, source, _, profile) = proposed(
        &("CREATE TABLE messages(id TEXT, conversation_id TEXT, content TEXT);
           INSERT INTO messages VALUES ('m1', 'u1', 'x'), ('m2', 'g1', 'y'), ('m3', 'z', 'z');"
            .to_owned()
            + PEOPLE_AND_GROUPS),
    );
    for (id, name, kind, peer) in [
        ("u1", "张三", ConversationType::Direct, Some("u1")),
        ("g1", "项目群", ConversationType::Group, Some("g1")),
        ("z", "z", ConversationType::Direct, None),
    ] {
        let expected = (name.to_owned(), kind, peer.map(str::to_owned));
        assert_eq!(conversation(&source, id).await, expected, "{profile}");
    }
}

#[test]
fn tables_that_were_not_recognised_are_listed_apart_and_no_list_is_empty() {
    let look = |statements: &str| propose(&inspect(&Fixture::new(statements, "").store).unwrap());
    let profile =
        look("CREATE TABLE contacts(id TEXT, name TEXT); CREATE TABLE secrets(pin TEXT, hint TEXT);");
    let (read, not_read) = profile.split_once("not recognised, and are not read").unwrap();
    assert!(read.contains("# - contacts") && !read.contains("secrets"), "{profile}");
    assert!(not_read.contains("# - secrets: 0 rows; pin (null), hint (null)"), "{profile}");
    assert!(!look("CREATE TABLE contacts(id TEXT, name TEXT)").contains("not recognised, and"));
    let empty = look("PRAGMA user_version = 1");
    assert!(empty.contains("has no tables") && !empty.contains("that are read"), "{empty}");
    for profile in [profile, empty] {
        let lines: Vec<&str> = profile.lines().collect();
        let dangling = lines.windows(2).find(|pair| pair[0].ends_with(':') && !pair[1].starts_with("# - "));
        assert_eq!(dangling, None, "{profile}");
        assert!(!profile.contains(": ."), "{profile}");
    }
}

#[test]
fn nothing_recognised_is_said_and_strange_names_do_no_harm() {
    let fixture = Fixture::new(
        "CREATE TABLE \"a'''b\"(\"x\ny\" TEXT); CREATE TABLE \"message''' \"(\"id\" TEXT, conversation_id TEXT, \"text\" TEXT);
         CREATE TABLE empty(id); CREATE VIEW v AS SELECT 1 AS one;",
        "",
    );
    let profile = propose(&inspect(&fixture.store).unwrap());
    assert!(Profile::parse(&profile).unwrap_err().to_string().contains("no section"), "{profile}");
    let tables: Vec<&str> = profile.lines().filter(|line| line.starts_with("# - ")).collect();
    assert_eq!(tables.len(), 4, "{profile}");
    assert!(tables.contains(&r"# - a\'\'\'b: 0 rows; x\ny (null)"), "{profile}");
}

#[tokio::test]
async fn a_sample_store_is_read_the_same_through_its_own_profile_and_the_proposed_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sample.db");
    write_store(&path, Sizes::new(60, 8, 400), 7, &mut |_| {}).unwrap();
    let profile = propose(&inspect(&path).unwrap());
    let proposed = Store::open(&path, Profile::parse(&profile).unwrap(), None).unwrap();
    let own = Store::open(&path, Profile::load(&path.with_extension("profile.toml")).unwrap(), None).unwrap();
    let read = |store: &Store| {
        let mut reader = store.reader().unwrap();
        let (mut contacts, mut groups, mut messages) = (Vec::new(), Vec::new(), Vec::new());
        reader.contacts(&mut |contact| push(&mut contacts, contact)).unwrap();
        reader.groups(&mut |group| push(&mut groups, group)).unwrap();
        reader
            .messages_after("", None, None, &mut |seq, message| {
                // What the numbers of types mean, no one can tell from them.
                push(&mut messages, (seq, Message { content_type: ContentType::Unknown, ..message }))
            })
            .unwrap();
        (contacts, groups, messages)
    };
    let (own, proposed) = (read(&own), read(&proposed));
    assert_eq!((own.0.len(), own.1.len(), own.2.len()), (60, 8, 400));
    assert_eq!(own, proposed, "{profile}");
}

fn push<T>(items: &mut Vec<T>, item: T) -> ControlFlow<()> {
    items.push(item);
    ControlFlow::Continue(())
}
