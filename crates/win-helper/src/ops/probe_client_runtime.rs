//! `probe_client_runtime`: the client's processes and what they have loaded (boundary contract, section 6.5).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::client;
use crate::desktop::{self, DesktopError, Module, Modules, Process, Window};
use crate::fault::Fault;
use crate::ops::Safety;
use crate::progress::Progress;
use crate::protocol::{object, within};

/// The op's name.
pub const NAME: &str = "probe_client_runtime";

const MOST_NAMES: usize = 32;
const MOST_NAME_CHARS: usize = 100;
const MOST_MODULES: usize = 2_000;
/// The most processes that are looked into.
const MOST_TARGETS: usize = 50;

/// What it is asked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    #[serde(default = "known_names")]
    process_names: Vec<String>,
    #[serde(default = "yes")]
    include_modules: bool,
    #[serde(default = "default_modules")]
    max_modules: usize,
}

/// What it answers.
#[derive(Debug, Serialize)]
pub struct Data {
    probe_mode: &'static str,
    host: Host,
    target_count: usize,
    targets: Vec<Target>,
    truncated: bool,
    safety: Safety,
}

#[derive(Debug, Serialize)]
struct Host {
    is_64_bit_os: bool,
    is_64_bit_process: bool,
}

#[derive(Debug, Serialize)]
struct Target {
    pid: u32,
    process_name: String,
    main_window_title: String,
    executable_path: Option<String>,
    bitness: &'static str,
    assembly_presence: BTreeMap<&'static str, bool>,
    module_probe_ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    modules: Option<Vec<Module>>,
}

impl Arguments {
    /// Reads them, strictly.
    pub fn parse(what: &str, json: &str) -> Result<Self, Fault> {
        let arguments: Self = object(what, json)?;
        within("the number of process_names", arguments.process_names.len(), 1..=MOST_NAMES)?;
        for name in &arguments.process_names {
            within("the length of a name in process_names", name.chars().count(), 1..=MOST_NAME_CHARS)?;
        }
        within("max_modules", arguments.max_modules, 1..=MOST_MODULES)?;
        Ok(arguments)
    }

    fn names(&self, process: &Process) -> bool {
        let name = process.name.to_lowercase();
        self.process_names.iter().any(|wanted| client::without_exe(wanted).to_lowercase() == name)
    }
}

/// Looks into each process of one of the names; without any the answer is an empty list.
pub fn run(arguments: &Arguments, progress: &Progress) -> Result<Data, Fault> {
    let refused = |error: DesktopError| error.into_fault(NAME, None);
    let mut processes = desktop::processes().map_err(refused)?;
    processes.retain(|process| arguments.names(process));
    let truncated = processes.len() > MOST_TARGETS;
    if truncated {
        let message = format!("{} processes match; {MOST_TARGETS} were looked into", processes.len());
        progress.warn("MAX_PROCESSES", message);
        processes.truncate(MOST_TARGETS);
    }
    let windows =
        if processes.is_empty() { Vec::new() } else { desktop::windows(progress).map_err(refused)? };
    let mut targets = Vec::new();
    for process in processes {
        targets.extend(target(process, &windows, arguments, progress).map_err(refused)?);
    }
    Ok(Data {
        probe_mode: "read_only_process_module_inventory",
        host: Host {
            is_64_bit_os: desktop::is_64_bit_os(),
            is_64_bit_process: cfg!(target_pointer_width = "64"),
        },
        target_count: targets.len(),
        targets,
        truncated,
        safety: Safety::default(),
    })
}

/// What can be said of a process; `None` when it ended in the meantime.
fn target(
    process: Process,
    windows: &[Window],
    arguments: &Arguments,
    progress: &Progress,
) -> Result<Option<Target>, DesktopError> {
    let Process { pid, name } = process;
    let details = match desktop::process_details(pid) {
        Ok(details) => details,
        Err(DesktopError::NoSuchProcess) => {
            progress.warn("PROCESS_ENDED", format!("process {pid} ended while it was looked at"));
            return Ok(None);
        }
        Err(error @ DesktopError::Refused { .. }) => {
            progress
                .warn("PROCESS_NOT_READABLE", format!("process {pid}: {error}; is it run as administrator?"));
            desktop::ProcessDetails::default()
        }
        Err(error) => return Err(error),
    };
    let loaded = loaded(pid, progress);
    Ok(Some(Target {
        pid,
        process_name: name,
        main_window_title: main_window_title(pid, windows),
        executable_path: details.executable_path,
        bitness: details.bitness.unwrap_or("unknown"),
        assembly_presence: presence(&loaded.found),
        module_probe_ok: loaded.complete,
        modules: arguments
            .include_modules
            .then(|| at_most(loaded.found, arguments.max_modules, pid, progress)),
    }))
}

/// The files that a process has loaded, with a warning when not all could be looked at.
fn loaded(pid: u32, progress: &Progress) -> Modules {
    let modules = desktop::modules(pid).unwrap_or_default();
    if !modules.complete {
        let message = format!(
            "not all that process {pid} has loaded could be looked at; a file may be loaded although assembly_presence says no"
        );
        progress.warn("MODULES_NOT_READABLE", message);
    }
    modules
}

fn at_most(mut modules: Vec<Module>, most: usize, pid: u32, progress: &Progress) -> Vec<Module> {
    if modules.len() > most {
        let message = format!("process {pid} has {} modules; {most} are listed", modules.len());
        progress.warn("MAX_MODULES", message);
        modules.truncate(most);
    }
    modules
}

/// For each of the client's files whether it is among the loaded ones.
fn presence(modules: &[Module]) -> BTreeMap<&'static str, bool> {
    let loaded = |file: &str| modules.iter().any(|module| module.name.eq_ignore_ascii_case(file));
    client::KEY_FILES.into_iter().map(|file| (file, loaded(file))).collect()
}

/// The title of the topmost visible window of a process that has one; else empty.
fn main_window_title(pid: u32, windows: &[Window]) -> String {
    let titled =
        windows.iter().find(|window| window.pid == pid && window.visible && !window.title.is_empty());
    titled.map(|window| window.title.clone()).unwrap_or_default()
}

fn known_names() -> Vec<String> {
    client::PROCESS_NAMES.map(str::to_owned).to_vec()
}

fn default_modules() -> usize {
    120
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desktop::{Bounds, WindowHandle};

    fn module(name: &str) -> Module {
        Module { name: name.to_owned(), path: format!("C:\\Impp\\{name}") }
    }

    #[test]
    fn the_files_of_the_client_are_found_whatever_their_case() {
        let presence = presence(&[module("SMACK.DLL"), module("ntdll.dll")]);
        assert_eq!(presence.len(), client::KEY_FILES.len());
        assert!(presence["smack.dll"] && !presence["IMPP.Service.dll"]);
    }

    #[test]
    fn a_process_is_named_with_or_without_exe_and_in_any_case() {
        let arguments =
            Arguments::parse("args", r#"{"process_names": ["implatformclient.exe", "iSphere"]}"#).unwrap();
        let process = |name: &str| Process { pid: 1, name: name.to_owned() };
        assert!(arguments.names(&process("IMPlatformClient")) && arguments.names(&process("isphere")));
        assert!(!arguments.names(&process("iSphere2")));
    }

    #[test]
    fn modules_beyond_their_number_are_left_out_with_a_warning() {
        let progress = Progress::default();
        let modules = at_most(vec![module("a"), module("b"), module("c")], 2, 7, &progress);
        assert_eq!(modules.len(), 2);
        assert_eq!(progress.warnings()[0].code, "MAX_MODULES");
    }

    #[test]
    fn the_main_window_is_the_topmost_visible_one_with_a_title() {
        let window = |pid, title: &str, visible| Window {
            hwnd: WindowHandle(1),
            pid,
            process_name: String::new(),
            title: title.to_owned(),
            class_name: String::new(),
            visible,
            bounds: Bounds::default(),
        };
        let windows = [
            window(2, "other", true),
            window(1, "", true),
            window(1, "hidden", false),
            window(1, "main", true),
        ];
        assert_eq!(main_window_title(1, &windows), "main");
        assert_eq!(main_window_title(3, &windows), "");
    }
}
