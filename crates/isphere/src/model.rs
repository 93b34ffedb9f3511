//! What every source speaks of: people, groups, conversations, messages and files (contract: the outputs of the tools).

use std::borrow::Cow;

use govern::text::visible;
use serde::{Deserialize, Serialize};

use crate::search::text_contains;

/// The longest id that an agent can use, in characters.
pub const LONGEST_ID: usize = 512;

/// Whether an agent can use this id. Not one that is blank, longer than [`LONGEST_ID`], breaks a line, or holds characters
/// that nobody sees: it could not be given back as it came, or would show as something that it is not.
pub fn is_usable_id(id: &str) -> bool {
    let breaks_line =
        |character: char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
    !id.trim().is_empty()
        && id.chars().nth(LONGEST_ID).is_none()
        && !id.chars().any(breaks_line)
        && visible(id).text == id
}

/// Where something was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceName {
    /// Another instance of this product, on the desktop.
    Bridge,
    /// The client's local store, opened read-only.
    LocalReadonly,
    /// The client's window, through UI Automation.
    Uia,
    /// The XMPP network.
    Network,
    /// A generated organisation, for the demo and tests.
    Mock,
}

impl SourceName {
    /// All of them, in the order in which `auto` would try them.
    pub const ALL: [Self; 5] = [Self::Bridge, Self::LocalReadonly, Self::Network, Self::Uia, Self::Mock];

    /// The word on the wire and in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bridge => "bridge",
            Self::LocalReadonly => "local_readonly",
            Self::Uia => "uia",
            Self::Network => "network",
            Self::Mock => "mock",
        }
    }
}

/// A person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// The source's own id.
    pub contact_id: String,
    /// The name people see.
    pub display_name: String,
    /// The account the person logs in with.
    pub account: Option<String>,
    /// Where the person works.
    pub department: Option<String>,
    /// What the person is.
    pub title: Option<String>,
    /// False for those who left; found only on request.
    pub active: bool,
    /// `<source>:<table>#<12 hex>`: says where this was read without giving the row away.
    pub raw_ref: String,
}

/// A group of people who talk in one conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The source's own id.
    pub group_id: String,
    /// The name people see.
    pub display_name: String,
    /// How many are in it, when that is known.
    pub member_count: Option<u64>,
    /// The contact id of its owner.
    pub owner_ref: Option<String>,
    /// True for those that were closed; found only on request.
    pub archived: bool,
    /// `<source>:<table>#<12 hex>`.
    pub raw_ref: String,
}

/// Between whom a conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConversationType {
    /// Two people.
    Direct,
    /// A group.
    Group,
    /// The client's own notices.
    System,
}

impl ConversationType {
    /// `direct`, `group` or `system`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Group => "group",
            Self::System => "system",
        }
    }
}

/// A place where messages are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// The source's own id.
    pub conversation_id: String,
    /// Between whom it is.
    pub conversation_type: ConversationType,
    /// The name people see.
    pub display_name: String,
    /// The contact or group that it is with, when the source knows.
    pub peer_id: Option<String>,
}

/// What a message holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentType {
    /// Plain text.
    Text,
    /// A picture.
    Image,
    /// A file.
    File,
    /// Formatted text, cards, quotes.
    Rich,
    /// A notice of the client.
    Notify,
    /// Anything else, encrypted bodies among it.
    Unknown,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The source's own id.
    pub message_id: String,
    /// The conversation it is in.
    pub conversation_id: String,
    /// The contact id of who wrote it.
    pub sender_id: Option<String>,
    /// The name of who wrote it.
    pub sender_name: Option<String>,
    /// What it holds.
    pub content_type: ContentType,
    /// Its text as the source has it; the tools clean it.
    pub text: String,
    /// The files that came with it.
    pub attachments: Vec<Attachment>,
    /// When it was written, Unix milliseconds.
    pub created_ms: Option<i64>,
    /// When it arrived, Unix milliseconds.
    pub received_ms: Option<i64>,
    /// Its author took it back.
    pub retracted: bool,
    /// `<source>:<table>#<12 hex>`.
    pub raw_ref: String,
}

impl Message {
    /// The time it is ordered and filtered by: written, else arrived, else the beginning of time.
    pub fn at_ms(&self) -> i64 {
        self.created_ms.or(self.received_ms).unwrap_or(i64::MIN)
    }

    /// Whether its text holds this, after folding (see [`crate::search`]). What was taken back says nothing any more, so
    /// that nobody can spell it out by searching.
    pub fn says(&self, folded_keyword: &str) -> bool {
        !self.retracted && text_contains(&self.text, folded_keyword)
    }
}

/// A file as its message names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// The source's own id.
    pub file_id: String,
    /// The name its sender gave it; never a path.
    pub file_name: String,
    /// Its size, when known.
    pub size_bytes: Option<u64>,
    /// An opaque word that says it can be downloaded; null when it cannot.
    pub download_ref: Option<String>,
}

/// A file as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// The source's own id.
    pub file_id: String,
    /// The message it came with.
    pub message_id: Option<String>,
    /// The conversation it is in.
    pub conversation_id: Option<String>,
    /// The name its sender gave it; never a path.
    pub file_name: String,
    /// Its size, when known.
    pub size_bytes: Option<u64>,
    /// Its MIME type.
    pub mime_type: Option<String>,
    /// When it was sent, Unix milliseconds.
    pub created_ms: Option<i64>,
    /// An opaque word that says it can be downloaded; null when it cannot.
    pub download_ref: Option<String>,
}

/// Something that a caller should know though the call succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// A stable code.
    pub code: Cow<'static, str>,
    /// What it means and what to do.
    pub message: String,
}

impl Warning {
    /// A warning.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_usable_when_it_can_be_seen_and_given_back() {
        for id in ["u1", "wxid_张三@im.example", "a b", "\"\\", "👩‍💻", &"报".repeat(LONGEST_ID)] {
            assert!(is_usable_id(id), "{id:?}");
        }
        let hostile =
            ["", " ", "a\nb", "a\tb", "a\u{1b}[31m", "a\u{202E}b", "a\u{200B}b", "a\u{2028}b", "a\0"];
        for id in hostile.into_iter().chain([&*"x".repeat(LONGEST_ID + 1)]) {
            assert!(!is_usable_id(id), "{id:?}");
        }
    }
}
