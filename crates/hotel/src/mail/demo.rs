//! The small mailbox of the demo: fictional agencies write to a fictional hotel.

/// File name and raw bytes of each demo mail, in order of arrival. Mails 03 to 07 are one conversation, as are 02 and 12.
pub fn demo() -> &'static [(&'static str, &'static [u8])] {
    &[
        ("01-new-booking-fit.eml", include_bytes!("../../demo/01-new-booking-fit.eml")),
        ("02-new-group-rooming-table.eml", include_bytes!("../../demo/02-new-group-rooming-table.eml")),
        ("03-thread-booking.eml", include_bytes!("../../demo/03-thread-booking.eml")),
        ("04-thread-amend.eml", include_bytes!("../../demo/04-thread-amend.eml")),
        ("05-thread-payment-proof.eml", include_bytes!("../../demo/05-thread-payment-proof.eml")),
        ("06-thread-special-request.eml", include_bytes!("../../demo/06-thread-special-request.eml")),
        ("07-thread-cancel.eml", include_bytes!("../../demo/07-thread-cancel.eml")),
        ("08-rate-inquiry.eml", include_bytes!("../../demo/08-rate-inquiry.eml")),
        ("09-invoice-request.eml", include_bytes!("../../demo/09-invoice-request.eml")),
        ("10-complaint.eml", include_bytes!("../../demo/10-complaint.eml")),
        ("11-newsletter.eml", include_bytes!("../../demo/11-newsletter.eml")),
        ("12-rooming-list-change.eml", include_bytes!("../../demo/12-rooming-list-change.eml")),
    ]
}
