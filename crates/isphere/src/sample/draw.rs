//! Draws that depend on nothing but a seed and the place they are for, so that any row can be made without the ones
//! before it.

/// What a row is of; rows of the same number but of different kinds have nothing to do with each other.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A person.
    Contact,
    /// A dozen people who work in the same department.
    Team,
    /// A group.
    Group,
    /// A run of messages about one matter.
    Thread,
    /// A message.
    Message,
    /// A file.
    File,
    /// The last part of a `raw_ref`.
    Reference,
}

/// A sequence of draws: `SplitMix64`, started from (seed, kind, number).
#[derive(Clone, Debug)]
pub(super) struct Draw {
    state: u64,
}

impl Draw {
    /// The sequence for the row `number` of a kind.
    pub(super) fn new(seed: u64, kind: Kind, number: u64) -> Self {
        let place = mix(seed ^ mix(number)) ^ (kind as u64 + 1).wrapping_mul(STEP);
        Self { state: mix(place) }
    }

    /// 64 random bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// A number below `bound`, which is at least 1.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.bits()) * u128::from(bound);
        u64::try_from(product >> 64).expect("64 bits are left")
    }

    /// A number below `bound`, small ones far more often: the smallest of three.
    pub(super) fn low_below(&mut self, bound: u64) -> u64 {
        self.below(bound).min(self.below(bound)).min(self.below(bound))
    }

    /// True once in `times`.
    pub(super) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of `items`, which is not empty.
    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        let number = self.below(items.len() as u64);
        items[usize::try_from(number).expect("it is below a length")]
    }
}

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes all bits of a number into all others.
fn mix(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::{Draw, Kind};

    #[test]
    fn a_draw_depends_on_seed_kind_and_number_only() {
        let first = |seed, kind, number| Draw::new(seed, kind, number).bits();
        assert_eq!(first(1, Kind::Contact, 7), first(1, Kind::Contact, 7));
        assert_ne!(first(1, Kind::Contact, 7), first(2, Kind::Contact, 7));
        assert_ne!(first(1, Kind::Contact, 7), first(1, Kind::Group, 7));
        assert_ne!(first(1, Kind::Contact, 7), first(1, Kind::Contact, 8));
    }

    #[test]
    fn every_number_below_the_bound_comes_up() {
        let mut draw = Draw::new(1, Kind::Message, 1);
        let mut seen = [false; 7];
        for _ in 0..1_000 {
            seen[usize::try_from(draw.below(7)).unwrap()] = true;
        }
        assert_eq!(seen, [true; 7]);
    }
}
