//! What every HTTP interface of the product shares: who may ask (host, origin, bearer token), how much (the body
//! limit), and how a listener is served and ended.

use std::{future::Future, io, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, header},
    serve::ListenerExt,
};
use futures_util::StreamExt;
use thiserror::Error;
use tokio::{
    net::TcpListener,
    sync::oneshot,
    time::{sleep, timeout},
};

/// How long a client may take to send a body.
const BODY_TIME: Duration = Duration::from_mins(1);

/// How much of a body over the limit is read and thrown away, so that the client, which sends before it listens,
/// gets to read the refusal; as a multiple of the limit.
const DISCARD_FACTOR: usize = 4;

/// How long requests in flight may take to end after the shutdown signal.
const GRACE: Duration = Duration::from_secs(10);

/// The names by which this server may be addressed and the web origins that may address it. A web page that
/// reaches a local server under another name (DNS rebinding) is refused by these.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// Why [`Origins::check`] refused a request. The message is fit for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OriginError {
    /// The `Host` header is absent, double, or not an allowed name.
    #[error("This server does not answer under that Host; the operator can add it to `allowed_hosts`.")]
    Host,
    /// The `Origin` header is not an allowed origin.
    #[error("Requests from that Origin are not allowed; the operator can add it to `allowed_origins`.")]
    Origin,
}

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

impl Origins {
    /// Allows these hosts (`name` for any port, or `name:port`) and origins (`https://name[:port]`) besides the
    /// loopback names, which are always allowed.
    pub fn new(hosts: Vec<String>, origins: Vec<String>) -> Self {
        Self { hosts, origins }
    }

    /// Refuses a request that names another host or comes from another origin.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), OriginError> {
        let host = single(headers, &header::HOST).map_err(|()| OriginError::Host)?;
        if !host.is_some_and(|host| self.allows_host(host)) {
            return Err(OriginError::Host);
        }
        let origin = single(headers, &header::ORIGIN).map_err(|()| OriginError::Origin)?;
        if !origin.is_none_or(|origin| self.allows_origin(origin)) {
            return Err(OriginError::Origin);
        }
        Ok(())
    }

    fn allows_host(&self, authority: &str) -> bool {
        let name = host_name(authority);
        is_loopback(name)
            || self
                .hosts
                .iter()
                .any(|host| host.eq_ignore_ascii_case(authority) || host.eq_ignore_ascii_case(name))
    }

    fn allows_origin(&self, origin: &str) -> bool {
        let loopback = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"))
            .is_some_and(|authority| is_loopback(host_name(authority)));
        loopback || self.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin))
    }
}

/// The value of a header as text; `None` when absent or not text.
pub fn header_text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
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

/// Serves `router` until `shutdown` is ready, then lets requests in flight end within ten seconds. Small answers
/// are sent at once (`TCP_NODELAY`).
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY not set");
        }
    });
    let (signal, signalled) = oneshot::channel();
    let graceful = axum::serve(listener, router).with_graceful_shutdown(async move {
        shutdown.await;
        let _ = signal.send(());
    });
    let overdue = async {
        // When the sender is gone without a signal, the server has ended by itself.
        if signalled.await.is_ok() {
            sleep(GRACE).await;
        } else {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        ended = async move { graceful.await } => ended,
        () = overdue => Ok(()),
    }
}

/// Ready when the process is told to end: by Ctrl-C, or on Unix by SIGTERM.
///
/// A signal is heard from the call on, not from the first poll. So a server that calls this before it says that it is
/// ready is not killed by a signal in between.
#[cfg(unix)]
pub fn shutdown_signal() -> impl Future<Output = ()> + Send + 'static {
    use tokio::signal::unix::{SignalKind, signal};
    let [interrupt, terminate] = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    let heard = |registered: io::Result<tokio::signal::unix::Signal>| async move {
        match registered {
            Ok(mut signals) => {
                signals.recv().await;
            }
            Err(error) => {
                tracing::warn!(%error, "a signal to end cannot be heard");
                std::future::pending::<()>().await;
            }
        }
    };
    async move {
        tokio::select! {
            () = heard(interrupt) => {}
            () = heard(terminate) => {}
        }
    }
}

/// Ready when the process is told to end by Ctrl-C.
#[cfg(not(unix))]
pub fn shutdown_signal() -> impl Future<Output = ()> + Send + 'static {
    async {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::warn!(%error, "Ctrl-C cannot be heard");
            std::future::pending::<()>().await;
        }
    }
}

/// The one value of a header; an error when there are several or it is not text.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

fn host_name(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "::1"
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn check(origins: &Origins, headers: &[(HeaderName, &'static str)]) -> Result<(), OriginError> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_static(value));
        }
        origins.check(&map)
    }

    #[test]
    fn loopback_names_are_allowed_on_any_port() {
        let origins = Origins::default();
        for host in ["localhost", "LOCALHOST:8750", "127.0.0.1:1", "[::1]:8750"] {
            assert_eq!(check(&origins, &[(header::HOST, host)]), Ok(()), "{host}");
        }
    }

    #[test]
    fn other_double_and_absent_hosts_are_refused() {
        let origins = Origins::default();
        for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""] {
            assert_eq!(check(&origins, &[(header::HOST, host)]), Err(OriginError::Host), "{host}");
        }
        assert_eq!(check(&origins, &[]), Err(OriginError::Host));
        let both = [(header::HOST, "localhost"), (header::HOST, "localhost")];
        assert_eq!(check(&origins, &both), Err(OriginError::Host));
    }

    #[test]
    fn an_origin_must_be_loopback_or_configured() {
        let origins = Origins::new(vec!["hotel.example".into()], vec!["https://hotel.example".into()]);
        let from = |origin| check(&origins, &[(header::HOST, "hotel.example:443"), (header::ORIGIN, origin)]);
        assert_eq!(from("https://hotel.example"), Ok(()));
        assert_eq!(from("http://localhost:5173"), Ok(()));
        for origin in ["http://hotel.example", "https://evil.example", "null", "localhost"] {
            assert_eq!(from(origin), Err(OriginError::Origin), "{origin}");
        }
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
