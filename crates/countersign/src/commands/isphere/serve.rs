//! `countersign isphere serve`

use std::{convert::Infallible, sync::Arc};

use clap::Args;
use govern::gate::Policy;
use isphere::{app::Isphere, doctor};

use crate::{
    commands::CommandError,
    config::{Config, IsphereFlags, address},
    halves::{bind, isphere::Server},
};

/// Serve the six tools over stdin and stdout, or with --http over HTTP
///
/// Over stdio the caller is the local process that started this one and may do all that [policy] allows; the audit
/// trail names [isphere] operator_id. Over HTTP every caller needs a bearer token (`countersign isphere tokens add`),
/// whose name is the operator. Logs go to stderr.
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign isphere serve --http 127.0.0.1:8760")]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(super) flags: IsphereFlags,
    /// Serve over HTTP on this address and port; port 0 takes a free one, which the log names
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    http: Option<String>,
}

impl Serve {
    pub(crate) async fn run(self, isphere: Arc<Isphere>, config: Config) -> Result<(), CommandError> {
        let bound = match &self.http {
            Some(address) => Some(bind(address, "--http").await?),
            None => None,
        };
        let server = Server::start(Arc::clone(&isphere), &config)?;
        let serving = async {
            match bound {
                Some((listener, bound)) => server.http(listener, bound).await,
                None => server.stdio().await,
            }
        };
        // A look may take as long as a helper that hangs, so nobody waits for it; what it started ends with the server.
        tokio::select! {
            biased;
            ended = serving => ended,
            never = look_ahead(&isphere, &config.policy) => match never {},
        }
    }
}

/// Looks at the sources once and logs what cannot be read, since a client sees that only with its first call, and the client
/// of a server over stdio may show it to nobody.
async fn look_ahead(isphere: &Isphere, policy: &Policy) -> Infallible {
    for finding in doctor::out_of_reach(&isphere.settings, policy, &isphere.clock).await {
        tracing::warn!("{}: {}", finding.subject, finding.message);
    }
    for name in &isphere.settings.sources {
        if let Err(error) = isphere.sources.named(*name).await {
            tracing::warn!(source = name.as_str(), %error, "a source cannot be read; `isphere doctor` says more");
        }
    }
    std::future::pending().await
}
