//! As much of the syntax of style attributes as it takes to know what they hide (CSS Syntax Level 3).

/// The style in lower case without comments and strings, its escapes decoded, and with a semicolon only between
/// declarations.
pub(super) fn plain(style: &str) -> String {
    let mut output = String::with_capacity(style.len());
    let mut rest = style;
    let mut depth = 0_usize;
    while let Some(character) = rest.chars().next() {
        let after = &rest[character.len_utf8()..];
        rest = match character {
            '/' if after.starts_with('*') => after[1..].split_once("*/").map_or("", |(_, after)| after),
            '\\' => {
                let (escaped, after) = unescape(after);
                output.push(escaped);
                after
            }
            '"' | '\'' => after.split_once(character).map_or("", |(_, after)| after),
            ';' if depth > 0 => after,
            _ => {
                match character {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                output.push(character.to_ascii_lowercase());
                after
            }
        };
    }
    output
}

/// Property, value, and whether it is marked as important, of each declaration of a [`plain`] style.
pub(super) fn declarations(style: &str) -> impl Iterator<Item = (&str, &str, bool)> {
    style.split(';').filter_map(|declaration| {
        let (property, value) = declaration.split_once(':')?;
        let (value, mark) = value.split_once('!').unwrap_or((value, ""));
        Some((property.trim(), value.trim(), mark.trim() == "important"))
    })
}

/// Pixels of a length, a percentage or a bare number, which old pages mean as pixels. `font_size` is the size in
/// pixels that relative units refer to.
pub(super) fn pixels(value: &str, font_size: f32) -> Option<f32> {
    let (number, unit) = split_unit(value)?;
    let pixels_per_unit = match unit {
        "" | "px" => 1.0,
        "pt" => 4.0 / 3.0,
        "pc" | "rem" | "lh" => 16.0,
        "in" => 96.0,
        "cm" => 96.0 / 2.54,
        "mm" => 96.0 / 25.4,
        "em" => font_size,
        "ex" | "ch" => font_size / 2.0,
        "%" => font_size / 100.0,
        // Of a window of some 1000 pixels.
        "vw" | "vh" | "vmin" | "vmax" => 10.0,
        _ => return None,
    };
    Some(number * pixels_per_unit)
}

/// Whether it is a number with a unit, or zero.
pub(super) fn is_length(value: &str) -> bool {
    split_unit(value).is_some_and(|(number, unit)| !unit.is_empty() || number == 0.0)
}

/// A number without unit, or a percentage as a fraction of one.
pub(super) fn number(value: &str) -> Option<f32> {
    match split_unit(value)? {
        (number, "") => Some(number),
        (number, "%") => Some(number / 100.0),
        _ => None,
    }
}

fn split_unit(value: &str) -> Option<(f32, &str)> {
    let number =
        value.trim_end_matches(|character: char| character.is_ascii_alphabetic() || character == '%');
    Some((number.trim().parse().ok()?, &value[number.len()..]))
}

/// The character that an escape stands for, and what follows it. Only a letter, digit or hyphen can be part of a
/// name that hides something; any other stays out of the syntax.
fn unescape(after: &str) -> (char, &str) {
    let digits = after.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
    let (character, rest) = if digits > 0 {
        let code = u32::from_str_radix(&after[..digits], 16).ok().and_then(char::from_u32);
        let rest = &after[digits..];
        (code, rest.strip_prefix(|character: char| character.is_ascii_whitespace()).unwrap_or(rest))
    } else {
        let mut characters = after.chars();
        (characters.next(), characters.as_str())
    };
    let in_name = |character: &char| character.is_ascii_alphanumeric() || *character == '-';
    (character.filter(in_name).map_or('\u{FFFD}', |character| character.to_ascii_lowercase()), rest)
}
