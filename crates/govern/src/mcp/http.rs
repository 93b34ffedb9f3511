//! Streamable HTTP without sessions: each POST is answered by itself, with one JSON document, or with a stream of
//! events when the call reports progress to a client that asked for it.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    response::Response,
    routing::any,
};
use futures_util::{FutureExt, StreamExt, stream};

use super::{
    Reply, RequestHead, Server,
    exchange::{Exchange, Outgoing},
    fault::Fault,
};
use crate::{
    credentials::{Bearer, BearerError, Caller},
    http::{
        BodyError, Origins, accepts_event_stream, accepts_json, header_text, is_json, one_text, read_body,
    },
    tool::Service,
    trace,
};

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
const MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The endpoint at `path`, such as `/mcp`. Without `bearer`, anyone who reaches it may do all: for loopback and tests
/// only.
pub fn router<S: Service>(server: Arc<Server<S>>, bearer: Option<Arc<Bearer>>, path: &str) -> Router {
    let options = server.options();
    let origins = Origins::new(options.allowed_hosts.clone(), options.allowed_origins.clone());
    let endpoint = Arc::new(Endpoint { server, bearer, origins, local: Arc::new(Caller::local()) });
    Router::new().route(path, any(handle::<S>)).with_state(endpoint)
}

struct Endpoint<S: Service> {
    server: Arc<Server<S>>,
    bearer: Option<Arc<Bearer>>,
    origins: Origins,
    local: Arc<Caller>,
}

/// A refusal with the header that belongs to it.
struct Refused(Box<Fault>, Option<(HeaderName, &'static str)>);

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self(Box::new(fault), None)
    }
}

async fn handle<S: Service>(State(endpoint): State<Arc<Endpoint<S>>>, request: Request) -> Response {
    match endpoint.answer(request).await {
        Ok(response) => response,
        Err(Refused(fault, extra)) => {
            let mut response = response(fault.reply(None));
            if let Some((name, value)) = extra {
                response.headers_mut().insert(name, HeaderValue::from_static(value));
            }
            response
        }
    }
}

impl<S: Service> Endpoint<S> {
    async fn answer(&self, request: Request) -> Result<Response, Refused> {
        let (head, body) = request.into_parts();
        self.origins.check(&head.headers).map_err(|error| Fault::refused(403, error.to_string()))?;
        let caller = self.authenticate(&head.headers).await?;
        check_form(&head)?;
        let limit = self.server.options().body_limit_bytes;
        let body = read_body(&head.headers, body, limit).await.map_err(|error| match error {
            BodyError::TooLarge { .. } => Fault::too_large(error.to_string()),
            BodyError::Incomplete => Fault::request(error.to_string()),
        })?;
        let streams = accepts_event_stream(&head.headers);
        Ok(respond(self.exchange(caller, head.headers, body), streams).await)
    }

    fn exchange(&self, caller: Arc<Caller>, headers: HeaderMap, body: Bytes) -> Exchange {
        let server = Arc::clone(&self.server);
        Exchange::new(|reports| {
            async move {
                match request_head(&headers) {
                    Ok(head) => server.dispatch(Some(&head), &caller, &body, &reports).await,
                    Err(fault) => fault.reply(None),
                }
            }
            .boxed()
        })
    }

    async fn authenticate(&self, headers: &HeaderMap) -> Result<Arc<Caller>, Refused> {
        let Some(bearer) = &self.bearer else { return Ok(Arc::clone(&self.local)) };
        bearer.verify(header_text(headers, &header::AUTHORIZATION)).await.map_err(|error| {
            tracing::info!(%error, "a request was not authenticated");
            match error {
                BearerError::Unavailable => Fault::unavailable(error.to_string()).into(),
                BearerError::Missing => Refused(
                    Box::new(Fault::unauthenticated(error.to_string())),
                    Some((header::WWW_AUTHENTICATE, "Bearer")),
                ),
                BearerError::Wrong => Refused(
                    Box::new(Fault::unauthenticated(error.to_string())),
                    Some((header::WWW_AUTHENTICATE, r#"Bearer error="invalid_token""#)),
                ),
            }
        })
    }
}

/// Method, content type and accepted types.
fn check_form(head: &Parts) -> Result<(), Refused> {
    if head.method != Method::POST {
        let fault = Fault::refused(
            405,
            "MCP messages are sent by POST; this server keeps no streams and no sessions.",
        );
        return Err(Refused(Box::new(fault), Some((header::ALLOW, "POST"))));
    }
    let content_type = one_text(&head.headers, &header::CONTENT_TYPE)
        .map_err(|error| Fault::request(format!("Content-Type: {error}")))?;
    if !content_type.is_some_and(is_json) {
        return Err(Fault::refused(415, "Content-Type must be application/json, in UTF-8.").into());
    }
    if !accepts_json(&head.headers) {
        return Err(Fault::refused(406, "Answers are application/json; Accept must allow that.").into());
    }
    Ok(())
}

fn request_head(headers: &HeaderMap) -> Result<RequestHead<'_>, Fault> {
    let text = |name| one_text(headers, name).map_err(|error| Fault::header(format!("{name}: {error}")));
    Ok(RequestHead {
        protocol_version: text(&PROTOCOL_VERSION)?,
        method: text(&MCP_METHOD)?,
        name: text(&MCP_NAME)?,
        traceparent: header_text(headers, &trace::TRACEPARENT),
        trace_id: header_text(headers, &trace::TRACE_ID),
    })
}

/// The reply by itself, unless the call reports before it ends and the client takes event streams.
async fn respond(mut exchange: Exchange, streams: bool) -> Response {
    loop {
        match exchange.next().await {
            Outgoing::Reply(reply) => return response(reply),
            Outgoing::Report(report) if streams => return event_stream(&report, exchange),
            Outgoing::Report(_) => {}
        }
    }
}

/// The report, those that follow it, and the reply, each as an event. Dropped with its connection, the stream cancels
/// the call.
fn event_stream(first: &[u8], exchange: Exchange) -> Response {
    let first = stream::iter([Ok::<_, Infallible>(event(first))]);
    let rest = stream::unfold(Some(exchange), async |exchange| {
        let mut exchange = exchange?;
        Some(match exchange.next().await {
            Outgoing::Report(report) => (Ok(event(&report)), Some(exchange)),
            Outgoing::Reply(reply) => (Ok(event(&reply.body)), None),
        })
    });
    let mut response = Response::new(Body::from_stream(first.chain(rest)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Asks proxies to pass each event on at once.
    headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

/// One server-sent event (HTML Standard, section 9.2). Our messages have no line breaks.
fn event(message: &[u8]) -> Bytes {
    [b"event: message\ndata: ", message, b"\n\n"].concat().into()
}

fn response(reply: Reply) -> Response {
    let json = !reply.body.is_empty();
    let mut response = Response::new(Body::from(reply.body));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if json {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    response
}
