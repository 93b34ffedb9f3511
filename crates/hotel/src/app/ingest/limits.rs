//! How much of a message's header is kept: more than a person writes, less than what an index or an answer can bear.
//!
//! A mail is cut, with a warning, since its sender cannot be asked and its raw form is kept; AgentBus is refused.

use super::{AgentBusMessage, invalid};
use crate::error::Error;
use crate::mail::{Address, Attachment, Mail, MailWarning};

/// Most characters of an external id. PostgreSQL's index rows end at 2,704 bytes, and a character has up to four.
const ID_CHARS: usize = 512;
/// Most characters of a provider and a channel, which share index rows with an id.
const ORIGIN_CHARS: usize = 64;
/// Most characters of a subject.
const SUBJECT_CHARS: usize = 2_000;
/// Most characters of an address with its name, and of a file name.
const ENTRY_CHARS: usize = 1_000;
/// Most entries of a list of addresses or files.
const ENTRIES: usize = 1_000;
/// How many ids at the end of References join a conversation, beside the first, which is its root.
const NEWEST_REFERENCES: usize = 200;

/// Cuts what is too long in a mail. A Message-ID that is too long counts as missing.
pub fn cut_mail(mail: &mut Mail) {
    if mail.message_id.as_ref().is_some_and(|id| !fits(id, ID_CHARS)) {
        mail.message_id = None;
        mail.warnings.push(MailWarning {
            code: "MESSAGE_ID_TOO_LONG",
            message: format!(
                "The mail's Message-ID has more than {ID_CHARS} characters; its digest stands for it."
            ),
        });
    }
    let mut cut = cut_text(&mut mail.subject, SUBJECT_CHARS);
    cut |= cut_ids(&mut mail.references) | cut_ids(&mut mail.in_reply_to);
    cut |= cut_list(&mut mail.to, cut_address) | cut_list(&mut mail.cc, cut_address);
    cut |= mail.from.as_mut().is_some_and(cut_address);
    cut |= cut_list(&mut mail.attachments, cut_attachment);
    if cut {
        mail.warnings.push(MailWarning {
            code: "HEADER_CUT",
            message: "Parts of the mail's header are too long and were cut; the raw mail has them."
                .to_owned(),
        });
    }
}

/// Refuses a message of AgentBus that is too long somewhere.
pub fn check_agentbus(message: &AgentBusMessage) -> Result<(), Error> {
    let source = &message.source;
    let texts = [
        ("$.source.provider", Some(&source.provider), ORIGIN_CHARS),
        ("$.source.channel", Some(&source.channel), ORIGIN_CHARS),
        ("$.source.external_message_id", Some(&source.external_message_id), ID_CHARS),
        ("$.source.external_conversation_id", source.external_conversation_id.as_ref(), ID_CHARS),
        ("$.subject", message.subject.as_ref(), SUBJECT_CHARS),
        ("$.from", message.from.as_ref(), ENTRY_CHARS),
    ];
    for (path, text, most) in texts {
        check_text(path, text.map_or("", String::as_str), most)?;
    }
    for (path, list) in [("$.to", &message.to), ("$.cc", &message.cc)] {
        check_list(path, list.len())?;
        for (position, entry) in list.iter().enumerate() {
            check_text(&format!("{path}[{position}]"), entry, ENTRY_CHARS)?;
        }
    }
    check_list("$.attachments", message.attachments.len())?;
    for (position, file) in message.attachments.iter().enumerate() {
        check_text(&format!("$.attachments[{position}].name"), &file.name, ENTRY_CHARS)?;
        check_text(&format!("$.attachments[{position}].type"), &file.content_type, ENTRY_CHARS)?;
    }
    Ok(())
}

fn check_text(path: &str, text: &str, most: usize) -> Result<(), Error> {
    if fits(text, most) { Ok(()) } else { Err(invalid(path, &format!("at most {most} characters"))) }
}

fn check_list(path: &str, length: usize) -> Result<(), Error> {
    if length <= ENTRIES { Ok(()) } else { Err(invalid(path, &format!("at most {ENTRIES} entries"))) }
}

fn fits(text: &str, most: usize) -> bool {
    text.chars().nth(most).is_none()
}

fn cut_text(text: &mut String, most: usize) -> bool {
    let Some((end, _)) = text.char_indices().nth(most) else { return false };
    let last = text[..end].char_indices().next_back().map_or(0, |(start, _)| start);
    text.truncate(last);
    text.push('…');
    true
}

fn cut_list<T>(list: &mut Vec<T>, cut_entry: fn(&mut T) -> bool) -> bool {
    let too_many = list.len() > ENTRIES;
    list.truncate(ENTRIES);
    list.iter_mut().fold(too_many, |cut, entry| cut_entry(entry) | cut)
}

fn cut_address(address: &mut Address) -> bool {
    // What is between and around the two when they are shown takes three characters.
    let half = (ENTRY_CHARS - 3) / 2;
    address.name.as_mut().is_some_and(|name| cut_text(name, half)) | cut_text(&mut address.email, half)
}

fn cut_attachment(file: &mut Attachment) -> bool {
    cut_text(&mut file.name, ENTRY_CHARS) | cut_text(&mut file.content_type, ENTRY_CHARS)
}

/// Leaves out ids that are too long, and those in the middle of a list that is.
fn cut_ids(ids: &mut Vec<String>) -> bool {
    let before = ids.len();
    ids.retain(|id| fits(id, ID_CHARS));
    if ids.len() > NEWEST_REFERENCES + 1 {
        ids.drain(1..ids.len() - NEWEST_REFERENCES);
    }
    ids.len() < before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::{self, LinkPolicy};

    fn cut(header: &str) -> Mail {
        let mut mail = mail::parse(format!("{header}\r\n\r\nHello.\r\n").as_bytes(), LinkPolicy::Host);
        cut_mail(&mut mail);
        mail
    }

    fn codes(mail: &Mail) -> Vec<&str> {
        mail.warnings.iter().map(|warning| warning.code).filter(|code| *code != "NO_DATE").collect()
    }

    #[test]
    fn a_header_at_the_limits_stays_as_it_is() {
        let header =
            format!("Message-ID: <{}>\r\nSubject: {}", "i".repeat(ID_CHARS), "s".repeat(SUBJECT_CHARS));
        let mail = cut(&header);
        assert_eq!(mail.message_id.as_ref().map(String::len), Some(ID_CHARS));
        assert_eq!(mail.subject.len(), SUBJECT_CHARS);
        assert_eq!(codes(&mail), [""; 0]);
    }

    #[test]
    fn a_message_id_that_is_too_long_counts_as_missing() {
        let mail = cut(&format!("Message-ID: <{}>", "i".repeat(ID_CHARS + 1)));
        assert_eq!(mail.message_id, None);
        assert_eq!(codes(&mail), ["MESSAGE_ID_TOO_LONG"]);
    }

    #[test]
    fn whatever_is_too_long_in_a_header_is_cut_with_one_warning() {
        let long = "长".repeat(3_000);
        let many = (0..1_500).map(|number| format!("p{number}@x.example,\r\n ")).collect::<Vec<_>>().concat();
        for header in [
            format!("Subject: {long}"),
            format!("From: {long} <a@x.example>"),
            format!("To: {many}b@x.example"),
            format!("Cc: \"{long}\" <{}@x.example>", "c".repeat(3_000)),
            format!("References: <{}@x.example> <r@x.example>", "r".repeat(3_000)),
        ] {
            let mail = cut(&header);
            assert_eq!(codes(&mail), ["HEADER_CUT"], "{}", header.chars().take(20).collect::<String>());
            assert!(fits(&mail.subject, SUBJECT_CHARS));
            assert!(mail.to.len() <= ENTRIES && mail.references.len() <= 1);
            let addresses = mail.from.iter().chain(&mail.to).chain(&mail.cc);
            assert!(addresses.map(ToString::to_string).all(|address| fits(&address, ENTRY_CHARS)));
        }
    }

    #[test]
    fn of_many_references_the_root_and_the_newest_join() {
        let ids = (0..5_000).map(|number| format!(" <r{number}@x.example>\r\n")).collect::<Vec<_>>().concat();
        let mail = cut(&format!("References:{}", ids.trim_end()));
        assert_eq!(mail.references.len(), NEWEST_REFERENCES + 1);
        assert_eq!(mail.references[0], "r0@x.example");
        assert_eq!(mail.references[NEWEST_REFERENCES], "r4999@x.example");
    }
}
