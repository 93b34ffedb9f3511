//! What pages ask for by themselves: the stream of changes, and what is new on a page that stays as it is.

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::unfold;

use super::visit::{Visit, page};
use super::words;
use crate::app::live::{self, News};
use crate::app::tasks::MoveView;
use crate::error::Error;

/// What the script sends with a request that no person made.
const BY_ITSELF: HeaderName = HeaderName::from_static("console-refresh");
const EVENT_STREAM: &str = "text/event-stream";
/// When a browser whose stream broke off comes again, in milliseconds.
const RETRY: &str = "retry: 3000\n\n";

#[derive(Template)]
#[template(path = "task_news.html")]
struct TaskNews<'v> {
    visit: &'v Visit,
    task_id: i64,
    moves: Vec<MoveView>,
}

#[derive(Template)]
#[template(path = "conversation_news.html")]
struct ConversationNews<'v> {
    visit: &'v Visit,
    conversation_id: i64,
    mails: i64,
}

/// Whether a page asks for this and no person does, so that the session is not used by it.
pub(super) fn is_by_itself(headers: &HeaderMap) -> bool {
    let is_stream = headers.get(header::ACCEPT).is_some_and(|accept| accept == EVENT_STREAM);
    is_stream || headers.contains_key(BY_ITSELF)
}

/// GET /console/events: seen, the mark of the page. A browser that comes again says itself what it heard last.
///
/// `change` names the topics, `ended` says that the session is over; a comment shows that the stream lives.
pub(super) fn stream(visit: &Visit) -> Result<Response, Error> {
    let seen = visit.last_event.as_deref().unwrap_or(visit.fields.text("seen")).parse().ok();
    let stream = live::open(&visit.hotel, visit.person(), &visit.secret, seen)?;
    let texts = unfold(Some((stream, true)), |state| async move {
        let (mut stream, is_first) = state?;
        if is_first {
            return Some((Ok::<_, std::convert::Infallible>(RETRY.to_owned()), Some((stream, false))));
        }
        let news = stream.next().await?;
        let goes_on = news != News::SessionEnded;
        Some((Ok(event(&news)), goes_on.then_some((stream, false))))
    });
    let content_type = HeaderValue::from_static(EVENT_STREAM);
    // A proxy that gathers answers would hold the events back.
    let unbuffered = (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    let headers = [(header::CONTENT_TYPE, content_type), unbuffered];
    Ok((StatusCode::OK, headers, Body::from_stream(texts)).into_response())
}

fn event(news: &News) -> String {
    match news {
        News::Changed(topics, mark) => {
            let words: Vec<&str> = topics.iter().map(|topic| topic.as_str()).collect();
            format!("id: {mark}\nevent: change\ndata: {}\n\n", words.join(" "))
        }
        News::Quiet => ":\n\n".to_owned(),
        News::SessionEnded => "event: ended\ndata:\n\n".to_owned(),
    }
}

/// GET /console/tasks/{id}/news: version, the one on the page. Who has moved the task since, or nothing.
pub(super) async fn task(visit: &Visit) -> Result<Response, Error> {
    let (task_id, version) = (visit.id()?, visit.fields.text("version").parse().unwrap_or(0));
    let moves = live::moves_since(&visit.hotel, task_id, version).await?;
    if moves.is_empty() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    page(StatusCode::OK, &TaskNews { visit, task_id, moves })
}

/// GET /console/conversations/{id}/news: mails, as many as there were with the page. How many have come since, or
/// nothing.
pub(super) async fn conversation(visit: &Visit) -> Result<Response, Error> {
    let (conversation_id, counted) = (visit.id()?, visit.fields.text("mails").parse().unwrap_or(i64::MAX));
    let mails = live::mails_beyond(&visit.hotel, conversation_id, counted).await?;
    if mails == 0 {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    page(StatusCode::OK, &ConversationNews { visit, conversation_id, mails })
}
