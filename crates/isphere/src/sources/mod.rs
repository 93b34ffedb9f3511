//! Where contacts, groups, messages and files come from. Each source is one module; `auto` chooses among those that
//! are configured.
//!
//! A page is a run of items in the source's order, each with the position after it, so that a caller that takes only
//! some of them (a byte budget, a policy) goes on exactly there. Positions are keysets: they stay valid while new rows
//! arrive, and no row comes twice.

pub mod choice;
pub mod local;
pub mod mock;
pub mod uia;

use futures_util::future::BoxFuture;
use thiserror::Error;
use tokio::io::AsyncRead;
use tokio::time::Instant;

use crate::model::{Contact, Conversation, ConversationType, FileEntry, Group, Message, SourceName, Warning};

/// The client's data, read-only. All sources pass one story test.
pub trait Source: Send + Sync {
    /// Which one it is.
    fn name(&self) -> SourceName;

    /// Whether it can be read right now; `auto` takes the first that can.
    fn health(&self) -> BoxFuture<'_, Result<(), SourceError>>;

    /// People that match, the best first (see [`crate::search`]).
    fn contacts<'a>(&'a self, query: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Contact>>>;

    /// Groups that match, the best first.
    fn groups<'a>(&'a self, query: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Group>>>;

    /// Conversations whose name matches, the best first.
    fn conversations<'a>(&'a self, query: &'a Lookup<'a>) -> Answer<'a, Page<Hit<Conversation>>>;

    /// The contact of this id.
    fn contact<'a>(&'a self, contact_id: &'a str) -> Answer<'a, Option<Contact>>;

    /// The group of this id.
    fn group<'a>(&'a self, group_id: &'a str) -> Answer<'a, Option<Group>>;

    /// The conversation of this id.
    fn conversation<'a>(&'a self, conversation_id: &'a str) -> Answer<'a, Option<Conversation>>;

    /// The message of this id, without its attachments.
    fn message<'a>(&'a self, message_id: &'a str) -> Answer<'a, Option<Message>>;

    /// Messages, the newest first.
    fn messages<'a>(&'a self, query: &'a MessageQuery<'a>) -> Answer<'a, Page<Message>>;

    /// Files, the newest first.
    fn files<'a>(&'a self, query: &'a FileQuery<'a>) -> Answer<'a, Page<FileEntry>>;

    /// The file of this id.
    fn file<'a>(&'a self, file_id: &'a str) -> Answer<'a, Option<FileEntry>>;

    /// The bytes of a file.
    fn download<'a>(&'a self, file_id: &'a str) -> Answer<'a, Download>;
}

/// What a source answers, later. Dropping it stops the work.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, SourceError>>;

/// A search by name, account, department or title.
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'a> {
    /// What people type; not blank.
    pub query: &'a str,
    /// Also those who left, or groups that were closed.
    pub include_inactive: bool,
    /// At most so many items, at least 1.
    pub limit: usize,
    /// Go on after this position; from the beginning without one.
    pub after: Option<&'a str>,
}

/// Which messages.
#[derive(Clone, Copy, Debug)]
pub struct MessageQuery<'a> {
    /// Only those of this conversation.
    pub conversation_id: Option<&'a str>,
    /// Only those of conversations of this type.
    pub conversation_type: Option<ConversationType>,
    /// Only those whose text holds this, after folding (see [`crate::search`]).
    pub keyword: Option<&'a str>,
    /// Only those at or after this time ([`Message::at_ms`]), Unix milliseconds.
    pub since_ms: Option<i64>,
    /// At most so many items, at least 1.
    pub limit: usize,
    /// Go on after this position.
    pub after: Option<&'a str>,
    /// A source that searches long stops about then, and answers how far it came.
    pub until: Option<Instant>,
}

/// Which files.
#[derive(Clone, Copy, Debug)]
pub struct FileQuery<'a> {
    /// Only those of this conversation.
    pub conversation_id: Option<&'a str>,
    /// Only those of this message.
    pub message_id: Option<&'a str>,
    /// At most so many items, at least 1.
    pub limit: usize,
    /// Go on after this position.
    pub after: Option<&'a str>,
}

/// A run of items in the source's order.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// The items, each with the position after it.
    pub items: Vec<Positioned<T>>,
    /// Where to go on when there may be more, else none. Usually the position of the last item; a source that gives up
    /// on a long scan says how far it came, even with no item.
    pub next: Option<String>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
}

/// An item and the position after it.
#[derive(Clone, Debug)]
pub struct Positioned<T> {
    /// The item.
    pub item: T,
    /// The position after it, opaque to all but its source.
    pub position: String,
}

/// An item that a search found, and how sure the match is (0 to 1, by the table in [`crate::search`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Hit<T> {
    /// What was found.
    pub item: T,
    /// How sure the match is.
    pub confidence: f64,
}

/// The bytes of a file, and what is known of it.
pub struct Download {
    /// Its size, when known before it is read.
    pub size_bytes: Option<u64>,
    /// The bytes.
    pub content: Box<dyn AsyncRead + Send + Unpin>,
}

/// Why a source did not answer. Messages are for the caller: no path, no SQL, no library's words; those go to the log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SourceError {
    /// It cannot be reached or is not configured: SOURCE_UNAVAILABLE.
    #[error("{message}")]
    Unavailable {
        /// What is wrong and what to do.
        message: String,
        /// Whether the same call may succeed later without anyone doing something.
        retryable: bool,
    },
    /// It refused the credentials, or nobody is logged in: NOT_LOGGED_IN.
    #[error("{0}")]
    NotLoggedIn(String),
    /// It answered with a failure, or with what cannot be read: CONNECTOR_FAILED.
    #[error("{0}")]
    Failed(String),
    /// It took too long: TIMEOUT.
    #[error("{0}")]
    Timeout(String),
    /// What was asked for is not there: TARGET_NOT_FOUND.
    #[error("{0}")]
    NotFound(String),
    /// The position is not one of this source, or the index it belonged to was built anew: INVALID_ARGUMENT.
    #[error(
        "the cursor no longer fits what is read (another source, profile or index); call again with the same arguments and \
         without cursor"
    )]
    StalePosition,
}
