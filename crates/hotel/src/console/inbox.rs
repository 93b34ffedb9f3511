//! The inbox, a conversation, one message, and the sandboxed frame with a message's HTML.

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use super::visit::{Visit, page};
use super::words;
use crate::app::inbox::{self, Conversation, Message, Threads};
use crate::error::Error;

/// What a frame may do: show text in the product's style, and nothing else. Without `allow-…` it has an origin of its
/// own, runs nothing, sends no form and leads nowhere.
const FRAME_POLICY: &str = "sandbox; default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'self'";

#[derive(Template)]
#[template(path = "inbox.html")]
struct InboxPage<'v> {
    visit: &'v Visit,
    inbox: Threads,
}

#[derive(Template)]
#[template(path = "conversation.html")]
struct ConversationPage<'v> {
    visit: &'v Visit,
    subject: String,
    conversation: Conversation,
}

#[derive(Template)]
#[template(path = "message.html")]
struct MessagePage<'v> {
    visit: &'v Visit,
    message: Message,
}

#[derive(Template)]
#[template(path = "frame.html")]
struct Frame<'v> {
    visit: &'v Visit,
    html: String,
}

/// GET /console/inbox: before.
pub(super) async fn threads(visit: &Visit) -> Result<Response, Error> {
    let inbox = inbox::threads(&visit.hotel, visit.fields.text("before")).await?;
    page(StatusCode::OK, &InboxPage { visit, inbox })
}

/// GET /console/conversations/{id}: before.
pub(super) async fn conversation(visit: &Visit) -> Result<Response, Error> {
    let before = visit.fields.text("before");
    let conversation = inbox::conversation(&visit.hotel, &visit.request, visit.id()?, before).await?;
    let subject = conversation.messages.last().map(|message| message.subject.clone()).unwrap_or_default();
    page(StatusCode::OK, &ConversationPage { visit, subject, conversation })
}

/// GET /console/messages/{id}
pub(super) async fn message(visit: &Visit) -> Result<Response, Error> {
    let message = inbox::message(&visit.hotel, &visit.request, visit.id()?).await?;
    page(StatusCode::OK, &MessagePage { visit, message })
}

/// GET /console/messages/{id}/body: a document of its own for the frame.
pub(super) async fn body(visit: &Visit) -> Result<Response, Error> {
    let html = inbox::body(&visit.hotel, &visit.request, visit.id()?).await?;
    let mut response = page(StatusCode::OK, &Frame { visit, html })?;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(FRAME_POLICY));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN"));
    Ok(response)
}
