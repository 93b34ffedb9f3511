//! The load: one server is started, answers once, is warmed up, and then has a fixed number of calls in flight for
//! a fixed time. Every answer is read and checked.

use std::collections::HashMap;
use std::io;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::contender::{Contender, Transport};

const WARM_UP: Duration = Duration::from_millis(700);
const START_LIMIT: Duration = Duration::from_secs(30);

/// What one run of one server gave.
pub struct Figures {
    pub calls_per_second: f64,
    /// Milliseconds from sending a call to having its answer: the median and the 99th percentile.
    pub median_ms: f64,
    pub p99_ms: f64,
    /// Milliseconds from starting the process to its first answer.
    pub start_ms: f64,
    /// Resident memory after the load.
    pub memory_mb: f64,
}

/// Runs one server under load. Any wrong answer is an error, since a fast wrong answer is worth nothing.
pub async fn run(contender: &Contender, in_flight: usize, time: Duration) -> io::Result<Figures> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let start = Instant::now();
    let mut server = contender.start(port)?;
    let pid = server.id();
    let latencies;
    let start_ms;
    match contender.transport {
        Transport::Http => {
            timeout(START_LIMIT, first_answer(contender, port)).await??;
            start_ms = milliseconds(start.elapsed());
            http(contender, port, in_flight, WARM_UP).await?;
            latencies = http(contender, port, in_flight, time).await?;
        }
        Transport::Stdio => {
            let missing = || io::Error::other("the server's pipes are missing");
            let stdin = server.stdin.take().ok_or_else(missing)?;
            let stdout = BufReader::new(server.stdout.take().ok_or_else(missing)?).lines();
            let mut pipe = Pipe { stdin, stdout, next_id: 1 };
            pipe.send(&contender.hello()).await?;
            timeout(START_LIMIT, pipe.receive()).await??;
            start_ms = milliseconds(start.elapsed());
            pipe.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await?;
            pipe.load(contender, in_flight, WARM_UP).await?;
            latencies = pipe.load(contender, in_flight, time).await?;
        }
    }
    let memory_mb = pid.map_or(0.0, resident_mb);
    Ok(figures(latencies, time, start_ms, memory_mb))
}

fn figures(mut latencies: Vec<Duration>, time: Duration, start_ms: f64, memory_mb: f64) -> Figures {
    latencies.sort_unstable();
    let at = |percent: usize| latencies.get(latencies.len() * percent / 100).copied().unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "a count of calls is far below 2^52")]
    let calls_per_second = latencies.len() as f64 / time.as_secs_f64();
    Figures {
        calls_per_second,
        median_ms: milliseconds(at(50)),
        p99_ms: milliseconds(at(99)),
        start_ms,
        memory_mb,
    }
}

/// Asks until the server answers; a refused connection only means that it is not there yet.
async fn first_answer(contender: &Contender, port: u16) -> io::Result<()> {
    loop {
        if let Ok(mut connection) = Connection::open(port).await {
            return connection.exchange(&contender.request(port, &contender.hello())).await.map(|_| ());
        }
        sleep(Duration::from_millis(1)).await;
    }
}

async fn http(
    contender: &Contender,
    port: u16,
    connections: usize,
    time: Duration,
) -> io::Result<Vec<Duration>> {
    let request = contender.request(port, &contender.call(1));
    let end = Instant::now() + time;
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let request = request.clone();
        tasks.spawn(async move {
            let mut connection = Connection::open(port).await?;
            let mut latencies = Vec::new();
            while Instant::now() < end {
                let sent = Instant::now();
                let answer = connection.exchange(&request).await?;
                latencies.push(sent.elapsed());
                right(answer)?;
            }
            Ok::<_, io::Error>(latencies)
        });
    }
    let mut all = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        all.extend(joined.map_err(io::Error::other)??);
    }
    Ok(all)
}

fn right(answer: &[u8]) -> io::Result<()> {
    if Contender::is_right(answer) {
        return Ok(());
    }
    let shown = String::from_utf8_lossy(&answer[..answer.len().min(300)]).into_owned();
    Err(io::Error::other(format!("wrong answer: {shown}")))
}

/// A kept-alive HTTP connection.
struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    async fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(8192) })
    }

    /// Sends a request and reads its response; returns the body, chunk sizes included where it came in chunks.
    async fn exchange(&mut self, request: &[u8]) -> io::Result<&[u8]> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let head_end = loop {
            if let Some(at) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            self.fill().await?;
        };
        let head = String::from_utf8_lossy(&self.buffer[..head_end]).to_ascii_lowercase();
        let length =
            head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
        if !head.starts_with("http/1.1 200") {
            return Err(io::Error::other(format!("not a 200: {head}")));
        }
        match length {
            Some(length) => {
                while self.buffer.len() < head_end + length {
                    self.fill().await?;
                }
            }
            None => {
                while !self.buffer[head_end..].ends_with(b"0\r\n\r\n") {
                    self.fill().await?;
                }
            }
        }
        Ok(&self.buffer[head_end..])
    }

    async fn fill(&mut self) -> io::Result<()> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

/// The standard streams of a server.
struct Pipe {
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    next_id: u64,
}

impl Pipe {
    async fn send(&mut self, message: &str) -> io::Result<()> {
        let mut line = String::with_capacity(message.len() + 1);
        line.push_str(message);
        line.push('\n');
        self.stdin.write_all(line.as_bytes()).await
    }

    async fn receive(&mut self) -> io::Result<String> {
        self.stdout.next_line().await?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    async fn call(&mut self, contender: &Contender, sent: &mut HashMap<u64, Instant>) -> io::Result<()> {
        let id = self.next_id;
        self.next_id += 1;
        sent.insert(id, Instant::now());
        self.send(&contender.call(id)).await
    }

    /// Keeps `in_flight` calls open; answers may come in any order.
    async fn load(
        &mut self,
        contender: &Contender,
        in_flight: usize,
        time: Duration,
    ) -> io::Result<Vec<Duration>> {
        let end = Instant::now() + time;
        let mut sent = HashMap::new();
        let mut latencies = Vec::new();
        for _ in 0..in_flight {
            self.call(contender, &mut sent).await?;
        }
        while !sent.is_empty() {
            let answer = self.receive().await?;
            let Some(since) = id_of(&answer).and_then(|id| sent.remove(&id)) else {
                continue;
            };
            right(answer.as_bytes())?;
            if Instant::now() < end {
                latencies.push(since.elapsed());
                self.call(contender, &mut sent).await?;
            }
        }
        Ok(latencies)
    }
}

/// The id of an answer. Servers put it first or last, and nothing in the search result is called `id` with a number.
fn id_of(answer: &str) -> Option<u64> {
    answer.match_indices(r#""id":"#).find_map(|(at, key)| {
        let rest = answer[at + key.len()..].trim_start();
        let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse().ok()
    })
}

/// Resident memory of a process in MB, from /proc; 0 where there is none.
fn resident_mb(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
