//! A selector profile proposed from a dump: guesses by the words in automation ids, for a person to check.

use std::fmt::Write as _;

use super::profile::{Selector, is_kind};
use super::rows::{leaves, only};
use crate::helper::{Dump, Element};
use crate::outside;

/// What may hold rows, and the control types that rows of it have, the likeliest first.
const CONTAINERS: [(&str, &[&str]); 6] = [
    ("Tree", &["TreeItem"]),
    ("List", &["ListItem"]),
    ("DataGrid", &["DataItem"]),
    ("Table", &["DataItem", "Custom"]),
    ("Document", &["ListItem", "DataItem", "Text", "Group"]),
    ("Pane", &["ListItem", "DataItem"]),
];

/// The sections, and the words by which their list is guessed. In this order, for a message list may well be called
/// after the group or the contact that it is with.
const SECTIONS: [(&str, &[&str]); 4] = [
    ("messages", &["message", "msg", "history", "record", "receive", "消息", "记录"]),
    ("conversations", &["conversation", "session", "recent", "会话", "最近"]),
    ("groups", &["group", "room", "群"]),
    ("contacts", &["contact", "buddy", "friend", "roster", "联系人", "好友", "通讯录"]),
];

/// Words by which the element is guessed that names the open conversation.
const TITLES: [&str; 5] = ["title", "caption", "peer", "chatname", "标题"];

/// How many rows of a list a comment shows.
const SHOWN_ROWS: usize = 3;

/// A profile as TOML, with comments on what was found and what was guessed. What cannot be guessed stays out; with nothing
/// guessed there are comments only.
pub fn propose(dump: &Dump) -> String {
    let mut lists = lists(dump);
    let mut text = format!(
        "# Proposed from a dump of window {}: check each section against what is on the screen, then set\n# [isphere.uia] profile to \
         this file and run `countersign isphere doctor`.\n",
        outside::name(&dump.hwnd),
    );
    if dump.truncated {
        text.push_str("# The dump was cut short; dump again with a larger --max-depth or --max-children.\n");
    }
    text.push_str(
        "\n# Not guessed, for it is not there once somebody is signed in: an element of the login form.\n# [login]\n# \
         automation_id = \"\"\n",
    );
    for (section, words) in SECTIONS {
        let named = lists.iter().position(|list| says(list.element, words));
        // A document without a telling name is most likely where the messages are.
        let document = || {
            let mut documents =
                lists.iter().enumerate().filter(|(_, list)| is_kind(list.element, "Document"));
            let only = documents.next().filter(|_| documents.next().is_none());
            only.map(|(place, _)| place).filter(|_| section == "messages")
        };
        if let Some(place) = named.or_else(document) {
            let list = lists.remove(place);
            let guess = if named.is_some() { "by its name" } else { "it is the only document" };
            section_text(section, &list, guess, dump, &mut text);
        }
    }
    for list in &lists {
        text.push_str("\n# Another list, whose purpose was not guessed:\n");
        for line in list_lines(list) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "# {line}");
        }
    }
    text
}

struct Rows<'a> {
    element: &'a Element,
    selector: Selector,
    kind: &'static str,
    names: Vec<&'a str>,
}

/// The elements on the screen that hold rows and can be selected.
fn lists(dump: &Dump) -> Vec<Rows<'_>> {
    let list = |element: &'_ Element| -> Option<(Selector, &'static str)> {
        let (_, kinds) = CONTAINERS.into_iter().find(|(kind, _)| is_kind(element, kind))?;
        let kind = kinds.iter().find(|kind| element.children.iter().any(|row| is_kind(row, kind)))?;
        Some((selector(dump, element)?, kind))
    };
    let elements = dump.root.walk().filter(|element| !element.is_offscreen);
    elements
        .filter_map(|element| {
            let (selector, kind) = list(element)?;
            let names = leaves(element, kind).into_iter().map(|(row, _)| row.name.as_str()).collect();
            Some(Rows { element, selector, kind, names })
        })
        .collect()
}

/// What selects this element and no other on the screen. Automation ids that are numbers are no names: WinForms makes them
/// anew at each start.
fn selector(dump: &Dump, element: &Element) -> Option<Selector> {
    let given = |text: &String| (!text.trim().is_empty()).then(|| text.clone());
    let id = given(&element.automation_id).filter(|id| !id.bytes().all(|byte| byte.is_ascii_digit()));
    let control_type = given(&element.control_type);
    let by_id = Selector { automation_id: id.clone(), control_type: control_type.clone(), class_name: None };
    let by_class = Selector {
        automation_id: None,
        control_type: control_type.clone(),
        class_name: given(&element.class_name),
    };
    let by_kind = Selector { control_type, ..Selector::default() };
    [id.map(|_| by_id), Some(by_kind), Some(by_class)]
        .into_iter()
        .flatten()
        .find(|selector| only(dump, selector).is_ok_and(|found| std::ptr::eq(found, element)))
}

fn section_text(section: &str, list: &Rows<'_>, guess: &str, dump: &Dump, text: &mut String) {
    let _ = writeln!(text, "\n# Guessed: {guess}. {}", rows_comment(list));
    let _ = writeln!(text, "[{section}]");
    for line in list_lines(list) {
        let _ = writeln!(text, "{line}");
    }
    if section != "messages" {
        return;
    }
    match title(dump) {
        Some((title, name)) => {
            let _ = writeln!(text, "# It says {}.", quoted(&outside::line(name, 40)));
            let _ = writeln!(text, "conversation = {{ {} }}", selector_pairs(&title).join(", "));
        }
        None => text.push_str(
            "# Without `conversation` the window's title passes for the name of the open conversation.\n",
        ),
    }
    text.push_str("# sender = \"\"  # the automation id, within a row, of who wrote it\n# text = \"\"    # and of what was written\n");
}

/// The element that names the open conversation.
fn title(dump: &Dump) -> Option<(Selector, &str)> {
    let mut named = dump.root.walk().filter(|element| {
        !element.is_offscreen
            && is_kind(element, "Text")
            && !element.name.trim().is_empty()
            && says(element, &TITLES)
    });
    named.find_map(|element| Some((selector(dump, element)?, element.name.as_str())))
}

fn rows_comment(list: &Rows<'_>) -> String {
    let shown: Vec<String> =
        list.names.iter().take(SHOWN_ROWS).map(|name| quoted(&outside::line(name, 40))).collect();
    format!("{} rows, such as {}.", list.names.len(), shown.join(", "))
}

fn list_lines(list: &Rows<'_>) -> Vec<String> {
    let mut lines = selector_pairs(&list.selector);
    lines.push(format!("rows = {}", quoted(list.kind)));
    lines
}

fn selector_pairs(selector: &Selector) -> Vec<String> {
    let Selector { automation_id, control_type, class_name } = selector;
    [("automation_id", automation_id), ("control_type", control_type), ("class_name", class_name)]
        .into_iter()
        .filter_map(|(key, value)| value.as_ref().map(|value| format!("{key} = {}", quoted(value))))
        .collect()
}

/// A basic string of TOML: a JSON string, with what could hide something or steer a terminal escaped as TOML does it.
fn quoted(text: &str) -> String {
    let json = serde_json::to_string(text).expect("a string always serialises");
    let mut quoted = String::with_capacity(json.len());
    for character in json.chars() {
        if govern::text::may_hide(character) || ['\u{2028}', '\u{2029}'].contains(&character) {
            let _ = write!(quoted, "\\U{:08x}", u32::from(character));
        } else {
            quoted.push(character);
        }
    }
    quoted
}

/// Whether one of the words is in what the element is called.
fn says(element: &Element, words: &[&str]) -> bool {
    let said = [&element.automation_id, &element.class_name, &element.name].map(|text| text.to_lowercase());
    words.iter().any(|word| said.iter().any(|text| text.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_or_steers_is_written_visibly_and_read_as_it_was() {
        for hostile in
            ["\u{1b}[2J", "a\u{9b}\u{7f}", "\u{202e}txt", "a\u{200b}\u{e0041}\u{2028}b", "a\n\t\"\\b", "\0"]
        {
            let line = format!("text = {}", quoted(hostile));
            assert!(line.chars().all(|it| it.is_ascii_graphic() || it == ' '), "{line:?}");
            assert_eq!(toml::from_str::<toml::Table>(&line).unwrap()["text"].as_str(), Some(hostile));
        }
    }
}
