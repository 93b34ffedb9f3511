//! The audit trail: append-only JSON lines, chained and keyed.
