//! The servers that the client tests talk to: our own binary, started the way a user starts it.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
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

/// A half of the product on data of its own, set up with the commands that an operator uses.
pub struct Half {
    /// Its MCP endpoint over HTTP.
    pub http: Target,
    /// The same data over stdio, beside the HTTP server: `command` and `args` of an entry of `mcpServers`.
    pub stdio: Target,
    /// Stopped before its data goes, for fields are dropped in their order.
    _server: Server,
    /// What it works on.
    pub data: Data,
}

impl Half {
    /// The hotel, with one hotel and a token.
    pub fn hotel() -> Result<Self, String> {
        let data = Data::new("hotel", |folder| {
            format!("[hotel]\ndb = 'sqlite:{}'\n", folder.join("hotel.sqlite").display())
        })?;
        data.command(&["hotel", "hotels", "add", "--name", "Seaview", "--active"])?;
        let token = data.command(&[
            "hotel", "tokens", "add", "--name", "clients", "--scope", "read", "--scope", "submit",
        ])?;
        Self::serve(data, &token, &["hotel", "serve", "--listen"], &["hotel", "serve", "--stdio"])
    }

    /// iSphere on a generated store, with its index and a token. What is received can be sent on.
    pub fn isphere() -> Result<Self, String> {
        let data = Data::new("isphere", |folder| {
            let path = |name: &str| folder.join(name).display().to_string();
            let (store, state, files) = (path("store.db"), path("state"), path("files"));
            format!(
                "[isphere]\nsources = ['local_readonly']\nstate_dir = '{state}'\ninbound_dir = '{files}'\n\
                 outbound_dir = '{files}'\noperator_id = 'clients'\n[isphere.local_readonly]\nstore = '{store}'\n"
            )
        })?;
        data.make_folder("files")?;
        let store = data.folder.join("store.db").display().to_string();
        let sizes = ["--contacts", "300", "--groups", "200", "--messages", "20000", "--seed", "1"];
        let mut sample = process::bounded(READY_LIMIT, &binary());
        process::output(sample.args(["isphere", "sample"]).args(sizes).arg(&store))?;
        data.command(&["isphere", "index"])?;
        let token = data.command(&[
            "isphere", "tokens", "add", "--name", "clients", "--scope", "read", "--scope", "send",
        ])?;
        Self::serve(data, &token, &["isphere", "serve", "--http"], &["isphere", "serve"])
    }

    /// Starts the command `http`, to which the address is added, and names the command `stdio`.
    fn serve(data: Data, token: &str, http: &[&str], stdio: &[&str]) -> Result<Self, String> {
        let port = process::free_port()?;
        let address = format!("127.0.0.1:{port}");
        let mut command = data.cli(process::SERVER_LIMIT, &[http, &[&address]].concat());
        let server = listening(&mut command, port, Some(token.trim().to_owned()))?;
        let words = stdio.iter().map(|word| (*word).to_owned());
        let command = [binary()].into_iter().chain(words).chain(data.flags()).collect();
        Ok(Self { http: server.target.clone(), stdio: Target::Stdio { command }, _server: server, data })
    }
}

/// The data of one half: a folder with a configuration file, removed when this is dropped.
pub struct Data {
    /// Where it lies.
    pub folder: PathBuf,
}

impl Data {
    fn new(name: &str, configuration: impl FnOnce(&Path) -> String) -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("countersign-{name}-{}", std::process::id()));
        let data = Self { folder };
        data.make_folder("")?;
        fs::write(data.configuration(), configuration(&data.folder))
            .map_err(|error| format!("cannot write {}: {error}", data.configuration().display()))?;
        Ok(data)
    }

    /// Runs `countersign WORDS` on this data; returns its stdout.
    pub fn command(&self, words: &[&str]) -> Result<String, String> {
        process::output(&mut self.cli(READY_LIMIT, words))
    }

    /// Makes a folder inside; an empty name is this folder itself.
    pub fn make_folder(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(folder)
    }

    fn cli(&self, limit: Duration, words: &[&str]) -> Command {
        let mut command = process::bounded(limit, &binary());
        command.args(words).args(self.flags());
        command
    }

    fn flags(&self) -> [String; 2] {
        ["--config".to_owned(), self.configuration().display().to_string()]
    }

    fn configuration(&self) -> PathBuf {
        self.folder.join("countersign.toml")
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // What cannot be removed lies in the system's temporary folder, which is cleared by others.
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
