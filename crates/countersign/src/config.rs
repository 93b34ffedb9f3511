//! The whole configuration: every section and key there is, and the flags that all commands share.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use clap::Args;
use govern::{gate::Policy, mcp::McpOptions, tool::Service};
use hotel::{
    app::ChangedPayload, console::ConsoleOptions, language::Language, mail::LinkPolicy, mcp::HotelTools,
};
use isphere::{settings::Settings, tools::IsphereTools};
use serde::{Deserialize, de::IntoDeserializer};

use crate::commands::CommandError;

/// Where the server listens unless told otherwise.
pub(crate) const LISTEN: &str = "127.0.0.1:8750";

/// The configuration of every command.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) mcp: McpOptions,
    pub(crate) policy: Policy,
    pub(crate) hotel: HotelSection,
    pub(crate) isphere: Settings,
}

/// The `[hotel]` section.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HotelSection {
    /// `sqlite:PATH` or `postgres://…`; may hold a password.
    pub(crate) db: String,
    /// Address and port of the server.
    pub(crate) listen: String,
    /// A task catalogue in the place of the embedded one.
    pub(crate) catalog: Option<PathBuf>,
    /// What a changed submission for the same message does.
    pub(crate) on_changed_payload: ChangedPayload,
    /// The language of summaries and error messages.
    pub(crate) language: Language,
    /// What is shown of a link in an e-mail.
    pub(crate) text_links: LinkPolicy,
    /// The pages where people confirm.
    pub(crate) console: ConsoleOptions,
}

impl Default for HotelSection {
    fn default() -> Self {
        Self {
            db: "sqlite:countersign-data/hotel.db".to_owned(),
            listen: LISTEN.to_owned(),
            catalog: None,
            on_changed_payload: ChangedPayload::default(),
            language: Language::default(),
            text_links: LinkPolicy::default(),
            console: ConsoleOptions::default(),
        }
    }
}

impl fmt::Debug for HotelSection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HotelSection")
            .field("listen", &self.listen)
            .field("catalog", &self.catalog)
            .field("on_changed_payload", &self.on_changed_payload)
            .field("language", &self.language)
            .field("text_links", &self.text_links)
            .field("console", &self.console)
            .finish_non_exhaustive()
    }
}

/// Flags of every command of the hotel.
#[derive(Debug, Args)]
pub(crate) struct HotelFlags {
    /// Configuration file; without it ./countersign.toml when that exists
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Database: sqlite:PATH or postgres://USER@HOST/NAME [default: sqlite:countersign-data/hotel.db]
    #[arg(long, global = true, value_name = "URL")]
    db: Option<String>,
}

impl HotelFlags {
    /// The configuration: the file, over it the environment, over that the flags.
    pub(crate) fn load(&self) -> Result<Config, CommandError> {
        if let Some(reason) = self.db.as_deref().and_then(fault_in_url) {
            return Err(CommandError::Usage(format!("--db {reason}")));
        }
        let config = load(self.config.as_deref(), self.db.iter().map(|db| ("hotel.db", db.clone())))?;
        match fault_in_url(&config.hotel.db) {
            Some(reason) => Err(CommandError::DatabaseUrl(reason)),
            None => Ok(config),
        }
    }
}

/// Flags of the commands of the iSphere half that work with its configuration.
#[derive(Debug, Args)]
pub(crate) struct IsphereFlags {
    /// Configuration file; without it ./countersign.toml when that exists
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder for the audit trail, keys, tokens and the search index [default: countersign-data/isphere]
    #[arg(long, global = true, value_name = "DIR")]
    state: Option<String>,
}

impl IsphereFlags {
    /// The configuration: the file, over it the environment, over that the flags.
    pub(crate) fn load(&self) -> Result<Config, CommandError> {
        load(self.config.as_deref(), self.state.iter().map(|folder| ("isphere.state_dir", folder.clone())))
    }
}

fn load(
    file: Option<&Path>,
    flags: impl IntoIterator<Item = (&'static str, String)>,
) -> Result<Config, CommandError> {
    // A variable that is not Unicode cannot be one of ours.
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let config: Config = govern::config::load(file, environment, flags)?;
    config.policy.check(&known_tools())?;
    Ok(config)
}

/// The toolset and name of every tool of the product, for a policy may name any.
fn known_tools() -> Vec<(&'static str, &'static str)> {
    let hotel = HotelTools::tools().iter().map(|tool| (tool.toolset, tool.name));
    hotel.chain(IsphereTools::tools().iter().map(|tool| (tool.toolset, tool.name))).collect()
}

/// Reads an address to listen on, `HOST:PORT`.
pub(crate) fn address(text: &str) -> Result<String, &'static str> {
    let is_address =
        text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if is_address { Ok(text.to_owned()) } else { Err("give HOST:PORT, such as 127.0.0.1:8750") }
}

/// Reads a language as the configuration file does.
pub(crate) fn language(text: &str) -> Result<Language, serde::de::value::Error> {
    Language::deserialize(text.into_deserializer())
}

/// What is wrong with the form of a database URL. The URL may hold a password and is not repeated.
fn fault_in_url(url: &str) -> Option<&'static str> {
    match url.strip_prefix("sqlite:") {
        Some(path) if path.contains('?') => {
            Some("takes no parameters; leave out what begins with `?` in sqlite:PATH")
        }
        Some("" | "//" | ":memory:") => Some("names no file; use sqlite:PATH"),
        Some(_) => None,
        None if url.starts_with("postgres://") || url.starts_with("postgresql://") => None,
        None => Some("is not understood; use sqlite:PATH or postgres://USER@HOST/NAME"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_refused_for_its_form_without_being_repeated() {
        for url in ["sqlite:a.db", "sqlite:///a.db", "postgres://u@h/n", "postgresql://h/n?sslmode=require"] {
            assert_eq!(fault_in_url(url), None, "{url}");
        }
        for url in ["sqlite:a.db?mode=ro", "sqlite:", "sqlite::memory:", "mysql://u@h/n", "a.db", ""] {
            assert!(fault_in_url(url).is_some(), "{url}");
        }
    }

    #[test]
    fn every_key_can_be_set_in_the_file() {
        let text = r#"
            [mcp]
            schema_profile = "contract"
            text = "json"
            result_budget_bytes = 1000
            body_limit_bytes = 2000
            allowed_hosts = ["hotel.example"]
            allowed_origins = ["https://hotel.example"]
            [policy]
            read_only = true
            toolsets = ["th_hotel"]
            disabled_tools = []
            per_minute = 60
            allow = ["group:1001"]
            deny = ["contact:7"]
            [hotel]
            db = "postgres://u:hunter2@host/db"
            listen = "127.0.0.1:1"
            catalog = "catalog.toml"
            on_changed_payload = "supersede_untouched"
            language = "en"
            text_links = "keep"
            [hotel.console]
            tls_proxy = true
            [isphere]
            sources = ["local_readonly", "mock"]
            state_dir = "state"
            inbound_dir = "in"
            outbound_dir = "out"
            operator_id = "li.na"
            timeout_ms = 1000
            max_file_bytes = 1000
            language = "en"
            [isphere.helper]
            program = "helper.exe"
            arguments = ["-x"]
            tools = true
            timeout_ms = 1000
            dumps_dir = "dumps"
            [isphere.uia]
            profile = "uia.toml"
            [isphere.local_readonly]
            store = "store.db"
            profile = "store.profile.toml"
            files_dir = "store.files"
        "#;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.toml");
        std::fs::write(&file, text).unwrap();
        let config: Config = govern::config::load(Some(&file), [], []).unwrap();
        assert_eq!(config.hotel.language, Language::English);
        assert_eq!(config.hotel.text_links, LinkPolicy::Keep);
        assert_eq!(config.hotel.on_changed_payload, ChangedPayload::SupersedeUntouched);
        assert!(config.policy.read_only && config.hotel.console.tls_proxy);
        assert_eq!(config.policy.check(&known_tools()), Ok(()));
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}
