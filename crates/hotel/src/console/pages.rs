//! The pages as data: each has the access, the operation and the effect by which the gate and the trail know it.

use axum::response::Response;
use axum::routing::MethodFilter;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use govern::tool::Effect;

use super::visit::Visit;
use super::{admin, audit, board, charts, events, inbox, log_in, orders, search, tasks};
use crate::error::Error;

/// How a page is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Shows.
    Get,
    /// Sends a form.
    Post,
}

/// Who may open a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody who reaches the port.
    Anyone,
    /// A person whose role has this scope ([`Role::scopes`](crate::domain::role::Role::scopes)).
    Scope(&'static str),
}

/// A page of the console.
pub struct Page {
    /// How it is asked for.
    pub method: Method,
    /// Its path; `{id}` is a number.
    pub path: &'static str,
    /// Who may open it.
    pub access: Access,
    /// Its name in the audit trail.
    pub operation: &'static str,
    /// What it does to the world.
    pub effect: Effect,
    pub(super) run: Run,
}

/// The work of a page.
type Run = for<'a> fn(&'a Visit) -> BoxFuture<'a, Result<Response, Error>>;

const VIEW: Access = Access::Scope("console-view");
const RUN: Access = Access::Scope("console-run");

/// All pages.
pub static PAGES: &[Page] = &[
    Page {
        method: Method::Get,
        path: "/console/login",
        access: Access::Anyone,
        operation: "console_log_in_form",
        effect: Effect::Read,
        run: |visit| ready(log_in::show(visit)).boxed(),
    },
    Page {
        method: Method::Post,
        path: "/console/login",
        access: Access::Anyone,
        operation: "console_log_in",
        effect: Effect::Write,
        run: |visit| log_in::log_in(visit).boxed(),
    },
    Page {
        method: Method::Post,
        path: "/console/logout",
        access: Access::Anyone,
        operation: "console_log_out",
        effect: Effect::Write,
        run: |visit| log_in::log_out(visit).boxed(),
    },
    Page {
        method: Method::Post,
        path: "/console/language",
        access: Access::Anyone,
        operation: "console_language",
        effect: Effect::Write,
        run: |visit| ready(log_in::language(visit)).boxed(),
    },
    Page {
        method: Method::Get,
        path: "/console/account",
        access: VIEW,
        operation: "console_account",
        effect: Effect::Read,
        run: |visit| ready(log_in::account(visit)).boxed(),
    },
    Page {
        method: Method::Get,
        path: "/console/inbox",
        access: VIEW,
        operation: "console_inbox",
        effect: Effect::Read,
        run: |visit| inbox::threads(visit).boxed(),
    },
    Page {
        method: Method::Get,
        path: "/console/conversations/{id}",
        access: VIEW,
        operation: "console_conversation",
        effect: Effect::Read,
        run: |visit| inbox::conversation(visit).boxed(),
    },
    Page {
        method: Method::Get,
        path: "/console/messages/{id}",
        access: VIEW,
        operation: "console_message",
        effect: Effect::Read,
        run: |visit| inbox::message(visit).boxed(),
    },
    Page {
        method: Method::Get,
        path: "/console/messages/{id}/body",
        access: VIEW,
        operation: "console_message_body",
        effect: Effect::Read,
        run: |visit| inbox::body(visit).boxed(),
    },
    Page {
        method: Method::Get,
        path: "/console/tasks",
        access: VIEW,
        operation: "console_tasks",
        effect: Effect::Read,
        run: |visit| board::board(visit).boxed(),
    },
    Page {
        method: Method::Get,
        path: "/console/tasks/{id}",
        access: VIEW,
        operation: "console_task",
        effect: Effect::Read,
        run: |visit| tasks::show(visit).boxed(),
    },
    Page {
        method: Method::Post,
        path: "/console/tasks/{id}",
        access: Access::Scope("console-decide"),
        operation: "console_task_decide",
        effect: Effect::Write,
        run: |visit| tasks::decide(visit).boxed(),
    },
    Page {
        method: Method::Post,
        path: "/console/tasks/{id}/assign",
        access: Access::Scope("console-decide"),
        operation: "console_task_assign",
        effect: Effect::Write,
        run: |visit| tasks::assign(visit).boxed(),
    },
    Page {
        method: Method::Post,
        path: "/console/tasks",
        access: Access::Scope("console-decide"),
        operation: "console_tasks_acknowledge",
        effect: Effect::Write,
        run: |visit| board::acknowledge(visit).boxed(),
    },
    // What pages ask for by themselves.
    Page {
        method: Method::Get,
        path: "/console/events",
        access: VIEW,
        operation: "console_events",
        effect: Effect::Read,
        run: |visit| ready(events::stream(visit)).boxed(),
    },
    Page {
        method: Method::Get,
        path: "/console/tasks/{id}/news",
        access: VIEW,
        operation: "console_task_news",
        effect: Effect::Read,
        run: |visit| events::task(visit).boxed(),
    },
    Page {
        method: Method::Get,
        path: "/console/conversations/{id}/news",
        access: VIEW,
        operation: "console_conversation_news",
        effect: Effect::Read,
        run: |visit| events::conversation(visit).boxed(),
    },
    Page {
        method: Method::Get,
        path: "/console/audit",
        access: Access::Scope("console-run"),
        operation: "console_audit",
        effect: Effect::Read,
        run: |visit| audit::explore(visit).boxed(),
    },
    Page {
        method: Method::Get,
        path: "/console/audit/{id}",
        access: Access::Scope("console-run"),
        operation: "console_audit_record",
        effect: Effect::Read,
        run: |visit| audit::record(visit).boxed(),
    },
    Page {
        method: Method::Get,
        path: "/console/charts",
        access: VIEW,
        operation: "console_charts",
        effect: Effect::Read,
        run: |visit| charts::show(visit).boxed(),
    },
    // What people look up.
    Page {
        method: Method::Get,
        path: "/console/search",
        access: VIEW,
        operation: "console_search",
        effect: Effect::Read,
        run: |visit| search::search(visit).boxed(),
    },
    Page {
        method: Method::Get,
        path: "/console/orders",
        access: VIEW,
        operation: "console_orders",
        effect: Effect::Read,
        run: |visit| orders::list(visit).boxed(),
    },
    Page {
        method: Method::Get,
        path: "/console/orders/{id}",
        access: VIEW,
        operation: "console_order",
        effect: Effect::Read,
        run: |visit| orders::show(visit).boxed(),
    },
    // What administrators run.
    Page {
        method: Method::Get,
        path: "/console/admin/tokens",
        access: RUN,
        operation: "console_tokens",
        effect: Effect::Read,
        run: |visit| admin::tokens::list(visit).boxed(),
    },
    Page {
        method: Method::Post,
        path: "/console/admin/tokens",
        access: RUN,
        operation: "console_token_add",
        effect: Effect::Write,
        run: |visit| admin::tokens::create(visit).boxed(),
    },
    Page {
        method: Method::Post,
        path: "/console/admin/tokens/{id}/rotate",
        access: RUN,
        operation: "console_token_rotate",
        effect: Effect::Write,
        run: |visit| admin::tokens::rotate(visit).boxed(),
    },
    Page {
        method: Method::Post,
        path: "/console/admin/tokens/{id}/revoke",
        access: RUN,
        operation: "console_token_revoke",
        effect: Effect::Write,
        run: |visit| admin::tokens::revoke(visit).boxed(),
    },
];

impl Method {
    /// As HTTP writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }

    pub(super) fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
        }
    }
}
