//! The servers that the client tests talk to: our own binary, started the way a user starts it.

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::process::{self, Running};
use crate::{paths, steps};

const READY_LIMIT: Duration = Duration::from_mins(1);

/// How a client reaches a server.
#[derive(Clone)]
pub enum Target {
    /// Streamable HTTP, with a bearer token where the server asks for one.
    Http { url: String, token: Option<String> },
    /// A command whose stdin and stdout carry the protocol.
    Stdio { command: Vec<String> },
}

impl Target {
    /// The transport's name, for reports.
    pub fn transport(&self) -> &'static str {
        match self {
            Self::Http { .. } => "http",
            Self::Stdio { .. } => "stdio",
        }
    }
}

/// A server on the loopback address; stopped when it is dropped.
pub struct Server {
    /// Where its MCP endpoint is.
    pub target: Target,
    _running: Running,
}

/// The debug build of the product's binary.
pub fn binary() -> PathBuf {
    paths::target().join("debug/countersign")
}

/// Builds the binary that the other functions here start.
pub fn build() -> Result<(), String> {
    let mut command = process::bounded(Duration::from_hours(1), "cargo");
    process::run(command.args(["build", "--package", "countersign"]).current_dir(paths::workspace()))
}

/// Starts `countersign fixture`, which has the tools of the conformance suite and asks for no token.
pub fn fixture() -> Result<Server, String> {
    let port = process::free_port()?;
    let mut command = process::bounded(process::SERVER_LIMIT, &binary().to_string_lossy());
    command.args(["fixture", "--listen", &format!("127.0.0.1:{port}")]);
    listening(&mut command, port, None)
}

/// The fixture over stdio.
pub fn fixture_stdio() -> Target {
    let command = [&*binary().to_string_lossy(), "fixture", "--stdio"].map(str::to_owned).to_vec();
    Target::Stdio { command }
}

fn listening(command: &mut Command, port: u16, token: Option<String>) -> Result<Server, String> {
    let mut running = Running::start(command)?;
    running.wait_until(READY_LIMIT, || TcpStream::connect(("127.0.0.1", port)).is_ok())?;
    steps::say(&format!("started a server on 127.0.0.1:{port}"));
    let target = Target::Http { url: format!("http://127.0.0.1:{port}/mcp"), token };
    Ok(Server { target, _running: running })
}
