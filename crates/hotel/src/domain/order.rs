//! Order statuses and what may be done in each (design: Domain, the table of can_update / can_cancel).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::keys::CaseKeys;

/// Whether an order is an individual reservation or a group block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ObjectType {
    /// Free independent traveller: one reservation.
    Fit,
    /// A group block or allotment.
    Group,
}

impl ObjectType {
    /// The stored and wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fit => "FIT",
            Self::Group => "GROUP",
        }
    }

    /// Reads the wire word.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "FIT" => Some(Self::Fit),
            "GROUP" => Some(Self::Group),
            _ => None,
        }
    }
}

/// An order: ours in DRAFT, or known from OPERA.
#[derive(Debug, Clone)]
pub struct Order {
    /// Internal id; on the wire `ORDER:{order_id}`.
    pub order_id: i64,
    /// FIT or GROUP.
    pub object_type: ObjectType,
    /// The normalised business keys.
    pub keys: CaseKeys,
    /// One of the statuses below.
    pub status: String,
    /// LOCAL or OPERA_PROJECTION.
    pub status_source: String,
    /// Arrival date, ISO.
    pub arrival: Option<String>,
    /// Departure date, ISO.
    pub departure: Option<String>,
    /// All known fields by name.
    pub fields: Map<String, Value>,
    /// Counts changes, from 1.
    pub version: i64,
    /// The message that created it; none for imports.
    pub created_inbox_id: Option<i64>,
}

impl Order {
    /// `ORDER:{order_id}`.
    pub fn object_id(&self) -> String {
        format!("ORDER:{}", self.order_id)
    }

    /// What its status allows, its open tasks aside.
    pub fn rights(&self) -> Rights {
        rights(&self.status)
    }
}

/// The order id in `ORDER:{digits}`.
pub fn parse_object_id(object_id: &str) -> Option<i64> {
    let digits = object_id.strip_prefix("ORDER:")?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| digits.parse().unwrap_or(i64::MAX))
}

/// What may be done with an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// Its fields may be changed.
    pub can_update: bool,
    /// It may be cancelled.
    pub can_cancel: bool,
    /// The guest is in the house: the arrival is fixed, departure and services may change.
    pub arrival_locked: bool,
}

/// The draft status: ours, not in OPERA.
pub const DRAFT: &str = "DRAFT";
/// The cancelled status of reservations and groups.
pub const CANCELLED: &str = "CANCELLED";

/// All statuses: those of reservations, then those of groups alone.
pub const ORDER_STATUSES: [&str; 18] = [
    DRAFT,
    "RESERVED",
    "REQUESTED",
    "WAITLISTED",
    "DUE_IN",
    "IN_HOUSE",
    "DUE_OUT",
    "CHECKED_OUT",
    "PENDING_CHECKOUT",
    "NO_SHOW",
    CANCELLED,
    "INQUIRY",
    "TENTATIVE",
    "DEFINITE",
    "WAITLIST",
    "ACTUAL",
    "LOST",
    "REFUSED",
];

/// What a status allows.
pub fn rights(status: &str) -> Rights {
    let (can_update, can_cancel, arrival_locked) = match status {
        "DRAFT" | "REQUESTED" | "WAITLISTED" | "RESERVED" | "DUE_IN" | "INQUIRY" | "TENTATIVE"
        | "DEFINITE" | "WAITLIST" => (true, true, false),
        "IN_HOUSE" | "DUE_OUT" => (true, false, true),
        _ => (false, false, false),
    };
    Rights { can_update, can_cancel, arrival_locked }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_id_is_order_and_digits() {
        assert_eq!(parse_object_id("ORDER:1042"), Some(1042));
        for wrong in ["ORDER:", "ORDER:-1", "ORDER: 1", "order:1", "1042", "ORDER:1x", "ORDER:+1", "GROUP:1"]
        {
            assert_eq!(parse_object_id(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_id_too_large_to_exist_is_well_formed() {
        assert_eq!(parse_object_id("ORDER:99999999999999999999"), Some(i64::MAX));
    }

    #[test]
    fn a_guest_in_the_house_can_be_amended_but_not_cancelled() {
        assert_eq!(rights("IN_HOUSE"), Rights { can_update: true, can_cancel: false, arrival_locked: true });
    }

    #[test]
    fn closed_orders_allow_nothing() {
        for status in [
            "CHECKED_OUT",
            "PENDING_CHECKOUT",
            "NO_SHOW",
            "CANCELLED",
            "ACTUAL",
            "LOST",
            "REFUSED",
            "anything else",
        ] {
            assert_eq!(
                rights(status),
                Rights { can_update: false, can_cancel: false, arrival_locked: false }
            );
        }
    }
}
