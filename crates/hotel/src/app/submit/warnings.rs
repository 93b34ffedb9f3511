//! Warnings about an order's status and about what an event says.

use std::collections::HashSet;

use serde_json::Value;

use super::payload::Event;
use crate::catalog::{Action, Entry, ResultType};
use crate::domain::order::Order;
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
    let mut found: Vec<Warning> = entry.needs.iter().filter_map(|need| missing_need(event, need)).collect();
    found.extend(dates(event, order, entry.action, today));
    found.extend(occupancy(event));
    found.extend(rooming_names(event));
    if let Some(order) = order {
        found.extend(cutoff(order, entry, today));
        found.extend(currency(event, order));
    }
    found
}

fn missing_need(event: &Event, need: &str) -> Option<Warning> {
    let there = |field: &str| match field {
        "proposed_changes" => event.proposed_changes.as_ref().is_some_and(|changes| !changes.is_empty()),
        field => event.value(field).is_some(),
    };
    let missing = !need.split('|').any(there);
    missing.then(|| Warning::new(WarningCode::NeedMissing, format!("缺少信息：{need}")).on(need))
}

fn dates(event: &Event, order: Option<&Order>, action: Action, today: &str) -> Vec<Warning> {
    let mut found = Vec::new();
    let said = |field: &str| {
        event.value(field).and_then(Value::as_str).filter(|text| is_date(text)).map(str::to_owned)
    };
    let arrival = said("arrival").or_else(|| order?.arrival.clone());
    let departure = said("departure").or_else(|| order?.departure.clone());
    if let (Some(arrival), Some(departure)) = (&arrival, &departure)
        && departure <= arrival
    {
        let text = format!("离店日期 {departure} 不晚于到店日期 {arrival}。");
        found.push(Warning::new(WarningCode::DepartureNotAfterArrival, text).on("departure"));
    }
    if let Some(arrival) = said("arrival").filter(|_| matches!(action, Action::Create | Action::Update)) {
        if arrival.as_str() < today {
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
    let number = |field: &str| match event.value(field)? {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_u64(),
    };
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

/// YYYY-MM-DD, so that dates compare as text.
pub fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(place, byte)| match place {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}
