//! The lists that are built in and that an operator may replace: by a file of the same name beside the program.
//!
//! Not by an argument of a request, which must not be able to make the helper read a file of its choice. Who can
//! write beside the program could replace the program as well, so that this gives no one more than they have.

use std::fs::File;
use std::io::{ErrorKind, Read};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::fault::Fault;

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
    let (text, origin) = match beside_the_program(name).map_err(|reason| unusable(reason.to_owned()))? {
        Some(text) => (text, Origin::BesideTheProgram),
        None => (built_in.to_owned(), Origin::BuiltIn),
    };
    let list = toml::from_str(&text).map_err(|error| unusable(explain(&text, &error)))?;
    Ok((list, origin))
}

/// The text of the file, where there is one; else why it cannot be used.
fn beside_the_program(name: &str) -> Result<Option<String>, &'static str> {
    const UNREADABLE: &str = "it cannot be read; may this user read it?";
    let program = std::env::current_exe().map_err(|_| "the program's own folder is not known")?;
    let file = match File::open(program.with_file_name(name)) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(_) => return Err(UNREADABLE),
    };
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|_| UNREADABLE)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err("it is larger than 64 KiB");
    }
    String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8; save it as UTF-8")
}

/// What is wrong with a text, and in which line.
fn explain(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    format!("line {}: {}", before.lines().count().max(1), error.message())
}
