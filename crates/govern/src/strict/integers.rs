//! JSON Schema takes any number with a zero fractional part for an integer (2020-12, section 6.1.1): `20.0` is 20.

use std::fmt;

use serde::de::{Error, Visitor};

/// Wraps the visitor of an integer, so that it also takes one that is written with a fraction of zero.
pub(crate) struct WithZeroFraction<V>(pub(crate) V);

/// Up to here each integer has a double of its own; beyond, `20.0`-like writing no longer says which one is meant.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

impl<'de, V: Visitor<'de>> Visitor<'de> for WithZeroFraction<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(formatter)
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.0.visit_i64(value)
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.0.visit_u64(value)
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        match whole(value) {
            Some(integer) => self.0.visit_i64(integer),
            None => self.0.visit_f64(value),
        }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "a whole number of this size fits")]
fn whole(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && value.abs() <= LARGEST_EXACT).then_some(value as i64)
}
