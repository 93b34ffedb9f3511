//! A set of documents of one chunk, each named by its offset in the chunk.

/// Documents in a chunk at most: an offset has 16 bits.
pub const CHUNK_DOCUMENTS: usize = 1 << 16;

const WORDS: usize = CHUNK_DOCUMENTS / 64;
const BITMAP_BYTES: usize = CHUNK_DOCUMENTS / 8;

/// A set of offsets, one bit each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offsets(Box<[u64]>);

impl Offsets {
    /// The set of the first `count` offsets.
    pub fn first(count: usize) -> Self {
        let word = |at: usize| match count.saturating_sub(at * 64) {
            0 => 0,
            rest if rest >= 64 => u64::MAX,
            rest => (1 << rest) - 1,
        };
        Self((0..WORDS).map(word).collect())
    }

    /// The smallest form of ascending offsets: the varints of the differences, or the bitmap, which has exactly
    /// 8,192 bytes, when they would take as much.
    pub fn encode(ascending: &[u16]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(ascending.len().min(BITMAP_BYTES));
        let mut next = 0_u32;
        for offset in ascending.iter().map(|offset| u32::from(*offset)) {
            write_varint(&mut bytes, u64::from(offset - next));
            next = offset + 1;
            if bytes.len() >= BITMAP_BYTES {
                return Self::bitmap(ascending);
            }
        }
        bytes
    }

    /// What [`Self::encode`] wrote; offsets past the last are none.
    pub fn decode(bytes: &[u8]) -> Self {
        if bytes.len() == BITMAP_BYTES {
            let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            return Self(bytes.chunks_exact(8).map(word).collect());
        }
        let mut offsets = Self::first(0);
        let (mut rest, mut next) = (bytes, 0);
        while let Some(gap) = read_varint(&mut rest) {
            let offset = gap.saturating_add(next);
            let Some(at) = usize::try_from(offset).ok().filter(|at| *at < CHUNK_DOCUMENTS) else { break };
            offsets.0[at / 64] |= 1 << (at % 64);
            next = offset + 1;
        }
        offsets
    }

    /// Keeps those that are in the other set too.
    pub fn keep(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
    }

    /// Leaves out those that are in the other set.
    pub fn remove(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= !other);
    }

    /// Adds those of the other set.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The smallest that is not below `start`.
    pub fn next_from(&self, start: usize) -> Option<usize> {
        let mut at = start / 64;
        let mut word = self.0.get(at)? & (u64::MAX << (start % 64));
        while word == 0 {
            at += 1;
            word = *self.0.get(at)?;
        }
        Some(at * 64 + word.trailing_zeros() as usize)
    }

    /// The largest that is below `end`.
    pub fn last_below(&self, end: usize) -> Option<usize> {
        let last = end.min(CHUNK_DOCUMENTS).checked_sub(1)?;
        let mut at = last / 64;
        let mut word = self.0[at] & (u64::MAX >> (63 - last % 64));
        while word == 0 {
            at = at.checked_sub(1)?;
            word = self.0[at];
        }
        Some(at * 64 + 63 - word.leading_zeros() as usize)
    }

    fn bitmap(offsets: &[u16]) -> Vec<u8> {
        let mut bytes = vec![0; BITMAP_BYTES];
        for offset in offsets.iter().map(|offset| usize::from(*offset)) {
            bytes[offset / 8] |= 1 << (offset % 8);
        }
        bytes
    }
}

/// Appends a number, seven bits a byte, the low ones first.
pub fn write_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// Takes a number that [`write_varint`] wrote; none at the end.
pub fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn set(offsets: &BTreeSet<u16>) -> Offsets {
        Offsets::decode(&Offsets::encode(&offsets.iter().copied().collect::<Vec<_>>()))
    }

    fn ascending(offsets: &Offsets) -> Vec<usize> {
        std::iter::successors(offsets.next_from(0), |last| offsets.next_from(last + 1)).collect()
    }

    fn offsets() -> impl Strategy<Value = BTreeSet<u16>> {
        prop_oneof![
            proptest::collection::btree_set(any::<u16>(), 0..50),
            proptest::collection::btree_set(0_u16..200, 0..200),
            (1_u16..9, any::<u16>()).prop_map(|(step, end)| (0..=end).step_by(step.into()).collect()),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_and_never_larger_than_a_bitmap(offsets in offsets()) {
            let list: Vec<u16> = offsets.iter().copied().collect();
            prop_assert!(Offsets::encode(&list).len() <= BITMAP_BYTES);
            let expected: Vec<usize> = list.iter().map(|offset| usize::from(*offset)).collect();
            prop_assert_eq!(&ascending(&set(&offsets)), &expected);
            let set = set(&offsets);
            let descending: Vec<usize> =
                std::iter::successors(set.last_below(CHUNK_DOCUMENTS), |last| set.last_below(*last)).collect();
            prop_assert!(descending.iter().rev().eq(&expected));
        }

        #[test]
        fn sets_combine_as_sets_do(one in offsets(), other in offsets()) {
            let (mut kept, mut removed, mut added) = (set(&one), set(&one), set(&one));
            kept.keep(&set(&other));
            removed.remove(&set(&other));
            added.add(&set(&other));
            prop_assert_eq!(kept, set(&(&one & &other)));
            prop_assert_eq!(removed, set(&(&one - &other)));
            prop_assert_eq!(added, set(&(&one | &other)));
        }

        #[test]
        fn damaged_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            Offsets::decode(&bytes);
        }
    }

    #[test]
    fn the_first_ones_are_those_below_the_count() {
        for count in [0, 1, 63, 64, 65, CHUNK_DOCUMENTS] {
            assert_eq!(ascending(&Offsets::first(count)).len(), count);
        }
    }
}
