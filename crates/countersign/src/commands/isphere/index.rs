//! `countersign isphere index`

use std::io::{IsTerminal, Write};

use clap::Args;
use isphere::{
    settings::Settings,
    sources::local::{
        index::{self, Progress, Space, Summary},
        open_configured,
    },
};

use crate::{commands::CommandError, config::IsphereFlags, print};

/// Build the search index of the local store, or bring it up to date
///
/// The index is a file of its own in the state folder; the store is only read. Run it again, from a timer for example:
/// it does work in proportion to what is new. Interrupted, it goes on where it was. Running servers use it at once.
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign isphere index --config countersign.toml")]
pub(crate) struct Index {
    #[command(flatten)]
    pub(super) flags: IsphereFlags,
    /// Empty the index and build it anew, also when its file is damaged
    ///
    /// Then all messages are found as they are now: those that were edited or moved after they were indexed, too. Until it
    /// is done, searches read the whole store.
    #[arg(long)]
    rebuild: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

impl Index {
    pub(crate) fn run(self, settings: &Settings) -> Result<(), CommandError> {
        let store = open_configured(&settings.local_readonly).map_err(index::IndexError::from)?;
        let mut reporter = Reporter::new();
        let build = if self.rebuild { index::rebuild } else { index::update };
        let summary = build(&store, &index::path(&settings.state_dir), &mut |at| reporter.report(at));
        reporter.end();
        let summary = summary?;
        Ok(if self.json { print::json(&summary) } else { print::line(&sentence(&summary)) }?)
    }
}

fn sentence(summary: &Summary) -> String {
    let Summary { contacts, groups, conversations, messages_added } = summary;
    format!(
        "the index is up to date: {messages_added} messages added; people {}, groups {}, conversations {} written; \
         {} removed",
        contacts.written,
        groups.written,
        conversations.written,
        contacts.removed + groups.removed + conversations.removed,
    )
}

/// Tells a person at a terminal how far the work has come; a log is spared the thousands of lines.
pub(super) struct Reporter {
    at_terminal: bool,
}

impl Reporter {
    pub(super) fn new() -> Self {
        Self { at_terminal: std::io::stderr().is_terminal() }
    }

    fn report(&mut self, progress: Progress) {
        let what = match progress.space {
            Space::Contacts => "people",
            Space::Groups => "groups",
            Space::Conversations => "conversations",
            Space::Messages => "messages",
        };
        self.show(&format!("{what}: {}", progress.rows));
    }

    /// One line that overwrites the one before.
    pub(super) fn show(&mut self, text: &str) {
        if self.at_terminal {
            // Whether it is seen does not matter to the work.
            let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
        }
    }

    pub(super) fn end(&mut self) {
        self.show("");
    }
}
