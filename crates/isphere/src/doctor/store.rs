//! What is found about the client's local store, for its operator.

use std::path::Path;

use govern::clock::Clock;

use super::{Examiner, Finding, State, policy};
use crate::access::Access;
use crate::sources::local::profile::Table;
use crate::sources::local::survey::{self, LOOK_MS, Rows};
use crate::sources::local::{Store, open_configured};

/// What rows are called, in Chinese and English.
const COUNTED: [(Table, &str, &str); 6] = [
    (Table::Contacts, "人", "people"),
    (Table::Groups, "群", "groups"),
    (Table::Members, "群成员", "members of groups"),
    (Table::Conversations, "会话", "conversations"),
    (Table::Messages, "消息", "messages"),
    (Table::Files, "文件", "files"),
];

impl Examiner<'_> {
    /// Whether the store can be read, where its files are, and what its profile yields.
    pub(super) async fn local_store(&self, subject: &str, clock: &Clock) -> Vec<Finding> {
        let mut findings = Vec::new();
        let opened = open_configured(&self.settings.local_readonly);
        findings.push(match &opened {
            Ok(_) => self.finding(subject, State::Ok, "可以读取".to_owned(), "can be read".to_owned()),
            Err(error) => Finding {
                subject: subject.to_owned(),
                state: State::Problem,
                message: error.message(self.language),
            },
        });
        findings.extend(self.settings.local_readonly.store.as_deref().map(|path| self.files_folder(path)));
        if let Ok(store) = &opened {
            findings.extend(self.rows(store, clock).await);
            if let Ok(access) = Access::new(self.policy) {
                findings.extend(policy::of_store(store, &access, clock, self.language).await);
                findings.extend(policy::unknown(store, self.policy, clock, self.language).await);
            }
        }
        findings.push(self.index());
        findings
    }

    fn files_folder(&self, store: &Path) -> Finding {
        const SUBJECT: &str = "[isphere.local_readonly] files_dir";
        let Some(path) = self.settings.local_readonly.files_folder(store) else {
            let beside = store.with_extension("files");
            return self.finding(
                SUBJECT,
                State::Missing,
                format!("未设置，也没有 {}，所以不能下载文件", beside.display()),
                format!("not set, and there is no {}, so no file can be downloaded", beside.display()),
            );
        };
        match path.read_dir() {
            Ok(_) => self.finding(SUBJECT, State::Ok, path.display().to_string(), path.display().to_string()),
            Err(reason) => self.finding(
                SUBJECT,
                State::Problem,
                format!("不能读取 {}（{reason}）；请检查这个文件夹及其权限", path.display()),
                format!("{} cannot be read ({reason}); check the folder and its permissions", path.display()),
            ),
        }
    }

    /// How many rows the profile yields, and which of its times cannot be right.
    async fn rows(&self, store: &Store, clock: &Clock) -> Vec<Finding> {
        const SUBJECT: &str = "[isphere.local_readonly] profile";
        let mut counts = Vec::new();
        let mut faults = Vec::new();
        for (table, chinese, english) in COUNTED {
            if store.profile().section(table).is_none() {
                let without =
                    self.language.pick(format!("没有 [{}]", table.name()), format!("no [{}]", table.name()));
                counts.push(without);
                continue;
            }
            match survey::rows(store, table, clock).await {
                Ok(Some(rows)) => {
                    counts.push(format!("{} {}", self.language.pick(chinese, english), self.count(&rows)));
                    faults.extend(rows.wrong_times.iter().map(|times| self.wrong_times(table, times)));
                }
                Ok(None) => counts.push(self.language.pick(
                    format!("{chinese} {} 毫秒内未知", 2 * LOOK_MS),
                    format!("{english} unknown within {} ms", 2 * LOOK_MS),
                )),
                Err(error) => faults.push(Finding {
                    subject: SUBJECT.to_owned(),
                    state: State::Problem,
                    message: error.message(self.language),
                }),
            }
        }
        let counts = counts.join(self.language.pick("，", ", "));
        let path = store.profile().path().map(|path| path.display().to_string()).unwrap_or_default();
        let mut findings = vec![self.finding(
            SUBJECT,
            State::Ok,
            format!("{path} 读到：{counts}"),
            format!("{path} yields {counts}"),
        )];
        findings.extend(faults);
        findings
    }

    fn count(&self, rows: &Rows) -> String {
        let Rows { read, more, left_out, .. } = rows;
        let count = if *more {
            self.language.pick(format!("超过 {read}"), format!("more than {read}"))
        } else {
            read.to_string()
        };
        if *left_out == 0 {
            return count;
        }
        self.language.pick(
            format!("{count}（其中 {left_out} 行的 ID 不能用，被略去）"),
            format!("{count} ({left_out} of them left out, for their ids cannot be used)"),
        )
    }

    fn wrong_times(&self, table: Table, times: &survey::WrongTimes) -> Finding {
        let (column, unit) = (times.column, times.unit.as_str());
        let (chinese, english) = match times.perhaps {
            Some(perhaps) => (
                format!("看起来是 \"{}\"", perhaps.as_str()),
                format!("the values look like \"{}\"", perhaps.as_str()),
            ),
            None => ("请查看这一列的值".to_owned(), "look at the values of the column".to_owned()),
        };
        self.finding(
            &format!("[{}] time", table.name()),
            State::Problem,
            format!("{column} = \"{unit}\" 不对：没有一个时间在 1995 至 2060 年之间；{chinese}，请修改 profile"),
            format!(
                "{column} = \"{unit}\" cannot be right: not one time is between 1995 and 2060; {english}; mend the profile"
            ),
        )
    }
}
