//! The orders that keys lead to: one look-up for submissions and for case-context.

use std::collections::{HashMap, HashSet};

use crate::domain::keys::CaseKeys;
use crate::domain::order::{CANCELLED, Order};
use crate::store::tasks::TaskRow;

/// A set of orders, findable by key, with the open tasks on them.
#[derive(Debug, Default)]
pub struct Orders {
    all: Vec<Order>,
    by_key: HashMap<(&'static str, String), Vec<usize>>,
    open_types: HashSet<(i64, String)>,
    open_cancels: HashSet<i64>,
}

/// The orders that match some keys.
#[derive(Debug)]
pub struct Target<'a> {
    /// Each order with the names of the keys that led to it, by id.
    pub matches: Vec<(&'a Order, Vec<&'static str>)>,
    keys_that_match: Vec<(&'static str, Vec<i64>)>,
}

impl Orders {
    /// The orders and the open tasks on them.
    pub fn new(orders: Vec<Order>, open_tasks: &[TaskRow]) -> Self {
        let mut all = Self::default();
        for order in orders {
            all.add(order);
        }
        for task in open_tasks {
            if let Some(order_id) = task.order_id {
                all.note_open_task(
                    order_id,
                    &task.system_task_type,
                    task.system_task_type.starts_with("CANCEL_"),
                );
            }
        }
        all
    }

    /// Adds an order.
    pub fn add(&mut self, order: Order) {
        for (name, value) in order.keys.present() {
            self.by_key.entry((name, value.to_owned())).or_default().push(self.all.len());
        }
        self.all.push(order);
    }

    /// Notes that an order has an open task.
    pub fn note_open_task(&mut self, order_id: i64, task_type: &str, cancels: bool) {
        self.open_types.insert((order_id, task_type.to_owned()));
        if cancels {
            self.open_cancels.insert(order_id);
        }
    }

    /// Whether an order has an open task of a type.
    pub fn has_open_task(&self, order_id: i64, task_type: &str) -> bool {
        self.open_types.contains(&(order_id, task_type.to_owned()))
    }

    /// Whether an order is about to be cancelled.
    pub fn has_open_cancel(&self, order_id: i64) -> bool {
        self.open_cancels.contains(&order_id)
    }

    /// All orders that have one of the normalised keys: the union, never a substring.
    pub fn target(&self, keys: &CaseKeys) -> Target<'_> {
        let mut places: Vec<usize> = Vec::new();
        let mut keys_that_match = Vec::new();
        for (name, value) in keys.present() {
            if let Some(found) = self.by_key.get(&(name, value.to_owned())) {
                keys_that_match.push((name, found.iter().map(|place| self.all[*place].order_id).collect()));
                places.extend(found);
            }
        }
        places.sort_unstable();
        places.dedup();
        let matches = places
            .into_iter()
            .map(|place| &self.all[place])
            .map(|order| (order, keys.matched_by(&order.keys)));
        Target { matches: matches.collect(), keys_that_match }
    }
}

impl<'a> Target<'a> {
    /// Nothing matches.
    pub fn is_none(&self) -> bool {
        self.matches.is_empty()
    }

    /// Nothing that matches still stands: a cancelled order does not count as existing.
    pub fn all_cancelled(&self) -> bool {
        self.matches.iter().all(|(order, _)| order.status == CANCELLED)
    }

    /// The one order that is meant: the only one that still stands, else the only one.
    pub fn unique(&self) -> Option<&'a Order> {
        let standing = self.candidates();
        (standing.len() == 1 && !self.is_disjoint()).then(|| standing[0])
    }

    /// Several orders could be meant.
    pub fn is_ambiguous(&self) -> bool {
        self.candidates().len() > 1 || self.is_disjoint()
    }

    /// Two keys lead to orders of which none is the same.
    pub fn is_disjoint(&self) -> bool {
        self.keys_that_match.iter().enumerate().any(|(place, (_, orders))| {
            self.keys_that_match[place + 1..]
                .iter()
                .any(|(_, others)| orders.iter().all(|order| !others.contains(order)))
        })
    }

    fn candidates(&self) -> Vec<&'a Order> {
        let all = self.matches.iter().map(|(order, _)| *order);
        let standing: Vec<&Order> = all.clone().filter(|order| order.status != CANCELLED).collect();
        if standing.is_empty() { all.collect() } else { standing }
    }
}
