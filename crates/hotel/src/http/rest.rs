//! One way through for every REST route: who, how much, may they, do it, record it, answer in the envelope.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::{MethodRouter, post};
use govern::arguments;
use govern::audit::{Channel, Ending, Record};
use govern::credentials::{BearerError, Caller};
use govern::http::{BodyError, header_text, read_body};
use govern::tool::Effect;
use govern::trace;

use super::Shared;
use super::routes::{Done, Route};
use crate::app::Request;
use crate::envelope::{Envelope, ErrorBody, log};
use crate::error::Error;
use crate::mcp::from_refusal;

/// The handler of a route. Once the body is read, the work runs to its end though the client goes away.
pub(super) fn method(route: &'static Route) -> MethodRouter<Arc<Shared>> {
    post(move |State(shared): State<Arc<Shared>>, http: HttpRequest| async move {
        let (head, body) = http.into_parts();
        let request_id = shared.hotel.random.request_id();
        let work = serve(Arc::clone(&shared), route, head, body, request_id.clone());
        match tokio::spawn(work).await {
            Ok(response) => response,
            // The task panicked; the panic itself is in the log.
            Err(_) => shared.failure(&Error::Broken, &request_id, None),
        }
    })
}

/// The answer to a path that leads nowhere.
pub(super) async fn not_found(State(shared): State<Arc<Shared>>, http: HttpRequest) -> Response {
    shared.misdirected(&Error::RouteNotFound, &http)
}

/// The answer to a method that a path does not have; the router adds which it has.
pub(super) async fn method_not_allowed(State(shared): State<Arc<Shared>>, http: HttpRequest) -> Response {
    shared.misdirected(&Error::MethodNotAllowed, &http)
}

async fn serve(
    shared: Arc<Shared>,
    route: &'static Route,
    head: Parts,
    body: Body,
    request_id: String,
) -> Response {
    let trace_id = trace::of_headers(&head.headers);
    match admit(&shared, &head, body).await {
        Err(error) => shared.failure(&error, &request_id, trace_id.as_deref()),
        Ok((caller, bytes)) => {
            let request = Request {
                request_id,
                trace_id,
                caller: caller.name.clone(),
                channel: Channel::Rest,
                received_ms: shared.hotel.clock.now_ms(),
                budget: REST_BUDGET,
            };
            run(&shared, route, &caller, &request, &bytes).await
        }
    }
}

/// A page of a conversation over REST is read by a program, not by a model.
const REST_BUDGET: usize = 1 << 20;

async fn admit(shared: &Shared, head: &Parts, body: Body) -> Result<(Arc<Caller>, axum::body::Bytes), Error> {
    shared.origins.check(&head.headers).map_err(|error| Error::OriginRefused(error.to_string()))?;
    let authorization = header_text(&head.headers, &header::AUTHORIZATION);
    let caller = shared.bearer.verify(authorization).await.map_err(|error| match error {
        BearerError::Unavailable => Error::CredentialsUnavailable,
        BearerError::Missing | BearerError::Wrong => Error::Unauthenticated,
    })?;
    let bytes = read_body(&head.headers, body, shared.body_limit).await.map_err(|error| match error {
        BodyError::TooLarge { limit } => Error::BodyTooLarge { limit },
        BodyError::Incomplete => Error::BodyIncomplete,
    })?;
    Ok((caller, bytes))
}

async fn run(shared: &Shared, route: &Route, caller: &Caller, request: &Request, bytes: &[u8]) -> Response {
    let Ok(slot) = shared.recorder.reserve().await else {
        return shared.failure(&Error::AuditUnavailable, &request.request_id, request.trace_id.as_deref());
    };
    let watch = shared.hotel.clock.stopwatch();
    let admitted =
        shared.gate.admit_name(route.operation, route.effect, route.scope, caller, request.received_ms);
    let refused = admitted.is_err();
    let result = match admitted {
        Err(refusal) => Err(from_refusal(&refusal)),
        Ok(()) => match arguments::document(bytes) {
            Err(fault) => Err(fault.into()),
            Ok(body) => (route.run)(&shared.hotel, request, body).await,
        },
    };
    // A write that was done has its record in its own transaction.
    if result.is_err() || route.effect == Effect::Read {
        slot.record(Record {
            at_ms: request.received_ms,
            request_id: request.request_id.clone(),
            trace_id: request.trace_id.clone(),
            caller: request.caller.clone(),
            channel: request.channel,
            operation: route.operation.into(),
            effect: Some(route.effect),
            outcome: match &result {
                Ok(_) => Ending::Ok,
                Err(_) if refused => Ending::Refused,
                Err(_) => Ending::Error,
            },
            code: result.as_ref().err().map(|error| error.code().into()),
            target: None,
            digest: None,
            detail: None,
            duration_us: watch.elapsed_us(),
        });
    }
    match result {
        Ok(done) => success(request, done),
        Err(error) => shared.failure(&error, &request.request_id, request.trace_id.as_deref()),
    }
}

fn success(request: &Request, done: Done) -> Response {
    let envelope = Envelope {
        success: true,
        request_id: &request.request_id,
        trace_id: request.trace_id.as_deref(),
        data: Some(done.data),
        warnings: &done.warnings,
        error: None,
    };
    json(StatusCode::OK, &envelope)
}

impl Shared {
    fn misdirected(&self, error: &Error, http: &HttpRequest) -> Response {
        let trace_id = trace::of_headers(http.headers());
        self.failure(error, &self.hotel.random.request_id(), trace_id.as_deref())
    }

    fn failure(&self, error: &Error, request_id: &str, trace_id: Option<&str>) -> Response {
        log(error, request_id);
        let envelope = Envelope::<()> {
            success: false,
            request_id,
            trace_id,
            data: None,
            warnings: &[],
            error: Some(ErrorBody::new(error, self.hotel.language)),
        };
        let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = json(status, &envelope);
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Error::RateLimited { retry_after_ms } = error {
            let seconds = retry_after_ms.div_ceil(1000);
            if let Ok(value) = HeaderValue::from_str(&seconds.to_string()) {
                response.headers_mut().insert(header::RETRY_AFTER, value);
            }
        }
        response
    }
}

fn json<T: serde::Serialize>(status: StatusCode, envelope: &Envelope<'_, T>) -> Response {
    // The envelope holds strings and JSON values only, which always serialise.
    let mut response = Response::new(Body::from(serde_json::to_vec(envelope).unwrap_or_default()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
