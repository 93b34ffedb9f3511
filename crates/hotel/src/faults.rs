//! The faults of one submission: all are counted, the first are listed, so that no answer grows with what was sent.

use govern::text::visible;

use crate::error::Fault;

/// Most faults that are listed.
const MOST: usize = 100;
/// Most bytes that the listed ones have, whatever the names in them are.
const MOST_BYTES: usize = 24 << 10;
/// Most bytes of one path, which holds names from the submission.
const PATH_BYTES: usize = 200;
/// Most bytes of one expectation, which holds values from the submission.
const EXPECTED_BYTES: usize = 400;

/// The faults found so far.
#[derive(Debug, Default)]
pub struct Faults {
    listed: Vec<Fault>,
    count: usize,
    bytes: usize,
    told: Vec<&'static str>,
}

impl Faults {
    /// Counts a fault, and lists it, shortened, while there is room.
    pub fn push(&mut self, fault: Fault) {
        self.count += 1;
        if self.listed.len() == MOST {
            return;
        }
        let Fault { path, code, expected } = fault;
        let fault = Fault {
            path: shortened(&path, PATH_BYTES),
            code,
            expected: shortened(&expected, EXPECTED_BYTES),
        };
        self.bytes += govern::budget::json_len(&fault);
        if self.bytes <= MOST_BYTES {
            self.listed.push(fault);
        }
    }

    /// Whether this kind of object is met for the first time, so that what it may hold is told once.
    pub fn is_first(&mut self, kind: &'static str) -> bool {
        let first = !self.told.contains(&kind);
        if first {
            self.told.push(kind);
        }
        first
    }

    /// The first faults, in the order in which they were found.
    pub fn listed(&self) -> &[Fault] {
        &self.listed
    }

    /// How many there are in all.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        let mut faults = Self::default();
        faults.push(fault);
        faults
    }
}

fn shortened(text: &str, most: usize) -> String {
    let seen = visible(text).text;
    if seen.len() <= most {
        return seen.into_owned();
    }
    format!("{}…", &seen[..seen.floor_char_boundary(most)])
}
