//! What an operator can do about a database that fails, in words. For the command line and the logs only: an agent
//! is told no more than that the database is not available.

use sqlx::migrate::MigrateError;

use super::StoreError;
use crate::language::Language;

/// A cause that an operator can mend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    ReadOnly,
    DiskFull,
    CannotOpen,
    Busy,
    NotADatabase,
    LoginRefused,
    NoSuchDatabase,
    NoPermission,
    Unreachable,
    NewerSchema,
    Other,
}

impl StoreError {
    /// What happened and what to do next, in one line.
    pub fn advice(&self, language: Language) -> String {
        match self {
            Self::Url(url) => language.pick(
                format!("看不懂数据库地址 {url:?}。请写 sqlite:路径 或 postgres://用户@主机/库名。"),
                format!("The database URL {url:?} is not understood. Write sqlite:PATH or postgres://USER@HOST/NAME."),
            ),
            Self::Folder(path, error) => language.pick(
                format!("无法创建文件夹 {}（{}）。请检查权限，或用 --db 指定别的位置。", path.display(), error.kind()),
                format!(
                    "The folder {} cannot be made ({}). Check its permissions, or name another place with --db.",
                    path.display(),
                    error.kind()
                ),
            ),
            Self::MigrationPending => language.pick(
                "数据库结构尚未升级。请先对同一 --db 运行一次 `countersign hotel migrate`。".to_owned(),
                "The database schema is not up to date. Run `countersign hotel migrate` once with the same --db.".to_owned(),
            ),
            Self::RowMissing | Self::WriterStopped => language.pick(
                format!("数据库内部错误：{self}。未写入任何数据。请重试。"),
                format!("Internal database error: {self}. Nothing was written. Try again."),
            ),
            Self::Migration(_) | Self::Database(_) | Self::Commit(_) => self.cause().advice(self, language),
        }
    }

    fn cause(&self) -> Cause {
        match self {
            Self::Commit(error) => cause(error),
            Self::Database(error)
            | Self::Migration(MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) => {
                cause(error)
            }
            Self::Migration(MigrateError::VersionMissing(_) | MigrateError::VersionMismatch(_)) => {
                Cause::NewerSchema
            }
            _ => Cause::Other,
        }
    }
}

impl Cause {
    fn advice(self, error: &StoreError, language: Language) -> String {
        let (chinese, english) = match self {
            Self::ReadOnly => (
                "数据库是只读的，未写入任何数据。请给当前用户数据库文件及其所在文件夹的写权限，或用 --db 指定别的文件。",
                "The database is read-only; nothing was written. Let this user write the file and its folder, or name another with --db.",
            ),
            Self::DiskFull => (
                "磁盘已满，未写入任何数据。请腾出空间后重试。",
                "The disk is full; nothing was written. Make room and try again.",
            ),
            Self::CannotOpen => (
                "无法打开数据库文件。请检查路径以及文件和文件夹的权限（--db sqlite:路径）。",
                "The database file cannot be opened. Check the path and the permissions of the file and its folder (--db sqlite:PATH).",
            ),
            Self::Busy => (
                "另一个程序一直占用数据库，未写入任何数据。请稍后重试。",
                "Another program holds the database; nothing was written. Try again later.",
            ),
            Self::NotADatabase => (
                "该文件不是可用的 SQLite 数据库，未做任何更改。请检查 --db，或从备份恢复。",
                "The file is not a usable SQLite database; it was left alone. Check --db, or restore a backup.",
            ),
            Self::LoginRefused => (
                "PostgreSQL 拒绝登录。请检查 --db 中的用户名和密码。",
                "PostgreSQL refused the login. Check the user and password in --db.",
            ),
            Self::NoSuchDatabase => (
                "PostgreSQL 上没有这个数据库。请先创建它，再运行 `countersign hotel migrate`。",
                "PostgreSQL has no such database. Create it, then run `countersign hotel migrate`.",
            ),
            Self::NoPermission => (
                "该 PostgreSQL 用户权限不足，未写入任何数据。请授予它对这些表的权限。",
                "The PostgreSQL user may not do this; nothing was written. Grant it the rights to the tables.",
            ),
            Self::Unreachable => (
                "连不上 PostgreSQL。请检查 --db 中的主机和端口，以及服务是否在运行。",
                "PostgreSQL cannot be reached. Check host and port in --db, and that the server runs.",
            ),
            Self::NewerSchema => (
                "数据库结构来自另一个版本的 countersign，未做任何更改。请使用创建它的版本或更新的版本。",
                "The database schema belongs to another version of countersign; it was left alone. Use the version that made it, or a newer one.",
            ),
            Self::Other => {
                return language.pick(
                    format!("数据库未能完成操作，未写入任何数据：{error}"),
                    format!("The database did not do it; nothing was written: {error}"),
                );
            }
        };
        language.pick(chinese, english).to_owned()
    }
}

fn cause(error: &sqlx::Error) -> Cause {
    let sqlx::Error::Database(database) = error else {
        return match error {
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::Tls(_) => Cause::Unreachable,
            _ => Cause::Other,
        };
    };
    let code = database.code().unwrap_or_default();
    // A SQLSTATE has five characters, and none that we look for reads as one of SQLite's numbers.
    match code.as_ref() {
        "53100" => Cause::DiskFull,
        "25006" => Cause::ReadOnly,
        "28P01" | "28000" => Cause::LoginRefused,
        "3D000" => Cause::NoSuchDatabase,
        "42501" => Cause::NoPermission,
        _ => code.parse().map_or(Cause::Other, sqlite_cause),
    }
}

/// The cause for an extended result code (sqlite.org/rescode.html), whose low byte is the primary one.
fn sqlite_cause(code: u32) -> Cause {
    const IOERR_WRITE: u32 = 778;
    const IOERR_FSYNC: u32 = 1034;
    const IOERR_SHMSIZE: u32 = 4874;
    match (code, code & 0xff) {
        // A file-size limit and some file systems report a full disk as a failed write.
        (IOERR_WRITE | IOERR_FSYNC | IOERR_SHMSIZE, _) | (_, 13) => Cause::DiskFull,
        (_, 8) => Cause::ReadOnly,
        (_, 14) => Cause::CannotOpen,
        (_, 5 | 6) => Cause::Busy,
        (_, 11 | 26) => Cause::NotADatabase,
        _ => Cause::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Db;

    #[tokio::test]
    async fn a_file_that_is_no_database_is_left_alone_and_named_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "not a database, but long enough to look at".repeat(40)).unwrap();
        let error = Db::open(&format!("sqlite:{}", path.display())).await.unwrap_err();
        assert_eq!(error.cause(), Cause::NotADatabase, "{error}");
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("not a database"));
    }

    #[tokio::test]
    async fn a_folder_in_the_place_of_the_file_cannot_be_opened() {
        let folder = tempfile::tempdir().unwrap();
        let error = Db::open(&format!("sqlite:{}", folder.path().display())).await.unwrap_err();
        assert_eq!(error.cause(), Cause::CannotOpen, "{error}");
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_unreachable() {
        // Port 1 is reserved and nothing listens there.
        let error = Db::open("postgres://u:secret@127.0.0.1:1/x").await.unwrap_err();
        assert_eq!(error.cause(), Cause::Unreachable, "{error}");
        assert!(!error.advice(Language::English).contains("secret"));
    }

    #[tokio::test]
    async fn a_url_of_neither_database_is_told_without_its_password() {
        for url in ["mysql://u:secret@host/x", "", "sqlite:", "sqlite::memory:"] {
            let error = Db::open(url).await.unwrap_err();
            let advice = error.advice(Language::English);
            assert!(advice.contains("sqlite:PATH") && !advice.contains("secret"), "{advice}");
        }
    }
}
