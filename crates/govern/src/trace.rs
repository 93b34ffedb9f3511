//! The caller's trace id, which goes into records and answers.

use axum::http::{HeaderMap, HeaderName};

use crate::http::header_text;

/// W3C Trace Context.
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// A trace id in a form of the caller's own.
pub(crate) const TRACE_ID: HeaderName = HeaderName::from_static("x-trace-id");

/// How many characters a trace id of the caller's own may have.
const LONGEST: usize = 128;

/// [`trace_id`] of a request's head.
pub fn of_headers(headers: &HeaderMap) -> Option<String> {
    trace_id(header_text(headers, &TRACEPARENT), header_text(headers, &TRACE_ID))
}

/// The trace id inside `traceparent` (W3C Trace Context, section 3.2.2), else `own`, the caller's own id: 1 to 128 visible
/// ASCII characters. What is neither is as good as absent.
pub fn trace_id(traceparent: Option<&str>, own: Option<&str>) -> Option<String> {
    let inner = traceparent.and_then(inside);
    inner.or_else(|| own.map(str::trim).filter(|id| is_fit(id))).map(str::to_owned)
}

fn inside(traceparent: &str) -> Option<&str> {
    let mut fields = traceparent.trim().split('-');
    let (version, id) = (fields.next()?, fields.next()?);
    let (parent, flags) = (fields.next()?, fields.next()?);
    // Later versions may have more fields, this one has not.
    let good = is_hex(version, 2)
        && version != "ff"
        && is_hex(id, 32)
        && is_hex(parent, 16)
        && is_hex(flags, 2)
        && (version != "00" || fields.next().is_none())
        && [id, parent].iter().all(|field| field.bytes().any(|byte| byte != b'0'));
    good.then_some(id)
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_fit(id: &str) -> bool {
    (1..=LONGEST).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn the_id_inside_traceparent_comes_first() {
        let traceparent = format!("00-{ID}-b7ad6b7169203331-01");
        assert_eq!(trace_id(Some(&traceparent), Some("t-1")).as_deref(), Some(ID));
        let later = format!(" 01-{ID}-b7ad6b7169203331-01-more ");
        assert_eq!(trace_id(Some(&later), None).as_deref(), Some(ID));
    }

    #[test]
    fn a_malformed_traceparent_is_as_good_as_absent() {
        for bad in [
            "",
            "t-1",
            ID,
            &format!("00-{ID}"),
            &format!("00-{ID}-b7ad6b7169203331-01-more"),
            &format!("ff-{ID}-b7ad6b7169203331-01"),
            &format!("00-{}-b7ad6b7169203331-01", ID.to_uppercase()),
            &format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)),
            &format!("00-{ID}-{}-01", "0".repeat(16)),
            &format!("00-{ID}x-b7ad6b7169203331-01"),
        ] {
            assert_eq!(trace_id(Some(bad), Some("t-1")).as_deref(), Some("t-1"), "{bad}");
            assert_eq!(trace_id(Some(bad), None), None, "{bad}");
        }
    }

    #[test]
    fn an_id_that_no_record_should_hold_is_dropped() {
        let longest = "x".repeat(128);
        for good in ["t-1", " t-1 ", &longest] {
            assert_eq!(trace_id(None, Some(good)).as_deref(), Some(good.trim()));
        }
        for bad in ["", " ", "a b", "a\tb", "a\u{1b}[2J", "tr\u{e4}ce", &"x".repeat(129)] {
            assert_eq!(trace_id(None, Some(bad)), None, "{bad:?}");
        }
    }
}
