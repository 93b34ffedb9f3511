//! `countersign hotel messages …`

use std::sync::Arc;

use clap::{Args, Subcommand};
use hotel::app::{
    Hotel,
    messages::{self, MessageDetail, MessageSummary},
};
use serde_json::Value;

use crate::commands::{CommandError, LIST_LIMIT};
use crate::{
    halves::{LOCAL, hotel::request},
    print::{
        self,
        Field::{self, Line, Lines},
    },
};

/// List and show the e-mails that were taken in
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign hotel messages list")]
pub(crate) struct Messages {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List messages, the newest first
    #[command(after_help = "Example: countersign hotel messages list --json")]
    List {
        /// Most messages to list
        #[arg(long, default_value_t = LIST_LIMIT)]
        limit: u32,
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show a message; that its body was read is noted, as for an agent
    #[command(after_help = "Example: countersign hotel messages show 20261130.1@agency.example --json")]
    Show {
        /// The message's external id, or its inbox id
        #[arg(value_name = "ID")]
        id: String,
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
}

impl Messages {
    pub(crate) async fn run(self, hotel: &Arc<Hotel>) -> Result<(), CommandError> {
        match self.action {
            Action::List { limit, json } => list(&messages::list(hotel, limit.into()).await?, json),
            Action::Show { id, json } => {
                show(&messages::show(hotel, &request(hotel, LOCAL), &id).await?, json)
            }
        }
    }
}

fn list(messages: &[MessageSummary], json: bool) -> Result<(), CommandError> {
    if json {
        return Ok(print::json(&messages)?);
    }
    let row = |message: &MessageSummary| {
        [
            message.inbox_id.clone(),
            message.received_at.clone(),
            print::shorten(message.from.as_deref().unwrap_or_default(), 36),
            print::shorten(&message.subject, 48),
            message.external_message_id.clone(),
        ]
    };
    let rows: Vec<_> = messages.iter().map(row).collect();
    Ok(print::table(["ID", "RECEIVED", "FROM", "SUBJECT", "EXTERNAL ID"], &rows)?)
}

fn show(message: &MessageDetail, json: bool) -> Result<(), CommandError> {
    if json {
        return Ok(print::json(message)?);
    }
    let joined = |list: &Value| {
        let texts: Vec<&str> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        texts.join(", ")
    };
    let lines = |list: &Value, line: &dyn Fn(&Value) -> String| {
        Lines(list.as_array().into_iter().flatten().map(line).collect())
    };
    let text = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let reason = message.render_reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let pairs = [
        ("inbox id", Line(message.inbox_id.clone())),
        ("external id", Line(message.external_message_id.clone())),
        ("conversation", Line(message.conversation.clone())),
        ("date", Line(message.date.clone().unwrap_or_default())),
        ("from", Line(message.from.clone().unwrap_or_default())),
        ("to", Line(joined(&message.to))),
        ("cc", Line(joined(&message.cc))),
        ("subject", Line(message.subject.clone())),
        ("shown as", Line(format!("{}{reason}", message.render_mode))),
        (
            "attachments",
            lines(&message.attachments, &|file| {
                format!("{} ({}, {} bytes)", text(file, "name"), text(file, "type"), file["size"])
            }),
        ),
        (
            "warnings",
            lines(&message.warnings, &|item| format!("{}: {}", text(item, "code"), text(item, "message"))),
        ),
        ("text", Field::text(&message.text)),
    ];
    Ok(print::fields(&pairs)?)
}
