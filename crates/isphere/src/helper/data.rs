//! The `data` of the ops (boundary contract, section 6), as far as this server reads it.

use serde::{Deserialize, Serialize};

/// The data of `version`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// The program's name.
    pub helper_name: String,
    /// The program's version.
    pub helper_version: String,
    /// The protocol it speaks.
    pub protocol: String,
    /// What it was built for.
    pub runtime: String,
}

/// The data of `self_check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfCheck {
    /// Whether the windows of an interactive desktop can be listed.
    pub desktop_access: bool,
    /// Whether UI Automation can be started.
    pub uia_available: bool,
}

/// The data of `scan_windows`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowList {
    /// The likeliest first.
    pub windows: Vec<Window>,
    /// Whether there are more than were listed.
    #[serde(default)]
    pub truncated: bool,
}

/// A top-level window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Its handle, `0x` and 8 hexadecimal digits.
    pub hwnd: String,
    /// The process that owns it.
    pub pid: u32,
    /// The name of that process without `.exe`.
    pub process_name: String,
    /// Its title.
    pub title: String,
    /// Its window class.
    pub class_name: String,
    /// Whether it is shown.
    pub visible: bool,
    /// Where it is.
    pub bounds: Bounds,
    /// How surely it is the client's, 0 to 100.
    pub score: u8,
}

impl Window {
    /// The score from which on a window may be taken for the client's.
    pub const CANDIDATE_SCORE: u8 = 60;

    /// Whether it may be taken for the client's.
    pub fn is_candidate(&self) -> bool {
        self.visible && self.score >= Self::CANDIDATE_SCORE
    }
}

/// Where something is on the screen, in physical pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Left edge.
    pub x: i32,
    /// Upper edge.
    pub y: i32,
    /// Width.
    pub width: i32,
    /// Height.
    pub height: i32,
}

/// The data of `dump_uia`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dump {
    /// The window.
    pub hwnd: String,
    /// Whether something was left out.
    #[serde(default)]
    pub truncated: bool,
    /// The window's own element.
    pub root: Element,
}

/// An element of a UI Automation tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Element {
    /// A label, or in a list what the row says.
    pub name: String,
    /// The control type's name in UI Automation, such as `Button`.
    pub control_type: String,
    /// The id that its program gave it.
    pub automation_id: String,
    /// The class name.
    pub class_name: String,
    /// The framework that drew it, such as `WinForm`.
    #[serde(default)]
    pub framework_id: String,
    /// Whether it takes input.
    #[serde(default = "yes")]
    pub is_enabled: bool,
    /// Whether it is scrolled away or covered.
    #[serde(default)]
    pub is_offscreen: bool,
    /// Where it is; none when it has no place.
    #[serde(default)]
    pub bounds: Option<Bounds>,
    /// The elements in it. The parser's own bound on nesting is the bound of the tree's depth.
    pub children: Vec<Element>,
}

impl Element {
    /// It and all elements below, each before those in it.
    pub fn walk(&self) -> impl Iterator<Item = &Self> {
        let mut waiting = vec![self];
        std::iter::from_fn(move || {
            let next = waiting.pop()?;
            waiting.extend(next.children.iter().rev());
            Some(next)
        })
    }

    /// Makes its name empty, and those of all elements below.
    pub fn leave_out_names(&mut self) {
        self.name.clear();
        self.children.iter_mut().for_each(Self::leave_out_names);
    }
}

fn yes() -> bool {
    true
}
