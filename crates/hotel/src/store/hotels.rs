//! Table platform_hotel.

use super::{Transaction, record};
use crate::error::Error;

record! {
    /// A hotel.
    #[derive(Debug, Clone)]
    pub struct HotelRow {
        /// Its id.
        hotel_id: i64,
        /// Its name.
        name: String,
        /// ACTIVE or INACTIVE.
        status: String,
        /// Unix milliseconds.
        created_at: i64,
    }
}

const LIST: &str = "SELECT hotel_id, name, status, created_at FROM platform_hotel ORDER BY hotel_id";

impl Transaction<'_> {
    /// All hotels, oldest first.
    pub async fn hotels(&mut self) -> Result<Vec<HotelRow>, Error> {
        Ok(self.all(LIST, &[]).await?)
    }

    /// Adds a hotel and returns its id.
    pub async fn insert_hotel(&mut self, name: &str, active: bool, now: i64) -> Result<i64, Error> {
        let hotel_id = self.take_ids(1).await?;
        let status = if active { "ACTIVE" } else { "INACTIVE" };
        self.execute(
            "INSERT INTO platform_hotel (hotel_id, name, status, created_at) VALUES ($1, $2, $3, $4)",
            &[hotel_id.into(), name.into(), status.into(), now.into()],
        )
        .await?;
        Ok(hotel_id)
    }

    /// Makes one hotel the only ACTIVE one.
    pub async fn activate_hotel(&mut self, hotel_id: i64) -> Result<(), Error> {
        self.execute(
            "UPDATE platform_hotel SET status = 'INACTIVE' WHERE hotel_id <> $1",
            &[hotel_id.into()],
        )
        .await?;
        let sql = "UPDATE platform_hotel SET status = 'ACTIVE' WHERE hotel_id = $1";
        match self.execute(sql, &[hotel_id.into()]).await? {
            0 => Err(Error::HotelNotFound(hotel_id)),
            _ => Ok(()),
        }
    }

    /// The hotel that a request without hotel_id means: the only ACTIVE one.
    ///
    /// `requested` is the caller's hotel_id, which must be the same (contract section 2).
    pub async fn resolve_hotel(&mut self, requested: Option<&str>) -> Result<i64, Error> {
        let hotels = self.hotels().await?;
        let active: Vec<i64> =
            hotels.iter().filter(|hotel| hotel.status == "ACTIVE").map(|hotel| hotel.hotel_id).collect();
        let [hotel_id] = active[..] else { return Err(Error::HotelNotResolved { active: active.len() }) };
        match requested.map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) if text != hotel_id.to_string() => Err(Error::HotelMismatch),
            _ => Ok(hotel_id),
        }
    }
}
