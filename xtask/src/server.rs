//! The servers that the client tests talk to: our own binary, started the way a user starts it.

use std::fs;
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
pub fn binary() -> String {
    paths::target().join("debug/countersign").to_string_lossy().into_owned()
}

/// Builds the binary that the other functions here start.
pub fn build() -> Result<(), String> {
    let mut command = process::bounded(Duration::from_hours(1), "cargo");
    process::run(command.args(["build", "--package", "countersign"]).current_dir(paths::workspace()))
}

/// Starts `countersign fixture`, which has the tools of the conformance suite and asks for no token.
pub fn fixture() -> Result<Server, String> {
    let port = process::free_port()?;
    let mut command = process::bounded(process::SERVER_LIMIT, &binary());
    command.args(["fixture", "--listen", &format!("127.0.0.1:{port}")]);
    listening(&mut command, port, None)
}

/// The fixture over stdio.
pub fn fixture_stdio() -> Target {
    Target::Stdio { command: vec![binary(), "fixture".to_owned(), "--stdio".to_owned()] }
}

/// A hotel server on a database of its own, with a hotel and a token; its folder goes when it is dropped.
pub struct Hotel {
    /// Where its MCP endpoint is.
    pub target: Target,
    server: Option<Server>,
    folder: PathBuf,
}

impl Hotel {
    /// Sets a hotel up with the commands that an operator uses, and starts `countersign hotel serve`.
    pub fn start() -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("countersign-hotel-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let mut hotel = Self { target: Target::Stdio { command: Vec::new() }, server: None, folder };
        hotel.command(&["hotels", "add", "--name", "Seaview", "--active"])?;
        let token =
            hotel.command(&["tokens", "add", "--name", "clients", "--scope", "read", "--scope", "submit"])?;
        let port = process::free_port()?;
        let mut command =
            hotel.cli(process::SERVER_LIMIT, &["serve", "--listen", &format!("127.0.0.1:{port}")]);
        let server = listening(&mut command, port, Some(token.trim().to_owned()))?;
        hotel.target = server.target.clone();
        hotel.server = Some(server);
        Ok(hotel)
    }

    /// The same hotel over stdio, beside the HTTP server and on the same database.
    pub fn stdio(&self) -> Target {
        let words = ["hotel", "serve", "--stdio", "--db"].map(str::to_owned);
        let command = [binary()].into_iter().chain(words).chain([self.database()]).collect();
        Target::Stdio { command }
    }

    /// Runs `countersign hotel …` on this hotel's database; returns its stdout.
    pub fn command(&self, words: &[&str]) -> Result<String, String> {
        process::output(&mut self.cli(READY_LIMIT, words))
    }

    /// A new folder, removed with the hotel.
    pub fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(folder)
    }

    fn cli(&self, limit: Duration, words: &[&str]) -> Command {
        let mut command = process::bounded(limit, &binary());
        command.arg("hotel").args(words).args(["--db", &self.database()]);
        command
    }

    fn database(&self) -> String {
        format!("sqlite:{}", self.folder.join("hotel.sqlite").display())
    }
}

impl Drop for Hotel {
    fn drop(&mut self) {
        // The folder can go only after the server has.
        self.server.take();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn listening(command: &mut Command, port: u16, token: Option<String>) -> Result<Server, String> {
    let mut running = Running::start(command)?;
    running.wait_until(READY_LIMIT, || TcpStream::connect(("127.0.0.1", port)).is_ok())?;
    steps::say(&format!("started a server on 127.0.0.1:{port}"));
    let target = Target::Http { url: format!("http://127.0.0.1:{port}/mcp"), token };
    Ok(Server { target, _running: running })
}
