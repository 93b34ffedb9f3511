//! A client's window as `dump_uia` tells it, built from names.
#![allow(clippy::needless_pass_by_value, reason = "a tree of a test reads better with the values themselves")]

use serde_json::{Value, json};

/// An element.
pub fn element(control_type: &str, automation_id: &str, name: &str, children: Vec<Value>) -> Value {
    json!({
        "name": name, "control_type": control_type, "automation_id": automation_id, "class_name": "", "framework_id": "WinForm",
        "is_enabled": true, "is_offscreen": false, "bounds": {"x": 0, "y": 0, "width": 10, "height": 10}, "children": children,
    })
}

/// The data of a dump of this window.
pub fn dump(root: Value) -> Value {
    json!({"hwnd": "0x001A0B2C", "node_count": 1, "truncated": false, "root": root})
}

/// A list of rows, each only a name.
pub fn list(automation_id: &str, names: &[String]) -> Value {
    let rows = names.iter().map(|name| element("ListItem", "", name, Vec::new())).collect();
    element("List", automation_id, "", rows)
}

/// A list of messages, each with its sender and text.
pub fn messages(automation_id: &str, said: &[(String, String)]) -> Value {
    let row = |(sender, text): &(String, String)| {
        let parts = [("lblSender", sender), ("lblText", text)];
        element("ListItem", "", "", parts.map(|(id, name)| element("Text", id, name, Vec::new())).to_vec())
    };
    element("List", automation_id, "", said.iter().map(row).collect())
}

/// A tree of people below their departments, whose parts are separated by `/`; an empty one is the top.
pub fn tree(automation_id: &str, people: &[(String, String)]) -> Value {
    element("Tree", automation_id, "", below("", people))
}

/// The rows below a department: those of the people in it, then its departments.
fn below(department: &str, people: &[(String, String)]) -> Vec<Value> {
    let row = |name: &str, children| element("TreeItem", "", name, children);
    let here = people.iter().filter(|(_, of)| of == department);
    let mut rows: Vec<Value> = here.map(|(name, _)| row(name, Vec::new())).collect();
    let prefix = if department.is_empty() { String::new() } else { format!("{department}/") };
    let mut parts: Vec<&str> = Vec::new();
    for (_, of) in people {
        let part = of.strip_prefix(&prefix).and_then(|rest| rest.split('/').next());
        if let Some(part) = part.filter(|part| !part.is_empty() && !parts.contains(part)) {
            parts.push(part);
        }
    }
    rows.extend(parts.into_iter().map(|part| row(part, below(&format!("{prefix}{part}"), people))));
    rows
}

/// The profile of the windows that are built here.
pub const PROFILE: &str = r#"
[contacts]
automation_id = "tvContacts"
control_type = "Tree"
rows = "TreeItem"
[groups]
automation_id = "lstGroups"
rows = "ListItem"
[conversations]
automation_id = "lstConversations"
rows = "ListItem"
[messages]
automation_id = "lstMessages"
rows = "ListItem"
sender = "lblSender"
text = "lblText"
conversation = { automation_id = "lblTitle" }
"#;

/// What a window shows.
#[derive(Default)]
pub struct Shown {
    /// Name and department.
    pub people: Vec<(String, String)>,
    pub groups: Vec<String>,
    pub conversations: Vec<String>,
    /// The name of the open conversation.
    pub open: String,
    /// Sender and text, the oldest first.
    pub said: Vec<(String, String)>,
}

impl Shown {
    /// The data of a dump of the window.
    pub fn dump(&self) -> Value {
        let title = element("Text", "lblTitle", &self.open, Vec::new());
        let send = element("Button", "btnSend", "发送", Vec::new());
        dump(element(
            "Window",
            "",
            "iSphere",
            vec![
                tree("tvContacts", &self.people),
                list("lstGroups", &self.groups),
                list("lstConversations", &self.conversations),
                title,
                messages("lstMessages", &self.said),
                element("Edit", "txtInput", "", Vec::new()),
                send,
            ],
        ))
    }
}
