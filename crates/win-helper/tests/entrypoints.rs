//! `probe_send_entrypoints` on folders that stand in for the client's.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::Command;

use helper_process::{HELPER, ask, code, message, request, response, run, warnings};
use serde_json::{Value, json};
use tempfile::TempDir;
use win_helper::ops::Operation;

mod helper_process;

const OP: &str = "probe_send_entrypoints";
const CLIENT: &str = "IMPlatformClient.exe";

fn client() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/assemblies").join(CLIENT)
}

/// A folder with the client's program under this name.
fn folder(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(client(), folder.path().join(name)).unwrap();
    folder
}

fn probe(folder: &Path) -> Value {
    ask(OP, &json!({"install_dir": folder}))
}

/// The answer of a helper that has this list beside it.
fn probe_with_list(list: &str) -> Value {
    probe_with(|path| fs::write(path, list).unwrap())
}

/// The answer of a helper beside which `put` puts something at the path of the list.
fn probe_with(put: impl FnOnce(&Path)) -> Value {
    let program = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let helper = program.path().join("ISphereWinHelper.exe");
    // Linked, not copied: a program cannot be started while a process that another test forked has it open for writing.
    fs::hard_link(HELPER, &helper).unwrap();
    put(&program.path().join("entrypoints.toml"));
    let folder = folder(CLIENT);
    let request = request(OP, &json!({"install_dir": folder.path()}));
    response(run(&helper, request.to_string().as_bytes()))
}

fn entry(id: &str, type_name: &str, method: &str, required: bool) -> String {
    format!(
        "[[entrypoint]]\nid = '{id}'\nassembly = '{CLIENT}'\ntype_name = '{type_name}'\nmethod_name = '{method}'\n\
         required = {required}\n"
    )
}

#[test]
fn the_published_entry_is_found_with_version_and_digest_of_its_file() {
    let folder = folder(CLIENT);
    let answer = probe(folder.path());
    let data = &answer["data"];
    assert_eq!(data["probe_mode"], "read_only_send_entrypoint_metadata");
    assert_eq!(
        data["summary"],
        json!({
            "entrypoint_count": 1, "available_count": 1, "required_count": 1, "required_available_count": 1,
            "all_required_available": true, "b_route_entrypoint_preflight": "pass",
        })
    );
    let found = &data["entrypoints"][0];
    assert_eq!(found["id"], "text_high_level_by_jid");
    assert_eq!((&found["available"], &found["missing"]), (&json!(true), &json!(null)));
    let file = &found["files"][0];
    assert_eq!(
        (&file["assembly"], &file["exists"], &file["version"]),
        (&json!(CLIENT), &json!(true), &json!("5.8.1.307"))
    );
    assert_eq!(file["sha256"], sha256(&fs::read(client()).unwrap()));
    assert_eq!(data["entrypoints_origin"], "built_in");
    assert_eq!(warnings(&answer), [""; 0]);
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    use std::fmt::Write as _;
    sha2::Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

#[test]
fn nothing_was_sent_clicked_or_changed() {
    let folder = folder(CLIENT);
    let safety = probe(folder.path())["data"]["safety"].clone();
    assert_eq!(safety.as_object().unwrap().len(), 8);
    assert!(safety.as_object().unwrap().values().all(|done| *done == json!(false)));
}

#[test]
fn the_case_of_a_file_name_does_not_count() {
    let folder = folder("implatformclient.EXE");
    assert_eq!(probe(folder.path())["data"]["summary"]["available_count"], 1);
}

#[test]
fn a_folder_without_the_file_is_a_failed_preflight_and_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let answer = probe(folder.path());
    let data = &answer["data"];
    assert_eq!(data["summary"]["b_route_entrypoint_preflight"], "fail");
    let found = &data["entrypoints"][0];
    assert_eq!(found["missing"], "file");
    assert_eq!(
        found["files"][0],
        json!({"assembly": CLIENT, "exists": false, "version": null, "sha256": null})
    );
}

#[test]
fn a_file_that_is_no_assembly_has_a_digest_and_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(CLIENT), "not a program").unwrap();
    let answer = probe(folder.path());
    let found = &answer["data"]["entrypoints"][0];
    assert_eq!(found["missing"], "metadata");
    assert_eq!(found["files"][0]["sha256"], sha256(b"not a program"));
    assert_eq!(warnings(&answer), ["FILE_NOT_READABLE"]);
}

#[test]
fn a_folder_in_place_of_the_file_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(CLIENT)).unwrap();
    let answer = probe(folder.path());
    assert_eq!(answer["data"]["entrypoints"][0]["missing"], "file");
    assert_eq!(warnings(&answer), ["FILE_NOT_READABLE"]);
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_the_file_is_not_followed_wherever_it_leads() {
    let elsewhere = folder("other.dll");
    for target in [elsewhere.path().join("other.dll"), elsewhere.path().join("nothing"), "/dev/zero".into()] {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(&target, folder.path().join(CLIENT)).unwrap();
        let answer = probe(folder.path());
        let found = &answer["data"]["entrypoints"][0];
        assert_eq!(found["missing"], "file", "{}", target.display());
        assert_eq!(found["files"][0]["sha256"], json!(null), "{}", target.display());
        assert_eq!(warnings(&answer), ["FILE_NOT_READABLE"]);
    }
}

#[test]
fn a_folder_that_is_not_there_is_a_fault_of_the_request_and_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let answer = probe(&folder.path().join("elsewhere"));
    assert_eq!(code(&answer), "INVALID_REQUEST");
    assert!(!message(&answer).contains("elsewhere"));
}

#[test]
fn a_folder_of_another_computer_is_not_asked_for() {
    const BEGINNINGS: [&str; 12] = [
        r"\\server\share",
        r"\\?\UNC\server\share",
        r"\\?\C:\Impp",
        r"\\.\C:\Impp",
        r"\\.\UNC\server\share",
        r"\\.\pipe\name",
        r"\??\UNC\server\share",
        r"\??\C:\Impp",
        r"\Device\Mup\server\share",
        r"\\;LanmanRedirector\server\share",
        "C:Impp",
        "Impp",
    ];
    for beginning in BEGINNINGS {
        // Each separator as the other one too, for Windows takes either.
        for kinds in 0..1 << beginning.matches('\\').count() {
            let mut separators = 0..;
            let turned = |letter| match letter {
                '\\' if kinds >> separators.next().unwrap_or(0) & 1 == 1 => '/',
                letter => letter,
            };
            let folder: String = beginning.chars().map(turned).collect();
            let is_of_this_system = cfg!(not(windows))
                && folder.starts_with('/')
                && !folder.starts_with("//")
                && !folder.starts_with("/\\");
            if !is_of_this_system {
                let json = json!({"install_dir": folder}).to_string();
                assert!(Operation::parse(OP, &json).is_err(), "{folder}");
            }
        }
    }
    let answer = ask(OP, &json!({"install_dir": r"\??\UNC\server\share"}));
    assert_eq!(code(&answer), "INVALID_REQUEST");
    assert!(message(&answer).contains("network shares"), "{}", message(&answer));
}

#[test]
fn a_folder_of_a_drive_is_accepted_with_either_separator() {
    for folder in [r"C:\Program Files (x86)\Impp", "d:/Impp", r"C:\"] {
        let json = json!({"install_dir": folder}).to_string();
        assert!(Operation::parse(OP, &json).is_ok(), "{folder}");
    }
}

#[test]
fn the_operators_list_replaces_the_built_in_one_and_keeps_its_order() {
    const MANAGER: &str = "IMPP.Client.Core.Plugins.Manager.AppContextManager";
    let answer = probe_with_list(
        &[
            entry("z", MANAGER, "SendTxtMessageByJid", true),
            entry("nested", &format!("{MANAGER}+Queue+Item"), "发送", true),
            entry("no method", MANAGER, "SendFile", false),
            entry("a", "IMPP.Client.Core.Nothing", "SendFile", true),
        ]
        .concat(),
    );
    let data = &answer["data"];
    assert_eq!(data["entrypoints_origin"], "beside_the_program");
    let found: Vec<(&str, &Value)> = data["entrypoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["id"].as_str().unwrap(), &entry["missing"]))
        .collect();
    let expected = [
        ("z", &json!(null)),
        ("nested", &json!(null)),
        ("no method", &json!("method")),
        ("a", &json!("type")),
    ];
    assert_eq!(found, expected);
    assert_eq!(
        data["summary"],
        json!({
            "entrypoint_count": 4, "available_count": 2, "required_count": 3, "required_available_count": 2,
            "all_required_available": false, "b_route_entrypoint_preflight": "fail",
        })
    );
}

#[test]
fn a_list_that_cannot_be_used_is_told_instead_of_the_built_in_one_being_taken() {
    for (list, reason) in [
        (String::new(), "line 1: missing field `entrypoint`"),
        ("\n\nentrypoint = 1".to_owned(), "line 3: "),
        (entry("a", "T", "M", false), "no entry is required"),
        (" ".repeat(65_537), "larger than 64 KiB"),
    ] {
        let answer = probe_with_list(&list);
        assert_eq!(code(&answer), "HELPER_FAILED");
        assert!(
            message(&answer).starts_with("`entrypoints.toml` beside the program"),
            "{}",
            message(&answer)
        );
        assert!(message(&answer).contains(reason), "{}", message(&answer));
    }
}

fn assert_refused_as_no_regular_file(answer: &Value) {
    assert_eq!(code(answer), "HELPER_FAILED", "{answer}");
    assert!(message(answer).contains("no regular file"), "{answer}");
}

#[test]
fn a_folder_in_place_of_the_list_is_refused() {
    assert_refused_as_no_regular_file(&probe_with(|path| fs::create_dir(path).unwrap()));
}

#[cfg(unix)]
#[test]
fn a_link_or_a_pipe_in_place_of_the_list_is_refused_at_once() {
    for target in ["nothing", "ISphereWinHelper.exe", "/dev/zero"] {
        let link = |path: &Path| std::os::unix::fs::symlink(target, path).unwrap();
        assert_refused_as_no_regular_file(&probe_with(link));
    }
    let pipe = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    assert_refused_as_no_regular_file(&probe_with(pipe));
}
