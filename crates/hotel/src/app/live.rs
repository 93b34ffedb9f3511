//! What a person who has a page open hears of: that tasks or mails changed, and that their session has ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::tasks::MoveView;
use super::{Hotel, sessions};
use crate::error::Error;
use crate::store::boxed;
use crate::store::changes::{Listener, Mark, Topic};
use crate::store::tasks::MoveRow;

/// Most streams of one person: some browsers with some windows each.
pub const STREAMS_OF_A_PERSON: usize = 12;
/// Most streams of all; each holds one of the port's 1,024 connections.
pub const STREAMS: usize = 512;

/// How often a stream shows that it lives, and looks whether its session does.
const BEAT: Duration = Duration::from_secs(20);
/// When somebody may try again who has too many streams.
const RETRY_MS: u64 = 60_000;

/// The streams that are open, by person.
#[derive(Debug, Default)]
pub struct Streams(Mutex<HashMap<String, usize>>);

/// One open stream.
#[derive(Debug)]
pub struct Stream {
    hotel: Arc<Hotel>,
    secret: String,
    listener: Listener,
    beat: Interval,
    _place: Place,
}

/// What a stream tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// These topics have changed; the mark is that of the next page.
    Changed(Vec<Topic>, Mark),
    /// Nothing for a while.
    Quiet,
    /// The session is over; the stream says no more.
    SessionEnded,
}

/// One of the places of [`Streams`]; dropping it makes it free.
#[derive(Debug)]
struct Place {
    hotel: Arc<Hotel>,
    person: String,
}

/// Opens a stream of what changes from `seen` on, for the person of the session with this secret. RATE_LIMITED when the
/// person, or all together, have too many.
pub fn open(hotel: &Arc<Hotel>, person: &str, secret: &str, seen: Option<Mark>) -> Result<Stream, Error> {
    let place = Place::take(hotel, person)?;
    let mut beat = interval_at(Instant::now() + BEAT, BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let listener = hotel.db.listen(seen);
    Ok(Stream { hotel: Arc::clone(hotel), secret: secret.to_owned(), listener, beat, _place: place })
}

/// How a task moved after the version that somebody has before their eyes, the earliest step first.
pub async fn moves_since(hotel: &Hotel, task_id: i64, version: i64) -> Result<Vec<MoveView>, Error> {
    let moves: Vec<MoveRow> = hotel
        .db
        .read(move |tx| {
            boxed(async move {
                let hotel_id = tx.resolve_hotel(None).await?;
                tx.task(hotel_id, task_id).await?;
                tx.moves(task_id).await
            })
        })
        .await?;
    Ok(moves.iter().filter(|step| step.version > version).map(MoveView::from_row).collect())
}

/// How many mails a conversation has beyond those that somebody has counted.
pub async fn mails_beyond(hotel: &Hotel, conversation_id: i64, counted: i64) -> Result<i64, Error> {
    let count = hotel.db.read(move |tx| boxed(tx.count_conversation_messages(conversation_id))).await?;
    Ok((count - counted).max(0))
}

impl Stream {
    /// Waits for news; none when the program ends. A session that is over hears of no change any more.
    pub async fn next(&mut self) -> Option<News> {
        let news = tokio::select! {
            changed = self.listener.next() => {
                let (topics, mark) = changed?;
                News::Changed(topics, mark)
            }
            _ = self.beat.tick() => News::Quiet,
        };
        match sessions::look(&self.hotel, &self.secret).await {
            Ok(None) => Some(News::SessionEnded),
            Ok(Some(_)) => Some(news),
            // The browser comes again and finds out.
            Err(_) => None,
        }
    }
}

impl Place {
    fn take(hotel: &Arc<Hotel>, person: &str) -> Result<Self, Error> {
        let mut taken = hotel.streams.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.get(person).copied().unwrap_or(0);
        if own >= STREAMS_OF_A_PERSON || taken.values().sum::<usize>() >= STREAMS {
            return Err(Error::RateLimited { retry_after_ms: RETRY_MS });
        }
        taken.insert(person.to_owned(), own + 1);
        Ok(Self { hotel: Arc::clone(hotel), person: person.to_owned() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.hotel.streams.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = taken.get(&self.person).map_or(0, |own| own.saturating_sub(1));
        if left == 0 {
            taken.remove(&self.person);
        } else {
            taken.insert(self.person.clone(), left);
        }
    }
}
