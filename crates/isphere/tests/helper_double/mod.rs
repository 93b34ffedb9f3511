//! Doubles of the Windows helper: shell scripts that answer as the tests need it.
#![allow(dead_code, reason = "each test binary uses its part")]

pub mod window;

use std::path::{Path, PathBuf};

use govern::random::Random;
use isphere::helper::HelperClient;
use isphere::settings;
use serde_json::Value;

/// Reads the request and defines what scripts need: `$op`, and `respond JSON`, which answers with this data.
const READ: &str = r#"
read -r line
id=${line#*'"request_id":"'}; id=${id%%'"'*}
op=${line#*'"op":"'}; op=${op%%'"'*}
respond() {
    printf '{"protocol":"isphere.helper.v1","request_id":"%s","op":"%s","ok":true,"data":%s,"error":null,"warnings":[]}\n' "$id" "$op" "$1"
}
refuse() {
    printf '{"protocol":"isphere.helper.v1","request_id":"%s","op":"%s","ok":false,"data":null,"error":{"code":"%s","message":"%s"},"warnings":[]}\n' "$id" "$op" "$1" "$2"
}
"#;

/// The data of `version` that doubles give.
pub const VERSION: &str = r#"{"helper_name":"ISphereWinHelper","helper_version":"0.1.0","protocol":"isphere.helper.v1","runtime":"sh"}"#;

/// The settings of a helper that runs this script after it has read the request.
pub fn settings(script: &str) -> settings::Helper {
    settings::Helper {
        program: Some("/bin/sh".into()),
        arguments: vec!["-c".to_owned(), format!("{READ}{script}")],
        ..settings::Helper::default()
    }
}

/// A client of such a helper.
pub fn client(script: &str) -> HelperClient {
    HelperClient::new(&settings(script), Random::seeded(7))
}

/// A file with the data of a dump, for a script that does `respond "$(cat FILE)"`.
pub fn data_file(folder: &Path, name: &str, data: &Value) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, data.to_string()).unwrap();
    path
}
