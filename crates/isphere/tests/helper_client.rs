//! The client of the Windows helper beside a helper that answers well, badly, late, too much or not at all.

#![allow(clippy::unwrap_used, reason = "a test may")]
#![cfg(unix)]

mod helper_double;

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use futures_util::future::join_all;
use govern::random::Random;
use helper_double::{VERSION, client, settings};
use isphere::helper::{DumpArguments, HelperClient, HelperError};

/// Far longer than anything here takes.
const LONG: Duration = Duration::from_mins(1);

/// The data of a dump of this window.
fn dump(hwnd: &str) -> String {
    format!(
        r#"{{"hwnd":"{hwnd}","root":{{"name":"","control_type":"Window","automation_id":"","class_name":"","children":[]}}}}"#
    )
}

async fn version(script: &str) -> Result<String, HelperError> {
    client(script).version().await.map(|reply| reply.data.helper_version)
}

/// A pipe with a name: who has it open for writing can be waited for.
fn named_pipe(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// Says when a pipe has been opened for writing, and again when all that had it open are gone.
fn watch(pipe: PathBuf) -> Receiver<&'static str> {
    let (say, said) = channel();
    std::thread::spawn(move || {
        let mut pipe = File::open(pipe).unwrap();
        say.send("opened").ok();
        pipe.read_to_end(&mut Vec::new()).unwrap();
        say.send("gone").ok();
    });
    said
}

fn dump_of(hwnd: &str) -> DumpArguments {
    DumpArguments { hwnd: Some(hwnd.to_owned()), ..DumpArguments::default() }
}

#[tokio::test]
async fn a_helper_that_answers_is_understood() {
    let reply = client(&format!("respond '{VERSION}'")).version().await.unwrap();
    assert_eq!((reply.data.helper_name.as_str(), reply.data.runtime.as_str()), ("ISphereWinHelper", "sh"));
    assert_eq!(reply.warnings, []);
    assert!(reply.document.starts_with(b"{\"protocol\""));
}

#[tokio::test]
async fn a_byte_order_mark_and_carriage_returns_do_no_harm() {
    let script = format!(r"printf '\357\273\277'; respond '{VERSION}'; printf '\r\n'");
    assert_eq!(version(&script).await.unwrap(), "0.1.0");
}

#[tokio::test]
async fn a_helper_that_answers_without_reading_its_request_is_judged_by_its_answer() {
    let helper = HelperClient::new(
        &isphere::settings::Helper {
            program: Some("/bin/sh".into()),
            arguments: vec!["-c".to_owned(), "exec <&-; echo '{}'".to_owned()],
            ..Default::default()
        },
        Random::seeded(7),
    );
    assert!(matches!(helper.version().await, Err(HelperError::Malformed(_))));
}

#[tokio::test]
async fn what_it_says_on_stderr_is_no_part_of_the_answer_however_much_it_is() {
    let script = format!("head -c 100000000 /dev/zero >&2; respond '{VERSION}'");
    assert_eq!(version(&script).await.unwrap(), "0.1.0");
}

#[tokio::test]
async fn a_refusal_has_the_code_and_the_words_of_the_helper() {
    let refused = version("refuse AMBIGUOUS_WINDOW '2 windows match'").await.unwrap_err();
    assert_eq!(refused.to_string(), "AMBIGUOUS_WINDOW: 2 windows match");
}

#[tokio::test]
async fn anything_but_one_response_on_stdout_is_refused() {
    let twice = format!("respond '{VERSION}'; respond '{VERSION}'");
    let words = format!("echo starting; respond '{VERSION}'");
    let more = format!("respond '{VERSION}'; echo done");
    let cut = format!("respond '{VERSION}' | head -c 100");
    for script in ["echo garbage", ":", r"printf '\377\376{}'", &twice, &words, &more, &cut] {
        let error = version(script).await.unwrap_err();
        assert!(matches!(error, HelperError::Malformed(_)), "{script}: {error:?}");
    }
}

#[tokio::test]
async fn the_answer_to_another_request_is_refused() {
    for script in ["id=other", "op=self_check", "id="] {
        let error = version(&format!("{script}; respond '{VERSION}'")).await.unwrap_err();
        assert!(matches!(error, HelperError::OtherRequest), "{script}: {error:?}");
    }
}

#[tokio::test]
async fn an_answer_about_another_window_or_one_without_a_handle_is_refused() {
    let other = client(&format!("respond '{}'", dump("0x00000002")));
    let error = other.dump_uia(&dump_of("0x00000001")).await.unwrap_err();
    assert!(matches!(error, HelperError::OtherWindow) && error.code() == "CONNECTOR_FAILED", "{error:?}");
    for handle in ["", "2", "0x2", "0X00000002", "0x000000002", "0x0000000g", "../../00000002"] {
        let windows = format!(
            r#"{{"windows":[{{"hwnd":"{handle}","pid":1,"process_name":"","title":"","class_name":"","visible":true,"bounds":{{"x":0,"y":0,"width":1,"height":1}},"score":90}}]}}"#
        );
        let helper = client(&format!(
            "case $op in dump_uia) respond '{}';; *) respond '{windows}';; esac",
            dump(handle)
        ));
        let dumped = helper.dump_uia(&DumpArguments::default()).await.unwrap_err();
        let scanned = helper.scan_windows(false).await.unwrap_err();
        for error in [dumped, scanned] {
            assert!(error.code() == "CONNECTOR_FAILED" && error.to_string().contains("handle"), "{error:?}");
        }
    }
}

#[tokio::test]
async fn a_helper_that_fails_has_failed_whatever_it_wrote() {
    let answered = format!("respond '{VERSION}'; exit 3");
    for script in ["exit 3", &answered] {
        let error = version(script).await.unwrap_err();
        assert!(matches!(error, HelperError::Ended { code: Some(3) }), "{script}: {error:?}");
    }
    let error = version("kill -9 $$").await.unwrap_err();
    assert!(matches!(error, HelperError::Ended { code: None }), "{error:?}");
}

#[tokio::test]
async fn a_helper_that_is_missing_or_no_program_cannot_be_started() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    std::fs::write(&text, "no program").unwrap();
    for program in [folder.path().join("missing"), text] {
        let named = isphere::settings::Helper { program: Some(program), ..Default::default() };
        let error = HelperClient::new(&named, Random::seeded(7)).version().await.unwrap_err();
        assert!(matches!(error, HelperError::NotStarted(_)), "{error:?}");
        assert!(!error.to_string().contains(&folder.path().display().to_string()), "{error}");
    }
    let none = HelperClient::new(&isphere::settings::Helper::default(), Random::seeded(7));
    assert!(matches!(none.version().await, Err(HelperError::NotConfigured)));
}

#[tokio::test]
async fn a_helper_that_writes_a_gigabyte_is_ended_at_the_bound() {
    let error = version("exec head -c 1073741824 /dev/zero").await.unwrap_err();
    assert!(matches!(error, HelperError::TooLarge), "{error:?}");
}

#[tokio::test]
async fn a_helper_that_never_ends_is_ended_with_what_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = named_pipe(folder.path(), "held");
    let watched = watch(pipe.clone());
    let script = format!("exec 3>'{}'; (sleep 600) & sleep 600; respond '{VERSION}'", pipe.display());
    let helper = HelperClient::new(
        &isphere::settings::Helper { timeout_ms: 1, ..settings(&script) },
        Random::seeded(7),
    );
    let error = helper.version().await.unwrap_err();
    assert!(matches!(error, HelperError::TimedOut { limit_ms: 2_001 }), "{error:?}");
    assert_eq!(watched.recv_timeout(LONG), Ok("opened"));
    assert_eq!(watched.recv_timeout(LONG), Ok("gone"), "neither the helper nor its child holds the pipe");
}

#[tokio::test]
async fn what_an_answered_request_left_behind_is_ended_too() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = named_pipe(folder.path(), "held");
    let watched = watch(pipe.clone());
    let script = format!("exec 3>'{}'; sleep 600 & respond '{VERSION}'", pipe.display());
    assert_eq!(version(&script).await.unwrap(), "0.1.0");
    assert_eq!(watched.recv_timeout(LONG), Ok("opened"));
    assert_eq!(watched.recv_timeout(LONG), Ok("gone"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_stops_waiting_ends_the_helper() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = named_pipe(folder.path(), "held");
    let watched = watch(pipe.clone());
    let helper = client(&format!("exec 3>'{}'; (sleep 600) & sleep 600", pipe.display()));
    let call = tokio::spawn(async move { helper.version().await.map(|_| ()) });
    assert_eq!(watched.recv_timeout(LONG), Ok("opened"));
    call.abort();
    assert_eq!(watched.recv_timeout(LONG), Ok("gone"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_client_that_is_ended_ends_its_helpers_and_starts_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = named_pipe(folder.path(), "held");
    let watched = watch(pipe.clone());
    let helper = Arc::new(client(&format!("exec 3>'{}'; (sleep 60) & sleep 60", pipe.display())));
    let asked = Arc::clone(&helper);
    let call = tokio::spawn(async move { asked.version().await.map(|_| ()) });
    assert_eq!(watched.recv_timeout(LONG), Ok("opened"));
    helper.end();
    assert!(matches!(call.await.unwrap(), Err(HelperError::ServerEnds)));
    assert_eq!(watched.recv_timeout(LONG), Ok("gone"));
    assert!(matches!(helper.version().await, Err(HelperError::ServerEnds)));
}

#[tokio::test]
async fn a_window_is_read_by_one_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let busy = folder.path().join("busy");
    let script = format!(
        "mkdir '{0}' || exit 3; n=0; while [ $n -lt 3000 ]; do n=$((n+1)); done; rmdir '{0}'; respond '{1}'",
        busy.display(),
        dump("0x0000000A")
    );
    let helper = client(&script);
    let lower_and_upper_case = ["0x0000000a", "0x0000000A"].map(dump_of);
    let unnamed = [DumpArguments::default(), DumpArguments::default()];
    let all: Vec<_> = lower_and_upper_case.iter().chain(&unnamed).cycle().take(12).collect();
    for outcome in join_all(all.into_iter().map(|arguments| helper.dump_uia(arguments))).await {
        outcome.unwrap();
    }
}

#[tokio::test]
async fn two_windows_are_read_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (named_pipe(folder.path(), "one"), named_pipe(folder.path(), "other"));
    // Each waits for the other.
    let script = format!(
        "case $line in *0x00000001*) echo >'{0}'; read -r x <'{1}'; respond '{2}';; *) read -r x <'{0}'; echo >'{1}'; respond '{3}';; esac",
        one.display(),
        other.display(),
        dump("0x00000001"),
        dump("0x00000002")
    );
    let helper = client(&script);
    let (first, second) = ["0x00000001", "0x00000002"].map(dump_of).into();
    let (first, second) = tokio::join!(helper.dump_uia(&first), helper.dump_uia(&second));
    assert!(first.is_ok() && second.is_ok(), "{first:?} {second:?}");
}
