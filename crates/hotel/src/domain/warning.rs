//! Warnings on task cards and in answers.

use serde::{Deserialize, Serialize};

/// How far a warning goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// Cannot be confirmed through.
    Stop,
    /// Needs a person's reason.
    Confirm,
}

/// A warning, as stored on the card and shown on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable code.
    pub code: WarningCode,
    /// STOP or CONFIRM.
    pub severity: Severity,
    /// The field it is about, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// For people.
    pub message: String,
}

impl Warning {
    /// A warning with the code's usual severity.
    pub fn new(code: WarningCode, message: impl Into<String>) -> Self {
        Self { code, severity: code.severity(), field: None, message: message.into() }
    }

    /// Names the field it is about.
    #[must_use]
    pub fn on(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }
}

/// The codes of design/hotel that this version raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WarningCode {
    /// No order has the keys.
    TargetNotFound,
    /// Several orders have the keys.
    TargetAmbiguous,
    /// The key stands only in quoted history.
    KeyFromHistoryOnly,
    /// The keys belong to different orders, or to another kind of order.
    KeyConflict,
    /// An order with the key exists already.
    AlreadyExists,
    /// The order has an open task of the same type.
    OpenTaskSameType,
    /// The order is cancelled.
    OrderCancelled,
    /// The order is checked out.
    OrderCheckedOut,
    /// The guest is in the house, so the order cannot be cancelled.
    OrderInHouse,
    /// The guest is in the house, so the arrival cannot change.
    ArrivalLockedInHouse,
    /// The guest did not come.
    NoShow,
    /// A definite group has live pickups.
    CancelBlockedByPickup,
    /// The group's cut-off date has passed.
    PastCutoff,
    /// The departure is not after the arrival.
    DepartureNotAfterArrival,
    /// The arrival is in the past.
    ArrivalInPast,
    /// Rooms and guests do not fit together.
    OccupancyMismatch,
    /// A name stands twice in a rooming list.
    DuplicateRoomingName,
    /// A field that a clerk needs is missing.
    NeedMissing,
    /// The order's deposit has not come.
    DepositOutstanding,
    /// The amount is in another currency than the order.
    CurrencyMismatch,
    /// There is no mirror of OPERA.
    OperaProjectionMissing,
    /// The mirror of OPERA is too old.
    OperaProjectionStale,
    /// A proposed value does not fit its field, or a field is proposed twice.
    InvalidProposedValue,
    /// The order has another value by now than the one that the proposal would change.
    ChangedSinceProposed,
    /// Something hidden was removed from the e-mail.
    HiddenContentRemoved,
}

impl WarningCode {
    /// Whether it follows from the proposed values alone beside the order, so that other values are judged anew.
    pub fn is_of_content(self) -> bool {
        matches!(
            self,
            Self::InvalidProposedValue
                | Self::NeedMissing
                | Self::DepartureNotAfterArrival
                | Self::ArrivalInPast
                | Self::ArrivalLockedInHouse
                | Self::OccupancyMismatch
                | Self::CurrencyMismatch
        )
    }

    /// The severity that goes with the code.
    pub fn severity(self) -> Severity {
        match self {
            Self::TargetNotFound
            | Self::TargetAmbiguous
            | Self::KeyConflict
            | Self::AlreadyExists
            | Self::OrderCancelled
            | Self::OrderCheckedOut
            | Self::OrderInHouse
            | Self::ArrivalLockedInHouse
            | Self::NoShow
            | Self::CancelBlockedByPickup
            | Self::DepartureNotAfterArrival
            | Self::InvalidProposedValue => Severity::Stop,
            _ => Severity::Confirm,
        }
    }
}
