//! The lists that are built in and that an operator may replace: by a file of the same name beside the program.
//!
//! Not by an argument of a request, which must not be able to make the helper read a file of its choice. Who can
//! write beside the program could replace the program as well, so that this gives no one more than they have.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::fault::Fault;
use crate::regular_file::{self, Unread};

/// The most bytes of such a file.
const MOST_BYTES: u64 = 64 * 1024;

/// Which of the two lists was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The list in the program.
    BuiltIn,
    /// The operator's.
    BesideTheProgram,
}

/// The list in the file `name` beside the program; without such a file `built_in`, which is the same in the program.
pub fn read<T: DeserializeOwned>(name: &'static str, built_in: &str) -> Result<(T, Origin), Fault> {
    let unusable = |reason: String| Fault::DataFile { file: name, reason };
    let (text, origin) = match beside_the_program(name).map_err(unusable)? {
        Some(text) => (text, Origin::BesideTheProgram),
        None => (built_in.to_owned(), Origin::BuiltIn),
    };
    let list = toml::from_str(&text).map_err(|error| unusable(explain(&text, &error)))?;
    Ok((list, origin))
}

/// The text of the file, where there is one; else why it cannot be used. Only where nothing has its name, not even a
/// link that leads nowhere, there is none.
fn beside_the_program(name: &str) -> Result<Option<String>, String> {
    let program = std::env::current_exe().map_err(|_| "the program's own folder is not known")?;
    let bytes = match regular_file::read(&program.with_file_name(name), MOST_BYTES) {
        Ok(bytes) => bytes,
        Err(Unread::Missing) => return Ok(None),
        Err(reason) => return Err(reason.to_string()),
    };
    String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8; save it as UTF-8".to_owned())
}

/// What is wrong with a text, and in which line.
fn explain(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    format!("line {}: {}", before.lines().count().max(1), error.message())
}
