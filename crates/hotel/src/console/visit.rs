//! One request to the console, as a page gets it, and what a page answers.

use std::sync::Arc;

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use govern::language::Language;

use super::assets;
use super::fields::Fields;
use crate::app::sessions::Session;
use crate::app::{Hotel, Request};
use crate::domain::local_time;
use crate::error::Error;
use crate::store::changes::Mark;

/// A request that was let through.
#[derive(Clone)]
pub(super) struct Visit {
    pub(super) hotel: Arc<Hotel>,
    /// What a write records about itself; the caller is the person.
    pub(super) request: Request,
    /// Who is logged in.
    pub(super) session: Option<Session>,
    /// The cookie's secret, of the session or of a visitor without one.
    pub(super) secret: String,
    /// What every form carries back.
    pub(super) token: String,
    pub(super) language: Language,
    pub(super) address: String,
    pub(super) secure: bool,
    /// Nothing can be changed (`[policy] read_only`).
    pub(super) read_only: bool,
    /// Path and query.
    pub(super) path: String,
    /// Where a form that only changes how pages look leads back to.
    pub(super) back: String,
    /// What had been written when this request came; what comes later is news on its page.
    pub(super) mark: Mark,
    /// The last event that the browser had of a stream that broke off.
    pub(super) last_event: Option<String>,
    /// The number in the path.
    pub(super) id: Option<i64>,
    /// The form of a POST, the query of a GET.
    pub(super) fields: Fields,
}

impl Visit {
    /// The one of two texts that is in the visitor's language.
    pub(super) fn say<'t>(&self, chinese: &'t str, english: &'t str) -> &'t str {
        self.language.pick(chinese, english)
    }

    /// The language's tag (BCP 47).
    pub(super) fn language_tag(&self) -> &'static str {
        self.language.pick("zh-CN", "en")
    }

    /// The name of the person, empty without one.
    pub(super) fn person(&self) -> &str {
        self.session.as_ref().map_or("", |session| &session.name)
    }

    /// Whether the person's role has a scope.
    pub(super) fn may(&self, scope: &str) -> bool {
        self.session.as_ref().is_some_and(|session| session.role.scopes().contains(&scope))
    }

    /// The person's role in words.
    pub(super) fn role(&self) -> &'static str {
        use crate::domain::role::Role;
        match self.session.as_ref().map(|session| session.role) {
            Some(Role::Viewer) => self.language.pick("只读", "viewer"),
            Some(Role::Clerk) => self.language.pick("预订员", "clerk"),
            Some(Role::Admin) => self.language.pick("管理员", "admin"),
            None => "",
        }
    }

    /// The number in the path; what is none leads to no page.
    pub(super) fn id(&self) -> Result<i64, Error> {
        self.id.ok_or(Error::RouteNotFound)
    }

    /// Whether the page is at this path or below it, for the navigation.
    pub(super) fn is_at(&self, path: &str) -> bool {
        self.path.starts_with(path)
    }

    /// Date and minute of a moment (unix milliseconds), in the hotel's time.
    #[expect(clippy::unused_self, reason = "templates ask the visit for all they need")]
    pub(super) fn minute(&self, ms: i64) -> String {
        local_time::minute(ms)
    }

    /// The same of an ISO time.
    pub(super) fn moment(&self, iso: &str) -> String {
        govern::time::parse_iso(iso).map_or_else(|| iso.to_owned(), |ms| self.minute(ms))
    }

    /// See [`assets::VERSION`].
    #[expect(clippy::unused_self, reason = "templates ask the visit for all they need")]
    pub(super) fn assets_version(&self) -> &'static str {
        &assets::VERSION
    }
}

/// In a response's extensions: the page tells that what was asked for was not done, and why, by the error's code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failure(pub(super) &'static str);

/// A page of this status.
pub(super) fn page(status: StatusCode, template: &impl Template) -> Result<Response, Error> {
    let html = template.render().map_err(|error| {
        tracing::error!(%error, "a page was not rendered");
        Error::Broken
    })?;
    let content_type = HeaderValue::from_static("text/html; charset=utf-8");
    Ok((status, [(header::CONTENT_TYPE, content_type)], html).into_response())
}

/// Goes on to a page that is asked for with GET, whatever this request was.
pub(super) fn see_other(path: &str) -> Result<Response, Error> {
    let location = HeaderValue::from_str(path).map_err(|_| Error::Broken)?;
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response())
}
