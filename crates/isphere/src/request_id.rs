//! Ids of requests as the contracts write them.

/// The 32 hexadecimal digits of our id, with the marks of a version 4 UUID (RFC 9562, section 5.4).
pub fn uuid(request_id: &str) -> String {
    let digits = request_id.strip_prefix("req-").unwrap_or(request_id);
    let Ok(bits) = u128::from_str_radix(digits, 16) else { return request_id.to_owned() };
    let bits = bits & !(0xF << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{bits:032x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_version_4_uuid() {
        assert_eq!(uuid("req-ffffffffffffffffffffffffffffffff"), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(uuid("req-00000000000000000000000000000001"), "00000000-0000-4000-8000-000000000001");
    }
}
