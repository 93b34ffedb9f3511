//! Messages and files of the organisation.
//!
//! Messages come in slots of 32: four threads of eight lines that interleave, each in one conversation and about one
//! matter. Times grow with the numbers, in working hours of Beijing.

use super::{
    Organisation, Party, SYSTEM, contact_id,
    content::File,
    draw::{Draw, Kind},
    member, people, talk,
};
use crate::model::{Attachment, ContentType, FileEntry, Message};

impl Organisation {
    /// A message, `number` below [`super::Sizes::messages`].
    pub fn message(&self, number: u64) -> Message {
        let thread = self.thread(number);
        let (created_ms, received_ms) = self.times(number, thread.party);
        let mut draw = Draw::new(self.seed, Kind::Message, number);
        let (sender_id, sender_name) = self.sender(&thread, &mut draw);
        let files: Vec<_> = self.files_of(number).map(|file| (file, File::new(self.seed, file))).collect();
        let (content_type, text) = content(&thread, files.first().map(|(_, file)| file), &mut draw);
        // The client empties what its author took back.
        let retracted = content_type == ContentType::Text && draw.once_in(80);
        Message {
            message_id: message_id(number),
            conversation_id: self.conversation_id(thread.conversation),
            sender_id,
            sender_name,
            content_type,
            text: if retracted { String::new() } else { text },
            attachments: files.into_iter().map(|(number, file)| self.attachment(number, file)).collect(),
            created_ms,
            received_ms,
            retracted,
            raw_ref: self.raw_ref("messages", number),
        }
    }

    /// A file, `number` below [`super::Sizes::files`].
    pub fn file(&self, number: u64) -> FileEntry {
        let message = self.message_of(number);
        let thread = self.thread(message);
        let (created_ms, received_ms) = self.times(message, thread.party);
        let file = File::new(self.seed, number);
        let mime_type = file.format.mime_type();
        let Attachment { file_id, file_name, size_bytes, download_ref } = self.attachment(number, file);
        FileEntry {
            file_id,
            message_id: Some(message_id(message)),
            conversation_id: Some(self.conversation_id(thread.conversation)),
            file_name,
            size_bytes,
            mime_type: Some(mime_type.to_owned()),
            created_ms: created_ms.or(received_ms),
            download_ref,
        }
    }

    /// The bytes of a file. Those of one in twelve were never fetched by the client: they are nowhere, and the file
    /// has no `download_ref`.
    pub fn file_content(&self, number: u64) -> Option<Vec<u8>> {
        self.is_fetched(number).then(|| File::new(self.seed, number).bytes())
    }

    fn is_fetched(&self, file: u64) -> bool {
        !Draw::new(self.seed.wrapping_add(1), Kind::File, file).once_in(12)
    }

    fn attachment(&self, number: u64, file: File) -> Attachment {
        let file_id = format!("f{number:07}");
        Attachment {
            size_bytes: Some(file.bytes().len() as u64),
            file_name: file.name,
            download_ref: self.is_fetched(number).then(|| format!("mock-{file_id}")),
            file_id,
        }
    }

    /// The message that a file came with. Files are spread evenly; each tenth goes with the one before it.
    fn message_of(&self, file: u64) -> u64 {
        (file - u64::from(file % 10 == 9)) * self.sizes.messages / self.sizes.files
    }

    /// The files that came with a message, the other way round of [`Self::message_of`].
    fn files_of(&self, message: u64) -> impl Iterator<Item = u64> {
        let first = (message * self.sizes.files).div_ceil(self.sizes.messages.max(1));
        (first..self.sizes.files.min(first + 2)).filter(move |&file| self.message_of(file) == message)
    }

    fn thread(&self, message: u64) -> Thread {
        let thread = message / (LANES * LINES) * LANES + message % LANES;
        let mut draw = Draw::new(self.seed, Kind::Thread, thread);
        let (system, direct) = (SYSTEM.len() as u64, self.direct_conversations());
        let conversation = match draw.below(10) {
            1..5 if direct > 0 => system + draw.low_below(direct),
            5.. if self.sizes.groups > 0 => system + direct + draw.low_below(self.sizes.groups),
            _ => draw.below(system),
        };
        let matter = people::matter(&mut draw);
        let line = message / LANES % LINES;
        Thread { conversation, party: self.party(conversation), matter, line, draw }
    }

    /// Who wrote a line: in a group one of four members, in a direct conversation one of the two.
    fn sender(&self, thread: &Thread, draw: &mut Draw) -> (Option<String>, Option<String>) {
        let number = match thread.party {
            Party::System(name) => return (None, Some(name.to_owned())),
            Party::Person(contact) => draw.below(2) * contact,
            Party::Group(group) => {
                let plan = self.group_plan(group);
                let place = thread.draw.clone().below(plan.count) + draw.below(4);
                member(plan.first, place % plan.count, self.sizes.contacts)
            }
        };
        let name = people::person(&mut Draw::new(self.seed, Kind::Contact, number)).display;
        (Some(contact_id(number)), Some(name))
    }

    /// When a message was written and when it arrived. Nobody wrote the client's notices; a file is sent in the same
    /// moment as the line before it.
    fn times(&self, message: u64, party: Party) -> (Option<i64>, Option<i64>) {
        let with_line_before = message >= LANES && self.files_of(message).next().is_some();
        let written = self.written_ms(if with_line_before { message - LANES } else { message });
        let delay = Draw::new(self.seed.wrapping_add(1), Kind::Message, message).below(2_000);
        let received = written + 40 + i64::try_from(delay).expect("it is small");
        ((!matches!(party, Party::System(_))).then_some(written), Some(received))
    }

    /// A moment in working hours, later for larger numbers.
    pub(super) fn written_ms(&self, message: u64) -> i64 {
        let weeks = (13 + self.sizes.messages / 100_000).min(104);
        let interval = weeks * 5 * WORKDAY_MS / self.sizes.messages.max(1);
        let jitter = Draw::new(self.seed.wrapping_add(2), Kind::Message, message).below(interval + 1);
        let worked = message * interval + jitter;
        let day = worked / WORKDAY_MS;
        let since_start = (day / 5 * 7 + day % 5) * DAY_MS + worked % WORKDAY_MS;
        let moment = LAST_MONDAY_MS - weeks * 7 * DAY_MS + since_start;
        i64::try_from(moment).expect("it is in this century")
    }

    fn conversation_id(&self, number: u64) -> String {
        match self.party(number) {
            Party::System(_) => format!("s-{number}"),
            Party::Person(contact) => format!("d-{}", contact_id(contact)),
            Party::Group(group) => format!("g-{}", super::group_id(group)),
        }
    }
}

/// Threads that interleave.
const LANES: u64 = 4;
/// Messages in a thread.
const LINES: u64 = 8;
const DAY_MS: u64 = 24 * 3_600 * 1_000;
/// From 8:30 to 18:00.
const WORKDAY_MS: u64 = 34_200 * 1_000;
/// 8:30 in Beijing on Monday, 29 June 2026, the day after the last week.
const LAST_MONDAY_MS: u64 = 20_633 * DAY_MS + 30 * 60 * 1_000;

/// A run of messages about one matter, and the place of one of them in it.
struct Thread {
    conversation: u64,
    party: Party,
    matter: &'static str,
    line: u64,
    draw: Draw,
}

fn message_id(number: u64) -> String {
    format!("m{number:010}")
}

/// What a message holds. Bodies that the client could not decrypt are of no known type.
fn content(thread: &Thread, file: Option<&File>, draw: &mut Draw) -> (ContentType, String) {
    if let Some(file) = file {
        let content_type = file.format.content_type();
        let label = if content_type == ContentType::Image { "图片" } else { "文件" };
        return (content_type, format!("[{label}] {}", file.name));
    }
    if matches!(thread.party, Party::System(_)) || draw.once_in(200) {
        return (ContentType::Notify, talk::notice(draw, thread.matter));
    }
    match draw.below(300) {
        0 => (ContentType::Unknown, String::new()),
        1..6 => (ContentType::Rich, talk::rich(draw, thread.matter)),
        _ => (ContentType::Text, talk::line(draw, thread.matter, thread.line == 0)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::{Organisation, Sizes};
    use crate::model::ContentType;

    fn demo() -> Organisation {
        Organisation::new(1, Sizes::demo()).unwrap()
    }

    #[test]
    fn files_and_messages_name_each_other() {
        let organisation = demo();
        let Sizes { messages, files, .. } = organisation.sizes();
        let mut attached = Vec::new();
        for number in 0..messages {
            let message = organisation.message(number);
            for attachment in message.attachments {
                attached.push((
                    attachment.file_id,
                    Some(message.message_id.clone()),
                    message.conversation_id.clone(),
                ));
            }
        }
        let listed: Vec<_> = (0..files)
            .map(|number| organisation.file(number))
            .map(|file| (file.file_id, file.message_id, file.conversation_id.unwrap()))
            .collect();
        assert_eq!(attached, listed);
    }

    #[test]
    fn a_file_has_the_size_that_is_said_or_no_download_ref() {
        let organisation = demo();
        let mut missing = 0;
        for number in 0..organisation.sizes().files {
            let (file, content) = (organisation.file(number), organisation.file_content(number));
            assert_eq!(file.download_ref.is_some(), content.is_some());
            missing += usize::from(content.is_none());
            assert!(content.is_none_or(|bytes| Some(bytes.len() as u64) == file.size_bytes));
        }
        assert!((1..60).contains(&missing));
    }

    #[test]
    fn every_message_is_in_a_conversation_that_is_there() {
        let organisation = demo();
        let ids: HashSet<_> = (0..organisation.conversations())
            .map(|number| organisation.conversation(number).conversation_id)
            .collect();
        assert_eq!(ids.len() as u64, organisation.conversations());
        assert!((0..6_000).all(|number| ids.contains(&organisation.message(number).conversation_id)));
    }

    #[test]
    fn messages_of_every_type_are_there_and_what_was_taken_back_is_empty() {
        let organisation = demo();
        let messages: Vec<_> = (0..6_000).map(|number| organisation.message(number)).collect();
        let types: HashSet<_> = messages.iter().map(|message| message.content_type).collect();
        assert_eq!(types.len(), 6);
        let retracted: Vec<_> = messages.iter().filter(|message| message.retracted).collect();
        assert!(!retracted.is_empty() && retracted.iter().all(|message| message.text.is_empty()));
        assert!(
            messages
                .iter()
                .any(|message| message.content_type == ContentType::Notify && message.created_ms.is_none())
        );
    }

    #[test]
    fn times_grow_but_for_files_which_come_with_the_line_before() {
        let organisation = demo();
        let written: Vec<i64> = (0..6_000).map(|number| organisation.written_ms(number)).collect();
        assert!(written.is_sorted());
        // 30 March to 26 June 2026.
        assert!(written[0] >= 1_774_828_800_000 && written[5_999] < 1_782_500_000_000);
        let with_file = (4..6_000)
            .map(|number| (number, organisation.message(number)))
            .find(|(_, message)| !message.attachments.is_empty() && message.created_ms.is_some());
        let (number, message) = with_file.unwrap();
        assert_eq!(message.created_ms, Some(written[usize::try_from(number).unwrap() - 4]));
    }
}
