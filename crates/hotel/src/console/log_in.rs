//! Logging in and out, the language, and the page about oneself.

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use super::fields::path_inside;
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
    /// Why the last attempt failed.
    error: Option<String>,
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
    page(StatusCode::OK, &LogInPage { visit, next, name: "", error: None })
}

/// POST /console/login: name, password, next. The session gets a secret of its own, so that nobody can prepare one
/// for somebody else.
pub(super) async fn log_in(visit: &Visit) -> Result<Response, Error> {
    let (name, next) = (visit.fields.text("name"), next(visit));
    let attempt = LogIn {
        name: name.to_owned(),
        password: visit.fields.exact("password").to_owned(),
        address: visit.address.clone(),
    };
    match sessions::log_in(&visit.hotel, visit.request.clone(), attempt).await {
        Ok(secret) => with_cookie(see_other(next)?, cookies::set_session(secret.expose(), visit.secure)),
        Err(error @ (Error::LogInFailed | Error::LogInLocked { .. })) => {
            let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::UNAUTHORIZED);
            let error = Some(error.message(visit.language));
            page(status, &LogInPage { visit, next, name, error })
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
