//! The people of the console: adding, listing, keeping out, giving another password.

use std::sync::Arc;

use serde::Serialize;
use unicode_normalization::UnicodeNormalization as _;

pub use super::password::Password;
use super::sessions::account;
use super::{Hotel, Request, good_name};
use crate::domain::role::Role;
use crate::error::Error;
use crate::store::users::UserRow;
use crate::store::{Transaction, boxed};

/// Longest name, in characters.
const MAX_NAME_CHARS: usize = 64;

/// A person as people and programs see them, without the password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UserView {
    /// Their name; appears beside what they decide and as the caller in the audit trail.
    pub name: String,
    /// viewer, clerk or admin.
    pub role: String,
    /// ISO time.
    pub created_at: String,
    /// ISO time; null while the person may log in.
    pub disabled_at: Option<String>,
}

/// Adds a person and returns the password, which is kept nowhere in the clear.
pub async fn add(hotel: &Arc<Hotel>, request: Request, name: &str, role: Role) -> Result<Password, Error> {
    let name = good_name(&folded(name), MAX_NAME_CHARS)?;
    let password = Password::generate(&hotel.random);
    let hash = password.hash(&hotel.random).await?;
    let shared = Arc::new((Arc::clone(hotel), request, name, hash));
    hotel
        .db
        .write(move |tx| {
            let shared = Arc::clone(&shared);
            boxed(async move {
                let (hotel, request, name, hash) = &*shared;
                tx.insert_user(name, role, hash, hotel.clock.now_ms()).await?;
                let record = hotel.record(request, "user_add", format!("user:{name}"), None);
                tx.append_audit(&hotel.audit_key, &[record]).await
            })
        })
        .await?;
    Ok(password)
}

/// Keeps a person out and ends their sessions.
pub async fn disable(hotel: &Arc<Hotel>, request: Request, name: &str) -> Result<(), Error> {
    let shared = Arc::new((Arc::clone(hotel), request, folded(name)));
    hotel
        .db
        .write(move |tx| {
            let shared = Arc::clone(&shared);
            boxed(async move {
                let (hotel, request, name) = &*shared;
                let user = known(tx, name).await?;
                tx.disable_user(user.user_id, hotel.clock.now_ms()).await?;
                tx.end_sessions_of(user.user_id).await?;
                let record = hotel.record(request, "user_disable", format!("user:{name}"), None);
                tx.append_audit(&hotel.audit_key, &[record]).await
            })
        })
        .await
}

/// Gives a person another password and returns it. Their sessions end; one who was kept out or had failed too often
/// may log in again.
pub async fn reset(hotel: &Arc<Hotel>, request: Request, name: &str) -> Result<Password, Error> {
    let password = Password::generate(&hotel.random);
    let hash = password.hash(&hotel.random).await?;
    let shared = Arc::new((Arc::clone(hotel), request, folded(name), hash));
    hotel
        .db
        .write(move |tx| {
            let shared = Arc::clone(&shared);
            boxed(async move {
                let (hotel, request, name, hash) = &*shared;
                let user = known(tx, name).await?;
                tx.reset_user(user.user_id, hash).await?;
                tx.end_sessions_of(user.user_id).await?;
                tx.forget_attempts_of(&account(name)).await?;
                let record = hotel.record(request, "user_reset", format!("user:{name}"), None);
                tx.append_audit(&hotel.audit_key, &[record]).await
            })
        })
        .await?;
    Ok(password)
}

/// Everyone, by name.
pub async fn list(hotel: &Hotel) -> Result<Vec<UserView>, Error> {
    let rows = hotel.db.read(|tx| boxed(tx.users())).await?;
    Ok(rows.iter().map(UserView::from_row).collect())
}

/// Who may log in, by name.
pub async fn names(hotel: &Hotel) -> Result<Vec<String>, Error> {
    let rows = hotel.db.read(|tx| boxed(tx.users())).await?;
    Ok(rows.into_iter().filter(|row| row.disabled_at.is_none()).map(|row| row.name).collect())
}

/// A name as it is kept: people type it in any case and width.
pub(super) fn folded(name: &str) -> String {
    name.trim().nfkc().collect::<String>().to_lowercase()
}

async fn known(tx: &mut Transaction<'_>, name: &str) -> Result<UserRow, Error> {
    tx.user(name).await?.ok_or_else(|| Error::UserNotFound(name.to_owned()))
}

impl UserView {
    fn from_row(row: &UserRow) -> Self {
        Self {
            name: row.name.clone(),
            role: row.role.clone(),
            created_at: govern::time::iso(row.created_at),
            disabled_at: row.disabled_at.map(govern::time::iso),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_each_database;

    #[tokio::test]
    async fn a_name_is_one_person_in_any_case_and_width() {
        on_each_database(async |rig| {
            add(&rig.hotel, rig.request("local"), " Mei ", Role::Clerk).await.unwrap();
            let taken = add(&rig.hotel, rig.request("local"), "ＭＥＩ", Role::Admin).await.unwrap_err();
            assert_eq!(taken.code(), "USER_NAME_TAKEN");
            let users = list(&rig.hotel).await.unwrap();
            assert_eq!((users[0].name.as_str(), users[0].role.as_str(), users.len()), ("mei", "clerk", 1));
        })
        .await;
    }

    #[tokio::test]
    async fn a_name_that_is_blank_too_long_or_hides_something_is_refused() {
        on_each_database(async |rig| {
            for name in [" ", "mei\u{202E}", "a\nb", &"王".repeat(65)] {
                let refused = add(&rig.hotel, rig.request("local"), name, Role::Clerk).await.unwrap_err();
                assert_eq!(refused.code(), "INVALID_ARGUMENT", "{name:?}");
            }
        })
        .await;
    }

    #[tokio::test]
    async fn an_unknown_person_is_neither_reset_nor_disabled() {
        on_each_database(async |rig| {
            let reset = reset(&rig.hotel, rig.request("local"), "nobody").await.unwrap_err();
            let disabled = disable(&rig.hotel, rig.request("local"), "nobody").await.unwrap_err();
            assert_eq!([reset.code(), disabled.code()], ["USER_NOT_FOUND"; 2]);
        })
        .await;
    }
}
