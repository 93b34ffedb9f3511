//! Content-Transfer-Encoding (RFC 2045 section 6), decoded leniently: a damaged part gives what can be read.

use std::borrow::Cow;

use mail_parser::decoders::base64::base64_decode;

/// Decodes a part body. An unknown encoding means the bytes as they are.
pub(super) fn decode<'a>(encoding: &str, body: &'a [u8]) -> Cow<'a, [u8]> {
    let name = encoding.trim().split([';', ' ', '(']).next().unwrap_or_default();
    if name.eq_ignore_ascii_case("base64") {
        base64(body).map_or(Cow::Borrowed(body), Cow::Owned)
    } else if name.eq_ignore_ascii_case("quoted-printable") {
        Cow::Owned(quoted_printable(body))
    } else {
        Cow::Borrowed(body)
    }
}

/// Base64 with foreign characters ignored; `None` when so many are foreign that it is some other text.
pub(super) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let visible = text.iter().filter(|byte| !byte.is_ascii_whitespace()).count();
    let alphabet: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
        .collect();
    if (visible - alphabet.len()) * 10 > visible {
        return None;
    }
    base64_decode(&alphabet)
}

/// Quoted-printable with invalid escapes kept as they stand.
pub(super) fn quoted_printable(text: &[u8]) -> Vec<u8> {
    let mut output = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let content = line.trim_ascii_end();
        let soft_break = content.last() == Some(&b'=');
        let content = if soft_break { &content[..content.len() - 1] } else { content };
        output.extend(unescape(b'=', content));
        if !soft_break {
            // Space at the end of a last line without a line end is content.
            output.extend_from_slice(if line.ends_with(b"\n") { b"\n" } else { &line[content.len()..] });
        }
    }
    output
}

/// Replaces each `mark` and two hexadecimal digits by the byte they stand for; a mark without digits stays.
pub(super) fn unescape(mark: u8, text: &[u8]) -> Vec<u8> {
    let mut output = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = (byte == mark).then(|| after.first_chunk().copied().and_then(hexadecimal)).flatten();
        output.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    output
}

fn hexadecimal(digits: [u8; 2]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
    Some(digit(digits[0])? << 4 | digit(digits[1])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_survives_noise_and_joined_blocks() {
        assert_eq!(decode("Base64", b"aGVs\r\nbG8=!d29y\nbGQ=\n").as_ref(), b"helloworld");
    }

    #[test]
    fn text_that_only_claims_to_be_base64_stays_text() {
        let text = b"Dear team, please see below: (1) two rooms; (2) breakfast.";
        assert_eq!(decode("base64", text).as_ref(), text);
    }

    #[test]
    fn quoted_printable_joins_soft_breaks_and_keeps_bad_escapes() {
        assert_eq!(quoted_printable(b"a=E4=B8=\r\n=AD =ZZ 100%=\n!  \r\nb"), "a中 =ZZ 100%!\nb".as_bytes());
    }
}
