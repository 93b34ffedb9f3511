//! What a person had typed when the session ended or changed, kept in their own browser until they are back.
//!
//! A cookie and no row of the database: nobody is logged in whose row it could be.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::cookies;
use super::visit::Visit;

/// Longest text that is kept, in bytes: a cookie holds 4,096.
const MAX_BYTES: usize = 2_800;

/// Keeps the reason that a form for the task brought.
pub(super) fn keep(visit: &Visit) -> Option<HeaderValue> {
    let (task_id, reason) = (visit.id?, visit.fields.text("reason"));
    let fits = !reason.is_empty() && reason.len() <= MAX_BYTES;
    let value = format!("{task_id}.{}", URL_SAFE_NO_PAD.encode(reason));
    fits.then(|| cookies::set_typed(&value, visit.secure)).flatten()
}

/// The reason that was kept for the task.
pub(super) fn kept(headers: &HeaderMap, task_id: Option<i64>) -> Option<String> {
    let (id, encoded) = cookies::typed(headers)?.split_once('.')?;
    let own = id.parse().ok() == task_id && task_id.is_some();
    let text = own.then(|| URL_SAFE_NO_PAD.decode(encoded).ok()).flatten()?;
    String::from_utf8(text).ok()
}

/// The page that shows what was kept, which is kept no longer.
pub(super) fn forgotten(mut response: Response, visit: &Visit) -> Response {
    let cookie = visit.typed.as_ref().and_then(|_| cookies::remove_typed(visit.secure));
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}
