//! The headers of every answer of the console: what a browser may load, and that nobody may frame it.

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;

/// A page loads only from this server, runs no inline script and no inline style, and is framed by nobody.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What every answer has unless it says otherwise itself.
const HEADERS: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Not `no-referrer`, with which a browser sends a form under the origin `null`.
    (header::REFERRER_POLICY, "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=(), payment=()"),
    (HeaderName::from_static("x-robots-tag"), "noindex"),
];

/// The answer with the headers that it does not have yet.
pub(super) fn secured(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}
