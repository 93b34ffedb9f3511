//! Whether a person would see text: what inline styles and old attributes say about it.

use super::css;
use super::token::Tag;

/// How text inside an element looks. Inherited, as in CSS.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Look {
    /// The element and all in it are not shown, whatever its children say.
    pub is_removed: bool,
    is_invisible: bool,
    /// Height of the letters in CSS pixels.
    font_size: f32,
    colour: Option<Colour>,
    background: Option<Colour>,
}

type Colour = [u8; 3];

const WHITE: Colour = [255; 3];

/// Pixels of text whose size nothing says.
const FONT_SIZE: f32 = 16.0;
/// Pixels below which letters and boxes are too small to see.
const TOO_SMALL: f32 = 2.0;
/// Pixels to the left or above from which on text is off the page.
const OFF_PAGE: f32 = -999.0;
/// Opacity below which text cannot be made out.
const TRANSPARENT: f32 = 0.1;

/// A page on white paper whose text has some colour that can be read.
impl Default for Look {
    fn default() -> Self {
        Self {
            is_removed: false,
            is_invisible: false,
            font_size: FONT_SIZE,
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
        self.is_removed || self.is_invisible || self.font_size < TOO_SMALL || is_blended
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
        if tag.name.eq_ignore_ascii_case("font") && tag.attribute("size").is_some() {
            self.font_size = FONT_SIZE;
        }
        self.is_removed |= tag.attribute("hidden").is_some();
        if let Some(style) = tag.attribute("style") {
            self.apply(style);
        }
        self
    }

    fn apply(&mut self, style: &str) {
        let style = css::plain(&super::entity::decode(style));
        let mut shape = Shape::default();
        // What is important wins, wherever it stands.
        for pass in [false, true] {
            for (property, value, is_important) in css::declarations(&style) {
                if is_important == pass {
                    self.declare(property, value, &mut shape);
                }
            }
        }
        self.is_removed |= shape.is_removed();
    }

    fn declare(&mut self, property: &str, value: &str, shape: &mut Shape) {
        let pixels = || css::pixels(value, self.font_size);
        match property {
            "visibility" if value != "inherit" => {
                self.is_invisible = matches!(value, "hidden" | "collapse");
            }
            "font-size" => self.font_size = font_size(value, self.font_size),
            "font" => {
                // In `12px/0` the second number is the height of the line; a number without unit is a weight.
                let mut sizes = value.split(' ').filter_map(|part| part.split('/').next());
                if let Some(size) = sizes.find(|size| css::is_length(size)) {
                    self.font_size = font_size(size, self.font_size);
                }
            }
            "color" | "-webkit-text-fill-color" if value != "inherit" => {
                self.colour = colour(value).or(self.background.filter(|_| value == "transparent"));
            }
            "background" | "background-color" | "background-image"
                if !matches!(value, "transparent" | "none" | "inherit" | "initial") =>
            {
                self.background = colour(value)
                    .or_else(|| value.split(' ').find_map(colour))
                    .filter(|_| !value.contains("url("));
            }
            "display" => shape.is_displayed = value != "none",
            "mso-hide" => shape.is_hidden_in_outlook = value == "all",
            "opacity" => shape.opacity = css::number(value).unwrap_or(shape.opacity),
            "overflow" | "overflow-x" | "overflow-y" => shape.is_clipped = matches!(value, "hidden" | "clip"),
            "max-height" | "height" | "max-width" | "width" => {
                shape.has_no_extent |= pixels().is_some_and(|pixels| pixels < TOO_SMALL);
            }
            "position" => shape.is_positioned = matches!(value, "absolute" | "fixed" | "relative"),
            "left" | "top" | "right" | "bottom" => {
                shape.is_offset |= pixels().is_some_and(|pixels| pixels <= OFF_PAGE);
            }
            "text-indent" | "margin-left" | "margin-top" | "margin" => {
                shape.is_off_page |= value
                    .split(' ')
                    .any(|part| css::pixels(part, self.font_size).is_some_and(|at| at <= OFF_PAGE));
            }
            "clip" | "clip-path" => shape.is_cut_away = is_cut_away(value),
            _ => {}
        }
    }
}

/// What the declarations of one element say together about its box. Not inherited.
struct Shape {
    is_displayed: bool,
    is_hidden_in_outlook: bool,
    opacity: f32,
    is_clipped: bool,
    has_no_extent: bool,
    is_positioned: bool,
    is_offset: bool,
    is_off_page: bool,
    is_cut_away: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            is_displayed: true,
            is_hidden_in_outlook: false,
            opacity: 1.0,
            is_clipped: false,
            has_no_extent: false,
            is_positioned: false,
            is_offset: false,
            is_off_page: false,
            is_cut_away: false,
        }
    }
}

impl Shape {
    fn is_removed(&self) -> bool {
        !self.is_displayed
            || self.is_hidden_in_outlook
            || self.opacity < TRANSPARENT
            || (self.is_clipped && self.has_no_extent)
            || (self.is_positioned && self.is_offset)
            || self.is_off_page
            || self.is_cut_away
    }
}

/// Pixels of a `font-size` inside an element of size `inherited`.
fn font_size(value: &str, inherited: f32) -> f32 {
    match value {
        "smaller" | "larger" | "inherit" | "unset" => inherited,
        _ => css::pixels(value, inherited).unwrap_or(FONT_SIZE),
    }
}

/// A rectangle whose edges meet, or an inset or circle that leaves nothing.
fn is_cut_away(value: &str) -> bool {
    let Some((shape, arguments)) = value.split_once('(') else { return false };
    let mut lengths = arguments.trim_end_matches(')').split([',', ' ']).filter(|part| !part.is_empty());
    match shape {
        "rect" => lengths.all(|length| css::pixels(length, FONT_SIZE).is_some_and(|edge| edge < TOO_SMALL)),
        "inset" => lengths.next().is_some_and(|length| {
            length.strip_suffix('%').and_then(css::number).is_some_and(|percent| percent >= 50.0)
        }),
        "circle" => lengths.next().and_then(css::number) == Some(0.0),
        _ => false,
    }
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
