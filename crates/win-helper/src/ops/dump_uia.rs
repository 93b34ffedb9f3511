//! `dump_uia`: the UI Automation tree of a window (boundary contract, section 6.4).

use serde::{Deserialize, Serialize};

use crate::desktop::{self, WindowHandle};
use crate::fault::Fault;
use crate::ops::scan_windows::only_candidate;
use crate::progress::Progress;
use crate::protocol::{object, present, within};
use crate::tree::{Limits, Tree};

/// The op's name.
pub const NAME: &str = "dump_uia";

/// The greatest depth that can be asked for. Each level of the tree is two of JSON, and common JSON readers refuse
/// more than 128.
pub const MOST_DEPTH: usize = 60;
/// The most children of an element that can be asked for.
pub const MOST_CHILDREN: usize = 5_000;
/// The most elements that can be asked for.
pub const MOST_NODES: usize = 20_000;

/// What it is asked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    #[serde(default, deserialize_with = "present")]
    hwnd: Option<WindowHandle>,
    #[serde(default = "default_depth")]
    max_depth: usize,
    #[serde(default = "default_children")]
    max_children: usize,
    #[serde(default = "default_nodes")]
    max_nodes: usize,
    #[serde(default = "yes")]
    include_text: bool,
}

/// What it answers.
#[derive(Debug, Serialize)]
pub struct Data {
    hwnd: WindowHandle,
    node_count: usize,
    truncated: bool,
    root: Tree,
}

impl Arguments {
    /// Reads them, strictly.
    pub fn parse(what: &str, json: &str) -> Result<Self, Fault> {
        let arguments: Self = object(what, json)?;
        check(arguments.limits())?;
        Ok(arguments)
    }

    fn limits(&self) -> Limits {
        Limits { max_depth: self.max_depth, max_children: self.max_children, max_nodes: self.max_nodes }
    }
}

/// Refuses limits that are out of bounds.
pub fn check(limits: Limits) -> Result<(), Fault> {
    within("max_depth", limits.max_depth, 0..=MOST_DEPTH)?;
    within("max_children", limits.max_children, 1..=MOST_CHILDREN)?;
    within("max_nodes", limits.max_nodes, 1..=MOST_NODES)
}

/// Reads the tree of the named window, or of the only candidate.
pub fn run(arguments: &Arguments, progress: &Progress) -> Result<Data, Fault> {
    let include_names = arguments.include_text;
    read_tree(NAME, arguments.hwnd, include_names, arguments.limits(), progress)?;
    data(progress).ok_or(Fault::Unreadable(0))
}

/// The answer from the part of the tree that was read; `None` before the root was.
pub fn so_far(progress: &Progress) -> Option<Data> {
    progress.tree().as_mut()?.cut();
    data(progress)
}

/// Reads the tree of the named window, or of the only candidate, into `progress`.
pub fn read_tree(
    op: &'static str,
    hwnd: Option<WindowHandle>,
    include_names: bool,
    limits: Limits,
    progress: &Progress,
) -> Result<(), Fault> {
    let hwnd = hwnd.map_or_else(|| only_candidate(op, progress), Ok)?;
    progress.reads(hwnd);
    desktop::read_tree(hwnd, include_names, limits, progress)
        .map_err(|error| error.into_fault(op, Some(hwnd)))
}

/// Takes the tree out of `progress`.
fn data(progress: &Progress) -> Option<Data> {
    let hwnd = progress.window()?;
    let root = progress.tree().take()?;
    Some(Data { hwnd, node_count: root.node_count(), truncated: root.is_truncated(), root })
}

/// How deep a tree is read unless the request says otherwise.
pub fn default_depth() -> usize {
    8
}

/// How many children of an element are read unless the request says otherwise.
pub fn default_children() -> usize {
    200
}

/// How many elements are read unless the request says otherwise.
pub fn default_nodes() -> usize {
    5_000
}

fn yes() -> bool {
    true
}
