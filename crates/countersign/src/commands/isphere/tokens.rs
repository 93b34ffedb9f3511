//! `countersign isphere tokens …`

use clap::{Args, Subcommand};
use govern::{
    clock::Clock,
    credentials::file::{FileTokens, TokenView},
    random::Random,
};
use isphere::settings::Settings;

use crate::{
    commands::{CommandError, not_blank},
    config::IsphereFlags,
    print,
};

/// Make, list and revoke the bearer tokens of callers over HTTP
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign isphere tokens add --name agent --scope read")]
pub(crate) struct Tokens {
    #[command(flatten)]
    pub(super) flags: IsphereFlags,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a token and print its secret, which is shown this once
    #[command(after_help = "Example: countersign isphere tokens add --name agent --scope read --scope send")]
    Add {
        /// Its name, which is the operator in the audit trail
        #[arg(long, value_parser = not_blank)]
        name: String,
        /// What it may do: read (search, receive) or send (preview and send); give it twice for both
        #[arg(long = "scope", value_name = "SCOPE", required = true, value_parser = ["read", "send"])]
        scopes: Vec<String>,
    },
    /// List all tokens, without their secrets
    #[command(after_help = "Example: countersign isphere tokens list")]
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token; a running server stops accepting it within a second
    #[command(after_help = "Example: countersign isphere tokens revoke agent")]
    Revoke {
        /// The token's name or id
        #[arg(value_name = "NAME_OR_ID")]
        token: String,
    },
}

impl Tokens {
    pub(crate) fn run(self, settings: &Settings) -> Result<(), CommandError> {
        let tokens = FileTokens::open(settings.tokens_file())?;
        match self.action {
            Action::Add { name, mut scopes } => {
                scopes.sort();
                scopes.dedup();
                let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
                let secret = tokens.add(&name, &scopes, &Clock::System, &Random::System)?;
                print::line(secret.expose())?;
            }
            Action::List { json: true } => print::json(&tokens.list()?)?,
            Action::List { json: false } => {
                let row = |token: TokenView| {
                    let revoked = token.revoked_at.unwrap_or_else(|| "live".to_owned());
                    [token.token_id, token.name, token.scopes.join(" "), token.created_at, revoked]
                };
                let rows: Vec<_> = tokens.list()?.into_iter().map(row).collect();
                print::table(["ID", "NAME", "SCOPES", "CREATED", "REVOKED"], &rows)?;
            }
            Action::Revoke { token } => {
                tokens.revoke(&token, &Clock::System)?;
                print::line(&format!("token {token} is revoked"))?;
            }
        }
        Ok(())
    }
}
