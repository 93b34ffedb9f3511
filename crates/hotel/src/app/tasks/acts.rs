//! What a person can do with a task, as a table: where it leads from and to, and whether it needs a reason.

use crate::domain::task::TaskStatus;

/// What a person does with a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// The task applies to its order.
    Confirm,
    /// The task does not; an order that was created only for it is cancelled.
    Reject,
    /// Somebody has to look closer before it can be confirmed.
    Review,
    /// Somebody looked; it can be confirmed.
    Return,
    /// Work on it begins.
    Start,
    /// The work is done.
    Done,
    /// The work failed.
    Fail,
    /// The work begins anew.
    Retry,
    /// It is given up after it was confirmed; what was confirmed stays on the order.
    Cancel,
    /// The review is over without a task; an order that was created only for it is cancelled.
    Close,
    /// An informational message was read.
    Acknowledge,
    /// The confirmation is taken back, and with it what it changed on the order.
    Undo,
}

/// All acts.
pub const ACTS: [Act; 12] = [
    Act::Confirm,
    Act::Reject,
    Act::Review,
    Act::Return,
    Act::Start,
    Act::Done,
    Act::Fail,
    Act::Retry,
    Act::Cancel,
    Act::Close,
    Act::Acknowledge,
    Act::Undo,
];

impl Act {
    /// Its word in forms and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirm => "confirm",
            Self::Reject => "reject",
            Self::Review => "review",
            Self::Return => "return",
            Self::Start => "start",
            Self::Done => "done",
            Self::Fail => "fail",
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::Close => "close",
            Self::Acknowledge => "acknowledge",
            Self::Undo => "undo",
        }
    }

    /// Reads its word.
    pub fn parse(word: &str) -> Option<Self> {
        ACTS.into_iter().find(|act| act.as_str() == word)
    }

    /// Its name in the audit trail.
    pub fn operation(self) -> &'static str {
        match self {
            Self::Confirm => "hotel_task_confirm",
            Self::Reject => "hotel_task_reject",
            Self::Review => "hotel_task_review",
            Self::Return => "hotel_task_return",
            Self::Start => "hotel_task_start",
            Self::Done => "hotel_task_done",
            Self::Fail => "hotel_task_fail",
            Self::Retry => "hotel_task_retry",
            Self::Cancel => "hotel_task_cancel",
            Self::Close => "hotel_task_close",
            Self::Acknowledge => "hotel_task_acknowledge",
            Self::Undo => "hotel_task_undo",
        }
    }

    /// The status that it leads to.
    pub fn to(self) -> TaskStatus {
        match self {
            Self::Confirm => TaskStatus::Confirmed,
            Self::Reject => TaskStatus::Rejected,
            Self::Review => TaskStatus::PendingManualReview,
            Self::Return | Self::Undo => TaskStatus::PendingConfirmation,
            Self::Start | Self::Retry => TaskStatus::InProgress,
            Self::Done => TaskStatus::Done,
            Self::Fail => TaskStatus::Failed,
            Self::Cancel => TaskStatus::Cancelled,
            Self::Close => TaskStatus::Closed,
            Self::Acknowledge => TaskStatus::Acknowledged,
        }
    }

    /// Whether it can be done to a task of this status.
    pub fn is_open_from(self, from: TaskStatus) -> bool {
        // Two statuses each lead to one and the same by acts of different names.
        let is_its_own = match self {
            Self::Return => from == TaskStatus::PendingManualReview,
            Self::Undo | Self::Start => from == TaskStatus::Confirmed,
            Self::Retry => from == TaskStatus::Failed,
            _ => true,
        };
        is_its_own && from.can_become(self.to())
    }

    /// Whether the person has to say why. A confirmation needs a reason only under a CONFIRM warning.
    pub fn needs_reason(self) -> bool {
        matches!(self, Self::Reject | Self::Review | Self::Fail | Self::Cancel | Self::Close)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::task::TASK_STATUSES;

    #[test]
    fn every_move_that_a_person_may_make_is_one_act_and_no_act_makes_another() {
        for from in TASK_STATUSES {
            for to in TASK_STATUSES {
                let acts = ACTS.into_iter().filter(|act| act.to() == to && act.is_open_from(from)).count();
                assert_eq!(acts, usize::from(from.can_become(to)), "{} to {}", from.as_str(), to.as_str());
            }
        }
    }

    #[test]
    fn every_word_reads_back() {
        for act in ACTS {
            assert_eq!(Act::parse(act.as_str()), Some(act));
        }
        assert_eq!(Act::parse("supersede"), None);
    }
}
