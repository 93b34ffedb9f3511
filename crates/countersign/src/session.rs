//! An open hotel: the configuration turned into what the use cases work with.

use std::sync::Arc;

use govern::{audit::Channel, clock::Clock, random::Random};
use hotel::{
    app::{Hotel, Request},
    audit::AuditKey,
    catalog::Catalog,
    store::Db,
};

use crate::{commands::CommandError, config::Config};

/// The caller in the audit trail when a command names no person.
pub(crate) const LOCAL: &str = "local";

/// Opens the database and reads the catalogue and the audit key.
pub(crate) async fn open(config: &Config) -> Result<Arc<Hotel>, CommandError> {
    let catalog = match &config.hotel.catalog {
        Some(path) => Catalog::from_file(path),
        None => Catalog::embedded(),
    }?;
    let db = Db::open(&config.hotel.db).await?;
    let audit_key = audit_key(&db)?;
    Ok(Arc::new(Hotel {
        db,
        catalog,
        language: config.hotel.language,
        on_changed_payload: config.hotel.on_changed_payload,
        links: config.hotel.text_links,
        audit_key,
        clock: Clock::System,
        random: Random::System,
    }))
}

/// What a write of the command line records about itself.
pub(crate) fn request(hotel: &Hotel, caller: &str) -> Request {
    Request {
        request_id: hotel.random.request_id(),
        trace_id: None,
        caller: caller.to_owned(),
        channel: Channel::Cli,
        received_ms: hotel.clock.now_ms(),
    }
}
