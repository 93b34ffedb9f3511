//! The one source of randomness.

use std::{
    fmt::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// The source of random bytes; passed in, so that a test gets the same ids each time.
#[derive(Clone, Debug)]
pub enum Random {
    /// The operating system's generator; the only one fit for secrets.
    System,
    /// A deterministic sequence for tests.
    Seeded(Arc<AtomicU64>),
}

impl Random {
    /// A deterministic source that starts at `seed`.
    pub fn seeded(seed: u64) -> Self {
        Self::Seeded(Arc::new(AtomicU64::new(seed)))
    }

    /// Fills `bytes` with random bytes. Panics when the operating system has none to give, for nothing safe
    /// can be done without them.
    #[allow(clippy::disallowed_methods, reason = "the one place where randomness enters")]
    pub fn fill(&self, bytes: &mut [u8]) {
        match self {
            Self::System => getrandom::fill(bytes).expect("the operating system gives random bytes"),
            Self::Seeded(state) => {
                for chunk in bytes.chunks_mut(8) {
                    chunk.copy_from_slice(&split_mix(state).to_le_bytes()[..chunk.len()]);
                }
            }
        }
    }

    /// An id for one request: `req-` and 32 hexadecimal digits.
    pub fn request_id(&self) -> String {
        let mut bytes = [0; 16];
        self.fill(&mut bytes);
        let mut id = String::with_capacity(36);
        // Writing to a String cannot fail.
        let _ = write!(id, "req-{:032x}", u128::from_be_bytes(bytes));
        id
    }
}

/// `SplitMix64`: each state gives one well-mixed number.
fn split_mix(state: &AtomicU64) -> u64 {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut mixed = state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_id_has_32_hexadecimal_digits() {
        let id = Random::System.request_id();
        let digits = id.strip_prefix("req-").unwrap();
        assert_eq!(digits.len(), 32);
        assert!(digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(id, Random::System.request_id());
    }

    #[test]
    fn the_same_seed_gives_the_same_ids() {
        assert_eq!(Random::seeded(7).request_id(), Random::seeded(7).request_id());
        assert_ne!(Random::seeded(7).request_id(), Random::seeded(8).request_id());
    }
}
