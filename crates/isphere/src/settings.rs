//! The `[isphere]` section of the configuration.

use std::path::PathBuf;

use govern::language::Language;
use serde::Deserialize;

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
        }
    }
}
