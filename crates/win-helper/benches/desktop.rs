//! What an answer costs on a desktop: the start of the process, and a tree of more and more elements.
//!
//! `cargo xtask windows bench` runs it under Wine, whose UI Automation takes tens of milliseconds for an element; so the
//! absolute times say nothing about Windows, and the growth does.

#[cfg(windows)]
#[path = "../tests/windows/desk.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "shared with the tests, which use all of it")]
mod desk;

#[cfg(windows)]
fn main() -> std::io::Result<()> {
    measured::run()
}

/// Elsewhere there is no desktop to measure.
#[cfg(not(windows))]
fn main() {}

#[cfg(windows)]
mod measured {
    use std::io::{self, Write};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use serde_json::json;

    use crate::desk::{ChatWindow, ask};

    const STARTS: usize = 41;
    const DUMPS: usize = 3;
    /// The elements of the fixture's window without further rows.
    const ELEMENTS: u32 = 17;

    pub fn run() -> io::Result<()> {
        let bare = median(STARTS, start_alone)?;
        let version = median(STARTS, || Ok(ask("version", &json!({})).took))?;
        report("start, refusing a command-line argument", bare)?;
        report("start, answering version", version)?;
        for elements in [30_u32, 100, 300] {
            let rows = (elements - ELEMENTS).to_string();
            let window = ChatWindow::open(&["--rows", &rows]);
            let arguments = json!({ "hwnd": window.hwnd, "max_children": 500 });
            let took = median(DUMPS, || {
                let answer = ask("dump_uia", &arguments);
                assert_eq!(answer.data()["node_count"], elements);
                Ok(answer.took)
            })?;
            let each = took.saturating_sub(version).as_secs_f64() * 1000.0 / f64::from(elements);
            report(&format!("dump of {elements} elements ({each:.1} ms for each)"), took)?;
        }
        Ok(())
    }

    /// The process without a request: what Windows needs to start and end it.
    fn start_alone() -> io::Result<Duration> {
        let start = Instant::now();
        let mut helper = Command::new(env!("CARGO_BIN_EXE_ISphereWinHelper"));
        helper.arg("--no-such-argument").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        helper.status()?;
        Ok(start.elapsed())
    }

    fn median(rounds: usize, mut measure: impl FnMut() -> io::Result<Duration>) -> io::Result<Duration> {
        let mut times = (0..rounds).map(|_| measure()).collect::<io::Result<Vec<_>>>()?;
        times.sort_unstable();
        Ok(times[rounds / 2])
    }

    fn report(what: &str, time: Duration) -> io::Result<()> {
        writeln!(io::stdout(), "{what}: {:.1} ms", time.as_secs_f64() * 1000.0)
    }
}
