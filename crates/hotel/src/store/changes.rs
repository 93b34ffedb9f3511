//! Change notices: who watches the tasks or the inbox learns within about a second that they changed, whichever process
//! wrote, and never before the commit.
//!
//! A statement that changes the table of a topic says so in its own transaction: on SQLite it counts in `change_count`,
//! which the watcher of every process reads each second and after each commit of its own; on PostgreSQL it notifies,
//! and the watcher listens. Nothing is buffered for a slow listener, who finds only that the counts have moved on.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::postgres::{PgListener, PgPool, PgPoolOptions};
use sqlx::sqlite::SqlitePool;
use tokio::sync::{Notify, watch};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::{ACQUIRE_TIMEOUT, Db, StoreError, Transaction};

/// How often SQLite is asked, and how long a lost connection of PostgreSQL is left before the next attempt.
const EVERY: Duration = Duration::from_secs(1);
/// How long PostgreSQL may say nothing before it is asked whether it is still there, and how long it may then take.
const SILENCE: Duration = Duration::from_secs(20);
const CHANNEL: &str = "countersign_change";

/// What can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// A task came or moved.
    Tasks,
    /// A mail came or found its conversation.
    Inbox,
}

/// All topics, in the order of a [`Mark`].
pub const TOPICS: [Topic; 2] = [Topic::Tasks, Topic::Inbox];

/// How often each topic had changed at some moment: what was read before is news when it has another mark. As text, two
/// numbers with a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark([i64; TOPICS.len()]);

/// Hears of changes, until the program ends.
#[derive(Debug)]
pub struct Listener {
    state: watch::Receiver<State>,
    seen: Option<Mark>,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    mark: Mark,
    has_ended: bool,
}

/// What the writers, the watcher and the listeners of one open database share.
#[derive(Debug, Clone, Default)]
pub struct Changes(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: watch::Sender<State>,
    /// Asks the watcher to look at once.
    look: Notify,
    is_watched: AtomicBool,
}

impl Topic {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Inbox => "inbox",
        }
    }

    fn table(self) -> &'static str {
        match self {
            Self::Tasks => "task",
            Self::Inbox => "platform_source_message_inbox",
        }
    }

    /// The topic whose table a statement writes to.
    fn of_statement(sql: &str) -> Option<Self> {
        let mut words = sql.split_ascii_whitespace();
        let table = match words.next()? {
            "UPDATE" => words.next()?,
            "INSERT" | "DELETE" => words.nth(1)?.split('(').next()?,
            _ => return None,
        };
        TOPICS.into_iter().find(|topic| topic.table() == table)
    }
}

impl Mark {
    fn topics_unlike(self, other: Self) -> Vec<Topic> {
        let numbers = self.0.into_iter().zip(other.0);
        TOPICS.into_iter().zip(numbers).filter(|(_, (a, b))| a != b).map(|(topic, _)| topic).collect()
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [tasks, inbox] = self.0;
        write!(formatter, "{tasks}.{inbox}")
    }
}

impl FromStr for Mark {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (tasks, inbox) = text.split_once('.').ok_or(())?;
        Ok(Self([tasks.parse().map_err(|_| ())?, inbox.parse().map_err(|_| ())?]))
    }
}

impl Listener {
    /// Waits until the mark is another than the one last given, and answers what changed; none when the program ends.
    /// May be dropped while it waits.
    pub async fn next(&mut self) -> Option<(Vec<Topic>, Mark)> {
        loop {
            let State { mark, has_ended } = *self.state.borrow_and_update();
            if has_ended {
                return None;
            }
            let topics = self.seen.map_or(TOPICS.to_vec(), |seen| mark.topics_unlike(seen));
            if !topics.is_empty() {
                self.seen = Some(mark);
                return Some((topics, mark));
            }
            self.state.changed().await.ok()?;
        }
    }
}

impl Db {
    /// Hears of what changed since `seen`; without a mark it hears of everything at once.
    pub fn listen(&self, seen: Option<Mark>) -> Listener {
        let shared = &self.changes().0;
        if !shared.is_watched.swap(true, Ordering::SeqCst) {
            match self {
                Self::Sqlite { readers, .. } => tokio::spawn(read(readers.clone(), Arc::clone(shared))),
                Self::Postgres { pool, .. } => tokio::spawn(hear(pool.clone(), Arc::clone(shared))),
            };
        }
        Listener { state: shared.state.subscribe(), seen }
    }

    /// The mark of what is read from now on.
    pub fn mark(&self) -> Mark {
        self.changes().0.state.borrow().mark
    }

    /// Tells all listeners that the program ends.
    pub fn end_listening(&self) {
        self.changes().0.state.send_modify(|state| state.has_ended = true);
    }

    fn changes(&self) -> &Changes {
        match self {
            Self::Sqlite { changes, .. } | Self::Postgres { changes, .. } => changes,
        }
    }
}

impl Changes {
    /// This process committed something to SQLite.
    pub(super) fn committed(&self) {
        self.0.look.notify_one();
    }
}

impl Shared {
    fn set(&self, mark: Mark) {
        self.state.send_if_modified(|state| {
            let is_new = state.mark != mark;
            state.mark = mark;
            is_new
        });
    }

    /// Ready when the program ends.
    async fn ended(&self) {
        // The sender lives as long as `self`, so waiting does not fail.
        self.state.subscribe().wait_for(|state| state.has_ended).await.ok();
    }
}

impl Transaction<'_> {
    /// Gives notice of a statement that changed a topic; it is heard when the transaction is committed.
    pub(super) async fn give_notice(&mut self, sql: &str) -> Result<(), StoreError> {
        let Some(topic) = Topic::of_statement(sql) else { return Ok(()) };
        match self {
            Self::Sqlite(connection) => {
                let count = "UPDATE change_count SET number = number + 1 WHERE topic = $1";
                sqlx::query(count).bind(topic.as_str()).execute(&mut **connection).await?;
            }
            Self::Postgres(connection, _) => {
                let notify = sqlx::query("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(topic.as_str());
                notify.execute(&mut **connection).await?;
            }
        }
        Ok(())
    }
}

/// The watcher on SQLite.
async fn read(readers: SqlitePool, shared: Arc<Shared>) {
    let mut beat = interval(EVERY);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_failing = false;
    loop {
        tokio::select! {
            _ = beat.tick() => {}
            () = shared.look.notified() => {}
            () = shared.ended() => return,
        }
        let counted: Result<Vec<(String, i64)>, _> =
            sqlx::query_as("SELECT topic, number FROM change_count").fetch_all(&readers).await;
        match counted {
            Ok(rows) => {
                let number =
                    |topic: Topic| rows.iter().find(|row| row.0 == topic.as_str()).map_or(0, |row| row.1);
                shared.set(Mark(TOPICS.map(number)));
                is_failing = false;
            }
            Err(error) => is_failing = log_once(&error, is_failing),
        }
    }
}

/// The watcher on PostgreSQL, over a connection of its own.
async fn hear(pool: PgPool, shared: Arc<Shared>) {
    let options = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
    let own =
        options.acquire_timeout(ACQUIRE_TIMEOUT).connect_lazy_with(pool.connect_options().as_ref().clone());
    let mut is_failing = false;
    loop {
        tokio::select! {
            heard = hear_until_lost(&own, &shared, &mut is_failing) => {
                if let Err(error) = heard {
                    is_failing = log_once(&error, is_failing);
                }
            }
            () = shared.ended() => break,
        }
        tokio::select! {
            () = sleep(EVERY) => {}
            () = shared.ended() => break,
        }
    }
    own.close().await;
}

async fn hear_until_lost(own: &PgPool, shared: &Shared, is_failing: &mut bool) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(own).await?;
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    // What happened while nobody listened is unknown, so the counts begin anew, at a number that no node had before.
    let sql = "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT";
    let (begin,): (i64,) = sqlx::query_as(sql).fetch_one(&mut listener).await?;
    shared.set(Mark([begin; TOPICS.len()]));
    *is_failing = false;
    loop {
        // Receiving may be broken off: what has arrived in part stays in the connection's buffer.
        let Ok(heard) = timeout(SILENCE, listener.try_recv()).await else {
            let asked = sqlx::query("SELECT 1").execute(&mut listener);
            timeout(SILENCE, asked).await.map_err(|_| sqlx::Error::PoolTimedOut)??;
            continue;
        };
        let Some(notice) = heard? else { return Ok(()) };
        let mut mark = shared.state.borrow().mark;
        for (number, _) in
            mark.0.iter_mut().zip(TOPICS).filter(|(_, topic)| topic.as_str() == notice.payload())
        {
            *number += 1;
        }
        shared.set(mark);
    }
}

/// One line for a whole outage.
fn log_once(error: &sqlx::Error, is_failing: bool) -> bool {
    if !is_failing {
        tracing::error!(%error, "changes of the database are not heard of");
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_of_the_topic_whose_table_it_writes_to() {
        for (sql, topic) in [
            ("INSERT INTO task (task_id) VALUES ($1)", Some(Topic::Tasks)),
            ("INSERT INTO task(task_id) VALUES ($1)", Some(Topic::Tasks)),
            ("UPDATE task SET status = $1", Some(Topic::Tasks)),
            ("DELETE FROM task WHERE task_id = $1", Some(Topic::Tasks)),
            ("INSERT INTO platform_source_message_inbox (a) VALUES ($1)", Some(Topic::Inbox)),
            ("INSERT INTO task_card (task_id) VALUES ($1)", None),
            ("UPDATE lease SET until = $1", None),
            ("SELECT task_id FROM task", None),
            ("", None),
        ] {
            assert_eq!(Topic::of_statement(sql), topic, "{sql}");
        }
    }

    #[test]
    fn a_mark_is_read_as_it_was_written_and_nothing_else_is_one() {
        let mark = Mark([17, -4]);
        assert_eq!(mark.to_string().parse(), Ok(mark));
        for text in ["", ".", "1", "1.", "1.2.3", "x.1", "99999999999999999999.1"] {
            assert_eq!(text.parse::<Mark>(), Err(()), "{text}");
        }
        assert_eq!(mark.topics_unlike(Mark([17, 0])), [Topic::Inbox]);
    }
}
