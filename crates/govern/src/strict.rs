//! What serde lets through and this product does not: arrays where an object belongs, duplicate keys, and
//! documents nested deeper than anyone needs.

mod document;
mod integers;
mod objects_only;

pub(crate) use document::{DocumentFault, check};
pub(crate) use objects_only::ObjectsOnly;
