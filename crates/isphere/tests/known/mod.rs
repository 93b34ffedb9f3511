//! What is in the organisation of the story, in the order of a source, without what each source says in its own way.

use std::collections::{HashMap, HashSet};

use isphere::{
    model::{Attachment, Contact, Conversation, ConversationType, FileEntry, Group, Message},
    sample::{Organisation, Sizes},
};

/// The story names people, groups and files of the organisation of this seed.
pub const SEED: u64 = 1;

/// The organisation of the story.
pub struct Known {
    /// Where the rest is from.
    pub organisation: Organisation,
    /// By id.
    pub contacts: Vec<Contact>,
    /// By id.
    pub groups: Vec<Group>,
    /// By number.
    pub conversations: Vec<Conversation>,
    /// The newest first.
    pub messages: Vec<Message>,
    /// The newest first.
    pub files: Vec<FileEntry>,
    conversation_types: HashMap<String, ConversationType>,
}

impl Known {
    /// Makes it, and makes sure that it holds what the story is about.
    pub fn new() -> Self {
        let organisation = Organisation::new(SEED, Sizes::demo()).unwrap();
        let Sizes { contacts, groups, messages, files } = organisation.sizes();
        let mut messages: Vec<_> =
            (0..messages).map(|number| plain_message(organisation.message(number))).collect();
        messages
            .sort_by(|one, other| (other.at_ms(), &other.message_id).cmp(&(one.at_ms(), &one.message_id)));
        assert!(messages.windows(2).any(|pair| pair[0].at_ms() == pair[1].at_ms()), "two of one moment");
        let content_types: HashSet<_> = messages.iter().map(|message| message.content_type).collect();
        assert_eq!(content_types.len(), 6, "messages of every type");
        let mut files: Vec<_> = (0..files).map(|number| plain_file(organisation.file(number))).collect();
        files.sort_by(|one, other| (other.created_ms, &other.file_id).cmp(&(one.created_ms, &one.file_id)));
        let conversations: Vec<_> =
            (0..organisation.conversations()).map(|number| organisation.conversation(number)).collect();
        let typed = |conversation: &Conversation| {
            (conversation.conversation_id.clone(), conversation.conversation_type)
        };
        Self {
            contacts: (0..contacts).map(|number| plain_contact(organisation.contact(number))).collect(),
            groups: (0..groups).map(|number| plain_group(organisation.group(number))).collect(),
            conversation_types: conversations.iter().map(typed).collect(),
            conversations,
            messages,
            files,
            organisation,
        }
    }

    /// What a window shows of it that knows people and groups by their names, the active ones, and no messages and files. A
    /// name that several people have is one person, of a department where all have the same.
    pub fn in_a_window() -> Self {
        let mut known = Self::new();
        known.contacts.retain(|contact| contact.active);
        for contact in &mut known.contacts {
            *contact = Contact {
                contact_id: contact.display_name.clone(),
                account: None,
                title: None,
                ..contact.clone()
            };
        }
        known.contacts.sort_by(|one, other| one.contact_id.cmp(&other.contact_id));
        known.contacts.dedup_by(|later, first| {
            let same = later.contact_id == first.contact_id;
            if same && later.department != first.department {
                first.department = None;
            }
            same
        });
        known.groups.retain(|group| !group.archived);
        for group in &mut known.groups {
            *group = Group {
                group_id: group.display_name.clone(),
                member_count: None,
                owner_ref: None,
                ..group.clone()
            };
        }
        known.groups.sort_by(|one, other| one.group_id.cmp(&other.group_id));
        known.groups.dedup_by(|later, first| later.group_id == first.group_id);
        (known.messages, known.files) = (Vec::new(), Vec::new());
        known
    }

    /// Those messages.
    pub fn messages_where(&self, wanted: impl Fn(&Message) -> bool) -> Vec<Message> {
        self.messages.iter().filter(|message| wanted(message)).cloned().collect()
    }

    /// Those files.
    pub fn files_where(&self, wanted: impl Fn(&FileEntry) -> bool) -> Vec<FileEntry> {
        self.files.iter().filter(|file| wanted(file)).cloned().collect()
    }

    /// The type of the conversation that a message is in.
    pub fn conversation_type(&self, message: &Message) -> ConversationType {
        self.conversation_types[&message.conversation_id]
    }
}

/// The contact without what differs between sources; the same for the rest.
pub fn plain_contact(contact: Contact) -> Contact {
    Contact { raw_ref: plain_ref(&contact.raw_ref), ..contact }
}

pub fn plain_group(group: Group) -> Group {
    Group { raw_ref: plain_ref(&group.raw_ref), ..group }
}

pub fn plain_message(mut message: Message) -> Message {
    let plain = |attachment| {
        let Attachment { download_ref, .. } = attachment;
        Attachment { download_ref: plain_download(download_ref), ..attachment }
    };
    message.attachments = message.attachments.into_iter().map(plain).collect();
    Message { raw_ref: plain_ref(&message.raw_ref), ..message }
}

pub fn plain_file(file: FileEntry) -> FileEntry {
    FileEntry { download_ref: plain_download(file.download_ref), ..file }
}

/// The table of `<source>:<table>#<12 hex>`.
fn plain_ref(raw_ref: &str) -> String {
    let (source, rest) = raw_ref.split_once(':').unwrap();
    let (table, hex) = rest.split_once('#').unwrap();
    assert!(["mock", "local_readonly", "uia"].contains(&source), "{raw_ref}");
    assert!(hex.len() == 12 && hex.bytes().all(|digit| digit.is_ascii_hexdigit()), "{raw_ref}");
    table.to_owned()
}

/// Whether it can be downloaded; how is the source's own word.
fn plain_download(download_ref: Option<String>) -> Option<String> {
    download_ref.map(|_| "yes".to_owned())
}
