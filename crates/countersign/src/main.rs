//! The one binary. Each command is a file under `commands`.

use std::{
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

use clap::{Parser, Subcommand};
use commands::CommandError;
use config::Config;
use hotel::language::Language;

mod commands;
mod config;
mod fixture;
mod halves;
mod print;

/// The exit code when a command was called in a way that it cannot be called; the parser of arguments uses it as well.
const WRONG_USAGE: u8 = 2;

/// How long the end waits for calls that still run. After a signal a thread may be blocked for ever.
const LAST_CALLS: Duration = Duration::from_secs(2);

/// Two cores are the usual size of a small server; there the system's allocator costs a third of the throughput.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// AI agents read, propose and preview; they act only with a countersignature.
#[derive(Debug, Parser)]
#[command(name = "countersign", version, after_help = "Example: countersign demo")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run both halves on a folder of their own, with e-mails and a generated organisation to try them on
    Demo(commands::demo::Demo),
    /// The hotel server and its data
    Hotel(commands::hotel::Hotel),
    /// Contacts, messages and files of the iSphere client for agents
    Isphere(commands::isphere::Isphere),
    /// Check and read the audit trail
    Audit(commands::audit::Audit),
    /// Serve the tools that the conformance suite and the benches call
    #[command(hide = true)]
    Fixture(commands::fixture::Fixture),
    /// Print a generated page of the documentation
    #[command(hide = true)]
    Docs(commands::docs::Docs),
}

impl Command {
    fn config(&self) -> Result<Config, CommandError> {
        match self {
            Self::Hotel(hotel) => hotel.flags.load(),
            Self::Isphere(isphere) => isphere.config(),
            Self::Audit(audit) => audit.flags.load(),
            // These are the same everywhere, whatever lies in the current folder.
            Self::Demo(demo) => Ok(demo.config()),
            Self::Fixture(_) | Self::Docs(_) => Ok(Config::default()),
        }
    }

    /// What is logged without `RUST_LOG`. A command that ends by itself says what failed in its one line of error.
    fn log_filter(&self) -> &'static str {
        match self {
            Self::Demo(_) | Self::Fixture(_) => "info",
            Self::Hotel(hotel) => hotel.log_filter(),
            Self::Isphere(isphere) => isphere.log_filter(),
            Self::Audit(_) | Self::Docs(_) => "off",
        }
    }

    async fn run(self, config: Config) -> Result<(), CommandError> {
        match self {
            Self::Demo(demo) => demo.run(config).await,
            Self::Hotel(hotel) => hotel.run(config).await,
            Self::Isphere(isphere) => isphere.run(config).await,
            Self::Audit(audit) => audit.run(&config).await,
            Self::Fixture(fixture) => fixture.run().await,
            Self::Docs(docs) => docs.run(),
        }
    }
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    govern::logging::init(command.log_filter());
    let config = match command.config() {
        Ok(config) => config,
        Err(error) => return failed(&error, Language::English),
    };
    let language = config.hotel.language;
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&CommandError::Runtime(error), language),
    };
    let ended = runtime.block_on(command.run(config));
    // Calls that still run are dropped, and with them the processes that they started.
    runtime.shutdown_timeout(LAST_CALLS);
    match ended {
        Err(error) if !error.is_broken_pipe() => failed(&error, language),
        _ => ExitCode::SUCCESS,
    }
}

fn failed(error: &CommandError, language: Language) -> ExitCode {
    // When stderr is gone as well, the exit code is all there is left to say.
    let _ = writeln!(io::stderr(), "error: {}", print::one_line(&error.message(language)));
    if matches!(error, CommandError::Usage(_)) { ExitCode::from(WRONG_USAGE) } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn without_example(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        let path = format!("{path} {}", command.get_name());
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        if !help.starts_with("Example: countersign ") {
            found.push(path.clone());
        }
        for inner in command.get_subcommands() {
            without_example(inner, &path, found);
        }
    }

    #[test]
    fn every_command_shows_an_example_in_its_help() {
        let command = Cli::command();
        command.clone().debug_assert();
        let mut found = Vec::new();
        without_example(&command, "", &mut found);
        assert_eq!(found, [] as [&str; 0]);
    }
}
