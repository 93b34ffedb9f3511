//! Marks the passages of a mail that an agent goes by.

/// Most passages that are looked for.
const MAX_QUOTES: usize = 50;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece<'t> {
    pub(super) text: &'t str,
    /// Whether a quote covers it.
    pub(super) is_marked: bool,
}

/// The text in pieces, and which quotes stand nowhere in it. Blanks and line ends do not count, for agents and mailers
/// wrap lines as they like.
pub(super) fn mark<'t, 'q>(text: &'t str, quotes: &'q [String]) -> (Vec<Piece<'t>>, Vec<&'q str>) {
    let (dense, origins) = condense(text);
    let (mut spans, mut missing) = (Vec::new(), Vec::new());
    for quote in quotes.iter().take(MAX_QUOTES) {
        let wanted = condense(quote).0;
        match dense.find(&wanted).filter(|_| !wanted.is_empty()) {
            Some(start) => {
                let last = start + wanted.len() - 1;
                // The origin of a character is noted for each of its bytes.
                let end = origins[last] + text[origins[last]..].chars().next().map_or(0, char::len_utf8);
                spans.push((origins[start], end));
            }
            None => missing.push(quote.as_str()),
        }
    }
    spans.sort_unstable();
    (pieces(text, &spans), missing)
}

/// The text without its blanks, and for each byte of it where its character begins in the text.
fn condense(text: &str) -> (String, Vec<usize>) {
    let (mut dense, mut origins) = (String::with_capacity(text.len()), Vec::with_capacity(text.len()));
    for (at, character) in text.char_indices().filter(|(_, character)| !character.is_whitespace()) {
        dense.push(character);
        origins.resize(dense.len(), at);
    }
    (dense, origins)
}

fn pieces<'t>(text: &'t str, spans: &[(usize, usize)]) -> Vec<Piece<'t>> {
    let (mut pieces, mut done) = (Vec::new(), 0);
    for &(start, end) in spans {
        let start = start.max(done);
        if start >= end {
            continue;
        }
        if start > done {
            pieces.push(Piece { text: &text[done..start], is_marked: false });
        }
        pieces.push(Piece { text: &text[start..end], is_marked: true });
        done = end;
    }
    if done < text.len() {
        pieces.push(Piece { text: &text[done..], is_marked: false });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn marked(text: &str, quotes: &[&str]) -> (Vec<String>, Vec<String>) {
        let quotes: Vec<String> = quotes.iter().map(|quote| (*quote).to_owned()).collect();
        let (pieces, missing) = mark(text, &quotes);
        let marked = pieces.iter().filter(|piece| piece.is_marked).map(|piece| piece.text.to_owned());
        (marked.collect(), missing.into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn a_quote_is_found_however_its_lines_are_wrapped() {
        let text = "您好：\n入住：2027年1月\n  15日，谢谢";
        assert_eq!(marked(text, &["入住：2027年1月15日"]).0, ["入住：2027年1月\n  15日"]);
    }

    #[test]
    fn quotes_that_overlap_are_one_stretch_and_unknown_and_blank_ones_are_named() {
        let (found, missing) = marked("abcdef", &["bcd", "cde", "xyz", " "]);
        assert_eq!((found.concat().as_str(), missing), ("bcde", vec!["xyz".to_owned(), " ".to_owned()]));
    }

    proptest! {
        #[test]
        fn the_pieces_are_the_text_and_a_part_of_it_is_always_found(
            text in "[a-c \n王芳👩]{0,40}", start in 0_usize..40, length in 1_usize..10
        ) {
            let quote: String = text.chars().skip(start).take(length).collect();
            let quotes = [quote.clone()];
            let (pieces, missing) = mark(&text, &quotes);
            prop_assert_eq!(pieces.iter().map(|piece| piece.text).collect::<String>(), text.clone());
            prop_assert_eq!(missing.is_empty(), !quote.trim().is_empty());
        }
    }
}
