//! A listener served within bounds: how many connections, how long for a head, how long for the end.

use std::{future::Future, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use futures_util::FutureExt as _;
use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{sleep, timeout},
};

/// How long to wait after a failed accept, such as for want of file descriptors, which pass with time.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// The other end of the connection that a request came over; an extension of every request of [`serve`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// What a listener grants its clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once; further ones wait in the system's queue for a free place.
    pub connections: usize,
    /// How long a client may take to send the head of a request, the time between two requests included.
    pub head: Duration,
    /// How long requests in flight may take to end after the shutdown signal.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 1024, head: Duration::from_secs(30), grace: Duration::from_secs(10) }
    }
}

/// Serves `router` over HTTP/1.1 until `shutdown` is ready, then lets requests in flight end, within the default
/// [`Limits`].
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    serve_within(Limits::default(), listener, router, shutdown).await;
}

/// [`serve`] within other limits. Small answers are sent at once (`TCP_NODELAY`).
pub async fn serve_within(
    limits: Limits,
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    // Makes the router's handlers once, not once per request.
    let service = TowerToHyperService::new(router.with_state(()));
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new()).header_read_timeout(limits.head);
    let places = Arc::new(Semaphore::new(limits.connections));
    let connections = GracefulShutdown::new();
    let accepting = async {
        loop {
            // Nobody closes the semaphore, so there is always a place in the end.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let (stream, peer) = accept(&listener).await;
            let service = service.clone();
            let with_peer = service_fn(move |mut request: hyper::Request<Incoming>| {
                request.extensions_mut().insert(Peer(peer));
                service.call(request)
            });
            let connection = protocol.serve_connection(TokioIo::new(stream), with_peer);
            let connection = connections.watch(connection);
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection broke off");
                }
                drop(place);
            });
        }
    };
    tokio::select! {
        () = accepting => {}
        () = shutdown => {}
    }
    drop(listener);
    if timeout(limits.grace, connections.shutdown()).await.is_err() {
        tracing::warn!("requests in flight did not end in time and are cut off");
    }
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "TCP_NODELAY not set");
                }
                return (stream, peer);
            }
            Err(error) if concerns_one_client(&error) => tracing::debug!(%error, "a client went away"),
            Err(error) => {
                tracing::error!(%error, "no connection can be accepted for the moment");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn concerns_one_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Ready when the process is told to end: by Ctrl-C, or on Unix by SIGTERM.
///
/// A signal is heard from the call on, not from the first poll. So a server that calls this before it says that it is
/// ready is not killed by a signal in between.
#[cfg(unix)]
pub fn shutdown_signal() -> impl Future<Output = ()> + Send + 'static {
    use tokio::signal::unix::SignalKind;
    any_signal([SignalKind::interrupt(), SignalKind::terminate()])
}

/// [`shutdown_signal`] for a process that has no purpose without the terminal or the program that started it: on Unix SIGHUP
/// ends it as well.
#[cfg(unix)]
pub fn session_end_signal() -> impl Future<Output = ()> + Send + 'static {
    use tokio::signal::unix::SignalKind;
    any_signal([SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()])
}

#[cfg(unix)]
fn any_signal<const N: usize>(
    kinds: [tokio::signal::unix::SignalKind; N],
) -> impl Future<Output = ()> + Send + 'static {
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
    let registered = kinds.map(tokio::signal::unix::signal);
    futures_util::future::select_all(registered.map(|signal| heard(signal).boxed())).map(|_| ())
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

/// [`shutdown_signal`].
#[cfg(not(unix))]
pub fn session_end_signal() -> impl Future<Output = ()> + Send + 'static {
    shutdown_signal()
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::routing::get;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        sync::{Notify, oneshot},
        task::JoinHandle,
    };

    use super::*;

    const LONG: Duration = Duration::from_mins(1);
    const REQUEST: &[u8] = b"GET /held HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

    /// A server whose `/held` answers when told to.
    struct Held {
        address: SocketAddr,
        begun: Arc<Notify>,
        go_on: Arc<Notify>,
        shutdown: oneshot::Sender<()>,
        ended: JoinHandle<()>,
    }

    impl Held {
        async fn start(limits: Limits) -> Self {
            let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
            let (handler_begun, handler_go_on) = (begun.clone(), go_on.clone());
            let held = async move || {
                handler_begun.notify_one();
                handler_go_on.notified().await;
                "done"
            };
            let router = Router::new().route("/held", get(held));
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (shutdown, told) = oneshot::channel();
            let ended = tokio::spawn(serve_within(limits, listener, router, async { told.await.unwrap() }));
            Self { address, begun, go_on, shutdown, ended }
        }

        async fn send(&self, bytes: &[u8]) -> TcpStream {
            let mut stream = TcpStream::connect(self.address).await.unwrap();
            stream.write_all(bytes).await.unwrap();
            stream
        }
    }

    async fn received(mut stream: TcpStream) -> String {
        let mut bytes = String::new();
        stream.read_to_string(&mut bytes).await.unwrap();
        bytes
    }

    #[tokio::test]
    async fn a_client_that_is_slow_with_its_head_or_sends_none_is_cut_off() {
        let server = Held::start(Limits { head: Duration::from_millis(50), ..Limits::default() }).await;
        for begun in ["", "G", "GET /held HTTP/1.1\r\nHost: local"] {
            assert_eq!(received(server.send(begun.as_bytes()).await).await, "", "{begun:?}");
        }
    }

    #[tokio::test]
    async fn a_slow_answer_is_not_cut_off_by_the_time_for_the_head() {
        let server = Held::start(Limits { head: Duration::from_millis(50), ..Limits::default() }).await;
        let stream = server.send(REQUEST).await;
        server.begun.notified().await;
        // This one runs out of its time for the head; the one with a request goes on.
        received(server.send(b"G").await).await;
        server.go_on.notify_one();
        assert!(received(stream).await.ends_with("done"));
    }

    #[tokio::test]
    async fn a_connection_beyond_the_limit_waits_for_a_free_place() {
        let server = Held::start(Limits { connections: 1, head: LONG, ..Limits::default() }).await;
        let first = server.send(REQUEST).await;
        server.begun.notified().await;
        let second = server.send(REQUEST).await;
        assert!(timeout(Duration::from_millis(50), server.begun.notified()).await.is_err());
        server.go_on.notify_one();
        assert!(received(first).await.ends_with("done"));
        server.begun.notified().await;
        server.go_on.notify_one();
        assert!(received(second).await.ends_with("done"));
    }

    #[tokio::test]
    async fn shutdown_lets_a_request_in_flight_finish_and_takes_no_new_one() {
        let server = Held::start(Limits { head: LONG, grace: LONG, ..Limits::default() }).await;
        let stream = server.send(REQUEST).await;
        server.begun.notified().await;
        let (address, go_on) = (server.address, server.go_on);
        server.shutdown.send(()).unwrap();
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        go_on.notify_one();
        assert!(received(stream).await.ends_with("done"));
        server.ended.await.unwrap();
    }

    #[tokio::test]
    async fn shutdown_waits_no_longer_than_the_grace() {
        let grace = Duration::from_millis(50);
        let server = Held::start(Limits { head: LONG, grace, ..Limits::default() }).await;
        let _stream = server.send(REQUEST).await;
        server.begun.notified().await;
        server.shutdown.send(()).unwrap();
        timeout(LONG / 6, server.ended).await.unwrap().unwrap();
    }
}
