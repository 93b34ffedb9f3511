//! By what the controls that sending needs are recognised (`data/labels.toml`).

use serde::Deserialize;

use crate::data_file::{self, Origin};
use crate::fault::Fault;
use crate::tree::Element;

/// The list's file beside the program.
pub const FILE: &str = "labels.toml";

const BUILT_IN: &str = include_str!("../data/labels.toml");
/// A name longer than this is a message rather than a label, and is not searched for parts.
const MOST_LABEL_CHARS: usize = 40;

/// A rule for each control.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the fields are the contract's words, without `has_`")]
pub struct Labels {
    pub search_edit: Rule,
    pub receive_document: Rule,
    pub send_editor: Rule,
    pub send_button: Rule,
    pub file_menu: Rule,
    pub offline_blocker: Rule,
}

/// When an element is the control.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    control_types: Vec<String>,
    /// Its whole name, but for what marks a shortcut.
    #[serde(default)]
    labels: Vec<String>,
    /// A part of its name.
    #[serde(default)]
    label_parts: Vec<String>,
    #[serde(default)]
    automation_ids: Vec<String>,
}

/// The rules that are to be used: the operator's, or the usual ones.
pub fn load() -> Result<(Labels, Origin), Fault> {
    data_file::read(FILE, BUILT_IN)
}

impl Rule {
    /// The word of this rule by which the element is the control; `None` when it is not.
    pub fn label_of(&self, element: &Element) -> Option<&str> {
        if !self.control_types.contains(&element.control_type) {
            return None;
        }
        let name = plain(&element.name);
        let is_short = name.chars().count() <= MOST_LABEL_CHARS;
        let whole = |label: &&String| label.to_lowercase() == name;
        let part = |label: &&String| is_short && name.contains(&label.to_lowercase());
        let id = |id: &&String| id.eq_ignore_ascii_case(&element.automation_id);
        let by_name = self.labels.iter().find(whole).or_else(|| self.label_parts.iter().find(part));
        by_name.or_else(|| self.automation_ids.iter().find(id)).map(String::as_str)
    }
}

/// A name as labels are compared: in lower case, without `&`, without a shortcut in brackets and without `:` or `…` at
/// its end.
fn plain(name: &str) -> String {
    let name = name.replace('&', "").to_lowercase();
    let name = name.trim_end_matches([':', '：', '…', '.', ' ']);
    let without_shortcut = ["(", "（"].into_iter().find_map(|bracket| {
        let (label, shortcut) = name.rsplit_once(bracket)?;
        let key = shortcut.strip_suffix([')', '）'])?;
        (key.chars().count() <= 1).then_some(label)
    });
    without_shortcut.unwrap_or(name).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(control_type: &str, name: &str, automation_id: &str) -> Element {
        Element {
            control_type: control_type.to_owned(),
            name: name.to_owned(),
            automation_id: automation_id.to_owned(),
            ..Element::default()
        }
    }

    fn built_in() -> Labels {
        load().unwrap().0
    }

    #[test]
    fn a_label_is_found_whatever_its_shortcut_and_case() {
        let labels = built_in();
        for name in ["发送", "发送(S)", "发送（&S）", "&Send", "SEND", " Send… ", "Send:"] {
            assert!(labels.send_button.label_of(&element("Button", name, "")).is_some(), "{name}");
        }
    }

    #[test]
    fn a_label_is_the_whole_name_and_of_the_right_control_type() {
        let labels = built_in();
        for (control_type, name) in
            [("Button", "发送文件"), ("Text", "发送"), ("Button", ""), ("Button", "(S)")]
        {
            assert_eq!(labels.send_button.label_of(&element(control_type, name, "")), None, "{name}");
        }
    }

    #[test]
    fn a_part_of_a_banner_is_enough_but_a_long_text_is_no_banner() {
        let banner = element("Text", "当前处于离线状态 (offline)", "");
        assert_eq!(built_in().offline_blocker.label_of(&banner), Some("离线状态"));
        let message = element("Text", &format!("{}我昨天已离线", "很".repeat(40)), "");
        assert_eq!(built_in().offline_blocker.label_of(&message), None);
    }

    #[test]
    fn an_automation_id_tells_as_well() {
        let rule: Rule = toml::from_str("control_types = ['Edit']\nautomation_ids = ['txtSearch']").unwrap();
        assert_eq!(rule.label_of(&element("Edit", "", "TXTSEARCH")), Some("txtSearch"));
        assert_eq!(rule.label_of(&element("Edit", "", "")), None);
    }

    #[test]
    fn the_answer_is_the_rules_word_and_never_the_windows() {
        let rule: Rule = toml::from_str("control_types = ['Text']\nlabel_parts = ['offline']").unwrap();
        assert_eq!(rule.label_of(&element("Text", "Offline: secret", "")), Some("offline"));
    }
}
