//! `countersign hotel users …`

use std::sync::Arc;

use clap::{Args, Subcommand, builder::PossibleValuesParser};
use hotel::{
    app::{Hotel, users},
    domain::role::{ROLES, Role},
};

use crate::commands::{CommandError, not_blank};
use crate::{
    halves::{LOCAL, hotel::request},
    print,
};

/// Add, list, disable and reset the people of the console
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign hotel users add --name mei --role clerk")]
pub(crate) struct Users {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add a person and print the password, which is shown this once and kept nowhere
    #[command(after_help = "Example: countersign hotel users add --name mei --role clerk")]
    Add {
        /// Their name, which appears beside what they decide; the same in any case and width
        #[arg(long, value_parser = not_blank)]
        name: String,
        /// viewer reads, clerk also confirms and rejects, admin also runs the console
        #[arg(long, value_parser = PossibleValuesParser::new(ROLES.map(Role::as_str)))]
        role: String,
    },
    /// List all people, disabled ones too
    #[command(after_help = "Example: countersign hotel users list --json")]
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Keep a person out and end their sessions; `reset` lets them in again
    #[command(after_help = "Example: countersign hotel users disable mei")]
    Disable {
        /// The person's name
        name: String,
    },
    /// Give a person another password and print it; ends their sessions and a lock-out
    #[command(after_help = "Example: countersign hotel users reset mei")]
    Reset {
        /// The person's name
        name: String,
    },
}

impl Users {
    /// Whether it changes something, which `[policy] read_only` forbids.
    pub(super) fn writes(&self) -> bool {
        !matches!(self.action, Action::List { .. })
    }

    pub(crate) async fn run(self, hotel: &Arc<Hotel>) -> Result<(), CommandError> {
        let request = request(hotel, LOCAL);
        match self.action {
            Action::Add { name, role } => {
                let role = Role::parse(&role)
                    .ok_or_else(|| CommandError::Usage(format!("there is no role {role}")))?;
                print::line(users::add(hotel, request, &name, role).await?.expose())?;
            }
            Action::List { json: true } => print::json(&users::list(hotel).await?)?,
            Action::List { json: false } => {
                let row = |user: users::UserView| {
                    let disabled = user.disabled_at.unwrap_or_else(|| "active".to_owned());
                    [user.name, user.role, user.created_at, disabled]
                };
                let rows: Vec<_> = users::list(hotel).await?.into_iter().map(row).collect();
                print::table(["NAME", "ROLE", "CREATED", "DISABLED"], &rows)?;
            }
            Action::Disable { name } => {
                users::disable(hotel, request, &name).await?;
                print::line(&format!("user {name} is disabled"))?;
            }
            Action::Reset { name } => {
                print::line(users::reset(hotel, request, &name).await?.expose())?;
            }
        }
        Ok(())
    }
}
