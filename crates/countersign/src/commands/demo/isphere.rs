//! What the demo prepares of iSphere: its folders, a file that can be sent, and a configuration for stdio.

use std::{
    fs,
    path::{Path, PathBuf},
};

use govern::language::Language;
use isphere::{model::SourceName, settings::Settings};
use serde_json::{Value, json};

use super::file_error;
use crate::commands::CommandError;

/// In the data folder, the configuration for `isphere serve --config`.
const CONFIG_FILE: &str = "isphere.toml";
/// In the outbound folder, a file to preview a send with.
const SAMPLE_FILE: &str = "报价单 quotation.txt";
const SAMPLE_TEXT: &str = "湖畔演示公司 报价单\nLakeside Demo quotation: 8 rooms, 2 nights\n";

/// The generated organisation, with all folders inside the demo's.
pub(super) fn settings(data: &Path, language: Language) -> Settings {
    Settings {
        sources: vec![SourceName::Mock],
        state_dir: data.join("isphere"),
        inbound_dir: Some(data.join("inbound")),
        outbound_dir: Some(data.join("outbound")),
        operator_id: Some("demo".to_owned()),
        language,
        ..Settings::default()
    }
}

/// Makes the folders and writes the configuration with which a client starts the half over stdio; returns its file.
pub(super) fn prepare(data: &Path, settings: &Settings) -> Result<PathBuf, CommandError> {
    for folder in settings.inbound_dir.iter().chain(&settings.outbound_dir) {
        fs::create_dir_all(folder).map_err(|reason| file_error(folder, reason))?;
    }
    if let Some(folder) = &settings.outbound_dir {
        write(&folder.join(SAMPLE_FILE), SAMPLE_TEXT)?;
    }
    let file = data.join(CONFIG_FILE);
    write(&file, &as_toml(settings))?;
    Ok(file)
}

/// A first call to try: people whose name or department begins with these letters or characters.
pub(super) fn search() -> Value {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "isphere_search_contacts", "arguments": {"query": "zhang", "limit": 5}},
    })
}

fn write(file: &Path, text: &str) -> Result<(), CommandError> {
    fs::write(file, text).map_err(|reason| file_error(file, reason))
}

fn as_toml(settings: &Settings) -> String {
    let mut lines = vec![
        "# Written by `countersign demo` at each start.".to_owned(),
        "[isphere]".to_owned(),
        "sources = [\"mock\"]".to_owned(),
    ];
    let folders = [
        ("state_dir", Some(&settings.state_dir)),
        ("inbound_dir", settings.inbound_dir.as_ref()),
        ("outbound_dir", settings.outbound_dir.as_ref()),
    ];
    for (key, folder) in folders {
        lines.extend(folder.map(|folder| format!("{key} = {}", basic_string(&folder.display().to_string()))));
    }
    lines.extend(settings.operator_id.as_ref().map(|name| format!("operator_id = {}", basic_string(name))));
    lines.push(format!("language = {}", settings.language.pick("\"zh-CN\"", "\"en\"")));
    lines.join("\n") + "\n"
}

/// A basic string of TOML; its escapes are those of JSON.
fn basic_string(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn the_written_configuration_says_what_the_demo_itself_uses() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("the \"data\" 数据");
        fs::create_dir_all(&data).unwrap();
        let wanted = settings(&data, Language::English);
        let file = prepare(&data, &wanted).unwrap();
        let config: Config = govern::config::load(Some(&file), [], []).unwrap();
        assert_eq!(format!("{:?}", config.isphere), format!("{wanted:?}"));
        assert!(data.join("outbound").join(SAMPLE_FILE).exists());
    }
}
