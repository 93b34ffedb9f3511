//! The one binary. Each command is a file under `commands`.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{Parser, Subcommand};

mod commands;
mod fixture;

/// Two cores are the usual size of a small server; there the system's allocator costs a third of the throughput.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// AI agents read, propose and preview; they act only with a countersignature.
#[derive(Debug, Parser)]
#[command(name = "countersign", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the tools that the conformance suite and the benches call
    #[command(hide = true)]
    Fixture(commands::fixture::Fixture),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    govern::logging::init();
    let ended = match cli.command {
        Command::Fixture(fixture) => fixture.run(),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // When stderr is gone as well, the exit code is all there is left to say.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}
