//! MCP over a pair of pipes, one message a line.
//!
//! Each call is polled once where its line was read. A call that is ready then is answered at once, without a
//! task or a wake-up, which is several times faster; one that has to wait goes on as a task, so that it blocks no
//! other and can be cancelled.

use std::{
    collections::HashMap,
    io::{self, BufRead, BufReader, Read, Write},
    sync::{Arc, Mutex, MutexGuard, mpsc},
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures_util::FutureExt;
use tokio::{runtime::Handle, task::AbortHandle};

use super::{
    Server,
    exchange::{Exchange, Outgoing},
    fault::Fault,
    message::readable_id,
};
use crate::{credentials::Caller, tool::Service};

const INPUT_BUFFER: usize = 64 << 10;

/// Answers are written together while further lines are there already, up to this many bytes.
const ANSWERS: usize = 64 << 10;

/// How long calls that still run when the input ends may take to answer.
const LAST_ANSWERS: Duration = Duration::from_secs(30);

/// Serves until `input` ends, then waits for the calls that still run, at most 30 seconds. Blocks its thread; the
/// calls that wait run on `runtime`. That nobody reads `output` any more is an ordinary end.
pub fn serve<S: Service>(
    server: &Arc<Server<S>>,
    caller: &Arc<Caller>,
    input: impl Read,
    output: impl Write + Send + 'static,
    runtime: &Handle,
) -> io::Result<()> {
    match serve_lines(server, caller, input, &Arc::new(Mutex::new(output)), runtime) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
    }
}

/// [`serve`] on a thread of its own, until the input ends or `shutdown` is ready. In the latter case the thread
/// stays blocked in its read until the process ends.
pub async fn serve_until<S: Service>(
    server: Arc<Server<S>>,
    caller: Arc<Caller>,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let (ended, end) = tokio::sync::oneshot::channel();
    let runtime = Handle::current();
    std::thread::Builder::new().name("mcp-stdio".to_owned()).spawn(move || {
        // Nobody waits any more after a shutdown.
        let _ = ended.send(serve(&server, &caller, input, output, &runtime));
    })?;
    tokio::select! {
        ended = end => ended.unwrap_or_else(|_| Err(io::Error::other("the stdio thread panicked"))),
        () = shutdown => Ok(()),
    }
}

fn serve_lines<S: Service, W: Write + Send + 'static>(
    server: &Arc<Server<S>>,
    caller: &Arc<Caller>,
    input: impl Read,
    output: &Arc<Mutex<W>>,
    runtime: &Handle,
) -> io::Result<()> {
    // The first poll happens on this thread and may start timers and tasks.
    let _entered = runtime.enter();
    let limit = server.options().body_limit_bytes;
    let mut input = BufReader::with_capacity(INPUT_BUFFER, input);
    let (tasks, all_done) = Tasks::new(Arc::clone(output), runtime.clone());
    let mut answers = Vec::new();
    loop {
        match next_line(&mut input, limit)? {
            Line::End => break,
            Line::Blank => {}
            Line::TooLong => {
                let fault = Fault::too_large(format!("The line is longer than {limit} bytes."));
                push_line(&mut answers, &fault.reply(None).body);
            }
            Line::Message(line) => {
                let mut exchange = exchange(server, caller, &line);
                match exchange.poll_next(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(Outgoing::Reply(reply)) => {
                        reply.cancels.iter().for_each(|id| tasks.cancel(id));
                        push_line(&mut answers, &reply.body);
                    }
                    Poll::Ready(Outgoing::Report(report)) => {
                        push_line(&mut answers, &report);
                        // The task writes for itself, so this report goes out before it starts.
                        write_out(output, &answers)?;
                        answers.clear();
                        tasks.go_on(readable_id(&line), exchange);
                    }
                    Poll::Pending => tasks.go_on(readable_id(&line), exchange),
                }
            }
        }
        if !answers.is_empty() && (answers.len() > ANSWERS || !input.buffer().contains(&b'\n')) {
            write_out(output, &answers)?;
            answers.clear();
        }
    }
    drop(tasks);
    // An error says that all senders are gone, that is, that all calls have been answered.
    if all_done.recv_timeout(LAST_ANSWERS) == Err(mpsc::RecvTimeoutError::Timeout) {
        tracing::warn!("the input ended, and calls that still run are given up");
    }
    Ok(())
}

fn exchange<S: Service>(server: &Arc<Server<S>>, caller: &Arc<Caller>, line: &Arc<Vec<u8>>) -> Exchange {
    let (server, caller, line) = (Arc::clone(server), Arc::clone(caller), Arc::clone(line));
    Exchange::new(|reports| async move { server.dispatch(None, &caller, &line, &reports).await }.boxed())
}

/// The calls that run as tasks.
struct Tasks<W> {
    running: Arc<Mutex<HashMap<String, AbortHandle>>>,
    output: Arc<Mutex<W>>,
    runtime: Handle,
    /// Each task holds a clone until it is over; nothing is ever sent.
    alive: mpsc::Sender<()>,
}

impl<W: Write + Send + 'static> Tasks<W> {
    fn new(output: Arc<Mutex<W>>, runtime: Handle) -> (Self, mpsc::Receiver<()>) {
        let (alive, all_done) = mpsc::channel();
        (Self { running: Arc::default(), output, runtime, alive }, all_done)
    }

    fn go_on(&self, id: Option<String>, mut exchange: Exchange) {
        let (running, output, alive) =
            (Arc::clone(&self.running), Arc::clone(&self.output), self.alive.clone());
        let key = id.clone();
        // Held until the handle is in the map, so that the task cannot end before that.
        let mut handles = lock(&self.running);
        let task = self.runtime.spawn(async move {
            let _alive = alive;
            let reply = loop {
                match exchange.next().await {
                    Outgoing::Report(report) => write_line(&output, &report).await,
                    Outgoing::Reply(reply) => break reply,
                }
            };
            if let Some(key) = key {
                lock(&running).remove(&key);
            }
            write_line(&output, &reply.body).await;
        });
        if let Some(id) = id {
            handles.insert(id, task.abort_handle());
        }
    }

    /// A cancelled call is not answered.
    fn cancel(&self, id: &str) {
        if let Some(task) = lock(&self.running).remove(id) {
            task.abort();
        }
    }
}

enum Line {
    Message(Arc<Vec<u8>>),
    Blank,
    TooLong,
    End,
}

fn next_line(input: &mut impl BufRead, limit: usize) -> io::Result<Line> {
    let mut line = Vec::new();
    // One more than the limit shows that the line is longer.
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    if input.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
        return Ok(Line::End);
    }
    if line.len() > limit && !line.ends_with(b"\n") {
        input.skip_until(b'\n')?;
        return Ok(Line::TooLong);
    }
    Ok(if line.trim_ascii().is_empty() { Line::Blank } else { Line::Message(Arc::new(line)) })
}

fn push_line(answers: &mut Vec<u8>, body: &[u8]) {
    if !body.is_empty() {
        answers.extend_from_slice(body);
        answers.push(b'\n');
    }
}

/// A client that does not read must not block a worker of the runtime. That it has gone shows at the next answer that
/// is written inline, or at the end of the input.
async fn write_line<W: Write + Send + 'static>(output: &Arc<Mutex<W>>, body: &[u8]) {
    let (output, mut line) = (Arc::clone(output), Vec::new());
    push_line(&mut line, body);
    let _ = tokio::task::spawn_blocking(move || write_out(&output, &line)).await;
}

fn write_out<W: Write>(output: &Mutex<W>, bytes: &[u8]) -> io::Result<()> {
    let mut output = lock(output);
    output.write_all(bytes)?;
    output.flush()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no holder of this lock panics")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, limit: usize) -> Vec<String> {
        let mut input = BufReader::with_capacity(4, text.as_bytes());
        std::iter::from_fn(|| match next_line(&mut input, limit).unwrap() {
            Line::End => None,
            Line::Blank => Some("blank".to_owned()),
            Line::TooLong => Some("too long".to_owned()),
            Line::Message(line) => Some(String::from_utf8_lossy(line.trim_ascii()).into_owned()),
        })
        .collect()
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
        assert_eq!(lines("12345\n123456\n12\n", 5), ["12345", "too long", "12"]);
        assert_eq!(lines("123456", 5), ["too long"]);
    }

    #[test]
    fn line_ends_may_have_a_carriage_return_or_be_absent_at_the_end() {
        assert_eq!(lines("1\r\n\r\n \n2", 5), ["1", "blank", "blank", "2"]);
    }
}
