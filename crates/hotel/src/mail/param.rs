//! Values with parameters: Content-Type and Content-Disposition, with RFC 2231 continuations and charsets.

use super::{charset, header, transfer};

/// More parameters than any real field has; the rest is ignored so that a field costs linear time.
const MAX_PARAMETERS: usize = 100;

/// `value; name=value; …`
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parameterised {
    /// The value before the first semicolon, in lower case, without comments.
    pub value: String,
    parameters: Vec<(String, String)>,
}

/// One piece of a parameter as it stands in the field: `name*section*=value`.
struct Piece {
    name: String,
    section: u32,
    is_encoded: bool,
    value: Vec<u8>,
}

impl Parameterised {
    /// Reads an unfolded field value. Damaged parameters are skipped.
    pub fn parse(field: &[u8]) -> Self {
        let mut items = split_outside_quotes(field).into_iter();
        let value = items.next().unwrap_or_default();
        let value = value.split(|byte| *byte == b'(').next().unwrap_or_default();
        let value = String::from_utf8_lossy(value.trim_ascii()).to_ascii_lowercase();

        let mut pieces: Vec<Piece> = items.take(MAX_PARAMETERS).filter_map(piece).collect();
        pieces.sort_by(|left, right| (&left.name, left.section).cmp(&(&right.name, right.section)));
        let parameters = pieces
            .chunk_by(|left, right| left.name == right.name)
            .map(|run| (run[0].name.clone(), join(run)))
            .collect();
        Self { value, parameters }
    }

    /// A parameter by its lower-case name.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

fn split_outside_quotes(field: &[u8]) -> Vec<&[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    field
        .split(|byte| {
            let ends = *byte == b';' && !quoted;
            if *byte == b'"' && !escaped {
                quoted = !quoted;
            }
            escaped = *byte == b'\\' && quoted && !escaped;
            ends
        })
        .collect()
}

fn piece(item: &[u8]) -> Option<Piece> {
    let equals = item.iter().position(|byte| *byte == b'=')?;
    let name = String::from_utf8_lossy(item[..equals].trim_ascii()).to_ascii_lowercase();
    let mut parts = name.split('*');
    let base = parts.next().filter(|base| !base.is_empty())?.to_owned();
    let section = parts.next().unwrap_or_default().parse().unwrap_or(0);
    let is_encoded = name.ends_with('*');
    Some(Piece { name: base, section, is_encoded, value: unquote(item[equals + 1..].trim_ascii()) })
}

fn unquote(value: &[u8]) -> Vec<u8> {
    let Some(inner) = value.strip_prefix(b"\"") else { return value.to_vec() };
    let mut output = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'"' => break,
            // Windows paths are quoted without doubling their backslashes, so only a quoted mark is unescaped.
            b'\\' if matches!(bytes.as_slice().first(), Some(b'"' | b'\\')) => output.extend(bytes.next()),
            b'\r' | b'\n' => {}
            _ => output.push(byte),
        }
    }
    output
}

/// Joins the sections of one parameter. The charset named in the first holds for all; without one the value is
/// RFC 2047 text, as most senders write it.
fn join(pieces: &[Piece]) -> String {
    // A name given both plainly and encoded is taken encoded (RFC 6266 section 4.3).
    let Some(first) = pieces.iter().find(|piece| piece.is_encoded) else {
        let continued = pieces.iter().enumerate().take_while(|(at, piece)| piece.section as usize == *at);
        let joined: Vec<u8> = continued.flat_map(|(_, piece)| piece.value.iter().copied()).collect();
        return header::decode_words(if joined.is_empty() { &pieces[0].value } else { &joined });
    };
    let mut label = String::new();
    let mut bytes = Vec::new();
    let sections = pieces.iter().filter(|piece| piece.is_encoded || piece.section > 0);
    for (_, piece) in
        (first.section..).zip(sections).take_while(|(expected, piece)| piece.section == *expected)
    {
        let mut value = piece.value.as_slice();
        if piece.is_encoded && piece.section == first.section {
            let mut marks = value.splitn(3, |byte| *byte == b'\'');
            if let (Some(charset), Some(_language), Some(text)) = (marks.next(), marks.next(), marks.next()) {
                label = String::from_utf8_lossy(charset).into_owned();
                value = text;
            }
        }
        if piece.is_encoded {
            bytes.extend(transfer::unescape(b'%', value));
        } else {
            bytes.extend_from_slice(value);
        }
    }
    charset::decode(&label, &bytes).text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(field: &str, name: &str) -> Option<String> {
        Parameterised::parse(field.as_bytes()).parameter(name).map(str::to_owned)
    }

    #[test]
    fn the_value_is_lower_case_without_comment_or_parameters() {
        assert_eq!(Parameterised::parse(b" Text/HTML (web) ; charset=x").value, "text/html");
    }

    #[test]
    fn semicolons_and_escapes_inside_quotes_belong_to_the_value() {
        assert_eq!(parameter(r#"a/b; name="x;\"y\".pdf""#, "name").unwrap(), "x;\"y\".pdf");
        assert_eq!(parameter(r#"a/b; name="C:\temp\list.xls""#, "name").unwrap(), r"C:\temp\list.xls");
    }

    #[test]
    fn the_charset_of_the_first_section_holds_for_all() {
        let field = "attachment; filename*1*=%AF.pdf; filename*0*=gb2312''%C8%B7%C8%CF%BA; filename=x.pdf";
        assert_eq!(parameter(field, "filename").unwrap(), "确认函.pdf");
    }

    #[test]
    fn plain_sections_are_joined_in_order() {
        assert_eq!(parameter("a/b; name*1=\"ing.xls\"; name*0=\"room\"", "name").unwrap(), "rooming.xls");
    }

    #[test]
    fn an_encoded_word_as_a_parameter_is_read() {
        assert_eq!(parameter("a/b; name=\"=?utf-8?B?5Lit5paHLnBkZg==?=\"", "name").unwrap(), "中文.pdf");
    }
}
