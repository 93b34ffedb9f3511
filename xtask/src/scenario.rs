//! A scenario: tool calls and CLI commands with what is expected of each, as one JSON file that serves every
//! client. `tests/clients/README.md` describes the file for those who write one.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;

use serde_json::{Map, Value, json};

use crate::paths;

/// More pages than any listing of a test has; a cursor that leads in a circle ends here.
const MOST_PAGES: usize = 10_000;

/// How much of a result goes into a message.
const SHOWN_CHARS: usize = 2_000;

/// The values that steps captured, by name; `${name}` in a later step stands for one of them.
pub type Variables = BTreeMap<String, Value>;

/// A scenario, read and checked for its shape.
pub struct Scenario {
    /// The folder under `tests/clients/mails` whose mails the scenario ingests.
    pub mails: Option<String>,
    steps: Vec<Step>,
}

/// A call that a client makes.
#[derive(Clone)]
pub struct Call {
    /// The tool's name.
    pub tool: String,
    /// Its arguments, an object.
    pub arguments: Value,
    /// What to do with reports of progress; without it the client asks for none.
    pub progress: Option<Progress>,
}

/// What a client does with the reports of progress that it asks for.
#[derive(Clone, Copy)]
pub enum Progress {
    /// It hands them over with the result.
    Collect,
    /// It cancels the call at the first of them.
    Cancel,
}

impl Progress {
    /// The word in a scenario and on the line to a client.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Collect => "collect",
            Self::Cancel => "cancel",
        }
    }
}

struct Step {
    act: Act,
    /// Whether it needs a client that keeps its connection from call to call.
    steered: bool,
    expect: Map<String, Value>,
    capture: Map<String, Value>,
}

#[derive(Clone)]
enum Act {
    Tool { call: Call, pages: Option<Pages> },
    Command(Value),
}

/// Where the items of a page are and what tells them apart.
#[derive(Clone)]
struct Pages {
    items: String,
    id: String,
}

impl Scenario {
    /// Reads `tests/clients/scenarios/NAME.json`.
    pub fn read(name: &str) -> Result<Self, String> {
        let path = paths::workspace().join("tests/clients/scenarios").join(format!("{name}.json"));
        let text = fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let value: Value = serde_json::from_slice(&text)
            .map_err(|error| format!("{} is not JSON: {error}", path.display()))?;
        let listed = value["steps"].as_array().ok_or_else(|| format!("{} has no steps", path.display()))?;
        let mails = value["mails"].as_str().map(str::to_owned);
        steps(listed)
            .map(|steps| Self { mails, steps })
            .map_err(|message| format!("{}: {message}", path.display()))
    }

    /// The names of the tools that the scenario calls with every client.
    pub fn tools(&self) -> BTreeSet<&str> {
        self.steps
            .iter()
            .filter_map(|step| match &step.act {
                Act::Tool { call, .. } if !step.steered => Some(call.tool.as_str()),
                _ => None,
            })
            .collect()
    }

    /// Carries out the steps in order, those for steered clients only with `steered`. `ask` calls a tool and
    /// `command` runs the CLI; both give back JSON.
    pub fn run(
        &self,
        steered: bool,
        mut variables: Variables,
        mut ask: impl FnMut(&Call) -> Result<Value, String>,
        mut command: impl FnMut(&[String]) -> Result<Value, String>,
    ) -> Result<(), String> {
        for (index, step) in self.steps.iter().enumerate().filter(|(_, step)| steered || !step.steered) {
            let failed = |what: &str, message: String| format!("step {} ({what}): {message}", index + 1);
            let (what, result) = match &step.act {
                Act::Tool { call, pages } => {
                    let arguments = filled_in(&call.arguments, &variables)
                        .map_err(|message| failed(&call.tool, message))?;
                    let call = Call { arguments, ..call.clone() };
                    let result = match pages {
                        Some(pages) => pages.follow(call.clone(), &mut ask),
                        None => ask(&call),
                    };
                    (call.tool, result)
                }
                Act::Command(words) => {
                    let words = filled_in(words, &variables).map_err(|message| failed("command", message))?;
                    let words: Vec<String> = serde_json::from_value(words)
                        .map_err(|error| failed("command", error.to_string()))?;
                    (words.join(" "), command(&words))
                }
            };
            result
                .and_then(|result| step.judge(&result, &mut variables))
                .map_err(|message| failed(&what, message))?;
        }
        Ok(())
    }
}

impl Pages {
    /// Calls again with each `next_cursor` until there is none; gives back the ids of all items in their order, the
    /// number of pages, and the bytes of all pages and of the largest. An item that comes twice is an error.
    fn follow(
        &self,
        mut call: Call,
        ask: &mut impl FnMut(&Call) -> Result<Value, String>,
    ) -> Result<Value, String> {
        let (mut ids, mut seen) = (Vec::new(), HashSet::new());
        let (mut bytes, mut largest_page) = (0, 0);
        for pages in 1..=MOST_PAGES {
            let result = ask(&call)?;
            let items = result
                .pointer(&self.items)
                .and_then(Value::as_array)
                .filter(|_| !is_failure(&result))
                .ok_or_else(|| format!("page {pages} failed: {}", shown(&result)))?;
            for id in items.iter().map(|item| &item[&self.id]) {
                if !seen.insert(id.to_string()) {
                    return Err(format!(
                        "page {pages} has {id}, which an earlier page or itself had already"
                    ));
                }
                ids.push(id.clone());
            }
            let content = &result["structuredContent"];
            let size = content.to_string().len();
            bytes += size;
            largest_page = largest_page.max(size);
            if content["next_cursor"].is_null() {
                let all = json!({"ids": ids, "pages": pages, "bytes": bytes, "largest_page": largest_page});
                return Ok(all);
            }
            call.arguments["cursor"] = content["next_cursor"].clone();
        }
        Err(format!("there is still a cursor after {MOST_PAGES} pages"))
    }
}

fn steps(listed: &[Value]) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    for step in listed {
        let act = match (step["tool"].as_str(), step.get("command"), step["again"].as_u64()) {
            (Some(tool), None, None) => tool_act(tool, step)?,
            (None, Some(words), None) => Act::Command(words.clone()),
            (None, None, Some(number)) => usize::try_from(number)
                .ok()
                .and_then(|number| steps.get(number.checked_sub(1)?))
                .map(|step| step.act.clone())
                .ok_or_else(|| format!("there is no step {number} before this one to do again"))?,
            _ => return Err(format!("a step has one of tool, command and again: {step}")),
        };
        let progress = matches!(&act, Act::Tool { call, .. } if call.progress.is_some());
        let steered = progress || step["steered"] == json!(true);
        let object = |key: &str| step[key].as_object().cloned().unwrap_or_default();
        steps.push(Step { act, steered, expect: object("expect"), capture: object("capture") });
    }
    Ok(steps)
}

fn tool_act(tool: &str, step: &Value) -> Result<Act, String> {
    let progress = match step["progress"].as_str() {
        None => None,
        Some("collect") => Some(Progress::Collect),
        Some("cancel") => Some(Progress::Cancel),
        Some(_) => return Err(format!("progress is collect or cancel: {step}")),
    };
    let pages = match step.get("pages") {
        None => None,
        Some(pages) => match (pages["items"].as_str(), pages["id"].as_str()) {
            (Some(items), Some(id)) => Some(Pages { items: items.to_owned(), id: id.to_owned() }),
            _ => return Err(format!("pages has items, a JSON pointer, and id, a field of each: {step}")),
        },
    };
    let arguments = step.get("arguments").cloned().unwrap_or_else(|| json!({}));
    Ok(Act::Tool { call: Call { tool: tool.to_owned(), arguments, progress }, pages })
}

/// Whether a result is a JSON-RPC error or a tool result that says so.
fn is_failure(result: &Value) -> bool {
    result["isError"] == json!(true) || !result["error"]["code"].is_null()
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{} … ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}

impl Step {
    fn judge(&self, result: &Value, variables: &mut Variables) -> Result<(), String> {
        // A step that does not speak of errors expects none.
        let success_expected =
            !self.expect.contains_key("/isError") && !self.expect.contains_key("/error/code");
        if success_expected && is_failure(result) {
            return Err(format!("failed: {}", shown(result)));
        }
        for (pointer, expected) in &self.expect {
            let expected = filled_in(expected, variables)?;
            let found = result.pointer(pointer);
            if !satisfies(found, &expected) {
                let (expected, found) = (shown(&expected), found.map_or("nothing".to_owned(), shown));
                return Err(format!("{pointer}: expected {expected}, found {found} in {}", shown(result)));
            }
        }
        for (name, pointer) in &self.capture {
            let pointer = pointer.as_str().ok_or_else(|| format!("capture {name} is not a JSON pointer"))?;
            let found = result
                .pointer(pointer)
                .ok_or_else(|| format!("{pointer}: nothing to capture in {}", shown(result)))?;
            variables.insert(name.clone(), found.clone());
        }
        Ok(())
    }
}

/// Whether a value is as expected: equal, or as one of the words `contains`, `length`, `present`, `at_least` and
/// `at_most` says.
fn satisfies(found: Option<&Value>, expected: &Value) -> bool {
    let word =
        expected.as_object().filter(|object| object.len() == 1).and_then(|object| object.iter().next());
    match (found, word.map(|(word, argument)| (word.as_str(), argument))) {
        (found, Some(("present", wanted))) => json!(found.is_some()) == *wanted,
        (Some(Value::String(text)), Some(("contains", part))) => {
            part.as_str().is_some_and(|part| text.contains(part))
        }
        (Some(Value::Array(items)), Some(("contains", item))) => items.contains(item),
        (Some(Value::Array(items)), Some(("length", length))) => satisfies(Some(&json!(items.len())), length),
        (Some(Value::Number(number)), Some(("at_least", bound))) => number.as_f64() >= bound.as_f64(),
        (Some(Value::Number(number)), Some(("at_most", bound))) => number.as_f64() <= bound.as_f64(),
        (found, _) => found == Some(expected),
    }
}

/// Puts captured values in place of `${name}`: the value itself where it is the whole string, else its text.
fn filled_in(template: &Value, variables: &Variables) -> Result<Value, String> {
    match template {
        Value::String(text) => filled_in_text(text, variables),
        Value::Array(items) => items.iter().map(|item| filled_in(item, variables)).collect(),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| Ok((key.clone(), filled_in(value, variables)?)))
            .collect::<Result<Map<_, _>, String>>()
            .map(Value::Object),
        other => Ok(other.clone()),
    }
}

fn filled_in_text(text: &str, variables: &Variables) -> Result<Value, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').ok_or_else(|| format!("{text}: ${{ without }}"))?;
        let value = variables.get(name).ok_or_else(|| format!("{text}: nothing was captured as {name}"))?;
        if before.is_empty() && after.is_empty() && filled.is_empty() {
            return Ok(value.clone());
        }
        filled.push_str(before);
        match value {
            Value::String(value) => filled.push_str(value),
            value => filled.push_str(&value.to_string()),
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(Value::String(filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(listed: &Value, results: &[Value]) -> (Result<(), String>, Vec<Value>) {
        let steps = steps(listed.as_array().unwrap()).unwrap();
        let mut results = results.iter();
        let mut calls = Vec::new();
        let outcome = Scenario { mails: None, steps }.run(
            true,
            Variables::new(),
            |call| {
                calls.push(call.arguments.clone());
                Ok(results.next().unwrap().clone())
            },
            |words| Ok(json!(words)),
        );
        (outcome, calls)
    }

    #[test]
    fn a_captured_value_keeps_its_type_as_a_whole_string_and_becomes_text_inside_one() {
        let steps = json!([
            {"tool": "first", "capture": {"id": "/structuredContent/id"}},
            {"tool": "second", "arguments": {"whole": "${id}", "inside": "ORDER:${id}!"}},
        ]);
        let (outcome, calls) = run(&steps, &[json!({"structuredContent": {"id": 7}}), json!({})]);
        assert_eq!(outcome, Ok(()));
        assert_eq!(calls[1], json!({"whole": 7, "inside": "ORDER:7!"}));
    }

    #[test]
    fn an_unexpected_tool_error_fails_the_step() {
        let (outcome, _) = run(&json!([{"tool": "first"}]), &[json!({"isError": true})]);
        assert!(outcome.unwrap_err().starts_with("step 1 (first): failed"));
    }

    #[test]
    fn an_unexpected_protocol_error_fails_the_step() {
        let (outcome, _) = run(&json!([{"tool": "first"}]), &[json!({"error": {"code": -32602}})]);
        assert!(outcome.unwrap_err().starts_with("step 1 (first): failed"));
    }

    #[test]
    fn each_word_of_expectation_tells_right_from_wrong() {
        for (expected, right, wrong) in [
            (json!(3), json!(3), json!("3")),
            (json!({"contains": "b"}), json!("abc"), json!("ac")),
            (json!({"contains": "b"}), json!(["a", "b"]), json!(["a"])),
            (json!({"length": 2}), json!([1, 2]), json!([1])),
            (json!({"length": {"at_least": 2}}), json!([1, 2, 3]), json!([1])),
            (json!({"at_least": 2}), json!(2.0), json!(1)),
            (json!({"at_most": 2}), json!(2), json!(2.5)),
            (json!({"a": 1}), json!({"a": 1}), json!({"a": 2})),
        ] {
            assert!(satisfies(Some(&right), &expected), "{right} should satisfy {expected}");
            assert!(!satisfies(Some(&wrong), &expected), "{wrong} should not satisfy {expected}");
        }
        assert!(satisfies(None, &json!({"present": false})));
        assert!(!satisfies(None, &json!({"present": true})));
    }

    #[test]
    fn a_value_that_was_never_captured_is_an_error() {
        let (outcome, _) = run(&json!([{"tool": "first", "arguments": {"id": "${nothing}"}}]), &[]);
        assert!(outcome.unwrap_err().contains("nothing was captured as nothing"));
    }

    #[test]
    fn a_step_can_be_done_again() {
        let listed =
            json!([{"tool": "first", "arguments": {"a": 1}}, {"again": 1, "expect": {"/replay": true}}]);
        let (outcome, calls) = run(&listed, &[json!({}), json!({"replay": true})]);
        assert_eq!(outcome, Ok(()));
        assert_eq!(calls, [json!({"a": 1}), json!({"a": 1})]);
    }

    #[test]
    fn a_command_is_run_with_its_words_filled_in() {
        let steps = json!([
            {"tool": "first", "capture": {"id": "/id"}},
            {"command": ["show", "${id}"], "expect": {"/1": "t-1"}},
        ]);
        assert_eq!(run(&steps, &[json!({"id": "t-1"})]).0, Ok(()));
    }

    fn page(ids: &[u32], next_cursor: Option<&str>) -> Value {
        let items: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
        json!({"structuredContent": {"items": items, "next_cursor": next_cursor}})
    }

    #[test]
    fn pages_are_followed_to_the_end_and_their_ids_kept_in_order() {
        let listed = json!([{
            "tool": "first", "arguments": {"limit": 2}, "pages": {"items": "/structuredContent/items", "id": "id"},
            "expect": {"/ids": [7, 5, 3], "/pages": 2, "/largest_page": {"at_most": 60}, "/bytes": {"at_least": 61}},
        }]);
        let (outcome, calls) = run(&listed, &[page(&[7, 5], Some("c")), page(&[3], None)]);
        assert_eq!(outcome, Ok(()));
        assert_eq!(calls, [json!({"limit": 2}), json!({"limit": 2, "cursor": "c"})]);
    }

    #[test]
    fn an_item_that_comes_twice_and_a_page_that_fails_are_errors() {
        let listed = json!([{"tool": "first", "pages": {"items": "/structuredContent/items", "id": "id"}}]);
        let (outcome, _) = run(&listed, &[page(&[7, 5], Some("c")), page(&[5], None)]);
        assert!(outcome.unwrap_err().contains("page 2 has 5"));
        let (outcome, _) = run(&listed, &[page(&[7, 5], Some("c")), json!({"isError": true})]);
        assert!(outcome.unwrap_err().contains("page 2 failed"));
    }

    #[test]
    fn a_client_without_a_connection_leaves_out_what_needs_one() {
        let listed = json!([
            {"tool": "first"}, {"tool": "second", "progress": "cancel"}, {"tool": "third", "steered": true},
        ]);
        let scenario = Scenario { mails: None, steps: steps(listed.as_array().unwrap()).unwrap() };
        let mut called = Vec::new();
        let note = |call: &Call| {
            called.push(call.tool.clone());
            Ok(json!({}))
        };
        assert_eq!(scenario.run(false, Variables::new(), note, |_| Ok(json!({}))), Ok(()));
        assert_eq!(called, ["first"]);
        assert_eq!(scenario.tools(), BTreeSet::from(["first"]));
    }
}
