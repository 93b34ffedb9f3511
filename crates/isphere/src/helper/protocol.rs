//! The protocol `isphere.helper.v1` as its client sees it: one request, one response (boundary contract, section 5).
//!
//! The envelope is read strictly. Of `data` the fields of the contract are read and others left alone, so that a newer
//! helper serves an older client.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::error::HelperError;
use crate::model::Warning;
use crate::outside;

/// The protocol's name.
pub const PROTOCOL: &str = "isphere.helper.v1";

/// The most warnings of a response that are passed on; more would be no news.
const MOST_WARNINGS: usize = 100;
/// The longest code, in characters.
const LONGEST_CODE: usize = 64;
/// The longest message, in characters.
const LONGEST_MESSAGE: usize = 500;

/// A request.
#[derive(Debug, Serialize)]
pub struct Request<'a, A> {
    protocol: &'static str,
    /// A UUID, which the response must repeat.
    #[serde(rename = "request_id")]
    pub id: &'a str,
    /// What to do.
    pub op: &'a str,
    timeout_ms: u64,
    args: &'a A,
}

impl<'a, A: Serialize> Request<'a, A> {
    /// A request that may take `timeout_ms`.
    pub fn new(id: &'a str, op: &'a str, timeout_ms: u64, args: &'a A) -> Self {
        Self { protocol: PROTOCOL, id, op, timeout_ms, args }
    }

    /// The line for the helper's stdin.
    pub fn to_line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("strings and numbers always serialise");
        line.push(b'\n');
        line
    }

    /// The `data` and warnings of the response to this request; its error when it is one.
    pub fn read<T: DeserializeOwned>(&self, document: &[u8]) -> Result<(T, Vec<Warning>), HelperError> {
        let response = parse(document)?;
        if (response.request_id.as_str(), response.op.as_str()) != (self.id, self.op) {
            return Err(HelperError::OtherRequest);
        }
        match (response.ok, response.data, response.error) {
            (true, Some(data), None) => {
                let data = serde_json::from_str(data.get())
                    .map_err(|error| malformed("a response whose data has another shape", &error))?;
                Ok((
                    data,
                    response.warnings.into_iter().take(MOST_WARNINGS).map(Told::into_warning).collect(),
                ))
            }
            (false, None, Some(Told { code, message })) => Err(HelperError::Refused {
                code: outside::line(&code, LONGEST_CODE),
                message: outside::line(&message, LONGEST_MESSAGE),
            }),
            _ => Err(HelperError::Malformed(
                "neither a success with data nor a failure with an error".to_owned(),
            )),
        }
    }
}

/// The response with `data` in the place of its own.
pub fn with_data(document: &[u8], data: &impl Serialize) -> Result<Vec<u8>, HelperError> {
    let data = to_raw_value(data).expect("strings and numbers always serialise");
    let response = Response { data: Some(&data), ..parse(document)? };
    Ok(serde_json::to_vec(&response).expect("strings and numbers always serialise"))
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Response<'a> {
    protocol: String,
    request_id: String,
    op: String,
    ok: bool,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    error: Option<Told>,
    warnings: Vec<Told>,
}

/// An error or a warning.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Told {
    code: String,
    message: String,
}

impl Told {
    fn into_warning(self) -> Warning {
        Warning::new(outside::line(&self.code, LONGEST_CODE), outside::line(&self.message, LONGEST_MESSAGE))
    }
}

/// Reads the one document of stdout. A byte order mark before it, which .NET writes by itself, and white space around it do
/// no harm.
fn parse(document: &[u8]) -> Result<Response<'_>, HelperError> {
    let document = document.strip_prefix(b"\xef\xbb\xbf").unwrap_or(document);
    let text = std::str::from_utf8(document).map_err(|_| HelperError::Malformed("not UTF-8".to_owned()))?;
    let text = text.trim();
    if text.is_empty() {
        return Err(HelperError::Malformed("empty".to_owned()));
    }
    // serde takes an array for a struct.
    if !text.starts_with('{') {
        return Err(HelperError::Malformed("no JSON object".to_owned()));
    }
    let response: Response =
        serde_json::from_str(text).map_err(|error| malformed("not one response of the protocol", &error))?;
    if response.protocol != PROTOCOL {
        return Err(HelperError::Malformed(format!("not of the protocol {PROTOCOL}")));
    }
    Ok(response)
}

/// Without the parser's words, which may repeat what is on the screen.
fn malformed(what: &str, error: &serde_json::Error) -> HelperError {
    HelperError::Malformed(format!("{what} (line {}, column {})", error.line(), error.column()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn good() -> Value {
        json!({"protocol": PROTOCOL, "request_id": "1", "op": "version", "ok": true, "data": {}, "error": null, "warnings": []})
    }

    fn read(document: &[u8]) -> Result<(Value, Vec<Warning>), HelperError> {
        Request::new("1", "version", 5_000, &json!({})).read(document)
    }

    #[test]
    fn a_request_is_one_line_as_the_contract_writes_it() {
        let line = Request::new("1", "scan_windows", 5_000, &json!({"include_all_visible": false})).to_line();
        let text = r#"{"protocol":"isphere.helper.v1","request_id":"1","op":"scan_windows","timeout_ms":5000,"args":{"include_all_visible":false}}"#;
        assert_eq!(String::from_utf8(line).unwrap(), format!("{text}\n"));
    }

    #[test]
    fn a_response_is_read_with_its_warnings() {
        let mut response = good();
        response["data"] = json!({"helper_name": "张三"});
        response["warnings"] = json!([{"code": "DEADLINE", "message": "a\nb\u{202e}c"}]);
        let (data, warnings) = read(format!("\u{feff} {response}\r\n").as_bytes()).unwrap();
        assert_eq!(data, json!({"helper_name": "张三"}));
        assert_eq!(warnings, [Warning::new("DEADLINE", "a bc")]);
    }

    #[test]
    fn a_failure_is_its_code_and_its_words_on_one_line() {
        let mut response = good();
        response["ok"] = json!(false);
        response["data"] = json!(null);
        response["error"] = json!({"code": "WINDOW_NOT_FOUND", "message": "none\nat all"});
        let refused = read(response.to_string().as_bytes()).unwrap_err();
        assert_eq!(refused.to_string(), "WINDOW_NOT_FOUND: none at all");
    }

    #[test]
    fn whatever_is_not_exactly_one_response_is_refused() {
        let with = |field: &str, value: Value| {
            let mut response = good();
            response[field] = value;
            response.to_string()
        };
        let array = json!([PROTOCOL, "1", "version", true, {}, null, []]).to_string();
        for document in [
            String::new(),
            " \r\n".to_owned(),
            "hello".to_owned(),
            array,
            format!("{}{}", good(), good()),
            format!("{}\n{}", good(), good()),
            format!("{} done", good()),
            format!("starting\n{}", good()),
            format!("\u{feff}\u{feff}{}", good()),
            good().to_string().replace("\"warnings\":[]", "\"ok\":true"),
            with("protocol", json!("isphere.helper.v2")),
            with("colour", json!("red")),
            with("ok", json!(1)),
            with("ok", json!(false)),
            with("data", json!(null)),
            with("error", json!({"code": "TIMEOUT", "message": "x"})),
            with("warnings", json!(null)),
            with("warnings", json!(["x"])),
        ] {
            assert!(matches!(read(document.as_bytes()), Err(HelperError::Malformed(_))), "{document}");
        }
        assert!(matches!(read(b"{\"protocol\":\"\xff\"}"), Err(HelperError::Malformed(_))));
    }

    #[test]
    fn a_response_to_another_request_is_refused() {
        for (field, value) in [("request_id", "2"), ("request_id", ""), ("op", "self_check")] {
            let mut response = good();
            response[field] = json!(value);
            assert!(matches!(read(response.to_string().as_bytes()), Err(HelperError::OtherRequest)));
        }
    }

    #[test]
    fn what_the_helper_of_this_workspace_answers_is_understood() {
        use super::super::data::{Dump, SelfCheck, Version};

        fn ask<T: DeserializeOwned>(op: &str) -> Result<(T, Vec<Warning>), HelperError> {
            let arguments = json!({});
            let request = Request::new("1", op, 5_000, &arguments);
            let response = win_helper::program::answer(&request.to_line(), std::time::Instant::now());
            request.read(&serde_json::to_vec(&response).unwrap())
        }
        assert_eq!(win_helper::protocol::PROTOCOL, PROTOCOL);
        let (version, _) = ask::<Version>("version").unwrap();
        assert_eq!(version.helper_name, "ISphereWinHelper");
        ask::<SelfCheck>("self_check").unwrap();
        if cfg!(not(windows)) {
            let refused = ask::<Dump>("dump_uia").unwrap_err();
            assert!(refused.to_string().starts_with("HELPER_FAILED: "), "{refused}");
        }
    }

    #[test]
    fn what_is_on_the_screen_is_not_repeated_in_an_error() {
        let mut response = good();
        response["data"] = json!("a secret");
        let error = Request::new("1", "version", 1, &json!({}))
            .read::<super::super::data::Version>(response.to_string().as_bytes())
            .unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
