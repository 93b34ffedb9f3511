//! A generated organisation, for the mock source, for sample stores and for benches: people in departments, groups,
//! conversations, months of messages in threads, and files with real content.
//!
//! Every row is a function of the seed, the sizes and the row's number, so that ten million messages are made one by
//! one, in any order, in no memory. Rows are numbered from 0; the person 0 is the one whose client this is.

mod content;
mod draw;
mod messages;
mod people;
mod store;
mod talk;

use thiserror::Error;

use crate::{
    model::{Contact, Conversation, ConversationType, Group},
    sample::draw::{Draw, Kind},
};

pub use store::{Progress, Step, StoreError, Written, write_store};

/// How large an organisation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// People, 1 to 99,999,999.
    pub contacts: u64,
    /// Groups, up to 999,999.
    pub groups: u64,
    /// Messages, up to 1,000,000,000. They spread over 13 weeks, and over a week more for every 100,000, up to 104.
    pub messages: u64,
    /// Files, at most as many as messages and at most 9,999,999.
    pub files: u64,
}

impl Sizes {
    /// An organisation in which one message in fifty has a file, up to 2,000 files.
    pub fn new(contacts: u64, groups: u64, messages: u64) -> Self {
        Self { contacts, groups, messages, files: (messages / 50).min(2_000) }
    }

    /// The organisation of the demo: small enough to be kept in memory.
    pub fn demo() -> Self {
        Self { contacts: 300, groups: 40, messages: 6_000, files: 240 }
    }

    /// The same sizes when each is in its range.
    fn checked(self) -> Result<Self, SizesError> {
        let ranges = [
            ("contacts", self.contacts, 1, 99_999_999),
            ("groups", self.groups, 0, 999_999),
            ("messages", self.messages, 0, 1_000_000_000),
            ("files", self.files, 0, self.messages.min(9_999_999)),
        ];
        match ranges.into_iter().find(|(_, number, least, most)| !(least..=most).contains(&number)) {
            Some((name, _, least, most)) => Err(SizesError { name, least, most }),
            None => Ok(self),
        }
    }
}

/// A size is out of its range.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the number of {name} must be from {least} to {most}")]
pub struct SizesError {
    name: &'static str,
    least: u64,
    most: u64,
}

/// An organisation. Its rows are made when they are asked for; their `raw_ref` says `mock`.
#[derive(Clone, Debug)]
pub struct Organisation {
    seed: u64,
    sizes: Sizes,
}

impl Organisation {
    /// The organisation of this seed. Refuses sizes out of range.
    pub fn new(seed: u64, sizes: Sizes) -> Result<Self, SizesError> {
        Ok(Self { seed, sizes: sizes.checked()? })
    }

    /// How large it is.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// A person, `number` below [`Sizes::contacts`]. Two may have the same name; accounts and ids are unique.
    pub fn contact(&self, number: u64) -> Contact {
        let mut draw = Draw::new(self.seed, Kind::Contact, number);
        let name = people::person(&mut draw);
        // Some accounts are for machines or guests, who are in no department and have no title.
        let guest = draw.once_in(60);
        Contact {
            contact_id: contact_id(number),
            account: (!draw.once_in(90)).then(|| format!("{}{number}", name.pinyin)),
            display_name: name.display,
            department: (!guest).then(|| self.department(number)),
            title: (!guest && !draw.once_in(10)).then(|| people::title(&mut draw).to_owned()),
            // The owner of the client is there.
            active: number == 0 || !draw.once_in(20),
            raw_ref: self.raw_ref("contacts", number),
        }
    }

    /// A group, `number` below [`Sizes::groups`].
    pub fn group(&self, number: u64) -> Group {
        let GroupPlan { first, count, mut draw } = self.group_plan(number);
        Group {
            group_id: group_id(number),
            display_name: people::group(&mut draw, &self.department(first), number),
            member_count: Some(count),
            owner_ref: Some(contact_id(if draw.once_in(4) { 0 } else { first })),
            archived: draw.once_in(8),
            raw_ref: self.raw_ref("groups", number),
        }
    }

    /// The numbers of the people in a group: the client's owner, and neighbours, who are of the same departments.
    pub fn members(&self, group: u64) -> impl Iterator<Item = u64> + use<> {
        let GroupPlan { first, count, .. } = self.group_plan(group);
        let contacts = self.sizes.contacts;
        (0..count).map(move |place| member(first, place, contacts))
    }

    /// How many conversations there are: the client's notices, some direct ones, and one for each group.
    pub fn conversations(&self) -> u64 {
        SYSTEM.len() as u64 + self.direct_conversations() + self.sizes.groups
    }

    /// A conversation, `number` below [`Self::conversations`].
    pub fn conversation(&self, number: u64) -> Conversation {
        match self.party(number) {
            Party::System(name) => Conversation {
                conversation_id: format!("s-{number}"),
                conversation_type: ConversationType::System,
                display_name: name.to_owned(),
                peer_id: None,
            },
            Party::Person(contact) => Conversation {
                conversation_id: format!("d-{}", contact_id(contact)),
                conversation_type: ConversationType::Direct,
                display_name: people::person(&mut Draw::new(self.seed, Kind::Contact, contact)).display,
                peer_id: Some(contact_id(contact)),
            },
            Party::Group(group) => Conversation {
                conversation_id: format!("g-{}", group_id(group)),
                conversation_type: ConversationType::Group,
                display_name: self.group(group).display_name,
                peer_id: Some(group_id(group)),
            },
        }
    }

    /// People talk directly with their nearest colleagues: a quarter of the organisation, up to 20,000 people.
    fn direct_conversations(&self) -> u64 {
        (self.sizes.contacts / 4 + 8).min(20_000).min(self.sizes.contacts - 1)
    }

    /// With whom a conversation is.
    fn party(&self, number: u64) -> Party {
        let (system, direct) = (SYSTEM.len() as u64, self.direct_conversations());
        if number < system {
            Party::System(SYSTEM[usize::try_from(number).expect("it is below a length")])
        } else if number < system + direct {
            Party::Person(number - system + 1)
        } else {
            Party::Group(number - system - direct)
        }
    }

    /// The department of a person; a dozen neighbours are of the same one.
    fn department(&self, contact: u64) -> String {
        people::department(&mut Draw::new(self.seed, Kind::Team, contact / 12))
    }

    fn group_plan(&self, number: u64) -> GroupPlan {
        let mut draw = Draw::new(self.seed, Kind::Group, number);
        let first = draw.below(self.sizes.contacts);
        let count = (3 + draw.low_below(198)).min(self.sizes.contacts);
        GroupPlan { first, count, draw }
    }

    /// `mock:<table>#<12 hex>`.
    fn raw_ref(&self, table: &str, number: u64) -> String {
        let bits = Draw::new(self.seed, Kind::Reference, number).bits();
        format!("mock:{table}#{:012x}", bits >> 16)
    }
}

/// The conversations that the client has with nobody.
const SYSTEM: [&str; 3] = ["系统通知", "审批助手", "安全公告"];

/// With whom a conversation is.
#[derive(Clone, Copy)]
enum Party {
    /// Nobody: the client's own notices, under this name.
    System(&'static str),
    /// The contact of this number.
    Person(u64),
    /// The group of this number.
    Group(u64),
}

/// Who is in a group, and the draw for the rest of it.
struct GroupPlan {
    first: u64,
    count: u64,
    draw: Draw,
}

/// The member at `place` of a group that starts at `first`: the owner of the client, then neighbours of `first`.
fn member(first: u64, place: u64, contacts: u64) -> u64 {
    if place == 0 { 0 } else { 1 + (first + place - 1) % (contacts - 1) }
}

fn contact_id(number: u64) -> String {
    format!("u{number:08}")
}

fn group_id(number: u64) -> String {
    format!("g{number:06}")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Organisation, Sizes};

    fn demo() -> Organisation {
        Organisation::new(1, Sizes::demo()).unwrap()
    }

    #[test]
    fn a_row_is_the_same_whenever_it_is_asked_for() {
        let (one, other) = (demo(), demo());
        let backwards: Vec<_> = (0..500).rev().map(|number| one.message(number)).collect();
        assert!((0..500).map(|number| other.message(number)).eq(backwards.into_iter().rev()));
        assert_ne!(one.contact(5), Organisation::new(2, Sizes::demo()).unwrap().contact(5));
    }

    #[test]
    fn members_are_people_of_the_organisation_and_none_is_in_a_group_twice() {
        let organisation = demo();
        for group in 0..organisation.sizes().groups {
            let members: Vec<u64> = organisation.members(group).collect();
            assert_eq!(organisation.group(group).member_count, Some(members.len() as u64));
            assert_eq!(members.iter().collect::<HashSet<_>>().len(), members.len());
            assert!(members.iter().all(|&member| member < organisation.sizes().contacts));
        }
    }

    #[test]
    fn there_are_namesakes_leavers_archived_groups_and_surnames_read_in_two_ways() {
        let organisation = demo();
        let contacts: Vec<_> = (0..300).map(|number| organisation.contact(number)).collect();
        let names: HashSet<_> = contacts.iter().map(|contact| &contact.display_name).collect();
        assert!(names.len() < contacts.len());
        assert!(contacts.iter().any(|contact| !contact.active));
        assert!(contacts.iter().any(|contact| contact.display_name.starts_with(['曾', '单', '解', '查'])));
        assert!((0..40).any(|number| organisation.group(number).archived));
    }

    #[test]
    fn the_smallest_organisation_has_its_owner_and_the_notices() {
        let organisation =
            Organisation::new(1, Sizes { contacts: 1, groups: 1, messages: 40, files: 40 }).unwrap();
        assert_eq!(organisation.members(0).collect::<Vec<_>>(), [0]);
        assert_eq!(organisation.conversations(), 4);
        assert!((0..40).all(|number| organisation.message(number).attachments.len() <= 2));
    }

    #[test]
    fn sizes_out_of_range_are_refused_by_name() {
        let refused = |sizes| Organisation::new(1, sizes).unwrap_err().to_string();
        let sizes = Sizes::demo();
        assert_eq!(
            refused(Sizes { contacts: 0, ..sizes }),
            "the number of contacts must be from 1 to 99999999"
        );
        assert_eq!(refused(Sizes { files: 6_001, ..sizes }), "the number of files must be from 0 to 6000");
        assert!(refused(Sizes { messages: 1_000_000_001, ..sizes }).contains("messages"));
    }
}
