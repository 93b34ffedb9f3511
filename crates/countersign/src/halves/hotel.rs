//! The hotel: the configuration turned into what the use cases work with, and the running server that `hotel serve`
//! and `demo` start and end in the same way.

use std::{io, net::SocketAddr, path::Path, sync::Arc};

use axum::Router;
use futures_util::future::BoxFuture;
use govern::{
    audit::{Channel, Record, Recorder, RecorderHandle, Sink, SinkError},
    clock::Clock,
    credentials::{Bearer, Caller},
    gate::Gate,
    http::shutdown_signal,
    mcp,
    random::Random,
    tool::Service,
};
use hotel::{
    app::{Hotel, Request, search, tokens::TokenStore},
    audit::{
        AuditKey, DatabaseSink, default_key_path,
        seal::{Sealer, SealerHandle},
    },
    catalog::Catalog,
    console::ConsoleOptions,
    http::{Interfaces, router},
    mcp::HotelTools,
    metrics::Metrics,
    store::Db,
};
use tokio::net::TcpListener;

use crate::{commands::CommandError, config::Config};

/// Where files lie that do not lie beside a SQLite file.
pub(crate) const DATA_FOLDER: &str = "countersign-data";

/// Most bytes of an answer that is printed; only agents read pages.
const ANSWER_BYTES: usize = 64 << 20;

/// Opens the database and reads the catalogue and the audit key.
pub(crate) async fn open(config: &Config) -> Result<Arc<Hotel>, CommandError> {
    let catalog = match &config.hotel.catalog {
        Some(path) => Catalog::from_file(path),
        None => Catalog::embedded(),
    }?;
    let db = Db::open(&config.hotel.db).await?;
    let random = Random::System;
    let key_path = default_key_path(&db, Path::new(DATA_FOLDER));
    let audit_key = AuditKey::open(&db, &key_path, &random).await?;
    Ok(Arc::new(Hotel {
        db,
        catalog,
        language: config.hotel.language,
        on_changed_payload: config.hotel.on_changed_payload,
        links: config.hotel.text_links,
        audit_key,
        metrics: Arc::default(),
        streams: Arc::default(),
        clock: Clock::System,
        random,
    }))
}

/// What a write of the command line records about itself.
pub(crate) fn request(hotel: &Hotel, caller: &str) -> Request {
    Request {
        request_id: hotel.random.request_id(),
        trace_id: None,
        caller: caller.to_owned(),
        channel: Channel::Cli,
        received_ms: hotel.clock.now_ms(),
        budget: ANSWER_BYTES,
    }
}

/// The parts of a server that run beside its requests.
pub(crate) struct Server {
    hotel: Arc<Hotel>,
    gate: Arc<Gate>,
    recorder: Recorder,
    flusher: RecorderHandle,
    sealer: SealerHandle,
    bearer: Arc<Bearer>,
    shutdown: BoxFuture<'static, ()>,
    options: mcp::McpOptions,
    console: ConsoleOptions,
}

impl Server {
    /// Starts recording, sealing and indexing, and listens for the signals to end.
    pub(crate) fn start(hotel: Arc<Hotel>, config: Config) -> Self {
        let gate = Arc::new(Gate::new(&config.policy, HotelTools::tools()));
        let database = DatabaseSink::new(hotel.db.clone(), hotel.audit_key.clone());
        let sink = CountingSink { database, metrics: Arc::clone(&hotel.metrics) };
        let (recorder, flusher) = Recorder::start(Arc::new(sink));
        let sealer =
            Sealer::new(hotel.db.clone(), hotel.audit_key.clone(), hotel.clock.clone(), &hotel.random)
                .start();
        // Ends by itself; what an ending server leaves of it is done by the next one.
        tokio::spawn(search::index_backlog(hotel.db.clone()));
        let credentials = Arc::new(TokenStore::new(hotel.db.clone(), hotel.clock.clone()));
        let bearer = Arc::new(Bearer::new(credentials, hotel.clock.clone()));
        let shutdown = Box::pin(shutdown_signal());
        Self {
            hotel,
            gate,
            recorder,
            flusher,
            sealer,
            bearer,
            shutdown,
            options: config.mcp,
            console: config.hotel.console,
        }
    }

    /// Who may call: the holders of the hotel's tokens.
    pub(crate) fn bearer(&self) -> Arc<Bearer> {
        Arc::clone(&self.bearer)
    }

    /// Serves the port, and `beside` on it, until SIGTERM or Ctrl-C; lets requests in flight end, and writes the last
    /// records.
    pub(crate) async fn http(self, listener: TcpListener, bound: SocketAddr, beside: Router) {
        let interfaces = Interfaces {
            hotel: Arc::clone(&self.hotel),
            gate: Arc::clone(&self.gate),
            recorder: self.recorder.clone(),
            bearer: self.bearer,
            options: self.options.clone(),
            console: self.console,
            loopback_only: bound.ip().is_loopback(),
        };
        tracing::info!("listening on http://{bound}/mcp");
        // A stream of changes is a request that never ends by itself.
        let (hotel, shutdown) = (Arc::clone(&self.hotel), self.shutdown);
        let ending = async move {
            shutdown.await;
            hotel.db.end_listening();
        };
        govern::http::serve(listener, router(interfaces).merge(beside), ending).await;
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
