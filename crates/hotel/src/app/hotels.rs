//! Hotels: adding one, listing them, choosing the ACTIVE one.

use std::sync::Arc;

use serde::Serialize;

use super::{Hotel, Request, good_name};
use crate::error::Error;
use crate::store::boxed;
use crate::store::hotels::HotelRow;

/// Longest name, in characters.
const MAX_NAME_CHARS: usize = 100;
/// The lease under which the first hotel is added.
const FIRST_HOTEL: &str = "first-hotel";

/// A hotel as people and programs see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HotelView {
    /// Its id, as text.
    pub hotel_id: String,
    /// Its name.
    pub name: String,
    /// ACTIVE or INACTIVE.
    pub status: String,
    /// ISO time.
    pub created_at: String,
}

/// Adds a hotel and returns its id. `active` leaves other ACTIVE hotels as they are, so that nothing is switched
/// over by accident; [`activate`] chooses one.
pub async fn add(hotel: &Arc<Hotel>, request: Request, name: &str, active: bool) -> Result<i64, Error> {
    let shared = Arc::new((Arc::clone(hotel), request, good_name(name, MAX_NAME_CHARS)?));
    hotel
        .db
        .write(move |tx| {
            let shared = Arc::clone(&shared);
            boxed(async move {
                let (hotel, request, name) = &*shared;
                let hotel_id = tx.insert_hotel(name, active, hotel.clock.now_ms()).await?;
                let record = hotel.record(request, "hotel_add", format!("hotel:{hotel_id}"), None);
                tx.append_audit(&hotel.audit_key, &[record]).await?;
                Ok(hotel_id)
            })
        })
        .await
}

/// Adds an ACTIVE hotel unless there is any hotel; of several callers at once only one does.
pub async fn add_first(hotel: &Arc<Hotel>, request: Request, name: &str) -> Result<Option<i64>, Error> {
    let shared = Arc::new((Arc::clone(hotel), request, good_name(name, MAX_NAME_CHARS)?));
    hotel
        .db
        .write(move |tx| {
            let shared = Arc::clone(&shared);
            boxed(async move {
                let (hotel, request, name) = &*shared;
                let now = hotel.clock.now_ms();
                // The row of a lease that has expired already makes the others wait for the end of this transaction.
                tx.take_lease(FIRST_HOTEL, &request.request_id, now, now).await?;
                let is_first = tx.hotels().await?.is_empty();
                tx.release_lease(FIRST_HOTEL, &request.request_id).await?;
                if !is_first {
                    return Ok(None);
                }
                let hotel_id = tx.insert_hotel(name, true, now).await?;
                let record = hotel.record(request, "hotel_add", format!("hotel:{hotel_id}"), None);
                tx.append_audit(&hotel.audit_key, &[record]).await?;
                Ok(Some(hotel_id))
            })
        })
        .await
}

/// Makes one hotel the only ACTIVE one.
pub async fn activate(hotel: &Arc<Hotel>, request: Request, hotel_id: i64) -> Result<(), Error> {
    let shared = Arc::new((Arc::clone(hotel), request));
    hotel
        .db
        .write(move |tx| {
            let shared = Arc::clone(&shared);
            boxed(async move {
                let (hotel, request) = &*shared;
                tx.activate_hotel(hotel_id).await?;
                let record = hotel.record(request, "hotel_activate", format!("hotel:{hotel_id}"), None);
                tx.append_audit(&hotel.audit_key, &[record]).await
            })
        })
        .await
}

/// All hotels, oldest first.
pub async fn list(hotel: &Hotel) -> Result<Vec<HotelView>, Error> {
    let rows = hotel.db.read(|tx| boxed(tx.hotels())).await?;
    Ok(rows.iter().map(HotelView::from_row).collect())
}

/// The only ACTIVE hotel's id; HOTEL_NOT_RESOLVED when there is none or several.
pub async fn active(hotel: &Hotel) -> Result<i64, Error> {
    hotel.db.read(|tx| boxed(tx.resolve_hotel(None))).await
}

impl HotelView {
    fn from_row(row: &HotelRow) -> Self {
        Self {
            hotel_id: row.hotel_id.to_string(),
            name: row.name.clone(),
            status: row.status.clone(),
            created_at: govern::time::iso(row.created_at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_each_database;

    #[tokio::test]
    async fn activating_one_hotel_makes_the_others_inactive() {
        on_each_database(async |rig| {
            let first = add(&rig.hotel, rig.request("local"), "甲", true).await.unwrap();
            let second = add(&rig.hotel, rig.request("local"), "乙", true).await.unwrap();
            let error = active(&rig.hotel).await.unwrap_err();
            assert!(matches!(error, Error::HotelNotResolved { active: 2 }), "{error:?}");
            activate(&rig.hotel, rig.request("local"), second).await.unwrap();
            assert_eq!(active(&rig.hotel).await.unwrap(), second);
            let hotels = list(&rig.hotel).await.unwrap();
            let seen: Vec<_> =
                hotels.iter().map(|hotel| (hotel.name.as_str(), hotel.status.as_str())).collect();
            assert_eq!(seen, [("甲", "INACTIVE"), ("乙", "ACTIVE")]);
            assert_eq!(hotels[0].hotel_id, first.to_string());
        })
        .await;
    }

    #[tokio::test]
    async fn of_several_first_hotels_at_once_only_one_is_added() {
        on_each_database(async |rig| {
            let attempts = (0..8).map(|_| add_first(&rig.hotel, rig.request("local"), "甲"));
            let added = futures_util::future::join_all(attempts).await;
            let added: Vec<i64> = added.into_iter().filter_map(|added| added.unwrap()).collect();
            assert_eq!(added, [active(&rig.hotel).await.unwrap()], "{}", rig.database);
        })
        .await;
    }

    #[tokio::test]
    async fn activating_an_unknown_hotel_leaves_the_active_one() {
        on_each_database(async |rig| {
            let hotel_id = rig.activate().await;
            let error = activate(&rig.hotel, rig.request("local"), 7).await.unwrap_err();
            assert_eq!(error.code(), "HOTEL_NOT_FOUND");
            assert_eq!(active(&rig.hotel).await.unwrap(), hotel_id);
        })
        .await;
    }

    #[tokio::test]
    async fn a_hotel_needs_a_name_that_hides_nothing() {
        on_each_database(async |rig| {
            for name in [" ", "a\nb", "a\u{202E}b", &"王".repeat(101)] {
                let error = add(&rig.hotel, rig.request("local"), name, true).await.unwrap_err();
                assert_eq!(error.code(), "INVALID_ARGUMENT", "{name:?}");
            }
            assert_eq!(list(&rig.hotel).await.unwrap(), []);
        })
        .await;
    }
}
