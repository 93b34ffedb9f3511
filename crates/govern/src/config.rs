//! Configuration: one TOML file, overlaid by environment variables, overlaid by flags; read once, at start.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;
use thiserror::Error;
use toml::{Table, Value};

/// The file that is read when none is named; it may be absent.
pub const DEFAULT_FILE: &str = "countersign.toml";

const PREFIX: &str = "COUNTERSIGN_";

/// Why the configuration cannot be used. Values are left out of the messages, for they may be secrets.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration file {} cannot be read: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// The file is not TOML.
    #[error("the configuration file {} is not valid TOML, line {line}: {reason}", path.display())]
    NotToml {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why.
        reason: String,
    },
    /// A key is unknown, or its value is not what it must be.
    #[error("{source_name}: `{key}`: {reason}")]
    Invalid {
        /// Where the key came from.
        source_name: String,
        /// The key with its sections.
        key: String,
        /// What is wrong, with the known keys when it is unknown.
        reason: String,
    },
    /// A key is set inside what is not a section.
    #[error("{source_name} sets a key inside `{section}`, which is not a section")]
    NotASection {
        /// Where the key came from.
        source_name: String,
        /// What is not a section.
        section: String,
    },
}

/// A setting that came as text from outside the file.
struct Setting {
    source_name: String,
    path: Vec<String>,
    text: String,
    parsed: bool,
}

/// Reads the configuration `T`, whose structs refuse unknown keys (`#[serde(deny_unknown_fields)]`).
///
/// `file`: `None` reads `./countersign.toml` when it is there. `environment`: variables such as
/// `COUNTERSIGN_HOTEL__DB` (section, two underscores, key) are laid over the file; others are ignored. `flags`:
/// pairs such as `("hotel.db", "sqlite:x.db")` win over both. Where a key is not a string, the text is read as a
/// TOML value: `true`, `5`, `["a", "b"]`.
pub fn load<T: DeserializeOwned>(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (String, String)>,
    flags: impl IntoIterator<Item = (&'static str, String)>,
) -> Result<T, ConfigError> {
    let (path, mut table) = read_file(file)?;
    let mut settings: Vec<Setting> = environment.into_iter().filter_map(from_environment).collect();
    settings.sort_by(|one, other| one.source_name.cmp(&other.source_name));
    settings.extend(flags.into_iter().map(|(key, text)| Setting {
        source_name: format!("the flag for {key}"),
        path: key.split('.').map(str::to_owned).collect(),
        text,
        parsed: false,
    }));
    for setting in &settings {
        set(&mut table, setting, Value::String(setting.text.clone()))?;
    }
    // Only `T` knows which keys are strings. So each text is offered as a string first, and as a TOML value when
    // that does not fit; every round settles one setting.
    loop {
        let error = match serde_path_to_error::deserialize(Value::Table(table.clone())) {
            Ok(config) => return Ok(config),
            Err(error) => error,
        };
        let failed: Vec<String> = error.path().iter().filter_map(segment_key).collect();
        let retry = settings.iter_mut().rfind(|setting| setting.path == failed && !setting.parsed);
        let Some((setting, value)) =
            retry.and_then(|setting| toml_value(&setting.text).map(|value| (setting, value)))
        else {
            return Err(invalid(&path, &settings, &failed, error.inner().message()));
        };
        setting.parsed = true;
        set(&mut table, setting, value)?;
    }
}

fn read_file(file: Option<&Path>) -> Result<(PathBuf, Table), ConfigError> {
    let path = file.unwrap_or(Path::new(DEFAULT_FILE)).to_owned();
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if file.is_none() && error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(reason) => return Err(ConfigError::Unreadable { path, reason }),
    };
    match text.parse() {
        Ok(table) => Ok((path, table)),
        Err(error) => {
            let error: toml::de::Error = error;
            let at = error.span().map_or(0, |span| span.start);
            let line = text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
            Err(ConfigError::NotToml { path, line, reason: error.message().to_owned() })
        }
    }
}

fn from_environment((name, text): (String, String)) -> Option<Setting> {
    let key = name.strip_prefix(PREFIX)?;
    if !key.contains("__") {
        return None;
    }
    let path = key.split("__").map(str::to_ascii_lowercase).collect();
    Some(Setting { source_name: format!("the environment variable {name}"), path, text, parsed: false })
}

fn set(table: &mut Table, setting: &Setting, value: Value) -> Result<(), ConfigError> {
    let Some((key, sections)) = setting.path.split_last() else { return Ok(()) };
    let mut inside = table;
    for section in sections {
        let entry = inside.entry(section.clone()).or_insert_with(|| Value::Table(Table::new()));
        let Value::Table(inner) = entry else {
            return Err(ConfigError::NotASection {
                source_name: setting.source_name.clone(),
                section: section.clone(),
            });
        };
        inside = inner;
    }
    inside.insert(key.clone(), value);
    Ok(())
}

fn segment_key(segment: &Segment) -> Option<String> {
    match segment {
        Segment::Map { key } => Some(key.clone()),
        Segment::Seq { .. } | Segment::Enum { .. } | Segment::Unknown => None,
    }
}

/// `text` as a TOML value that is not a string.
fn toml_value(text: &str) -> Option<Value> {
    let table: Table = format!("value = {text}").parse().ok()?;
    let value = table.get("value")?.clone();
    (table.len() == 1 && !value.is_str()).then_some(value)
}

fn invalid(file: &Path, settings: &[Setting], failed: &[String], reason: &str) -> ConfigError {
    // An unknown key may or may not be part of the path that serde reports.
    let unknown = reason.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
    let mut path = failed.to_vec();
    if let Some(unknown) = unknown
        && path.last().is_none_or(|last| last != unknown)
    {
        path.push(unknown.to_owned());
    }
    let source_name = settings
        .iter()
        .rfind(|setting| setting.path == path)
        .map_or_else(|| file.display().to_string(), |setting| setting.source_name.clone());
    // A mismatch quotes the value in its first half, which may be a secret.
    let reason = match reason.rsplit_once(", expected ") {
        Some((_, expected)) if unknown.is_none() => format!("expected {expected}"),
        _ => reason.to_owned(),
    };
    ConfigError::Invalid { source_name, key: path.join("."), reason }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default, deny_unknown_fields)]
    struct Config {
        hotel: Hotel,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default, deny_unknown_fields)]
    struct Hotel {
        db: String,
        read_only: bool,
        names: Option<Vec<String>>,
        imap: Imap,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default, deny_unknown_fields)]
    struct Imap {
        port: u16,
    }

    fn load_text(
        text: &str,
        environment: &[(&str, &str)],
        flags: &[(&'static str, &str)],
    ) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.toml");
        fs::write(&file, text).unwrap();
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        load(
            Some(&file),
            environment.iter().map(owned),
            flags.iter().map(|(key, text)| (*key, (*text).to_owned())),
        )
    }

    #[test]
    fn a_flag_wins_over_the_environment_and_that_over_the_file() {
        let file = "[hotel]\ndb = 'file'\nimap = { port = 1 }";
        let environment = [("COUNTERSIGN_HOTEL__DB", "environment"), ("COUNTERSIGN_HOTEL__IMAP__PORT", "2")];
        assert_eq!(load_text(file, &[], &[]).unwrap().hotel.db, "file");
        let config = load_text(file, &environment, &[]).unwrap();
        assert_eq!((config.hotel.db.as_str(), config.hotel.imap.port), ("environment", 2));
        assert_eq!(load_text(file, &environment, &[("hotel.db", "flag")]).unwrap().hotel.db, "flag");
    }

    #[test]
    fn text_becomes_what_the_key_needs() {
        let environment = [
            ("COUNTERSIGN_HOTEL__DB", "123"),
            ("COUNTERSIGN_HOTEL__READ_ONLY", "true"),
            ("COUNTERSIGN_HOTEL__NAMES", r#"["a", "b"]"#),
            ("COUNTERSIGN_OTHER", "ignored"),
        ];
        let hotel = load_text("", &environment, &[]).unwrap().hotel;
        assert_eq!((hotel.db.as_str(), hotel.read_only), ("123", true));
        assert_eq!(hotel.names, Some(vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn an_unknown_key_is_named_with_the_known_ones_and_its_source() {
        let error = load_text("[hotel]\ndatabase = 'x'", &[], &[]).unwrap_err().to_string();
        assert!(
            error.contains("c.toml: `hotel.database`: unknown field `database`, expected one of `db`"),
            "{error}"
        );
        let error = load_text("", &[("COUNTERSIGN_HOTEL__DATABASE", "x")], &[]).unwrap_err().to_string();
        assert!(
            error.starts_with("the environment variable COUNTERSIGN_HOTEL__DATABASE: `hotel.database`"),
            "{error}"
        );
    }

    #[test]
    fn a_wrong_value_is_named_but_not_shown() {
        let error =
            load_text("", &[("COUNTERSIGN_HOTEL__IMAP__PORT", "hunter2")], &[]).unwrap_err().to_string();
        assert!(error.contains("`hotel.imap.port`: expected u16"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn a_file_that_is_not_toml_is_told_with_its_line() {
        let error = load_text("[hotel]\ndb = ", &[], &[]).unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }

    #[test]
    fn a_named_file_must_be_there() {
        let missing = load::<Config>(Some(Path::new("no-such-file.toml")), [], []);
        assert!(matches!(missing, Err(ConfigError::Unreadable { .. })));
    }
}
