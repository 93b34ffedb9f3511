//! `countersign hotel tokens …`

use std::sync::Arc;

use clap::{Args, Subcommand};
use hotel::app::{
    Hotel,
    tokens::{self, OldSecret},
};

use crate::commands::{CommandError, not_blank};
use crate::{
    halves::{LOCAL, hotel::request},
    print,
};

/// Add, list, rotate and revoke bearer tokens
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign hotel tokens add --name agent --scope read --scope submit")]
pub(crate) struct Tokens {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add a token and print its secret, which is shown this once and kept nowhere
    #[command(after_help = "Example: countersign hotel tokens add --name agent --scope read --scope submit")]
    Add {
        /// Its name, which appears in the audit trail; unique among live tokens
        #[arg(long, value_parser = not_blank)]
        name: String,
        /// What it may do; may be given several times
        #[arg(long = "scope", value_parser = tokens::SCOPES, default_value = "read")]
        scopes: Vec<String>,
    },
    /// List all tokens, revoked ones too
    #[command(after_help = "Example: countersign hotel tokens list --json")]
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Give a token a new secret and print it; the old one goes on for 24 hours
    #[command(after_help = "Example: countersign hotel tokens rotate agent --at-once")]
    Rotate {
        /// The token's name or id
        #[arg(value_name = "NAME_OR_ID")]
        token: String,
        /// End the old secret at once, for one that has leaked
        #[arg(long)]
        at_once: bool,
    },
    /// Revoke a token; a running server stops accepting it within a second
    #[command(after_help = "Example: countersign hotel tokens revoke agent")]
    Revoke {
        /// The token's name or id
        #[arg(value_name = "NAME_OR_ID")]
        token: String,
    },
}

impl Tokens {
    /// Whether it changes something, which `[policy] read_only` forbids.
    pub(super) fn writes(&self) -> bool {
        !matches!(self.action, Action::List { .. })
    }

    pub(crate) async fn run(self, hotel: &Arc<Hotel>) -> Result<(), CommandError> {
        match self.action {
            Action::Add { name, mut scopes } => {
                scopes.sort();
                scopes.dedup();
                let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
                let secret = tokens::add(hotel, request(hotel, LOCAL), &name, &scopes).await?;
                print::line(secret.expose())?;
            }
            Action::List { json: true } => print::json(&tokens::list(hotel).await?)?,
            Action::List { json: false } => {
                let tokens = tokens::list(hotel).await?;
                let row = |token: tokens::TokenView| {
                    let last_used = token.last_used_at.unwrap_or_else(|| "never".to_owned());
                    let end = token.revoked_at.unwrap_or_else(|| "none".to_owned());
                    let standing = if token.live { "live" } else { "revoked" }.to_owned();
                    let scopes = token.scopes.join(" ");
                    [token.token_id, token.name, scopes, token.created_at, last_used, standing, end]
                };
                let rows: Vec<_> = tokens.into_iter().map(row).collect();
                print::table(["ID", "NAME", "SCOPES", "CREATED", "LAST USED", "STATE", "END"], &rows)?;
            }
            Action::Rotate { token, at_once } => {
                let token_id = tokens::resolve(hotel, &token).await?;
                let old = if at_once { OldSecret::Ends } else { OldSecret::Overlaps };
                let (_, secret) = tokens::rotate(hotel, request(hotel, LOCAL), token_id, old).await?;
                print::line(secret.expose())?;
            }
            Action::Revoke { token } => {
                let token_id = tokens::resolve(hotel, &token).await?;
                tokens::revoke(hotel, request(hotel, LOCAL), token_id).await?;
                print::line(&format!("token {token} is revoked"))?;
            }
        }
        Ok(())
    }
}
