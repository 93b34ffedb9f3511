//! The mock source: a generated organisation.
