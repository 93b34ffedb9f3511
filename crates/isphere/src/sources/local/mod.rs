//! The client's local store, read through a profile.
