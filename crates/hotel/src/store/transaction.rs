//! One SQL text on either database: values, rows and the transaction they run in.

use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{Arguments, AssertSqlSafe, Encode, FromRow, Postgres, Sqlite, Type};

use super::StoreError;
use super::ids::PostgresIds;

/// What can stand for a `$n` in a statement.
#[derive(Debug, Clone)]
pub enum Value {
    /// A BIGINT column.
    Integer(Option<i64>),
    /// A TEXT column.
    Text(Option<String>),
    /// A BOOLEAN column.
    Boolean(bool),
    /// A BYTEA column.
    Bytes(Vec<u8>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(Some(value))
    }
}
impl From<Option<i64>> for Value {
    fn from(value: Option<i64>) -> Self {
        Self::Integer(value)
    }
}
impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(Some(value.to_owned()))
    }
}
impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(Some(value))
    }
}
impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Self::Text(Some(value.clone()))
    }
}
impl From<Option<String>> for Value {
    fn from(value: Option<String>) -> Self {
        Self::Text(value)
    }
}
impl From<&Option<String>> for Value {
    fn from(value: &Option<String>) -> Self {
        Self::Text(value.clone())
    }
}
impl From<Option<&str>> for Value {
    fn from(value: Option<&str>) -> Self {
        Self::Text(value.map(str::to_owned))
    }
}
impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}
impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

/// A row as far as it can be read: the error says which column holds what this program does not write there.
#[derive(Debug)]
pub struct MaybeDamaged<T>(pub Result<T, String>);

impl<'r, R: sqlx::Row, T: FromRow<'r, R>> FromRow<'r, R> for MaybeDamaged<T> {
    fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
        Ok(Self(T::from_row(row).map_err(|error| error.to_string())))
    }
}

/// A row type that both databases can fill; see [`record!`](super::record).
pub trait Record: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}
impl<T> Record for T where T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}

/// Declares a struct whose fields are columns of the same name, readable from both databases.
macro_rules! record {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty),* $(,)? }) => {
        $(#[$meta])*
        $vis struct $name { $($(#[$field_meta])* pub $field: $type),* }
        $crate::store::transaction::record!(@from $name, sqlx::sqlite::SqliteRow, $($field),*);
        $crate::store::transaction::record!(@from $name, sqlx::postgres::PgRow, $($field),*);
    };
    (@from $name:ident, $row:ty, $($field:ident),*) => {
        impl<'r> sqlx::FromRow<'r, $row> for $name {
            fn from_row(row: &'r $row) -> Result<Self, sqlx::Error> {
                Ok(Self { $($field: sqlx::Row::try_get(row, stringify!($field))?),* })
            }
        }
    };
}
pub(crate) use record;

/// An open connection or transaction of either database. Statements use `$1, $2, …`.
#[derive(Debug)]
pub enum Transaction<'c> {
    /// SQLite.
    Sqlite(&'c mut SqliteConnection),
    /// PostgreSQL, with the ids that this node holds.
    Postgres(&'c mut PgConnection, &'c PostgresIds),
}

/// Largest number of bound values in one statement; SQLite allows 32,766.
const MAX_VALUES: usize = 30_000;

impl Transaction<'_> {
    /// Runs a statement and returns how many rows it touched.
    pub async fn execute(&mut self, sql: &'static str, values: &[Value]) -> Result<u64, StoreError> {
        self.execute_text(sql.to_owned(), values.to_vec()).await
    }

    /// All rows of a query.
    pub async fn all<T: Record>(
        &mut self,
        sql: &'static str,
        values: &[Value],
    ) -> Result<Vec<T>, StoreError> {
        self.all_text(sql.to_owned(), values.to_vec()).await
    }

    /// The first row of a query, if there is one.
    pub async fn first<T: Record>(
        &mut self,
        sql: &'static str,
        values: &[Value],
    ) -> Result<Option<T>, StoreError> {
        Ok(self.all(sql, values).await?.into_iter().next())
    }

    /// The only row of a query that always has one.
    pub async fn one<T: Record>(&mut self, sql: &'static str, values: &[Value]) -> Result<T, StoreError> {
        self.first(sql, values).await?.ok_or(StoreError::RowMissing)
    }

    /// All rows of a query with a condition `… IN (list)`; the list is split when it is long.
    ///
    /// `sql` holds `{list}` where the placeholders go; the numbers of `values` come before those of the list.
    pub async fn all_in<T: Record>(
        &mut self,
        sql: &'static str,
        values: &[Value],
        list: &[Value],
    ) -> Result<Vec<T>, StoreError> {
        let mut rows = Vec::new();
        for chunk in list.chunks(500) {
            let numbers: Vec<String> = (1..=chunk.len()).map(|n| format!("${}", values.len() + n)).collect();
            let text = sql.replace("{list}", &numbers.join(", "));
            let bound = values.iter().chain(chunk).cloned().collect();
            rows.append(&mut self.all_text(text, bound).await?);
        }
        Ok(rows)
    }

    /// Inserts many rows with as few statements as the bound-value limit allows.
    ///
    /// `head` is `INSERT INTO table (columns)`; each row has one value for each column.
    pub async fn insert(&mut self, head: &'static str, rows: Vec<Vec<Value>>) -> Result<(), StoreError> {
        self.insert_with(head, rows, "").await
    }

    /// As [`Self::insert`], but leaves out rows that are there already.
    pub async fn insert_missing(
        &mut self,
        head: &'static str,
        rows: Vec<Vec<Value>>,
    ) -> Result<(), StoreError> {
        self.insert_with(head, rows, " ON CONFLICT DO NOTHING").await
    }

    async fn insert_with(
        &mut self,
        head: &'static str,
        rows: Vec<Vec<Value>>,
        tail: &'static str,
    ) -> Result<(), StoreError> {
        let Some(width) = rows.first().map(Vec::len) else { return Ok(()) };
        let mut rows = rows.into_iter().peekable();
        while rows.peek().is_some() {
            let chunk: Vec<Vec<Value>> = rows.by_ref().take((MAX_VALUES / width).min(200)).collect();
            let mut text = format!("{head} VALUES ");
            for row in 0..chunk.len() {
                let numbers: Vec<String> = (1..=width).map(|n| format!("${}", row * width + n)).collect();
                text.push_str(if row == 0 { "(" } else { ", (" });
                text.push_str(&numbers.join(", "));
                text.push(')');
            }
            text.push_str(tail);
            self.execute_text(text, chunk.into_iter().flatten().collect()).await?;
        }
        Ok(())
    }

    async fn execute_text(&mut self, sql: String, values: Vec<Value>) -> Result<u64, StoreError> {
        self.give_notice(&sql).await?;
        let sql = AssertSqlSafe(sql);
        Ok(match self {
            Self::Sqlite(connection) => {
                let query = sqlx::query_with::<Sqlite, _>(sql, bind::<SqliteArguments>(values)?);
                query.execute(&mut **connection).await?.rows_affected()
            }
            Self::Postgres(connection, _) => {
                let query = sqlx::query_with::<Postgres, _>(sql, bind::<PgArguments>(values)?);
                query.execute(&mut **connection).await?.rows_affected()
            }
        })
    }

    async fn all_text<T: Record>(&mut self, sql: String, values: Vec<Value>) -> Result<Vec<T>, StoreError> {
        let sql = AssertSqlSafe(sql);
        Ok(match self {
            Self::Sqlite(connection) => {
                let query = sqlx::query_as_with::<Sqlite, T, _>(sql, bind::<SqliteArguments>(values)?);
                query.fetch_all(&mut **connection).await?
            }
            Self::Postgres(connection, _) => {
                let query = sqlx::query_as_with::<Postgres, T, _>(sql, bind::<PgArguments>(values)?);
                query.fetch_all(&mut **connection).await?
            }
        })
    }
}

fn bind<A: Arguments>(values: Vec<Value>) -> Result<A, StoreError>
where
    Option<i64>: for<'q> Encode<'q, A::Database> + Type<A::Database>,
    Option<String>: for<'q> Encode<'q, A::Database> + Type<A::Database>,
    bool: for<'q> Encode<'q, A::Database> + Type<A::Database>,
    Vec<u8>: for<'q> Encode<'q, A::Database> + Type<A::Database>,
{
    let mut arguments = A::default();
    for value in values {
        match value {
            Value::Integer(value) => arguments.add(value),
            Value::Text(value) => arguments.add(value.map(without_nul)),
            Value::Boolean(value) => arguments.add(value),
            Value::Bytes(value) => arguments.add(value),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

/// PostgreSQL's TEXT cannot hold U+0000; on both databases the replacement character stands in its place.
pub fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{FFFD}") } else { text }
}
