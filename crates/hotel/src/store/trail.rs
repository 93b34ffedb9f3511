//! Searching the audit trail: the newest first, within a bound, by the index that suits the conditions best.

use super::audit::select_rows;
use super::{MaybeDamaged, Transaction, Value, record};
use crate::audit::AuditRow;
use crate::error::Error;

/// Which records are looked for; an empty text leaves a condition out.
#[derive(Debug, Clone)]
pub struct TrailFilter {
    /// The earliest moment, unix milliseconds.
    pub from: i64,
    /// The token's or the person's name.
    pub caller: String,
    /// The tool, route, page or command.
    pub operation: String,
    /// ok, error or refused.
    pub outcome: String,
    /// The error code.
    pub code: String,
    /// mcp-http, mcp-stdio, rest, cli or console.
    pub channel: String,
    /// The object it was about.
    pub target: String,
    /// Our id of the call.
    pub request_id: String,
}

record! {
    /// A place in the trail by time; a search goes on with what is before it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct TrailPlace {
        /// Unix milliseconds.
        at: i64,
        /// Internal id.
        audit_id: i64,
    }
}

/// What two records can have in common.
#[derive(Debug, Clone, Copy)]
pub enum Shared {
    /// Our id of the call.
    Request,
    /// The object.
    Target,
}

record! {
    struct Count { count: i64 }
}

/// The records from `$1` to before the place (`$2`, `$3`), the newest first; a macro because a statement is one literal.
macro_rules! newest {
    ($columns:literal, $driving:literal, $rest:literal) => {
        concat!(
            $columns,
            " FROM audit_event WHERE at >= $1 AND at <= $2 AND (at < $2 OR audit_id < $3) ",
            $driving,
            " ORDER BY at DESC, audit_id DESC ",
            $rest
        )
    };
}

/// Of the newest `$11` records that meet the driving condition, the first `$12` that meet them all.
macro_rules! found {
    ($driving:literal) => {
        select_rows!(
            "(",
            newest!("SELECT *", $driving, "LIMIT $11"),
            ") AS searched
             WHERE ($4 = '' OR request_id = $4) AND ($5 = '' OR target = $5) AND ($6 = '' OR caller = $6)
               AND ($7 = '' OR outcome = $7) AND ($8 = '' OR operation = $8) AND ($9 = '' OR code = $9)
               AND ($10 = '' OR channel = $10)
             ORDER BY at DESC, audit_id DESC LIMIT $12"
        )
    };
}

/// The `$4`th of those records after the first.
macro_rules! edge {
    ($driving:literal) => {
        newest!("SELECT at, audit_id", $driving, "LIMIT 1 OFFSET $4")
    };
}

/// The id of the nearest record in a direction that has the value `$1` in a column.
macro_rules! beside {
    ($column:literal, $before:literal, $order:literal) => {
        concat!(
            "SELECT at, audit_id FROM audit_event WHERE ",
            $column,
            " = $1 AND at ",
            $before,
            "= $2 AND (at ",
            $before,
            " $2 OR audit_id ",
            $before,
            " $3) ORDER BY at ",
            $order,
            ", audit_id ",
            $order,
            " LIMIT 1"
        )
    };
}

impl TrailPlace {
    /// After the newest record.
    pub const END: Self = Self { at: i64::MAX, audit_id: i64::MAX };

    /// Where a record stands.
    pub fn of(row: &AuditRow) -> Self {
        Self { at: row.event.at, audit_id: row.event.audit_id }
    }
}

impl TrailFilter {
    /// The statements that search along an index, and the value that drives them: the narrowest condition first.
    fn statements(&self) -> (&'static str, &'static str, Option<&String>) {
        if !self.request_id.is_empty() {
            return (found!("AND request_id = $4"), edge!("AND request_id = $5"), Some(&self.request_id));
        }
        if !self.target.is_empty() {
            return (found!("AND target = $5"), edge!("AND target = $5"), Some(&self.target));
        }
        if !self.caller.is_empty() {
            return (found!("AND caller = $6"), edge!("AND caller = $5"), Some(&self.caller));
        }
        if !self.outcome.is_empty() && self.outcome != "ok" {
            return (found!("AND outcome <> 'ok'"), edge!("AND outcome <> 'ok'"), None);
        }
        (found!(""), edge!(""), None)
    }
}

impl Transaction<'_> {
    /// The newest records before a place that meet a filter, at most `limit`; looks at `searched` records at most.
    pub async fn search_trail(
        &mut self,
        filter: &TrailFilter,
        before: TrailPlace,
        searched: i64,
        limit: i64,
    ) -> Result<Vec<MaybeDamaged<AuditRow>>, Error> {
        let values = [
            filter.from.into(),
            before.at.into(),
            before.audit_id.into(),
            (&filter.request_id).into(),
            (&filter.target).into(),
            (&filter.caller).into(),
            (&filter.outcome).into(),
            (&filter.operation).into(),
            (&filter.code).into(),
            (&filter.channel).into(),
            searched.into(),
            limit.into(),
        ];
        Ok(self.all(filter.statements().0, &values).await?)
    }

    /// The last record that [`Self::search_trail`] looks at; none when it comes to the end before.
    pub async fn end_of_search(
        &mut self,
        filter: &TrailFilter,
        before: TrailPlace,
        searched: i64,
    ) -> Result<Option<TrailPlace>, Error> {
        let (_, sql, driving) = filter.statements();
        let offset = searched - 1;
        let mut values: Vec<Value> =
            vec![filter.from.into(), before.at.into(), before.audit_id.into(), offset.into()];
        values.extend(driving.map(Value::from));
        Ok(self.first(sql, &values).await?)
    }

    /// One record.
    pub async fn audit_row(&mut self, audit_id: i64) -> Result<Option<MaybeDamaged<AuditRow>>, Error> {
        let sql = select_rows!("audit_event WHERE audit_id = $1");
        Ok(self.first(sql, &[audit_id.into()]).await?)
    }

    /// The ids of the records before and after a place that share a value with it.
    pub async fn beside(
        &mut self,
        shared: Shared,
        value: &str,
        place: TrailPlace,
    ) -> Result<(Option<i64>, Option<i64>), Error> {
        let (before, after) = match shared {
            Shared::Request => (beside!("request_id", "<", "DESC"), beside!("request_id", ">", "ASC")),
            Shared::Target => (beside!("target", "<", "DESC"), beside!("target", ">", "ASC")),
        };
        let values = [value.into(), place.at.into(), place.audit_id.into()];
        let before: Option<TrailPlace> = self.first(before, &values).await?;
        let after: Option<TrailPlace> = self.first(after, &values).await?;
        Ok((before.map(|found| found.audit_id), after.map(|found| found.audit_id)))
    }

    /// How many records wait for their seal, counted up to `most`.
    pub async fn count_unsealed_audit_rows(&mut self, most: i64) -> Result<i64, Error> {
        let sql = "SELECT COUNT(*) AS count FROM
                       (SELECT audit_id FROM audit_event WHERE position IS NULL LIMIT $1) AS waiting";
        Ok(self.one::<Count>(sql, &[most.into()]).await?.count)
    }
}
