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
            Self::Unreadable { origin, .. } | Self::TooLarge { origin } => origin,
        }
    }
}

/// Reads all mail at `path`, one message at a time, in the order of the file names.
///
/// A file given by name is always read: as mbox when it begins with `From `, else as one message. A folder with `cur`
/// or `new` is a Maildir and its `tmp` is left alone. Any other folder is searched to its leaves; files in it that are
/// neither named nor shaped like mail are passed over. A folder reached twice through links is read once.
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
        if entry.path.metadata()?.is_dir() {
            self.open_folder(&entry.path)?;
            return Ok(None);
        }
        let mut reader = BufReader::new(File::open(&entry.path)?);
        let head = reader.fill_buf()?;
        if !entry.given && !is_named_as_mail(&entry.path) && !looks_like_mail(head) {
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
        let found = paths.into_iter().rev().filter(|path| path.is_dir() || path.is_file());
        self.waiting.extend(found.map(|path| Entry { path, given }));
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
