//! The console's cookies: one for the session, or for who has none yet, and one for the language.

use axum::http::{HeaderMap, HeaderValue, header};
use govern::language::Language;

/// Holds the secret of the session; before the log-in a secret of its own, to which the log-in form is bound.
const SESSION: &str = "countersign";
const LANGUAGE: &str = "countersign-language";

/// The value of the session cookie. Of two under one name neither is taken: another host of the domain may have set
/// one of them.
pub(super) fn session(headers: &HeaderMap) -> Option<&str> {
    value(headers, SESSION)
}

/// The language that the visitor chose.
pub(super) fn language(headers: &HeaderMap) -> Option<Language> {
    value(headers, LANGUAGE).and_then(parse_language)
}

/// Reads the word of a language.
pub(super) fn parse_language(word: &str) -> Option<Language> {
    match word {
        "zh-CN" => Some(Language::Chinese),
        "en" => Some(Language::English),
        _ => None,
    }
}

/// Sets the session cookie until the browser closes; the server ends the session by its own clock.
pub(super) fn set_session(secret: &str, secure: bool) -> Option<HeaderValue> {
    set(SESSION, secret, "; HttpOnly", secure)
}

/// Removes the session cookie.
pub(super) fn remove_session(secure: bool) -> Option<HeaderValue> {
    set(SESSION, "", "; HttpOnly; Max-Age=0", secure)
}

/// Sets the language cookie for a year.
pub(super) fn set_language(language: Language, secure: bool) -> Option<HeaderValue> {
    set(LANGUAGE, language.pick("zh-CN", "en"), "; HttpOnly; Max-Age=31536000", secure)
}

fn set(name: &str, value: &str, attributes: &str, secure: bool) -> Option<HeaderValue> {
    let secure = if secure { "; Secure" } else { "" };
    let cookie = format!("{name}={value}; Path=/console; SameSite=Strict{attributes}{secure}");
    HeaderValue::from_str(&cookie).ok()
}

fn value<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(own, _)| *own == name).map(|(_, value)| value);
    match (values.next(), values.next()) {
        (Some(only), None) if !only.is_empty() => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[&'static str]) -> HeaderMap {
        lines.iter().map(|line| (header::COOKIE, HeaderValue::from_static(line))).collect()
    }

    #[test]
    fn a_cookie_is_read_among_others_and_not_when_it_is_double() {
        assert_eq!(session(&headers(&["a=b; countersign=cs_1; c=d"])), Some("cs_1"));
        assert_eq!(session(&headers(&["xcountersign=cs_1"])), None);
        assert_eq!(session(&headers(&["countersign=cs_1; countersign=cs_2"])), None);
        assert_eq!(session(&headers(&["countersign=cs_1", "countersign=cs_1"])), None);
        assert_eq!(session(&headers(&["countersign="])), None);
    }

    #[test]
    fn the_session_cookie_is_for_this_site_and_no_script_and_secure_when_tls_is_said() {
        for (secure, end) in [(false, "; HttpOnly"), (true, "; HttpOnly; Secure")] {
            let cookie = set_session("cs_1", secure).unwrap();
            let expected = format!("countersign=cs_1; Path=/console; SameSite=Strict{end}");
            assert_eq!(cookie.to_str().unwrap(), expected);
        }
    }

    #[test]
    fn an_unknown_language_is_none() {
        assert_eq!(language(&headers(&["countersign-language=en"])), Some(Language::English));
        assert_eq!(language(&headers(&["countersign-language=fr"])), None);
    }
}
