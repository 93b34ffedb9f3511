//! The inbound folder: where downloads are saved, whole or not at all, and never over another file.
//!
//! The bytes go to a temporary name beside the final one, are made durable, and get their final name by a hard link,
//! which fails where a file is already. So an interruption at any byte leaves nothing under the final name. What a killed
//! process left under a temporary name is removed by whoever saves into the same folder next.
//!
//! The configured folder is opened anew for each use: it may be moved away, removed and made again while the server runs.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use govern::arguments::ArgumentFault;
use govern::hex::hex;
use govern::random::Random;
use govern::text::visible;
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use unicode_normalization::UnicodeNormalization as _;

use super::names::{self, NAME_BYTES};
use super::partial::{Partial, is_temporary, remove_left_over};
use crate::sources::Download;

/// The configured folder for downloads.
#[derive(Debug)]
pub struct Inbound {
    path: PathBuf,
    max_bytes: u64,
    random: Random,
}

/// A folder below the inbound folder, which may not be there yet, and the names that are taken in it.
#[derive(Clone, Debug)]
pub struct Folder {
    relative: PathBuf,
    taken: HashSet<String>,
    /// Files under way and left behind, which were not looked at yet.
    temporary: Vec<String>,
}

/// A file that was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Where, relative to the inbound folder, with `/` between names.
    pub saved_path: String,
    /// Its digest, in hex.
    pub sha256: String,
    /// Its size.
    pub size_bytes: u64,
}

/// Hears how many bytes of a file have come.
pub type OnBytes<'a> = &'a (dyn Fn(u64) + Send + Sync);

/// Why a download was not saved. Messages hold no path.
#[derive(Debug, Error)]
pub enum InboundError {
    /// `output_dir` is not a path that may be used.
    #[error(transparent)]
    Path(#[from] ArgumentFault),
    /// A part of `output_dir` is a link or a file.
    #[error("`$.output_dir` must name folders, but a part of it is a link or a file; choose another")]
    NotAFolder,
    /// There is no room for further names.
    #[error("`$.output_dir` holds too many files, or too many of the same name; choose another")]
    Crowded,
    /// The file is larger than allowed.
    #[error("the file is larger than the {limit} bytes that the operator allows ([isphere] max_file_bytes)")]
    TooLarge {
        /// The configured limit, in bytes.
        limit: u64,
    },
    /// The source ended the file too early or too late.
    #[error("the source promised {promised} bytes and sent {came}, so nothing was saved; try again")]
    OtherSize {
        /// The size that the source promised.
        promised: u64,
        /// What came.
        came: u64,
    },
    /// The source failed in the middle.
    #[error("the source broke off after {came} bytes, so nothing was saved; try again")]
    BrokenOff {
        /// What came before.
        came: u64,
    },
    /// The configured folder cannot be opened any more.
    #[error(
        "the server's folder for downloads is not there, so nothing was saved; its operator has to make it again \
         ([isphere] inbound_dir)"
    )]
    NoFolder {
        /// Why, for the log.
        #[source]
        cause: io::Error,
    },
    /// The folder is not the one any more in which the file was begun.
    #[error(
        "the server's folder for downloads was moved or replaced while the file was saved, so it was not kept; try again"
    )]
    FolderMoved,
    /// This machine could not write.
    #[error("the file could not be saved on the server; the operator finds the reason in its log")]
    NotWritten {
        /// Why, for the log.
        #[source]
        cause: io::Error,
    },
}

/// The most entries of a folder that are looked at to avoid their names.
const MOST_ENTRIES: usize = 100_000;
/// The highest number that is put behind a name.
const MOST_OF_ONE_NAME: usize = 10_000;
/// How many bytes are read at once.
const CHUNK_BYTES: usize = 64 << 10;
/// The longest ending of a name that is kept when the name is shortened, in bytes.
const LONGEST_EXTENSION: usize = 20;

impl Inbound {
    /// The configured folder, which must be there.
    pub fn open(path: &Path, max_bytes: u64, random: Random) -> io::Result<Self> {
        Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(Self { path: path.to_owned(), max_bytes, random })
    }

    /// Saves `download` under a name like `file_name`.
    pub async fn save(
        &self,
        folder: &mut Folder,
        file_name: &str,
        download: Download,
        on_bytes: OnBytes<'_>,
    ) -> Result<Saved, InboundError> {
        if download.size_bytes.is_some_and(|size| size > self.max_bytes) {
            return Err(InboundError::TooLarge { limit: self.max_bytes });
        }
        let dir = self.make(&folder.relative)?;
        for name in folder.temporary.drain(..) {
            remove_left_over(&dir, &name);
        }
        let partial = Partial::create(dir, &self.random).map_err(not_written)?;
        let file = partial.writer().map_err(not_written)?;
        let (sha256, came) = self.write(file, download.content, on_bytes).await?;
        if let Some(promised) = download.size_bytes.filter(|promised| *promised != came) {
            return Err(InboundError::OtherSize { promised, came });
        }
        if !self.has(&folder.relative, &partial) {
            return Err(InboundError::FolderMoved);
        }
        loop {
            let name = folder.take(file_name)?;
            if partial.give_name(&name).map_err(not_written)? {
                return Ok(Saved { saved_path: folder.path_of(&name), sha256, size_bytes: came });
            }
        }
    }

    async fn write(
        &self,
        file: std::fs::File,
        mut content: Box<dyn AsyncRead + Send + Unpin>,
        on_bytes: OnBytes<'_>,
    ) -> Result<(String, u64), InboundError> {
        let mut file = tokio::fs::File::from_std(file);
        let (mut hash, mut came, mut chunk) = (Sha256::new(), 0, vec![0; CHUNK_BYTES]);
        loop {
            let count = content.read(&mut chunk).await.map_err(|error| {
                tracing::warn!(%error, "a source broke off a download");
                InboundError::BrokenOff { came }
            })?;
            if count == 0 {
                break;
            }
            came += count as u64;
            if came > self.max_bytes {
                return Err(InboundError::TooLarge { limit: self.max_bytes });
            }
            hash.update(&chunk[..count]);
            file.write_all(&chunk[..count]).await.map_err(not_written)?;
            on_bytes(came);
        }
        file.flush().await.map_err(not_written)?;
        file.sync_all().await.map_err(not_written)?;
        Ok((hex(&hash.finalize()), came))
    }

    fn root(&self) -> Result<Dir, InboundError> {
        Dir::open_ambient_dir(&self.path, ambient_authority())
            .map_err(|cause| InboundError::NoFolder { cause })
    }

    /// Whether the file is still in the folder that has this name now.
    fn has(&self, relative: &Path, partial: &Partial) -> bool {
        let folder = self.root().ok().and_then(|root| names::open_folder(&root, relative).ok());
        folder.is_some_and(|folder| partial.is_in(&folder).unwrap_or(false))
    }

    /// Opens the folder, making what is missing of it, through no link.
    fn make(&self, relative: &Path) -> Result<Dir, InboundError> {
        let mut dir = self.root()?;
        for name in relative {
            match dir.create_dir(name) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(not_written(error)),
                _ => dir = dir.open_dir_nofollow(name).map_err(|_| InboundError::NotAFolder)?,
            }
        }
        Ok(dir)
    }
}

impl Folder {
    /// What `output_dir` means below the inbound folder; without one, what it would mean. Nothing is made.
    pub fn new(inbound: Option<&Inbound>, output_dir: &str) -> Result<Self, InboundError> {
        let root = inbound.map_or(Path::new(""), |inbound| &inbound.path);
        let relative = names::below(root, output_dir).map_err(|fault| fault.of_argument("$.output_dir"))?;
        let taken = match inbound {
            Some(inbound) => names_in(&inbound.root()?, &relative)?,
            None => HashSet::new(),
        };
        // Folding changes nothing about a temporary name.
        let temporary = taken.iter().filter(|name| is_temporary(name)).cloned().collect();
        Ok(Self { relative, taken, temporary })
    }

    /// The path under which a file of this name would be saved; each call takes a name.
    pub fn plan(&mut self, file_name: &str) -> Result<String, InboundError> {
        let name = self.take(file_name)?;
        Ok(self.path_of(&name))
    }

    fn take(&mut self, file_name: &str) -> Result<String, InboundError> {
        let name = safe_name(file_name);
        let numbered = (2..=MOST_OF_ONE_NAME).map(|number| with_ending(&name, &format!(" ({number})")));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| self.taken.insert(folded(name)));
        free.ok_or(InboundError::Crowded)
    }

    fn path_of(&self, name: &str) -> String {
        let parts = self.relative.iter().filter_map(|part| part.to_str());
        parts.chain([name]).collect::<Vec<_>>().join("/")
    }
}

impl InboundError {
    /// The code of the contract.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Path(_) | Self::NotAFolder | Self::Crowded => "INVALID_ARGUMENT",
            Self::TooLarge { .. } => "PERMISSION_DENIED",
            Self::OtherSize { .. } | Self::BrokenOff { .. } => "CONNECTOR_FAILED",
            Self::NoFolder { .. } | Self::FolderMoved | Self::NotWritten { .. } => "INTERNAL_ERROR",
        }
    }

    /// The argument that is wrong, when it is one.
    pub fn field(&self) -> Option<&'static str> {
        (self.code() == "INVALID_ARGUMENT").then_some("output_dir")
    }
}

fn not_written(cause: io::Error) -> InboundError {
    InboundError::NotWritten { cause }
}

/// The names in a folder, folded; none when it is not there yet.
fn names_in(root: &Dir, relative: &Path) -> Result<HashSet<String>, InboundError> {
    let dir = match names::open_folder(root, relative) {
        Ok(dir) => dir,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashSet::new()),
        Err(_) => return Err(InboundError::NotAFolder),
    };
    let mut taken = HashSet::new();
    for entry in dir.entries().map_err(not_written)? {
        taken.insert(folded(&entry.map_err(not_written)?.file_name().to_string_lossy()));
        if taken.len() > MOST_ENTRIES {
            return Err(InboundError::Crowded);
        }
    }
    Ok(taken)
}

/// Names that some file system takes for the same.
fn folded(name: &str) -> String {
    name.nfc().flat_map(char::to_lowercase).collect()
}

/// A name from outside as one that is safe on every system, and as like it as can be.
fn safe_name(file_name: &str) -> String {
    let name = visible(file_name).text;
    let harmless = |character: char| {
        let mut buffer = [0; 4];
        let alone = names::check(character.encode_utf8(&mut buffer));
        // A dot and a space are refused only at the end of a name.
        if alone.is_ok() || matches!(character, '.' | ' ') { character } else { '_' }
    };
    let name: String = name.chars().map(harmless).collect();
    let name = name.trim_start().trim_end_matches(['.', ' ']);
    let name = match name {
        "" => "file".to_owned(),
        device if names::is_device(device) => format!("_{device}"),
        plain => plain.to_owned(),
    };
    with_ending(&name, "")
}

/// `name` with `ending` before its extension, the part before shortened so that all fits.
fn with_ending(name: &str, ending: &str) -> String {
    let (stem, extension) = match name.rfind('.') {
        Some(dot) if dot > 0 && name.len() - dot <= LONGEST_EXTENSION => name.split_at(dot),
        _ => (name, ""),
    };
    let room = NAME_BYTES - ending.len() - extension.len();
    let stem = &stem[..stem.floor_char_boundary(room)];
    let whole = format!("{stem}{ending}{extension}");
    whole.trim_end_matches(['.', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_from_outside_becomes_a_safe_one() {
        for (name, safe) in [
            ("三月 报表.xlsx", "三月 报表.xlsx"),
            ("../../etc/passwd", ".._.._etc_passwd"),
            ("C:\\a\\b.txt", "C__a_b.txt"),
            ("a\0b\r\n.txt", "ab_.txt"),
            ("CON", "_CON"),
            ("nul.txt", "_nul.txt"),
            ("report.pdf . .", "report.pdf"),
            ("invoice\u{202E}fdp.exe", "invoicefdp.exe"),
            ("", "file"),
            ("...", "file"),
        ] {
            assert_eq!(safe_name(name), safe, "{name:?}");
        }
    }

    #[test]
    fn a_long_name_is_cut_between_characters_and_keeps_its_extension() {
        let name = safe_name(&format!("{}.docx", "长".repeat(200)));
        assert!(name.len() <= NAME_BYTES && name.ends_with("长.docx"), "{name}");
        let numbered = with_ending(&name, " (2)");
        assert!(numbered.len() <= NAME_BYTES && numbered.ends_with("长 (2).docx"), "{numbered}");
    }

    #[test]
    fn names_that_differ_in_case_alone_are_numbered() {
        let mut folder = Folder::new(None, "a/b").unwrap();
        assert_eq!(folder.plan("Report.pdf").unwrap(), "a/b/Report.pdf");
        assert_eq!(folder.plan("report.PDF").unwrap(), "a/b/report (2).PDF");
        assert_eq!(folder.plan("REPORT.pdf").unwrap(), "a/b/REPORT (3).pdf");
    }

    proptest! {
        #[test]
        fn every_safe_name_passes_the_check(name in "\\PC{0,300}|[./\\\\: \u{0}\u{7f}ACNOUL长1]{0,40}") {
            let safe = safe_name(&name);
            prop_assert_eq!(names::check(&safe), Ok(()), "{:?}", safe);
            prop_assert_eq!(names::check(&with_ending(&safe, " (2)")), Ok(()));
        }
    }
}
