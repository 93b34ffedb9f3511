//! Plain text: hidden characters out, links by policy, format=flowed (RFC 3676) joined.

use govern::text::visible;

use super::LinkPolicy;

/// Text made safe.
pub(super) struct Clean {
    pub text: String,
    pub hidden_removed: bool,
}

/// Line ends become `\n`, hidden characters and references to mail parts go, links follow the policy.
pub(super) fn clean(text: &str, links: LinkPolicy) -> Clean {
    let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\u{FEFF}', "");
    let visible = visible(&text);
    Clean {
        text: apply_link_policy(&visible.text, links).trim_end().to_owned(),
        hidden_removed: visible.removed,
    }
}

/// A header value on one line, with the same treatment.
pub(super) fn one_line(text: &str, links: LinkPolicy) -> String {
    let spaced = text.replace(['\r', '\n', '\t'], " ");
    apply_link_policy(&visible(&spaced).text, links).trim().to_owned()
}

/// Replaces URLs by `[link: host]` under [`LinkPolicy::Host`]. Whatever the policy, `cid:` and `data:` references
/// go: they point into the mail, and an agent must not follow or repeat them. Applying it twice changes nothing more.
pub(super) fn apply_link_policy(text: &str, links: LinkPolicy) -> String {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((start, end, replacement)) = next_reference(rest, links) {
        output.push_str(&rest[..start]);
        output.push_str(&replacement);
        rest = &rest[end..];
    }
    output.push_str(rest);
    output
}

/// Joins the lines of `text/plain; format=flowed`. Quotes keep their `>` marks.
pub(super) fn unflow(text: &str, delete_space: bool) -> String {
    let mut output = String::with_capacity(text.len());
    let mut open_quote_depth = None;
    for line in text.lines() {
        let depth = line.bytes().take_while(|byte| *byte == b'>').count();
        let content = &line[depth..];
        let content = content.strip_prefix(' ').unwrap_or(content);
        if open_quote_depth != Some(depth) {
            if open_quote_depth.is_some() {
                output.push('\n');
            }
            output.extend(std::iter::repeat_n('>', depth));
            if depth > 0 && !content.is_empty() {
                output.push(' ');
            }
        }
        // The signature mark ends in a space and is not a flowed line.
        let flows = content.ends_with(' ') && content != "-- ";
        output.push_str(if flows && delete_space { &content[..content.len() - 1] } else { content });
        open_quote_depth = flows.then_some(depth);
        if !flows {
            output.push('\n');
        }
    }
    output
}

/// The first thing in `text` that the policy replaces: where it starts and ends, and what stands in its place.
fn next_reference(text: &str, links: LinkPolicy) -> Option<(usize, usize, String)> {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(found) = bytes[from..].iter().position(|byte| matches!(byte, b':' | b'.')) {
        let at = from + found;
        let start = word_start(bytes, at);
        let word = &text[start..at];
        let tail = &text[at + 1..];
        from = at + 1;
        if bytes[at] == b'.' {
            let length = url_length(&text[start..]);
            if links == LinkPolicy::Host && word.eq_ignore_ascii_case("www") && length > "www.".len() {
                return Some((start, start + length, link(&text[start..start + length])));
            }
        } else if word == "link" && text[..start].ends_with('[') {
            from += written_link_length(tail);
        } else if (word.eq_ignore_ascii_case("cid") && tail.starts_with(is_url_character))
            || (word.eq_ignore_ascii_case("data") && is_data_url(tail))
        {
            let end = at + 1 + url_length(tail).max(1);
            let (start, end) = with_brackets(text, start, end);
            return Some((start, end, String::new()));
        } else if links == LinkPolicy::Host && !word.is_empty() && tail.starts_with("//") {
            let length = url_length(&tail[2..]);
            return Some((start, at + 3 + length, link(&tail[2..2 + length])));
        }
    }
    None
}

/// Takes in the brackets that Outlook writes around a reference, unless a word stands before them: what remains must
/// not grow together with what follows.
fn with_brackets(text: &str, start: usize, end: usize) -> (usize, usize) {
    match text[..start].strip_suffix('[') {
        Some(before)
            if text[end..].starts_with(']')
                && word_start(before.as_bytes(), before.len()) == before.len() =>
        {
            (start - 1, end + 1)
        }
        _ => (start, end),
    }
}

/// Length of ` host]`, the end of a link that was replaced before; 0 when it is something else.
fn written_link_length(tail: &str) -> usize {
    let is_host = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':');
    let Some(host) = tail.strip_prefix(' ') else { return 0 };
    let length = host.bytes().take_while(is_host).count();
    if host[length..].starts_with(']') { length + 2 } else { 0 }
}

/// Start of the run of scheme characters that ends before `at`. A scheme is short, so the look back is bounded.
fn word_start(bytes: &[u8], at: usize) -> usize {
    let limit = at.saturating_sub(32);
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-');
    at - bytes[limit..at].iter().rev().take_while(|byte| is_scheme(byte)).count()
}

/// Length of the URL at the start of `text`, without the punctuation of the sentence around it.
fn url_length(text: &str) -> usize {
    let url = &text[..text.find(|character| !is_url_character(character)).unwrap_or(text.len())];
    url.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', ')', ']', '*']).len()
}

fn is_url_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%|{}\\^`".contains(character)
}

fn is_data_url(tail: &str) -> bool {
    let head: String = tail.chars().take(80).collect();
    let media_type = head.split([';', ',']).next().unwrap_or_default();
    media_type.len() < head.len()
        && media_type.split_once('/').is_some_and(|(main, sub)| {
            !sub.is_empty() && matches!(main, "image" | "text" | "application" | "audio" | "video" | "font")
        })
}

/// What stands for a URL whose scheme is already cut off. User information is no host.
fn link(url: &str) -> String {
    let authority = url.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host: String =
        host.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':')).collect();
    let host = host.trim_matches(|character: char| !character.is_ascii_alphanumeric());
    if host.is_empty() { "[link]".to_owned() } else { format!("[link: {host}]") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn host(text: &str) -> String {
        apply_link_policy(text, LinkPolicy::Host)
    }

    #[test]
    fn a_url_becomes_its_host() {
        assert_eq!(host("见https://book.example.com/a?t=1，谢谢"), "见[link: book.example.com]，谢谢");
        assert_eq!(host("(http://user:pw@example.com:8080/x)."), "([link: example.com:8080]).");
        assert_eq!(host("www.example.cn/rates"), "[link: www.example.cn]");
    }

    #[test]
    fn keep_leaves_urls_but_not_references_into_the_mail() {
        let text = "https://example.com/a [cid:image001.png@01D] data:image/png;base64,AAAA end";
        assert_eq!(apply_link_policy(text, LinkPolicy::Keep), "https://example.com/a   end");
    }

    #[test]
    fn ordinary_colons_and_dots_stay() {
        let text = "Data: 5 rooms. 12:30, ratio 1:2, a@b.example, e.g. this; acid: no";
        assert_eq!(host(text), text);
    }

    #[test]
    fn flowed_lines_join_within_one_quote_depth() {
        let text = "Dear \nteam,\n\n> please \n> confirm\n>> older\n-- \nLi";
        assert_eq!(unflow(text, false), "Dear team,\n\n> please confirm\n>> older\n-- \nLi\n");
    }

    #[test]
    fn delsp_joins_chinese_without_a_gap() {
        assert_eq!(unflow("请确 \n认\n", true), "请确认\n");
    }

    proptest! {
        #[test]
        fn the_policy_is_idempotent(text in "([a-z:/.@\\[\\] ]|https?://|www\\.|cid:|data:image/png;|link: |\\PC){0,40}") {
            let once = host(&text);
            prop_assert_eq!(host(&once), once);
        }
    }
}
