//! `countersign hotel …`: the server and its data.

mod hotels;
mod ingest;
mod messages;
mod migrate;
mod serve;
mod tasks;
mod tokens;
mod users;

use clap::{Args, Subcommand};

use super::CommandError;
use crate::{
    config::{Config, HotelFlags},
    halves,
};

/// The hotel server and its data
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign hotel ingest ./mails --db sqlite:countersign-data/hotel.db")]
pub(crate) struct Hotel {
    #[command(flatten)]
    pub(crate) flags: HotelFlags,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Serve(serve::Serve),
    Migrate(migrate::Migrate),
    Ingest(ingest::Ingest),
    Hotels(hotels::Hotels),
    Tokens(tokens::Tokens),
    Users(users::Users),
    Tasks(tasks::Tasks),
    Messages(messages::Messages),
}

impl Hotel {
    /// What is logged without `RUST_LOG`.
    pub(crate) fn log_filter(&self) -> &'static str {
        if matches!(self.action, Action::Serve(_)) { "info" } else { "off" }
    }

    pub(crate) async fn run(self, config: Config) -> Result<(), CommandError> {
        let action = match self.action {
            Action::Migrate(migrate) => return migrate.run(&config).await,
            action => action,
        };
        let writes = match &action {
            Action::Ingest(_) => true,
            Action::Hotels(hotels) => hotels.writes(),
            Action::Tokens(tokens) => tokens.writes(),
            Action::Users(users) => users.writes(),
            Action::Tasks(tasks) => tasks.is_decision(),
            _ => false,
        };
        if writes && config.policy.read_only {
            return Err(CommandError::ReadOnly);
        }
        let hotel = halves::hotel::open(&config).await?;
        let ended = match action {
            Action::Migrate(_) => Ok(()),
            Action::Serve(serve) => serve.run(&hotel, config).await,
            Action::Ingest(ingest) => ingest.run(&hotel).await,
            Action::Hotels(hotels) => hotels.run(&hotel).await,
            Action::Tokens(tokens) => tokens.run(&hotel).await,
            Action::Users(users) => users.run(&hotel).await,
            Action::Tasks(tasks) => tasks.run(&hotel).await,
            Action::Messages(messages) => messages.run(&hotel).await,
        };
        hotel.db.close().await;
        ended
    }
}
