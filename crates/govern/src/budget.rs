//! The byte budget of one result.

use std::io;

use serde::Serialize;

/// How many leading `items` fit when `used` of `budget` bytes are spent already, each item counted as its JSON
/// and a comma. At least 1 when there is an item, so that a reader that pages always moves on.
pub fn fit<T: Serialize>(items: &[T], used: usize, budget: usize) -> usize {
    let mut total = used;
    let fitting = items
        .iter()
        .take_while(|item| {
            total = total.saturating_add(json_len(item) + 1);
            total <= budget
        })
        .count();
    fitting.max(1).min(items.len())
}

/// The length of `value` as JSON, in bytes. A value that cannot be serialised counts as larger than any budget.
pub fn json_len<T: Serialize>(value: &T) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    serde_json::to_writer(&mut counter, value).map_or(usize::MAX / 2, |()| counter.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_cut_at_an_item_boundary() {
        let items = ["aaaa", "bbbb", "cccc"];
        assert_eq!(fit(&items, 0, 100), 3);
        assert_eq!(fit(&items, 0, 14), 2);
        assert_eq!(fit(&items, 10, 17), 1);
    }

    #[test]
    fn one_item_always_fits_so_that_paging_moves_on() {
        assert_eq!(fit(&["longer than the budget"], 0, 3), 1);
        assert_eq!(fit::<&str>(&[], 0, 3), 0);
    }
}
