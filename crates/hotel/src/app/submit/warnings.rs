//! Warnings about an order's status and about what an event says.

use std::collections::HashSet;

use serde_json::Value;

use super::payload::Event;
use crate::catalog::{Action, Entry, ResultType};
use crate::domain::order::{CANCELLED, Order};
use crate::domain::proposal::{self, is_date};
use crate::domain::warning::{Warning, WarningCode};

/// What the order's status has against the action.
pub fn of_status(order: &Order, action: Action) -> Option<Warning> {
    let rights = order.rights();
    let allowed = match action {
        Action::Update => rights.can_update,
        Action::Cancel => rights.can_cancel,
        // A create is judged by ALREADY_EXISTS, anything else may be done in every status.
        Action::Create | Action::Other => true,
    };
    if allowed {
        return None;
    }
    let code = match order.status.as_str() {
        "IN_HOUSE" | "DUE_OUT" => WarningCode::OrderInHouse,
        "NO_SHOW" => WarningCode::NoShow,
        "CANCELLED" | "LOST" | "REFUSED" => WarningCode::OrderCancelled,
        _ => WarningCode::OrderCheckedOut,
    };
    Some(Warning::new(code, format!("{} 的状态为 {}，不允许该操作。", order.object_id(), order.status)))
}

/// What the event's own content, beside the order as it is, has against it.
pub fn of_content(event: &Event, entry: &Entry, order: Option<&Order>, today: &str) -> Vec<Warning> {
    if entry.result_type == ResultType::InformationalMessage {
        return Vec::new();
    }
    let mut found = of_proposals(event, entry.action);
    found.extend(entry.needs.iter().filter_map(|need| missing_need(event, need)));
    found.extend(dates(event, order, entry.action, today));
    found.extend(occupancy(event));
    found.extend(rooming_names(event));
    if let Some(order) = order {
        found.extend(cutoff(order, entry, today));
        found.extend(currency(event, order));
    }
    found
}

/// What cannot be applied as it is shown: a value that its field does not take, or two values for one field.
pub fn of_proposals(event: &Event, action: Action) -> Vec<Warning> {
    let mut fields = HashSet::new();
    if event.details.as_ref().is_some_and(|details| details.get("lines").is_some()) {
        fields.insert("lines");
    }
    let mut found = Vec::new();
    for change in event.proposed_changes.iter().flatten() {
        let field = change.field.as_str();
        let against = match &change.to {
            _ if field.trim().is_empty() => Some("字段名为空".to_owned()),
            _ if !fields.insert(field) => Some("重复给出".to_owned()),
            None => Some("缺少 to".to_owned()),
            // A cancellation may say what it does.
            Some(Value::String(to)) if field == "status" && action == Action::Cancel && to == CANCELLED => {
                None
            }
            Some(to) => proposal::misfit(field, to),
        };
        if let Some(against) = against {
            let text = format!("建议修改的 {field}：{against}。");
            found.push(Warning::new(WarningCode::InvalidProposedValue, text).on(field));
        }
    }
    found
}

fn missing_need(event: &Event, need: &str) -> Option<Warning> {
    let there = |field: &str| match field {
        "proposed_changes" => event.proposed_changes.as_ref().is_some_and(|changes| !changes.is_empty()),
        field => event.value(field).is_some_and(|value| proposal::misfit(field, value).is_none()),
    };
    let missing = !need.split('|').any(there);
    missing.then(|| Warning::new(WarningCode::NeedMissing, format!("缺少信息：{need}")).on(need))
}

fn dates(event: &Event, order: Option<&Order>, action: Action, today: &str) -> Vec<Warning> {
    let mut found = Vec::new();
    let said = |field: &str| {
        event.value(field).and_then(Value::as_str).filter(|text| is_date(text)).map(str::to_owned)
    };
    let known = |date: Option<&String>| date.filter(|text| is_date(text)).cloned();
    let arrival = said("arrival").or_else(|| known(order?.arrival.as_ref()));
    let departure = said("departure").or_else(|| known(order?.departure.as_ref()));
    if let (Some(arrival), Some(departure)) = (&arrival, &departure)
        && departure <= arrival
    {
        let text = format!("离店日期 {departure} 不晚于到店日期 {arrival}。");
        found.push(Warning::new(WarningCode::DepartureNotAfterArrival, text).on("departure"));
    }
    if let Some(arrival) = said("arrival") {
        if arrival.as_str() < today && matches!(action, Action::Create | Action::Update) {
            let text = format!("到店日期 {arrival} 已过。");
            found.push(Warning::new(WarningCode::ArrivalInPast, text).on("arrival"));
        }
        if order.is_some_and(|order| order.rights().arrival_locked) {
            let text = "客人已入住，不能更改到店日期。";
            found.push(Warning::new(WarningCode::ArrivalLockedInHouse, text).on("arrival"));
        }
    }
    found
}

/// Fewer guests than rooms, or more than four to a room.
fn occupancy(event: &Event) -> Option<Warning> {
    let number = |field: &str| proposal::count(event.value(field)?);
    let (rooms, guests) = (number("rooms")?, number("guests").or_else(|| number("adults"))?);
    let fits = rooms <= guests && guests <= rooms.saturating_mul(4);
    let text = format!("{rooms} 间房与 {guests} 位客人不符。");
    (!fits).then(|| Warning::new(WarningCode::OccupancyMismatch, text).on("rooms"))
}

fn rooming_names(event: &Event) -> Vec<Warning> {
    let lines = event.value("lines").and_then(Value::as_array);
    let mut seen = HashSet::new();
    let mut doubles = Vec::new();
    for name in lines.into_iter().flatten().filter_map(|line| line.get("name")?.as_str()) {
        let name = name.trim();
        if !name.is_empty() && !seen.insert(name.to_lowercase()) && !doubles.iter().any(|known| known == name)
        {
            doubles.push(name.to_owned());
        }
    }
    doubles
        .into_iter()
        .map(|name| {
            Warning::new(WarningCode::DuplicateRoomingName, format!("名单中 {name} 出现多次。")).on("lines")
        })
        .collect()
}

fn cutoff(order: &Order, entry: &Entry, today: &str) -> Option<Warning> {
    let cutoff = order.fields.get("cutoff")?.as_str().filter(|text| is_date(text))?;
    let past = cutoff < today && entry.code != "C06";
    past.then(|| Warning::new(WarningCode::PastCutoff, format!("已过截止日期 {cutoff}。")).on("cutoff"))
}

fn currency(event: &Event, order: &Order) -> Option<Warning> {
    let (said, known) = (event.value("currency")?.as_str()?, order.fields.get("currency")?.as_str()?);
    let text = format!("币种 {said} 与订单的 {known} 不同。");
    (!said.eq_ignore_ascii_case(known))
        .then(|| Warning::new(WarningCode::CurrencyMismatch, text).on("currency"))
}
