//! The client of the Windows helper: starts it, asks one thing, reads one answer (boundary contract, sections 3 to 6).
//!
//! One process a request: at most [`MOST_PROCESSES`] at a time, and for a window one after the other, since UI Automation
//! works in the thread of the window that it asks. Who stops waiting for an answer ends the process.

mod data;
mod dumps;
mod error;
mod process;
mod protocol;

use std::collections::HashMap;
use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;

use govern::random::Random;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Mutex, RwLock, Semaphore, watch};

pub use data::{Bounds, Dump, Element, SelfCheck, Version, Window, WindowList};
pub use dumps::{DumpNotSaved, save};
pub use error::HelperError;
use process::Program;
pub use protocol::PROTOCOL;
use protocol::Request;

use crate::model::Warning;
use crate::request_id::uuid;
use crate::settings;

/// How many processes of the helper run at a time; further requests wait.
pub const MOST_PROCESSES: usize = 4;

/// How much longer than the request's own time limit the process may live: for its start, which takes a while under Wine, and
/// for the half second that the helper needs to answer at its limit.
const GRACE: Duration = Duration::from_secs(2);

/// The client of the helper that the settings name.
#[derive(Debug)]
pub struct HelperClient {
    program: Option<Program>,
    timeout_ms: u64,
    random: Random,
    processes: Semaphore,
    windows: Windows,
    ended: watch::Sender<bool>,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply<T> {
    /// What was found.
    pub data: T,
    /// What the answer leaves out or is unsure of.
    pub warnings: Vec<Warning>,
    /// The response as it came, to be kept.
    pub document: Vec<u8>,
}

/// What is asked of `dump_uia`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DumpArguments {
    /// The window; without one the helper takes the only one that is likely the client's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hwnd: Option<String>,
    /// How far below the window's own element.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u64>,
    /// How many children of an element.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_children: Option<u64>,
    /// Whether to read names, which are what people see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_text: Option<bool>,
}

impl HelperClient {
    /// A client of the helper that `settings` name; without one every request fails as not configured.
    pub fn new(settings: &settings::Helper, random: Random) -> Self {
        let program = settings
            .program
            .as_ref()
            .map(|path| Program { path: path.clone(), arguments: settings.arguments.clone() });
        Self {
            program,
            timeout_ms: settings.timeout_ms,
            random,
            processes: Semaphore::new(MOST_PROCESSES),
            windows: Windows::default(),
            ended: watch::Sender::new(false),
        }
    }

    /// Ends the helpers that run and starts no more: for a server that ends, whose calls are then over at once.
    pub fn end(&self) {
        self.ended.send_replace(true);
    }

    /// Tells that the helper runs.
    pub async fn version(&self) -> Result<Reply<Version>, HelperError> {
        self.ask("version", &json!({})).await
    }

    /// Tells what of the desktop is within reach.
    pub async fn self_check(&self) -> Result<Reply<SelfCheck>, HelperError> {
        self.ask("self_check", &json!({})).await
    }

    /// Lists windows that may be the client's, or all visible ones.
    pub async fn scan_windows(&self, include_all_visible: bool) -> Result<Reply<WindowList>, HelperError> {
        let arguments = json!({"include_all_visible": include_all_visible});
        let reply: Reply<WindowList> = self.ask("scan_windows", &arguments).await?;
        reply.data.windows.iter().try_for_each(|window| check_window(None, &window.hwnd))?;
        Ok(reply)
    }

    /// Reads the tree of a window. Without `include_text` no name is in the reply, whatever the helper answered.
    pub async fn dump_uia(&self, arguments: &DumpArguments) -> Result<Reply<Dump>, HelperError> {
        let _turn = self.windows.turn(arguments.hwnd.as_deref()).await;
        let reply: Reply<Dump> = self.ask("dump_uia", arguments).await?;
        check_window(arguments.hwnd.as_deref(), &reply.data.hwnd)?;
        if arguments.include_text == Some(false) { dumps::without_text(reply) } else { Ok(reply) }
    }

    /// Runs one of the probes, whose data is for people and passed on as it came. A probe without a window has no `hwnd`.
    pub async fn probe(&self, probe: Probe, arguments: &Value) -> Result<Reply<Value>, HelperError> {
        let _turn = match probe {
            Probe::SendUiaControls => Some(self.windows.turn(arguments["hwnd"].as_str()).await),
            Probe::ClientRuntime | Probe::SendEntrypoints => None,
        };
        self.ask(probe.op(), arguments).await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        op: &str,
        arguments: &impl Serialize,
    ) -> Result<Reply<T>, HelperError> {
        let program = self.program.as_ref().ok_or(HelperError::NotConfigured)?;
        let request_id = uuid(&self.random.request_id());
        let request = Request::new(&request_id, op, self.timeout_ms, arguments);
        let limit = Duration::from_millis(self.timeout_ms) + GRACE;
        let run = async {
            let _place = self.processes.acquire().await.expect("the semaphore is never closed");
            process::run(program, &request.to_line(), limit).await
        };
        let mut ended = self.ended.subscribe();
        let document = tokio::select! {
            biased;
            _ = ended.wait_for(|ended| *ended) => return Err(HelperError::ServerEnds),
            document = run => document?,
        };
        let (data, warnings) = request.read(&document)?;
        Ok(Reply { data, warnings, document })
    }
}

/// Whether this is the handle of a window: `0x` and 8 hexadecimal digits.
pub fn is_handle(text: &str) -> bool {
    text.strip_prefix("0x")
        .is_some_and(|digits| digits.len() == 8 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Refuses an answer whose window has no handle, or another one than was asked for.
fn check_window(asked: Option<&str>, answered: &str) -> Result<(), HelperError> {
    if !is_handle(answered) {
        return Err(HelperError::Malformed("a response with a window that has no handle".to_owned()));
    }
    let is_other = asked.is_some_and(|asked| !asked.eq_ignore_ascii_case(answered));
    if is_other { Err(HelperError::OtherWindow) } else { Ok(()) }
}

/// The probes (boundary contract, sections 6.5 to 6.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The client's processes and what they have loaded.
    ClientRuntime,
    /// Whether the client's binaries have entry points for sending.
    SendEntrypoints,
    /// Whether a window has the controls for sending.
    SendUiaControls,
}

impl Probe {
    /// The name of its op.
    pub fn op(self) -> &'static str {
        match self {
            Self::ClientRuntime => "probe_client_runtime",
            Self::SendEntrypoints => "probe_send_entrypoints",
            Self::SendUiaControls => "probe_send_uia_controls",
        }
    }
}

/// Whose turn it is at which window. A request that names none may mean any.
#[derive(Debug, Default)]
struct Windows {
    any: RwLock<()>,
    each: StdMutex<HashMap<String, Arc<Mutex<()>>>>,
}

/// Held while a window is read.
type Turn<'a> = Box<dyn Send + 'a>;

impl Windows {
    async fn turn(&self, hwnd: Option<&str>) -> Turn<'_> {
        let Some(hwnd) = hwnd else { return Box::new(self.any.write().await) };
        let one = {
            let mut each = self.each.lock().expect("no holder of this lock panics");
            each.retain(|_, window| Arc::strong_count(window) > 1);
            Arc::clone(each.entry(hwnd.to_ascii_uppercase()).or_default())
        };
        let not_any = self.any.read().await;
        Box::new((not_any, one.lock_owned().await))
    }
}
