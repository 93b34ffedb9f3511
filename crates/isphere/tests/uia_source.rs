//! The client's window as a source, over doubles of the helper.

#![allow(clippy::unwrap_used, reason = "a test may")]
#![cfg(unix)]

mod common;
mod helper_double;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use common::Rig;
use govern::clock::Clock;
use govern::gate::Policy;
use govern::random::Random;
use helper_double::window::{self, PROFILE, Shown, element};
use helper_double::{data_file, settings};
use isphere::helper::{Dump, HelperClient};
use isphere::model::{ConversationType, SourceName};
use isphere::sources::uia::propose::propose;
use isphere::sources::uia::{Uia, profile::Profile};
use isphere::sources::{FileQuery, Lookup, MessageQuery, Source, SourceError};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A desk with a window and a source that looks at it.
struct Desk {
    folder: TempDir,
    clock: Clock,
    source: Arc<Uia>,
}

impl Desk {
    /// A window that shows this, and this profile.
    fn new(shown: &Value, profile: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        data_file(folder.path(), "dump.json", shown);
        let path = folder.path().display();
        Self::with(
            &format!("echo . >>'{path}/looks'; respond \"$(cat '{path}/dump.json')\""),
            profile,
            folder,
        )
    }

    /// A helper that runs this script.
    fn answering(script: &str, profile: Option<&str>) -> Self {
        Self::with(script, profile, tempfile::tempdir().unwrap())
    }

    fn with(script: &str, profile: Option<&str>, folder: TempDir) -> Self {
        let profile = profile.map(|text| {
            let path = folder.path().join("isphere.uia.toml");
            std::fs::write(&path, text).unwrap();
            path
        });
        let clock = Clock::manual(0);
        let helper = Arc::new(HelperClient::new(&settings(script), Random::seeded(7)));
        let source = Uia::new(helper, isphere::settings::Uia { profile }, clock.clone());
        Self { folder, clock, source: Arc::new(source) }
    }

    /// Changes what the window shows, a second later.
    fn shows(&self, shown: &Value) {
        data_file(self.folder.path(), "dump.json", shown);
        self.clock.advance(Duration::from_secs(1));
    }

    fn looks(&self) -> usize {
        std::fs::read_to_string(PathBuf::from(self.folder.path()).join("looks")).unwrap().lines().count()
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn shown() -> Shown {
    Shown {
        people: pairs(&[("张三", "研发中心/平台组"), ("李四", ""), ("王五", "研发中心"), ("李四", "财务部")]),
        groups: names(&["财务部", "重庆火锅群"]),
        conversations: names(&["财务部", "张三"]),
        open: "财务部".to_owned(),
        said: pairs(&[("张三", "收到"), ("李四", "报表在哪"), ("张三", "收到"), ("王五", "第四条\n两行")]),
    }
}

fn login_form() -> Value {
    let parts = vec![
        element("ComboBox", "cboUser", "", Vec::new()),
        element("Edit", "txtPassword", "", Vec::new()),
        element("Button", "btnLogin", "登 录", Vec::new()),
    ];
    window::dump(element("Window", "", "iSphere", vec![element("Pane", "loginPanel", "", parts)]))
}

fn lookup(query: &str) -> Lookup<'_> {
    Lookup { query, include_inactive: false, limit: 10, after: None }
}

fn every_message() -> MessageQuery<'static> {
    MessageQuery {
        conversation_id: None,
        conversation_type: None,
        keyword: None,
        since_ms: None,
        limit: 10,
        after: None,
        until: None,
    }
}

async fn down(desk: &Desk) -> SourceError {
    desk.source.health().await.unwrap_err()
}

#[tokio::test]
async fn a_client_that_is_not_there_is_unavailable() {
    for (script, told, again) in [
        ("refuse WINDOW_NOT_FOUND 'no window'", "no window", true),
        ("refuse AMBIGUOUS_WINDOW 'two windows'", "two windows", false),
        ("refuse APP_BUSY busy", "busy", true),
    ] {
        let error = down(&Desk::answering(script, Some(PROFILE))).await;
        let SourceError::Unavailable { message, retryable } = &error else { panic!("{error:?}") };
        assert!(message.contains(told) && *retryable == again, "{error:?}");
    }
    let none = HelperClient::new(&isphere::settings::Helper::default(), Random::seeded(7));
    let source = Uia::new(Arc::new(none), isphere::settings::Uia::default(), Clock::manual(0));
    assert!(matches!(source.health().await, Err(SourceError::Unavailable { retryable: false, .. })));
}

#[tokio::test]
async fn a_login_form_says_that_nobody_is_signed_in() {
    for profile in [None, Some(PROFILE)] {
        assert!(matches!(down(&Desk::new(&login_form(), profile)).await, SourceError::NotLoggedIn(_)));
    }
    let own = format!("{PROFILE}\n[login]\nautomation_id = 'loginPanel'");
    assert!(matches!(down(&Desk::new(&login_form(), Some(&own))).await, SourceError::NotLoggedIn(_)));
    assert_eq!(Desk::new(&shown().dump(), Some(&own)).source.health().await, Ok(()));
    let refused = Desk::answering("refuse APP_NOT_LOGGED_IN 'sign in'", None);
    assert!(matches!(down(&refused).await, SourceError::NotLoggedIn(_)));
}

#[tokio::test]
async fn without_a_profile_only_the_state_is_known() {
    let error = down(&Desk::new(&shown().dump(), None)).await.to_string();
    assert!(error.contains("signed in") && error.contains("propose-profile"), "{error}");
}

#[tokio::test]
async fn a_profile_that_does_not_serve_is_told_without_its_path() {
    let error = down(&Desk::new(&shown().dump(), Some("[contacts"))).await.to_string();
    assert!(error.contains("doctor") && !error.contains("isphere.uia.toml"), "{error}");
}

#[tokio::test]
async fn of_several_windows_the_profile_selects_one() {
    let window = |hwnd: &str, title: &str, score: u8| {
        json!({"hwnd": hwnd, "pid": 1, "process_name": "IMPlatformClient", "title": title, "class_name": "WindowsForms10.Window.8",
            "visible": true, "bounds": {"x": 0, "y": 0, "width": 1, "height": 1}, "score": score})
    };
    let chat = window("0x00000001", "张三", 90);
    let main = window("0x001A0B2C", "iSphere", 90);
    let browser = window("0x00000003", "iSphere", 20);
    let profile = format!("[window]\ntitle = 'iSphere'\n{PROFILE}");
    let desk = |windows: &[&Value]| {
        let folder = tempfile::tempdir().unwrap();
        let scan = json!({"windows": windows, "truncated": false});
        let (scan, dump) = (
            data_file(folder.path(), "scan.json", &scan),
            data_file(folder.path(), "dump.json", &shown().dump()),
        );
        let script = format!(
            "case $line in *scan_windows*) respond \"$(cat '{}')\";; *0x001A0B2C*) respond \"$(cat '{}')\";; *) exit 3;; esac",
            scan.display(),
            dump.display()
        );
        Desk::with(&script, Some(&profile), folder)
    };
    assert_eq!(desk(&[&chat, &main, &browser]).source.health().await, Ok(()));
    for (windows, told) in [
        (vec![&browser], "start it and sign in"),
        (vec![&chat, &chat], "none of the client's windows"),
        (vec![&main, &main], "selects several windows"),
    ] {
        let error = down(&desk(&windows)).await.to_string();
        assert!(error.contains(told), "{error}");
    }
}

#[tokio::test]
async fn people_are_found_by_name_and_department_as_surely_as_elsewhere() {
    let desk = Desk::new(&shown().dump(), Some(PROFILE));
    for (query, name, confidence) in
        [("张三", "张三", 1.0), ("zs", "张三", 0.9), ("研发中心/平台组", "张三", 0.5)]
    {
        let page = desk.source.contacts(&lookup(query)).await.unwrap();
        let hit = &page.items[0].item;
        assert_eq!((hit.item.display_name.as_str(), hit.item.contact_id.as_str()), (name, name), "{query}");
        assert!((hit.confidence - confidence).abs() < f64::EPSILON, "{query}: {}", hit.confidence);
        assert!(hit.item.raw_ref.starts_with("uia:contacts#"), "{}", hit.item.raw_ref);
    }
    let department = desk.source.contact("王五").await.unwrap().unwrap().department;
    assert_eq!(department.as_deref(), Some("研发中心"));
}

#[tokio::test]
async fn rows_of_one_name_are_one_person_and_a_warning() {
    let desk = Desk::new(&shown().dump(), Some(PROFILE));
    let page = desk.source.contacts(&lookup("李四")).await.unwrap();
    assert_eq!(page.items.len(), 1);
    assert_eq!(page.items[0].item.item.department, None, "the two rows are in different departments");
    assert_eq!(page.warnings[0].code, "NAMESAKES");
    // The warning is the same whoever is asked for, so that it tells nothing of one whom a policy hides.
    for other in ["张三", "nobody"] {
        assert_eq!(desk.source.contacts(&lookup(other)).await.unwrap().warnings, page.warnings, "{other}");
    }
    assert_eq!(desk.source.groups(&lookup("部")).await.unwrap().warnings, [], "no group has another's name");
}

#[tokio::test]
async fn conversations_are_those_of_the_list_and_the_open_one() {
    let desk = Desk::new(&Shown { open: "王五".to_owned(), ..shown() }.dump(), Some(PROFILE));
    for (name, kind) in [
        ("财务部", ConversationType::Group),
        ("张三", ConversationType::Direct),
        ("王五", ConversationType::Direct),
    ] {
        let found = desk.source.conversation(name).await.unwrap().unwrap();
        assert_eq!((found.conversation_type, found.peer_id.as_deref()), (kind, Some(name)));
    }
    assert_eq!(desk.source.conversation("李四").await.unwrap(), None);
}

#[tokio::test]
async fn messages_are_those_of_the_open_conversation_the_newest_first() {
    let desk = Desk::new(&shown().dump(), Some(PROFILE));
    let page = desk.source.messages(&every_message()).await.unwrap();
    let said: Vec<_> =
        page.items.iter().map(|found| (found.item.sender_id.as_deref(), found.item.text.as_str())).collect();
    let expected = [
        (Some("王五"), "第四条\n两行"),
        (Some("张三"), "收到"),
        (Some("李四"), "报表在哪"),
        (Some("张三"), "收到"),
    ];
    assert_eq!(said, expected);
    let ids: std::collections::HashSet<_> = page.items.iter().map(|found| &found.item.message_id).collect();
    assert_eq!(ids.len(), 4, "two that say the same are two");
    assert!(
        page.items
            .iter()
            .all(|found| found.item.conversation_id == "财务部" && found.item.created_ms.is_none())
    );
}

#[tokio::test]
async fn pages_stay_whole_while_messages_arrive_and_end_where_the_screen_does() {
    let mut now = shown();
    let desk = Desk::new(&now.dump(), Some(PROFILE));
    let two = MessageQuery { limit: 2, ..every_message() };
    let first = desk.source.messages(&two).await.unwrap();
    now.said.push(("张三".to_owned(), "新的".to_owned()));
    desk.shows(&now.dump());
    let after = first.next.as_deref();
    let second = desk.source.messages(&MessageQuery { after, ..two }).await.unwrap();
    let texts: Vec<_> = second.items.iter().map(|found| found.item.text.as_str()).collect();
    assert_eq!((texts, second.next), (vec!["报表在哪", "收到"], None));
    now.said.clear();
    desk.shows(&now.dump());
    let gone = desk.source.messages(&MessageQuery { after, ..two }).await.unwrap_err();
    assert_eq!(gone, SourceError::StalePosition);
}

#[tokio::test]
async fn what_a_window_does_not_give_is_said() {
    let desk = Desk::new(&shown().dump(), Some(PROFILE));
    let other = MessageQuery { conversation_id: Some("张三"), ..every_message() };
    let late = MessageQuery { since_ms: Some(0), ..every_message() };
    for (query, code) in [(other, "NOT_OPEN"), (late, "NO_TIMES")] {
        let page = desk.source.messages(&query).await.unwrap();
        assert_eq!((page.items.len(), &*page.warnings[0].code), (0, code));
    }
    let all = FileQuery { conversation_id: None, message_id: None, limit: 10, after: None };
    assert_eq!(desk.source.files(&all).await.unwrap().warnings[0].code, "NO_FILES");
    let mut part = shown().dump();
    part["truncated"] = json!(true);
    desk.shows(&part);
    assert_eq!(desk.source.contacts(&lookup("张三")).await.unwrap().warnings[0].code, "WINDOW_READ_IN_PART");
}

#[tokio::test]
async fn messages_are_filtered_by_keyword_and_type() {
    let desk = Desk::new(&shown().dump(), Some(PROFILE));
    for (query, expected) in [
        (MessageQuery { keyword: Some("报表"), ..every_message() }, 1),
        (MessageQuery { conversation_type: Some(ConversationType::Group), ..every_message() }, 4),
        (MessageQuery { conversation_type: Some(ConversationType::Direct), ..every_message() }, 0),
        (MessageQuery { conversation_id: Some("财务部"), ..every_message() }, 4),
    ] {
        assert_eq!(desk.source.messages(&query).await.unwrap().items.len(), expected, "{query:?}");
    }
}

#[tokio::test]
async fn a_section_that_fits_no_or_several_elements_says_which() {
    let twice = window::dump(element("Window", "", "iSphere", vec![window::list("a", &names(&["x"])); 2]));
    for (profile, told) in [
        ("[contacts]\nautomation_id = 'none'\nrows = 'ListItem'", "NOT_ON_SCREEN"),
        ("[groups]\nautomation_id = 'none'\nrows = 'ListItem'", "NOT_IN_PROFILE"),
    ] {
        let desk = Desk::new(&twice, Some(profile));
        let page = desk.source.contacts(&lookup("x")).await.unwrap();
        assert_eq!((page.items.len(), &*page.warnings[0].code), (0, told));
        let error = desk.source.messages(&every_message()).await.unwrap_err();
        assert!(matches!(error, SourceError::Unavailable { retryable: false, .. }), "{error:?}");
    }
    for (section, told) in [("none", "shows nothing that [messages]"), ("a", "selects 2 elements")] {
        let desk =
            Desk::new(&twice, Some(&format!("[messages]\nautomation_id = '{section}'\nrows = 'ListItem'")));
        let error = desk.source.messages(&every_message()).await.unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}

#[tokio::test]
async fn one_look_answers_the_questions_of_a_second() {
    let desk = Desk::new(&shown().dump(), Some(PROFILE));
    desk.source.health().await.unwrap();
    desk.source.contacts(&lookup("张三")).await.unwrap();
    assert_eq!(desk.looks(), 1);
    desk.clock.advance(Duration::from_secs(1));
    desk.source.groups(&lookup("群")).await.unwrap();
    assert_eq!(desk.looks(), 2);
}

#[tokio::test]
async fn a_policy_hides_by_the_names_that_the_window_shows() {
    let desk = Desk::new(&shown().dump(), Some(PROFILE));
    let policy = Policy { deny: names(&["张三", "group:财务部"]), ..Policy::default() };
    let rig = Rig::over(vec![(SourceName::Uia, Ok(desk.source.clone()))], policy, |_| ());
    let people = rig.answer("isphere_search_contacts", json!({"query": "张三"})).await;
    assert_eq!((&people["ok"], &people["contacts"]), (&json!(true), &json!([])), "{people}");
    assert_eq!(
        rig.code("isphere_receive_messages", json!({"conversation_id": "财务部"})).await,
        "PERMISSION_DENIED"
    );
    let known = rig.answer("isphere_search_contacts", json!({"query": "王五"})).await;
    assert_eq!(known["contacts"][0]["source"], "uia");
}

#[tokio::test]
async fn a_proposed_profile_reads_what_the_window_shows() {
    let dump: Dump = serde_json::from_value(shown().dump()).unwrap();
    let proposed = propose(&dump);
    let profile = Profile::parse(&proposed).unwrap_or_else(|error| panic!("{error}\n{proposed}"));
    assert!(
        profile.contacts.is_some() && profile.groups.is_some() && profile.conversations.is_some(),
        "{proposed}"
    );
    let desk = Desk::new(&shown().dump(), Some(&proposed));
    assert_eq!(desk.source.contacts(&lookup("张三")).await.unwrap().items.len(), 1);
    assert_eq!(desk.source.groups(&lookup("重庆")).await.unwrap().items.len(), 1);
    assert_eq!(desk.source.conversation("张三").await.unwrap().unwrap().display_name, "张三");
    let open = desk.source.conversations(&lookup("财务部")).await.unwrap();
    assert_eq!(open.items.len(), 1, "the title was found:\n{proposed}");
}

#[test]
fn what_cannot_be_guessed_is_a_comment() {
    let parts = vec![
        window::list("4711", &names(&["a\n[contacts]", "b"])),
        window::list("lstStuff", &names(&["x"])),
        element("Document", "", "", vec![element("Text", "", "hello", Vec::new())]),
    ];
    let dump: Dump = serde_json::from_value(window::dump(element("Window", "", "iSphere", parts))).unwrap();
    let proposed = propose(&dump);
    let profile = Profile::parse(&proposed).unwrap_or_else(|error| panic!("{error}\n{proposed}"));
    assert_eq!(profile.contacts, None);
    assert_eq!(profile.messages.unwrap().control_type.as_deref(), Some("Document"), "the only document");
    assert!(proposed.contains("# automation_id = \"lstStuff\"") && !proposed.contains("4711"), "{proposed}");
    insta::assert_snapshot!(proposed);
}
