//! The hotel's one port: `/mcp`, the REST twins, the console, health, metrics and OpenAPI. No rules here.

mod openapi;
mod rest;
mod routes;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use govern::audit::Recorder;
use govern::credentials::Bearer;
use govern::gate::Gate;
use govern::http::{Origins, header_text};
use govern::mcp::{self, McpOptions};

use crate::app::Hotel;
use crate::console::{self, Console, ConsoleOptions};
use crate::mcp::HotelTools;

pub use openapi::document as openapi;
pub use routes::{ROUTES, Route};

/// What the interfaces share.
pub struct Interfaces {
    /// The hotel.
    pub hotel: Arc<Hotel>,
    /// The one gate.
    pub gate: Arc<Gate>,
    /// Where calls are recorded.
    pub recorder: Recorder,
    /// Who may call.
    pub bearer: Arc<Bearer>,
    /// `[mcp]`.
    pub options: McpOptions,
    /// `[hotel.console]`.
    pub console: ConsoleOptions,
    /// Whether only this machine can reach the port, so that metrics need no token.
    pub loopback_only: bool,
}

struct Shared {
    hotel: Arc<Hotel>,
    gate: Arc<Gate>,
    recorder: Recorder,
    bearer: Arc<Bearer>,
    origins: Origins,
    body_limit: usize,
    loopback_only: bool,
}

/// Everything on the port.
pub fn router(interfaces: Interfaces) -> Router {
    let Interfaces { hotel, gate, recorder, bearer, options, console, loopback_only } = interfaces;
    let shared = Arc::new(Shared {
        hotel: Arc::clone(&hotel),
        gate: Arc::clone(&gate),
        recorder: recorder.clone(),
        bearer: Arc::clone(&bearer),
        origins: Origins::new(options.allowed_hosts.clone(), options.allowed_origins.clone()),
        body_limit: options.body_limit_bytes,
        loopback_only,
    });
    let console = console::router(Console {
        hotel: Arc::clone(&hotel),
        gate: Arc::clone(&gate),
        recorder: recorder.clone(),
        origins: shared.origins.clone(),
        options: console,
    });
    let (clock, random) = (hotel.clock.clone(), hotel.random.clone());
    let server = mcp::Server::new(Arc::new(HotelTools(hotel)), gate, recorder, options, clock, random);
    let mut router = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(openapi_json));
    for route in &ROUTES {
        router = router.route(route.path, rest::method(route));
    }
    let router = router.fallback(rest::not_found).method_not_allowed_fallback(rest::method_not_allowed);
    let router = router.with_state(shared).merge(console);
    router.merge(mcp::http::router(Arc::new(server), Some(bearer), "/mcp"))
}

async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    if shared.hotel.db.ready().await {
        "ready\n".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n").into_response()
    }
}

async fn metrics(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    if !shared.may_look(&headers).await {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], shared.hotel.metrics.render()).into_response()
}

async fn openapi_json(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    if !shared.may_look(&headers).await {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    ([(header::CONTENT_TYPE, "application/json")], openapi::document().to_string()).into_response()
}

impl Shared {
    /// Anyone on this machine may, under a name of this machine; from elsewhere a token is needed.
    async fn may_look(&self, headers: &HeaderMap) -> bool {
        let local = self.loopback_only && self.origins.check(headers).is_ok();
        local || self.bearer.verify(header_text(headers, &header::AUTHORIZATION)).await.is_ok()
    }
}
