//! `probe_send_uia_controls`: whether a window has the controls that sending needs (boundary contract, section 6.7).
//!
//! It reads names, and answers with flags and with the words of its own rules only, never with a text of the window.

use serde::{Deserialize, Serialize};

use crate::data_file::Origin;
use crate::desktop::WindowHandle;
use crate::fault::Fault;
use crate::labels::{self, Labels, Rule};
use crate::ops::Safety;
use crate::ops::dump_uia::{check, default_children, default_depth, default_nodes, read_tree};
use crate::progress::Progress;
use crate::protocol::{object, present};
use crate::tree::{Element, Limits, Tree};

/// The op's name.
pub const NAME: &str = "probe_send_uia_controls";

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
}

/// What it answers.
#[derive(Debug, Serialize)]
pub struct Data {
    probe_mode: &'static str,
    hwnd: WindowHandle,
    flags: Flags,
    /// For each control that was found the word of the rules by which it was.
    safe_labels: SafeLabels,
    labels_origin: Origin,
    truncated: bool,
    safety: Safety,
}

#[derive(Debug, Serialize)]
struct Flags {
    has_search_edit: bool,
    has_receive_document: bool,
    has_send_editor: bool,
    has_send_button: bool,
    has_file_menu: bool,
    offline_blocker_visible: bool,
    send_button_enabled: bool,
    route_hint: &'static str,
}

#[derive(Debug, Serialize)]
struct SafeLabels {
    search_edit: Option<String>,
    receive_document: Option<String>,
    send_editor: Option<String>,
    send_button: Option<String>,
    file_menu: Option<String>,
    offline_blocker: Option<String>,
}

impl Arguments {
    /// Reads them, strictly.
    pub fn parse(what: &str, json: &str) -> Result<Self, Fault> {
        let arguments: Self = object(what, json)?;
        check(arguments.limits())?;
        Ok(arguments)
    }

    fn limits(&self) -> Limits {
        Limits { max_depth: self.max_depth, max_children: self.max_children, max_nodes: default_nodes() }
    }
}

/// Looks for the controls in the named window, or in the only candidate.
pub fn run(arguments: &Arguments, progress: &Progress) -> Result<Data, Fault> {
    // First, so that a list that cannot be used is told of before a window is read.
    let rules = labels::load()?;
    read_tree(NAME, arguments.hwnd, true, arguments.limits(), progress)?;
    data(progress, rules).ok_or(Fault::Unreadable(0))
}

/// The answer from the part of the tree that was read; `None` before the root was.
pub fn so_far(progress: &Progress) -> Option<Data> {
    progress.tree().as_mut()?.cut();
    data(progress, labels::load().ok()?)
}

fn data(progress: &Progress, (rules, labels_origin): (Labels, Origin)) -> Option<Data> {
    let hwnd = progress.window()?;
    let tree = progress.tree().take()?;
    let (flags, safe_labels) = classify(&tree, &rules);
    Some(Data {
        probe_mode: "read_only_uia_send_control_classifier",
        hwnd,
        flags,
        safe_labels,
        labels_origin,
        truncated: tree.is_truncated(),
        safety: Safety::default(),
    })
}

fn classify(tree: &Tree, rules: &Labels) -> (Flags, SafeLabels) {
    let search_edit = first(tree, &rules.search_edit, |_| true);
    let receive_document = first(tree, &rules.receive_document, |_| true);
    let send_editor = first(tree, &rules.send_editor, |_| true);
    let send_button = first(tree, &rules.send_button, |_| true);
    let file_menu = first(tree, &rules.file_menu, |_| true);
    // A banner that is there and hidden says nothing.
    let offline_blocker = first(tree, &rules.offline_blocker, |element| !element.is_offscreen);
    let controls = [&search_edit, &receive_document, &send_editor, &send_button, &file_menu];
    let flags = Flags {
        has_search_edit: search_edit.is_some(),
        has_receive_document: receive_document.is_some(),
        has_send_editor: send_editor.is_some(),
        has_send_button: send_button.is_some(),
        has_file_menu: file_menu.is_some(),
        offline_blocker_visible: offline_blocker.is_some(),
        send_button_enabled: send_button.is_some_and(|(element, _)| element.is_enabled),
        route_hint: if controls.iter().any(|control| control.is_none()) {
            "A_ROUTE_CONTROLS_MISSING"
        } else if offline_blocker.is_some() {
            "A_ROUTE_OFFLINE_BLOCKED"
        } else {
            "A_ROUTE_READY"
        },
    };
    let label = |control: Option<(&Element, &str)>| control.map(|(_, label)| label.to_owned());
    let safe_labels = SafeLabels {
        search_edit: label(search_edit),
        receive_document: label(receive_document),
        send_editor: label(send_editor),
        send_button: label(send_button),
        file_menu: label(file_menu),
        offline_blocker: label(offline_blocker),
    };
    (flags, safe_labels)
}

/// The first element that is the control, with the word by which it is.
fn first<'a>(
    tree: &'a Tree,
    rule: &'a Rule,
    counts: impl Fn(&Element) -> bool,
) -> Option<(&'a Element, &'a str)> {
    let mut found = tree.elements().filter_map(|element| Some((element, rule.label_of(element)?)));
    found.find(|(element, _)| counts(element))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Children, walk};

    /// The window of a client that is ready, as (control type, name) pairs.
    const READY: [(&str, &str); 5] = [
        ("Edit", "搜索"),
        ("Document", "消息记录"),
        ("Edit", "输入消息"),
        ("Button", "发送(S)"),
        ("MenuItem", "文件(F)"),
    ];

    fn tree(elements: Vec<Element>) -> Tree {
        let limits = Limits { max_depth: 1, max_children: 100, max_nodes: 100 };
        let progress = Progress::default();
        let mut elements = Some(elements);
        walk(((), Element::default()), limits, &progress, |&(), _| {
            let read = elements.take().unwrap_or_default().into_iter().map(|element| ((), element)).collect();
            Ok(Children { read, more: false })
        });
        progress.tree().take().unwrap()
    }

    fn element((control_type, name): (&str, &str)) -> Element {
        let (control_type, name) = (control_type.to_owned(), name.to_owned());
        Element { control_type, name, is_enabled: true, ..Element::default() }
    }

    fn flags(elements: Vec<Element>) -> Flags {
        classify(&tree(elements), &labels::load().unwrap().0).0
    }

    #[test]
    fn a_window_with_all_controls_is_ready() {
        let flags = flags(READY.map(element).to_vec());
        assert_eq!(flags.route_hint, "A_ROUTE_READY");
        assert!(flags.send_button_enabled && !flags.offline_blocker_visible);
    }

    #[test]
    fn each_control_that_is_missing_is_told_and_decides_the_hint() {
        for missing in 0..READY.len() {
            let mut elements = READY.map(element).to_vec();
            elements.remove(missing);
            let flags = flags(elements);
            let has = [
                flags.has_search_edit,
                flags.has_receive_document,
                flags.has_send_editor,
                flags.has_send_button,
                flags.has_file_menu,
            ];
            let expected: Vec<bool> = (0..READY.len()).map(|control| control != missing).collect();
            assert_eq!(has.to_vec(), expected);
            assert_eq!(flags.route_hint, "A_ROUTE_CONTROLS_MISSING");
        }
    }

    #[test]
    fn a_visible_banner_blocks_and_a_hidden_one_does_not() {
        let banner = element(("Text", "当前处于离线状态"));
        for (is_offscreen, hint) in [(false, "A_ROUTE_OFFLINE_BLOCKED"), (true, "A_ROUTE_READY")] {
            let mut elements = READY.map(element).to_vec();
            elements.push(Element { is_offscreen, ..banner.clone() });
            let flags = flags(elements);
            assert_eq!(flags.offline_blocker_visible, !is_offscreen);
            assert_eq!(flags.route_hint, hint);
        }
    }

    #[test]
    fn a_disabled_send_button_is_told() {
        let mut elements = READY.map(element).to_vec();
        elements[3].is_enabled = false;
        assert!(!flags(elements).send_button_enabled);
    }

    #[test]
    fn no_text_of_the_window_is_in_the_answer() {
        let mut elements = READY.map(element).to_vec();
        elements.push(element(("Text", "secret offline")));
        elements.push(element(("ListItem", "张三 secret")));
        let (flags, safe_labels) = classify(&tree(elements), &labels::load().unwrap().0);
        let answer = serde_json::to_string(&(flags, safe_labels)).unwrap();
        assert!(
            answer.contains("offline") && !answer.contains("secret") && !answer.contains("张三"),
            "{answer}"
        );
    }
}
