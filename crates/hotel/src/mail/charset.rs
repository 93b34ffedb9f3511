//! Bytes to text: the label is believed where it can be true, and guessed where it is absent or false.

use encoding_rs::{BIG5, EUC_KR, Encoding, GB18030, ISO_2022_JP, SHIFT_JIS, UTF_8, WINDOWS_1252};

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
    let (text, _, failed) = encoding.decode(bytes);
    if failed && encoding == UTF_8 && is_mostly_not_utf8(bytes) {
        return guess(bytes);
    }
    known(text.into_owned())
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

/// Few of the non-ASCII bytes form UTF-8, so that a damaged UTF-8 text is not taken for another charset.
fn is_mostly_not_utf8(bytes: &[u8]) -> bool {
    let high = bytes.iter().filter(|byte| !byte.is_ascii()).count();
    let valid: usize =
        bytes.utf8_chunks().map(|chunk| chunk.valid().bytes().filter(|byte| !byte.is_ascii()).count()).sum();
    valid * 2 < high
}

fn guess(bytes: &[u8]) -> Decoded {
    if bytes.windows(3).any(|window| matches!(window, [0x1B, b'$', b'B' | b'@'])) {
        return Decoded { text: ISO_2022_JP.decode(bytes).0.into_owned(), guessed: true };
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return known(text.to_owned());
    }
    let encoding = guess_eight_bit(bytes);
    Decoded { text: encoding.decode(bytes).0.into_owned(), guessed: true }
}

/// The likeliest encoding of bytes that are not UTF-8. A hotel in China gets GBK first, so it wins a tie.
fn guess_eight_bit(bytes: &[u8]) -> &'static Encoding {
    let mut runs = bytes.split(u8::is_ascii).map(<[u8]>::len).filter(|length| *length > 0).peekable();
    if runs.peek().is_some()
        && runs.clone().all(|length| length == 1)
        && !bytes.windows(2).any(is_katakana_pair)
    {
        return WINDOWS_1252;
    }
    let candidates: [(&Encoding, fn(u8, u8) -> bool); 4] = [
        (GB18030, |lead, trail| matches!(lead, 0xA1..=0xA3 | 0xB0..=0xD7) && trail >= 0xA1),
        (EUC_KR, |lead, trail| matches!(lead, 0xA1 | 0xA3 | 0xB0..=0xC8) && trail >= 0xA1),
        (BIG5, |lead, _| matches!(lead, 0xA1..=0xC6)),
        (SHIFT_JIS, |lead, _| matches!(lead, 0x81..=0x83 | 0x88..=0x97)),
    ];
    let mut best = (GB18030, 0);
    for (encoding, is_common) in candidates {
        let (text, _, failed) = encoding.decode(bytes);
        if failed {
            continue;
        }
        let mut score = share_of_common_pairs(bytes, encoding, is_common);
        // Korean fits inside the Chinese ranges and scores full in both; Chinese text uses the second half too.
        if encoding == EUC_KR
            && (score < 1000 || text.chars().filter(|character| !character.is_ascii()).count() < 4)
        {
            score = 0;
        }
        // Japanese is told by its kana.
        if encoding == SHIFT_JIS
            && !text.chars().any(|character| matches!(character, '\u{3041}'..='\u{30FA}'))
        {
            score = 0;
        }
        if score > best.1 || (encoding == EUC_KR && score == 1000) {
            best = (encoding, score);
        }
    }
    best.0
}

fn is_katakana_pair(pair: &[u8]) -> bool {
    matches!(pair, [0x82 | 0x83, 0x40..=0x7E])
}

/// Per mille of the two-byte characters that are everyday ones in the encoding.
fn share_of_common_pairs(bytes: &[u8], encoding: &Encoding, is_common: fn(u8, u8) -> bool) -> usize {
    let (mut pairs, mut common, mut at) = (0, 0, 0);
    while at < bytes.len() {
        let is_single = bytes[at].is_ascii() || (encoding == SHIFT_JIS && matches!(bytes[at], 0xA1..=0xDF));
        if is_single {
            at += 1;
            continue;
        }
        let trail = bytes.get(at + 1).copied().unwrap_or_default();
        pairs += 1;
        common += usize::from(is_common(bytes[at], trail));
        at += 2;
    }
    common * 1000 / pairs.max(1)
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
    fn unlabelled_text_is_guessed() {
        for (encoding, text) in [
            (GB18030, "您好，请帮忙预订两间大床房，谢谢！"),
            (BIG5, "您好，請幫忙預訂兩間大床房，謝謝！"),
            (SHIFT_JIS, "お世話になっております。ご予約をお願いします。"),
            (EUC_KR, "안녕하세요 객실 두 개를 예약하고 싶습니다"),
            (WINDOWS_1252, "Café Zürich, déjà payé"),
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
    fn gbk_under_a_utf8_label_is_found_out() {
        assert_eq!(decode("utf-8", &encoded(GB18030, "请确认预订")).text, "请确认预订");
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
