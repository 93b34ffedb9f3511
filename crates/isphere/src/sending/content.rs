//! What a message may hold, and the digests by which answers, audit and ledger speak of it instead of its text.

use govern::arguments::{ArgumentFault, chars_within};
use govern::hex::hex;
use sha2::{Digest as _, Sha256};

/// Most Unicode scalar values of a text.
pub const TEXT_CHARS: usize = 20_000;
/// Most Unicode scalar values of an idempotency key.
pub const KEY_CHARS: usize = 512;

/// SHA-256.
pub type Sha256Digest = [u8; 32];

/// A text that was checked, without the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// Over its UTF-8 bytes as they came.
    pub sha256: Sha256Digest,
    /// Its Unicode scalar values.
    pub length: usize,
}

/// Checks `content_text` (1 to 20,000 Unicode scalar values) against `content_sha256`, the caller's 64 hexadecimal
/// digits in either case. No fault repeats the text; a mismatch names both digests.
pub fn check(text: &str, stated: &str) -> Result<Content, ArgumentFault> {
    chars_within("$.content_text", text, 1..=TEXT_CHARS)?;
    if stated.len() != 64 || !stated.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let expected = "the SHA-256 of content_text as 64 hexadecimal digits";
        return Err(ArgumentFault::new("$.content_sha256", expected, "another text"));
    }
    let content = Content::of(text);
    let actual = hex(&content.sha256);
    if !actual.eq_ignore_ascii_case(stated) {
        let stated = stated.to_ascii_lowercase();
        return Err(ArgumentFault {
            path: "$.content_sha256".to_owned(),
            expected: actual.clone(),
            message: format!(
                "`$.content_sha256` is {stated}, but the SHA-256 over the UTF-8 bytes of `$.content_text` as received \
                 is {actual}. Compute it over exactly the text that is sent."
            ),
        });
    }
    Ok(content)
}

/// Checks `caption`, which a file may carry (1 to 20,000 Unicode scalar values).
pub fn caption(caption: &str) -> Result<Content, ArgumentFault> {
    chars_within("$.caption", caption, 1..=TEXT_CHARS)?;
    Ok(Content::of(caption))
}

/// The digest of an idempotency key (1 to 512 Unicode scalar values, not blank); the key itself is kept nowhere.
pub fn key(key: &str) -> Result<Sha256Digest, ArgumentFault> {
    chars_within("$.idempotency_key", key, 1..=KEY_CHARS)?;
    if key.trim().is_empty() {
        return Err(ArgumentFault::new("$.idempotency_key", "a text that is not blank", "white space"));
    }
    Ok(sha256(key.as_bytes()))
}

/// One digest over all parts of an operation, in which no part can pass for a piece of its neighbour.
pub fn operation(parts: &[&[u8]]) -> Sha256Digest {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

impl Content {
    fn of(text: &str) -> Self {
        Self { sha256: sha256(text.as_bytes()), length: text.chars().count() }
    }
}

fn sha256(bytes: &[u8]) -> Sha256Digest {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `printf '你好 😀' | sha256sum`
    const GREETING: &str = "11d38af3bdabe6b2cbeddca50ba2837db42ab16679896ed9cc0dfce30cfc1fa7";

    #[test]
    fn the_length_counts_unicode_scalars_and_the_digest_the_utf8_bytes() {
        let text = "你好 😀";
        let content = check(text, &hex(&sha256(text.as_bytes()))).unwrap();
        assert_eq!(content.length, 4);
        assert_eq!(hex(&content.sha256), GREETING);
    }

    #[test]
    fn the_digest_may_come_in_upper_case() {
        assert!(check("你好 😀", &GREETING.to_uppercase()).is_ok());
    }

    #[test]
    fn a_mismatch_names_both_digests_and_not_the_text() {
        let stated = "AB".repeat(32);
        let fault = check("secret", &stated).unwrap_err();
        assert_eq!(fault.path, "$.content_sha256");
        assert!(fault.message.contains(&stated.to_lowercase()) && fault.message.contains(&fault.expected));
        assert!(!fault.message.contains("secret"));
    }

    #[test]
    fn what_is_no_digest_is_refused_without_being_repeated() {
        let fault = check("text", "the text itself").unwrap_err();
        assert!(fault.message.contains("64 hexadecimal digits") && !fault.message.contains("itself"));
        assert!(check("text", &"g".repeat(64)).is_err());
        assert!(check("text", &"é".repeat(32)).is_err());
    }

    #[test]
    fn a_text_has_1_to_20_000_characters() {
        let of = |count| "好".repeat(count);
        let fits = |text: &str| check(text, &hex(&sha256(text.as_bytes()))).is_ok();
        assert!(fits(&of(1)) && fits(&of(20_000)));
        assert!(!fits("") && !fits(&of(20_001)));
    }

    #[test]
    fn a_key_is_neither_blank_nor_longer_than_512_characters() {
        assert!(key("k").is_ok() && key(&"键".repeat(512)).is_ok());
        assert!(key("").is_err() && key(" \t").is_err() && key(&"k".repeat(513)).is_err());
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(operation(&[b"ab", b"c"]), operation(&[b"a", b"bc"]));
        assert_ne!(operation(&[b"a", b""]), operation(&[b"a"]));
    }

    proptest! {
        #[test]
        fn any_text_passes_with_its_own_digest_and_no_other(text in ".{1,40}", other in ".{1,40}") {
            let stated = hex(&sha256(text.as_bytes()));
            prop_assert!(check(&text, &stated).is_ok());
            prop_assert_eq!(check(&other, &stated).is_ok(), other == text);
        }
    }
}
