//! The one way through for every page: from where, who, is the form theirs, may they, do it, record it, secure it.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::{RawPathParams, Request as HttpRequest, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::Response;
use axum::routing::{MethodRouter, on};
use govern::audit::{Channel, Ending, Record, Slot};
use govern::credentials::{Caller, Scope, Secret, digest};
use govern::hex::hex;
use govern::http::{BodyError, header_text, read_body};
use govern::tool::Effect;

use super::fields::Fields;
use super::pages::{Access, Method, Page};
use super::typed::{SHOW_AGAIN, Typed};
use super::visit::{Failure, Visit, page as answer, see_other};
use super::{Console, address, cookies, events, headers, log_in};
use crate::app::{Request, sessions};
use crate::envelope::log;
use crate::error::Error;
use crate::mcp::from_refusal;

/// Longest form, in bytes.
const FORM_BYTES: usize = 64 << 10;
/// Which event a browser had last of a stream that broke off.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Most bytes of a page's own data; a person reads it.
const PAGE_BYTES: usize = 1 << 20;

/// The handler of a page. Once a form is read, the work runs to its end though the browser goes away.
pub(super) fn handler(page: &'static Page) -> MethodRouter<Arc<Console>> {
    on(
        page.method.filter(),
        move |State(console): State<Arc<Console>>, parameters: RawPathParams, http: HttpRequest| async move {
            let id = parameters.iter().next().and_then(|(_, text)| text.parse().ok());
            let work = serve(Arc::clone(&console), Some(page), id, http);
            let response = tokio::spawn(work).await;
            // The task panicked; the panic itself is in the log.
            headers::secured(response.unwrap_or_else(|_| status(StatusCode::INTERNAL_SERVER_ERROR)))
        },
    )
}

/// The answer to a path that leads nowhere.
pub(super) async fn not_found(State(console): State<Arc<Console>>, http: HttpRequest) -> Response {
    headers::secured(serve(console, None, None, http).await)
}

/// The answer to a method that a page does not have; the router adds which it has.
pub(super) async fn method_not_allowed() -> Response {
    headers::secured(status(StatusCode::METHOD_NOT_ALLOWED))
}

async fn serve(
    console: Arc<Console>,
    page: Option<&'static Page>,
    id: Option<i64>,
    http: HttpRequest,
) -> Response {
    let (head, body) = http.into_parts();
    let mut visit = match visit(&console, id, &head).await {
        Ok(visit) => visit,
        Err(error) => {
            log(&error, "console");
            return status(StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
        }
    };
    let done = match page {
        Some(page) => run(&console, page, &mut visit, &head, body).await,
        None => Err(Error::RouteNotFound),
    };
    let mut response = done.or_else(|error| failed(&visit, page, &error)).unwrap_or_else(|error| {
        log(&error, &visit.request.request_id);
        status(StatusCode::INTERNAL_SERVER_ERROR)
    });
    // A visitor without a cookie gets one, to which the forms are bound.
    if cookies::session(&head.headers).is_none() && page.is_none_or(|page| page.method == Method::Get) {
        let cookie = cookies::set_session(&visit.secret, visit.secure);
        response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    }
    response
}

async fn visit(console: &Console, id: Option<i64>, head: &Parts) -> Result<Visit, Error> {
    let (hotel, mark) = (&console.hotel, console.hotel.db.mark());
    console.origins.check_own(&head.headers).map_err(|error| Error::OriginRefused(error.to_string()))?;
    let cookie = cookies::session(&head.headers);
    let session = match cookie {
        Some(secret) if events::is_by_itself(&head.headers) => sessions::look(hotel, secret).await?,
        Some(secret) => sessions::find(hotel, secret).await?,
        None => None,
    };
    let secret = match cookie {
        Some(secret) => secret.to_owned(),
        None => Secret::generate(&hotel.random).expose().to_owned(),
    };
    let request = Request {
        request_id: hotel.random.request_id(),
        trace_id: None,
        caller: session.as_ref().map_or_else(|| "visitor".to_owned(), |session| session.name.clone()),
        channel: Channel::Console,
        received_ms: hotel.clock.now_ms(),
        budget: PAGE_BYTES,
    };
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    Ok(Visit {
        hotel: Arc::clone(hotel),
        request,
        session,
        token: form_token(&secret),
        secret,
        language: cookies::language(&head.headers).unwrap_or(hotel.language),
        address: address::of(head, console.options.tls_proxy),
        secure: console.options.tls_proxy,
        read_only: console.gate.is_read_only(),
        path: path.to_owned(),
        back: if head.method == axum::http::Method::GET { path } else { "/console/" }.to_owned(),
        mark,
        last_event: header_text(&head.headers, &LAST_EVENT_ID).map(str::to_owned),
        id,
        fields: Fields::parse(head.uri.query().unwrap_or_default().as_bytes()),
    })
}

async fn run(
    console: &Console,
    page: &'static Page,
    visit: &mut Visit,
    head: &Parts,
    body: Body,
) -> Result<Response, Error> {
    if page.method == Method::Post {
        let bytes = read_body(&head.headers, body, FORM_BYTES).await.map_err(|error| match error {
            BodyError::TooLarge { limit } => Error::BodyTooLarge { limit },
            BodyError::Incomplete => Error::BodyIncomplete,
        })?;
        visit.fields = Fields::parse(&bytes);
    }
    let Access::Scope(scope) = page.access else {
        check_token(page, visit)?;
        return (page.run)(visit).await;
    };
    let Some(session) = &visit.session else { return Err(Error::NotLoggedIn) };
    check_token(page, visit)?;
    let scopes = session.role.scopes().iter().map(|scope| Scope::new(*scope)).collect();
    let caller = Caller { name: session.name.clone(), scopes };
    let slot = console.recorder.reserve().await.map_err(|_| Error::AuditUnavailable)?;
    let watch = console.hotel.clock.stopwatch();
    let admitted =
        console.gate.admit_name(page.operation, page.effect, scope, &caller, visit.request.received_ms);
    let refused = admitted.is_err();
    let result = match admitted {
        Ok(()) => (page.run)(visit).await,
        Err(refusal) => Err(match from_refusal(&refusal) {
            Error::ScopeDenied(_) => Error::RoleDenied,
            other => other,
        }),
    };
    let failure = match &result {
        Ok(response) => response.extensions().get::<Failure>().map(|failure| failure.0),
        Err(error) => Some(error.code()),
    };
    keep(slot, page, visit, failure, refused, watch.elapsed_us());
    result
}

/// The token of the forms of a session, or of a visitor without one.
pub(super) fn form_token(secret: &str) -> String {
    hex(&digest(&format!("form:{secret}")))
}

/// A form is good only with the token that its page was given: the digest of the cookie's secret, which another site
/// cannot read.
fn check_token(page: &Page, visit: &Visit) -> Result<(), Error> {
    // Digests are compared, so how long it takes tells nothing that helps to guess a token.
    let is_own = digest(visit.fields.text("token")) == digest(&visit.token);
    if page.method == Method::Get || is_own { Ok(()) } else { Err(Error::FormExpired) }
}

/// A write that was done has its record in its own transaction.
fn keep(
    slot: Slot,
    page: &Page,
    visit: &Visit,
    failure: Option<&'static str>,
    refused: bool,
    duration_us: u64,
) {
    if failure.is_none() && page.effect == Effect::Write {
        return;
    }
    slot.record(Record {
        at_ms: visit.request.received_ms,
        request_id: visit.request.request_id.clone(),
        trace_id: None,
        caller: visit.request.caller.clone(),
        channel: Channel::Console,
        operation: page.operation.into(),
        effect: Some(page.effect),
        outcome: match failure {
            None => Ending::Ok,
            Some(_) if refused => Ending::Refused,
            Some(_) => Ending::Error,
        },
        code: failure.map(Into::into),
        target: visit.path.split('?').next().map(str::to_owned),
        digest: None,
        detail: None,
        duration_us,
    });
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'v> {
    visit: &'v Visit,
    message: String,
    /// What the person had typed, to be brought back to its card.
    typed: Option<Typed>,
    request_id: &'v str,
}

/// Who has to log in is led to the log-in, and from there back; everybody else is told what happened.
fn failed(visit: &Visit, page: Option<&Page>, error: &Error) -> Result<Response, Error> {
    log(error, &visit.request.request_id);
    if matches!(error, Error::NotLoggedIn) {
        return if page.is_some_and(|page| page.method == Method::Get) {
            see_other(&log_in_path(visit))
        } else {
            log_in::show_again(visit, Typed::of_form(visit))
        };
    }
    let message = match error {
        Error::RouteNotFound => visit.say("没有这个页面。", "There is no such page.").to_owned(),
        error => error.message(visit.language),
    };
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let typed = Typed::of_form(visit).filter(|_| matches!(error, Error::FormExpired));
    answer(status, &ErrorPage { visit, message, typed, request_id: &visit.request.request_id })
}

/// The log-in that leads back to where the visitor is.
fn log_in_path(visit: &Visit) -> String {
    let back: String = form_urlencoded::byte_serialize(visit.path.as_bytes()).collect();
    format!("/console/login?next={back}")
}

fn status(code: StatusCode) -> Response {
    let mut response = Response::new(Body::from(format!("{code}\n")));
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/plain"));
    response
}
