//! The official clients against our server: each lists the tools and calls every one of them, over HTTP and over
//! stdio, in the eras that it speaks. (The Rust SDK is driven by the tests of the crates.)

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::packages::Npm;
use crate::process::{self, Running};
use crate::scenario::{Call, Progress, Scenario, Variables};
use crate::server::{Data, Half, Target};
use crate::{packages, paths, server, steps};

const CLIENT_LIMIT: Duration = Duration::from_mins(2);

/// The two eras of the protocol and the revision that a client must end up with.
const ERAS: [(&str, &str); 2] = [("legacy", "2025-11-25"), ("modern", "2026-07-28")];

/// A client program.
enum Client {
    /// Steered line by line, as `tests/clients/python/client.py` describes.
    Steered { name: &'static str, eras: &'static [&'static str], words: Vec<String> },
    /// The inspector's command line: one process per call.
    Inspector { words: Vec<String> },
}

/// Runs the scenario of each server with every client, in every era, over both transports.
pub fn run() -> Result<(), String> {
    let npm = packages::npm()?;
    let clients = clients(&npm, &packages::python()?);
    let mut tally = Tally::default();

    let scenario = Scenario::read("fixture")?;
    let fixture = server::fixture()?;
    for target in [fixture.target.clone(), server::fixture_stdio()] {
        tally.run("fixture", &clients, &target, |client, era, revision| {
            let no_command = |_: &[String]| Err("the fixture has no commands".to_owned());
            client.run(&scenario, &target, era, revision, Variables::new(), no_command)
        });
    }
    drop(fixture);

    run_half("hotel", &Half::hotel()?, &clients, &mut tally)?;
    run_half("isphere", &Half::isphere()?, &clients, &mut tally)?;
    tally.finish()
}

fn run_half(name: &str, half: &Half, clients: &[Client], tally: &mut Tally) -> Result<(), String> {
    let scenario = Scenario::read(name)?;
    for target in [&half.http, &half.stdio] {
        tally.run(name, clients, target, |client, era, revision| {
            // Distinct in every run, for keys that must not meet those of another client's run.
            let run = format!("{}-{era}-{}", client.name(), target.transport());
            let mut variables = Variables::from([("run".to_owned(), json!(run))]);
            variables.insert("data".to_owned(), json!(half.data.folder));
            if let Some(mails) = &scenario.mails {
                variables.insert("mails".to_owned(), json!(filled_mails(&half.data, mails, &run)?));
            }
            client.run(&scenario, target, era, revision, variables, |words| {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let output = half.data.command(&words)?;
                // The result of a command is its stdout, as JSON where it is JSON.
                Ok(serde_json::from_str(&output).unwrap_or(Value::String(output)))
            })
        });
    }
    Ok(())
}

/// Writes the mails of `tests/clients/mails/NAME` for one run; returns their folder.
fn filled_mails(data: &Data, name: &str, run: &str) -> Result<PathBuf, String> {
    let folder = data.make_folder(&format!("mails-{run}"))?;
    let failed = |error: std::io::Error| format!("cannot fill in the mails of {name}: {error}");
    for entry in fs::read_dir(paths::workspace().join("tests/clients/mails").join(name)).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let text = fs::read_to_string(entry.path()).map_err(failed)?;
        fs::write(folder.join(entry.file_name()), text.replace("${run}", run)).map_err(failed)?;
    }
    Ok(folder)
}

/// How many client runs passed and failed.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
}

impl Tally {
    /// Runs every client in each of its eras and says how each run ended.
    fn run(
        &mut self,
        server: &str,
        clients: &[Client],
        target: &Target,
        work: impl Fn(&Client, &str, &str) -> Result<(), String>,
    ) {
        for client in clients {
            for (era, revision) in ERAS.iter().filter(|(era, _)| client.eras().contains(era)) {
                let start = Instant::now();
                let outcome = work(client, era, revision);
                let seconds = start.elapsed().as_secs_f64();
                let label =
                    format!("{seconds:5.1} s  {server} {} {era} {}", client.name(), target.transport());
                match outcome {
                    Ok(()) => {
                        self.passed += 1;
                        steps::say(&format!("ok     {label}"));
                    }
                    Err(message) => {
                        self.failed += 1;
                        steps::complain(&format!("FAILED {label}: {message}"));
                    }
                }
            }
        }
    }

    fn finish(self) -> Result<(), String> {
        steps::say(&format!("clients: {} passed, {} failed", self.passed, self.failed));
        if self.failed == 0 { Ok(()) } else { Err(format!("{} client runs failed", self.failed)) }
    }
}

fn clients(npm: &Npm, python: &Path) -> Vec<Client> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let script = paths::workspace().join("tests/clients/python/client.py");
    let inspector = npm.file("@modelcontextprotocol/inspector", "clients/launcher/build/index.js");
    let both: &[&str] = &["legacy", "modern"];
    vec![
        Client::Steered { name: "python", eras: both, words: vec![text(python), text(&script)] },
        Client::Steered {
            name: "typescript-v1",
            eras: &["legacy"],
            words: vec![text(&npm.node), text(&npm.folder.join("sdk-v1.mjs"))],
        },
        Client::Steered {
            name: "typescript-v2",
            eras: both,
            words: vec![text(&npm.node), text(&npm.folder.join("sdk-v2.mjs"))],
        },
        Client::Inspector { words: vec![text(&npm.node), text(&inspector), "--cli".to_owned()] },
    ]
}

impl Client {
    fn name(&self) -> &'static str {
        match self {
            Self::Steered { name, .. } => name,
            Self::Inspector { .. } => "inspector",
        }
    }

    fn eras(&self) -> &'static [&'static str] {
        match self {
            Self::Steered { eras, .. } => eras,
            Self::Inspector { .. } => &["legacy", "modern"],
        }
    }

    fn run(
        &self,
        scenario: &Scenario,
        target: &Target,
        era: &str,
        revision: &str,
        variables: Variables,
        command: impl Fn(&[String]) -> Result<Value, String>,
    ) -> Result<(), String> {
        match self {
            Self::Steered { words, .. } => {
                let mut conversation = Conversation::open(words, target, era)?;
                if conversation.revision != revision {
                    return Err(format!("negotiated {}, expected {revision}", conversation.revision));
                }
                every_tool_is_called(scenario, &conversation.tools)?;
                scenario.run(true, variables, |call| conversation.call(call), command)?;
                conversation.close()
            }
            Self::Inspector { words } => {
                let listed = inspect(words, target, era, &["--method", "tools/list", "--strict"])?;
                every_tool_is_called(scenario, &listed["tools"])?;
                let ask = |call: &Call| {
                    let arguments = call.arguments.to_string();
                    let method =
                        ["--method", "tools/call", "--tool-name", &call.tool, "--tool-args-json", &arguments];
                    inspect(words, target, era, &method)
                };
                scenario.run(false, variables, ask, command)
            }
        }
    }
}

/// Fails when the server lists a tool that the scenario leaves out.
fn every_tool_is_called(scenario: &Scenario, listed: &Value) -> Result<(), String> {
    let listed = listed.as_array().filter(|tools| !tools.is_empty()).ok_or("the server lists no tools")?;
    let called = scenario.tools();
    let names = listed.iter().filter_map(|tool| tool["name"].as_str());
    let left_out: Vec<&str> = names.filter(|name| !called.contains(name)).collect();
    if left_out.is_empty() {
        Ok(())
    } else {
        Err(format!("the scenario calls every tool, but not these: {}", left_out.join(", ")))
    }
}

/// A steered client with an open connection.
struct Conversation {
    revision: String,
    tools: Value,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    client: Running,
}

impl Conversation {
    fn open(words: &[String], target: &Target, era: &str) -> Result<Self, String> {
        let mut command = process::bounded(CLIENT_LIMIT, &words[0]);
        command.args(&words[1..]).args(["--era", era]);
        match target {
            Target::Http { url, token } => {
                command.args(["--url", url]);
                if let Some(token) = token {
                    command.args(["--token", token]);
                }
            }
            Target::Stdio { command: server } => {
                command.arg("--stdio").args(server);
            }
        }
        let mut client = Running::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
        let child = client.streams();
        let stdin = child.stdin.take().ok_or("the client has no stdin")?;
        let stdout = BufReader::new(child.stdout.take().ok_or("the client has no stdout")?);
        let mut conversation = Self { revision: String::new(), tools: Value::Null, stdin, stdout, client };
        let mut hello = conversation.next()?;
        hello["protocolVersion"].as_str().unwrap_or("nothing").clone_into(&mut conversation.revision);
        conversation.tools = hello["tools"].take();
        Ok(conversation)
    }

    fn call(&mut self, call: &Call) -> Result<Value, String> {
        let progress = call.progress.map(Progress::as_str);
        let line = json!({"tool": call.tool, "arguments": call.arguments, "progress": progress});
        writeln!(self.stdin, "{line}").map_err(|error| format!("the client has gone: {error}"))?;
        self.next()
    }

    /// Ends the conversation; over stdio the server must then end too, or the client waits for it in vain.
    fn close(self) -> Result<(), String> {
        drop(self.stdin);
        self.client.finish().map_err(|message| format!("the client {message} after its last call"))
    }

    fn next(&mut self) -> Result<Value, String> {
        let mut line = String::new();
        match self.stdout.read_line(&mut line) {
            Ok(0) => Err("the client ended; its message is above".to_owned()),
            Ok(_) => serde_json::from_str(&line).map_err(|error| format!("the client wrote {line}: {error}")),
            Err(error) => Err(format!("the client's stdout cannot be read: {error}")),
        }
    }
}

/// Runs the inspector once. With a tool error its exit status is 5, and the result is on stdout all the same.
fn inspect(words: &[String], target: &Target, era: &str, method: &[&str]) -> Result<Value, String> {
    // The inspector keeps its state in the home folder.
    let home = paths::cache().join("inspector-home");
    fs::create_dir_all(&home).map_err(|error| format!("cannot make {}: {error}", home.display()))?;
    let mut command = process::bounded(CLIENT_LIMIT, &words[0]);
    command.args(&words[1..]).args(["--protocol-era", era, "--format", "json", "--quiet"]).args(method);
    match target {
        Target::Http { url, token } => {
            command.args(["--transport", "http", "--server-url", url]);
            if let Some(token) = token {
                command.args(["--header", &format!("Authorization: Bearer {token}")]);
            }
        }
        Target::Stdio { command: server } => {
            // The form in which most programs want a server.
            let servers = json!({"mcpServers": {"server": {"command": server[0], "args": server[1..]}}});
            let file = home.join("mcp.json");
            fs::write(&file, servers.to_string())
                .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
            command.arg("--config").arg(file).args(["--server", "server"]);
        }
    }
    let output = inspected(command.env("HOME", home))?;
    let mut value: Value =
        serde_json::from_str(&output).map_err(|error| format!("the inspector wrote {output}: {error}"))?;
    Ok(value["result"].take())
}

fn inspected(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("the inspector cannot be started: {error}"))?;
    let tool_error = output.status.code() == Some(5) && !output.stdout.is_empty();
    if !output.status.success() && !tool_error {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the inspector ended with {}:\n{said}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| "the inspector wrote bytes that are not UTF-8".to_owned())
}
