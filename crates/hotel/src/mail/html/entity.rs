//! Character references (HTML, "character reference state").

use std::borrow::Cow;

use encoding_rs::WINDOWS_1252;
use mail_parser::decoders::html::add_html_token;

/// The longest reference worth looking for.
const LONGEST: usize = 33;

/// Replaces character references by their characters. What is no reference stays.
pub(super) fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut output = String::with_capacity(text.len());
    let mut pieces = text.split('&');
    output.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let length = piece
            .bytes()
            .take(LONGEST)
            .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'#')
            .count();
        let (name, rest) = piece.split_at(length);
        let after = rest.strip_prefix(';');
        match character(name) {
            Some(character) => output.push(character),
            None if after.is_some() => add_html_token(&mut output, format!("&{name};").as_bytes(), false),
            None => {
                output.push('&');
                output.push_str(name);
            }
        }
        output.push_str(after.unwrap_or(rest));
    }
    Cow::Owned(output)
}

/// Numbers, and the names that count even without a semicolon.
fn character(name: &str) -> Option<char> {
    let Some(number) = name.strip_prefix('#') else {
        return match name {
            "nbsp" => Some('\u{A0}'),
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            _ => None,
        };
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16),
        None => number.parse(),
    };
    match code.ok()? {
        // Old programs number the punctuation of Windows-1252 as if it were Unicode.
        code @ 0x80..=0x9F => WINDOWS_1252.decode(&[u8::try_from(code).ok()?]).0.chars().next(),
        0 => Some(char::REPLACEMENT_CHARACTER),
        code => Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)),
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn references_are_replaced() {
        assert_eq!(
            decode("a&nbsp;b &lt;x&gt; &#20013;&#x6587; &#150; &eacute;&yen;"),
            "a\u{A0}b <x> 中文 – é¥"
        );
    }

    #[test]
    fn what_is_no_reference_stays() {
        assert_eq!(decode("R&D, a&b;c & &unknown; &#; &nbsp"), "R&D, a&b;c & &unknown; &#; \u{A0}");
    }
}
