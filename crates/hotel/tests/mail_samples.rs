//! The product's own sample mails, each with a trait that real senders have, and what is made of them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::time::Instant;

use hotel::mail::{self, LinkPolicy, Mail, RenderMode};
use proptest::prelude::*;

fn sample(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mail").join(format!("{name}.eml")))
        .unwrap()
}

fn read(raw: &[u8]) -> Mail {
    mail::parse(raw, LinkPolicy::Host)
}

fn assert_snapshot(name: &str) {
    insta::with_settings!({ snapshot_path => "mail", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_json_snapshot!(name, read(&sample(name)));
    });
}

#[test]
fn outlook_reply_in_gbk_with_inline_image() {
    assert_snapshot("outlook_reply");
}

#[test]
fn foxmail_with_subject_split_inside_a_character() {
    assert_snapshot("foxmail_gb2312");
}

#[test]
fn qq_mail_with_quoted_original() {
    assert_snapshot("qqmail_cancel");
}

#[test]
fn gmail_with_flowed_text() {
    assert_snapshot("gmail_flowed");
}

#[test]
fn agency_table_with_hidden_instructions() {
    assert_snapshot("agency_html_only");
}

#[test]
fn raw_eight_bit_headers_without_date_or_charset() {
    assert_snapshot("raw_eight_bit");
}

#[test]
fn enclosed_mail_and_names_that_look_like_paths() {
    assert_snapshot("forwarded_with_lists");
}

#[test]
fn winmail_as_the_only_body() {
    assert_snapshot("winmail_only");
}

#[test]
fn encrypted_mail() {
    assert_snapshot("encrypted");
}

#[test]
fn japanese_with_nec_extensions() {
    assert_snapshot("japanese_nec");
    assert_snapshot("shift_jis");
}

#[test]
fn korean_traditional_chinese_and_utf7() {
    assert_snapshot("korean");
    assert_snapshot("big5");
    assert_snapshot("utf7");
}

#[test]
fn mail_without_body_or_without_anything() {
    assert_snapshot("headers_only");
    assert_snapshot("empty");
}

#[test]
fn carriage_returns_as_line_ends() {
    assert_snapshot("carriage_returns_only");
}

#[test]
fn control_bytes_and_damaged_text() {
    assert_snapshot("control_bytes");
}

#[test]
fn multipart_cut_off_in_the_middle() {
    assert_snapshot("no_closing_boundary");
}

#[test]
fn references_are_unlimited() {
    let references: Vec<String> = (0..5000).map(|number| format!(" <{number}@agency.example>\r\n")).collect();
    let references = references.concat();
    let mail = read(format!("Subject: long thread\r\nReferences:{references}\r\nbody").as_bytes());
    assert_eq!((mail.references.len(), mail.references[4999].as_str()), (5000, "4999@agency.example"));
}

#[test]
fn parts_nested_without_end_are_kept_as_an_attachment() {
    let nest: Vec<String> = (0..10_000)
        .map(|depth| format!("Content-Type: multipart/mixed; boundary=b{depth}\n\n--b{depth}\n"))
        .collect();
    let mail = read(nest.concat().as_bytes());
    assert_eq!(mail.body.degraded.unwrap().as_str(), "TOO_DEEP");
    assert_eq!(mail.attachments[0].content_type, "multipart/mixed");
}

#[test]
fn hostile_structures_take_linear_time() {
    let attacks = [
        "Content-Type: message/rfc822\n\n".repeat(30_000),
        format!(
            "Content-Type: multipart/mixed; boundary=x\n\n{}",
            "--x\nContent-Type: multipart/mixed; boundary=y\n\n".repeat(20_000)
        ),
        format!("To: {}\n\n", "a@b.example, ".repeat(80_000)),
        format!("Subject: {}\n\n", "=?utf-8?Q?a?= ".repeat(70_000)),
        format!("Subject: {}\n\n", "=?".repeat(500_000)),
        format!("Content-Type: text/plain{}\n\nx", "; a*1*=b".repeat(100_000)),
        format!("To: {}\n\n", "(".repeat(1_000_000)),
        format!("To: {}\n\n", "<\"\\".repeat(300_000)),
        "a:\n".repeat(300_000),
        format!("Subject: x\n{}", " folded\n".repeat(120_000)),
    ];
    for attack in attacks {
        let start = Instant::now();
        read(attack.as_bytes());
        assert!(start.elapsed().as_secs() < 10, "{:?} took {:?}", &attack[..40], start.elapsed());
    }
}

#[test]
fn agentbus_bodies_are_treated_as_mail_bodies_are() {
    let (body, warnings) =
        mail::body(None, Some("<p>Hi <b hidden>x</b>https://a.example/b</p>"), LinkPolicy::Host);
    assert_eq!(
        (body.text.as_str(), body.html.as_deref()),
        ("Hi [link: a.example]", Some("<p>Hi [link: a.example]</p>"))
    );
    assert_eq!(warnings[0].code, "HIDDEN_CONTENT_REMOVED");
    let (body, _) = mail::body(Some("  \n"), None, LinkPolicy::Host);
    assert_eq!(body.render_mode, RenderMode::Empty);
    let (body, _) = mail::body(Some("see https://a.example/b"), None, LinkPolicy::Keep);
    assert_eq!((body.text.as_str(), body.render_mode), ("see https://a.example/b", RenderMode::TextOnly));
}

#[test]
fn demo_mails_are_whole() {
    for (name, raw) in mail::demo() {
        let mail = read(raw);
        assert!(mail.message_id.is_some() && mail.date_ms.is_some() && mail.from.is_some(), "{name}");
        assert!(!mail.body.text.is_empty() && mail.body.degraded.is_none(), "{name}");
        assert!(mail.warnings.is_empty(), "{name}: {:?}", mail.warnings);
    }
}

fn samples() -> Vec<Vec<u8>> {
    [
        "outlook_reply",
        "foxmail_gb2312",
        "agency_html_only",
        "forwarded_with_lists",
        "japanese_nec",
        "gmail_flowed",
    ]
    .map(sample)
    .to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_bytes_are_read(raw in proptest::collection::vec(any::<u8>(), 0..2000)) {
        read(&raw);
    }

    #[test]
    fn any_fields_are_read(raw in "((Subject|To|From|Date|Content-Type|References|Content-Disposition): ?([a-z/;=\"<>@(),:*'?%\\\\ ]|=\\?utf-8\\?[QB]\\?|\r?\n |multipart/mixed; boundary=b|\\PC){0,40}\n){0,6}\n(--b(--)?\n|\\PC){0,20}") {
        read(raw.as_bytes());
    }

    #[test]
    fn damaged_mails_are_read(
        which in 0..6usize,
        cut in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
    ) {
        let mut raw = samples().swap_remove(which);
        for (at, byte) in changes {
            let at = at.index(raw.len());
            raw[at] = byte;
        }
        raw.truncate(cut.index(raw.len()) + 1);
        let mail = read(&raw);
        prop_assert!(!mail.body.html.unwrap_or_default().contains("://"));
    }
}
