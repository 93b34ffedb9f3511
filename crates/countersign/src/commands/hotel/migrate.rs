//! `countersign hotel migrate`

use clap::Args;
use hotel::store::Db;
use serde_json::json;

use crate::commands::CommandError;
use crate::{config::Config, print};

/// Bring the database schema up to date
///
/// PostgreSQL is migrated by this command only; a SQLite file also by every other command that opens it.
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign hotel migrate --db postgres://countersign@localhost/hotel")]
pub(crate) struct Migrate {
    /// Print JSON: {"applied": N}
    #[arg(long)]
    json: bool,
}

impl Migrate {
    pub(crate) async fn run(&self, config: &Config) -> Result<(), CommandError> {
        let applied = Db::migrate(&config.hotel.db).await?;
        Ok(match (self.json, applied) {
            (true, _) => print::json(&json!({"applied": applied})),
            (false, 0) => print::line("the database schema is up to date"),
            (false, _) => print::line(&format!("migrations applied: {applied}")),
        }?)
    }
}
