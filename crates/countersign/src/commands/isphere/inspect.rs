//! `countersign isphere inspect`

use std::path::PathBuf;

use clap::Args;
use isphere::sources::local::inspect::{inspect, propose};

use crate::{commands::CommandError, print};

/// Look at the tables of an unknown store and propose a profile for it
///
/// The proposal is TOML on stdout, with comments on what was found and what was guessed: save it beside the store as
/// STORE.profile.toml, check it, and run `countersign isphere doctor`. The store is opened read-only.
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign isphere inspect store.db > store.profile.toml")]
pub(crate) struct Inspect {
    /// The client's SQLite file
    #[arg(value_name = "STORE.db")]
    store: PathBuf,
}

impl Inspect {
    pub(crate) fn run(self) -> Result<(), CommandError> {
        let inspection = inspect(&self.store)?;
        Ok(print::line(propose(&inspection).trim_end())?)
    }
}
