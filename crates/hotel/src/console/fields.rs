//! The fields of a form or of a query, as a browser sends them.

/// Names and values in their order.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads `application/x-www-form-urlencoded`; what is not UTF-8 becomes the replacement character.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        Self(form_urlencoded::parse(bytes).into_owned().collect())
    }

    /// The value of a field, without the blanks around it; an absent one is empty.
    pub(super) fn text(&self, name: &str) -> &str {
        self.exact(name).trim()
    }

    /// All fields in their order.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of a field as it was typed; an absent one is empty.
    pub(super) fn exact(&self, name: &str) -> &str {
        self.0.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value)
    }
}

impl FromIterator<(String, String)> for Fields {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

/// A path of the console to go on to, with its query; anything else would lead out of it.
pub(super) fn path_inside(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("/console/")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./?=&%+~".contains(&byte);
    let climbs = inside.starts_with('/') || inside.contains("//") || inside.contains("..");
    (text.len() <= 2_048 && inside.bytes().all(plain) && !climbs).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_decoded_and_the_first_of_its_name_counts() {
        let fields = Fields::parse("name=%E7%8E%8B+%E8%8A%B3&x=+a%26b+&x=2&broken=%ff%".as_bytes());
        assert_eq!(fields.text("name"), "王 芳");
        assert_eq!((fields.text("x"), fields.exact("x")), ("a&b", " a&b "));
        assert_eq!((fields.text("broken"), fields.text("none")), ("\u{FFFD}%", ""));
    }

    #[test]
    fn only_a_path_of_the_console_is_gone_on_to() {
        for good in ["/console/tasks", "/console/tasks/7?status=DONE&agency=%E7%8E%8B"] {
            assert_eq!(path_inside(good), Some(good));
        }
        for bad in [
            "",
            "/",
            "/mcp",
            "//evil.example/console/",
            "https://evil.example/console/tasks",
            "/console//evil.example",
            "/console/../mcp",
            "/console/\\evil.example",
            "/console/a\r\nSet-Cookie:x=y",
            "/console/a b",
        ] {
            assert_eq!(path_inside(bad), None, "{bad}");
        }
    }
}
