//! Whether a request is JSON, and whether its answer may be (RFC 9110, sections 8.3 and 12.5.1).

use axum::http::{HeaderMap, header};

/// Whether a `Content-Type` is JSON in UTF-8.
pub(crate) fn is_json(content_type: &str) -> bool {
    let mut parts = content_type.split(';');
    let json = parts.next().is_some_and(|media| media.trim().eq_ignore_ascii_case("application/json"));
    json && parts.filter_map(|part| parameter(part, "charset")).all(|set| set.eq_ignore_ascii_case("utf-8"))
}

/// Whether `Accept` allows JSON: the most specific range that covers it decides. An absent or empty header allows all.
pub(crate) fn accepts_json(headers: &HeaderMap) -> bool {
    let mut ranges = accepted(headers).peekable();
    if ranges.peek().is_none() {
        return true;
    }
    ranges.filter_map(covering).max().is_some_and(|(_, wanted)| wanted)
}

/// Whether `Accept` names event streams. A client that only allows everything may well expect one JSON document.
pub(crate) fn accepts_event_stream(headers: &HeaderMap) -> bool {
    accepted(headers).any(|range| {
        let (media, parameters) = range.split_once(';').unwrap_or((range, ""));
        media.trim().eq_ignore_ascii_case("text/event-stream") && wanted(parameters)
    })
}

/// The media ranges of `Accept`.
fn accepted(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(header::ACCEPT).iter();
    values
        .flat_map(|value| value.to_str().unwrap_or("not text").split(','))
        .map(str::trim)
        .filter(|range| !range.is_empty())
}

/// How specific a range that covers JSON is, and whether it is wanted at all.
fn covering(range: &str) -> Option<(u8, bool)> {
    let (media, parameters) = range.split_once(';').unwrap_or((range, ""));
    let specific = match media.trim().to_ascii_lowercase().as_str() {
        "application/json" => 2,
        "application/*" => 1,
        "*/*" => 0,
        _ => return None,
    };
    Some((specific, wanted(parameters)))
}

/// Whether the quality among the parameters of a range is above zero, as it is when there is none.
fn wanted(parameters: &str) -> bool {
    let quality = parameters.split(';').find_map(|part| parameter(part, "q"));
    quality.is_none_or(|quality| quality.parse::<f32>().is_ok_and(|quality| quality > 0.0))
}

fn parameter<'p>(part: &'p str, wanted: &str) -> Option<&'p str> {
    let (name, value) = part.split_once('=')?;
    name.trim().eq_ignore_ascii_case(wanted).then(|| value.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn accept(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn event_streams_are_accepted_by_name_only() {
        for named in ["text/event-stream", "application/json, Text/Event-Stream;q=0.5"] {
            assert!(accepts_event_stream(&accept(named)), "{named}");
        }
        for not in ["", "*/*", "text/*", "application/json", "application/json, text/event-stream; q=0"] {
            assert!(!accepts_event_stream(&accept(not)), "{not}");
        }
    }

    #[test]
    fn json_in_utf_8_is_json_in_any_case() {
        for json in [
            "application/json",
            "Application/JSON",
            "application/json; charset=utf-8",
            "application/json;Charset=\"UTF-8\"",
            "application/json; profile=x",
        ] {
            assert!(is_json(json), "{json}");
        }
        for other in [
            "",
            "text/plain",
            "application/jsonl",
            "application/json, text/plain",
            "application/json; charset=latin1",
            "application/json; charset=utf-8; charset=utf-16",
        ] {
            assert!(!is_json(other), "{other}");
        }
    }

    #[test]
    fn the_most_specific_range_that_covers_json_decides() {
        let accepts = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::ACCEPT, HeaderValue::from_static(value));
            }
            accepts_json(&headers)
        };
        for good in [
            "",
            " ",
            "*/*",
            "application/json",
            "APPLICATION/*;q=0.1",
            "text/event-stream, application/json; q=0.001",
            "*/*;q=0, application/json",
        ] {
            assert!(accepts(&[good]), "{good}");
        }
        for bad in [
            "text/html",
            "application/json;q=0",
            "application/json; Q=0.000",
            "application/json;q=x",
            "application/json;q=0, */*",
            "application/*;q=0, */*",
        ] {
            assert!(!accepts(&[bad]), "{bad}");
        }
        assert!(accepts(&[]) && accepts(&["text/html", "application/json"]));
    }
}
