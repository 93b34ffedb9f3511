//! `countersign demo`: one command that shows the hotel's main job.

use std::path::PathBuf;

use clap::Args;

use super::CommandError;
use crate::config::{Config, LISTEN};

/// Run the whole hotel server on a folder of its own, with e-mails to try it on
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign demo --data ./countersign-demo --listen 127.0.0.1:8750")]
pub(crate) struct Demo {
    /// Folder for the database and the token; made when it is not there
    #[arg(long, value_name = "DIR", default_value = "./countersign-demo")]
    data: PathBuf,
    /// Address and port to serve on
    #[arg(long, value_name = "ADDRESS", default_value = LISTEN)]
    listen: String,
}
