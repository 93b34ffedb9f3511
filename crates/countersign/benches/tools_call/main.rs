//! tools/call from outside: our server beside plain axum and other MCP servers, one after the other in every
//! round, each at 1 and at 32 calls in flight. Only the ratios of one run mean anything; `cargo xtask bench` runs
//! this and docs/performance.md says what was reached.
//!
//! usage: tools_call [--rounds N] [--seconds S] [--peers FILE]
//! FILE is a JSON list of servers as `Contender` reads it.

mod contender;
mod load;
mod plain;
mod report;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use contender::{Contender, Revision, Transport};
use report::{OURS, PLAIN, Report};

/// The allocator of the product, so that plain axum has it too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const IN_FLIGHT: [usize; 2] = [1, 32];

struct Options {
    rounds: usize,
    seconds: f64,
    peers: Vec<Contender>,
}

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, port] = arguments.as_slice()
        && role == "plain"
    {
        let port = port.parse().map_err(io::Error::other)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        return runtime.block_on(plain::serve(port)).map(|()| ExitCode::SUCCESS);
    }
    let options = options(&arguments)?;
    // The load uses one thread, which leaves the other core to the server.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (text, well) = runtime.block_on(measure(&options))?.markdown();
    writeln!(io::stdout(), "{text}")?;
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Reads the command line; `cargo bench` adds a `--bench` of its own.
fn options(arguments: &[String]) -> io::Result<Options> {
    let mut options = Options { rounds: 5, seconds: 3.0, peers: Vec::new() };
    let mut words = arguments.iter().filter(|word| *word != "--bench");
    while let Some(flag) = words.next() {
        let value = words.next().ok_or_else(|| io::Error::other(format!("{flag} needs a value")))?;
        match flag.as_str() {
            "--rounds" => options.rounds = value.parse().map_err(io::Error::other)?,
            "--seconds" => options.seconds = value.parse().map_err(io::Error::other)?,
            "--peers" => options.peers = serde_json::from_slice(&std::fs::read(value)?)?,
            _ => return Err(io::Error::other(format!("unknown option {flag}"))),
        }
    }
    Ok(options)
}

async fn measure(options: &Options) -> io::Result<Report> {
    let mut contenders = own()?;
    contenders.extend(options.peers.iter().cloned());
    let time = Duration::from_secs_f64(options.seconds);
    let mut report = Report::default();
    for round in 0..options.rounds {
        writeln!(io::stderr(), "round {} of {}", round + 1, options.rounds)?;
        for in_flight in IN_FLIGHT {
            // Each round begins with another server, so that none always follows the same one.
            for index in 0..contenders.len() {
                let contender = &contenders[(index + round) % contenders.len()];
                report.add(contender, in_flight, round, load::run(contender, in_flight, time).await);
            }
        }
    }
    Ok(report)
}

/// Our server in each way that it is spoken to, and plain axum.
fn own() -> io::Result<Vec<Contender>> {
    let ours = |transport, revision, words: &[&str]| Contender {
        name: OURS.to_owned(),
        transport,
        revision,
        path: "/mcp".to_owned(),
        command: [&[env!("CARGO_BIN_EXE_countersign"), "fixture"], words]
            .concat()
            .iter()
            .map(|word| (*word).to_owned())
            .collect(),
    };
    let this = std::env::current_exe()?.to_string_lossy().into_owned();
    Ok(vec![
        ours(Transport::Http, Revision::Legacy, &["--listen", "127.0.0.1:{port}"]),
        ours(Transport::Http, Revision::Modern, &["--listen", "127.0.0.1:{port}"]),
        ours(Transport::Stdio, Revision::Legacy, &["--stdio"]),
        Contender {
            name: PLAIN.to_owned(),
            transport: Transport::Http,
            revision: Revision::Plain,
            path: "/search".to_owned(),
            command: vec![this, "plain".to_owned(), "{port}".to_owned()],
        },
    ])
}
