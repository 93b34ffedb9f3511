//! Where mail lies: single files, mbox files, Maildir folders, folders of any of these.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::header;

/// Bytes of one message; a longer one is a fault, so that no file can exhaust the memory.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// A message as it lay in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawMail {
    /// The path as given and, for an mbox, the number of the message in it: `inbox.mbox#3`.
    pub origin: String,
    /// The raw message, without mbox quoting.
    pub bytes: Vec<u8>,
}

/// Why one file or message could not be read. The others still are.
#[derive(Debug, thiserror::Error)]
pub enum SourceFault {
    /// The file or folder cannot be opened or read.
    #[error("{origin} cannot be read ({reason}); check that it exists and that this user may read it", reason = source.kind())]
    Unreadable {
        /// What was being read.
        origin: String,
        /// What the system said.
        source: io::Error,
    },
    /// A pipe, socket or device: opening it may wait for ever.
    #[error("{origin} is no file but a pipe, socket or device; copy the mail into a file and name that")]
    NotAFile {
        /// What was to be read.
        origin: String,
    },
    /// The message exceeds [`MAX_MESSAGE_BYTES`].
    #[error("{origin} is larger than {limit} bytes; split off its attachments and try again", limit = MAX_MESSAGE_BYTES)]
    TooLarge {
        /// The message.
        origin: String,
    },
}

impl SourceFault {
    /// The file or message at fault, in the form of [`RawMail::origin`].
    pub fn origin(&self) -> &str {
        match self {
            Self::Unreadable { origin, .. } | Self::NotAFile { origin } | Self::TooLarge { origin } => origin,
        }
    }
}

/// Reads all mail at `path`, one message at a time, in the order of the file names.
///
/// A file given by name is always read: as mbox when it begins with `From `, else as one message. A folder with `cur`
/// or `new` is a Maildir and its `tmp` is left alone. Any other folder is searched to its leaves; files in it that are
/// neither named nor shaped like mail are passed over, as are pipes and broken links. A folder reached twice through links is read once.
pub fn read(path: &Path) -> impl Iterator<Item = Result<RawMail, SourceFault>> {
    Reader {
        waiting: vec![Entry { path: path.to_owned(), given: true }],
        seen: HashSet::new(),
        mailbox: None,
    }
}

struct Entry {
    path: PathBuf,
    /// Named by the caller, not found in a folder.
    given: bool,
}

struct Reader {
    /// Still to be read, next one last.
    waiting: Vec<Entry>,
    /// Folders already read, by their real path.
    seen: HashSet<PathBuf>,
    mailbox: Option<Mailbox>,
}

impl Iterator for Reader {
    type Item = Result<RawMail, SourceFault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(message) = self.mailbox.as_mut().and_then(Mailbox::next) {
                return Some(message);
            }
            self.mailbox = None;
            let entry = self.waiting.pop()?;
            let origin = entry.path.display().to_string();
            match self.open(&entry, &origin) {
                Ok(None) => {}
                Ok(Some(message)) => return Some(message),
                Err(source) => return Some(Err(SourceFault::Unreadable { origin, source })),
            }
        }
    }
}

impl Reader {
    /// Reads a single message, or prepares to read a folder or an mbox and answers `None`.
    fn open(&mut self, entry: &Entry, origin: &str) -> io::Result<Option<Result<RawMail, SourceFault>>> {
        let is_wanted = entry.given || is_named_as_mail(&entry.path);
        let metadata = match entry.path.metadata() {
            // A broken link.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_wanted => return Ok(None),
            metadata => metadata?,
        };
        if metadata.is_dir() {
            self.open_folder(&entry.path)?;
            return Ok(None);
        }
        if !metadata.is_file() {
            return Ok(is_wanted.then(|| Err(SourceFault::NotAFile { origin: origin.to_owned() })));
        }
        let mut reader = BufReader::new(File::open(&entry.path)?);
        let head = reader.fill_buf()?;
        if !is_wanted && !looks_like_mail(head) {
            return Ok(None);
        }
        if head.starts_with(b"From ") {
            self.mailbox = Some(Mailbox::new(reader, origin.to_owned()));
            return Ok(None);
        }
        let mut bytes = Vec::new();
        reader.take(MAX_MESSAGE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        let origin = origin.to_owned();
        if bytes.len() > MAX_MESSAGE_BYTES {
            return Ok(Some(Err(SourceFault::TooLarge { origin })));
        }
        Ok(Some(Ok(RawMail { origin, bytes })))
    }

    fn open_folder(&mut self, folder: &Path) -> io::Result<()> {
        if !self.seen.insert(folder.canonicalize()?) {
            return Ok(());
        }
        let is_maildir = folder.join("cur").is_dir() || folder.join("new").is_dir();
        let mut paths: Vec<PathBuf> =
            folder.read_dir()?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
        paths.retain(|path| !(is_maildir && path.file_name().is_some_and(|name| name == "tmp")));
        paths.sort();
        // Every file in a Maildir's cur and new is a message, whatever its name.
        let given = folder.file_name().is_some_and(|name| name == "cur" || name == "new");
        self.waiting.extend(paths.into_iter().rev().map(|path| Entry { path, given }));
        Ok(())
    }
}

fn is_named_as_mail(path: &Path) -> bool {
    path.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| {
        ["eml", "mbox", "mbx", "emlx"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    })
}

/// The first line is a header field that mail begins with, or an mbox separator.
fn looks_like_mail(head: &[u8]) -> bool {
    const FIRST_FIELDS: &[&str] = &[
        "received",
        "return-path",
        "delivered-to",
        "from",
        "to",
        "cc",
        "subject",
        "date",
        "message-id",
        "mime-version",
        "content-type",
        "reply-to",
        "sender",
        "dkim-signature",
        "arc-seal",
        "authentication-results",
        "envelope-to",
    ];
    head.starts_with(b"From ")
        || header::field(header::next_line(head).0).is_some_and(|(name, _)| {
            let name = name.to_ascii_lowercase();
            name.starts_with("x-") || FIRST_FIELDS.contains(&name.as_str())
        })
}

/// The messages of an mbox file, mboxo or mboxrd.
struct Mailbox {
    reader: BufReader<File>,
    origin: String,
    number: usize,
    line: Vec<u8>,
    is_at_end: bool,
}

impl Mailbox {
    fn new(reader: BufReader<File>, origin: String) -> Self {
        Self { reader, origin, number: 0, line: Vec::new(), is_at_end: false }
    }

    /// The next message. Its separator is the first line of the file, or the line at which the one before it ended.
    fn next(&mut self) -> Option<Result<RawMail, SourceFault>> {
        if self.is_at_end {
            return None;
        }
        self.number += 1;
        let origin = format!("{}#{}", self.origin, self.number);
        match self.read_message() {
            Ok(Some(bytes)) => Some(Ok(RawMail { origin, bytes })),
            Ok(None) => Some(Err(SourceFault::TooLarge { origin })),
            Err(source) => {
                self.is_at_end = true;
                Some(Err(SourceFault::Unreadable { origin, source }))
            }
        }
    }

    /// Reads up to the next separator; `None` when the message is too large to be kept.
    fn read_message(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.number == 1 {
            self.read_line()?;
        }
        let mut bytes = Vec::new();
        let mut length = 0;
        let mut after_empty_line = true;
        loop {
            self.read_line()?;
            self.is_at_end = self.line.is_empty();
            if self.is_at_end || (after_empty_line && is_separator_line(&self.line)) {
                return Ok((length <= MAX_MESSAGE_BYTES).then_some(bytes));
            }
            after_empty_line = self.line.trim_ascii().is_empty();
            let line = unquoted(&self.line);
            length += line.len();
            if length <= MAX_MESSAGE_BYTES {
                bytes.extend_from_slice(line);
            }
        }
    }

    /// Reads the next line, or so much of it as a message may hold; empty at the end of the file.
    fn read_line(&mut self) -> io::Result<()> {
        self.line.clear();
        self.reader.by_ref().take(MAX_MESSAGE_BYTES as u64).read_until(b'\n', &mut self.line)?;
        Ok(())
    }
}

/// `From sender date`: with a time of day, so that a sentence which begins with From is not taken for one.
fn is_separator_line(line: &[u8]) -> bool {
    line.starts_with(b"From ")
        && line.windows(5).any(
            |window| matches!(window, [a, b, b':', c, d] if [a, b, c, d].into_iter().all(u8::is_ascii_digit)),
        )
}

/// Takes one `>` from `>From `, `>>From ` and so on.
fn unquoted(line: &[u8]) -> &[u8] {
    let marks = line.iter().take_while(|byte| **byte == b'>').count();
    if marks > 0 && line[marks..].starts_with(b"From ") { &line[1..] } else { line }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    /// Origins relative to the folder, with contents.
    fn read_all(folder: &Path, name: &str) -> Vec<(String, String)> {
        let prefix = format!("{}/", folder.display());
        read(&folder.join(name))
            .map(|mail| {
                let mail = mail.unwrap();
                (mail.origin.replace(&prefix, ""), String::from_utf8(mail.bytes).unwrap())
            })
            .collect()
    }

    fn names(found: &[(String, String)]) -> Vec<&str> {
        found.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn a_named_file_is_read_whatever_it_looks_like() {
        let folder = folder(&[("note.txt", "no header here")]);
        assert_eq!(
            read_all(folder.path(), "note.txt"),
            [("note.txt".to_owned(), "no header here".to_owned())]
        );
    }

    #[test]
    fn an_mbox_is_split_and_unquoted() {
        let folder = folder(&[(
            "in.mbox",
            "From a@x Mon Nov 30 08:00:00 2026\nSubject: 1\n\n>From here\n>>From there\n\nFrom the sentence 1\n\n\
             From b@x Mon Nov 30 09:00:00 2026\r\nSubject: 2\r\n\r\nlast",
        )]);
        assert_eq!(
            read_all(folder.path(), "in.mbox"),
            [
                (
                    "in.mbox#1".to_owned(),
                    "Subject: 1\n\nFrom here\n>From there\n\nFrom the sentence 1\n\n".to_owned()
                ),
                ("in.mbox#2".to_owned(), "Subject: 2\r\n\r\nlast".to_owned()),
            ]
        );
    }

    #[test]
    fn a_maildir_gives_new_and_cur_but_not_tmp() {
        let folder = folder(&[("new/1", "a"), ("cur/2:2,S", "b"), ("tmp/3", "c"), (".Sent/cur/4", "d")]);
        assert_eq!(names(&read_all(folder.path(), "")), [".Sent/cur/4", "cur/2:2,S", "new/1"]);
    }

    #[test]
    fn a_folder_is_searched_in_order_for_what_looks_like_mail() {
        let folder = folder(&[
            ("b/2.eml", "x"),
            ("a/1.EML", "x"),
            ("c", "Received: by x\n\n"),
            ("d.txt", "From a@x Mon Nov 30 08:00:00 2026\nTo: b\n\n"),
            ("list.json", "{\"a\":1}"),
            ("README", "Subject matter"),
        ]);
        assert_eq!(names(&read_all(folder.path(), "")), ["a/1.EML", "b/2.eml", "c", "d.txt#1"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_loop_of_links_ends() {
        let folder = folder(&[("a/1.eml", "x")]);
        std::os::unix::fs::symlink(folder.path(), folder.path().join("a/loop")).unwrap();
        assert_eq!(names(&read_all(folder.path(), "")), ["a/1.eml"]);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_named_when_it_was_to_be_read_and_never_opened() {
        let folder = folder(&[("a/z.eml", "x")]);
        let inside = |name: &str| folder.path().join("a").join(name);
        for name in ["pipe", "pipe.eml"] {
            assert!(std::process::Command::new("mkfifo").arg(inside(name)).status().unwrap().success());
        }
        for name in ["gone", "gone.eml"] {
            std::os::unix::fs::symlink("nowhere", inside(name)).unwrap();
        }
        let socket = std::os::unix::net::UnixListener::bind(inside("socket.eml")).unwrap();
        let outcomes = |path: &Path| -> Vec<&'static str> {
            read(path)
                .map(|mail| match mail {
                    Ok(_) => "read",
                    Err(SourceFault::NotAFile { .. }) => "not a file",
                    Err(SourceFault::Unreadable { .. }) => "unreadable",
                    Err(SourceFault::TooLarge { .. }) => "too large",
                })
                .collect()
        };
        assert_eq!(outcomes(folder.path()), ["unreadable", "not a file", "not a file", "read"]);
        assert_eq!(outcomes(&inside("pipe")), ["not a file"]);
        assert_eq!(outcomes(Path::new("/dev/zero")), ["not a file"]);
        assert_eq!(outcomes(&inside("gone")), ["unreadable"]);
        drop(socket);
    }

    #[test]
    fn what_is_missing_is_named_in_words_a_person_can_use() {
        let fault = read(Path::new("no-such-file.eml")).next().unwrap().unwrap_err();
        assert_eq!(
            fault.to_string(),
            "no-such-file.eml cannot be read (entity not found); check that it exists and that this user may read it"
        );
    }

    #[test]
    fn an_oversized_message_is_named_and_the_next_is_read() {
        let mut mailbox = "From a@x Mon Nov 30 08:00:00 2026\nSubject: big\n\n".to_owned();
        mailbox.push_str(&format!("{}\n", "x".repeat(1023)).repeat(MAX_MESSAGE_BYTES / 1024));
        mailbox.push_str("\nFrom b@x Mon Nov 30 09:00:00 2026\nSubject: small\n\n");
        let folder = folder(&[("in.mbox", &mailbox)]);
        let found: Vec<_> = read(&folder.path().join("in.mbox")).collect();
        assert!(matches!(&found[0], Err(SourceFault::TooLarge { origin }) if origin.ends_with("in.mbox#1")));
        assert_eq!(found[1].as_ref().unwrap().bytes, b"Subject: small\n\n");
    }
}
