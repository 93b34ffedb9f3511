//! Logging in to the console and out, and the bounds on trying.
//!
//! A session is a random secret in the browser's cookie and its digest in the database. An attempt to log in is
//! counted before the password is looked at, so that many attempts at once are no way around the bounds.

use std::sync::Arc;

use govern::audit::Record;
use govern::credentials::{Secret, digest};
use govern::hex::hex;

use super::password::{self, MAX_BYTES};
use super::users::folded;
use super::{Hotel, Request};
use crate::domain::role::Role;
use crate::error::Error;
use crate::store::users::UserRow;
use crate::store::{Transaction, boxed};

/// A session ends this long after its last request.
pub const IDLE_MS: i64 = 2 * 3_600_000;
/// A session ends this long after it began: a long shift.
pub const ABSOLUTE_MS: i64 = 12 * 3_600_000;
/// Attempts are counted, and a lock-out lasts, this long from the first one.
pub const WINDOW_MS: i64 = 15 * 60_000;
/// Most attempts on one account within the window.
pub const ACCOUNT_ATTEMPTS: i64 = 10;
/// Most attempts from one address within the window; a hotel's desks may share one.
pub const ADDRESS_ATTEMPTS: i64 = 50;

/// A request notes the use of its session when the last note is this old.
const TOUCH_MS: i64 = 60_000;
/// Longest name that is looked up, in bytes.
const MAX_NAME_BYTES: usize = 256;
const OPERATION: &str = "console_log_in";

/// Who is logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The person's name.
    pub name: String,
    /// The person's role.
    pub role: Role,
}

/// What somebody typed, and from where.
#[derive(Debug, Clone)]
pub struct LogIn {
    /// The name, as typed.
    pub name: String,
    /// The password, as typed.
    pub password: String,
    /// The address that the request came from, as it is counted.
    pub address: String,
}

/// Begins a session and returns its secret. LOG_IN_FAILED does not tell whether the name, the password or the right
/// was missing; LOG_IN_LOCKED says when to try again.
pub async fn log_in(hotel: &Arc<Hotel>, request: Request, log_in: LogIn) -> Result<Secret, Error> {
    if log_in.name.len() > MAX_NAME_BYTES || log_in.password.len() > MAX_BYTES {
        return Err(Error::LogInFailed);
    }
    let name = folded(&log_in.name);
    let user = count(hotel, &request, &name, &log_in.address).await??;
    let kept = user.as_ref().map(|user| user.password_hash.as_str());
    let right = password::verify(&log_in.password, kept).await?;
    let user = user.filter(|user| right && user.disabled_at.is_none());
    let secret = Secret::generate(&hotel.random);
    let shared = Arc::new((Arc::clone(hotel), request, user, name, log_in.address, hex(&secret.digest())));
    let begun = hotel.db.write(move |tx| {
        let shared = Arc::clone(&shared);
        boxed(async move {
            let (hotel, request, user, name, address, digest) = &*shared;
            if let Some(user) = user {
                return begin(tx, hotel, request, user, address, digest).await.map(Ok);
            }
            let known = tx.user(name).await?.is_some();
            let record = refusal(hotel, request, known.then_some(name), address, &Error::LogInFailed);
            tx.append_audit(&hotel.audit_key, &[record]).await?;
            Ok(Err(Error::LogInFailed))
        })
    });
    begun.await??;
    Ok(secret)
}

/// The living session of a secret, if there is one; notes that it was used.
pub async fn find(hotel: &Hotel, secret: &str) -> Result<Option<Session>, Error> {
    let digest = hex(&digest(secret));
    let Some((session, seen_at)) = living(hotel, &digest).await? else { return Ok(None) };
    let now = hotel.clock.now_ms();
    if now >= seen_at + TOUCH_MS {
        hotel
            .db
            .write(move |tx| {
                let digest = digest.clone();
                boxed(async move { tx.touch_session(&digest, now).await })
            })
            .await?;
    }
    Ok(Some(session))
}

/// [`find`] for what a page does by itself: a session that nobody uses goes on to its end.
pub async fn look(hotel: &Hotel, secret: &str) -> Result<Option<Session>, Error> {
    Ok(living(hotel, &hex(&digest(secret))).await?.map(|(session, _)| session))
}

/// The living session whose secret has this digest, and when it was last used.
async fn living(hotel: &Hotel, digest: &str) -> Result<Option<(Session, i64)>, Error> {
    let wanted = digest.to_owned();
    let row = hotel.db.read(move |tx| boxed(async move { tx.session(&wanted).await })).await?;
    let now = hotel.clock.now_ms();
    let Some(row) = row.filter(|row| {
        row.disabled_at.is_none() && now < row.seen_at + IDLE_MS && now < row.created_at + ABSOLUTE_MS
    }) else {
        return Ok(None);
    };
    Ok(Role::parse(&row.role).map(|role| (Session { name: row.name, role }, row.seen_at)))
}

/// Ends the session of a secret.
pub async fn log_out(hotel: &Arc<Hotel>, request: Request, secret: &str) -> Result<(), Error> {
    let shared = Arc::new((Arc::clone(hotel), request, hex(&digest(secret))));
    hotel
        .db
        .write(move |tx| {
            let shared = Arc::clone(&shared);
            boxed(async move {
                let (hotel, request, digest) = &*shared;
                tx.end_session(digest).await?;
                let record =
                    hotel.record(request, "console_log_out", format!("user:{}", request.caller), None);
                tx.append_audit(&hotel.audit_key, &[record]).await
            })
        })
        .await
}

/// What the attempts on an account are counted under.
pub(super) fn account(name: &str) -> String {
    format!("account:{name}")
}

/// Counts the attempt for its account and its address, then looks the person up; the inner error is LOG_IN_LOCKED.
async fn count(
    hotel: &Arc<Hotel>,
    request: &Request,
    name: &str,
    address: &str,
) -> Result<Result<Option<UserRow>, Error>, Error> {
    let shared = Arc::new((Arc::clone(hotel), request.clone(), name.to_owned(), address.to_owned()));
    hotel
        .db
        .write(move |tx| {
            let shared = Arc::clone(&shared);
            boxed(async move {
                let (hotel, request, name, address) = &*shared;
                let now = hotel.clock.now_ms();
                tx.forget_attempts(now - WINDOW_MS).await?;
                let user = tx.user(name).await?;
                for (subject, most) in
                    [(subject_of(address), ADDRESS_ATTEMPTS), (account(name), ACCOUNT_ATTEMPTS)]
                {
                    let counted = tx.count_attempt(&subject, now).await?;
                    if counted.attempts <= most {
                        continue;
                    }
                    let wait = u64::try_from(counted.began_at + WINDOW_MS - now).unwrap_or(0);
                    let locked = Error::LogInLocked { retry_after_ms: wait };
                    // One record tells of the lock-out; one for each attempt would let anybody fill the trail.
                    if counted.attempts == most + 1 {
                        let known = user.as_ref().map(|user| &user.name);
                        let record = refusal(hotel, request, known, address, &locked);
                        tx.append_audit(&hotel.audit_key, &[record]).await?;
                    }
                    return Ok(Err(locked));
                }
                Ok(Ok(user))
            })
        })
        .await
}

fn subject_of(address: &str) -> String {
    format!("address:{address}")
}

async fn begin(
    tx: &mut Transaction<'_>,
    hotel: &Hotel,
    request: &Request,
    user: &UserRow,
    address: &str,
    digest: &str,
) -> Result<(), Error> {
    let now = hotel.clock.now_ms();
    tx.forget_attempts_of(&account(&user.name)).await?;
    tx.uncount_attempt(&subject_of(address)).await?;
    tx.forget_sessions(now - ABSOLUTE_MS, now - IDLE_MS).await?;
    tx.insert_session(digest, user.user_id, now).await?;
    let request = Request { caller: user.name.clone(), ..request.clone() };
    let record = hotel.record(&request, OPERATION, subject_of(address), None);
    tx.append_audit(&hotel.audit_key, &[record]).await
}

/// A name that nobody has is not recorded: people type their password there.
fn refusal(hotel: &Hotel, request: &Request, known: Option<&String>, address: &str, error: &Error) -> Record {
    let caller = known.map_or_else(|| "unknown".to_owned(), Clone::clone);
    let request = Request { caller, ..request.clone() };
    hotel.refusal_record(&request, OPERATION, subject_of(address), error)
}
