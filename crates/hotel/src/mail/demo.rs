//! The small mailbox of the demo: fictional agencies write to a fictional hotel.

/// File name and raw bytes of each demo mail, in order of arrival.
pub fn demo() -> &'static [(&'static str, &'static [u8])] {
    &[]
}
