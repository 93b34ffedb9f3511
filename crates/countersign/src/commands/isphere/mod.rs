//! `countersign isphere …`: the server of the six tools, and what an operator needs to set it up.

mod doctor;
mod helper;
mod index;
mod inspect;
mod sample;
mod serve;
mod tokens;

use clap::{Args, Subcommand};

use super::CommandError;
use crate::{config::Config, halves};

/// Contacts, messages and files of the iSphere client for agents
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign isphere serve --config countersign.toml")]
pub(crate) struct Isphere {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Serve(serve::Serve),
    Doctor(doctor::Doctor),
    Inspect(inspect::Inspect),
    Helper(helper::Helper),
    Index(index::Index),
    Sample(sample::Sample),
    Tokens(tokens::Tokens),
}

impl Isphere {
    /// The configuration; the default one for commands that work on the file they are given and nothing else.
    pub(crate) fn config(&self) -> Result<Config, CommandError> {
        match &self.action {
            Action::Serve(serve) => serve.flags.load(),
            Action::Doctor(doctor) => doctor.flags.load(),
            Action::Helper(helper) => helper.config(),
            Action::Index(index) => index.flags.load(),
            Action::Tokens(tokens) => tokens.flags.load(),
            Action::Inspect(_) | Action::Sample(_) => Ok(Config::default()),
        }
    }

    /// What is logged without `RUST_LOG`.
    pub(crate) fn log_filter(&self) -> &'static str {
        match self.action {
            Action::Serve(_) => "info",
            // What the helper said on stderr is a part of the answer to a person.
            Action::Helper(_) => "warn",
            _ => "off",
        }
    }

    pub(crate) async fn run(self, config: Config) -> Result<(), CommandError> {
        match self.action {
            Action::Serve(serve) => serve.run(halves::isphere::open(&config)?, config).await,
            Action::Doctor(doctor) => doctor.run(&config).await,
            Action::Inspect(inspect) => inspect.run(),
            Action::Helper(helper) => helper.run(&config).await,
            Action::Index(index) => index.run(&config.isphere),
            Action::Sample(sample) => sample.run(),
            Action::Tokens(tokens) => tokens.run(&config.isphere),
        }
    }
}
