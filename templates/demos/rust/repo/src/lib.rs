//! Readings of a small weather station.

pub mod unit;
