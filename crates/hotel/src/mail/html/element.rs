//! What each element of HTML means here, by its name in any case.

/// The tag written for an element; `None` when its content stands without it.
pub(super) fn written_as(name: &str) -> Option<&'static str> {
    const WRITTEN: &[(&str, &str)] = &[
        ("p", "p"),
        ("div", "div"),
        ("br", "br"),
        ("hr", "hr"),
        ("table", "table"),
        ("caption", "caption"),
        ("thead", "thead"),
        ("tbody", "tbody"),
        ("tfoot", "tfoot"),
        ("tr", "tr"),
        ("td", "td"),
        ("th", "th"),
        ("b", "b"),
        ("strong", "strong"),
        ("i", "i"),
        ("em", "em"),
        ("u", "u"),
        ("s", "s"),
        ("sub", "sub"),
        ("sup", "sup"),
        ("ul", "ul"),
        ("ol", "ol"),
        ("li", "li"),
        ("dl", "dl"),
        ("dt", "dt"),
        ("dd", "dd"),
        ("blockquote", "blockquote"),
        ("pre", "pre"),
        ("code", "code"),
        ("h1", "h1"),
        ("h2", "h2"),
        ("h3", "h3"),
        ("h4", "h4"),
        ("h5", "h5"),
        ("h6", "h6"),
        ("del", "s"),
        ("strike", "s"),
        ("ins", "u"),
        ("kbd", "code"),
        ("samp", "code"),
        ("tt", "code"),
        // Blocks whose only meaning here is that they begin on a line of their own.
        ("address", "div"),
        ("article", "div"),
        ("aside", "div"),
        ("center", "div"),
        ("details", "div"),
        ("fieldset", "div"),
        ("figcaption", "div"),
        ("figure", "div"),
        ("footer", "div"),
        ("form", "div"),
        ("header", "div"),
        ("legend", "div"),
        ("main", "div"),
        ("nav", "div"),
        ("section", "div"),
        ("summary", "div"),
    ];
    WRITTEN.iter().find(|(read, _)| name.eq_ignore_ascii_case(read)).map(|(_, written)| *written)
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|candidate| name.eq_ignore_ascii_case(candidate))
}

/// Elements whose content is not markup; it goes with them. Not `plaintext`, which has no end.
pub(super) fn is_raw_text(name: &str) -> bool {
    is_code(name) || is_one_of(name, &["title", "textarea", "xmp", "iframe", "noembed", "noframes"])
}

/// Raw text that no browser shows, not even when its end tag is missing.
pub(super) fn is_code(name: &str) -> bool {
    is_one_of(name, &["script", "style"])
}

/// Elements that go with the markup inside them. The head does too, but ends by itself.
pub(super) const DROPPED_WITH_CONTENT: [&str; 8] =
    ["noscript", "template", "object", "svg", "math", "select", "video", "audio"];

/// Elements whose start tag can be their end as well, as in XML.
pub(super) fn is_foreign(name: &str) -> bool {
    is_one_of(name, &["svg", "math"])
}

/// Elements of whose content a person sees nothing anywhere.
pub(super) fn is_never_shown(name: &str) -> bool {
    is_code(name) || is_one_of(name, &["title", "template"])
}

pub(super) fn is_allowed_in_head(name: &str) -> bool {
    is_one_of(
        name,
        &[
            "head", "title", "style", "script", "meta", "link", "base", "noscript", "template", "object",
            "basefont", "bgsound", "xml",
        ],
    ) || name.contains(':')
}

pub(super) fn is_void(name: &str) -> bool {
    is_one_of(
        name,
        &[
            "br", "hr", "img", "link", "meta", "base", "input", "col", "area", "embed", "source", "track",
            "wbr", "param", "frame",
        ],
    )
}

pub(super) fn is_block(written: &str) -> bool {
    is_one_of(
        written,
        &[
            "p",
            "div",
            "table",
            "ul",
            "ol",
            "dl",
            "blockquote",
            "pre",
            "hr",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
        ],
    )
}

pub(super) fn is_table_part(name: &str) -> bool {
    is_one_of(name, &["table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th", "body", "html"])
}

pub(super) fn is_cell_or_table(name: &str) -> bool {
    is_one_of(name, &["table", "td", "th", "caption"])
}
