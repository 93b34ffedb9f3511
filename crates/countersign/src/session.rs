//! An open hotel: the configuration turned into what the use cases work with.

use std::{path::Path, sync::Arc};

use govern::{audit::Channel, clock::Clock, random::Random};
use hotel::{
    app::{Hotel, Request},
    audit::{AuditKey, default_key_path},
    catalog::Catalog,
    store::Db,
};

use crate::{commands::CommandError, config::Config};

/// The caller in the audit trail when a command names no person.
pub(crate) const LOCAL: &str = "local";

/// Where files lie that do not lie beside a SQLite file.
pub(crate) const DATA_FOLDER: &str = "countersign-data";

/// Most bytes of an answer that is printed; only agents read pages.
const ANSWER_BYTES: usize = 64 << 20;

/// Opens the database and reads the catalogue and the audit key.
pub(crate) async fn open(config: &Config) -> Result<Arc<Hotel>, CommandError> {
    let catalog = match &config.hotel.catalog {
        Some(path) => Catalog::from_file(path),
        None => Catalog::embedded(),
    }?;
    let db = Db::open(&config.hotel.db).await?;
    let random = Random::System;
    let key_path = default_key_path(&db, Path::new(DATA_FOLDER));
    let audit_key = AuditKey::open(&db, &key_path, &random).await?;
    Ok(Arc::new(Hotel {
        db,
        catalog,
        language: config.hotel.language,
        on_changed_payload: config.hotel.on_changed_payload,
        links: config.hotel.text_links,
        audit_key,
        metrics: Arc::default(),
        clock: Clock::System,
        random,
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
        budget: ANSWER_BYTES,
    }
}
