//! The mock source: the generated organisation of the demo, in memory. Every row says `mock`.

use std::{collections::HashMap, io::Cursor};

use futures_util::future::{BoxFuture, ready};

use super::{Answer, Download, FileQuery, Hit, Lookup, MessageQuery, Page, Positioned, Source, SourceError};
use crate::{
    model::{Contact, Conversation, ConversationType, FileEntry, Group, Message, SourceName},
    sample::{Organisation, Sizes},
    search::{self, Fields, Query},
};

/// A generated organisation of [`Sizes::demo`].
#[derive(Debug)]
pub struct Mock {
    organisation: Organisation,
    contacts: Vec<Contact>,
    groups: Vec<Group>,
    conversations: Vec<Conversation>,
    conversation_types: HashMap<String, ConversationType>,
    /// The newest first.
    messages: Vec<Message>,
    /// The newest first, each with its number in the organisation.
    files: Vec<(u64, FileEntry)>,
}

impl Mock {
    /// The organisation of this seed.
    pub fn new(seed: u64) -> Self {
        let organisation = Organisation::new(seed, Sizes::demo()).expect("the demo's sizes are in range");
        let sizes = organisation.sizes();
        let conversations: Vec<_> =
            (0..organisation.conversations()).map(|number| organisation.conversation(number)).collect();
        let mut messages: Vec<_> = (0..sizes.messages).map(|number| organisation.message(number)).collect();
        messages.sort_by(|one, other| message_key(other).cmp(&message_key(one)));
        let mut files: Vec<_> = (0..sizes.files).map(|number| (number, organisation.file(number))).collect();
        files.sort_by(|one, other| file_key(other).cmp(&file_key(one)));
        Self {
            contacts: (0..sizes.contacts).map(|number| organisation.contact(number)).collect(),
            groups: (0..sizes.groups).map(|number| organisation.group(number)).collect(),
            conversation_types: conversations
                .iter()
                .map(|conversation| (conversation.conversation_id.clone(), conversation.conversation_type))
                .collect(),
            conversations,
            messages,
            files,
            organisation,
        }
    }

    fn messages_page(&self, query: &MessageQuery<'_>) -> Result<Page<Message>, SourceError> {
        let after = query.after.map(|position| parse_position("messages", position)).transpose()?;
        let keyword = query.keyword.map(search::fold);
        let conversation_type =
            |message: &Message| self.conversation_types.get(&message.conversation_id).copied();
        let matching = self.messages.iter().filter(|message| {
            after.is_none_or(|after| message_key(message) < after)
                && query.conversation_id.is_none_or(|id| message.conversation_id == id)
                && query.conversation_type.is_none_or(|wanted| conversation_type(message) == Some(wanted))
                && query.since_ms.is_none_or(|since| message.at_ms() >= since)
                && keyword.as_ref().is_none_or(|keyword| message.says(keyword))
        });
        let positioned =
            matching.map(|message| (position("messages", message_key(message)), message.clone()));
        Ok(page(positioned, query.limit))
    }

    fn files_page(&self, query: &FileQuery<'_>) -> Result<Page<FileEntry>, SourceError> {
        let after = query.after.map(|position| parse_position("files", position)).transpose()?;
        let matching = self.files.iter().filter(|file| {
            let (_, entry) = file;
            after.is_none_or(|after| file_key(file) < after)
                && query.conversation_id.is_none_or(|id| entry.conversation_id.as_deref() == Some(id))
                && query.message_id.is_none_or(|id| entry.message_id.as_deref() == Some(id))
        });
        let positioned = matching.map(|file| (position("files", file_key(file)), file.1.clone()));
        Ok(page(positioned, query.limit))
    }

    fn content(&self, file_id: &str) -> Result<Download, SourceError> {
        let file = self.files.iter().find(|(_, entry)| entry.file_id == file_id);
        let (number, _) = file.ok_or_else(|| {
            SourceError::NotFound("there is no file of this id; list the files first".into())
        })?;
        let content = self.organisation.file_content(*number).ok_or_else(|| {
            SourceError::NotFound("the client has not fetched this file; open it there first".into())
        })?;
        Ok(Download { size_bytes: Some(content.len() as u64), content: Box::new(Cursor::new(content)) })
    }
}

impl Source for Mock {
    fn name(&self) -> SourceName {
        SourceName::Mock
    }

    fn health(&self) -> BoxFuture<'_, Result<(), SourceError>> {
        Box::pin(ready(Ok(())))
    }

    fn contacts<'a>(&'a self, query: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Contact>>> {
        let listed = self.contacts.iter().filter(|contact| contact.active || query.include_inactive);
        let fields = |contact: &'a Contact| Fields {
            id: &contact.contact_id,
            name: &contact.display_name,
            account: contact.account.as_deref(),
            department: contact.department.as_deref(),
            title: contact.title.as_deref(),
        };
        Box::pin(ready(find("contacts", listed, fields, query)))
    }

    fn groups<'a>(&'a self, query: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Group>>> {
        let listed = self.groups.iter().filter(|group| !group.archived || query.include_inactive);
        let fields =
            |group: &'a Group| Fields { id: &group.group_id, name: &group.display_name, ..Fields::default() };
        Box::pin(ready(find("groups", listed, fields, query)))
    }

    fn conversations<'a>(&'a self, query: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Conversation>>> {
        let fields = |conversation: &'a Conversation| Fields {
            id: &conversation.conversation_id,
            name: &conversation.display_name,
            ..Fields::default()
        };
        Box::pin(ready(find("conversations", self.conversations.iter(), fields, query)))
    }

    fn contact<'a>(&'a self, contact_id: &'a str) -> Answer<'a, Option<Contact>> {
        let found = self.contacts.iter().find(|contact| contact.contact_id == contact_id);
        Box::pin(ready(Ok(found.cloned())))
    }

    fn group<'a>(&'a self, group_id: &'a str) -> Answer<'a, Option<Group>> {
        let found = self.groups.iter().find(|group| group.group_id == group_id);
        Box::pin(ready(Ok(found.cloned())))
    }

    fn conversation<'a>(&'a self, conversation_id: &'a str) -> Answer<'a, Option<Conversation>> {
        let found =
            self.conversations.iter().find(|conversation| conversation.conversation_id == conversation_id);
        Box::pin(ready(Ok(found.cloned())))
    }

    fn message<'a>(&'a self, message_id: &'a str) -> Answer<'a, Option<Message>> {
        let found = self.messages.iter().find(|message| message.message_id == message_id);
        Box::pin(ready(Ok(found.map(|message| Message { attachments: Vec::new(), ..message.clone() }))))
    }

    fn messages<'a>(&'a self, query: &'a MessageQuery<'a>) -> Answer<'a, Page<Message>> {
        Box::pin(ready(self.messages_page(query)))
    }

    fn files<'a>(&'a self, query: &'a FileQuery<'a>) -> Answer<'a, Page<FileEntry>> {
        Box::pin(ready(self.files_page(query)))
    }

    fn file<'a>(&'a self, file_id: &'a str) -> Answer<'a, Option<FileEntry>> {
        let found = self.files.iter().find(|(_, entry)| entry.file_id == file_id);
        Box::pin(ready(Ok(found.map(|(_, entry)| entry.clone()))))
    }

    fn download<'a>(&'a self, file_id: &'a str) -> Answer<'a, Download> {
        Box::pin(ready(self.content(file_id)))
    }
}

/// What orders a listing: a class or a time, then the id.
type Key<'a> = (i64, &'a str);

fn message_key(message: &Message) -> Key<'_> {
    (message.at_ms(), &message.message_id)
}

fn file_key((_, file): &(u64, FileEntry)) -> Key<'_> {
    (file.created_ms.unwrap_or(i64::MIN), &file.file_id)
}

/// Those of `listed` that match, by class, then by id.
fn find<'a, T: Clone + 'a>(
    table: &str,
    listed: impl Iterator<Item = &'a T>,
    fields: impl Fn(&'a T) -> Fields<'a>,
    lookup: &Lookup<'_>,
) -> Result<Page<Hit<T>>, SourceError> {
    let after = lookup.after.map(|position| parse_position(table, position)).transpose()?;
    let query = Query::new(lookup.query);
    let mut found: Vec<(Key<'_>, Hit<T>)> = listed
        .filter_map(|item| {
            let fields = fields(item);
            let found = query.rank(&fields)?;
            Some((
                (i64::from(found.class), fields.id),
                Hit { item: item.clone(), confidence: found.confidence },
            ))
        })
        .filter(|(key, _)| after.is_none_or(|after| *key > after))
        .collect();
    found.sort_by_key(|(key, _)| *key);
    Ok(page(found.into_iter().map(|(key, hit)| (position(table, key), hit)), lookup.limit))
}

/// The first `limit` of the items; goes on after the last one when there is one more.
fn page<T>(items: impl Iterator<Item = (String, T)>, limit: usize) -> Page<T> {
    let mut items = items.map(|(position, item)| Positioned { item, position });
    let taken: Vec<_> = items.by_ref().take(limit).collect();
    let next = taken.last().filter(|_| items.next().is_some()).map(|last| last.position.clone());
    Page { items: taken, next, warnings: Vec::new() }
}

/// `<table>/<class or time>/<id>`.
fn position(table: &str, (number, id): Key<'_>) -> String {
    format!("{table}/{number}/{id}")
}

fn parse_position<'a>(table: &str, position: &'a str) -> Result<Key<'a>, SourceError> {
    let key = || {
        let (number, id) = position.strip_prefix(table)?.strip_prefix('/')?.split_once('/')?;
        Some((number.parse().ok()?, id))
    };
    key().ok_or(SourceError::StalePosition)
}

#[cfg(test)]
mod tests {
    use super::{Mock, Source};

    #[test]
    fn every_row_says_mock() {
        let mock = Mock::new(1);
        assert_eq!(mock.name().as_str(), "mock");
        let references = (mock.contacts.iter().map(|contact| &contact.raw_ref))
            .chain(mock.groups.iter().map(|group| &group.raw_ref))
            .chain(mock.messages.iter().map(|message| &message.raw_ref));
        for reference in references {
            let (table, hex) = reference.strip_prefix("mock:").unwrap().split_once('#').unwrap();
            assert!(["contacts", "groups", "messages"].contains(&table));
            assert!(hex.len() == 12 && hex.bytes().all(|digit| digit.is_ascii_hexdigit()));
        }
    }
}
