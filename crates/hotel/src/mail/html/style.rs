//! Whether a person would see text: what inline styles and old attributes say about it.

use super::token::Tag;

/// How text inside an element looks. Inherited, as in CSS.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Look {
    /// The element and all in it are not shown, whatever its children say.
    pub is_removed: bool,
    is_invisible: bool,
    has_no_size: bool,
    colour: Option<Colour>,
    background: Option<Colour>,
}

type Colour = [u8; 3];

const WHITE: Colour = [255; 3];

/// A page on white paper whose text has some colour that can be read.
impl Default for Look {
    fn default() -> Self {
        Self {
            is_removed: false,
            is_invisible: false,
            has_no_size: false,
            colour: None,
            background: Some(WHITE),
        }
    }
}

impl Look {
    /// Text with this look is not seen.
    pub fn hides_text(self) -> bool {
        let is_blended =
            matches!((self.colour, self.background), (Some(text), Some(paper)) if is_alike(text, paper));
        self.is_removed || self.is_invisible || self.has_no_size || is_blended
    }

    /// The look inside `tag`, itself inside an element that looks like `self`.
    pub fn within(mut self, tag: &Tag, has_style_sheet: bool) -> Self {
        // A style sheet may set a background for a class; then white text may well be readable and is kept.
        if has_style_sheet && (tag.attribute("class").is_some() || tag.attribute("id").is_some()) {
            self.background = None;
        }
        if tag.attribute("background").is_some() {
            self.background = None;
        }
        if let Some(value) = tag.attribute("bgcolor") {
            self.background = colour(&value.to_ascii_lowercase());
        }
        if let Some(value) = tag.attribute("color") {
            self.colour = colour(&value.to_ascii_lowercase());
        }
        self.is_removed |= tag.attribute("hidden").is_some();
        if let Some(style) = tag.attribute("style") {
            self.apply(style);
        }
        self
    }

    fn apply(&mut self, style: &str) {
        let style = without_comments(&super::entity::decode(style)).to_ascii_lowercase();
        let (mut is_displayed, mut is_opaque, mut is_clipped, mut has_no_extent) = (true, true, false, false);
        for declaration in style.split(';') {
            let Some((property, value)) = declaration.split_once(':') else { continue };
            let value = value.replace("!important", "");
            let value = value.trim();
            match property.trim() {
                "display" => is_displayed = value != "none",
                "visibility" => self.is_invisible = matches!(value, "hidden" | "collapse"),
                "opacity" => is_opaque = !is_zero(value),
                "font-size" => self.has_no_size = is_zero(value) || matches!(value, "1px" | "1pt"),
                "font" => {
                    // In `12px/0` the second number is the height of the line.
                    self.has_no_size =
                        value.split(' ').any(|part| is_zero(part.split('/').next().unwrap_or_default()));
                }
                "overflow" => is_clipped = value == "hidden",
                "max-height" | "height" | "max-width" | "width" => has_no_extent |= is_zero(value),
                "color" if value != "inherit" => {
                    self.colour = colour(value).or(self.background.filter(|_| value == "transparent"));
                }
                "background" | "background-color" | "background-image"
                    if !matches!(value, "transparent" | "none" | "inherit" | "initial") =>
                {
                    self.background = colour(value)
                        .or_else(|| value.split(' ').find_map(colour))
                        .filter(|_| !value.contains("url("));
                }
                _ => {}
            }
        }
        self.is_removed |= !is_displayed || !is_opaque || (is_clipped && has_no_extent);
    }
}

/// A length of nothing, in whatever unit.
fn is_zero(value: &str) -> bool {
    let number = value
        .trim_end_matches(|character: char| character.is_ascii_alphabetic() || character == '%')
        .trim_end();
    !number.is_empty() && number.parse::<f32>().is_ok_and(|number| number.abs() < 0.01)
}

/// Colours that no eye tells apart.
fn is_alike(one: Colour, other: Colour) -> bool {
    one.iter().zip(other).all(|(one, other)| one.abs_diff(other) <= 24)
}

fn colour(value: &str) -> Option<Colour> {
    let value = value.trim();
    if let Some(digits) = value.strip_prefix('#') {
        return hexadecimal(digits);
    }
    if let Some(arguments) = value.strip_prefix("rgb(").or_else(|| value.strip_prefix("rgba(")) {
        let numbers: Vec<f32> = arguments
            .split(')')
            .next()
            .unwrap_or_default()
            .split([',', ' ', '/'])
            .filter(|number| !number.is_empty())
            .map_while(|number| number.parse().ok())
            .collect();
        return match *numbers.as_slice() {
            // Nothing of a fully transparent colour is seen.
            [_, _, _, 0.0] => None,
            [red, green, blue] | [red, green, blue, _] => Some([red, green, blue].map(channel)),
            _ => None,
        };
    }
    match value {
        "white" | "window" => Some(WHITE),
        "snow" | "ghostwhite" | "floralwhite" => Some([252, 252, 250]),
        "whitesmoke" => Some([245; 3]),
        "black" | "windowtext" => Some([0; 3]),
        "red" => Some([255, 0, 0]),
        "blue" => Some([0, 0, 255]),
        "green" => Some([0, 128, 0]),
        "yellow" => Some([255, 255, 0]),
        "gray" | "grey" => Some([128; 3]),
        "silver" => Some([192; 3]),
        // Old attributes leave the mark out.
        _ if value.len() == 6 => hexadecimal(value),
        _ => None,
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range of a byte")]
fn channel(value: f32) -> u8 {
    value.clamp(0.0, 255.0) as u8
}

fn hexadecimal(digits: &str) -> Option<Colour> {
    let digits: Vec<u8> = digits
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    match *digits.as_slice() {
        [red, green, blue] | [red, green, blue, _] => Some([red * 17, green * 17, blue * 17]),
        [r1, r0, g1, g0, b1, b0] | [r1, r0, g1, g0, b1, b0, _, _] => {
            Some([r1 * 16 + r0, g1 * 16 + g0, b1 * 16 + b0])
        }
        _ => None,
    }
}

fn without_comments(style: &str) -> String {
    let mut output = String::with_capacity(style.len());
    let mut pieces = style.split("/*");
    output.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        output.push_str(piece.split_once("*/").map_or("", |(_, after)| after));
    }
    output
}
