//! `countersign isphere sample`

use std::path::PathBuf;

use clap::Args;
use isphere::sample::{Progress, Sizes, write_store};

use super::index::Reporter;
use crate::{commands::CommandError, print};

/// Write a store of a generated organisation, with its profile and files, to try everything on
///
/// Beside STORE.db it writes STORE.profile.toml and the folder STORE.files. The same numbers and the same seed give the
/// same organisation.
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign isphere sample --contacts 500 --messages 20000 store.db")]
pub(crate) struct Sample {
    /// How many people
    #[arg(long, value_name = "N", default_value_t = 500)]
    contacts: u64,
    /// How many groups
    #[arg(long, value_name = "N", default_value_t = 40)]
    groups: u64,
    /// How many messages
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    messages: u64,
    /// What the organisation is made from
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The file to write; it must not exist
    #[arg(value_name = "STORE.db")]
    store: PathBuf,
}

impl Sample {
    pub(crate) fn run(self) -> Result<(), CommandError> {
        let sizes = Sizes::new(self.contacts, self.groups, self.messages);
        let mut reporter = Reporter::new();
        let report =
            &mut |at: Progress| reporter.show(&format!("{:?}: {} of {}", at.step, at.done, at.total));
        let written = write_store(&self.store, sizes, self.seed, report);
        reporter.end();
        let profile = written?.profile;
        print::line(&format!(
            "{}: {} people, {} groups, {} messages; profile {}",
            self.store.display(),
            self.contacts,
            self.groups,
            self.messages,
            profile.display()
        ))?;
        Ok(())
    }
}
