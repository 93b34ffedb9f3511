//! `countersign isphere helper …`: what an operator asks the Windows helper.

use std::{path::PathBuf, sync::Arc};

use clap::{Args, Subcommand};
use govern::{
    audit::{Channel, Ending, Record, Sink},
    clock::Clock,
    http::session_end_signal,
    random::Random,
    tool::Effect,
};
use isphere::{
    audit::{key::StateKey, trail::Trail},
    helper::{self, Dump, DumpArguments, HelperClient, HelperError, Probe, Reply},
    regular_file,
    sources::uia::propose::propose,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    commands::CommandError,
    config::{Config, IsphereFlags},
    halves::LOCAL,
    print,
};

/// The largest dump that a profile is proposed from. One that `dump` printed is indented, and so larger than the 32 MiB of an
/// answer.
const MOST_DUMP_BYTES: u64 = 256 << 20;

/// Look at the client's windows and processes through the Windows helper
///
/// Nothing is clicked, typed or sent. Each look is one process of [isphere.helper] program and one record of the audit trail.
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign isphere helper scan-windows")]
pub(crate) struct Helper {
    #[command(flatten)]
    flags: IsphereFlags,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Tell whether the helper runs, and which one it is
    #[command(after_help = "Example: countersign isphere helper version")]
    Version,
    /// Tell what of the desktop the helper reaches
    #[command(after_help = "Example: countersign isphere helper self-check")]
    SelfCheck,
    /// List windows that may be the client's, with a score
    #[command(after_help = "Example: countersign isphere helper scan-windows --all")]
    ScanWindows {
        /// Every visible window, whatever program it belongs to
        #[arg(long)]
        all: bool,
    },
    /// Read the controls of a window
    #[command(after_help = "Example: countersign isphere helper dump --hwnd 0x001A0B2C --save")]
    Dump {
        #[command(flatten)]
        window: Window,
        /// Leave out names, which are what people see
        #[arg(long)]
        no_text: bool,
        /// Keep the dump in [isphere.helper] dumps_dir and print the name of its file
        #[arg(long)]
        save: bool,
    },
    /// List the client's processes and what they have loaded
    #[command(after_help = "Example: countersign isphere helper probe-client-runtime")]
    ProbeClientRuntime,
    /// Tell whether the client's binaries have entry points for sending
    #[command(
        after_help = "Example: countersign isphere helper probe-send-entrypoints 'C:\\Program Files (x86)\\Impp'"
    )]
    ProbeSendEntrypoints {
        /// The folder where the client is installed, or a copy of it, as the helper sees it
        #[arg(value_name = "DIR")]
        install_dir: String,
    },
    /// Tell whether a window has the controls for sending; no content of chats
    #[command(after_help = "Example: countersign isphere helper probe-send-uia-controls --hwnd 0x001A0B2C")]
    ProbeSendUiaControls {
        #[command(flatten)]
        window: Window,
    },
    /// Propose a selector profile for the uia source from a dump
    ///
    /// The proposal is TOML on stdout, with comments on what was guessed: check it, save it, and set [isphere.uia] profile.
    #[command(
        after_help = "Example: countersign isphere helper propose-profile dump.json > isphere.uia.toml"
    )]
    ProposeProfile {
        /// A file that `dump` wrote, or its output
        #[arg(value_name = "DUMP.json")]
        dump: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Window {
    /// The window [default: the only one that is likely the client's]
    #[arg(long, value_parser = handle)]
    hwnd: Option<String>,
    /// How many levels below the window
    #[arg(long, value_name = "N")]
    max_depth: Option<u64>,
    /// How many children of one element
    #[arg(long, value_name = "N")]
    max_children: Option<u64>,
}

impl Helper {
    /// The configuration; the default one for the action that works on a file and nothing else.
    pub(super) fn config(&self) -> Result<Config, CommandError> {
        match self.action {
            Action::ProposeProfile { .. } => Ok(Config::default()),
            _ => self.flags.load(),
        }
    }

    pub(crate) async fn run(self, config: &Config) -> Result<(), CommandError> {
        let desk = Desk { config, client: HelperClient::new(&config.isphere.helper, Random::System) };
        let client = &desk.client;
        match self.action {
            Action::Version => desk.show("win_helper_version", None, client.version()).await,
            Action::SelfCheck => desk.show("win_helper_self_check", None, client.self_check()).await,
            Action::ScanWindows { all } => {
                desk.show("win_helper_scan_windows", None, client.scan_windows(all)).await
            }
            Action::Dump { window, no_text, save } => desk.dump(window, no_text, save).await,
            Action::ProbeClientRuntime => desk.probe(Probe::ClientRuntime, None, &json!({})).await,
            Action::ProbeSendEntrypoints { install_dir } => {
                desk.probe(Probe::SendEntrypoints, None, &json!({"install_dir": install_dir})).await
            }
            Action::ProbeSendUiaControls { window } => {
                let Window { hwnd, max_depth, max_children } = window;
                let mut arguments =
                    json!({"hwnd": hwnd, "max_depth": max_depth, "max_children": max_children});
                // What was not given is the helper's to choose.
                arguments
                    .as_object_mut()
                    .into_iter()
                    .for_each(|members| members.retain(|_, value| !value.is_null()));
                desk.probe(Probe::SendUiaControls, hwnd.as_deref(), &arguments).await
            }
            Action::ProposeProfile { dump } => Ok(print::line(propose(&read_dump(&dump)?).trim_end())?),
        }
    }
}

/// The helper, and the trail that keeps what was asked of it.
struct Desk<'a> {
    config: &'a Config,
    client: HelperClient,
}

impl Desk<'_> {
    async fn probe(&self, probe: Probe, hwnd: Option<&str>, arguments: &Value) -> Result<(), CommandError> {
        self.show(probe.op(), hwnd, self.client.probe(probe, arguments)).await
    }

    async fn dump(&self, window: Window, no_text: bool, save: bool) -> Result<(), CommandError> {
        let Window { hwnd, max_depth, max_children } = window;
        let asked = DumpArguments { hwnd, max_depth, max_children, include_text: Some(!no_text) };
        let target = |dump: Option<&Dump>| dump.map(|dump| dump.hwnd.clone()).or(asked.hwnd.clone());
        let reply = self.recorded("win_helper_dump_uia", target, self.client.dump_uia(&asked)).await?;
        if !save {
            return print_reply(&reply);
        }
        let path = helper::save(&self.config.isphere.helper.dumps_dir, &reply, &Clock::System)?;
        Ok(print::line(&path.display().to_string())?)
    }

    async fn show<T: Serialize>(
        &self,
        operation: &'static str,
        hwnd: Option<&str>,
        ask: impl Future<Output = Result<Reply<T>, HelperError>>,
    ) -> Result<(), CommandError> {
        print_reply(&self.recorded(operation, |_| hwnd.map(str::to_owned), ask).await?)
    }

    /// Asks, and records that it was asked before anything is shown. `target` tells the window from what was answered.
    async fn recorded<T>(
        &self,
        operation: &'static str,
        target: impl FnOnce(Option<&T>) -> Option<String>,
        ask: impl Future<Output = Result<Reply<T>, HelperError>>,
    ) -> Result<Reply<T>, CommandError> {
        let settings = &self.config.isphere;
        govern::private::make_folder(&settings.state_dir).map_err(|reason| CommandError::File {
            path: settings.state_dir.display().to_string(),
            reason,
        })?;
        let key =
            StateKey::open(&settings.state_dir, &Random::System).map_err(isphere::app::OpenError::from)?;
        let trail: Arc<dyn Sink> = Arc::new(Trail::open(&settings.state_dir, key, Clock::System)?);
        let end = session_end_signal();
        let (at_ms, stopwatch) = (Clock::System.now_ms(), Clock::System.stopwatch());
        // What is not waited for any more is ended.
        let outcome = tokio::select! {
            outcome = ask => outcome.map_err(CommandError::Helper),
            () = end => Err(CommandError::BrokenOff),
        };
        let record = Record {
            at_ms,
            request_id: Random::System.request_id(),
            trace_id: None,
            caller: settings.operator_id.clone().unwrap_or_else(|| LOCAL.to_owned()),
            channel: Channel::Cli,
            operation: operation.into(),
            effect: Some(Effect::Read),
            outcome: if outcome.is_ok() { Ending::Ok } else { Ending::Error },
            code: match &outcome {
                Err(CommandError::Helper(error)) => Some(error.code().into()),
                _ => None,
            },
            target: target(outcome.as_ref().ok().map(|reply| &reply.data))
                .map(|hwnd| format!("window:{hwnd}")),
            digest: None,
            detail: Some(json!({"source": "uia"}).to_string()),
            duration_us: stopwatch.elapsed_us(),
        };
        trail.append(&[record]).await.map_err(|error| CommandError::NotRecorded(error.to_string()))?;
        outcome
    }
}

fn print_reply<T: Serialize>(reply: &Reply<T>) -> Result<(), CommandError> {
    Ok(print::json(&json!({"data": reply.data, "warnings": reply.warnings}))?)
}

/// The dump in a file: the helper's response, what `dump` prints, or the data alone.
fn read_dump(path: &std::path::Path) -> Result<Dump, CommandError> {
    let bytes = regular_file::read(path, MOST_DUMP_BYTES)
        .map_err(|reason| CommandError::File { path: path.display().to_string(), reason })?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let no_dump = |error: serde_json::Error| {
        let path = path.display();
        CommandError::Usage(format!(
            "{path} is no dump ({error}); make one with `countersign isphere helper dump --save`"
        ))
    };
    let mut document: Value = serde_json::from_slice(text).map_err(no_dump)?;
    let data = document.get_mut("data").map(Value::take);
    serde_json::from_value(data.unwrap_or(document)).map_err(no_dump)
}

fn handle(text: &str) -> Result<String, &'static str> {
    if helper::is_handle(text) {
        Ok(text.to_owned())
    } else {
        Err("give 0x and 8 hexadecimal digits, such as 0x001A0B2C")
    }
}
