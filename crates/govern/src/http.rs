//! What every HTTP interface of the product shares: who may ask (host, origin, bearer token), how much (the body
//! limit), and how a listener is served and ended.

mod media;
mod origins;
mod serve;

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, header},
};
use futures_util::StreamExt;
use thiserror::Error;
use tokio::time::timeout;

pub(crate) use self::media::{accepts_event_stream, accepts_json, is_json};
pub use self::{
    origins::{OriginError, Origins},
    serve::{Limits, Peer, serve, serve_within, session_end_signal, shutdown_signal},
};

/// How long a client may take to send a body.
const BODY_TIME: Duration = Duration::from_mins(1);

/// How much of a body over the limit is read and thrown away, so that the client, which sends before it listens,
/// gets to read the refusal; as a multiple of the limit.
const DISCARD_FACTOR: usize = 4;

/// A header that may come once only came several times, or is not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("A header that may come once only came several times, or is not text.")]
pub struct NotOneText;

/// Why a body was not read. The message is fit for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BodyError {
    /// More than the limit.
    #[error("The request body is larger than {limit} bytes.")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The client stopped sending, or took more than a minute.
    #[error("The request body did not arrive completely.")]
    Incomplete,
}

/// The one value of a header as text; `None` when it is absent. Of two values a proxy may believe one and this server
/// the other, so neither is chosen.
pub fn one_text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, NotOneText> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| NotOneText),
        (Some(_), Some(_)) => Err(NotOneText),
    }
}

/// [`one_text`] for a header that one can do without: `None` as well when it is double or not text.
pub fn header_text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    one_text(headers, name).ok().flatten()
}

/// The body, when it is complete and has at most `limit` bytes, whether or not its length was announced.
pub async fn read_body(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, BodyError> {
    let announced =
        header_text(headers, &header::CONTENT_LENGTH).and_then(|length| length.parse::<usize>().ok());
    let too_large = announced.is_some_and(|length| length > limit);
    if too_large && headers.contains_key(header::EXPECT) {
        // The client waits for leave to send, so there is nothing to read and throw away.
        return Err(BodyError::TooLarge { limit });
    }
    timeout(BODY_TIME, collect(body, if too_large { 0 } else { limit }, limit))
        .await
        .unwrap_or(Err(BodyError::Incomplete))
}

async fn collect(body: Body, keep: usize, limit: usize) -> Result<Bytes, BodyError> {
    let mut chunks = body.into_data_stream();
    let mut first = Bytes::new();
    let mut rest = Vec::new();
    let mut total = 0;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| BodyError::Incomplete)?;
        total += chunk.len();
        if total > keep {
            discard(chunks, limit.saturating_mul(DISCARD_FACTOR)).await;
            return Err(BodyError::TooLarge { limit });
        }
        // Almost every request is one chunk, which need not be copied.
        if first.is_empty() {
            first = chunk;
        } else {
            rest.extend_from_slice(&chunk);
        }
    }
    if rest.is_empty() { Ok(first) } else { Ok([first.as_ref(), &rest].concat().into()) }
}

async fn discard(mut chunks: axum::body::BodyDataStream, most: usize) {
    let mut total = 0;
    while total < most
        && let Some(Ok(chunk)) = chunks.next().await
    {
        total += chunk.len();
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_header_that_is_double_or_no_text_is_not_read() {
        let mut headers = HeaderMap::new();
        let name = header::AUTHORIZATION;
        assert_eq!(one_text(&headers, &name), Ok(None));
        headers.append(&name, HeaderValue::from_static("Bearer a"));
        assert_eq!(one_text(&headers, &name), Ok(Some("Bearer a")));
        headers.append(&name, HeaderValue::from_static("Bearer a"));
        assert_eq!((one_text(&headers, &name), header_text(&headers, &name)), (Err(NotOneText), None));
        headers.insert(&name, HeaderValue::from_bytes(b"Bearer \xff").unwrap());
        assert_eq!(one_text(&headers, &name), Err(NotOneText));
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_the_limit_also_in_chunks() {
        let chunked = |chunks: &[&'static str]| {
            let chunks: Vec<_> = chunks.iter().map(|chunk| Ok::<_, io::Error>(*chunk)).collect();
            Body::from_stream(futures_util::stream::iter(chunks))
        };
        let headers = HeaderMap::new();
        assert_eq!(read_body(&headers, chunked(&["ab", "cd", "ef"]), 6).await.unwrap(), "abcdef");
        let refused = read_body(&headers, chunked(&["ab", "cd", "ef"]), 5).await;
        assert_eq!(refused, Err(BodyError::TooLarge { limit: 5 }));
    }
}
