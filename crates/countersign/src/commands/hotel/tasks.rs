//! `countersign hotel tasks …`: what a person decides about what an agent proposed.

use std::sync::Arc;

use clap::{Args, Subcommand};
use hotel::app::{
    Hotel,
    tasks::{self, Act, Assignment, Decision, Edit, TaskDetail, TaskView},
};
use hotel::domain::proposal::typed;
use serde_json::Value;

use crate::commands::{CommandError, LIST_LIMIT, not_blank};
use crate::{
    halves::hotel::request,
    print::{
        self,
        Field::{Line, Lines},
    },
};

/// List, show and move tasks
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
    #[command(
        after_help = "Example: countersign hotel tasks confirm 1042 --as 'Li Na' --version 1 --set rooms=8"
    )]
    Confirm {
        #[command(flatten)]
        step: Step,
        /// A value in the place of the agent's; may be given several times, an empty one clears the field
        #[arg(long = "set", value_name = "FIELD=VALUE", value_parser = assignment)]
        values: Vec<(String, String)>,
    },
    /// Reject a task; needs a reason
    #[command(
        after_help = "Example: countersign hotel tasks reject 1042 --as 'Li Na' --reason 'double booking'"
    )]
    Reject(Step),
    /// Send a task to manual review; needs a reason
    #[command(
        after_help = "Example: countersign hotel tasks review 1042 --as 'Li Na' --reason 'which of two groups?'"
    )]
    Review(Step),
    /// Send a reviewed task back to be confirmed
    #[command(after_help = "Example: countersign hotel tasks return 1042 --as 'Li Na'")]
    Return(Step),
    /// Begin to work on a confirmed task
    #[command(after_help = "Example: countersign hotel tasks start 1042 --as 'Li Na'")]
    Start(Step),
    /// Say that the work is done
    #[command(after_help = "Example: countersign hotel tasks done 1042 --as 'Li Na'")]
    Done(Step),
    /// Say that the work failed; needs a reason
    #[command(
        after_help = "Example: countersign hotel tasks fail 1042 --as 'Li Na' --reason 'no rooms left'"
    )]
    Fail(Step),
    /// Begin anew with a task that failed
    #[command(after_help = "Example: countersign hotel tasks retry 1042 --as 'Li Na'")]
    Retry(Step),
    /// Give up a confirmed or failed task; needs a reason, and leaves the order as it is
    #[command(
        after_help = "Example: countersign hotel tasks cancel 1042 --as 'Li Na' --reason 'the guest withdrew'"
    )]
    Cancel(Step),
    /// Close a manual review; needs a reason
    #[command(
        after_help = "Example: countersign hotel tasks close 1042 --as 'Li Na' --reason 'answered by phone'"
    )]
    Close(Step),
    /// Say that an informational message was read
    #[command(after_help = "Example: countersign hotel tasks acknowledge 1042 --as 'Li Na'")]
    Acknowledge(Step),
    /// Take a confirmation back, and with it what it changed on the order
    #[command(after_help = "Example: countersign hotel tasks undo 1042 --as 'Li Na'")]
    Undo(Step),
    /// Give an open task to a person of the console
    #[command(after_help = "Example: countersign hotel tasks assign 1042 --to mei --as 'Li Na'")]
    Assign {
        #[command(flatten)]
        step: Step,
        /// The person; without it the task is everyone's again
        #[arg(long, value_name = "NAME")]
        to: Option<String>,
    },
}

#[derive(Debug, Args)]
struct Step {
    /// The task's id
    #[arg(value_name = "ID")]
    task_id: i64,
    /// The person who decides
    #[arg(long = "as", value_name = "NAME", value_parser = person)]
    actor: String,
    /// The version that the person saw; refuses when the task has moved since
    #[arg(long)]
    version: Option<i64>,
    /// Why
    #[arg(long, value_parser = not_blank)]
    reason: Option<String>,
    /// Print the task as JSON
    #[arg(long)]
    json: bool,
}

impl Tasks {
    /// Whether it decides about a task.
    pub(crate) fn is_decision(&self) -> bool {
        !matches!(self.action, Action::List { .. } | Action::Show { .. })
    }

    pub(crate) async fn run(self, hotel: &Arc<Hotel>) -> Result<(), CommandError> {
        let (act, step) = match self.action {
            Action::List { limit, json } => return list(&tasks::list(hotel, limit.into()).await?, json),
            Action::Show { task_id, json } => return show(&tasks::show(hotel, task_id).await?, json),
            Action::Confirm { step, values } => {
                let edits = edits(&tasks::show(hotel, step.task_id).await?, values);
                return decide(hotel, Act::Confirm, step, edits).await;
            }
            Action::Assign { step, to } => return assign(hotel, step, to).await,
            Action::Reject(step) => (Act::Reject, step),
            Action::Review(step) => (Act::Review, step),
            Action::Return(step) => (Act::Return, step),
            Action::Start(step) => (Act::Start, step),
            Action::Done(step) => (Act::Done, step),
            Action::Fail(step) => (Act::Fail, step),
            Action::Retry(step) => (Act::Retry, step),
            Action::Cancel(step) => (Act::Cancel, step),
            Action::Close(step) => (Act::Close, step),
            Action::Acknowledge(step) => (Act::Acknowledge, step),
            Action::Undo(step) => (Act::Undo, step),
        };
        decide(hotel, act, step, Vec::new()).await
    }
}

/// The values in the kinds of those that they replace.
fn edits(task: &TaskDetail, values: Vec<(String, String)>) -> Vec<Edit> {
    let edit = |(field, text): (String, String)| {
        let proposed = task.proposed_changes.as_array().into_iter().flatten();
        let proposed =
            proposed.filter(|change| change["field"] == field.as_str()).map(|change| &change["to"]);
        let to = typed(proposed.into_iter().next().unwrap_or(&Value::Null), &text);
        Edit { field, to }
    };
    values.into_iter().map(edit).collect()
}

async fn decide(hotel: &Arc<Hotel>, act: Act, step: Step, edits: Vec<Edit>) -> Result<(), CommandError> {
    let Step { task_id, actor, version, reason, json } = step;
    // Whoever reaches the database's file could do anything to it.
    let decision = Decision { task_id, act, actor, is_admin: true, version, reason, edits };
    let request = request(hotel, &decision.actor);
    moved(&tasks::decide(hotel, request, decision).await?, json)
}

async fn assign(hotel: &Arc<Hotel>, step: Step, to: Option<String>) -> Result<(), CommandError> {
    let request = request(hotel, &step.actor);
    let assignment =
        Assignment { task_id: step.task_id, actor: step.actor, version: step.version, assignee: to };
    moved(&tasks::assign(hotel, request, assignment).await?, step.json)
}

fn moved(task: &TaskDetail, json: bool) -> Result<(), CommandError> {
    if json {
        return Ok(print::json(task)?);
    }
    let line =
        format!("task {} is {} (version {})", task.task.task_id, task.task.task_status, task.task.version);
    Ok(print::line(&line)?)
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

fn assignment(text: &str) -> Result<(String, String), &'static str> {
    let (field, value) =
        text.split_once('=').filter(|(field, _)| !field.trim().is_empty()).ok_or("write FIELD=VALUE")?;
    Ok((field.trim().to_owned(), value.to_owned()))
}
