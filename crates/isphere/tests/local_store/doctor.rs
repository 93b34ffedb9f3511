//! What the doctor tells the operator of a store: what its profile yields, and what cannot be meant.

use govern::clock::Clock;
use govern::gate::Policy;
use govern::language::Language;
use isphere::doctor::{Finding, State, examine, out_of_reach};
use isphere::settings::{LocalReadonly, Settings};

use super::support::{Fixture, PROFILE, SCHEMA, insert_message};

const PROFILE_SUBJECT: &str = "[isphere.local_readonly] profile";
const POLICY_SUBJECT: &str = "[policy] allow, deny";

fn settings(fixture: &Fixture, language: Language) -> Settings {
    Settings {
        local_readonly: LocalReadonly { store: Some(fixture.store.clone()), ..LocalReadonly::default() },
        state_dir: fixture.folder.path().join("state"),
        language,
        ..Settings::default()
    }
}

async fn findings(fixture: &Fixture, language: Language) -> Vec<Finding> {
    examine(&settings(fixture, language), &Policy::default(), &Clock::System).await
}

async fn said(fixture: &Fixture, language: Language, subject: &str) -> String {
    let findings = findings(fixture, language).await;
    let found = findings.iter().find(|finding| finding.subject == subject);
    found.unwrap_or_else(|| panic!("{subject}: {findings:?}")).message.clone()
}

/// What a policy with this `deny` does not reach, in English.
async fn missed(fixture: &Fixture, deny: &[&str]) -> Vec<String> {
    let deny = deny.iter().map(|entry| (*entry).to_owned()).collect();
    let policy = Policy { deny, ..Policy::default() };
    let findings = out_of_reach(&settings(fixture, Language::English), &policy, &Clock::System).await;
    assert!(
        findings.iter().all(|finding| finding.subject == POLICY_SUBJECT && finding.state == State::Problem)
    );
    findings.into_iter().map(|finding| finding.message).collect()
}

/// The chat client's store, with the conversations read by this section.
fn reading(conversations: &str) -> Fixture {
    let (before, rest) = PROFILE.split_once("[conversations]").unwrap();
    let (_, after) = rest.split_once("[messages]").unwrap();
    Fixture::new(SCHEMA, &format!("{before}{conversations}\n[messages]{after}"))
}

#[tokio::test]
async fn a_policy_that_reaches_every_conversation_is_no_fault() {
    let fixture = Fixture::chat(1);
    for deny in [&["contact:2"][..], &["group:g1"], &["2", "g1"], &["conversation:c1"], &[]] {
        assert_eq!(missed(&fixture, deny).await, [""; 0], "{deny:?}");
    }
    let by_own_ids = reading(
        "[conversations]\nselect = \"SELECT uid AS id, nick AS name, 'direct' AS type FROM user \
         UNION ALL SELECT gid, title, 'group' FROM room\"",
    );
    assert_eq!(missed(&by_own_ids, &["contact:2", "group:g1"]).await, [""; 0]);
    let one_who_left = reading(
        "[conversations]\nselect = \"SELECT cid AS id, title AS name, 'direct' AS type, '99' AS peer FROM chat \
         UNION ALL SELECT 'c9', '李四', 'direct', '2'\"",
    );
    assert_eq!(missed(&one_who_left, &["contact:2"]).await, [""; 0]);
}

#[tokio::test]
async fn entries_that_reach_no_conversation_are_a_fault_that_says_what_the_profile_lacks() {
    let types = "types = { 1 = 'direct', 2 = 'group' }";
    for (conversations, deny, word) in [
        (
            format!(
                "[conversations]\nselect = 'SELECT cid AS id, title AS name, kind AS type FROM chat'\n{types}"
            ),
            "contact:2",
            "`peer`",
        ),
        (
            format!(
                "[conversations]\nselect = 'SELECT cid AS id, title AS name, kind AS type FROM chat'\n{types}"
            ),
            "group:g1",
            "`peer`",
        ),
        (
            format!(
                "[conversations]\nselect = 'SELECT cid AS id, title AS name, kind AS type FROM chat'\n{types}"
            ),
            "2",
            "`peer`",
        ),
        // Some kind of client leaves it empty.
        (
            format!(
                "[conversations]\nselect = \"SELECT cid AS id, title AS name, kind AS type, '' AS peer FROM chat\"\n{types}"
            ),
            "contact:2",
            "`peer`",
        ),
        // The peers are names, the people have numbers.
        (
            format!(
                "[conversations]\nselect = 'SELECT cid AS id, title AS name, kind AS type, title AS peer FROM chat'\n{types}"
            ),
            "contact:2",
            "`peer`",
        ),
        (
            "[conversations]\nselect = 'SELECT cid AS id, title AS name FROM chat'".to_owned(),
            "group:g1",
            "none of which counts as a group's",
        ),
        (
            "[conversations]\nselect = 'SELECT cid AS id, title AS name, peer FROM chat'".to_owned(),
            "group:g1",
            "`type`",
        ),
        (
            "[conversations]\nselect = 'SELECT cid AS id, title AS name, kind AS type, peer FROM chat'"
                .to_owned(),
            "group:g1",
            "`type`",
        ),
        (String::new(), "conversation:c1", "no [conversations]"),
    ] {
        let told = missed(&reading(&conversations), &[deny]).await.join("\n");
        assert!(told.contains(word), "{conversations} {deny}: {told}");
    }
}

#[tokio::test]
async fn the_doctor_tells_what_the_policy_does_not_reach_in_both_languages() {
    let fixture = reading("[conversations]\nselect = 'SELECT cid AS id, title AS name FROM chat'");
    let policy = Policy { deny: vec!["contact:2".to_owned()], ..Policy::default() };
    for (language, word) in [
        (Language::Chinese, "deny 挡不住其中的消息"),
        (Language::English, "deny does not hide their messages"),
    ] {
        let findings = examine(&settings(&fixture, language), &policy, &Clock::System).await;
        let found = findings.iter().find(|finding| finding.subject == POLICY_SUBJECT);
        assert!(found.is_some_and(|found| found.message.contains(word)), "{findings:?}");
    }
}

#[tokio::test]
async fn entries_whose_ids_the_store_does_not_have_are_noted() {
    let fixture = Fixture::chat(1);
    for (allow, deny, unknown) in [
        (&[][..], &["contact:2", "group:g1", "conversation:c1", "2", "g1", "c2"][..], &[][..]),
        (
            &["contact:g1", "c1"],
            &["group:c1", "conversation:2", "nosuch"],
            &["contact:g1", "group:c1", "conversation:2", "nosuch"],
        ),
    ] {
        let owned = |entries: &[&str]| entries.iter().map(|entry| (*entry).to_owned()).collect();
        let policy = Policy { allow: owned(allow), deny: owned(deny), ..Policy::default() };
        for (language, word) in [(Language::English, "the store has no"), (Language::Chinese, "存储中没有")]
        {
            let findings = examine(&settings(&fixture, language), &policy, &Clock::System).await;
            let noted = findings.iter().find(|finding| finding.message.contains(word));
            assert_eq!(noted.is_some(), !unknown.is_empty(), "{findings:?}");
            let Some(noted) = noted else { continue };
            assert!(noted.subject == POLICY_SUBJECT && noted.state == State::Missing, "{noted:?}");
            assert!(noted.message.contains(&unknown.join(", ")), "{noted:?}");
        }
    }
    let without_groups =
        Fixture::new(SCHEMA, "[contacts]\nselect = 'SELECT uid AS id, nick AS name FROM user'");
    let policy = Policy { deny: vec!["group:nosuch".to_owned()], ..Policy::default() };
    let findings = examine(&settings(&without_groups, Language::English), &policy, &Clock::System).await;
    assert!(findings.iter().all(|finding| !finding.message.contains("nosuch")), "{findings:?}");
}

#[tokio::test]
async fn a_select_that_fails_while_rows_are_read_is_a_fault_with_its_section_and_sqlites_words() {
    for (column, failing, section, words) in [
        ("body AS text", "json_extract(body, '$.a') AS text", "[messages]", "malformed JSON"),
        ("body AS text", "body || abs(-9223372036854775808) AS text", "[messages]", "integer overflow"),
        ("body AS text", "zeroblob(1000000000) AS text", "[messages]", "too big"),
        ("owner,", "json(title) AS owner,", "[groups]", "malformed JSON"),
        ("uid AS contact", "json(gid) AS contact", "[members]", "malformed JSON"),
    ] {
        let fixture = Fixture::new(SCHEMA, &PROFILE.replace(column, failing));
        insert_message(&fixture.writer(), "c1", 1, 1_700_000_000_000);
        for (language, fails) in [(Language::English, "`select` fails"), (Language::Chinese, "`select` 失败")]
        {
            let findings = findings(&fixture, language).await;
            let fault = findings.iter().find(|finding| finding.state == State::Problem);
            let fault = fault.unwrap_or_else(|| panic!("{failing}: {findings:?}"));
            for word in [section, fails, words, "store.profile.toml"] {
                assert!(fault.message.contains(word), "{failing}: {fault:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_select_that_is_too_much_for_sqlite_is_a_fault_with_its_section_and_sqlites_words() {
    let terms = vec!["uid > 0"; 20_000].join(" OR ");
    let profile = format!("[contacts]\nselect = 'SELECT uid AS id, nick AS name FROM user WHERE {terms}'");
    let fixture = Fixture::new(SCHEMA, &profile);
    for language in [Language::English, Language::Chinese] {
        let told = said(&fixture, language, "[isphere] sources: local_readonly").await;
        for word in ["[contacts]", "too large", "store.profile.toml"] {
            assert!(told.contains(word) && !told.contains("uid > 0"), "{told}");
        }
    }
}

#[tokio::test]
async fn what_the_profile_yields_is_counted() {
    let fixture = Fixture::chat(20);
    fixture.writer().execute_batch("INSERT INTO chat VALUES (NULL, 'x', 1, NULL)").unwrap();
    let told = said(&fixture, Language::English, PROFILE_SUBJECT).await;
    let (path, yields) = told.split_once(" yields ").unwrap();
    assert!(path.ends_with("store.profile.toml"), "{told}");
    assert_eq!(
        yields,
        "people 3, groups 2, members of groups 2, conversations 3 (1 of them left out, for their ids cannot be used), messages 40, files 0"
    );
    let few = Fixture::new(SCHEMA, "[contacts]\nselect = 'SELECT uid AS id, nick AS name FROM user'");
    let told = said(&few, Language::Chinese, PROFILE_SUBJECT).await;
    let yields =
        "读到：人 3，没有 [groups]，没有 [members]，没有 [conversations]，没有 [messages]，没有 [files]";
    assert!(told.ends_with(yields), "{told}");
}

#[tokio::test]
async fn counting_ends_after_a_while() {
    let numbers =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, i AS name FROM n";
    let profile = format!("[contacts]\nselect = '{numbers}'\n[groups]\nselect = '{numbers} WHERE i < 0'\n");
    let told = said(&Fixture::new(SCHEMA, &profile), Language::English, PROFILE_SUBJECT).await;
    assert!(told.contains("people more than ") && told.contains("groups unknown within"), "{told}");
}

#[tokio::test]
async fn times_in_the_wrong_unit_are_a_fault_that_names_the_right_one() {
    let fixture = Fixture::chat(3);
    let path = fixture.folder.path().join("store.profile.toml");
    // What is read as seconds lies after the year 9998; what is read as milliseconds, in January 1970.
    for (is, read_as, stored) in [
        ("unix_ms", "unix_s", "1700000000000"),
        ("unix_s", "unix_ms", "1700000000"),
        ("unix_us", "dotnet_ticks", "1700000000000000"),
    ] {
        fixture.writer().execute_batch(&format!("UPDATE msg SET ts = {stored}, recv = 0")).unwrap();
        std::fs::write(&path, PROFILE.replace("created = \"unix_ms\"", &format!("created = \"{read_as}\"")))
            .unwrap();
        let told = said(&fixture, Language::English, "[messages] time").await;
        assert!(
            told.starts_with(&format!("created = \"{read_as}\""))
                && told.contains(&format!("look like \"{is}\"")),
            "{told}"
        );
        std::fs::write(&path, PROFILE.replace("created = \"unix_ms\"", &format!("created = \"{is}\"")))
            .unwrap();
        let findings = findings(&fixture, Language::English).await;
        assert!(findings.iter().all(|finding| finding.subject != "[messages] time"), "{findings:?}");
    }
}

#[tokio::test]
async fn where_the_files_are_is_told() {
    const SUBJECT: &str = "[isphere.local_readonly] files_dir";
    let fixture = Fixture::chat(1);
    assert!(said(&fixture, Language::English, SUBJECT).await.ends_with("store.files"));
    std::fs::remove_dir(fixture.folder.path().join("store.files")).unwrap();
    assert!(said(&fixture, Language::English, SUBJECT).await.contains("no file can be downloaded"));
    let mut settings = settings(&fixture, Language::Chinese);
    settings.local_readonly.files_dir = Some(fixture.folder.path().join("elsewhere"));
    let findings = examine(&settings, &Policy::default(), &Clock::System).await;
    let found = findings.iter().find(|finding| finding.subject == SUBJECT).unwrap();
    assert!(found.state == State::Problem && found.message.contains("不能读取"), "{found:?}");
}

#[tokio::test]
async fn what_is_wrong_with_a_store_or_its_profile_is_told_in_both_languages_with_the_profiles_file() {
    const SUBJECT: &str = "[isphere] sources: local_readonly";
    let fixture = Fixture::new(SCHEMA, "[contacts]\nselect = 'SELECT nope AS id, nick AS name FROM user'");
    for (language, word) in [(Language::Chinese, "`select` 失败"), (Language::English, "`select` fails")] {
        let told = said(&fixture, language, SUBJECT).await;
        assert!(
            told.contains(word) && told.contains("nope") && told.contains("store.profile.toml"),
            "{told}"
        );
    }
    std::fs::write(fixture.folder.path().join("store.profile.toml"), "[contacts]\nselekt = ''").unwrap();
    let told = said(&fixture, Language::Chinese, SUBJECT).await;
    assert!(told.starts_with("profile 无效") && told.contains("store.profile.toml"), "{told}");
    std::fs::remove_file(fixture.folder.path().join("store.profile.toml")).unwrap();
    let told = said(&fixture, Language::Chinese, SUBJECT).await;
    assert!(told.starts_with("读不到 profile") && told.contains("store.profile.toml"), "{told}");
    std::fs::write(&fixture.store, "no database").unwrap();
    std::fs::write(fixture.folder.path().join("store.profile.toml"), PROFILE).unwrap();
    assert!(said(&fixture, Language::Chinese, SUBJECT).await.starts_with("本地存储不是 SQLite 数据库"));
}
