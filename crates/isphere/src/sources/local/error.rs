//! Why the local store cannot be read, and what each reason is to a caller.

use std::error::Error as _;
use std::path::{Path, PathBuf};

use govern::language::Language;
use thiserror::Error;

use super::profile::{ProfileError, SectionFault, Table};
use crate::sources::SourceError;

/// Why the local store cannot be read. The messages hold no path and no SQL, except those about the profile, which are
/// for the operator; the library's own words are the source of the error, for the log.
#[derive(Debug, Error)]
pub enum StoreError {
    /// No file has this name, or it was taken away while it was read.
    #[error(
        "the local store is not there; check [isphere.local_readonly] store, and that the client has run on this machine"
    )]
    NotThere,
    /// The file is something else.
    #[error("the local store is not an SQLite database; check [isphere.local_readonly] store")]
    NotADatabase,
    /// The file has no readable header and looks like noise.
    #[error(
        "the local store is encrypted, or not a database at all; it can only be read after the client exported it unencrypted"
    )]
    Encrypted,
    /// The file is shorter than its header says.
    #[error(
        "the local store is cut short: the file is smaller than its header says; copy it again or restore it"
    )]
    Truncated,
    /// The pages contradict each other.
    #[error("the local store is damaged; let the client repair it, or restore a copy")]
    Damaged(#[source] rusqlite::Error),
    /// A writer died in the middle of a transaction, and only a writer may roll it back. One that keeps its journal and is
    /// at work right now looks the same.
    #[error(
        "the local store is half-written: a writer was interrupted, or is at work; try again, and start the client once when \
         that does not help"
    )]
    HalfWritten,
    /// There is a write-ahead log without its shared memory: reading it would create a file beside the store. A copy, or a
    /// client that locks its store exclusively.
    #[error(
        "the local store has a write-ahead log that nobody has open; start the client once and close it; if this is a copy, copy again while the client is closed"
    )]
    UnopenedLog,
    /// Another program holds it exclusively.
    #[error("the local store is locked exclusively by another program; try again")]
    Locked,
    /// It changed during each of several attempts to read it.
    #[error("the local store changed while it was read; try again")]
    Changed,
    /// The profile has no section for what was asked.
    #[error("the profile of the local store has no [{}] section; add one to read them", .0.name())]
    NoSection(Table),
    /// The position is none of this source's.
    #[error("the cursor is not one of this source; call again with the same arguments and without cursor")]
    Position,
    /// No store was configured.
    #[error("no local store is configured; set [isphere.local_readonly] store to the client's SQLite file")]
    NotConfigured,
    /// The caller went away.
    #[error(
        "reading the local store was interrupted; ask for less, or build the index with `countersign isphere index`"
    )]
    Interrupted,
    /// The operating system refused.
    #[error("the local store cannot be read from the disk; check the permissions of the file and its folder")]
    Io(#[source] std::io::Error),
    /// SQLite refused for another reason.
    #[error("the local store refused a query of the profile; run `countersign isphere doctor`")]
    Query {
        /// The section whose SELECT was read, and the profile's file, as far as they are known.
        select: Option<(Table, Option<PathBuf>)>,
        /// What SQLite says.
        #[source]
        cause: rusqlite::Error,
    },
    /// The profile does not fit the store.
    #[error("{fault}{}", path.as_ref().map(|path| format!(" (the profile is {})", path.display())).unwrap_or_default())]
    Profile {
        /// The profile's file, where there is one.
        path: Option<PathBuf>,
        /// What is wrong with it.
        #[source]
        fault: ProfileError,
    },
    /// The folder with the client's files cannot be opened.
    #[error("the folder of the client's files cannot be opened; check [isphere.local_readonly] files_dir")]
    FilesFolder(#[source] std::io::Error),
}

impl StoreError {
    /// What is wrong and what to do, for the operator, with SQLite's words when it refused a SELECT.
    pub fn message(&self, language: Language) -> String {
        match self {
            Self::Query { select: Some((table, path)), cause } => {
                let fault = ProfileError::section(*table, SectionFault::Fails(words(cause)));
                Self::Profile { path: path.clone(), fault }.message(language)
            }
            Self::Query { select: None, cause } => language.pick(
                self.chinese(),
                format!("SQLite cannot read the local store: {}; see whether its client can", words(cause)),
            ),
            _ => language.pick(self.chinese(), self.to_string()),
        }
    }

    /// The same error, which names the section whose SELECT was read.
    pub(super) fn in_select(self, table: Table) -> Self {
        match self {
            Self::Query { select: None, cause } => Self::Query { select: Some((table, None)), cause },
            other => other,
        }
    }

    /// The same error, which names the file of the profile that is at fault.
    pub(super) fn in_profile(self, file: Option<&Path>) -> Self {
        let file = file.map(Path::to_owned);
        match self {
            Self::Profile { path: None, fault } => Self::Profile { path: file, fault },
            Self::Query { select: Some((table, None)), cause } => {
                Self::Query { select: Some((table, file)), cause }
            }
            other => other,
        }
    }

    fn chinese(&self) -> String {
        let words = match self {
            Self::NotThere => {
                "没有找到本地存储；请检查 [isphere.local_readonly] store，以及客户端是否在本机运行过"
            }
            Self::NotADatabase => "本地存储不是 SQLite 数据库；请检查 [isphere.local_readonly] store",
            Self::Encrypted => "本地存储已加密，或根本不是数据库；请让客户端导出未加密的文件再读取",
            Self::Truncated => "本地存储不完整：文件比文件头所说的短；请重新复制或恢复",
            Self::Damaged(_) => "本地存储已损坏；请让客户端修复，或恢复副本",
            Self::HalfWritten => "本地存储只写了一半：写入中断，或正在写入；请重试，仍不行就启动一次客户端",
            Self::UnopenedLog => {
                "本地存储有预写日志，而没有程序打开着它；请启动一次客户端再关闭；如果是副本，请在客户端关闭时重新复制"
            }
            Self::Locked => "本地存储被别的程序独占；请重试",
            Self::Changed => "读取时本地存储发生了变化；请重试",
            Self::NoSection(table) => {
                return format!("本地存储的 profile 没有 [{}] 部分；要读取就补上它", table.name());
            }
            Self::Position => "cursor 不属于这个来源；请用同样的参数、不带 cursor 重新调用",
            Self::NotConfigured => {
                "没有配置本地存储；请把 [isphere.local_readonly] store 设为客户端的 SQLite 文件"
            }
            Self::Interrupted => "读取本地存储被中断；请少要一些，或用 `countersign isphere index` 建立索引",
            Self::Io(_) => "无法从磁盘读取本地存储；请检查文件及其文件夹的权限",
            Self::Query { cause, .. } => {
                return format!("SQLite 无法读取本地存储：{}；请看客户端能否读取", words(cause));
            }
            Self::Profile { path: None, fault } => return fault.message(Language::Chinese),
            Self::Profile { path: Some(path), fault } => {
                return format!("{}（profile 为 {}）", fault.message(Language::Chinese), path.display());
            }
            Self::FilesFolder(_) => "无法打开客户端的文件目录；请检查 [isphere.local_readonly] files_dir",
        };
        words.to_owned()
    }

    /// The reason behind what SQLite said.
    pub(super) fn of(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        match error.sqlite_error_code() {
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => Self::Locked,
            Some(Code::NotADatabase) => Self::NotADatabase,
            Some(Code::DatabaseCorrupt) => Self::Damaged(error),
            Some(Code::OperationInterrupted) => Self::Interrupted,
            Some(Code::ReadOnly) => Self::HalfWritten,
            Some(Code::CannotOpen | Code::SystemIoFailure) => Self::Io(std::io::Error::other(error)),
            _ => Self::Query { select: None, cause: error },
        }
    }

    /// Whether a writer in the middle of its work can make a good store look like this.
    pub(super) fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::NotThere
                | Self::NotADatabase
                | Self::Truncated
                | Self::HalfWritten
                | Self::UnopenedLog
                | Self::Changed
                | Self::Io(_)
        )
    }

    /// The reason behind what the operating system said.
    pub(super) fn of_io(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::NotFound { Self::NotThere } else { Self::Io(error) }
    }
}

/// SQLite's words without the SQL, which is the profile's with more around it.
fn words(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        _ => error.to_string(),
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::of(error)
    }
}

impl From<ProfileError> for StoreError {
    fn from(fault: ProfileError) -> Self {
        Self::Profile { path: None, fault }
    }
}

impl From<StoreError> for SourceError {
    fn from(error: StoreError) -> Self {
        let told = error.message(Language::English);
        tracing::warn!(error = told, cause = error.source(), "the local store did not answer");
        let message = error.to_string();
        match error {
            StoreError::Position => Self::StalePosition,
            StoreError::Interrupted => Self::Timeout(message),
            StoreError::Damaged(_) | StoreError::Query { .. } => Self::Failed(message),
            StoreError::Locked | StoreError::Changed | StoreError::HalfWritten => {
                Self::Unavailable { message, retryable: true }
            }
            // A profile's fault quotes SQL and names its file; the operator sees it in the log and from `doctor`.
            StoreError::Profile { .. } => Self::Unavailable {
                message: "the profile does not fit the local store; run `countersign isphere doctor`"
                    .to_owned(),
                retryable: false,
            },
            _ => Self::Unavailable { message, retryable: false },
        }
    }
}
