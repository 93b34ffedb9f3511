//! The test rig: a hotel on a fresh database, SQLite always and PostgreSQL where the rig is given one.
//!
//! `cargo xtask test` starts a private PostgreSQL and names it in `COUNTERSIGN_TEST_POSTGRES`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use govern::audit::Channel;
use govern::clock::Clock;
use govern::random::Random;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::app::{ChangedPayload, Hotel, Request};
use crate::audit::AuditKey;
use crate::catalog::Catalog;
use crate::language::Language;
use crate::mail::LinkPolicy;
use crate::store::{Db, boxed};

/// When tests happen unless they say otherwise: 2026-11-30T08:00:00Z.
pub const NOW: i64 = 1_796_025_600_000;

/// A hotel on a database of its own.
#[derive(Debug)]
pub struct Rig {
    /// The hotel; its clock is manual and starts at [`NOW`].
    pub hotel: Arc<Hotel>,
    /// The database's URL.
    pub url: String,
    /// `sqlite` or `postgres`.
    pub database: &'static str,
    requests: AtomicU32,
}

/// Runs a test on each database.
pub async fn on_each_database(test: impl AsyncFn(Rig)) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let url = format!("sqlite:{}", folder.path().join("hotel.db").display());
    test(Rig::open(url, "sqlite").await).await;
    // Not a field of the rig: a test that moves only some fields into its future would drop it too early.
    drop(folder);
    if let Ok(server) = std::env::var("COUNTERSIGN_TEST_POSTGRES") {
        let (url, name) = create_database(&server).await;
        Db::migrate(&url).await.expect("a fresh database can be migrated");
        test(Rig::open(url, "postgres").await).await;
        run_on_server(&server, format!("DROP DATABASE {name} WITH (FORCE)")).await;
    }
}

impl Rig {
    async fn open(url: String, database: &'static str) -> Self {
        let hotel = Hotel {
            db: Db::open(&url).await.expect("a fresh database opens"),
            catalog: Catalog::embedded().expect("the embedded catalogue is valid"),
            language: Language::Chinese,
            on_changed_payload: ChangedPayload::Conflict,
            links: LinkPolicy::Host,
            audit_key: AuditKey::new([7; 32]),
            metrics: Arc::default(),
            streams: Arc::default(),
            clock: Clock::manual(NOW),
            random: Random::seeded(1),
        };
        Self { hotel: Arc::new(hotel), url, database, requests: AtomicU32::new(0) }
    }

    /// Adds an ACTIVE hotel and returns its id.
    pub async fn activate(&self) -> i64 {
        let added = self.hotel.db.write(|tx| boxed(tx.insert_hotel("Test Hotel", true, NOW))).await;
        added.expect("a hotel can be added")
    }

    /// A request with an id of its own.
    pub fn request(&self, caller: &str) -> Request {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        Request {
            request_id: format!("req-{number}"),
            trace_id: None,
            caller: caller.to_owned(),
            channel: Channel::Rest,
            received_ms: self.hotel.clock.now_ms(),
            budget: 64 << 10,
        }
    }
}

async fn create_database(server: &str) -> (String, String) {
    let mut suffix = [0; 8];
    Random::System.fill(&mut suffix);
    let name = format!("countersign_test_{}", govern::hex::hex(&suffix));
    run_on_server(server, format!("CREATE DATABASE {name}")).await;
    let base = server.rsplit_once('/').map_or(server, |(base, _)| base);
    (format!("{base}/{name}"), name)
}

async fn run_on_server(server: &str, sql: String) {
    let mut connection = PgConnection::connect(server).await.expect("the test server answers");
    sqlx::query(AssertSqlSafe(sql)).execute(&mut connection).await.expect("the test server obeys");
    connection.close().await.expect("the connection closes");
}
