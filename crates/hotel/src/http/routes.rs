//! The REST routes as data: each has the name, effect and scope by which the gate and the audit know it.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use govern::arguments;
use govern::tool::Effect;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::app::submit::{self, adapter};
use crate::app::{Hotel, Request, case_context, conversation, ingest, object_detail};
use crate::domain::warning::Warning;
use crate::error::Error;

/// A REST route.
pub struct Route {
    /// Its path; the method is POST.
    pub path: &'static str,
    /// The twin tool's name, or the operation's own.
    pub operation: &'static str,
    /// What it does to the world.
    pub effect: Effect,
    /// The scope that a caller needs.
    pub scope: &'static str,
    pub(super) run: Run,
}

/// The work of a route; the text is one strict JSON object.
type Run = for<'a> fn(&'a Arc<Hotel>, &'a Request, &'a str) -> BoxFuture<'a, Result<Done, Error>>;

/// What a route answers.
pub(super) struct Done {
    pub(super) data: Box<RawValue>,
    pub(super) warnings: Vec<Warning>,
}

/// All routes. A page of a conversation may be larger over REST than a model can take, within reason.
pub static ROUTES: [Route; 6] = [
    Route {
        path: "/api/ai-query/v1/case-context",
        operation: "th_hotel_query_case_context",
        effect: Effect::Read,
        scope: "read",
        run: case_context,
    },
    Route {
        path: "/api/ai-query/v1/object-detail",
        operation: "th_hotel_query_object_detail",
        effect: Effect::Read,
        scope: "read",
        run: object_detail,
    },
    Route {
        path: "/api/ai-query/v1/message-conversation/tasks",
        operation: "th_hotel_list_message_conversation_tasks",
        effect: Effect::Read,
        scope: "read",
        run: conversation_tasks,
    },
    Route {
        path: "/api/ai-query/v1/message-conversation/messages",
        operation: "th_hotel_list_message_conversation_messages",
        effect: Effect::Read,
        scope: "read",
        run: conversation_messages,
    },
    Route {
        path: "/api/integrations/superagent/task-results",
        operation: submit::OPERATION,
        effect: Effect::Write,
        scope: "submit",
        run: task_results,
    },
    Route {
        path: "/api/integrations/agentbus/messages",
        operation: ingest::OPERATION,
        effect: Effect::Write,
        scope: "ingest",
        run: agentbus_message,
    },
];

fn case_context<'a>(
    hotel: &'a Arc<Hotel>,
    request: &'a Request,
    body: &'a str,
) -> BoxFuture<'a, Result<Done, Error>> {
    async move {
        let context = case_context::query(hotel, arguments::parse(body)?, request.budget).await?;
        done(&context, context.warnings.clone())
    }
    .boxed()
}

fn object_detail<'a>(
    hotel: &'a Arc<Hotel>,
    _: &'a Request,
    body: &'a str,
) -> BoxFuture<'a, Result<Done, Error>> {
    async move {
        let detail = object_detail::query(hotel, arguments::parse(body)?).await?;
        done(&detail, detail.warnings.clone())
    }
    .boxed()
}

fn conversation_tasks<'a>(
    hotel: &'a Arc<Hotel>,
    request: &'a Request,
    body: &'a str,
) -> BoxFuture<'a, Result<Done, Error>> {
    async move { done(&conversation::tasks(hotel, arguments::parse(body)?, request.budget).await?, Vec::new()) }.boxed()
}

fn conversation_messages<'a>(
    hotel: &'a Arc<Hotel>,
    request: &'a Request,
    body: &'a str,
) -> BoxFuture<'a, Result<Done, Error>> {
    async move {
        let query = arguments::parse(body)?;
        let messages = conversation::messages(hotel, request, query).await?;
        done(&messages, messages.warnings.clone())
    }
    .boxed()
}

fn task_results<'a>(
    hotel: &'a Arc<Hotel>,
    request: &'a Request,
    body: &'a str,
) -> BoxFuture<'a, Result<Done, Error>> {
    async move {
        let submission = adapter::from_rest(serde_json::from_str(body)?)?;
        let mut answer = submit::submit(hotel, request.clone(), submission).await?.answer;
        answer.mapping_diagnostics = None;
        done(&answer, Vec::new())
    }
    .boxed()
}

fn agentbus_message<'a>(
    hotel: &'a Arc<Hotel>,
    request: &'a Request,
    body: &'a str,
) -> BoxFuture<'a, Result<Done, Error>> {
    async move { done(&ingest::agentbus(hotel, request.clone(), arguments::parse(body)?).await?, Vec::new()) }
        .boxed()
}

fn done<T: Serialize>(data: &T, warnings: Vec<Warning>) -> Result<Done, Error> {
    Ok(Done { data: serde_json::value::to_raw_value(data)?, warnings })
}
