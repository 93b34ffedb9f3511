//! Runs the binary as an operator does, and talks to its server as a client does.
#![allow(dead_code, reason = "each test file uses its share")]
#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by a panic")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use serde_json::{Value, json};

/// The path of the binary under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// A folder with a database of its own, in which commands run.
pub struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// A place without a hotel.
    pub fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A place with an ACTIVE hotel.
    pub fn with_hotel() -> Self {
        let place = Self::empty();
        place.prints(&["hotel", "hotels", "add", "--name", "Test Hotel", "--active"]);
        place
    }

    /// A place with a generated iSphere store, whose configuration file is the one that commands take by themselves.
    pub fn with_isphere() -> Self {
        let place = Self::empty();
        let sizes = ["--contacts", "60", "--groups", "8", "--messages", "600", "--seed", "7"];
        place.prints(&[&["isphere", "sample"], sizes.as_slice(), &["store.db"]].concat());
        for folder in ["in", "out"] {
            std::fs::create_dir(place.path().join(folder)).unwrap();
        }
        let configuration = "[isphere]\nsources = ['local_readonly']\nstate_dir = 'state'\ninbound_dir = 'in'\n\
                             outbound_dir = 'out'\noperator_id = 'li.na'\nlanguage = 'en'\n\
                             [isphere.local_readonly]\nstore = 'store.db'\n";
        std::fs::write(place.path().join("countersign.toml"), configuration).unwrap();
        place
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A command in this folder, in English and untouched by the environment of the test.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path()).env_remove("RUST_LOG").env("COUNTERSIGN_HOTEL__LANGUAGE", "en");
        command
    }

    /// Runs `countersign` with these arguments.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(BINARY).args(arguments).output().unwrap()
    }

    /// Runs it, expects success, and returns what it printed.
    pub fn prints(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// The same, as JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.prints(arguments)).unwrap()
    }

    /// Runs it, expects a failure with exit code 1, and returns its line of error.
    pub fn fails(&self, arguments: &[&str]) -> String {
        failure(self.run(arguments))
    }

    /// Makes a token with these scopes and returns its secret.
    pub fn token(&self, scopes: &[&str]) -> String {
        let mut arguments = vec!["hotel", "tokens", "add", "--name", "agent"];
        for scope in scopes {
            arguments.extend(["--scope", scope]);
        }
        self.prints(&arguments)
    }

    /// Writes a mail into `mails/NAME` and returns the path of the file.
    pub fn mail(&self, name: &str, headers: &str, text: &str) -> PathBuf {
        let folder = self.path().join("mails");
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join(name);
        std::fs::write(&file, format!("{headers}\nContent-Type: text/plain; charset=utf-8\n\n{text}\n"))
            .unwrap();
        file
    }

    /// Starts the iSphere server with a token that may do all.
    pub fn serve_isphere(&self) -> Server {
        let token = self
            .prints(&["isphere", "tokens", "add", "--name", "agent", "--scope", "read", "--scope", "send"]);
        Server::start(self.command(BINARY).args(["isphere", "serve", "--http", "127.0.0.1:0"]), token)
    }

    /// Starts the hotel server with a token that may do all.
    pub fn serve(&self) -> Server {
        let token = self.token(&["read", "submit", "ingest", "admin"]);
        Server::start(self.command(BINARY).args(["hotel", "serve", "--listen", "127.0.0.1:0"]), token)
    }
}

/// The one line of error of a command that failed with exit code 1.
pub fn failure(output: Output) -> String {
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    lines[0].to_owned()
}

/// A running server; killed when dropped.
pub struct Server {
    process: Child,
    /// Host and port.
    pub address: String,
    /// The secret to call it with.
    pub token: String,
}

impl Server {
    fn start(command: &mut Command, token: String) -> Self {
        let mut process = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "the server ended before it listened");
            if let Some((_, url)) = line.split_once("listening on http://") {
                break url.trim().trim_end_matches("/mcp").to_owned();
            }
        };
        // The log is read on, so that the server never waits for a full pipe.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Self { process, address, token }
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        terminate(&self.process);
    }

    /// Waits for the end and returns the exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }

    /// Calls a tool and returns its structured content.
    pub fn call(&self, tool: &str, arguments: &Value) -> Value {
        let (status, reply) = post(&self.address, "/mcp", &self.token, &tool_call(tool, arguments)).unwrap();
        assert_eq!(status, 200, "{reply}");
        reply["result"]["structuredContent"].clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Sends SIGTERM to a process that the test started.
pub fn terminate(process: &Child) {
    let sent = Command::new("kill").args(["-TERM", &process.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// A tools/call request.
pub fn tool_call(tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

/// Posts JSON and returns the status and the JSON that came back; an error when the connection broke.
pub fn post(address: &str, path: &str, token: &str, body: &Value) -> std::io::Result<(u16, Value)> {
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Accept: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(std::io::ErrorKind::UnexpectedEof)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    let value =
        serde_json::from_str(body).map_err(|_| std::io::Error::from(std::io::ErrorKind::UnexpectedEof))?;
    Ok((status, value))
}

/// The whole answer to a GET with this cookie.
pub fn get(address: &str, path: &str, cookie: &str) -> String {
    exchange(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n"), "")
}

/// The whole answer to a form.
pub fn post_form(address: &str, path: &str, cookie: &str, body: &str) -> String {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nCookie: {cookie}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n"
    );
    exchange(address, &head, body)
}

fn exchange(address: &str, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// A V3 submission for a message.
pub fn submission(message_id: &str, events: &[Value]) -> Value {
    json!({
        "source_message": {
            "source_message_id": message_id, "subject": null, "from": null, "cc": [], "received_at": null,
            "source_channel": "Email",
        },
        "message_events": events,
        "case_candidates": [],
        "unhandled_current_intents": [],
    })
}

/// An event that creates a group, with what a clerk would miss otherwise.
pub fn new_group(index: &str, group_code: &str) -> Value {
    let field = |field: &str, to: &str| json!({"field": field, "from": null, "to": to});
    json!({
        "source_event_index": index,
        "event_type": "BOOKING_NEW_GROUP",
        "object_type": "GROUP",
        "case_keys": {"group_code": group_code, "confirmation_number": null, "reservation_no": null},
        "proposed_changes": [
            field("agency", "Harbour Travel"), field("group_name", "Book Club"), field("arrival", "2027-03-12"),
            field("departure", "2027-03-15"), field("rooms", "10"),
        ],
    })
}
