//! Why a profile cannot be used, in the words of both languages.

use govern::language::Language;
use thiserror::Error;

use super::Table;

/// Why a profile cannot be used. Each names the section and what to change.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// The file cannot be read.
    #[error("the profile cannot be read; propose one with `countersign isphere inspect`")]
    Unreadable(#[source] std::io::Error),
    /// It is larger than any profile is.
    #[error("the profile is larger than 1 MiB; it is not a profile")]
    TooLarge,
    /// Not TOML, or with an unknown key or word.
    #[error("the profile is not valid: {0}")]
    Syntax(#[from] toml::de::Error),
    /// It reads nothing.
    #[error("the profile has no section; add at least [contacts] or [messages]")]
    Empty,
    /// A value of a section is wrong.
    #[error("[{}] of the profile: {fault}", .table.name())]
    Section {
        /// The section.
        table: Table,
        /// What is wrong and what to change.
        fault: SectionFault,
    },
    /// The zone is none.
    #[error("`timezone` of the profile must be `UTC` or an offset like `+08:00`")]
    Timezone,
}

/// What is wrong with a section, and what to change.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SectionFault {
    /// There is nothing to put the tables in for.
    #[error("`tables` is set, so `select` must read FROM {{table}}")]
    TablesUnused,
    /// There is nothing to put in.
    #[error("`select` reads {{table}}, so `tables` must say which, like \"msg_20*\"")]
    TablesMissing,
    /// Rows of this kind are found by their id, in one table.
    #[error("only messages and files may be split into `tables`; use UNION ALL here")]
    NotSplittable,
    /// The pattern fits nothing.
    #[error("`tables` = \"{0}\" fits no table of the store")]
    NoTableFits(String),
    /// The pattern fits more tables than any client makes.
    #[error("`tables` fits more than {0} tables; make the pattern narrower")]
    TooManyTables(usize),
    /// A unit for a column that is no time.
    #[error("`time` names `{column}`, but the times are: {times}")]
    NotATime {
        /// The column.
        column: String,
        /// The time columns of the section.
        times: String,
    },
    /// A time column without its unit.
    #[error("`time` must name the unit of `{0}`, like \"unix_ms\"")]
    NoUnit(String),
    /// Rows of this kind have no types.
    #[error("`types` belongs to messages and conversations only")]
    NoTypesHere,
    /// A type that the contract does not have.
    #[error("`types` says \"{stored}\" = \"{word}\", but the words are: {words}")]
    UnknownType {
        /// The store's word.
        stored: String,
        /// What it was mapped to.
        word: String,
        /// The contract's words.
        words: &'static str,
    },
    /// A NUL, at which SQLite stops reading.
    #[error("`{0}` has a NUL character, at which SQLite stops reading; take it out")]
    Nul(&'static str),
    /// A comment that has no end would swallow what is put behind the SELECT.
    #[error("`select` leaves a comment open; close it with */")]
    OpenComment,
    /// It is another statement.
    #[error("`select` must be a SELECT")]
    NotASelect,
    /// It wants a value that nobody gives.
    #[error("`select` has a parameter; write the value itself")]
    Parameter,
    /// It is several statements.
    #[error("`select` holds more than one statement; leave one")]
    SeveralStatements,
    /// It does not only read tables.
    #[error("`select` does more than read tables (ATTACH, PRAGMA and writes are refused)")]
    MoreThanReads,
    /// SQLite refuses it, in these words.
    #[error("`select` fails: {0}")]
    Fails(String),
    /// It lacks columns.
    #[error("`select` yields no column {0}")]
    MissingColumns(String),
    /// It has a column that means nothing.
    #[error("`select` yields `{column}`, but the columns are: {columns}")]
    UnknownColumn {
        /// The column.
        column: String,
        /// The columns of the section.
        columns: String,
    },
    /// One column would hide the other.
    #[error("`select` yields `{0}` twice; leave one of the two")]
    ColumnTwice(String),
    /// An index goes by the numbers of the messages.
    #[error("`select` yields no `seq`, which an index needs; add `rowid AS seq`")]
    NoSeq,
}

impl ProfileError {
    /// What is wrong and what to change, for the operator. TOML's and SQLite's own words are English in both.
    pub fn message(&self, language: Language) -> String {
        language.pick(self.chinese(), self.to_string())
    }

    pub(in crate::sources::local) fn section(table: Table, fault: SectionFault) -> Self {
        Self::Section { table, fault }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Unreadable(_) => "读不到 profile；可用 `countersign isphere inspect` 得到建议".to_owned(),
            Self::TooLarge => "profile 超过 1 MiB；这不是 profile".to_owned(),
            Self::Syntax(fault) => format!("profile 无效：{fault}"),
            Self::Empty => "profile 没有任何部分；至少写上 [contacts] 或 [messages]".to_owned(),
            Self::Section { table, fault } => format!("profile 的 [{}]：{}", table.name(), fault.chinese()),
            Self::Timezone => "profile 的 `timezone` 应为 `UTC`，或 `+08:00` 这样的偏移".to_owned(),
        }
    }
}

impl SectionFault {
    fn chinese(&self) -> String {
        match self {
            Self::TablesUnused => "设置了 `tables`，所以 `select` 必须 FROM {table}".to_owned(),
            Self::TablesMissing => {
                "`select` 读取 {table}，所以要用 `tables` 说明是哪些表，例如 \"msg_20*\"".to_owned()
            }
            Self::NotSplittable => {
                "只有 messages 和 files 可以用 `tables` 分表；这里请用 UNION ALL".to_owned()
            }
            Self::NoTableFits(pattern) => format!("存储中没有表符合 `tables` = \"{pattern}\""),
            Self::TooManyTables(most) => format!("符合 `tables` 的表超过 {most} 张；请缩小匹配式"),
            Self::NotATime { column, times } => format!("`time` 写了 `{column}`，但时间列是：{times}"),
            Self::NoUnit(column) => format!("`time` 要写明 `{column}` 的单位，例如 \"unix_ms\""),
            Self::NoTypesHere => "`types` 只用于 messages 和 conversations".to_owned(),
            Self::UnknownType { stored, word, words } => {
                format!("`types` 写了 \"{stored}\" = \"{word}\"，但可用的词是：{words}")
            }
            Self::Nul(key) => format!("`{key}` 含有 NUL 字符，SQLite 读到它就停止；请去掉"),
            Self::OpenComment => "`select` 有没有结束的注释；请用 */ 结束".to_owned(),
            Self::NotASelect => "`select` 必须是 SELECT".to_owned(),
            Self::Parameter => "`select` 含有参数；请直接写值".to_owned(),
            Self::SeveralStatements => "`select` 不止一条语句；请只留一条".to_owned(),
            Self::MoreThanReads => "`select` 不只是读表（ATTACH、PRAGMA 和写入一律拒绝）".to_owned(),
            Self::Fails(words) => format!("`select` 失败：{words}"),
            Self::MissingColumns(columns) => format!("`select` 没有给出列 {columns}"),
            Self::UnknownColumn { column, columns } => {
                format!("`select` 给出了 `{column}`，但可用的列是：{columns}")
            }
            Self::ColumnTwice(column) => format!("`select` 给出了两次 `{column}`；请只留一个"),
            Self::NoSeq => "`select` 没有给出索引需要的 `seq`；请加上 `rowid AS seq`".to_owned(),
        }
    }
}
