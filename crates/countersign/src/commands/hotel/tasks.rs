//! `countersign hotel tasks …`: what a person decides about what an agent proposed.

use std::sync::Arc;

use clap::{Args, Subcommand};
use hotel::app::{
    Hotel,
    tasks::{self, Decision, TaskDetail, TaskView, Verdict},
};
use serde_json::Value;

use crate::commands::{CommandError, LIST_LIMIT, not_blank};
use crate::{
    halves::hotel::request,
    print::{
        self,
        Field::{Line, Lines},
    },
};

/// List, show, confirm and reject tasks
#[derive(Debug, Args)]
#[command(
    after_help = "Example: countersign hotel tasks confirm 1042 --as 'Li Na' --reason 'checked with the agency'"
)]
pub(crate) struct Tasks {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List tasks, the newest first
    #[command(after_help = "Example: countersign hotel tasks list --json")]
    List {
        /// Most tasks to list
        #[arg(long, default_value_t = LIST_LIMIT)]
        limit: u32,
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show a task with its card and history
    #[command(after_help = "Example: countersign hotel tasks show 1042 --json")]
    Show {
        /// The task's id
        #[arg(value_name = "ID")]
        task_id: i64,
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Confirm a task and apply it to its order
    #[command(after_help = "Example: countersign hotel tasks confirm 1042 --as 'Li Na' --version 1")]
    Confirm(Confirm),
    /// Reject a task
    #[command(
        after_help = "Example: countersign hotel tasks reject 1042 --as 'Li Na' --reason 'double booking'"
    )]
    Reject(Reject),
}

#[derive(Debug, Args)]
struct Confirm {
    /// The task's id
    #[arg(value_name = "ID")]
    task_id: i64,
    /// The person who confirms
    #[arg(long = "as", value_name = "NAME", value_parser = person)]
    actor: String,
    /// The version that the person saw; refuses when the task has moved since
    #[arg(long)]
    version: Option<i64>,
    /// Why; a CONFIRM warning needs it
    #[arg(long)]
    reason: Option<String>,
    /// Print the task as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Reject {
    /// The task's id
    #[arg(value_name = "ID")]
    task_id: i64,
    /// The person who rejects
    #[arg(long = "as", value_name = "NAME", value_parser = person)]
    actor: String,
    /// Why
    #[arg(long, value_parser = not_blank)]
    reason: String,
    /// The version that the person saw; refuses when the task has moved since
    #[arg(long)]
    version: Option<i64>,
    /// Print the task as JSON
    #[arg(long)]
    json: bool,
}

impl Tasks {
    /// Whether it decides about a task.
    pub(crate) fn is_decision(&self) -> bool {
        matches!(self.action, Action::Confirm(_) | Action::Reject(_))
    }

    pub(crate) async fn run(self, hotel: &Arc<Hotel>) -> Result<(), CommandError> {
        match self.action {
            Action::List { limit, json } => list(&tasks::list(hotel, limit.into()).await?, json),
            Action::Show { task_id, json } => show(&tasks::show(hotel, task_id).await?, json),
            Action::Confirm(Confirm { task_id, actor, version, reason, json }) => {
                let verdict = Verdict::Confirm;
                decide(hotel, Decision { task_id, verdict, actor, version, reason }, json).await
            }
            Action::Reject(Reject { task_id, actor, reason, version, json }) => {
                let verdict = Verdict::Reject;
                decide(hotel, Decision { task_id, verdict, actor, version, reason: Some(reason) }, json).await
            }
        }
    }
}

fn list(tasks: &[TaskView], json: bool) -> Result<(), CommandError> {
    if json {
        return Ok(print::json(&tasks)?);
    }
    let row = |task: &TaskView| {
        [
            task.task_id.clone(),
            task.task_status.clone(),
            task.version.to_string(),
            task.catalog_code.clone(),
            task.system_task_type.clone(),
            task.order_id.clone().unwrap_or_default(),
            task.agency.clone().unwrap_or_default(),
            task.task_created_at.clone(),
        ]
    };
    let heading = ["ID", "STATUS", "VERSION", "CODE", "TYPE", "ORDER", "AGENCY", "CREATED"];
    Ok(print::table(heading, &tasks.iter().map(row).collect::<Vec<_>>())?)
}

async fn decide(hotel: &Arc<Hotel>, decision: Decision, json: bool) -> Result<(), CommandError> {
    let request = request(hotel, &decision.actor);
    let task = tasks::decide(hotel, request, decision).await?;
    if json {
        return Ok(print::json(&task)?);
    }
    let line =
        format!("task {} is {} (version {})", task.task.task_id, task.task.task_status, task.task.version);
    Ok(print::line(&line)?)
}

fn show(task: &TaskDetail, json: bool) -> Result<(), CommandError> {
    if json {
        return Ok(print::json(task)?);
    }
    let text = |name: &str, item: &Value| match &item[name] {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let lines = |list: &Value, line: &dyn Fn(&Value) -> String| {
        Lines(list.as_array().into_iter().flatten().map(line).collect())
    };
    let history = task.history.iter().map(|step| {
        let reason = step.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("{} {} by {}{reason}", step.at, step.to, step.actor)
    });
    let review = if task.manual_review.is_null() { String::new() } else { task.manual_review.to_string() };
    let pairs = [
        ("task", Line(task.task.task_id.clone())),
        ("status", Line(task.task.task_status.clone())),
        ("version", Line(task.task.version.to_string())),
        ("type", Line(format!("{} {}", task.task.catalog_code, task.task.system_task_type))),
        ("order", Line(task.task.order_id.clone().unwrap_or_default())),
        ("message", Line(task.task.external_source_message_id.clone())),
        ("agency", Line(task.task.agency.clone().unwrap_or_default())),
        ("due", Line(task.task.due_at.clone().unwrap_or_default())),
        ("summary", Line(task.summary.clone().unwrap_or_default())),
        (
            "proposed changes",
            lines(&task.proposed_changes, &|item| {
                format!("{}: {} → {}", text("field", item), text("from", item), text("to", item))
            }),
        ),
        ("evidence", lines(&task.evidence, &|item| text("quote", item))),
        (
            "warnings",
            lines(&task.warnings, &|item| {
                format!("{} {}: {}", text("severity", item), text("code", item), text("message", item))
            }),
        ),
        ("to decide", Line(review)),
        ("history", Lines(history.collect())),
    ];
    Ok(print::fields(&pairs)?)
}

fn person(text: &str) -> Result<String, &'static str> {
    not_blank(text).map_err(|_| "give the name of the person who decides")
}
