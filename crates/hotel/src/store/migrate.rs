//! The one migration folder, applied to either database.

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::postgres::PgPool;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use super::StoreError;

/// Every migration in order; a released one is never changed.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "foundation", include_str!("migrations/0001_foundation.sql")),
    (2, "console", include_str!("migrations/0002_console.sql")),
    (3, "task work", include_str!("migrations/0003_task_work.sql")),
    (4, "search", include_str!("migrations/0004_search.sql")),
    (5, "admin", include_str!("migrations/0005_admin.sql")),
    (6, "live", include_str!("migrations/0006_live.sql")),
    (7, "watch", include_str!("migrations/0007_watch.sql")),
];
/// What only one of them understands: the version it belongs to, for SQLite, for PostgreSQL. It runs after the common
/// text of its version.
const OWN: &[(i64, &str, &str)] = &[(
    4,
    include_str!("migrations/0004_search.sqlite.sql"),
    include_str!("migrations/0004_search.postgres.sql"),
)];
const COUNT: &str = "SELECT COUNT(*) FROM _sqlx_migrations";
/// Two processes that make one SQLite file at once: the one that loses looks again.
const ATTEMPTS: u32 = 5;

/// Applies what is missing to a SQLite file; returns how many migrations that were.
pub async fn sqlite(connection: &mut SqliteConnection) -> Result<usize, StoreError> {
    let before = count(sqlx::query_as(COUNT).fetch_one(&mut *connection).await)?;
    let mut attempt = 1;
    while let Err(error) = migrator(|own| own.1).run(&mut *connection).await {
        if attempt == ATTEMPTS {
            return Err(error.into());
        }
        attempt += 1;
    }
    Ok(count(sqlx::query_as(COUNT).fetch_one(&mut *connection).await)? - before)
}

/// Applies what is missing to PostgreSQL, under its advisory lock; returns how many migrations that were.
pub async fn postgres(pool: &PgPool) -> Result<usize, StoreError> {
    let before = count(sqlx::query_as(COUNT).fetch_one(pool).await)?;
    migrator(|own| own.2).run(pool).await?;
    Ok(count(sqlx::query_as(COUNT).fetch_one(pool).await)? - before)
}

/// Refuses a PostgreSQL database that lacks a migration.
pub async fn check(pool: &PgPool) -> Result<(), StoreError> {
    let applied = count(sqlx::query_as(COUNT).fetch_one(pool).await)?;
    if applied < MIGRATIONS.len() { Err(StoreError::MigrationPending) } else { Ok(()) }
}

fn migrator(pick: fn(&(i64, &'static str, &'static str)) -> &'static str) -> Migrator {
    let migration = |&(version, name, common): &(i64, &'static str, &'static str)| {
        let own = OWN.iter().filter(|own| own.0 == version).map(pick);
        let sql: String = std::iter::once(common).chain(own).collect();
        let sql = AssertSqlSafe(sql).into_sql_str();
        Migration::new(version, name.into(), MigrationType::Simple, sql, false)
    };
    Migrator::with_migrations(MIGRATIONS.iter().map(migration).collect())
}

fn count(counted: Result<(i64,), sqlx::Error>) -> Result<usize, StoreError> {
    match counted {
        Ok((count,)) => Ok(usize::try_from(count).unwrap_or(0)),
        // The table is made by the first migration run.
        Err(sqlx::Error::Database(error)) if missing_table(&*error) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// SQLite says it in words only; PostgreSQL has a code.
fn missing_table(error: &dyn sqlx::error::DatabaseError) -> bool {
    error.code().as_deref() == Some("42P01") || error.message().starts_with("no such table")
}
