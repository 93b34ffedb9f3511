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
    let (text, origin) = match beside_the_program(name) {
        Ok(Some(text)) => (text, Origin::BesideTheProgram),
        Ok(None) => (built_in.to_owned(), Origin::BuiltIn),
        Err(error) => return Err(unusable(error.to_string())),
    };
    let list = toml::from_str(&text).map_err(|error| unusable(error.to_string()))?;
    Ok((list, origin))
}

fn beside_the_program(name: &str) -> std::io::Result<Option<String>> {
    let file = match File::open(std::env::current_exe()?.with_file_name(name)) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    if file.take(MOST_BYTES + 1).read_to_string(&mut text)? as u64 > MOST_BYTES {
        return Err(std::io::Error::other(format!("it is larger than {MOST_BYTES} bytes")));
    }
    Ok(Some(text))
}
