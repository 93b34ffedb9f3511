//! Logging in and out, the language, and the page about oneself.

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use super::fields::path_inside;
use super::shell::form_token;
use super::typed::{SHOW_AGAIN, Typed};
use super::visit::{Visit, page, see_other};
use super::{HOME, cookies};
use crate::app::sessions::{self, LogIn};
use crate::error::Error;

#[derive(Template)]
#[template(path = "log_in.html")]
struct LogInPage<'v> {
    visit: &'v Visit,
    /// Where to go on to.
    next: &'v str,
    /// What was typed before.
    name: &'v str,
    /// Why the last attempt failed, or why there has to be one.
    error: Option<String>,
    /// What the person had typed into a card when their session ended.
    typed: Option<Typed>,
}

/// Leads from the log-in back to the card, with what had been typed there.
#[derive(Template)]
#[template(path = "go_on.html")]
struct GoOnPage<'v> {
    visit: &'v Visit,
    typed: Typed,
}

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage<'v> {
    visit: &'v Visit,
}

/// GET /console/login
pub(super) fn show(visit: &Visit) -> Result<Response, Error> {
    let next = next(visit);
    if visit.session.is_some() {
        return see_other(next);
    }
    page(StatusCode::OK, &LogInPage { visit, next, name: "", error: None, typed: None })
}

/// The log-in in the place of what a form was to do, which carries along what was typed there.
pub(super) fn show_again(visit: &Visit, typed: Option<Typed>) -> Result<Response, Error> {
    let next = typed.as_ref().map_or(HOME.to_owned(), |typed| typed.path.clone());
    let next = next.as_str();
    let error = visit.say(
        "登录已失效，您的操作未被执行。您输入的内容会在登录后恢复。",
        "You are logged in no more, and nothing was done. What you typed is back after the log-in.",
    );
    let error = Some(error.to_owned());
    page(StatusCode::UNAUTHORIZED, &LogInPage { visit, next, name: "", error, typed })
}

/// POST /console/login: name, password, next, and the fields that were typed before. The session gets a secret of its own, so that nobody can prepare one
/// for somebody else.
pub(super) async fn log_in(visit: &Visit) -> Result<Response, Error> {
    let (name, next) = (visit.fields.text("name"), next(visit));
    let attempt = LogIn {
        name: name.to_owned(),
        password: visit.fields.exact("password").to_owned(),
        address: visit.address.clone(),
    };
    match sessions::log_in(&visit.hotel, visit.request.clone(), attempt).await {
        Ok(secret) => {
            let answer = match Typed::of_log_in(&visit.fields) {
                // The form of that page is the new session's.
                Some(typed) => {
                    let token = form_token(secret.expose());
                    page(StatusCode::OK, &GoOnPage { visit: &Visit { token, ..visit.clone() }, typed })?
                }
                None => see_other(next)?,
            };
            with_cookie(answer, cookies::set_session(secret.expose(), visit.secure))
        }
        Err(error @ (Error::LogInFailed | Error::LogInLocked { .. })) => {
            let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::UNAUTHORIZED);
            let error = Some(error.message(visit.language));
            let typed = Typed::of_log_in(&visit.fields);
            page(status, &LogInPage { visit, next, name, error, typed })
        }
        Err(error) => Err(error),
    }
}

/// POST /console/logout
pub(super) async fn log_out(visit: &Visit) -> Result<Response, Error> {
    if visit.session.is_some() {
        sessions::log_out(&visit.hotel, visit.request.clone(), &visit.secret).await?;
    }
    with_cookie(see_other("/console/login")?, cookies::remove_session(visit.secure))
}

/// POST /console/language: language, next.
pub(super) fn language(visit: &Visit) -> Result<Response, Error> {
    let language = cookies::parse_language(visit.fields.text("language")).unwrap_or(visit.language);
    with_cookie(see_other(next(visit))?, cookies::set_language(language, visit.secure))
}

/// GET /console/account
pub(super) fn account(visit: &Visit) -> Result<Response, Error> {
    page(StatusCode::OK, &AccountPage { visit })
}

fn next(visit: &Visit) -> &str {
    path_inside(visit.fields.text("next")).unwrap_or(HOME)
}

fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Result<Response, Error> {
    response.headers_mut().append(header::SET_COOKIE, cookie.ok_or(Error::Broken)?);
    Ok(response)
}
