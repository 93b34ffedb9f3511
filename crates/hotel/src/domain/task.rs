//! Task statuses and the moves between them (design: Domain).

use serde::{Deserialize, Serialize};

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TaskStatus {
    /// A person is to confirm or reject.
    PendingConfirmation,
    /// A person is to decide what to do.
    PendingManualReview,
    /// A person is to read it.
    Informational,
    /// A person confirmed it.
    Confirmed,
    /// Somebody works on it.
    InProgress,
    /// The work failed; it can be tried again.
    Failed,
    /// Done.
    Done,
    /// A person rejected it.
    Rejected,
    /// A newer submission took its place.
    Superseded,
    /// Given up after it was confirmed.
    Cancelled,
    /// A manual review that is over.
    Closed,
    /// An informational message that was read.
    Acknowledged,
}

/// All statuses, for reading and for lists.
pub const TASK_STATUSES: [TaskStatus; 12] = [
    TaskStatus::PendingConfirmation,
    TaskStatus::PendingManualReview,
    TaskStatus::Informational,
    TaskStatus::Confirmed,
    TaskStatus::InProgress,
    TaskStatus::Failed,
    TaskStatus::Done,
    TaskStatus::Rejected,
    TaskStatus::Superseded,
    TaskStatus::Cancelled,
    TaskStatus::Closed,
    TaskStatus::Acknowledged,
];

impl TaskStatus {
    /// The stored and wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PendingConfirmation => "PENDING_CONFIRMATION",
            Self::PendingManualReview => "PENDING_MANUAL_REVIEW",
            Self::Informational => "INFORMATIONAL",
            Self::Confirmed => "CONFIRMED",
            Self::InProgress => "IN_PROGRESS",
            Self::Failed => "FAILED",
            Self::Done => "DONE",
            Self::Rejected => "REJECTED",
            Self::Superseded => "SUPERSEDED",
            Self::Cancelled => "CANCELLED",
            Self::Closed => "CLOSED",
            Self::Acknowledged => "ACKNOWLEDGED",
        }
    }

    /// Reads the stored word.
    pub fn parse(word: &str) -> Option<Self> {
        TASK_STATUSES.into_iter().find(|status| status.as_str() == word)
    }

    /// Not terminal: somebody still has to do something.
    pub fn is_open(self) -> bool {
        matches!(
            self,
            Self::PendingConfirmation
                | Self::PendingManualReview
                | Self::Informational
                | Self::Confirmed
                | Self::InProgress
                | Self::Failed
        )
    }

    /// No person has touched it yet.
    pub fn is_untouched(self) -> bool {
        matches!(self, Self::PendingConfirmation | Self::PendingManualReview | Self::Informational)
    }

    /// Whether a person may move a task from here to `next`. Superseding is the program's own move.
    pub fn can_become(self, next: Self) -> bool {
        match self {
            Self::PendingConfirmation => {
                matches!(next, Self::PendingManualReview | Self::Confirmed | Self::Rejected)
            }
            Self::PendingManualReview => {
                matches!(next, Self::PendingConfirmation | Self::Rejected | Self::Closed)
            }
            Self::Informational => next == Self::Acknowledged,
            Self::Confirmed => matches!(next, Self::InProgress | Self::Cancelled | Self::PendingConfirmation),
            Self::InProgress => matches!(next, Self::Done | Self::Failed),
            Self::Failed => matches!(next, Self::InProgress | Self::Cancelled),
            Self::Done
            | Self::Rejected
            | Self::Superseded
            | Self::Cancelled
            | Self::Closed
            | Self::Acknowledged => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_statuses_lead_nowhere_and_are_not_open() {
        for from in TASK_STATUSES {
            let leads_somewhere = TASK_STATUSES.into_iter().any(|to| from.can_become(to));
            assert_eq!(from.is_open(), leads_somewhere, "{}", from.as_str());
        }
    }

    #[test]
    fn only_a_pending_confirmation_can_be_confirmed() {
        for from in TASK_STATUSES {
            assert_eq!(from.can_become(TaskStatus::Confirmed), from == TaskStatus::PendingConfirmation);
        }
    }

    #[test]
    fn every_word_reads_back() {
        for status in TASK_STATUSES {
            assert_eq!(TaskStatus::parse(status.as_str()), Some(status));
        }
    }
}
