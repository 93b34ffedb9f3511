//! The yardstick: the rows that submitting left behind, copied into empty tables of the same schema, one durable
//! commit for each submission, without reading, deciding, parsing or sealing anything.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use hotel::store::Db;
use sqlx::postgres::{PgConnection, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use crate::{AGENTS, next};

/// How many submissions were committed, and in how many seconds.
type Committed = Result<(usize, f64), sqlx::Error>;

/// The tables that a submission writes, in the order of their references, and which of their rows are its own.
const TABLES: [(&str, &str); 8] = [
    ("ai_batch", "batch_id = $1"),
    ("hotel_order", "order_id IN (SELECT order_id FROM {from}ai_transition WHERE batch_id = $1)"),
    ("order_change", "order_id IN (SELECT order_id FROM {from}ai_transition WHERE batch_id = $1)"),
    ("task", "batch_id = $1"),
    ("task_card", "task_id IN (SELECT task_id FROM {from}task WHERE batch_id = $1)"),
    ("task_move", "task_id IN (SELECT task_id FROM {from}task WHERE batch_id = $1)"),
    ("ai_transition", "batch_id = $1"),
    ("audit_event", "target = 'batch:' || $1"),
];

fn copies(to: &str, from: &str) -> Vec<String> {
    let copy = |(table, own): &(&str, &str)| {
        let own = own.replace("{from}", from);
        format!("INSERT INTO {to}{table} SELECT * FROM {from}{table} WHERE {own}")
    };
    TABLES.iter().map(copy).collect()
}

/// On one connection, as SQLite has one writer.
pub async fn on_sqlite(url: &str) -> Committed {
    let from = url.trim_start_matches("sqlite:");
    let to = format!("{from}-raw");
    // Makes the file with the product's own schema.
    Db::migrate(&format!("sqlite:{to}")).await.map_err(|error| sqlx::Error::Protocol(error.to_string()))?;
    let options = SqliteConnectOptions::from_str(&format!("sqlite:{to}"))?;
    let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
    let mut connection = options.foreign_keys(false).connect().await?;
    sqlx::query("ATTACH $1 AS ours").bind(from).execute(&mut connection).await?;
    sqlx::query("CREATE INDEX ours.bench_target ON audit_event (target)").execute(&mut connection).await?;
    let batches: Vec<i64> = sqlx::query_scalar("SELECT batch_id FROM ours.ai_batch ORDER BY batch_id")
        .fetch_all(&mut connection)
        .await?;
    let copies = copies("main.", "ours.");
    let start = Instant::now();
    for batch in &batches {
        sqlx::query("BEGIN IMMEDIATE").execute(&mut connection).await?;
        for copy in &copies {
            sqlx::query(AssertSqlSafe(copy.as_str())).bind(batch).execute(&mut connection).await?;
        }
        sqlx::query("COMMIT").execute(&mut connection).await?;
    }
    let seconds = start.elapsed().as_secs_f64();
    connection.close().await?;
    Ok((batches.len(), seconds))
}

/// On as many connections as there are agents.
pub async fn on_postgres(url: &str) -> Committed {
    let pool = PgPoolOptions::new().max_connections(u32::try_from(AGENTS).unwrap_or(32)).connect(url).await?;
    sqlx::query("CREATE INDEX bench_target ON audit_event (target)").execute(&pool).await?;
    sqlx::query("CREATE SCHEMA raw").execute(&pool).await?;
    for (table, _) in TABLES {
        let make = format!("CREATE TABLE raw.{table} (LIKE public.{table} INCLUDING ALL)");
        sqlx::query(AssertSqlSafe(make)).execute(&pool).await?;
    }
    sqlx::query("ANALYZE").execute(&pool).await?;
    let batches: Arc<Vec<i64>> =
        Arc::new(sqlx::query_scalar("SELECT batch_id FROM ai_batch").fetch_all(&pool).await?);
    let copies = Arc::new(copies("raw.", "public."));
    let counter = Arc::new(AtomicUsize::new(0));
    let mut connections = Vec::new();
    for _ in 0..AGENTS {
        connections.push(pool.acquire().await?);
    }
    let start = Instant::now();
    let mut agents = tokio::task::JoinSet::new();
    for mut connection in connections {
        let (batches, copies, counter) = (Arc::clone(&batches), Arc::clone(&copies), Arc::clone(&counter));
        agents.spawn(async move {
            while let Some(batch) = batches.get(next(&counter)) {
                commit_copy(&mut connection, &copies, *batch).await?;
            }
            Ok::<_, sqlx::Error>(())
        });
    }
    while let Some(done) = agents.join_next().await {
        done.expect("no agent panicked")?;
    }
    let seconds = start.elapsed().as_secs_f64();
    pool.close().await;
    Ok((batches.len(), seconds))
}

async fn commit_copy(
    connection: &mut PgConnection,
    copies: &[String],
    batch: i64,
) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin().await?;
    for copy in copies {
        sqlx::query(AssertSqlSafe(copy.as_str())).bind(batch).execute(&mut *transaction).await?;
    }
    transaction.commit().await
}
