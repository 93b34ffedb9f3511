//! The commands, one file each; those of a half in its folder.

pub(crate) mod audit;
pub(crate) mod demo;
pub(crate) mod docs;
pub(crate) mod fixture;
pub(crate) mod hotel;
pub(crate) mod isphere;

use std::{io, path::PathBuf};

use ::hotel::{audit::KeyError, catalog::CatalogError, language::Language, store::StoreError};
use ::isphere::{audit::read::ReadError, sources::local::index::IndexError};
use govern::{config::ConfigError, gate::PolicyError, key::KeyFileError};
use thiserror::Error;

use crate::print::PrintError;

/// Most rows that a list shows unless asked for more.
const LIST_LIMIT: u32 = 1000;

/// Why a command failed; [`CommandError::message`] tells what to do next.
#[derive(Debug, Error)]
pub(crate) enum CommandError {
    /// The configuration is not usable.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// What was given cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// The URL in the configuration does not have the form of one.
    #[error("[hotel] db {0}")]
    DatabaseUrl(&'static str),
    /// The policy forbids all writes.
    #[error(
        "[policy] read_only is set, so nothing is taken in or decided; turn it off in the configuration to do this"
    )]
    ReadOnly,
    /// Two servers on one demo folder would undo each other's preparations.
    #[error("another demo runs on the folder {0}; end it, or choose another folder with --data")]
    DemoRunning(String),
    /// The task catalogue is not usable.
    #[error(
        "{0}; mend the file that [hotel] catalog names, or leave the key out for the catalogue that ships"
    )]
    Catalog(#[from] CatalogError),
    /// The policy is not usable.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// There is no usable audit key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The key file that was named does not serve.
    #[error(transparent)]
    KeyFile(#[from] KeyFileError),
    /// The trail in a folder cannot be read.
    #[error(transparent)]
    Trail(#[from] ReadError),
    /// The hotel refused or failed.
    #[error(transparent)]
    Hotel(#[from] ::hotel::Error),
    /// The database cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The iSphere half cannot start.
    #[error(transparent)]
    Isphere(#[from] ::isphere::app::OpenError),
    /// The trail of the iSphere half cannot be written.
    #[error(transparent)]
    TrailNotWritten(#[from] ::isphere::audit::trail::TrailError),
    /// The local store cannot be read.
    #[error(transparent)]
    LocalStore(#[from] ::isphere::sources::local::StoreError),
    /// The search index cannot be built.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The Windows helper did not do what was asked.
    #[error("{}", .0.told())]
    Helper(#[from] ::isphere::helper::HelperError),
    /// A signal came while the helper was at work.
    #[error("the look was broken off by a signal, and the helper was ended")]
    BrokenOff,
    /// A dump was not kept.
    #[error(transparent)]
    Dump(#[from] ::isphere::helper::DumpNotSaved),
    /// No record could be kept of what was looked at.
    #[error("what was found is not shown, for no record of it could be kept: {0}")]
    NotRecorded(String),
    /// The sample store cannot be written.
    #[error(transparent)]
    Sample(#[from] ::isphere::sample::WriteError),
    /// The tokens of the iSphere half cannot be read or kept.
    #[error(transparent)]
    Tokens(#[from] govern::credentials::file::TokenFileError),
    /// What does not work was printed.
    #[error("{0} of what is configured does not work; mend what is marked above and look again")]
    Doctor(usize),
    /// A file of the program's own cannot be read or written.
    #[error(
        "the file {path} cannot be used ({reason}); check its folder, its permissions and the room on the disk"
    )]
    File {
        /// The file.
        path: String,
        /// Why.
        reason: io::Error,
    },
    /// Looking must not make a database.
    #[error("there is no database at {0}; name the one to look at with --db")]
    NoDatabase(String),
    /// The trail cannot be checked in full.
    #[error(
        "the audit key {} is missing, without which changed and forged records are not noticed; put it back, name it \
         with --key, or check the rest with --without-key", .0.display()
    )]
    NoAuditKey(PathBuf),
    /// What was found was printed.
    #[error(
        "the audit trail is not as it was written; copy the database or the folder before anything else, then look at the records \
         from there on"
    )]
    TrailAltered,
    /// Some messages were not taken in; which ones was printed.
    #[error("{failed} of {read} messages failed; mend what is listed above and run the same command again")]
    Ingest {
        /// How many failed.
        failed: usize,
        /// How many were read.
        read: usize,
    },
    /// stdout did not take the output.
    #[error(transparent)]
    Output(#[from] PrintError),
    /// The address cannot be listened on.
    #[error("cannot listen on {address} ({}); choose another address with {flag}", reason.kind())]
    Listen {
        /// The address.
        address: String,
        /// The flag that chooses another one.
        flag: &'static str,
        /// Why.
        reason: io::Error,
    },
    /// Serving ended with an error.
    #[error("serving ended: {0}")]
    Serve(io::Error),
    /// The asynchronous runtime did not start.
    #[error("the runtime did not start: {0}; the system may be out of threads or memory")]
    Runtime(io::Error),
}

impl CommandError {
    /// What happened and what to do next, in one line.
    pub(crate) fn message(&self, language: Language) -> String {
        let text = match self {
            Self::Hotel(error) | Self::Key(KeyError::Store(error)) => explain(error, language),
            Self::Store(error) => error.advice(language),
            Self::LocalStore(error) | Self::Index(IndexError::Store(error)) => {
                error.message(Language::English)
            }
            other => other.to_string(),
        };
        text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
    }

    /// Whether the reader of stdout had enough, as `head` has: no failure.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.0.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Reads a name or reason of an argument, without blanks around it.
fn not_blank(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    if text.is_empty() { Err("it must not be blank") } else { Ok(text.to_owned()) }
}

/// The hotel's message with its code; for the operator also what mends the database, and the particulars of a
/// decision that was refused.
fn explain(error: &::hotel::Error, language: Language) -> String {
    use ::hotel::Error;
    match error {
        Error::Store(error) => error.advice(language),
        Error::ConfirmBlocked(_)
        | Error::ReasonRequired(_)
        | Error::VersionConflict(_)
        | Error::SourceMessageAmbiguous(_) => {
            format!("{} [{}] {}", error.message(language), error.code(), error.details())
        }
        _ => format!("{} [{}]", error.message(language), error.code()),
    }
}
