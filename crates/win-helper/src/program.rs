//! The life of the process: read a request, work under its time limit, write the response, end.

use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

use crate::desktop;
use crate::fault::Fault;
use crate::progress::Progress;
use crate::protocol::{self, Identity, MOST_REQUEST_BYTES, Request, Response};
use crate::watchdog;

/// How long a request may take to arrive, in milliseconds.
const STDIN_LIMIT: Duration = Duration::from_secs(10);

const USAGE: &str = "ISphereWinHelper takes no arguments: write one JSON request (protocol isphere.helper.v1) to its \
                     stdin and close it; the response comes on stdout.\n";

/// Answers the request on stdin. Exit code 0 means that a response was written, whatever it says; 1 that it could not
/// be written; 2 that there were command-line arguments.
pub fn run() -> ExitCode {
    if std::env::args_os().len() > 1 {
        diagnose(USAGE);
        return ExitCode::from(2);
    }
    let started = Instant::now();
    let response = match read_request(std::io::stdin(), STDIN_LIMIT) {
        Ok(bytes) => answer(&bytes, started),
        Err(fault) => Response::new(Identity::default(), Err(fault), Vec::new()),
    };
    let code = match write(&response) {
        Ok(()) => 0,
        Err(error) => {
            diagnose(&format!("the response could not be written: {error}\n"));
            1
        }
    };
    // A thread may still hang in a call; a normal end could wait for it.
    desktop::end_process(code)
}

/// The response to a request that came when the process `started`.
pub fn answer(request: &[u8], started: Instant) -> Response {
    let Request { identity, timeout_ms, operation } = match protocol::parse(request) {
        Ok(request) => request,
        Err((identity, fault)) => return Response::new(identity, Err(fault), Vec::new()),
    };
    let progress = Arc::new(Progress::default());
    let limit = Duration::from_millis(timeout_ms).saturating_sub(started.elapsed());
    let so_far = operation.so_far();
    let outcome =
        watchdog::within(limit, timeout_ms, &progress, move |progress| operation.run(progress), so_far);
    Response::new(identity, outcome, progress.warnings())
}

/// Reads `input` to its end, or up to the first byte that is too many. It is read in a thread of its own, because a
/// caller that never closes it must not hold this process for ever.
fn read_request(input: impl Read + Send + 'static, limit: Duration) -> Result<Vec<u8>, Fault> {
    let (done, request) = sync_channel(1);
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // Room for a byte order mark, and for one byte too many.
        let most = MOST_REQUEST_BYTES as u64 + 4;
        let read = input.take(most).read_to_end(&mut bytes);
        // Nobody listens any more when the limit passed.
        let _ = done.send(read.map(|_| bytes));
    });
    match request.recv_timeout(limit) {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) => {
            diagnose(&format!("stdin could not be read: {error}\n"));
            Err(Fault::InvalidRequest("stdin could not be read; write one JSON object to it".to_owned()))
        }
        Err(_) => Err(Fault::NoRequest(limit)),
    }
}

/// Writes the response as one line.
fn write(response: &Response) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(response)?;
    line.push(b'\n');
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}

/// Writes to stderr, where diagnosis goes. That it cannot be written is nothing to fail for.
fn diagnose(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};

    const LONG: Duration = Duration::from_mins(1);
    const SHORT: Duration = Duration::from_millis(20);

    /// An input that has nothing to read before its sender is dropped, then ends.
    struct Open(Receiver<()>);

    impl Read for Open {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Ok(self.0.recv().map_or(0, |()| 0))
        }
    }

    /// An input that cannot be read.
    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("a test's own"))
        }
    }

    #[test]
    fn an_input_that_ends_is_read_whole() {
        assert_eq!(read_request(&b"{}"[..], LONG), Ok(b"{}".to_vec()));
    }

    #[test]
    fn an_input_that_never_ends_is_not_waited_for() {
        let (_open, held) = channel();
        assert_eq!(read_request(Open(held), SHORT), Err(Fault::NoRequest(SHORT)));
    }

    #[test]
    fn an_input_without_end_is_read_up_to_the_limit() {
        let read = read_request(std::io::repeat(b' '), LONG).unwrap();
        assert_eq!(read.len(), MOST_REQUEST_BYTES + 4);
    }

    #[test]
    fn an_input_that_cannot_be_read_is_refused_without_the_systems_words() {
        let Err(Fault::InvalidRequest(message)) = read_request(Broken, LONG) else { panic!("not refused") };
        assert!(!message.contains("a test's own"));
    }
}
