//! A browser without scripts: keeps its cookies, and sends back the token of the last page.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, Response, StatusCode, header};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use govern::audit::{Record, Recorder, RecorderHandle, Sink, SinkError};
use govern::credentials::Bearer;
use govern::gate::{Gate, Policy};
use govern::http::Peer;
use govern::mcp::McpOptions;
use govern::tool::Service;
use hotel::app::tokens::TokenStore;
use hotel::app::users;
use hotel::console::ConsoleOptions;
use hotel::domain::role::Role;
use hotel::http::{Interfaces, router};
use hotel::mcp::HotelTools;
use hotel::testing::Rig;
use tower::ServiceExt as _;

/// A hotel with its console.
pub struct House {
    pub rig: Rig,
    pub router: Router,
    kept: Arc<Kept>,
    recorder: RecorderHandle,
}

/// The records that no write's own transaction keeps.
#[derive(Default)]
struct Kept(Mutex<Vec<Record>>);

impl Sink for Kept {
    fn append<'a>(&'a self, batch: &'a [Record]) -> BoxFuture<'a, Result<(), SinkError>> {
        self.0.lock().unwrap().extend_from_slice(batch);
        async { Ok(()) }.boxed()
    }
}

impl House {
    pub async fn open(rig: Rig) -> Self {
        Self::with(rig, Policy::default(), ConsoleOptions::default()).await
    }

    pub async fn with(rig: Rig, policy: Policy, console: ConsoleOptions) -> Self {
        rig.activate().await;
        let kept = Arc::new(Kept::default());
        let (sender, recorder) = Recorder::start(Arc::clone(&kept) as Arc<dyn Sink>);
        let interfaces = Interfaces {
            hotel: Arc::clone(&rig.hotel),
            gate: Arc::new(Gate::new(&policy, HotelTools::tools())),
            recorder: sender,
            bearer: Arc::new(Bearer::new(
                Arc::new(TokenStore::new(rig.hotel.db.clone(), rig.hotel.clock.clone())),
                rig.hotel.clock.clone(),
            )),
            options: McpOptions::default(),
            console,
            loopback_only: true,
        };
        let router = router(interfaces);
        Self { rig, router, kept, recorder }
    }

    /// Adds a person and returns the password.
    pub async fn person(&self, name: &str, role: Role) -> String {
        let password = users::add(&self.rig.hotel, self.rig.request("local"), name, role).await.unwrap();
        password.expose().to_owned()
    }

    /// A browser nobody is logged in with.
    pub fn browser(&self) -> Browser {
        Browser {
            router: self.router.clone(),
            address: "192.0.2.7:40000".parse().unwrap(),
            cookies: Vec::new(),
            token: String::new(),
            extra: Vec::new(),
        }
    }

    /// A browser with a new person of this role in it.
    pub async fn logged_in(&self, name: &str, role: Role) -> Browser {
        let password = self.person(name, role).await;
        let mut browser = self.browser();
        let answer = browser.log_in(name, &password).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
        browser
    }

    /// What was recorded outside the writes' own transactions: caller, operation, outcome, code.
    pub async fn recorded(self) -> Vec<(String, String, &'static str, String)> {
        self.recorder.shutdown().await;
        let records = self.kept.0.lock().unwrap();
        let row = |record: &Record| {
            let code = record.code.as_ref().map(ToString::to_string).unwrap_or_default();
            (record.caller.clone(), record.operation.to_string(), record.outcome.as_str(), code)
        };
        records.iter().map(row).collect()
    }
}

/// Where somebody sits.
pub struct Browser {
    router: Router,
    pub address: SocketAddr,
    pub cookies: Vec<(String, String)>,
    pub token: String,
    /// What a script adds to each request.
    pub extra: Vec<(&'static str, &'static str)>,
}

/// An answer, read to its end.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Browser {
    pub async fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, String::new()).await
    }

    /// Sends a form with the token of the last page.
    pub async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("token", &self.token);
        form.extend_pairs(fields);
        self.send("POST", path, form.finish()).await
    }

    pub async fn log_in(&mut self, name: &str, password: &str) -> Answer {
        self.get("/console/login").await;
        let answer = self.post("/console/login", &[("name", name), ("password", password)]).await;
        if answer.status == StatusCode::SEE_OTHER {
            self.get("/console/account").await;
        }
        answer
    }

    /// Sends a request and reads the answer; a stream of events is left unread.
    pub async fn send(&mut self, method: &str, path: &str, body: String) -> Answer {
        let (head, body) = self.begin(method, path, body).await.into_parts();
        let is_stream =
            head.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
        let body = if is_stream { Body::empty() } else { body };
        let text = String::from_utf8(to_bytes(body, 16 << 20).await.unwrap().to_vec()).unwrap();
        if let Some((_, rest)) = text.split_once("name=\"token\" value=\"") {
            rest.split('"').next().unwrap().clone_into(&mut self.token);
        }
        Answer { status: head.status, headers: head.headers, text }
    }

    /// Sends a request and reads the head of the answer.
    pub async fn begin(&mut self, method: &str, path: &str, body: String) -> Response<Body> {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "localhost:8750")
            .header(header::COOKIE, cookies.join("; "))
            .extension(Peer(self.address));
        for (name, value) in &self.extra {
            request = request.header(*name, *value);
        }
        if method == "POST" {
            request = request
                .header(header::ORIGIN, "http://localhost:8750")
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        let response = self.router.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
        for line in response.headers().get_all(header::SET_COOKIE) {
            self.keep_cookie(line.to_str().unwrap());
        }
        response
    }

    fn keep_cookie(&mut self, line: &str) {
        let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
        self.cookies.retain(|(own, _)| own != name);
        if !line.contains("Max-Age=0") {
            self.cookies.push((name.to_owned(), value.to_owned()));
        }
    }
}
