//! `countersign hotel serve`

use std::sync::Arc;

use axum::Router;
use clap::Args;
use hotel::app::Hotel;

use crate::commands::CommandError;
use crate::{
    config::{Config, address},
    halves::{bind, hotel::Server},
};

/// Serve MCP, REST, the console, health and metrics over HTTP, or MCP over stdin and stdout
///
/// Over HTTP every caller needs a bearer token (`countersign hotel tokens add`), and every person of the console a
/// log-in (`countersign hotel users add`). Over stdio the caller is the local
/// process that started this one and may do all that [policy] allows. Logs go to stderr.
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign hotel serve --listen 127.0.0.1:8750")]
pub(crate) struct Serve {
    /// Address and port; port 0 takes a free one, which the log names [default: 127.0.0.1:8750]
    #[arg(long, value_name = "ADDRESS", value_parser = address, conflicts_with = "stdio")]
    listen: Option<String>,
    /// Serve MCP over stdin and stdout
    #[arg(long)]
    stdio: bool,
}

impl Serve {
    pub(crate) async fn run(self, hotel: &Arc<Hotel>, config: Config) -> Result<(), CommandError> {
        if self.stdio {
            return Server::start(Arc::clone(hotel), config).stdio().await;
        }
        let (listener, bound) =
            bind(self.listen.as_deref().unwrap_or(&config.hotel.listen), "--listen").await?;
        Server::start(Arc::clone(hotel), config).http(listener, bound, Router::new()).await;
        Ok(())
    }
}
