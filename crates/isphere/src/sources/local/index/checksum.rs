//! A checksum in front of what SQLite keeps for the index as bytes: it does not notice when the disk changes some of
//! them, and then hits would be missing without a word.

/// Bytes of the checksum.
const BYTES: usize = 4;

/// The content behind the checksum of the key that it is kept under and of itself.
pub fn seal(key: [i64; 2], content: &[u8]) -> Vec<u8> {
    [&checksum(key, content), content].concat()
}

/// The content, when these are the bytes that [`seal`] made for this key.
pub fn unseal(key: [i64; 2], sealed: &[u8]) -> Option<&[u8]> {
    let (found, content) = sealed.split_at_checked(BYTES)?;
    (found == checksum(key, content)).then_some(content)
}

/// FNV-1a over words of eight bytes, then mixed so that all bits count.
fn checksum(key: [i64; 2], content: &[u8]) -> [u8; BYTES] {
    let words = content
        .chunks(8)
        .map(|bytes| bytes.iter().rev().fold(0, |word: u64, byte| word << 8 | u64::from(*byte)));
    let length = u64::try_from(content.len()).unwrap_or(u64::MAX);
    let all = key.map(i64::cast_unsigned).into_iter().chain([length]).chain(words);
    let hash = all.fold(0xcbf2_9ce4_8422_2325, |hash: u64, word| {
        let mixed = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
        mixed ^ (mixed >> 32)
    });
    let [.., a, b, c, d] = hash.wrapping_mul(0xd6e8_feb8_6659_fd93).to_le_bytes();
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_sealed_is_read_back_and_no_changed_byte_of_it(
            key in any::<[i64; 2]>(), content in proptest::collection::vec(any::<u8>(), 0..100), at in any::<prop::sample::Index>(),
            change in 1_u8..,
        ) {
            let mut sealed = seal(key, &content);
            prop_assert_eq!(unseal(key, &sealed), Some(content.as_slice()));
            prop_assert_eq!(unseal([key[0], key[1].wrapping_add(1)], &sealed), None);
            let at = at.index(sealed.len());
            sealed[at] ^= change;
            prop_assert_eq!(unseal(key, &sealed), None);
            sealed[at] ^= change;
            sealed.pop();
            prop_assert_eq!(unseal(key, &sealed), None);
        }
    }
}
