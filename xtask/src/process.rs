//! Child processes: each with a time limit, none left behind.

use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a test server may live; far above what any run takes.
pub const SERVER_LIMIT: Duration = Duration::from_hours(1);

/// A command that ends with xtask, and by itself after `limit`.
///
/// Linux does both: `setpriv --pdeathsig` ends the child when xtask dies, by Ctrl-C too, and `timeout` ends it
/// with all of its children when the time is over. SIGINT makes PostgreSQL and our server stop at once but clean.
/// Elsewhere the command runs without limits, which only `test --quick` and `check` need.
pub fn bounded(limit: Duration, program: &str) -> Command {
    if cfg!(target_os = "linux") {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "INT", "timeout", "--signal=INT", "--kill-after=10"]);
        command.arg(limit.as_secs().to_string()).arg(program).stdin(Stdio::null());
        command
    } else {
        let mut command = Command::new(program);
        command.stdin(Stdio::null());
        command
    }
}

/// Runs a command to its end with its output on the terminal; an exit status other than 0 is an error.
pub fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| cannot_start(command, &error))?;
    if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", shown(command))) }
}

/// Runs a command to its end and returns its stdout; an exit status other than 0 is an error with its stderr.
pub fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| cannot_start(command, &error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} ended with {}:\n{said}", shown(command), output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{} wrote bytes that are not UTF-8", shown(command)))
}

/// Whether `program --version` runs.
pub fn exists(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A running child that is stopped when it is dropped.
pub struct Running(Child);

impl Running {
    /// Starts a command that `bounded` made.
    pub fn start(command: &mut Command) -> Result<Self, String> {
        command.spawn().map(Self).map_err(|error| cannot_start(command, &error))
    }

    /// Waits until `ready` holds, or fails when the child ends before it or `limit` passes.
    pub fn wait_until(&mut self, limit: Duration, mut ready: impl FnMut() -> bool) -> Result<(), String> {
        let start = Instant::now();
        while !ready() {
            if let Ok(Some(status)) = self.0.try_wait() {
                return Err(format!("the server ended with {status} before it was ready"));
            }
            if start.elapsed() > limit {
                return Err(format!("the server was not ready after {} s", limit.as_secs()));
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "another program's readiness can only be asked for"
            )]
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Waits for the child to end by itself, which the time limit of `bounded` sees to.
    pub fn finish(mut self) -> Result<(), String> {
        match self.0.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("ended with {status}")),
            Err(error) => Err(format!("cannot be waited for: {error}")),
        }
    }

    /// The standard streams of the child, where they were piped.
    pub fn streams(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(Some(_))) {
            return;
        }
        // `timeout` hands the signal on; its --kill-after sees to a child that ignores it.
        let interrupted = Command::new("kill").args(["-INT", &self.0.id().to_string()]).status();
        if interrupted.is_err() {
            let _ = self.0.kill();
        }
        let _ = self.0.wait();
    }
}

/// A TCP port on the loopback address that was free a moment ago.
pub fn free_port() -> Result<u16, String> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| format!("no free port on 127.0.0.1: {error}"))
}

/// The command as one would type it, without the wrapper that bounds it.
fn shown(command: &Command) -> String {
    let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
    if command.get_program() == "setpriv" {
        words.skip_while(|word| !word.starts_with("--kill-after")).skip(2).collect::<Vec<_>>().join(" ")
    } else {
        let program = command.get_program().to_string_lossy().into_owned();
        std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ")
    }
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("{} cannot be started: {error}", shown(command))
}
