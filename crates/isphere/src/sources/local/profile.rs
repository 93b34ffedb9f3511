//! The profile: how a store of unknown layout is read. TOML, one SELECT for each canonical table.
//!
//! ```toml
//! timezone = "+08:00"             # of written times without an offset; UTC when it is left out
//!
//! [messages]
//! tables = "msg_20*"              # one part for each table whose name fits, put in for {table}
//! select = "SELECT rowid AS seq, guid AS id, chat AS conversation, body AS text, ts AS created FROM {table}"
//! time = { created = "unix_ms" }  # the unit of each time column
//! types = { "1" = "text" }        # the store's word = the contract's
//! text = "gbk"                    # the encoding of BLOB bodies: utf8, utf16le, gbk
//! ```

mod error;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use jiff::tz::Offset;
use serde::Deserialize;
use sha2::{Digest, Sha256};

pub use self::error::{ProfileError, SectionFault};
use super::time::{TimeUnit, parse_offset};
use super::value::BlobText;
use crate::model::{ContentType, ConversationType};
use crate::regular_file;

/// The largest profile, in bytes.
const MAX_PROFILE_BYTES: u64 = 1 << 20;

/// The canonical tables. The word in a profile and in a `raw_ref` is [`Table::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// People.
    Contacts,
    /// Groups.
    Groups,
    /// Who is in which group.
    Members,
    /// Where messages are.
    Conversations,
    /// Messages.
    Messages,
    /// Files.
    Files,
}

impl Table {
    /// All of them, in the order of a profile.
    pub const ALL: [Self; 6] =
        [Self::Contacts, Self::Groups, Self::Members, Self::Conversations, Self::Messages, Self::Files];

    /// The name of its section.
    pub fn name(self) -> &'static str {
        match self {
            Self::Contacts => "contacts",
            Self::Groups => "groups",
            Self::Members => "members",
            Self::Conversations => "conversations",
            Self::Messages => "messages",
            Self::Files => "files",
        }
    }

    /// The columns that its SELECT must yield; the first is its id.
    pub fn required(self) -> &'static [&'static str] {
        match self {
            Self::Contacts | Self::Groups | Self::Conversations | Self::Files => &["id", "name"],
            Self::Members => &["group", "contact"],
            Self::Messages => &["id", "conversation", "text"],
        }
    }

    /// The columns that its SELECT may yield; NULL when it does not.
    pub fn optional(self) -> &'static [&'static str] {
        match self {
            Self::Contacts => &["account", "department", "title", "active", "updated"],
            Self::Groups => &["member_count", "owner", "archived"],
            Self::Members => &[],
            Self::Conversations => &["type", "peer"],
            Self::Messages => &["seq", "sender", "sender_name", "type", "created", "received", "deleted"],
            Self::Files => &["message", "conversation", "size", "mime", "created", "path"],
        }
    }

    /// All of its columns, in the order in which they are read.
    pub fn columns(self) -> impl Iterator<Item = &'static str> {
        self.required().iter().chain(self.optional()).copied()
    }

    /// Those of its columns that hold a time.
    pub fn times(self) -> &'static [&'static str] {
        match self {
            Self::Contacts => &["updated"],
            Self::Messages => &["created", "received"],
            Self::Files => &["created"],
            Self::Groups | Self::Members | Self::Conversations => &[],
        }
    }
}

/// How a store is read.
#[derive(Clone, Debug)]
pub struct Profile {
    sections: BTreeMap<Table, Section>,
    zone: Offset,
    digest: String,
    path: Option<PathBuf>,
}

/// How one canonical table is read.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// One SELECT that yields the canonical columns by their names.
    pub select: String,
    /// Which tables `{table}` of the SELECT stands for (SQLite's GLOB).
    #[serde(default)]
    pub tables: Option<String>,
    /// The unit of each time column.
    #[serde(default)]
    pub time: BTreeMap<String, TimeUnit>,
    /// The store's words for types, and the contract's.
    #[serde(default)]
    pub types: BTreeMap<String, String>,
    /// The encoding of text in BLOB columns.
    #[serde(default)]
    pub text: BlobText,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    timezone: Option<String>,
    contacts: Option<Section>,
    groups: Option<Section>,
    members: Option<Section>,
    conversations: Option<Section>,
    messages: Option<Section>,
    files: Option<Section>,
}

impl Profile {
    /// Reads a profile from its file.
    pub fn load(path: &Path) -> Result<Self, ProfileError> {
        let text = regular_file::read_text(path, MAX_PROFILE_BYTES).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => ProfileError::TooLarge,
            _ => ProfileError::Unreadable(error),
        })?;
        let profile = Self::parse(&text)?;
        Ok(Self { path: Some(path.to_owned()), ..profile })
    }

    /// Reads a profile. Its SELECTs are checked against the store when that is opened.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let document: Document = toml::from_str(text)?;
        let zone = document.timezone.as_deref().map_or(Some(Offset::UTC), parse_offset);
        let sections: BTreeMap<Table, Section> = [
            (Table::Contacts, document.contacts),
            (Table::Groups, document.groups),
            (Table::Members, document.members),
            (Table::Conversations, document.conversations),
            (Table::Messages, document.messages),
            (Table::Files, document.files),
        ]
        .into_iter()
        .filter_map(|(table, section)| section.map(|section| (table, section)))
        .collect();
        if sections.is_empty() {
            return Err(ProfileError::Empty);
        }
        for (table, section) in &sections {
            section.check(*table)?;
        }
        let digest = hex(&Sha256::digest(text.as_bytes()));
        Ok(Self { sections, zone: zone.ok_or(ProfileError::Timezone)?, digest, path: None })
    }

    /// The section of this table, when the profile has one.
    pub fn section(&self, table: Table) -> Option<&Section> {
        self.sections.get(&table)
    }

    /// The sections, in the order of [`Table::ALL`].
    pub fn sections(&self) -> impl Iterator<Item = (Table, &Section)> {
        self.sections.iter().map(|(table, section)| (*table, section))
    }

    /// The zone of written times without an offset.
    pub(super) fn zone(&self) -> Offset {
        self.zone
    }

    /// The file that it was read from.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// SHA-256 of the profile's text, in hex.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

impl Section {
    /// What the contract calls a message of the store's type. Without a word for it the store's own word counts when
    /// it is one of the contract; a message without a type is text.
    pub(super) fn content_type(&self, stored: Option<&str>) -> ContentType {
        let Some(stored) = stored else { return ContentType::Text };
        parse_content_type(self.types.get(stored).map_or(stored, String::as_str))
            .unwrap_or(ContentType::Unknown)
    }

    /// What the contract calls a conversation of the store's type; direct when nothing says otherwise.
    pub(super) fn conversation_type(&self, stored: Option<&str>) -> ConversationType {
        let word = stored.map(|stored| self.types.get(stored).map_or(stored, String::as_str));
        word.and_then(parse_conversation_type).unwrap_or(ConversationType::Direct)
    }

    fn check(&self, table: Table) -> Result<(), ProfileError> {
        let refuse = |fault: SectionFault| Err(ProfileError::section(table, fault));
        for (key, text) in [("select", Some(&self.select)), ("tables", self.tables.as_ref())] {
            if text.is_some_and(|text| text.contains('\0')) {
                return refuse(SectionFault::Nul(key));
            }
        }
        match (&self.tables, self.select.contains("{table}")) {
            (Some(_), false) => return refuse(SectionFault::TablesUnused),
            (None, true) => return refuse(SectionFault::TablesMissing),
            (Some(_), true) if !matches!(table, Table::Messages | Table::Files) => {
                return refuse(SectionFault::NotSplittable);
            }
            _ => {}
        }
        if let Some(column) = self.time.keys().find(|column| !table.times().contains(&column.as_str())) {
            return refuse(SectionFault::NotATime {
                column: column.clone(),
                times: table.times().join(", "),
            });
        }
        for (stored, word) in &self.types {
            let (known, words) = match table {
                Table::Messages => {
                    (parse_content_type(word).is_some(), "text, image, file, rich, notify, unknown")
                }
                Table::Conversations => (parse_conversation_type(word).is_some(), "direct, group, system"),
                _ => return refuse(SectionFault::NoTypesHere),
            };
            if !known {
                let (stored, word) = (stored.clone(), word.clone());
                return refuse(SectionFault::UnknownType { stored, word, words });
            }
        }
        Ok(())
    }
}

fn parse_content_type(word: &str) -> Option<ContentType> {
    Some(match word {
        "text" => ContentType::Text,
        "image" => ContentType::Image,
        "file" => ContentType::File,
        "rich" => ContentType::Rich,
        "notify" => ContentType::Notify,
        "unknown" => ContentType::Unknown,
        _ => return None,
    })
}

fn parse_conversation_type(word: &str) -> Option<ConversationType> {
    Some(match word {
        "direct" => ConversationType::Direct,
        "group" => ConversationType::Group,
        "system" => ConversationType::System,
        _ => return None,
    })
}

/// Bytes in lower-case hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Profile::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_refusal_names_the_section_and_what_to_change() {
        assert!(refusal("").contains("no section"));
        assert!(refusal("timezone = 'Mars'\n[contacts]\nselect = 'SELECT 1'").contains("+08:00"));
        assert!(refusal("[contacts]\nselect = 'SELECT 1'\nselekt = ''").contains("selekt"));
        assert!(refusal("[people]\nselect = 'SELECT 1'").contains("people"));
        assert!(refusal("[messages]\nselect = 'SELECT 1'\ntables = 'm*'").contains("FROM {table}"));
        assert!(refusal("[messages]\nselect = 'SELECT 1 FROM {table}'").contains("`tables`"));
        assert!(refusal("[contacts]\nselect = 'SELECT 1 FROM {table}'\ntables = 'm*'").contains("UNION ALL"));
        assert!(refusal("[messages]\nselect = ''\ntime = {create = 'unix_s'}").contains("created, received"));
        assert!(refusal("[messages]\nselect = ''\ntime = {created = 'months'}").contains("unix_ms"));
        assert!(refusal("[messages]\nselect = ''\ntypes = {1 = 'picture'}").contains("image"));
        assert!(refusal("[files]\nselect = ''\ntypes = {1 = 'image'}").contains("conversations only"));
        assert!(refusal("[files]\nselect = \"SELECT 1\\u0000\"").contains("`select` has a NUL"));
        assert!(
            refusal("[files]\nselect = 'SELECT 1 FROM {table}'\ntables = \"a\\u0000*\"")
                .contains("`tables` has a NUL")
        );
    }

    #[test]
    fn types_are_mapped_and_the_contracts_own_words_count() {
        let profile = Profile::parse("[messages]\nselect = ''\ntypes = {1 = 'image'}").unwrap();
        let section = profile.section(Table::Messages).unwrap();
        assert_eq!(section.content_type(Some("1")), ContentType::Image);
        assert_eq!(section.content_type(Some("rich")), ContentType::Rich);
        assert_eq!(section.content_type(Some("2")), ContentType::Unknown);
        assert_eq!(section.content_type(None), ContentType::Text);
    }
}
