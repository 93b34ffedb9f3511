//! The charts: calls, how long they took, open tasks by age, mails by day.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use super::chart::{self, Chart, MOST_SERIES, Series, Slot, duration};
use super::visit::{Visit, page};
use super::words;
use crate::app::statistics::{self, AGES, OUTCOMES, SPANS, Span, Statistics, Summary};
use crate::domain::local_time;
use crate::error::Error;

/// Percentiles by name, in the order of [`statistics::Calls::percentiles`].
const PERCENTILES: [&str; 3] = ["p50", "p95", "p99"];

#[derive(Template)]
#[template(path = "charts.html")]
struct ChartsPage<'v> {
    visit: &'v Visit,
    span: Span,
    /// The operation that calls and durations are of; empty for all.
    operation: &'v str,
    charts: Vec<Chart>,
    summaries: Vec<Summary>,
}

/// GET /console/charts: span (24h, 7d or 30d), operation.
pub(super) async fn show(visit: &Visit) -> Result<Response, Error> {
    let span = Span::parse(visit.fields.text("span")).unwrap_or(Span::Day);
    let operation = visit.fields.text("operation");
    let statistics = statistics::statistics(&visit.hotel, span).await?;
    let summaries = statistics.calls.summaries();
    let charts = vec![
        by_outcome(visit, span, &statistics, operation),
        by_operation(visit, span, &statistics, &summaries),
        durations(visit, span, &statistics, operation),
        ages(visit, &statistics),
        mails(visit, &statistics),
    ];
    page(StatusCode::OK, &ChartsPage { visit, span, operation, charts, summaries })
}

fn by_outcome(visit: &Visit, span: Span, statistics: &Statistics, operation: &str) -> Chart {
    let outcome = |outcome: &&str| Series {
        name: words::outcome(outcome, visit.language).to_owned(),
        values: known(statistics.calls.ended(only(operation), outcome)),
    };
    let title = titled(visit.say("调用（按结果）", "Calls by outcome"), operation, visit);
    let series = OUTCOMES.iter().map(outcome).collect();
    Chart::bars("outcomes", title, visit.say("次", "calls"), slots(span, statistics), series)
}

/// The most called operations by name, the others together.
fn by_operation(visit: &Visit, span: Span, statistics: &Statistics, summaries: &[Summary]) -> Chart {
    let names: Vec<&str> = summaries.iter().map(|summary| summary.operation.as_str()).collect();
    let most = if names.len() > MOST_SERIES { MOST_SERIES - 1 } else { names.len() };
    let (first, others) = names.split_at(most);
    let series = |name: &str, operations: &[&str]| Series {
        name: name.to_owned(),
        values: known(statistics.calls.made(operations)),
    };
    let mut all: Vec<Series> =
        first.iter().map(|name| series(words::operation(name, visit.language), &[name])).collect();
    if !others.is_empty() {
        all.push(series(visit.say("其他", "others"), others));
    }
    let title = visit.say("调用（按工具）", "Calls by tool").to_owned();
    Chart::bars("tools", title, visit.say("次", "calls"), slots(span, statistics), all)
}

fn durations(visit: &Visit, span: Span, statistics: &Statistics, operation: &str) -> Chart {
    let percentiles = statistics.calls.percentiles(only(operation));
    let series = |(place, name): (usize, &&str)| Series {
        name: (*name).to_owned(),
        values: percentiles.iter().map(|slot| slot[place]).collect(),
    };
    let title = titled(visit.say("调用耗时", "How long calls took"), operation, visit);
    let unit =
        visit.say("不超过此时长的调用：50%、95%、99%", "50, 95 and 99 % of calls took at most this long");
    let series = PERCENTILES.iter().enumerate().map(series).collect();
    Chart::lines("durations", title, unit, slots(span, statistics), series)
}

fn ages(visit: &Visit, statistics: &Statistics) -> Chart {
    let names = match visit.language {
        govern::language::Language::Chinese => ["1小时内", "4小时内", "1天内", "3天内", "7天内", "更久"],
        govern::language::Language::English => ["< 1 h", "< 4 h", "< 1 d", "< 3 d", "< 7 d", "older"],
    };
    let _: [_; AGES.len() + 1] = names;
    let slots = names.map(|name| Slot { label: name.to_owned(), tick: Some(name.to_owned()) });
    let series = |(status, ages): &(crate::domain::task::TaskStatus, Vec<i64>)| Series {
        name: words::status(status.as_str(), visit.language).to_owned(),
        values: known(ages.clone()),
    };
    let title = visit.say("未完成任务（按状态和存在时间）", "Open tasks by status and age").to_owned();
    let series = statistics.ages.iter().map(series).collect();
    Chart::bars("ages", title, visit.say("项", "tasks"), slots.to_vec(), series)
}

fn mails(visit: &Visit, statistics: &Statistics) -> Chart {
    let slots = statistics.mails.iter().enumerate().map(|(number, (day, _))| {
        let date = local_time::date(*day);
        Slot { tick: (number % 7 == 1).then(|| date[5..].to_owned()), label: date }
    });
    let name = visit.say("邮件", "mails");
    let counts = statistics.mails.iter().map(|(_, count)| *count).collect();
    let series = vec![Series { name: name.to_owned(), values: known(counts) }];
    let title = visit.say("每日收到的邮件", "Mails received a day").to_owned();
    Chart::bars("mails", title, visit.say("封", "mails"), slots.collect(), series)
}

/// The slots of the calls: by the hour, else by the day, with as many ticks as a phone has room for.
fn slots(span: Span, statistics: &Statistics) -> Vec<Slot> {
    let slot = |(number, begin): (usize, &i64)| {
        let (minute, hour) = (local_time::minute(*begin), local_time::hour_of_day(*begin));
        let (date, time) = (minute[5..10].to_owned(), minute[11..].to_owned());
        match span {
            Span::Day => Slot { tick: (hour % 6 == 0).then_some(time), label: minute },
            Span::Week => Slot { tick: (hour == 0 && number % 8 < 4).then_some(date), label: minute },
            Span::Month => Slot { tick: (number % 7 == 1).then_some(date), label: minute[..10].to_owned() },
        }
    };
    statistics.slots.iter().enumerate().map(slot).collect()
}

fn only(operation: &str) -> Option<&str> {
    (!operation.is_empty()).then_some(operation)
}

fn known(values: Vec<i64>) -> Vec<Option<i64>> {
    values.into_iter().map(Some).collect()
}

fn titled(title: &str, operation: &str, visit: &Visit) -> String {
    match only(operation) {
        Some(name) => format!("{title} · {}", words::operation(name, visit.language)),
        None => title.to_owned(),
    }
}

impl ChartsPage<'_> {
    /// The address of these charts with another span and operation.
    #[expect(clippy::unused_self, reason = "a template calls methods of its page")]
    fn address(&self, span: Span, operation: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("span", span.as_str());
        if !operation.is_empty() {
            query.append_pair("operation", operation);
        }
        format!("/console/charts?{}", query.finish())
    }

    fn span_name(&self, span: Span) -> &'static str {
        match span {
            Span::Day => self.visit.language.pick("24 小时", "24 hours"),
            Span::Week => self.visit.language.pick("7 天", "7 days"),
            Span::Month => self.visit.language.pick("30 天", "30 days"),
        }
    }

    fn is_shown(&self, span: Span) -> bool {
        span == self.span
    }
}

impl Summary {
    /// How long half, 95 and 99 of 100 calls took at most, in words.
    fn durations(&self) -> [String; 3] {
        self.percentiles.map(|us| us.map_or_else(|| "–".to_owned(), duration))
    }
}
