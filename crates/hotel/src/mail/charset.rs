//! Bytes to text: the label is believed where it can be true, and guessed where it is absent or false.

use std::borrow::Cow;

use encoding_rs::{BIG5, EUC_JP, EUC_KR, Encoding, GB18030, ISO_2022_JP, SHIFT_JIS, UTF_8, WINDOWS_1252};

use super::transfer::base64;

/// Text and how it was come by.
pub(super) struct Decoded {
    pub text: String,
    /// The charset was chosen by looking at the bytes, and is not UTF-8.
    pub guessed: bool,
}

/// Decodes `bytes` by their charset label; an empty label means none was given. Bytes that mean nothing become U+FFFD.
pub(super) fn decode(label: &str, bytes: &[u8]) -> Decoded {
    let label = label.trim().trim_matches(['"', '\'']).to_ascii_lowercase();
    match label.as_str() {
        "utf-7" | "unicode-1-1-utf-7" | "x-utf-7" | "csutf7" => return known(utf7(bytes)),
        "hz-gb-2312" | "hz" => return known(hz(bytes)),
        _ => {}
    }
    let Some(encoding) = named(&label) else {
        return guess(bytes);
    };
    // Old programs write Latin-1 or ASCII on whatever they send, and UTF-8 on mail they only pass on.
    if encoding == WINDOWS_1252 && std::str::from_utf8(bytes).is_ok() {
        return known(String::from_utf8_lossy(bytes).into_owned());
    }
    let (text, failed) = decode_as(encoding, bytes);
    if failed && is_mostly_undecoded(&text) {
        let guessed = guess(bytes);
        if !is_mostly_undecoded(&guessed.text) {
            return guessed;
        }
    }
    known(text)
}

/// The text, and whether anything in it could not be decoded.
fn decode_as(encoding: &'static Encoding, bytes: &[u8]) -> (String, bool) {
    let bytes = if encoding == ISO_2022_JP { without_idle_escapes(bytes) } else { Cow::Borrowed(bytes) };
    let (text, _, failed) = encoding.decode(&bytes);
    (text.into_owned(), failed)
}

fn known(text: String) -> Decoded {
    Decoded { text, guessed: false }
}

/// The encoding a label names; `None` for labels that say nothing, us-ascii among them.
fn named(label: &str) -> Option<&'static Encoding> {
    match label {
        "us-ascii" | "ascii" | "ansi_x3.4-1968" | "7bit" | "8bit" => None,
        // The common subset is labelled, the whole set is used.
        "gb2312" | "gbk" | "x-gbk" | "cp936" | "ms936" | "windows-936" | "gb18030-2000" | "gb18030-2022"
        | "euc-cn" | "gb2312-80" => Some(GB18030),
        "cp950" | "ms950" | "windows-950" | "big-5" | "x-big5" => Some(BIG5),
        "cp932" | "windows-932" | "shift-jis-2004" | "shiftjis" => Some(SHIFT_JIS),
        "cp949" | "ms949" | "uhc" | "x-windows-949" | "ks_c_5601" => Some(EUC_KR),
        "iso-2022-jp-1" | "iso-2022-jp-2" | "iso-2022-jp-3" | "iso-2022-jp-ms" | "cp50220" | "cp50221" => {
            Some(ISO_2022_JP)
        }
        "utf-8mb4" | "utf_8" => Some(UTF_8),
        _ => Encoding::for_label_no_replacement(label.as_bytes()),
    }
}

/// So much is undecoded that the label must be false; a little is damage, which no other charset would mend.
fn is_mostly_undecoded(text: &str) -> bool {
    let foreign = text.chars().filter(|character| !character.is_ascii()).count();
    text.chars().filter(|character| *character == char::REPLACEMENT_CHARACTER).count() * 3 > foreign
}

fn guess(bytes: &[u8]) -> Decoded {
    if bytes.windows(3).any(|window| matches!(window, [0x1B, b'$', b'B' | b'@'])) {
        return Decoded { text: decode_as(ISO_2022_JP, bytes).0, guessed: true };
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return known(text.to_owned());
    }
    let encoding = guess_eight_bit(bytes);
    Decoded { text: encoding.decode(bytes).0.into_owned(), guessed: true }
}

/// The likeliest encoding of bytes that are not UTF-8. A hotel in China gets GBK first, so it wins a tie.
fn guess_eight_bit(bytes: &[u8]) -> &'static Encoding {
    let sample = sample(bytes);
    if is_western(sample) {
        return WINDOWS_1252;
    }
    let mut best = (GB18030, 0);
    for encoding in [GB18030, EUC_KR, BIG5, SHIFT_JIS, EUC_JP] {
        let (text, _, failed) = encoding.decode(sample);
        let score = if failed { 0 } else { plausibility(encoding, sample, &text) };
        if score > best.1 {
            best = (encoding, score);
        }
    }
    best.0
}

/// Enough to judge by, cut where no character can be split.
fn sample(bytes: &[u8]) -> &[u8] {
    const ENOUGH: usize = 64 * 1024;
    let head = &bytes[..bytes.len().min(ENOUGH)];
    let end = if head.len() < bytes.len() { head.iter().rposition(|byte| *byte < 0x40) } else { None };
    &head[..end.unwrap_or(head.len())]
}

/// Accented letters stand alone or in twos between many plain ones; two-byte characters come in long runs.
fn is_western(bytes: &[u8]) -> bool {
    let runs: Vec<usize> = bytes.split(u8::is_ascii).map(<[u8]>::len).filter(|length| *length > 0).collect();
    let high: usize = runs.iter().sum();
    let letters = bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    high > 0 && runs.iter().all(|length| *length <= 2) && runs.contains(&1) && high * 3 < letters
}

/// Per mille of the two-byte characters that are everyday ones in the encoding; 0 when the text cannot be in it,
/// 1001 when a mark of its language decides.
fn plausibility(encoding: &'static Encoding, bytes: &[u8], text: &str) -> usize {
    let is_kana = |character: &char| matches!(character, '\u{3041}'..='\u{30FA}');
    let foreign = text.chars().filter(|character| !character.is_ascii()).count();
    // Japanese is told by its kana, which no other of these texts shows when read as Japanese.
    if encoding == SHIFT_JIS || encoding == EUC_JP {
        return if text.chars().filter(is_kana).count() * 5 < foreign { 0 } else { 1001 };
    }
    let share = share_of_pairs(bytes, |lead, trail| {
        if encoding == GB18030 {
            matches!(lead, 0xA1..=0xA3 | 0xB0..=0xD7) && trail >= 0xA1
        } else if encoding == BIG5 {
            matches!(lead, 0xA1..=0xC6)
        } else {
            trail >= 0xA1 && matches!(lead, 0xA1 | 0xA3 | 0xB0..=0xC8)
        }
    });
    if encoding != EUC_KR {
        return share;
    }
    // Korean fits inside the Chinese range and would tie with it; Chinese text uses the rest of that range too.
    if share == 1000 && foreign >= 4 { 1001 } else { 0 }
}

/// Per mille of the two-byte characters for which `is_common` holds.
fn share_of_pairs(bytes: &[u8], is_common: impl Fn(u8, u8) -> bool) -> usize {
    let (mut pairs, mut common) = (0, 0);
    let mut rest = bytes;
    while let Some((&lead, after)) = rest.split_first() {
        rest = after;
        if let (false, Some((&trail, after))) = (lead.is_ascii(), after.split_first()) {
            pairs += 1;
            common += usize::from(is_common(lead, trail));
            rest = after;
        }
    }
    common * 1000 / pairs.max(1)
}

/// ISO-2022-JP without escape sequences that another follows at once. They stand where encoded words or lines were
/// joined, and the decoder takes them for errors.
fn without_idle_escapes(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut output = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        if let [0x1B, b'(' | b'$', _, 0x1B, ..] = rest {
            rest = &rest[3..];
        } else {
            output.push(byte);
            rest = after;
        }
    }
    Cow::Owned(output)
}

/// UTF-7 (RFC 2152). A run may end at any character outside base64, with or without the closing minus.
fn utf7(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'+' {
            text.push(if byte.is_ascii() { char::from(byte) } else { char::REPLACEMENT_CHARACTER });
            continue;
        }
        let length = after
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
            .count();
        if length == 0 {
            text.push('+');
        } else {
            let units = base64(&after[..length]).unwrap_or_default();
            let units = units.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            text.extend(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
        }
        rest = &after[length..];
        rest = rest.strip_prefix(b"-").unwrap_or(rest);
    }
    text
}

/// HZ (RFC 1843): GB2312 in seven bits between `~{` and `~}`.
fn hz(bytes: &[u8]) -> String {
    let mut eight_bit = Vec::with_capacity(bytes.len());
    let (mut chinese, mut rest) = (false, bytes);
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after.first()) {
            (b'~', Some(b'{' | b'}')) => {
                chinese = after[0] == b'{';
                rest = &after[1..];
            }
            (b'~', Some(b'~')) if !chinese => {
                eight_bit.push(b'~');
                rest = &after[1..];
            }
            (b'\n', _) => {
                chinese = false;
                eight_bit.push(b'\n');
            }
            _ => eight_bit.push(if chinese && byte > b' ' { byte | 0x80 } else { byte }),
        }
    }
    GB18030.decode(&eight_bit).0.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(encoding: &'static Encoding, text: &str) -> Vec<u8> {
        encoding.encode(text).0.into_owned()
    }

    #[test]
    fn gb2312_means_gbk_and_gb18030() {
        assert_eq!(decode("GB2312", &encoded(GB18030, "朱镕基 㐀 €")).text, "朱镕基 㐀 €");
    }

    #[test]
    fn every_named_east_asian_charset_is_read() {
        for (label, encoding, text) in [
            ("big5", BIG5, "訂房確認"),
            ("shift_jis", SHIFT_JIS, "予約①確認"),
            ("iso-2022-jp", ISO_2022_JP, "予約確認"),
            ("ks_c_5601-1987", EUC_KR, "예약 확인"),
        ] {
            assert_eq!(decode(label, &encoded(encoding, text)).text, text, "{label}");
        }
    }

    #[test]
    fn iso_2022_jp_reads_nec_extensions() {
        assert_eq!(decode("iso-2022-jp", b"\x1b$B-!\x1b(B").text, "①");
    }

    #[test]
    fn joined_iso_2022_jp_words_leave_no_mark() {
        let word = encoded(ISO_2022_JP, "予約");
        assert_eq!(decode("iso-2022-jp", &[word.clone(), word].concat()).text, "予約予約");
    }

    #[test]
    fn unlabelled_text_is_guessed() {
        for (encoding, text) in [
            (GB18030, "您好，请帮忙预订两间大床房，谢谢！"),
            (BIG5, "您好，請幫忙預訂兩間大床房，謝謝！"),
            (SHIFT_JIS, "お世話になっております。ご予約をお願いします。"),
            (EUC_JP, "お世話になっております。ご予約をお願いします。"),
            (EUC_KR, "안녕하세요 객실 두 개를 예약하고 싶습니다"),
            (WINDOWS_1252, "Café Zürich, déjà payé, confirmação até amanhã"),
        ] {
            let decoded = decode("", &encoded(encoding, text));
            assert_eq!((decoded.text.as_str(), decoded.guessed), (text, true));
        }
    }

    #[test]
    fn utf8_is_recognised_under_a_latin_or_no_label() {
        for label in ["", "us-ascii", "iso-8859-1", "x-unknown"] {
            let decoded = decode(label, "两间房".as_bytes());
            assert_eq!((decoded.text.as_str(), decoded.guessed), ("两间房", false), "{label}");
        }
    }

    #[test]
    fn a_false_label_is_found_out() {
        assert_eq!(decode("utf-8", &encoded(GB18030, "请确认预订")).text, "请确认预订");
        assert_eq!(decode("iso-2022-jp", &encoded(EUC_JP, "ご予約の確認です")).text, "ご予約の確認です");
    }

    #[test]
    fn a_little_damage_does_not_change_the_charset() {
        assert_eq!(decode("utf-8", b"\xE8\xAF\xB7\xE7\xA1\xAE\xE8\xAE\xA4 \xE9\xA2").text, "请确认 \u{FFFD}");
    }

    #[test]
    fn utf7_runs_end_without_a_minus() {
        assert_eq!(decode("utf-7", b"Hi +T2BZfQ, 1+-1 +ZeVnLIqe-!").text, "Hi 你好, 1+1 日本語!");
    }

    #[test]
    fn hz_is_read() {
        assert_eq!(decode("hz-gb-2312", b"~{VPND~} ~~ok").text, "中文 ~ok");
    }
}
