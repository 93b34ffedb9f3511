//! The language of what people read: Chinese by default, English by configuration.

use serde::Deserialize;

/// The `language` of a section of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum Language {
    /// Simplified Chinese.
    #[default]
    #[serde(rename = "zh-CN")]
    Chinese,
    /// English.
    #[serde(rename = "en")]
    English,
}

impl Language {
    /// The one of two texts that is in this language.
    pub fn pick<T>(self, chinese: T, english: T) -> T {
        match self {
            Self::Chinese => chinese,
            Self::English => english,
        }
    }
}
