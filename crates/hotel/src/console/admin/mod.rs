//! What administrators run: one module for each of its places.

pub(super) mod tokens;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use super::visit::{Failure, Visit, page};
use crate::error::Error;

/// A secret that was just made: this answer to the form that made it is the only one that ever shows it.
#[derive(Template)]
#[template(path = "admin_secret.html")]
struct SecretPage<'v> {
    visit: &'v Visit,
    title: String,
    /// What becomes of the secret, and what to do with it.
    advice: String,
    secret: &'v str,
    /// Where to go on to.
    back: &'static str,
}

/// A page that says why its form was not taken; the trail has the error's code.
fn refused(template: &impl Template, error: &Error) -> Result<Response, Error> {
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::CONFLICT);
    let mut response = page(status, template)?;
    response.extensions_mut().insert(Failure(error.code()));
    Ok(response)
}

/// Whether the person who sent a form can mend what it was refused for.
fn is_for_the_form(error: &Error) -> bool {
    matches!(error.status(), 400 | 404 | 409 | 422)
}
