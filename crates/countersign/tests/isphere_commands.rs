//! The commands with which an operator sets up the iSphere half: sample, inspect, index, doctor, tokens.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod support;

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::Stdio,
    sync::mpsc::channel,
    time::Duration,
};

use serde_json::{Value, json};
use support::{Place, post, tool_call};

const SIZES: [&str; 8] = ["--contacts", "60", "--groups", "8", "--messages", "600", "--seed", "7"];

fn sample<'a>(sizes: &[&'a str], store: &'a str) -> Vec<&'a str> {
    [&["isphere", "sample"], sizes, &[store]].concat()
}

fn read(place: &Place, name: &str) -> Vec<u8> {
    fs::read(place.path().join(name)).unwrap()
}

/// Names, sizes and times of all that lies in a folder.
fn listing(folder: &Path) -> Vec<String> {
    let mut entries: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            format!("{} {} {:?}", entry.file_name().display(), metadata.len(), metadata.modified().unwrap())
        })
        .collect();
    entries.sort();
    entries
}

/// Adds lines to the configuration file.
fn configure(place: &Place, lines: &str) {
    let file = place.path().join("countersign.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}{lines}\n")).unwrap();
}

/// What the doctor finds about one subject.
fn finding<'a>(findings: &'a Value, subject: &str) -> &'a Value {
    let found = findings.as_array().unwrap().iter().find(|finding| finding["subject"] == subject);
    found.unwrap_or_else(|| panic!("{subject} is not in {findings}"))
}

#[test]
fn a_sample_is_the_same_for_the_same_seed_and_overwrites_nothing() {
    let place = Place::empty();
    let told = place.prints(&sample(&SIZES, "one.db"));
    assert_eq!(told, "one.db: 60 people, 8 groups, 600 messages; profile one.profile.toml");
    place.prints(&sample(&SIZES, "two.db"));
    assert_eq!(read(&place, "one.db"), read(&place, "two.db"));
    assert_eq!(read(&place, "one.profile.toml"), read(&place, "two.profile.toml"));
    assert!(fs::read_dir(place.path().join("one.files")).unwrap().count() > 0);
    place.prints(&sample(&[&SIZES[..7], &["8"]].concat(), "other.db"));
    assert_ne!(read(&place, "one.db"), read(&place, "other.db"));

    let before = listing(place.path());
    let error = place.fails(&sample(&SIZES, "one.db"));
    assert!(error.contains("one.db is there already"), "{error}");
    let error = place.fails(&sample(&["--contacts", "0"], "none.db"));
    assert!(error.contains("must be from"), "{error}");
    assert_eq!(listing(place.path()), before);
}

#[test]
fn inspect_prints_what_is_there_and_a_profile_that_serves() {
    let place = Place::with_isphere();
    let before = listing(place.path());
    let proposed = place.prints(&["isphere", "inspect", "store.db"]);
    assert_eq!(listing(place.path()), before, "looking changes nothing");
    for word in ["contact_info", "chat_message", "600", "[contacts]", "[messages]", "unix_ms"] {
        assert!(proposed.contains(word), "{word} is not in\n{proposed}");
    }
    let search = json!({"query": "li", "limit": 100});
    let own = place.serve_isphere().call("isphere_search_contacts", &search);
    fs::write(place.path().join("store.profile.toml"), proposed).unwrap();
    place.prints(&["isphere", "tokens", "revoke", "agent"]);
    let guessed = place.serve_isphere().call("isphere_search_contacts", &search);
    assert!(own["contacts"].as_array().is_some_and(|found| !found.is_empty()), "{own}");
    assert_eq!(own["contacts"], guessed["contacts"]);
}

#[test]
fn inspect_says_what_is_wrong_with_a_file_that_is_no_store() {
    let place = Place::empty();
    let noise: Vec<u8> = (0_u32..16_384)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0] ^ (at >> 5).to_le_bytes()[0])
        .collect();
    fs::write(place.path().join("secret.db"), noise).unwrap();
    fs::write(place.path().join("letter.db"), "Dear Sir or Madam").unwrap();
    for (name, word) in
        [("secret.db", "encrypted"), ("letter.db", "not an SQLite database"), ("no.db", "not there")]
    {
        let error = place.fails(&["isphere", "inspect", name]);
        assert!(error.contains(word), "{name}: {error}");
    }
}

#[test]
fn a_select_that_fails_is_told_to_who_builds_the_index_with_its_section_and_sqlites_words() {
    let place = Place::with_isphere();
    let profile = place.path().join("store.profile.toml");
    fs::write(&profile, "[contacts]\nselect = \"SELECT json('x') AS id, 'x' AS name\"").unwrap();
    let error = place.fails(&["isphere", "index"]);
    for word in ["[contacts]", "malformed JSON", "store.profile.toml"] {
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn an_index_is_built_once_then_only_what_is_new_and_a_running_server_uses_it_at_once() {
    let place = Place::with_isphere();
    let server = place.serve_isphere();
    let warnings = |answer: &Value| answer["warnings"].as_array().unwrap().len();
    let slow = server.call("isphere_search_contacts", &json!({"query": "li"}));
    assert_eq!((slow["warnings"][0]["code"].as_str(), warnings(&slow)), (Some("SEARCH_WITHOUT_INDEX"), 1));

    let built = place.json(&["isphere", "index", "--json"]);
    assert_eq!((&built["contacts"]["written"], &built["messages_added"]), (&json!(60), &json!(600)));
    let fast = server.call("isphere_search_contacts", &json!({"query": "li"}));
    assert_eq!((warnings(&fast), &fast["contacts"]), (0, &slow["contacts"]));
    let keyword = server.call("isphere_receive_messages", &json!({"query": "的", "limit": 1}));
    assert_eq!(warnings(&keyword), 0, "{keyword}");

    let again = place.prints(&["isphere", "index"]);
    assert!(again.starts_with("the index is up to date: 0 messages added; people 0, "), "{again}");
}

#[test]
fn a_damaged_index_says_how_to_rebuild_it_and_is_rebuilt_under_a_running_server() {
    let place = Place::with_isphere();
    place.prints(&["isphere", "index"]);
    let server = place.serve_isphere();
    let warning = || {
        let answer = server.call("isphere_search_contacts", &json!({"query": "li"}));
        assert_eq!(answer["ok"], true, "{answer}");
        answer["warnings"][0]["message"].as_str().unwrap_or_default().to_owned()
    };
    let index = fs::read_dir(place.path().join("state/index")).unwrap();
    let index =
        index.map(|entry| entry.unwrap().path()).find(|path| path.extension().is_some_and(|end| end == "db"));
    fs::write(index.unwrap(), "no index at all ".repeat(1_000)).unwrap();
    assert!(place.fails(&["isphere", "index"]).contains("isphere index --rebuild"));
    assert!(warning().contains("isphere index --rebuild"));
    let rebuilt = place.json(&["isphere", "index", "--rebuild", "--json"]);
    assert_eq!(rebuilt["messages_added"], 600);
    assert_eq!(warning(), "");
}

#[test]
fn an_index_of_a_store_that_cannot_be_read_says_why() {
    let place = Place::with_isphere();
    fs::remove_file(place.path().join("store.db")).unwrap();
    let error = place.fails(&["isphere", "index"]);
    assert!(error.contains("the local store is not there"), "{error}");
    let error = Place::empty().fails(&["isphere", "index"]);
    assert!(error.contains("set [isphere.local_readonly] store"), "{error}");
}

#[test]
fn a_faulty_profile_is_told_to_the_operator_with_its_file() {
    let place = Place::with_isphere();
    for profile in [
        "[contacts]\nselect = 'SELECT nope AS id, 1 AS name FROM contact_info'",
        "[contacts]\nselekt = ''",
        // This one fails when the index asks for it.
        "[messages]\nselect = 'SELECT 1 AS id, 2 AS conversation, 3 AS text'",
    ] {
        fs::write(place.path().join("store.profile.toml"), profile).unwrap();
        let error = place.fails(&["isphere", "index"]);
        assert!(error.contains("(the profile is store.profile.toml)"), "{error}");
    }
    fs::write(place.path().join("store.profile.toml"), "[contacts]\nselekt = ''").unwrap();
    says_after_its_start(&place, &["(the profile is store.profile.toml)", "selekt"]);
    let doctor = place.command(support::BINARY).args(["isphere", "doctor"]).output().unwrap();
    let told = String::from_utf8([doctor.stdout, doctor.stderr].concat()).unwrap();
    assert!(told.contains("(the profile is store.profile.toml)") && told.contains("selekt"), "{told}");
}

/// A server over stdio logs these words while its input is open.
fn says_after_its_start(place: &Place, words: &[&str]) {
    let mut serve = place.command(support::BINARY);
    serve.args(["isphere", "serve"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut server = serve.spawn().unwrap();
    let lines = BufReader::new(server.stderr.take().unwrap()).lines();
    let (say, said) = channel();
    std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| say.send(line)));
    let mut log = String::new();
    while !words.iter().all(|word| log.contains(word)) {
        // Far longer than a look takes; without a bound, a server that says nothing would hold the test for ever.
        let Ok(line) = said.recv_timeout(Duration::from_mins(1)) else { break };
        log = log + &line + "\n";
    }
    drop(server.stdin.take());
    server.wait().unwrap();
    assert!(words.iter().all(|word| log.contains(word)), "{log}");
}

#[test]
fn a_server_whose_policy_reaches_no_conversation_says_so_when_it_starts() {
    let place = Place::with_isphere();
    configure(&place, "[policy]\ndeny = ['contact:u1']");
    let file = place.path().join("store.profile.toml");
    let profile = fs::read_to_string(&file).unwrap();
    assert!(profile.contains("peer_id AS peer"), "{profile}");
    fs::write(&file, profile.replace("peer_id AS peer", "NULL AS peer")).unwrap();
    says_after_its_start(&place, &["[policy] allow, deny: entries for people do not reach"]);
}

#[test]
fn commands_that_use_no_configuration_offer_none_and_are_spoilt_by_none() {
    let place = Place::with_isphere();
    fs::write(place.path().join("countersign.toml"), "no configuration").unwrap();
    for command in ["inspect", "sample"] {
        let help = place.prints(&["isphere", command, "--help"]);
        assert!(!help.contains("--state") && !help.contains("--config"), "{help}");
    }
    place.prints(&["isphere", "inspect", "store.db"]);
    for command in ["serve", "doctor", "index", "tokens"] {
        let help = place.prints(&["isphere", command, "--help"]);
        assert!(help.contains("--state") && help.contains("--config"), "{help}");
    }
    assert!(place.prints(&["isphere", "tokens", "add", "--help"]).contains("twice for both"));
}

#[test]
fn the_doctor_explains_in_both_languages_and_changes_nothing() {
    let place = Place::with_isphere();
    let before = listing(place.path());
    let findings = place.json(&["isphere", "doctor", "--json"]);
    for (subject, state) in [
        ("[isphere] state_dir", "missing"),
        ("[isphere] sources: local_readonly", "ok"),
        ("[isphere] inbound_dir", "ok"),
        ("[isphere] operator_id", "ok"),
        ("tokens", "missing"),
        ("[policy]", "ok"),
        ("sending", "missing"),
    ] {
        assert_eq!(finding(&findings, subject)["state"], state, "{findings}");
    }
    let english = place.prints(&["isphere", "doctor"]);
    assert!(
        english.contains("ok: can be read") && english.contains("countersign isphere tokens add"),
        "{english}"
    );
    let chinese = place.prints(&["isphere", "doctor", "--language", "zh-CN"]);
    assert!(chinese.contains("正常: 可以读取") && chinese.contains("没有令牌"), "{chinese}");
    assert_eq!(listing(place.path()), before);
}

#[test]
fn the_doctor_names_what_does_not_work_and_exits_with_1() {
    let place = Place::with_isphere();
    let store = place.path().join("store.db");
    let content = fs::read(&store).unwrap();
    fs::write(&store, &content[..content.len() / 2]).unwrap();
    fs::remove_dir(place.path().join("in")).unwrap();
    let output = place.run(&["isphere", "doctor"]);
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(printed.contains("PROBLEM: the local store is cut short"), "{printed}");
    assert!(printed.contains("in is not a folder; make it"), "{printed}");
    assert!(support::failure(output).contains("2 of what is configured does not work"));

    fs::write(&store, content).unwrap();
    fs::write(
        place.path().join("store.profile.toml"),
        "[contacts]\nselect = 'SELECT nope AS id, 1 AS name FROM contact_info'",
    )
    .unwrap();
    let printed = String::from_utf8(place.run(&["isphere", "doctor", "--language", "zh-CN"]).stdout).unwrap();
    assert!(printed.contains("问题: "), "{printed}");
    assert!(printed.contains("nope"), "the operator sees what the profile's SELECT lacks: {printed}");
}

#[test]
fn the_doctor_says_of_sources_of_later_releases_what_to_configure() {
    let place = Place::with_isphere();
    let file = place.path().join("countersign.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("['local_readonly']", "['bridge', 'network', 'local_readonly']")).unwrap();
    let output = place.run(&["isphere", "doctor", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    for name in ["bridge", "network"] {
        let found = finding(&findings, &format!("[isphere] sources: {name}"));
        assert_eq!(found["state"], "problem");
        assert!(found["message"].as_str().unwrap().contains("configure local_readonly"), "{found}");
    }
}

#[test]
fn a_token_is_shown_once_listed_without_its_secret_and_refused_when_revoked() {
    let place = Place::with_isphere();
    let add = ["isphere", "tokens", "add", "--name", "reader", "--scope", "read", "--scope", "read"];
    let secret = place.prints(&add);
    assert!(secret.starts_with("cs_") && secret.lines().count() == 1, "{secret}");
    let listed = place.json(&["isphere", "tokens", "list", "--json"]);
    assert_eq!((&listed[0]["name"], &listed[0]["scopes"]), (&json!("reader"), &json!(["read"])));
    assert!(!listed.to_string().contains(&secret));
    assert!(!String::from_utf8(read(&place, "state/tokens.json")).unwrap().contains(&secret));
    let table = place.prints(&["isphere", "tokens", "list"]);
    assert!(table.contains("reader") && table.contains("live") && !table.contains(&secret), "{table}");
    let error = place.fails(&add);
    assert!(error.contains("reader"), "a name is an operator, so it is one token's: {error}");

    let server = place.serve_isphere();
    let call = tool_call("isphere_search_contacts", &json!({"query": "li"}));
    let status = || post(&server.address, "/mcp", &secret, &call).unwrap().0;
    assert_eq!(place.prints(&["isphere", "tokens", "revoke", "reader"]), "token reader is revoked");
    assert_eq!(status(), 401);
    assert!(place.json(&["isphere", "tokens", "list", "--json"])[0]["revoked_at"].is_string());
    let error = place.fails(&["isphere", "tokens", "revoke", "nobody"]);
    assert!(error.contains("nobody"), "{error}");
}

#[test]
fn scopes_that_do_not_exist_and_bad_configurations_are_wrong_usage_or_named() {
    let place = Place::with_isphere();
    for arguments in [
        &["isphere", "tokens", "add", "--name", "x", "--scope", "admin"][..],
        &["isphere", "tokens", "add", "--name", "x"],
        &["isphere", "tokens", "add", "--name", " ", "--scope", "read"],
        &["isphere", "sample", "--contacts", "many", "x.db"],
        &["isphere", "serve", "--http", "nowhere"],
    ] {
        let output = place.run(arguments);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}");
    }
    configure(&place, "[policy]\ndeny = ['contact:']");
    let error = place.fails(&["isphere", "serve"]);
    assert!(error.contains("[policy] deny"), "{error}");
}
