//! Whether somebody is signed in, by what the window shows.

use super::profile::{Profile, is_kind};
use crate::helper::{Element, Window};
use crate::search::fold;
use crate::sources::SourceError;

/// What the button of a login form says, as [`plain`] writes it.
const LOGIN_LABELS: [&str; 10] =
    ["登录", "登陆", "登錄", "立即登录", "立即登陆", "安全登录", "安全登陆", "login", "logon", "signin"];
/// What a login form has none of.
const LISTS: [&str; 5] = ["List", "Tree", "DataGrid", "Table", "Document"];
/// What a login form is filled in with.
const FIELDS: [&str; 2] = ["Edit", "ComboBox"];

/// Whether the window is a login form. With `[login]` in the profile: whether that element is on the screen. Without: whether
/// there are a button that says so and a field to fill in, and no list, tree, table or document.
pub fn is_login_form(root: &Element, profile: Option<&Profile>) -> bool {
    let shown = || root.walk().filter(|element| !element.is_offscreen);
    if let Some(login) = profile.and_then(|profile| profile.login.as_ref()) {
        return shown().any(|element| login.matches(element));
    }
    let any_kind = |kinds: &[&str]| shown().any(|element| kinds.iter().any(|kind| is_kind(element, kind)));
    let button = shown().any(|element| is_kind(element, "Button") && is_login_label(&element.name));
    button && any_kind(&FIELDS) && !any_kind(&LISTS)
}

/// The client's window that the profile means: the only one of the candidates that it selects. Where it selects none, the only
/// candidate, which may be the login form. `None` when there is no choice to make.
pub fn choose(windows: &[Window], profile: Option<&Profile>) -> Result<Option<String>, SourceError> {
    let Some(selector) = profile.and_then(|profile| profile.window.as_ref()) else { return Ok(None) };
    let candidates: Vec<&Window> = windows.iter().filter(|window| window.is_candidate()).collect();
    let selected: Vec<&Window> =
        candidates.iter().copied().filter(|window| selector.matches(window)).collect();
    let unavailable =
        |message: &str| Err(SourceError::Unavailable { message: message.to_owned(), retryable: true });
    match (selected.as_slice(), candidates.as_slice()) {
        ([only], _) | ([], [only]) => Ok(Some(only.hwnd.clone())),
        ([], []) => unavailable("the client has no window on this desktop; start it and sign in"),
        ([], _) => unavailable(
            "none of the client's windows is the one that [window] of the selector profile selects; open it, or mend the profile",
        ),
        _ => unavailable(
            "[window] of the selector profile selects several windows; close all but one, or make it narrower",
        ),
    }
}

fn is_login_label(name: &str) -> bool {
    LOGIN_LABELS.contains(&plain(name).as_str())
}

/// A label as labels are compared: folded, without spaces, without `&`, without a shortcut in brackets and without `:`, `.` or `…`
/// at its end. The helper compares the labels of buttons in the same way.
fn plain(name: &str) -> String {
    let ends = [':', '：', '.', '…', '。'];
    let label: String =
        fold(name).chars().filter(|character| !character.is_whitespace() && *character != '&').collect();
    let label = label.trim_end_matches(ends);
    let without_shortcut = ['(', '（'].into_iter().find_map(|bracket| {
        let (label, shortcut) = label.rsplit_once(bracket)?;
        let key = shortcut.strip_suffix([')', '）'])?;
        (key.chars().count() <= 1).then_some(label)
    });
    without_shortcut.unwrap_or(label).trim_end_matches(ends).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_button_is_known_however_its_label_is_written() {
        for label in [
            "登录",
            "登 录",
            "登录(L)",
            "登录（L）",
            "登录(&L)",
            "登录 (&L)...",
            "登录...(L)",
            "登录…",
            "登录：",
            "立即登录",
            "安全登录(S)",
            "登陆",
            "登錄",
            "Login",
            "&Login",
            "Log&in...",
            "LOG ON",
            "Sign in",
            "ＬＯＧＩＮ",
        ] {
            assert!(is_login_label(label), "{label} is {}", plain(label));
        }
        for label in ["", "(L)", "...", "登录设置", "退出登录", "登录(张三)", "Login as", "发送(S)", "注册"]
        {
            assert!(!is_login_label(label), "{label}");
        }
    }
}
