//! `countersign hotel tokens …`

use std::sync::Arc;

use clap::{Args, Subcommand};
use hotel::app::{Hotel, tokens};

use crate::commands::{CommandError, not_blank};
use crate::{
    halves::{LOCAL, hotel::request},
    print,
};

/// Add, list and revoke bearer tokens
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
    /// Revoke a token; a running server stops accepting it within a second
    #[command(after_help = "Example: countersign hotel tokens revoke agent")]
    Revoke {
        /// The token's name or id
        #[arg(value_name = "NAME_OR_ID")]
        token: String,
    },
}

impl Tokens {
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
                    let revoked = token.revoked_at.unwrap_or_else(|| "live".to_owned());
                    [token.token_id, token.name, token.scopes.join(" "), token.created_at, revoked]
                };
                let rows: Vec<_> = tokens.into_iter().map(row).collect();
                print::table(["ID", "NAME", "SCOPES", "CREATED", "REVOKED"], &rows)?;
            }
            Action::Revoke { token } => {
                tokens::revoke(hotel, request(hotel, LOCAL), &token).await?;
                print::line(&format!("token {token} is revoked"))?;
            }
        }
        Ok(())
    }
}
