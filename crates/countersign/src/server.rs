//! The running hotel server: what `hotel serve` and `demo` start and end in the same way.

use std::{io, net::SocketAddr, sync::Arc};

use futures_util::future::BoxFuture;
use govern::{
    audit::{Record, Recorder, RecorderHandle, Sink, SinkError},
    credentials::{Bearer, Caller},
    gate::Gate,
    http::shutdown_signal,
    mcp,
    tool::Service,
};
use hotel::{
    app::{Hotel, tokens::TokenStore},
    audit::{
        DatabaseSink,
        seal::{Sealer, SealerHandle},
    },
    http::{Interfaces, router},
    mcp::HotelTools,
    metrics::Metrics,
};
use tokio::net::TcpListener;

use crate::{commands::CommandError, config::Config};

/// The parts of a server that run beside its requests.
pub(crate) struct Server {
    hotel: Arc<Hotel>,
    gate: Arc<Gate>,
    recorder: Recorder,
    flusher: RecorderHandle,
    sealer: SealerHandle,
    shutdown: BoxFuture<'static, ()>,
    options: mcp::McpOptions,
}

/// Takes the address, so that nothing else is begun when it is in use.
pub(crate) async fn bind(address: &str) -> Result<(TcpListener, SocketAddr), CommandError> {
    let refused = |reason| CommandError::Listen { address: address.to_owned(), reason };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let bound = listener.local_addr().map_err(refused)?;
    Ok((listener, bound))
}

impl Server {
    /// Starts recording and sealing, and listens for the signals to end.
    pub(crate) fn start(hotel: Arc<Hotel>, config: Config) -> Result<Self, CommandError> {
        let gate = Arc::new(Gate::new(&config.policy, HotelTools::tools()));
        let database = DatabaseSink::new(hotel.db.clone(), hotel.audit_key.clone());
        let sink = CountingSink { database, metrics: Arc::clone(&hotel.metrics) };
        let (recorder, flusher) = Recorder::start(Arc::new(sink));
        let sealer =
            Sealer::new(hotel.db.clone(), hotel.audit_key.clone(), hotel.clock.clone(), &hotel.random)
                .start();
        let shutdown = Box::pin(shutdown_signal());
        Ok(Self { hotel, gate, recorder, flusher, sealer, shutdown, options: config.mcp })
    }

    /// Serves the port until SIGTERM or Ctrl-C, lets requests in flight end, and writes the last records.
    pub(crate) async fn http(self, listener: TcpListener, bound: SocketAddr) {
        let credentials = Arc::new(TokenStore::new(self.hotel.db.clone()));
        let interfaces = Interfaces {
            hotel: Arc::clone(&self.hotel),
            gate: Arc::clone(&self.gate),
            recorder: self.recorder.clone(),
            bearer: Arc::new(Bearer::new(credentials, self.hotel.clock.clone())),
            options: self.options.clone(),
            loopback_only: bound.ip().is_loopback(),
        };
        tracing::info!("listening on http://{bound}/mcp");
        govern::http::serve(listener, router(interfaces), self.shutdown).await;
        end(self.flusher, self.sealer).await;
    }

    /// Serves stdin and stdout until end of input, SIGTERM or Ctrl-C. The caller is the local process.
    pub(crate) async fn stdio(self) -> Result<(), CommandError> {
        let server = mcp::Server::new(
            Arc::new(HotelTools(Arc::clone(&self.hotel))),
            Arc::clone(&self.gate),
            self.recorder.clone(),
            self.options.clone(),
            self.hotel.clock.clone(),
            self.hotel.random.clone(),
        );
        let caller = Arc::new(Caller::local());
        let ended =
            mcp::stdio::serve_until(Arc::new(server), caller, io::stdin(), io::stdout(), self.shutdown).await;
        end(self.flusher, self.sealer).await;
        ended.map_err(CommandError::Serve)
    }
}

async fn end(flusher: RecorderHandle, sealer: SealerHandle) {
    flusher.shutdown().await;
    // After the last records, so that they are sealed as well.
    sealer.shutdown().await;
}

/// Keeps records in the database and counts those that are kept.
struct CountingSink {
    database: DatabaseSink,
    metrics: Arc<Metrics>,
}

impl Sink for CountingSink {
    fn append<'a>(&'a self, batch: &'a [Record]) -> BoxFuture<'a, Result<(), SinkError>> {
        Box::pin(async move {
            self.database.append(batch).await?;
            for record in batch {
                self.metrics.observe(record);
            }
            Ok(())
        })
    }
}
