//! The head of a trail: how far it reached at some moment.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// What stands for the digest of an empty trail.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// How far a trail reached at some moment: printed as `COUNT:DIGEST` and kept elsewhere, it proves later that nothing
/// was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// How many records the trail had; never negative.
    pub count: i64,
    /// The digest of the chain up to there: 64 lower-case hexadecimal digits.
    pub digest: String,
}

/// What is not a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a head is COUNT:DIGEST, as `countersign audit head` prints it")]
pub struct NotAHead;

impl Head {
    /// The head of an empty trail.
    pub fn genesis() -> Self {
        Self { count: 0, digest: GENESIS.to_owned() }
    }
}

impl fmt::Display for Head {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.count, self.digest)
    }
}

impl FromStr for Head {
    type Err = NotAHead;

    fn from_str(text: &str) -> Result<Self, NotAHead> {
        let (count, digest) = text.trim().split_once(':').ok_or(NotAHead)?;
        let count = count.parse().ok().filter(|count| *count >= 0).ok_or(NotAHead)?;
        let is_digest = digest.len() == GENESIS.len() && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_digest { Ok(Self { count, digest: digest.to_ascii_lowercase() }) } else { Err(NotAHead) }
    }
}
