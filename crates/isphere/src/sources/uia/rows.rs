//! What a window shows, read from its tree by the selectors of a profile.
//!
//! A window gives no ids. What has a name is known by this name, so that an entry of a policy can name it; rows of one name
//! cannot be told apart and are one item.

use std::collections::HashMap;

use govern::hex::hex;
use sha2::{Digest as _, Sha256};

use super::profile::{List, Messages, Profile, Selector, is_kind};
use crate::helper::{Dump, Element};
use crate::model::{
    Contact, ContentType, Conversation, ConversationType, Group, Message, SourceName, Warning, is_usable_id,
};
use crate::outside;
use crate::sources::SourceError;

/// People, groups or conversations of a list, in the order of their names.
#[derive(Debug)]
pub struct Named<T> {
    /// Each name once.
    pub items: Vec<T>,
    /// Whether several rows have the same name.
    pub has_namesakes: bool,
    /// Why there is no list, when there is none.
    pub missing: Option<Warning>,
}

/// The people that are listed. In a tree the rows above a person are the department.
pub fn contacts(dump: &Dump, profile: &Profile) -> Result<Named<Contact>, SourceError> {
    let listed = listed("contacts", dump, profile.contacts.as_ref())?;
    Ok(listed.map(|(name, department)| Contact {
        raw_ref: raw_ref("contacts", &name),
        contact_id: name.clone(),
        display_name: name,
        account: None,
        department,
        title: None,
        active: true,
    }))
}

/// The groups that are listed.
pub fn groups(dump: &Dump, profile: &Profile) -> Result<Named<Group>, SourceError> {
    let listed = listed("groups", dump, profile.groups.as_ref())?;
    Ok(listed.map(|(name, _)| Group {
        raw_ref: raw_ref("groups", &name),
        group_id: name.clone(),
        display_name: name,
        member_count: None,
        owner_ref: None,
        archived: false,
    }))
}

/// The conversations that are listed, and the open one. One whose name is among the groups that are listed is a
/// group's; any other passes for one of two people.
pub fn conversations(dump: &Dump, profile: &Profile) -> Result<Named<Conversation>, SourceError> {
    let mut listed = listed("conversations", dump, profile.conversations.as_ref())?;
    if let Some(messages) = &profile.messages
        && let Ok(open) = open_name(dump, messages)
        && listed.items.iter().all(|(name, _)| *name != open)
    {
        listed.items.push((open, None));
    }
    let groups = groups(dump, profile)?.items;
    Ok(listed.map(|(name, _)| Conversation {
        conversation_type: if groups.iter().any(|group| group.group_id == name) {
            ConversationType::Group
        } else {
            ConversationType::Direct
        },
        conversation_id: name.clone(),
        peer_id: Some(name.clone()),
        display_name: name,
    }))
}

/// The open conversation.
#[derive(Debug)]
pub struct Open {
    /// Its name, which is its id.
    pub name: String,
    /// Its messages, the newest first, which is the last on the screen. Their ids are digests of what they say, counted where
    /// several say the same.
    pub messages: Vec<Message>,
}

/// The open conversation with what of it is on the screen.
pub fn open_conversation(dump: &Dump, profile: &Profile) -> Result<Open, SourceError> {
    let selector = profile.messages.as_ref().ok_or_else(|| SourceError::Unavailable {
        message: "the selector profile of the uia source has no [messages], so none are read; ask another source, or add it"
            .to_owned(),
        retryable: false,
    })?;
    let name = open_name(dump, selector)?;
    let container = container("messages", dump, &selector.container())?;
    let mut said: HashMap<String, usize> = HashMap::new();
    let mut messages: Vec<Message> = leaves(container, &selector.rows)
        .into_iter()
        .filter_map(|(row, _)| {
            let text = part(row, selector.text.as_deref())?.to_owned();
            let sender = selector.sender.as_deref().and_then(|id| part(row, Some(id)));
            let sender = sender.map(clean_name).filter(|name| is_usable_id(name));
            let content = format!("{name}\0{}\0{text}", sender.as_deref().unwrap_or_default());
            let time = said.entry(content.clone()).and_modify(|times| *times += 1).or_insert(1);
            let digest = hex(&Sha256::digest(format!("{content}\0{time}")));
            Some(Message {
                message_id: format!("uia-{}", &digest[..16]),
                conversation_id: name.clone(),
                sender_id: sender.clone(),
                sender_name: sender,
                content_type: ContentType::Text,
                text,
                attachments: Vec::new(),
                created_ms: None,
                received_ms: None,
                retracted: false,
                raw_ref: raw_ref("messages", &digest),
            })
        })
        .collect();
    messages.reverse();
    Ok(Open { name, messages })
}

/// The only element on the screen that a selector matches.
pub fn only<'a>(dump: &'a Dump, selector: &Selector) -> Result<&'a Element, usize> {
    let mut matching = dump.root.walk().filter(|element| !element.is_offscreen && selector.matches(element));
    match (matching.next(), matching.count()) {
        (Some(element), 0) => Ok(element),
        (None, _) => Err(0),
        (Some(_), more) => Err(1 + more),
    }
}

/// The rows of a list that hold no further rows, each with the names of the rows that it is in.
pub fn leaves<'a>(container: &'a Element, kind: &str) -> Vec<(&'a Element, Vec<&'a str>)> {
    fn collect<'a>(
        element: &'a Element,
        kind: &str,
        path: &[&'a str],
        found: &mut Vec<(&'a Element, Vec<&'a str>)>,
    ) {
        for child in &element.children {
            if !is_kind(child, kind) {
                collect(child, kind, path, found);
            } else if child.walk().skip(1).any(|inner| is_kind(inner, kind)) {
                collect(child, kind, &[path, &[child.name.trim()]].concat(), found);
            } else {
                found.push((child, path.to_vec()));
            }
        }
    }
    let mut found = Vec::new();
    collect(container, kind, &[], &mut found);
    found
}

/// A name, and the rows above it.
type Row = (String, Option<String>);

/// The rows of a list, each name once; what is above is kept where it is the same for all rows of the name.
fn listed(section: &'static str, dump: &Dump, list: Option<&List>) -> Result<Named<Row>, SourceError> {
    let missing = |code, message| Named {
        items: Vec::new(),
        has_namesakes: false,
        missing: Some(Warning::new(code, message)),
    };
    let Some(list) = list else {
        let message = format!(
            "the selector profile of the uia source has no [{section}], so {section} are not read from the window"
        );
        return Ok(missing("NOT_IN_PROFILE", message));
    };
    let container = match only(dump, &list.container()) {
        Ok(container) => container,
        Err(0) => {
            let message = format!(
                "the window does not show its {section} right now; open that part of the client to read them"
            );
            return Ok(missing("NOT_ON_SCREEN", message));
        }
        Err(count) => return Err(too_wide(section, count)),
    };
    let rows = leaves(container, &list.rows).into_iter().filter_map(|(row, path)| {
        let name = clean_name(part(row, list.name.as_deref())?);
        let above: Vec<String> = path.into_iter().map(clean_name).filter(|name| !name.is_empty()).collect();
        is_usable_id(&name).then(|| (name, (!above.is_empty()).then(|| above.join("/"))))
    });
    let mut rows: Vec<Row> = rows.collect();
    rows.sort();
    let mut named = Named { items: Vec::<Row>::new(), has_namesakes: false, missing: None };
    for (name, above) in rows {
        match named.items.last_mut() {
            Some((known, known_above)) if *known == name => {
                if *known_above != above {
                    *known_above = None;
                }
                named.has_namesakes = true;
            }
            _ => named.items.push((name, above)),
        }
    }
    Ok(named)
}

impl Named<Row> {
    fn map<T>(self, item: impl FnMut(Row) -> T) -> Named<T> {
        let Self { items, has_namesakes, missing } = self;
        Named { items: items.into_iter().map(item).collect(), has_namesakes, missing }
    }
}

fn open_name(dump: &Dump, messages: &Messages) -> Result<String, SourceError> {
    let element = match &messages.conversation {
        Some(selector) => container("messages.conversation", dump, selector)?,
        None => &dump.root,
    };
    let name = clean_name(&element.name);
    if is_usable_id(&name) {
        Ok(name)
    } else {
        Err(SourceError::Unavailable {
            message: "the window does not name the open conversation; open one in the client, or mend [messages] conversation of \
                      the selector profile"
                .to_owned(),
            retryable: true,
        })
    }
}

/// The element that a part of `[messages]` selects.
fn container<'a>(section: &str, dump: &'a Dump, selector: &Selector) -> Result<&'a Element, SourceError> {
    only(dump, selector).map_err(|count| match count {
        0 => SourceError::Unavailable {
            message: format!(
                "the window shows nothing that [{section}] of the selector profile selects; open a conversation in the client, or \
                 mend the profile"
            ),
            retryable: true,
        },
        _ => too_wide(section, count),
    })
}

fn too_wide(section: &str, count: usize) -> SourceError {
    SourceError::Failed(format!(
        "[{section}] of the selector profile selects {count} elements of the window; make it narrower"
    ))
}

/// What the element of this automation id in a row says; without an id, what the row itself says.
fn part<'a>(row: &'a Element, automation_id: Option<&str>) -> Option<&'a str> {
    let element = match automation_id {
        Some(id) => row.walk().find(|element| element.automation_id == id)?,
        None => row,
    };
    Some(element.name.as_str()).filter(|name| !name.trim().is_empty())
}

fn clean_name(text: &str) -> String {
    outside::name(text.trim()).trim().to_owned()
}

fn raw_ref(table: &str, what: &str) -> String {
    let digest = hex(&Sha256::digest(what));
    format!("{}:{table}#{}", SourceName::Uia.as_str(), &digest[..12])
}
