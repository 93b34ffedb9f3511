//! The iSphere half: opened from the configuration, and the running server that `isphere serve` and `demo` start and
//! end in the same way.

use std::{io, net::SocketAddr, sync::Arc};

use axum::Router;
use govern::{
    audit::{Recorder, RecorderHandle},
    clock::Clock,
    credentials::{Bearer, Caller, file::FileTokens},
    gate::Gate,
    http::{session_end_signal, shutdown_signal},
    mcp,
    random::Random,
    tool::Service,
};
use isphere::{
    app::Isphere,
    audit::trail::Trail,
    tools::{IsphereTools, win_helper},
};
use tokio::net::TcpListener;

use super::LOCAL;
use crate::{commands::CommandError, config::Config};

/// Where the endpoint is when this half has a port to itself.
const PATH: &str = "/mcp";

/// The running half: its protocol server, and the task that keeps its records.
pub(crate) struct Server {
    isphere: Arc<Isphere>,
    mcp: Arc<mcp::Server<IsphereTools>>,
    flusher: RecorderHandle,
}

/// Opens the state folder, the keys and the sources.
pub(crate) fn open(config: &Config) -> Result<Arc<Isphere>, CommandError> {
    let opened = Isphere::open(config.isphere.clone(), &config.policy, Clock::System, Random::System)?;
    Ok(Arc::new(opened))
}

impl Server {
    /// Starts recording.
    pub(crate) fn start(isphere: Arc<Isphere>, config: &Config) -> Result<Self, CommandError> {
        let policy = win_helper::policy(&isphere.settings, &config.policy);
        let gate = Arc::new(Gate::new(&policy, IsphereTools::tools()));
        let trail = Trail::open(&isphere.settings.state_dir, isphere.key.clone(), isphere.clock.clone())?;
        let (recorder, flusher) = Recorder::start(Arc::new(trail));
        let mcp = Arc::new(mcp::Server::new(
            Arc::new(IsphereTools(Arc::clone(&isphere))),
            gate,
            recorder,
            config.mcp.clone(),
            isphere.clock.clone(),
            isphere.random.clone(),
        ));
        Ok(Self { isphere, mcp, flusher })
    }

    /// The endpoint at `path`, for those whom `bearer` knows.
    pub(crate) fn router(&self, path: &str, bearer: Arc<Bearer>) -> Router {
        mcp::http::router(Arc::clone(&self.mcp), Some(bearer), path)
    }

    /// Serves the port until SIGTERM or Ctrl-C, lets requests in flight end, and writes the last records.
    pub(crate) async fn http(self, listener: TcpListener, bound: SocketAddr) -> Result<(), CommandError> {
        let shutdown = shutdown_signal();
        let tokens = FileTokens::open(self.isphere.settings.tokens_file())?;
        let bearer = Arc::new(Bearer::new(Arc::new(tokens), self.isphere.clock.clone()));
        let router = self.router(PATH, bearer);
        tracing::info!("listening on http://{bound}{PATH}");
        govern::http::serve(listener, router, shutdown).await;
        self.flusher.shutdown().await;
        Ok(())
    }

    /// Serves stdin and stdout until end of input, Ctrl-C, SIGTERM or SIGHUP. The caller is the local process.
    pub(crate) async fn stdio(self) -> Result<(), CommandError> {
        let shutdown = session_end_signal();
        let operator = self.isphere.settings.operator_id.clone().unwrap_or_else(|| LOCAL.to_owned());
        let caller = Arc::new(Caller { name: operator, ..Caller::local() });
        let ended = mcp::stdio::serve_until(self.mcp, caller, io::stdin(), io::stdout(), shutdown).await;
        // Whoever sent the signal may not wait long, and calls that still run are waited for below.
        self.isphere.helper.end();
        self.flusher.shutdown().await;
        ended.map_err(CommandError::Serve)
    }

    /// Writes the last records; for who serves the router himself.
    pub(crate) async fn end(self) {
        self.flusher.shutdown().await;
    }
}
