//! A small service, and a client for each transport that shows exactly what went over the wire.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::needless_pass_by_value, reason = "`json!` at the call reads better without a reference")]
#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by a panic")]

use std::{
    io::{BufRead, BufReader, Write},
    sync::{Arc, Mutex},
};

use futures_util::future::{BoxFuture, FutureExt};
use govern::{
    audit::{Record, Recorder, RecorderHandle, Sink, SinkError},
    clock::Clock,
    credentials::{Bearer, Caller, Credentials, CredentialsUnavailable, Scope, digest},
    gate::{Gate, Policy},
    mcp::{McpOptions, Server, http, schema, stdio},
    random::Random,
    tool::{Call, Effect, Hints, Outcome, Refusal, SchemaProfile, ServerInfo, Service, Tool},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Handle,
    sync::Notify,
};

/// A service whose tools the tests can watch and hold.
#[derive(Default)]
pub struct Desk {
    /// Told when `wait` or `write` has begun.
    pub begun: Notify,
    /// Lets `wait` and `write` end.
    pub go_on: Notify,
    /// Told when `wait` was dropped before its end.
    pub dropped: Arc<Notify>,
    /// Told when `write` has written.
    pub written: Notify,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Echo {
    text: String,
    keys: Option<Keys>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    group_code: Option<String>,
}

const fn tool(
    name: &'static str,
    scope: &'static str,
    effect: Effect,
    run: for<'a> fn(&'a Desk, Call<'a>) -> BoxFuture<'a, Outcome>,
) -> Tool<Desk> {
    Tool {
        name,
        title: name,
        description: "A tool for tests.",
        toolset: "desk",
        scope,
        effect,
        hints: Hints { destructive: false, idempotent: false, open_world: false },
        input,
        output: |profile| {
            schema::object([("error", schema::nullable_result("string", "what failed", profile))], &[])
        },
        run,
    }
}

fn input(profile: SchemaProfile) -> Value {
    schema::object([("text", schema::nullable_argument("string", "any text", profile))], &[])
}

static TOOLS: [Tool<Desk>; 7] = [
    tool("echo", "read", Effect::Read, |_, call| std::future::ready(echo(&call)).boxed()),
    tool("wait", "read", Effect::Read, |desk, _| wait(desk).boxed()),
    tool("write", "submit", Effect::Write, |desk, _| write(desk).boxed()),
    tool("steps", "read", Effect::Read, |desk, call| steps(desk, call).boxed()),
    tool("flood", "read", Effect::Read, |desk, call| flood(desk, call).boxed()),
    tool("panic", "read", Effect::Read, |_, _| panic!("told to panic")),
    tool("own_record", "read", Effect::Read, |_, _| {
        std::future::ready(Outcome::ok(&json!({}), "kept elsewhere").recorded_by_tool()).boxed()
    }),
];

fn echo(call: &Call<'_>) -> Outcome {
    match call.parse::<Echo>() {
        Ok(Echo { text, keys }) => {
            let group = keys.and_then(|keys| keys.group_code).unwrap_or_default();
            let value = json!({"text": text, "caller": call.caller.name, "trace": call.trace_id});
            Outcome::ok(&value, format!("said {text}"))
                .untrusted()
                .target(group)
                .detail(&json!({"length": text.chars().count()}))
        }
        Err(fault) => Outcome::error("INVALID_ARGUMENT", &json!({"error": fault.message}), fault.message),
    }
}

async fn wait(desk: &Desk) -> Outcome {
    struct Dropped(Option<Arc<Notify>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.take().inspect(|dropped| dropped.notify_one());
        }
    }
    let mut guard = Dropped(Some(Arc::clone(&desk.dropped)));
    desk.begun.notify_one();
    desk.go_on.notified().await;
    guard.0 = None;
    Outcome::ok(&json!({}), "waited")
}

/// [`wait`] with a report before and two after.
async fn steps(desk: &Desk, call: Call<'_>) -> Outcome {
    call.progress.report(1, Some(3), "one");
    let outcome = wait(desk).await;
    call.progress.report(2, Some(3), "two");
    call.progress.report(3, Some(3), "three");
    outcome
}

/// Reports more than the buffers of any connection hold.
async fn flood(desk: &Desk, call: Call<'_>) -> Outcome {
    let message = "x".repeat(16 << 10);
    for done in 1..=4_000 {
        call.progress.report(done, None, &message);
        tokio::task::yield_now().await;
    }
    desk.written.notify_one();
    Outcome::ok(&json!({}), "flooded")
}

async fn write(desk: &Desk) -> Outcome {
    desk.begun.notify_one();
    desk.go_on.notified().await;
    desk.written.notify_one();
    Outcome::ok(&json!({}), "written")
}

impl Service for Desk {
    fn tools() -> &'static [Tool<Self>] {
        &TOOLS
    }
    fn refuse(&self, _: &Tool<Self>, refusal: &Refusal, _: &Call<'_>) -> Outcome {
        let outcome = Outcome::error(refusal.code(), &json!({"error": refusal.code()}), "refused");
        outcome.detail(&json!({"allowed": false}))
    }
    fn info() -> ServerInfo {
        ServerInfo { name: "desk", title: "Desk", version: "1.2.3", instructions: "Be brief." }
    }
}

/// Keeps records in memory.
#[derive(Default)]
pub struct Memory(Mutex<Vec<Record>>);

impl Sink for Memory {
    fn append<'a>(&'a self, batch: &'a [Record]) -> BoxFuture<'a, Result<(), SinkError>> {
        self.0.lock().unwrap().extend_from_slice(batch);
        std::future::ready(Ok(())).boxed()
    }
}

/// The tokens `reader` (scope read) and `writer` (scopes read and submit).
struct Tokens;

impl Credentials for Tokens {
    fn find(&self, wanted: [u8; 32]) -> BoxFuture<'_, Result<Option<Caller>, CredentialsUnavailable>> {
        let caller = |name: &str, scopes: &[&str]| Caller {
            name: name.to_owned(),
            scopes: scopes.iter().map(|scope| Scope::new(*scope)).collect(),
        };
        let callers = [caller("reader", &["read"]), caller("writer", &["read", "submit"])];
        let found = callers.into_iter().find(|caller| digest(&caller.name) == wanted);
        std::future::ready(Ok(found)).boxed()
    }
}

/// What a test may set.
#[derive(Default)]
pub struct Setup {
    pub policy: Policy,
    pub options: McpOptions,
    pub bearer: bool,
}

/// One server, reachable over both transports.
pub struct Rig {
    pub desk: Arc<Desk>,
    pub server: Arc<Server<Desk>>,
    records: Arc<Memory>,
    flusher: Option<RecorderHandle>,
    bearer: bool,
}

impl Rig {
    pub fn new(setup: Setup) -> Self {
        let (desk, records) = (Arc::new(Desk::default()), Arc::new(Memory::default()));
        let (recorder, flusher) = Recorder::start(records.clone());
        let gate = Arc::new(Gate::new(&setup.policy, &TOOLS));
        let (clock, random) = (Clock::manual(1_796_049_720_000), Random::seeded(1));
        let server = Arc::new(Server::new(desk.clone(), gate, recorder, setup.options, clock, random));
        Self { desk, server, records, flusher: Some(flusher), bearer: setup.bearer }
    }

    /// Ends the recorder and gives what it kept.
    pub async fn records(&mut self) -> Vec<Record> {
        self.flusher.take().unwrap().shutdown().await;
        self.records.0.lock().unwrap().clone()
    }

    /// The address of the server over HTTP.
    pub async fn listen(&self) -> String {
        let bearer = self.bearer.then(|| Arc::new(Bearer::new(Arc::new(Tokens), Clock::System)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let router = http::router(self.server.clone(), bearer, "/mcp");
        tokio::spawn(govern::http::serve(listener, router, std::future::pending()));
        address
    }

    /// Posts `body` to the endpoint.
    pub async fn post(&self, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> HttpAnswer {
        http_request(&self.listen().await, "POST", headers, body.as_ref()).await
    }

    /// Writes `lines` to the server over stdio and gives what it wrote until its end.
    pub async fn pipe(&self, lines: impl Into<Vec<u8>>) -> Vec<Value> {
        let mut pipes = self.open_pipes();
        pipes.input.write_all(&lines.into()).unwrap();
        drop(pipes.input);
        tokio::task::spawn_blocking(move || {
            pipes.output.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
        })
        .await
        .unwrap()
    }

    /// A server on pipes that stay open until dropped.
    pub fn open_pipes(&self) -> Pipes {
        let (server_input, input) = std::io::pipe().unwrap();
        let (output, server_output) = std::io::pipe().unwrap();
        let (server, caller, runtime) = (self.server.clone(), Arc::new(Caller::local()), Handle::current());
        let ended = tokio::task::spawn_blocking(move || {
            stdio::serve(&server, &caller, server_input, server_output, &runtime)
        });
        Pipes { input, output: BufReader::new(output), ended }
    }

    /// The answer to `message` over each transport, and the HTTP status.
    pub async fn over_both(&self, message: &[u8]) -> (u16, [Value; 2]) {
        let http = self.post(&[], message).await;
        let mut lines = self.pipe([message, b"\n"].concat()).await;
        assert_eq!(lines.len(), 1, "one answer over stdio: {lines:?}");
        (http.status, [http.json(), lines.remove(0)])
    }
}

pub struct Pipes {
    pub input: std::io::PipeWriter,
    pub output: BufReader<std::io::PipeReader>,
    pub ended: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Pipes {
    pub fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    pub async fn receive(self) -> (Self, Value) {
        tokio::task::spawn_blocking(move || {
            let mut this = self;
            let mut line = String::new();
            this.output.read_line(&mut line).unwrap();
            (this, serde_json::from_str(&line).unwrap())
        })
        .await
        .unwrap()
    }
}

/// One answer over HTTP, as it came.
#[derive(Debug)]
pub struct HttpAnswer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl HttpAnswer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// The data of the events of a stream.
    pub fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|json| serde_json::from_str(json).unwrap()).collect()
    }
}

/// One request on a connection of its own. Given headers replace those that a good request has; an empty value
/// leaves the header out.
pub async fn http_request(address: &str, method: &str, headers: &[(&str, &str)], body: &[u8]) -> HttpAnswer {
    let length = body.len().to_string();
    let good = [
        ("Host", address),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Content-Length", &length),
        ("Connection", "close"),
    ];
    let mut request = format!("{method} /mcp HTTP/1.1\r\n");
    let kept =
        good.iter().filter(|(name, _)| !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)));
    for (name, value) in kept.chain(headers).filter(|(_, value)| !value.is_empty()) {
        request.extend([name, ": ", value, "\r\n"]);
    }
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(&[request.as_bytes(), b"\r\n", body].concat()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    HttpAnswer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

/// A request of the handshake era.
pub fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// A call of a tool.
pub fn call(name: &str, arguments: Value) -> Value {
    request("tools/call", json!({"name": name, "arguments": arguments}))
}

/// A call whose client asks for reports under `token`.
pub fn call_with_token(name: &str, token: Value) -> Value {
    request("tools/call", json!({"name": name, "_meta": {"progressToken": token}}))
}

/// The same message in the stateless era.
pub fn stateless(mut message: Value) -> Value {
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    message
}

/// The headers that go with [`stateless`].
pub fn stateless_headers<'a>(method: &'a str, name: &'a str) -> [(&'a str, &'a str); 3] {
    [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method), ("Mcp-Name", name)]
}
