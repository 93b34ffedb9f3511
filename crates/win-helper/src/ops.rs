//! The ops: what a request may ask for. One file each: its arguments, its data, its rules.

pub mod dump_uia;
pub mod probe_client_runtime;
pub mod probe_send_entrypoints;
pub mod probe_send_uia_controls;
pub mod scan_windows;
pub mod self_check;
pub mod version;

use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::progress::Progress;
use crate::protocol::object;

/// The names of all ops.
pub const NAMES: [&str; 7] = [
    version::NAME,
    self_check::NAME,
    scan_windows::NAME,
    dump_uia::NAME,
    probe_client_runtime::NAME,
    probe_send_entrypoints::NAME,
    probe_send_uia_controls::NAME,
];

/// An op with its arguments.
#[derive(Debug)]
pub enum Operation {
    /// Tells that the helper runs.
    Version,
    /// Tells what of the desktop is within reach.
    SelfCheck,
    /// Lists windows.
    ScanWindows(scan_windows::Arguments),
    /// Reads a window's UI Automation tree.
    DumpUia(dump_uia::Arguments),
    /// Lists the client's processes.
    ProbeClientRuntime(probe_client_runtime::Arguments),
    /// Looks for methods in the client's files.
    ProbeSendEntrypoints(probe_send_entrypoints::Arguments),
    /// Looks for the controls that sending needs.
    ProbeSendUiaControls(probe_send_uia_controls::Arguments),
}

/// The `data` of a response.
#[derive(Debug, Serialize)]
#[serde(untagged)]
#[allow(missing_docs, reason = "named after the ops")]
pub enum Data {
    Version(version::Data),
    SelfCheck(crate::desktop::Availability),
    ScanWindows(scan_windows::Data),
    DumpUia(dump_uia::Data),
    ProbeClientRuntime(probe_client_runtime::Data),
    ProbeSendEntrypoints(probe_send_entrypoints::Data),
    ProbeSendUiaControls(probe_send_uia_controls::Data),
}

/// The arguments of an op that has none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

/// What the probes promise, and every answer of theirs repeats: none of these things was done. The helper has no
/// code that could do them.
#[derive(Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the fields are the contract's words")]
pub struct Safety {
    pub sent_message: bool,
    pub sent_file: bool,
    pub uploaded_file: bool,
    pub clicked_ui: bool,
    pub typed_text: bool,
    pub captured_network: bool,
    pub attached_hook: bool,
    pub modified_client_data: bool,
}

impl Operation {
    /// The op of this name with its arguments (a JSON object), strictly.
    pub fn parse(name: &str, arguments: &str) -> Result<Self, Fault> {
        const WHAT: &str = "args";
        match name {
            version::NAME => object(WHAT, arguments).map(|NoArguments {}| Self::Version),
            self_check::NAME => object(WHAT, arguments).map(|NoArguments {}| Self::SelfCheck),
            scan_windows::NAME => object(WHAT, arguments).map(Self::ScanWindows),
            dump_uia::NAME => dump_uia::Arguments::parse(WHAT, arguments).map(Self::DumpUia),
            probe_client_runtime::NAME => {
                probe_client_runtime::Arguments::parse(WHAT, arguments).map(Self::ProbeClientRuntime)
            }
            probe_send_entrypoints::NAME => {
                probe_send_entrypoints::Arguments::parse(WHAT, arguments).map(Self::ProbeSendEntrypoints)
            }
            probe_send_uia_controls::NAME => {
                probe_send_uia_controls::Arguments::parse(WHAT, arguments).map(Self::ProbeSendUiaControls)
            }
            _ => Err(Fault::UnsupportedOp),
        }
    }

    /// Does what was asked for.
    pub fn run(&self, progress: &Progress) -> Result<Data, Fault> {
        match self {
            Self::Version => Ok(Data::Version(version::run())),
            Self::SelfCheck => Ok(Data::SelfCheck(self_check::run(progress))),
            Self::ScanWindows(arguments) => scan_windows::run(arguments, progress).map(Data::ScanWindows),
            Self::DumpUia(arguments) => dump_uia::run(arguments, progress).map(Data::DumpUia),
            Self::ProbeClientRuntime(arguments) => {
                probe_client_runtime::run(arguments, progress).map(Data::ProbeClientRuntime)
            }
            Self::ProbeSendEntrypoints(arguments) => {
                probe_send_entrypoints::run(arguments, progress).map(Data::ProbeSendEntrypoints)
            }
            Self::ProbeSendUiaControls(arguments) => {
                probe_send_uia_controls::run(arguments, progress).map(Data::ProbeSendUiaControls)
            }
        }
    }

    /// How to answer, when the time limit passed, from what `progress` has: the ops that read a tree do so from the
    /// part of it that was read, the others cannot.
    pub fn so_far(&self) -> fn(&Progress) -> Option<Data> {
        match self {
            Self::DumpUia(_) => |progress| dump_uia::so_far(progress).map(Data::DumpUia),
            Self::ProbeSendUiaControls(_) => {
                |progress| probe_send_uia_controls::so_far(progress).map(Data::ProbeSendUiaControls)
            }
            Self::Version
            | Self::SelfCheck
            | Self::ScanWindows(_)
            | Self::ProbeClientRuntime(_)
            | Self::ProbeSendEntrypoints(_) => |_| None,
        }
    }
}
