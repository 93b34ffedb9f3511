//! `countersign fixture`: the fixture's tools over the real core, gate and audit.

use std::{io, net::SocketAddr, sync::Arc};

use clap::Args;
use futures_util::future::BoxFuture;
use govern::{
    audit::{Record, Recorder, Sink, SinkError},
    clock::Clock,
    credentials::Caller,
    gate::{Gate, Policy},
    http::shutdown_signal,
    mcp::{McpOptions, Server, http, stdio},
    random::Random,
    tool::Service,
};
use tokio::net::TcpListener;

use super::CommandError;
use crate::fixture::Fixture as FixtureService;

/// Serve the fixture's tools without authentication
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign fixture --listen 127.0.0.1:8751")]
pub(crate) struct Fixture {
    /// Serve over stdin and stdout
    #[arg(long, conflicts_with = "listen", required_unless_present = "listen")]
    stdio: bool,
    /// Serve over HTTP on this loopback address; port 0 takes a free one, which the log names
    #[arg(long, value_name = "ADDRESS", value_parser = loopback)]
    listen: Option<SocketAddr>,
}

impl Fixture {
    pub(crate) async fn run(self) -> Result<(), CommandError> {
        let (recorder, flusher) = Recorder::start(Arc::new(Forgetful));
        let gate = Gate::new(&Policy::default(), FixtureService::tools());
        let server = Arc::new(Server::new(
            Arc::new(FixtureService::new()),
            Arc::new(gate),
            recorder,
            McpOptions::default(),
            Clock::System,
            Random::System,
        ));
        let ended = if let Some(address) = self.listen {
            serve_http(server, address).await
        } else {
            let caller = Arc::new(Caller::local());
            stdio::serve_until(server, caller, io::stdin(), io::stdout(), shutdown_signal())
                .await
                .map_err(CommandError::Serve)
        };
        flusher.shutdown().await;
        ended
    }
}

async fn serve_http(server: Arc<Server<FixtureService>>, address: SocketAddr) -> Result<(), CommandError> {
    let refused = |reason| CommandError::Listen { address: address.to_string(), flag: "--listen", reason };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let bound = listener.local_addr().map_err(CommandError::Serve)?;
    let shutdown = shutdown_signal();
    tracing::info!("listening on http://{bound}/mcp");
    govern::http::serve(listener, http::router(server, None, "/mcp"), shutdown).await;
    Ok(())
}

fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr =
        text.parse().map_err(|_| "give an address and a port, such as 127.0.0.1:8751")?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err("the fixture asks for no token, so it listens on loopback addresses only".to_owned())
    }
}

/// Takes records as a store would, and keeps none: the fixture has nothing to account for.
struct Forgetful;

impl Sink for Forgetful {
    fn append<'a>(&'a self, _: &'a [Record]) -> BoxFuture<'a, Result<(), SinkError>> {
        Box::pin(async { Ok(()) })
    }
}
