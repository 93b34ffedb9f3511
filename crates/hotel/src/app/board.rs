//! The task board as the people of the console see it.

use super::Hotel;
use crate::domain::local_time;
use crate::domain::task::{TASK_STATUSES, TaskStatus};
use crate::error::Error;
use crate::store::board::{BoardFilter, BoardPlace, BoardRow};
use crate::store::boxed;

/// Tasks on a page.
const TASKS: i64 = 100;
/// Organisations that a filter offers.
const AGENCIES: i64 = 500;

/// Which tasks a person wants to see; an empty text leaves a condition out.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Their status.
    pub status: TaskStatus,
    /// The catalogue's task_type.
    pub task_type: String,
    /// The sender's organisation.
    pub agency: String,
    /// Whose they are.
    pub assignee: String,
    /// Only those that are due today or should have been dealt with before.
    pub due_today: bool,
    /// `next` of the page before.
    pub after: String,
}

/// Some tasks of one status.
#[derive(Debug, Clone)]
pub struct Board {
    /// How many there are of each status under the other conditions.
    pub counts: Vec<(TaskStatus, i64)>,
    /// Open ones by when they are due, the others by when they last moved.
    pub tasks: Vec<BoardTask>,
    /// Leads to further ones, when there are any.
    pub next: Option<String>,
    /// The organisations that open tasks are from.
    pub agencies: Vec<String>,
}

/// A task on the board.
#[derive(Debug, Clone)]
pub struct BoardTask {
    /// Internal id.
    pub task_id: i64,
    /// A word of [`TaskStatus`].
    pub status: String,
    /// Counts moves.
    pub version: i64,
    /// The catalogue's task_type.
    pub task_type: String,
    /// Whether it should be done before others.
    pub is_urgent: bool,
    /// Unix milliseconds.
    pub due_at: Option<i64>,
    /// Whether somebody should have dealt with it by now.
    pub is_overdue: bool,
    /// Whose it is.
    pub assignee: Option<String>,
    /// The sender's organisation.
    pub agency: Option<String>,
    /// Unix milliseconds.
    pub updated_at: i64,
    /// The agent's summary, else the subject of the message; may be empty.
    pub heading: String,
}

/// The tasks that are wanted.
pub async fn board(hotel: &Hotel, wanted: Wanted) -> Result<Board, Error> {
    let now = hotel.clock.now_ms();
    let status = wanted.status;
    let after = place(&wanted.after);
    let filter = BoardFilter {
        task_type: wanted.task_type,
        agency: wanted.agency,
        assignee: wanted.assignee,
        due_before: if wanted.due_today { local_time::end_of_day(now) } else { 0 },
    };
    let (counts, mut rows, agencies) = hotel
        .db
        .read(move |tx| {
            boxed(async move {
                let hotel_id = tx.resolve_hotel(None).await?;
                let counts = tx.board_counts(hotel_id, &filter).await?;
                let rows = tx.board(hotel_id, status, &filter, after, TASKS + 1).await?;
                Ok((counts, rows, tx.agencies_of_open_tasks(hotel_id, AGENCIES).await?))
            })
        })
        .await?;
    let most = usize::try_from(TASKS).unwrap_or(0);
    let more = rows.len() > most;
    rows.truncate(most);
    let count = |status: TaskStatus| {
        counts.iter().find(|row| row.status == status.as_str()).map_or(0, |row| row.count)
    };
    Ok(Board {
        counts: TASK_STATUSES.map(|status| (status, count(status))).to_vec(),
        next: rows.last().filter(|_| more).map(|row| format!("{}.{}", row.rank, row.task_id)),
        tasks: rows.into_iter().map(|row| BoardTask::new(row, now)).collect(),
        agencies,
    })
}

/// A place as text; what is none is the place before the first task.
fn place(text: &str) -> BoardPlace {
    let numbers = text.split_once('.').and_then(|(rank, id)| Some((rank.parse().ok()?, id.parse().ok()?)));
    numbers.map_or(BoardPlace::START, |(rank, task_id)| BoardPlace { rank, task_id })
}

impl BoardTask {
    fn new(row: BoardRow, now: i64) -> Self {
        let open = TaskStatus::parse(&row.status).is_some_and(TaskStatus::is_open);
        Self {
            task_id: row.task_id,
            is_overdue: open && row.due_at.is_some_and(|due| due < now),
            status: row.status,
            version: row.version,
            task_type: row.system_task_type,
            is_urgent: row.priority == "HIGH",
            due_at: row.due_at,
            assignee: row.assignee,
            agency: row.agency,
            updated_at: row.updated_at,
            heading: row.summary.filter(|text| !text.trim().is_empty()).unwrap_or(row.subject),
        }
    }
}
