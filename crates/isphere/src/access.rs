//! Whose data may be seen: `[policy] allow` and `deny`.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};

use govern::gate::Policy;
use thiserror::Error as ThisError;

use crate::error::Error;
use crate::model::{Contact, Conversation, ConversationType, FileEntry, Group, is_usable_id};
use crate::sources::{Source, SourceError};

/// The lists of the policy. `deny` wins; an `allow` that is not empty allows only what it lists. A listed contact
/// or group stands for the conversation with it as well. What is denied is hidden from every list, and asking for it by
/// its id is refused. Where there are lists, a message or file that belongs to no known conversation is hidden, for it
/// may belong to a denied one. What stays: a denied person as the author in a group that may be seen, and as the owner of
/// a group.
#[derive(Debug, Default)]
pub struct Access {
    allow: Entries,
    deny: Entries,
}

/// An entry of a list that means nothing.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[error(
    "[policy] {list} has an entry that means nothing: `{}`; write contact:ID, group:ID, conversation:ID, or a bare ID \
     without a colon; an ID has at most 512 characters, no spaces around it, and none that nobody sees",
    entry.escape_debug()
)]
pub struct AccessError {
    list: &'static str,
    entry: String,
}

impl AccessError {
    /// The same in Chinese.
    pub fn chinese(&self) -> String {
        let (list, entry) = (self.list, self.entry.escape_debug());
        format!(
            "[policy] {list} 中的条目 `{entry}` 没有意义；请写 contact:ID、group:ID、conversation:ID，或不带冒号的 ID；\
             ID 最多 512 个字符，前后没有空格，不含看不见的字符"
        )
    }
}

/// Whom an entry of a list names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'e> {
    /// None for a bare id, which may be of any kind.
    pub kind: Option<Kind>,
    /// The id.
    pub id: &'e str,
}

/// What an entry of a list can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A person.
    Contact,
    /// A group.
    Group,
    /// A conversation.
    Conversation,
}

impl<'e> Named<'e> {
    /// Reads an entry; none when it means nothing: a misspelt kind, or an id that no row has for an agent
    /// ([`is_usable_id`]), would silently protect nobody.
    pub fn parse(entry: &'e str) -> Option<Self> {
        let (kind, id) = match entry.split_once([':', '：']) {
            None => (None, entry),
            Some(_) if entry.contains('：') => return None,
            Some(("contact", id)) => (Some(Kind::Contact), id),
            Some(("group", id)) => (Some(Kind::Group), id),
            Some(("conversation", id)) => (Some(Kind::Conversation), id),
            Some(_) => return None,
        };
        (is_usable_id(id) && id.trim() == id).then_some(Self { kind, id })
    }

    /// Whether it may name something of this kind.
    pub fn may_be(self, kind: Kind) -> bool {
        self.kind.is_none_or(|named| named == kind)
    }
}

/// One list, by kind of entry; a bare id is in all of them.
#[derive(Debug, Default)]
struct Entries {
    contacts: HashSet<String>,
    groups: HashSet<String>,
    conversations: HashSet<String>,
}

impl Access {
    /// What the policy says.
    pub fn new(policy: &Policy) -> Result<Self, AccessError> {
        Ok(Self { allow: Entries::new("allow", &policy.allow)?, deny: Entries::new("deny", &policy.deny)? })
    }

    /// Whether everything may be seen, so that nothing has to be looked up.
    pub fn is_open(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }

    /// Whether a list may name a person.
    pub fn names_people(&self) -> bool {
        !self.allow.contacts.is_empty() || !self.deny.contacts.is_empty()
    }

    /// Whether a list may name a group.
    pub fn names_groups(&self) -> bool {
        !self.allow.groups.is_empty() || !self.deny.groups.is_empty()
    }

    /// Whether this person may be seen.
    pub fn contact(&self, contact_id: &str) -> bool {
        self.admits(|entries| entries.contacts.contains(contact_id))
    }

    /// Whether this group may be seen.
    pub fn group(&self, group_id: &str) -> bool {
        self.admits(|entries| entries.groups.contains(group_id))
    }

    /// Whether this conversation may be seen. One whose peer the source does not know goes by its own id.
    pub fn conversation(&self, conversation: &Conversation) -> bool {
        let id = conversation.conversation_id.as_str();
        let peer = conversation.peer_id.as_deref().unwrap_or(id);
        self.admits(|entries| {
            entries.conversations.contains(id)
                || match conversation.conversation_type {
                    ConversationType::Direct => entries.contacts.contains(peer),
                    ConversationType::Group => entries.groups.contains(peer),
                    ConversationType::System => false,
                }
        })
    }

    /// Refuses a person who may not be seen.
    pub fn check_contact(&self, contact: &Contact) -> Result<(), Error> {
        refuse_unless(self.contact(&contact.contact_id), "contact", &contact.contact_id)
    }

    /// Refuses a group that may not be seen.
    pub fn check_group(&self, group: &Group) -> Result<(), Error> {
        refuse_unless(self.group(&group.group_id), "group", &group.group_id)
    }

    /// Refuses a conversation that may not be seen.
    pub fn check_conversation(&self, conversation: &Conversation) -> Result<(), Error> {
        refuse_unless(self.conversation(conversation), "conversation", &conversation.conversation_id)
    }

    fn admits(&self, listed: impl Fn(&Entries) -> bool) -> bool {
        !listed(&self.deny) && (self.allow.is_empty() || listed(&self.allow))
    }
}

/// Which conversations of a source may be seen, asked for by id while a list is read; each is looked up once.
pub struct VisibleConversations<'a> {
    access: &'a Access,
    source: &'a dyn Source,
    known: Mutex<HashMap<String, Option<bool>>>,
}

impl<'a> VisibleConversations<'a> {
    /// Those of this source.
    pub fn new(access: &'a Access, source: &'a dyn Source) -> Self {
        Self { access, source, known: Mutex::default() }
    }

    /// Whether what belongs to this conversation may be seen. One that the source does not know is not admitted where
    /// there are lists.
    pub async fn admits(&self, conversation_id: &str) -> Result<bool, SourceError> {
        Ok(self.access.is_open() || self.look_up(conversation_id).await?.unwrap_or(false))
    }

    /// Whether this file may be seen: by the conversation of its row or, where that is none the source knows, by that of its
    /// message. A file of neither is not admitted where there are lists.
    pub async fn admits_file(&self, file: &FileEntry) -> Result<bool, SourceError> {
        if self.access.is_open() {
            return Ok(true);
        }
        if let Some(conversation_id) = &file.conversation_id
            && let Some(admitted) = self.look_up(conversation_id).await?
        {
            return Ok(admitted);
        }
        let Some(message_id) = &file.message_id else { return Ok(false) };
        match self.source.message(message_id).await? {
            Some(message) => self.admits(&message.conversation_id).await,
            None => Ok(false),
        }
    }

    /// What the lists say of this conversation; none when the source does not know it.
    async fn look_up(&self, conversation_id: &str) -> Result<Option<bool>, SourceError> {
        if let Some(known) = self.known().get(conversation_id) {
            return Ok(*known);
        }
        let found = self.source.conversation(conversation_id).await?;
        let admitted = found.map(|conversation| self.access.conversation(&conversation));
        self.known().insert(conversation_id.to_owned(), admitted);
        Ok(admitted)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Option<bool>>> {
        self.known.lock().expect("no holder of this lock panics")
    }
}

fn refuse_unless(allowed: bool, kind: &str, id: &str) -> Result<(), Error> {
    if allowed { Ok(()) } else { Err(Error::PolicyDenied { target_ref: format!("{kind}:{id}") }) }
}

impl Entries {
    fn new(list: &'static str, entries: &[String]) -> Result<Self, AccessError> {
        let mut sorted = Self::default();
        for entry in entries {
            let named = Named::parse(entry).ok_or_else(|| AccessError { list, entry: entry.clone() })?;
            for (kind, ids) in [
                (Kind::Contact, &mut sorted.contacts),
                (Kind::Group, &mut sorted.groups),
                (Kind::Conversation, &mut sorted.conversations),
            ] {
                if named.may_be(kind) {
                    ids.insert(named.id.to_owned());
                }
            }
        }
        Ok(sorted)
    }

    fn is_empty(&self) -> bool {
        self.contacts.is_empty() && self.groups.is_empty() && self.conversations.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(allow: &[&str], deny: &[&str]) -> Access {
        let list = |entries: &[&str]| entries.iter().map(|entry| (*entry).to_owned()).collect();
        Access::new(&Policy { allow: list(allow), deny: list(deny), ..Policy::default() }).unwrap()
    }

    fn direct(id: &str, peer: Option<&str>) -> Conversation {
        Conversation {
            conversation_id: id.to_owned(),
            conversation_type: ConversationType::Direct,
            display_name: "x".to_owned(),
            peer_id: peer.map(str::to_owned),
        }
    }

    #[test]
    fn without_lists_everything_may_be_seen() {
        let access = access(&[], &[]);
        assert!(access.is_open() && access.contact("a") && access.conversation(&direct("d", None)));
    }

    #[test]
    fn deny_wins_over_allow() {
        let access = access(&["contact:a", "contact:b"], &["contact:a"]);
        assert!(!access.contact("a") && access.contact("b") && !access.contact("c"));
    }

    #[test]
    fn a_listed_contact_stands_for_the_conversation_with_it() {
        let allowing = access(&["contact:a"], &[]);
        assert!(allowing.conversation(&direct("d1", Some("a"))));
        assert!(!allowing.conversation(&direct("d2", Some("b"))));
        let denying = access(&[], &["contact:a"]);
        assert!(!denying.conversation(&direct("d1", Some("a"))));
        assert!(!denying.conversation(&direct("a", None)), "an unknown peer goes by the conversation's id");
    }

    #[test]
    fn a_bare_id_means_any_of_the_three_kinds_and_an_id_with_a_colon_has_its_kind_in_front() {
        let access = access(&[], &["a", "group:g", "contact:xmpp:b"]);
        assert!(!access.contact("a") && !access.group("a"));
        assert!(!access.conversation(&direct("a", Some("c"))));
        assert!(!access.group("g") && access.contact("g"));
        assert!(!access.contact("xmpp:b") && access.group("xmpp:b"));
    }

    #[test]
    fn an_entry_that_would_protect_nobody_is_refused_with_its_list() {
        for entry in
            ["contact: ", "contact:", "", "person:1", "Contact:p3", "contact:p4 ", " p4", "group：g1"]
        {
            let policy = Policy { deny: vec![entry.to_owned()], ..Policy::default() };
            let refused = Access::new(&policy).err().unwrap_or_else(|| panic!("accepted: {entry:?}"));
            assert!(refused.to_string().starts_with("[policy] deny"), "{entry:?}");
        }
    }

    #[test]
    fn an_id_that_no_row_can_have_is_refused_and_shown_with_what_nobody_sees() {
        let long = format!("contact:{}", "x".repeat(513));
        for (entry, shown) in [
            ("contact:u1\0", "`contact:u1\\0`"),
            ("contact:u1\u{200b}", "`contact:u1\\u{200b}`"),
            ("group:\u{202e}g", "`group:\\u{202e}g`"),
            ("c1\n", "`c1\\n`"),
            (&long, "512"),
        ] {
            let policy = Policy { allow: vec![entry.to_owned()], ..Policy::default() };
            let refused = Access::new(&policy).err().unwrap_or_else(|| panic!("accepted: {entry:?}"));
            for message in [refused.to_string(), refused.chinese()] {
                assert!(message.starts_with("[policy] allow") && message.contains(shown), "{message}");
            }
        }
    }
}
