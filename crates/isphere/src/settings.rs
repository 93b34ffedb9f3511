//! The `[isphere]` section of the configuration.

use std::path::{Path, PathBuf};

use govern::language::Language;
use serde::Deserialize;
use thiserror::Error;

use crate::model::SourceName;

/// The `[isphere]` section.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The sources that may be used, in the order in which `auto` tries them.
    pub sources: Vec<SourceName>,
    /// Folder for the audit trail, keys, tokens, the ledger and the search index; made when it is not there.
    pub state_dir: PathBuf,
    /// Folder below which downloads are saved; without one, downloads are only previewed.
    pub inbound_dir: Option<PathBuf>,
    /// Folder below which files that are sent must lie; without one, no file can be sent.
    pub outbound_dir: Option<PathBuf>,
    /// Who answers for what is done over stdio; over HTTP it is the token's name.
    pub operator_id: Option<String>,
    /// Longest time for one call, in milliseconds.
    pub timeout_ms: u64,
    /// The largest file that is downloaded or sent, in bytes.
    pub max_file_bytes: u64,
    /// The language of what `doctor` and the command line say.
    pub language: Language,
    /// The client's local store.
    pub local_readonly: LocalReadonly,
    /// The Windows helper.
    pub helper: Helper,
    /// The client's window as a source.
    pub uia: Uia,
}

/// The `[isphere.local_readonly]` section.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LocalReadonly {
    /// The client's SQLite file.
    pub store: Option<PathBuf>,
    /// How to read it; without one, the file beside the store that ends in `.profile.toml`.
    pub profile: Option<PathBuf>,
    /// The folder that the paths of files are relative to; without one, the folder beside the store that ends in `.files`.
    pub files_dir: Option<PathBuf>,
}

/// The `[isphere.helper]` section: the program that looks at the client's windows.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Helper {
    /// `ISphereWinHelper.exe`, or a program that runs it; without one nothing looks at windows.
    pub program: Option<PathBuf>,
    /// What the program is started with: nothing for the helper itself.
    pub arguments: Vec<String>,
    /// Whether agents have the tools `win_helper_*`.
    pub tools: bool,
    /// Time limit of one request, in milliseconds, 1 to 600000.
    pub timeout_ms: u64,
    /// Folder for the dumps that are kept.
    pub dumps_dir: PathBuf,
}

impl Helper {
    /// The longest time limit of a request that the helper accepts, in milliseconds.
    pub const MOST_TIMEOUT_MS: u64 = 600_000;
}

impl Default for Helper {
    fn default() -> Self {
        Self {
            program: None,
            arguments: Vec::new(),
            tools: false,
            timeout_ms: 5_000,
            dumps_dir: PathBuf::from("runs/real-loggedin-lab/uia-dumps"),
        }
    }
}

/// The `[isphere.uia]` section.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Uia {
    /// Which elements of the window hold what; without one only the state of the client is known.
    pub profile: Option<PathBuf>,
}

impl LocalReadonly {
    /// The profile of the store at this path.
    pub fn profile_path(&self, store: &Path) -> PathBuf {
        self.profile.clone().unwrap_or_else(|| store.with_extension("profile.toml"))
    }

    /// The folder of the client's files, when one is named or lies beside the store at this path.
    pub fn files_folder(&self, store: &Path) -> Option<PathBuf> {
        let beside = || Some(store.with_extension("files")).filter(|folder| folder.is_dir());
        self.files_dir.clone().or_else(beside)
    }
}

/// A setting with which nothing can work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SettingsFault {
    /// `sources` is empty.
    #[error("[isphere] sources is empty, so there is nothing to read; write sources = [\"local_readonly\"]")]
    NoSources,
    /// `timeout_ms` is 0.
    #[error("[isphere] timeout_ms is 0, which would end every call at once; leave it out for 30000")]
    NoTime,
    /// `operator_id` is blank.
    #[error(
        "[isphere] operator_id is blank, so the audit trail would name nobody; write a name, or leave it out"
    )]
    NoOperator,
    /// `helper.tools` is set without a helper.
    #[error(
        "[isphere.helper] tools is set, but no program is; write program = \"ISphereWinHelper.exe\", or leave tools out"
    )]
    NoHelper,
    /// `helper.timeout_ms` is out of range.
    #[error(
        "[isphere.helper] timeout_ms must be from 1 to {}; leave it out for 5000",
        Helper::MOST_TIMEOUT_MS
    )]
    HelperTime,
}

impl SettingsFault {
    /// The same in Chinese.
    pub fn chinese(self) -> &'static str {
        match self {
            Self::NoSources => "[isphere] sources 为空，什么也读不到；请写 sources = [\"local_readonly\"]",
            Self::NoTime => "[isphere] timeout_ms 为 0，每次调用都会立刻结束；不写即为 30000",
            Self::NoOperator => {
                "[isphere] operator_id 是空白，审计记录里就没有名字；请写一个名字，或不写这一项"
            }
            Self::NoHelper => {
                "[isphere.helper] 设置了 tools，却没有 program；请写 program = \"ISphereWinHelper.exe\"，或不写 tools"
            }
            Self::HelperTime => "[isphere.helper] timeout_ms 必须在 1 到 600000 之间；不写即为 5000",
        }
    }
}

impl Settings {
    /// Refuses settings with which no call could succeed, or be accounted for.
    pub fn check(&self) -> Result<(), SettingsFault> {
        if self.sources.is_empty() {
            return Err(SettingsFault::NoSources);
        }
        if self.timeout_ms == 0 {
            return Err(SettingsFault::NoTime);
        }
        if self.operator_id.as_ref().is_some_and(|name| name.trim().is_empty()) {
            return Err(SettingsFault::NoOperator);
        }
        if self.helper.tools && self.helper.program.is_none() {
            return Err(SettingsFault::NoHelper);
        }
        if !(1..=Helper::MOST_TIMEOUT_MS).contains(&self.helper.timeout_ms) {
            return Err(SettingsFault::HelperTime);
        }
        Ok(())
    }

    /// Where the bearer tokens of callers over HTTP are kept.
    pub fn tokens_file(&self) -> PathBuf {
        self.state_dir.join("tokens.json")
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sources: vec![SourceName::LocalReadonly],
            state_dir: PathBuf::from("countersign-data/isphere"),
            inbound_dir: None,
            outbound_dir: None,
            operator_id: None,
            timeout_ms: 30_000,
            max_file_bytes: 512 << 20,
            language: Language::default(),
            local_readonly: LocalReadonly::default(),
            helper: Helper::default(),
            uia: Uia::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_with_which_nothing_can_work_are_refused() {
        let with = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            settings.check()
        };
        assert_eq!(with(|_| ()), Ok(()));
        assert_eq!(with(|settings| settings.sources.clear()), Err(SettingsFault::NoSources));
        assert_eq!(with(|settings| settings.timeout_ms = 0), Err(SettingsFault::NoTime));
        let blank = with(|settings| settings.operator_id = Some(" ".to_owned()));
        assert_eq!(blank, Err(SettingsFault::NoOperator));
        assert_eq!(with(|settings| settings.helper.tools = true), Err(SettingsFault::NoHelper));
        for timeout_ms in [0, Helper::MOST_TIMEOUT_MS + 1] {
            let mut settings = Settings::default();
            settings.helper.timeout_ms = timeout_ms;
            assert_eq!(settings.check(), Err(SettingsFault::HelperTime));
        }
    }
}
