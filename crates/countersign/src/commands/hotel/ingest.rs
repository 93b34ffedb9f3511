//! `countersign hotel ingest PATH…`: mail from files.

use std::{
    io::{self, IsTerminal, Write},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use clap::Args;
use futures_util::{StreamExt, stream};
use hotel::{
    app::{self, Hotel, hotels},
    mail::source::{self, RawMail, SourceFault},
};
use serde::Serialize;
use tokio::{
    sync::mpsc,
    time::{Interval, interval},
};

use crate::commands::{CommandError, explain};
use crate::{
    halves::{LOCAL, hotel::request},
    print,
};

/// Messages on their way at once. Those that wait for the disk share one commit.
const AT_ONCE: usize = 64;
/// Messages read ahead; each may be as large as [`source::MAX_MESSAGE_BYTES`].
const READ_AHEAD: usize = 4;

/// Take e-mail in: .eml files, mbox files, Maildir folders, and folders of any of these
///
/// The same message twice is one message, so a run that was broken off can be repeated. A message that is degraded
/// was kept, with its raw form, but cannot be shown in full.
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign hotel ingest ./mails archive.mbox")]
pub(crate) struct Ingest {
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print the result as a JSON object
    #[arg(long)]
    json: bool,
}

/// What came of a run; `new` and `already_there` together are the messages that are kept.
#[derive(Debug, Default, Serialize)]
struct Summary {
    new: usize,
    already_there: usize,
    degraded: Vec<Remark>,
    failed: Vec<Remark>,
}

/// A file, or a message in it, and what is the matter with it.
#[derive(Debug, Serialize)]
struct Remark {
    file: String,
    reason: String,
}

/// What came of one message.
enum Taken {
    Kept {
        created: bool,
        degraded: Option<Remark>,
    },
    Failed(Remark),
    /// The database fails, and would fail for every other message as well.
    Stopped(hotel::Error),
}

impl Ingest {
    pub(crate) async fn run(self, hotel: &Arc<Hotel>) -> Result<(), CommandError> {
        // Without a hotel every message would fail with this one reason.
        hotels::active(hotel).await?;
        let mut summary = Summary::default();
        let stopped = take_all(hotel, self.paths, &mut summary).await;
        if self.json {
            print::json(&summary)?;
        } else {
            summary.print()?;
        }
        match (stopped, summary.failed.len()) {
            (Some(error), _) => Err(error.into()),
            (None, 0) => Ok(()),
            (None, failed) => Err(CommandError::Ingest { failed, read: summary.read() }),
        }
    }
}

async fn take_all(hotel: &Arc<Hotel>, paths: Vec<PathBuf>, summary: &mut Summary) -> Option<hotel::Error> {
    let (sender, mut found) = mpsc::channel(READ_AHEAD);
    // Reading files blocks, and ends when the receiver is gone.
    let reader = tokio::task::spawn_blocking(move || {
        let mut mails = paths.iter().flat_map(|path| source::read(path));
        mails.try_for_each(|mail| sender.blocking_send(mail))
    });
    let mut taken = stream::poll_fn(|context| found.poll_recv(context))
        .map(|mail| take(hotel, mail))
        .buffer_unordered(AT_ONCE);
    let mut progress = Progress::start();
    let mut stopped = None;
    loop {
        tokio::select! {
            next = taken.next() => match next {
                None => break,
                Some(Taken::Stopped(error)) => {
                    stopped = Some(error);
                    break;
                }
                Some(taken) => summary.count(taken),
            },
            _ = progress.ticks.tick() => progress.show(summary),
        }
    }
    progress.end(summary);
    drop(taken);
    drop(found);
    // The reader only fails by a panic, which has been reported by then.
    reader.await.ok();
    stopped
}

async fn take(hotel: &Arc<Hotel>, mail: Result<RawMail, SourceFault>) -> Taken {
    let RawMail { origin, bytes } = match mail {
        Ok(mail) => mail,
        Err(fault) => {
            let (file, reason) = (fault.origin().to_owned(), fault.to_string());
            // The message begins with the file, which is shown before it anyway.
            let reason = reason.strip_prefix(&file).unwrap_or(&reason).trim_start().to_owned();
            return Taken::Failed(Remark { file, reason });
        }
    };
    match app::ingest::mail(hotel, request(hotel, LOCAL), "FILE", bytes).await {
        Ok(ingested) => Taken::Kept {
            created: ingested.created,
            degraded: ingested.html_degraded_reason.map(|reason| Remark { file: origin, reason }),
        },
        Err(hotel::Error::Store(error)) if !error.concerns_one_write() => Taken::Stopped(error.into()),
        Err(error) => Taken::Failed(Remark { file: origin, reason: explain(&error, hotel.language) }),
    }
}

impl Summary {
    fn count(&mut self, taken: Taken) {
        match taken {
            Taken::Kept { created, degraded } => {
                self.new += usize::from(created);
                self.already_there += usize::from(!created);
                self.degraded.extend(degraded);
            }
            Taken::Failed(remark) => self.failed.push(remark),
            Taken::Stopped(_) => {}
        }
    }

    fn read(&self) -> usize {
        self.new + self.already_there + self.failed.len()
    }

    fn counts(&self) -> String {
        let Self { new, already_there, degraded, failed } = self;
        format!(
            "new {new} · already there {already_there} · degraded {} · failed {}",
            degraded.len(),
            failed.len()
        )
    }

    fn print(&self) -> Result<(), CommandError> {
        for (word, remarks) in [("degraded", &self.degraded), ("failed", &self.failed)] {
            for Remark { file, reason } in remarks {
                print::line(&format!("{word}: {}: {}", print::one_line(file), print::one_line(reason)))?;
            }
        }
        Ok(print::line(&self.counts())?)
    }
}

/// Progress on stderr: one line that changes on a terminal, else a line each second.
struct Progress {
    ticks: Interval,
    terminal: bool,
}

impl Progress {
    fn start() -> Self {
        let terminal = io::stderr().is_terminal();
        let mut ticks = interval(Duration::from_millis(if terminal { 200 } else { 1000 }));
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // The first tick is at once, when there is nothing to tell.
        ticks.reset();
        Self { ticks, terminal }
    }

    fn show(&self, summary: &Summary) {
        let counts = summary.counts();
        // Progress that cannot be shown is no reason to stop.
        let _ = if self.terminal {
            write!(io::stderr(), "\r{counts} …\u{1b}[K")
        } else {
            writeln!(io::stderr(), "{counts} …")
        };
    }

    fn end(&self, summary: &Summary) {
        if self.terminal {
            self.show(summary);
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}
