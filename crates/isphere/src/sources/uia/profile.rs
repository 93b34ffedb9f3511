//! The selector profile: which elements of the client's window hold what. TOML, in the terms of `dump_uia`.
//!
//! ```toml
//! [window]                        # when the client has several windows
//! title = "iSphere"               # a part of the title
//!
//! [login]                         # is there only while nobody is signed in
//! automation_id = "loginPanel"
//!
//! [contacts]                      # the list, and the control type of its rows
//! automation_id = "tvContacts"
//! control_type = "Tree"
//! rows = "TreeItem"
//!
//! [messages]                      # of the open conversation
//! automation_id = "lstMessages"
//! rows = "ListItem"
//! sender = "lblSender"            # the automation id, within a row, of who wrote it
//! text = "lblText"                # and of what was written; the row's own name without it
//! conversation = { automation_id = "lblTitle" }  # says whose conversation is open
//! ```

use std::io;
use std::path::Path;

use serde::Deserialize;
use thiserror::Error;

use crate::helper::{Element, Window};
use crate::regular_file;

/// The largest profile, in bytes.
const MAX_PROFILE_BYTES: u64 = 1 << 20;

/// Why a profile cannot be used. Each says what to change.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// The file cannot be read.
    #[error(
        "the selector profile cannot be read; propose one with `countersign isphere helper propose-profile`"
    )]
    Unreadable(#[source] io::Error),
    /// It is larger than any profile is.
    #[error("the selector profile is larger than 1 MiB; it is not a profile")]
    TooLarge,
    /// Not TOML, or with an unknown key or word.
    #[error("the selector profile is not valid: {0}")]
    Syntax(#[from] toml::de::Error),
    /// It reads nothing.
    #[error(
        "the selector profile has no list; add at least one of [contacts], [groups], [conversations], [messages]"
    )]
    Empty,
    /// A selector of a section would match everything.
    #[error("[{0}] of the selector profile selects nothing: give automation_id, control_type or class_name")]
    NoSelector(&'static str),
    /// A value is blank.
    #[error(
        "[{section}] of the selector profile: {key} is blank; leave it out, or write what the dump shows"
    )]
    Blank {
        /// The section.
        section: &'static str,
        /// The key.
        key: &'static str,
    },
}

/// Which elements hold what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Which of the client's windows; without it the only one.
    pub window: Option<WindowSelector>,
    /// An element that is there only while nobody is signed in.
    pub login: Option<Selector>,
    /// The list of people.
    pub contacts: Option<List>,
    /// The list of groups.
    pub groups: Option<List>,
    /// The list of conversations.
    pub conversations: Option<List>,
    /// The messages of the open conversation.
    pub messages: Option<Messages>,
}

/// Which window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowSelector {
    /// A part of its title.
    pub title: Option<String>,
    /// The beginning of its class name.
    pub class_name: Option<String>,
}

/// Which elements: those that have all that is given. Control types go without regard to case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selector {
    /// The id that its program gave it.
    pub automation_id: Option<String>,
    /// Its control type.
    pub control_type: Option<String>,
    /// Its class name.
    pub class_name: Option<String>,
}

/// A list and its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// See [`Selector`].
    pub automation_id: Option<String>,
    /// See [`Selector`].
    pub control_type: Option<String>,
    /// See [`Selector`].
    pub class_name: Option<String>,
    /// The control type of its rows.
    pub rows: String,
    /// The automation id, within a row, of the element that has the name; the row's own name without it.
    pub name: Option<String>,
}

/// The messages of the open conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Messages {
    /// See [`Selector`].
    pub automation_id: Option<String>,
    /// See [`Selector`].
    pub control_type: Option<String>,
    /// See [`Selector`].
    pub class_name: Option<String>,
    /// The control type of its rows.
    pub rows: String,
    /// The automation id, within a row, of the element that names who wrote it.
    pub sender: Option<String>,
    /// The automation id, within a row, of the element that has the text; the row's own name without it.
    pub text: Option<String>,
    /// The element that names the open conversation; the window's title without it.
    pub conversation: Option<Selector>,
}

impl Profile {
    /// Reads a profile from its file.
    pub fn load(path: &Path) -> Result<Self, ProfileError> {
        let text = regular_file::read_text(path, MAX_PROFILE_BYTES).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => ProfileError::TooLarge,
            _ => ProfileError::Unreadable(error),
        })?;
        Self::parse(&text)
    }

    /// Reads a profile.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let profile: Self = toml::from_str(text)?;
        profile.check()?;
        Ok(profile)
    }

    fn check(&self) -> Result<(), ProfileError> {
        if let Some(WindowSelector { title, class_name }) = &self.window {
            not_blank("window", [("title", title.as_deref()), ("class_name", class_name.as_deref())])?;
        }
        if let Some(login) = &self.login {
            login.check("login")?;
        }
        for (section, list) in
            [("contacts", &self.contacts), ("groups", &self.groups), ("conversations", &self.conversations)]
        {
            let Some(list) = list else { continue };
            list.container().check(section)?;
            not_blank(section, [("rows", Some(&*list.rows)), ("name", list.name.as_deref())])?;
        }
        if let Some(messages) = &self.messages {
            messages.container().check("messages")?;
            let Messages { rows, sender, text, .. } = messages;
            let texts =
                [("rows", Some(rows.as_str())), ("sender", sender.as_deref()), ("text", text.as_deref())];
            not_blank("messages", texts)?;
            messages
                .conversation
                .as_ref()
                .map_or(Ok(()), |selector| selector.check("messages.conversation"))?;
        }
        let reads = self.contacts.is_some()
            || self.groups.is_some()
            || self.conversations.is_some()
            || self.messages.is_some();
        if reads { Ok(()) } else { Err(ProfileError::Empty) }
    }
}

impl WindowSelector {
    /// Whether it is this window.
    pub fn matches(&self, window: &Window) -> bool {
        self.title.as_ref().is_none_or(|title| window.title.contains(title.as_str()))
            && self.class_name.as_ref().is_none_or(|class| window.class_name.starts_with(class.as_str()))
    }
}

impl Selector {
    /// Whether it is this element.
    pub fn matches(&self, element: &Element) -> bool {
        self.automation_id.as_ref().is_none_or(|id| *id == element.automation_id)
            && self.class_name.as_ref().is_none_or(|class| *class == element.class_name)
            && self.control_type.as_ref().is_none_or(|kind| is_kind(element, kind))
    }

    fn check(&self, section: &'static str) -> Result<(), ProfileError> {
        let Self { automation_id, control_type, class_name } = self;
        not_blank(
            section,
            [
                ("automation_id", automation_id.as_deref()),
                ("control_type", control_type.as_deref()),
                ("class_name", class_name.as_deref()),
            ],
        )?;
        let given = [automation_id, control_type, class_name].into_iter().any(Option::is_some);
        if given { Ok(()) } else { Err(ProfileError::NoSelector(section)) }
    }
}

impl List {
    /// The element that holds the rows.
    pub fn container(&self) -> Selector {
        let Self { automation_id, control_type, class_name, .. } = self.clone();
        Selector { automation_id, control_type, class_name }
    }
}

impl Messages {
    /// The element that holds the rows.
    pub fn container(&self) -> Selector {
        let Self { automation_id, control_type, class_name, .. } = self.clone();
        Selector { automation_id, control_type, class_name }
    }
}

/// Whether an element has this control type.
pub fn is_kind(element: &Element, control_type: &str) -> bool {
    element.control_type.eq_ignore_ascii_case(control_type)
}

fn not_blank<const N: usize>(
    section: &'static str,
    values: [(&'static str, Option<&str>); N],
) -> Result<(), ProfileError> {
    match values.into_iter().find(|(_, value)| value.is_some_and(|value| value.trim().is_empty())) {
        Some((key, _)) => Err(ProfileError::Blank { section, key }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_read_as_documented() {
        let documented = include_str!("profile.rs").lines().map_while(|line| line.strip_prefix("//!"));
        let toml: Vec<&str> = documented
            .skip_while(|line| !line.starts_with(" ```toml"))
            .skip(1)
            .take_while(|line| !line.starts_with(" ```"))
            .collect();
        let profile = Profile::parse(&toml.join("\n")).unwrap();
        assert_eq!(profile.window.unwrap().title.as_deref(), Some("iSphere"));
        let messages = profile.messages.unwrap();
        assert_eq!((messages.sender.as_deref(), messages.rows.as_str()), (Some("lblSender"), "ListItem"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_to_change() {
        for (text, told) in [
            ("", "has no list"),
            ("[window]\ntitle = 'x'", "has no list"),
            ("[contacts]\nrows = 'ListItem'", "[contacts] of the selector profile selects nothing"),
            ("[contacts]\nautomation_id = 'a'", "missing field `rows`"),
            ("[contacts]\nautomation_id = ''\nrows = 'ListItem'", "automation_id is blank"),
            ("[groups]\nautomation_id = 'a'\nrows = ' '", "rows is blank"),
            ("[messages]\nautomation_id = 'a'\nrows = 'b'\nconversation = {}", "[messages.conversation]"),
            ("[messages]\nautomation_id = 'a'\nrows = 'b'\ncolour = 'red'", "colour"),
            ("[people]\nrows = 'b'", "people"),
            ("[login]\n[contacts]\nautomation_id = 'a'\nrows = 'b'", "[login]"),
            ("contacts = 5", "contacts"),
            ("[contacts", "not valid"),
        ] {
            let error = Profile::parse(text).unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
