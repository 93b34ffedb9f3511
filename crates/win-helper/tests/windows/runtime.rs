//! `version`, `self_check` and `probe_client_runtime` where there is a desktop.

use serde_json::{Value, json};

use crate::desk::{ChatWindow, alone, ask, shared};

#[test]
fn the_version_names_the_target_that_it_was_built_for() {
    let answer = ask("version", &json!({}));
    assert_eq!(answer.data()["helper_name"], "ISphereWinHelper");
    assert_eq!(answer.data()["runtime"], "Rust x86_64-pc-windows-gnu");
}

#[test]
fn desktop_and_ui_automation_are_within_reach() {
    let answer = ask("self_check", &json!({}));
    assert_eq!(*answer.data(), json!({ "desktop_access": true, "uia_available": true }));
    assert_eq!(answer.warnings(), Vec::<&str>::new());
}

#[test]
fn without_the_client_the_list_of_processes_is_empty() {
    let _desk = alone();
    let answer = ask("probe_client_runtime", &json!({}));
    assert_eq!(answer.data()["target_count"], 0);
    assert_eq!(answer.data()["targets"], json!([]));
    assert_eq!(answer.data()["host"], json!({ "is_64_bit_os": true, "is_64_bit_process": true }));
}

#[test]
fn the_clients_process_is_described_with_bitness_path_title_and_modules() {
    let _desk = alone();
    for (window, bitness) in [(ChatWindow::open(&[]), "x64"), (ChatWindow::open_32_bit(&[]), "x86")] {
        let answer = ask("probe_client_runtime", &json!({ "max_modules": 1000 }));
        let target = target(answer.data(), window.pid);
        assert_eq!(target["process_name"], "IMPlatformClient");
        assert_eq!(target["main_window_title"], "iSphere");
        assert_eq!(target["bitness"], bitness);
        assert!(target["executable_path"].as_str().unwrap().ends_with("\\IMPlatformClient.exe"), "{target}");
        let presence = &target["assembly_presence"];
        assert_eq!(
            (&presence["IMPlatformClient.exe"], &presence["smack.dll"]),
            (&json!(true), &json!(false))
        );
        let modules = target["modules"].as_array().unwrap();
        let mut paths: Vec<String> =
            modules.iter().map(|module| module["path"].as_str().unwrap().to_lowercase()).collect();
        assert!(paths.iter().any(|path| path.ends_with("\\system32\\ntdll.dll")), "{target}");
        let listed = paths.len();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), listed, "a path is listed twice in {target}");
    }
}

#[test]
fn a_library_that_is_only_mapped_is_present_and_another_mapped_file_is_not_told() {
    let _desk = alone();
    let folder = tempfile::tempdir().unwrap();
    let [library, document] = ["smack.dll", "contacts.db"].map(|name| folder.path().join(name));
    for file in [&library, &document] {
        std::fs::write(file, "not empty").unwrap();
    }
    let [library, document] = [&library, &document].map(|path| path.to_str().unwrap());
    for open in [ChatWindow::open, ChatWindow::open_32_bit] {
        let window = open(&["--map", library, "--map", document]);
        let answer = ask("probe_client_runtime", &json!({ "max_modules": 1000 }));
        let target = target(answer.data(), window.pid);
        assert_eq!(target["assembly_presence"]["smack.dll"], true, "{target}");
        assert!(!target.to_string().contains("contacts.db"), "{target}");
    }
}

#[test]
fn modules_are_left_out_on_request_and_presence_is_told_all_the_same() {
    let _desk = shared();
    let window = ChatWindow::open(&[]);
    let answer = ask("probe_client_runtime", &json!({ "include_modules": false }));
    let target = target(answer.data(), window.pid);
    assert_eq!(target.get("modules"), None);
    assert_eq!(target["assembly_presence"]["IMPlatformClient.exe"], true);
}

fn target(data: &Value, pid: u32) -> &Value {
    let mut targets = data["targets"].as_array().unwrap().iter();
    targets.find(|target| target["pid"] == pid).unwrap_or_else(|| panic!("{pid} is missing in {data}"))
}
