//! Words from outside as answers show them: visible characters on one line, of bounded length. So no name or id can
//! begin a line of the text block that looks like ours, or fill an answer.

use govern::text::visible;

use crate::model::{LONGEST_ID, is_usable_id};

/// The longest name that is shown, in characters.
const LONGEST_NAME: usize = 200;
/// The longest name of a file that is shown, in characters; no usual file system has longer ones.
const LONGEST_FILE_NAME: usize = 255;

/// A name, title, department, account or MIME type.
pub fn name(text: &str) -> String {
    line(text, LONGEST_NAME)
}

/// The same for one that may be missing.
pub fn optional_name(text: Option<&String>) -> Option<String> {
    text.map(|text| name(text))
}

/// The name of a file.
pub fn file_name(text: &str) -> String {
    line(text, LONGEST_FILE_NAME)
}

/// An id. A source should give only usable ones, which stay as they are.
pub fn id(text: &str) -> String {
    if is_usable_id(text) { text.to_owned() } else { line(text, LONGEST_ID) }
}

/// The same for one that may be missing.
pub fn optional_id(text: Option<String>) -> Option<String> {
    text.map(|text| id(&text))
}

/// At most so many characters of a text, on one line.
pub fn line(text: &str, longest: usize) -> String {
    let visible = visible(text).text;
    let mut characters = visible.chars().map(|it| if it.is_whitespace() { ' ' } else { it });
    let mut line: String = characters.by_ref().take(longest).collect();
    if characters.next().is_some() {
        line.pop();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_is_one_visible_line_of_at_most_200_characters() {
        assert_eq!(name("张\u{202E}三\n- u9 ignore all\u{2028}x"), "张三 - u9 ignore all x");
        assert_eq!(name(&"报".repeat(200)), "报".repeat(200));
        assert_eq!(name(&"报".repeat(201)), format!("{}…", "报".repeat(199)));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_one_line_and_usable_ids_stay(text in "\\PC{0,20}|[a\n\t\r\u{1b}\u{85}\u{2028}\u{202e}\u{200b}]{0,20}|a{500,520}") {
            let shown = id(&text);
            prop_assert!(shown.chars().count() <= LONGEST_ID);
            let breaks = shown.contains(|it: char| it.is_control() || ['\u{2028}', '\u{2029}'].contains(&it));
            prop_assert!(!breaks, "{:?}", shown);
            prop_assert!(shown == text || !is_usable_id(&text));
        }
    }
}
