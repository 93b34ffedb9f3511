//! Cursors: opaque, sealed, and good only for the tool, the query and the source that they came from.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::arguments;
use crate::app::Isphere;
use crate::audit::key::StateKey;
use crate::error::Error;
use crate::model::SourceName;

/// Where a list goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// The source of the pages before; paging never changes it.
    pub source: SourceName,
    /// The conversation that a name was resolved to, so that a later page does not resolve it otherwise.
    pub conversation_id: Option<String>,
    /// The position in the source's order.
    pub position: String,
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    /// Digest of the tool's name and its query.
    query: String,
    cursor: Cursor,
}

/// The longest cursor, in characters: room for the longest id, the longest position of a source, and the MAC.
pub const LONGEST: usize = 8192;

/// Keeps cursors apart from all else that the key authenticates.
const DOMAIN: &str = "cursor";
const MAC_BYTES: usize = 32;

impl Cursor {
    /// The cursor that the caller sent, if any.
    pub fn continuing(
        text: Option<&str>,
        app: &Isphere,
        tool: &str,
        query: &impl Serialize,
    ) -> Result<Option<Self>, Error> {
        arguments::cursor(text)?;
        text.map(|text| Self::open(text, &app.key, tool, query)).transpose()
    }

    /// `next_cursor` for the `position` to go on at; none at the end.
    pub fn next(
        position: Option<String>,
        source: SourceName,
        conversation_id: Option<String>,
        app: &Isphere,
        tool: &str,
        query: &impl Serialize,
    ) -> Result<Option<String>, Error> {
        let cursor = |position| Self { source, conversation_id, position };
        position.map(|position| cursor(position).seal(&app.key, tool, query)).transpose()
    }

    /// The text of the cursor for this tool and `query`: every argument but the limit and the cursor.
    fn seal(&self, key: &StateKey, tool: &str, query: &impl Serialize) -> Result<String, Error> {
        let sealed = Sealed { query: digest(tool, query)?, cursor: self.clone() };
        let payload = serde_json::to_vec(&sealed).map_err(not_made)?;
        let mut bytes = key.authenticate(DOMAIN, &payload).to_vec();
        bytes.extend_from_slice(&payload);
        let text = URL_SAFE_NO_PAD.encode(bytes);
        if text.len() > LONGEST {
            return Err(not_made(format!("its position takes {} bytes", self.position.len())));
        }
        Ok(text)
    }

    /// The cursor in `text`; refused when it was altered or belongs to another tool or query.
    fn open(text: &str, key: &StateKey, tool: &str, query: &impl Serialize) -> Result<Self, Error> {
        let altered =
            || Error::argument("cursor", "a next_cursor of this server as it came", "an altered one");
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| altered())?;
        let (mac, payload) = bytes.split_at_checked(MAC_BYTES).ok_or_else(altered)?;
        // A MAC that can be told apart by time would only let its finder page on, which it may anyway.
        if key.authenticate(DOMAIN, payload) != mac {
            return Err(altered());
        }
        let sealed: Sealed = serde_json::from_slice(payload).map_err(|_| altered())?;
        if sealed.query != digest(tool, query)? {
            let expected = "the next_cursor of the same tool with the same other arguments";
            return Err(Error::argument("cursor", expected, "one of another query"));
        }
        Ok(sealed.cursor)
    }
}

fn digest(tool: &str, query: &impl Serialize) -> Result<String, Error> {
    let query = serde_json::to_vec(&(tool, query)).map_err(not_made)?;
    Ok(URL_SAFE_NO_PAD.encode(&Sha256::digest(&query)[..16]))
}

fn not_made(cause: impl std::fmt::Display) -> Error {
    Error::Internal {
        message: "the cursor could not be made; call with a larger limit",
        cause: cause.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use govern::random::Random;
    use proptest::prelude::*;

    use super::*;

    fn key() -> (tempfile::TempDir, StateKey) {
        let folder = tempfile::tempdir().unwrap();
        let key = StateKey::open(folder.path(), &Random::seeded(1)).unwrap();
        (folder, key)
    }

    fn cursor() -> Cursor {
        Cursor { source: SourceName::Mock, conversation_id: None, position: "3|张三".to_owned() }
    }

    #[test]
    fn a_cursor_opens_for_its_tool_and_query_alone() {
        let (_folder, key) = key();
        let text = cursor().seal(&key, "contacts", &("zs", false)).unwrap();
        assert_eq!(Cursor::open(&text, &key, "contacts", &("zs", false)).unwrap(), cursor());
        for (tool, query) in
            [("groups", ("zs", false)), ("contacts", ("zs", true)), ("contacts", ("ls", false))]
        {
            let error = Cursor::open(&text, &key, tool, &query).unwrap_err();
            assert_eq!(
                (error.code(), error.to_string().contains("another query")),
                ("INVALID_ARGUMENT", true)
            );
        }
    }

    #[test]
    fn a_cursor_of_another_state_folder_is_refused() {
        let (_folder, key) = key();
        let other = tempfile::tempdir().unwrap();
        let other = StateKey::open(other.path(), &Random::seeded(2)).unwrap();
        let text = cursor().seal(&other, "contacts", &"zs").unwrap();
        assert!(Cursor::open(&text, &key, "contacts", &"zs").is_err());
    }

    proptest! {
        #[test]
        fn an_altered_cursor_is_refused(at in 0usize..1000, with in "[A-Za-z0-9_=-]{0,3}") {
            let (_folder, key) = key();
            let text = cursor().seal(&key, "contacts", &"zs").unwrap();
            let at = at % text.len();
            let altered = format!("{}{with}{}", &text[..at], &text[at + 1..]);
            prop_assume!(altered != text);
            prop_assert!(Cursor::open(&altered, &key, "contacts", &"zs").is_err());
        }

        #[test]
        fn garbage_is_refused(text in "\\PC{0,100}") {
            let (_folder, key) = key();
            prop_assert!(Cursor::open(&text, &key, "contacts", &"zs").is_err());
        }
    }
}
