//! The six tools, one file each.
