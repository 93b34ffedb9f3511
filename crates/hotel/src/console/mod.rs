//! The console: the pages where people read the mails and confirm or reject what agents propose.
//!
//! Server-rendered (`templates/`), with one stylesheet and htmx from this program itself (`assets/`). All pages go one
//! way ([`shell`]); what each is, who may see it and how the trail names it stands in one table ([`PAGES`]). No rules
//! here: a page calls `app`, as a tool does.

mod address;
mod admin;
mod assets;
mod audit;
mod board;
mod chart;
mod charts;
mod cookies;
mod events;
mod fields;
mod headers;
mod highlight;
mod inbox;
mod log_in;
mod orders;
mod pages;
mod search;
mod shell;
mod tasks;
mod typed;
mod values;
mod visit;
mod words;

use std::sync::Arc;

use axum::Router;
use axum::response::{IntoResponse as _, Redirect};
use axum::routing::{any, get};
use govern::audit::Recorder;
use govern::gate::Gate;
use govern::http::Origins;
use serde::Deserialize;

use crate::app::Hotel;

pub use assets::{ASSETS, Asset};
pub use pages::{Access, Method, PAGES, Page};

/// The `[hotel.console]` section.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConsoleOptions {
    /// A proxy in front speaks TLS: cookies are `Secure`, and the last address of `X-Forwarded-For` is the visitor's.
    pub tls_proxy: bool,
}

/// What all pages share.
pub(crate) struct Console {
    pub(crate) hotel: Arc<Hotel>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) recorder: Recorder,
    pub(crate) origins: Origins,
    pub(crate) options: ConsoleOptions,
}

/// Where the console begins.
const HOME: &str = "/console/tasks";

/// Everything under `/console`.
pub(crate) fn router(console: Console) -> Router {
    let mut router = Router::new();
    for path in ["/console", "/console/"] {
        router = router.route(path, get(|| async { headers::secured(Redirect::to(HOME).into_response()) }));
    }
    for asset in &ASSETS {
        router =
            router.route(asset.path, get(move || async move { headers::secured(assets::answer(asset)) }));
    }
    for page in PAGES {
        router = router.route(page.path, shell::handler(page));
    }
    router
        .route("/console/{*path}", any(shell::not_found))
        .method_not_allowed_fallback(shell::method_not_allowed)
        .with_state(Arc::new(console))
}
