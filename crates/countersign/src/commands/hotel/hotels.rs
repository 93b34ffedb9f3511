//! `countersign hotel hotels …`

use std::sync::Arc;

use clap::{Args, Subcommand};
use hotel::app::{Hotel, hotels};

use crate::commands::{CommandError, not_blank};
use crate::{
    halves::{LOCAL, hotel::request},
    print,
};

/// Add, list and activate hotels; exactly one must be ACTIVE
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign hotel hotels add --name 'Lakeside Hotel' --active")]
pub(crate) struct Hotels {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add a hotel and print its id
    #[command(after_help = "Example: countersign hotel hotels add --name 'Lakeside Hotel' --active")]
    Add {
        /// Its name
        #[arg(long, value_parser = not_blank)]
        name: String,
        /// Make it ACTIVE; another ACTIVE hotel stays so, and `activate` then chooses between them
        #[arg(long)]
        active: bool,
    },
    /// List all hotels
    #[command(after_help = "Example: countersign hotel hotels list --json")]
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Make one hotel the only ACTIVE one
    #[command(after_help = "Example: countersign hotel hotels activate 1001")]
    Activate {
        /// The hotel's id
        #[arg(value_name = "ID")]
        hotel_id: i64,
    },
}

impl Hotels {
    /// Whether it changes something, which `[policy] read_only` forbids.
    pub(super) fn writes(&self) -> bool {
        !matches!(self.action, Action::List { .. })
    }

    pub(crate) async fn run(self, hotel: &Arc<Hotel>) -> Result<(), CommandError> {
        match self.action {
            Action::Add { name, active } => {
                let hotel_id = hotels::add(hotel, request(hotel, LOCAL), &name, active).await?;
                print::line(&hotel_id.to_string())?;
            }
            Action::List { json: true } => print::json(&hotels::list(hotel).await?)?,
            Action::List { json: false } => {
                let hotels = hotels::list(hotel).await?;
                let rows: Vec<_> =
                    hotels.into_iter().map(|hotel| [hotel.hotel_id, hotel.status, hotel.name]).collect();
                print::table(["ID", "STATUS", "NAME"], &rows)?;
            }
            Action::Activate { hotel_id } => {
                hotels::activate(hotel, request(hotel, LOCAL), hotel_id).await?;
                print::line(&format!("hotel {hotel_id} is the ACTIVE one"))?;
            }
        }
        Ok(())
    }
}
