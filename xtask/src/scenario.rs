//! A scenario: tool calls and CLI commands with what is expected of each, as one JSON file that serves every
//! client. `tests/clients/README.md` describes the file for those who write one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

/// The values that steps captured, by name; `${name}` in a later step stands for one of them.
pub type Variables = BTreeMap<String, Value>;

/// A scenario, read and checked for its shape.
pub struct Scenario {
    /// The folder under `tests/clients/mails` whose mails the scenario ingests.
    pub mails: Option<String>,
    steps: Vec<Step>,
}

struct Step {
    act: Act,
    expect: Map<String, Value>,
    capture: Map<String, Value>,
}

#[derive(Clone)]
enum Act {
    Tool { name: String, arguments: Value },
    Command(Value),
}

impl Scenario {
    /// Reads a scenario file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let value: Value = serde_json::from_slice(&text)
            .map_err(|error| format!("{} is not JSON: {error}", path.display()))?;
        let listed = value["steps"].as_array().ok_or_else(|| format!("{} has no steps", path.display()))?;
        let mails = value["mails"].as_str().map(str::to_owned);
        steps(listed)
            .map(|steps| Self { mails, steps })
            .map_err(|message| format!("{}: {message}", path.display()))
    }

    /// The names of the tools that the scenario calls.
    pub fn tools(&self) -> BTreeSet<&str> {
        self.steps
            .iter()
            .filter_map(|step| match &step.act {
                Act::Tool { name, .. } => Some(name.as_str()),
                Act::Command(_) => None,
            })
            .collect()
    }

    /// Carries out the steps in order. `call` calls a tool and `command` runs the CLI; both give back JSON.
    pub fn run(
        &self,
        mut variables: Variables,
        mut call: impl FnMut(&str, &Value) -> Result<Value, String>,
        mut command: impl FnMut(&[String]) -> Result<Value, String>,
    ) -> Result<(), String> {
        for (index, step) in self.steps.iter().enumerate() {
            let (what, result) = match &step.act {
                Act::Tool { name, arguments } => {
                    (name.clone(), call(name, &filled_in(arguments, &variables)?))
                }
                Act::Command(words) => {
                    let words: Vec<String> = serde_json::from_value(filled_in(words, &variables)?)
                        .map_err(|error| format!("step {}: command: {error}", index + 1))?;
                    (words.join(" "), command(&words))
                }
            };
            result
                .and_then(|result| step.judge(&result, &mut variables))
                .map_err(|message| format!("step {} ({what}): {message}", index + 1))?;
        }
        Ok(())
    }
}

fn steps(listed: &[Value]) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    for step in listed {
        let act = match (step["tool"].as_str(), step.get("command"), step["again"].as_u64()) {
            (Some(name), None, None) => Act::Tool {
                name: name.to_owned(),
                arguments: step.get("arguments").cloned().unwrap_or_else(|| json!({})),
            },
            (None, Some(words), None) => Act::Command(words.clone()),
            (None, None, Some(number)) => usize::try_from(number)
                .ok()
                .and_then(|number| steps.get(number.checked_sub(1)?))
                .map(|step| step.act.clone())
                .ok_or_else(|| format!("there is no step {number} before this one to do again"))?,
            _ => return Err(format!("a step has one of tool, command and again: {step}")),
        };
        let object = |key: &str| step[key].as_object().cloned().unwrap_or_default();
        steps.push(Step { act, expect: object("expect"), capture: object("capture") });
    }
    Ok(steps)
}

impl Step {
    fn judge(&self, result: &Value, variables: &mut Variables) -> Result<(), String> {
        // A step that does not speak of errors expects none.
        let success_expected =
            !self.expect.contains_key("/isError") && !self.expect.contains_key("/error/code");
        if success_expected && (result["isError"] == json!(true) || !result["error"]["code"].is_null()) {
            return Err(format!("failed: {result}"));
        }
        for (pointer, expected) in &self.expect {
            let expected = filled_in(expected, variables)?;
            let found = result.pointer(pointer);
            if !satisfies(found, &expected) {
                let found = found.map_or("nothing".to_owned(), Value::to_string);
                return Err(format!("{pointer}: expected {expected}, found {found} in {result}"));
            }
        }
        for (name, pointer) in &self.capture {
            let pointer = pointer.as_str().ok_or_else(|| format!("capture {name} is not a JSON pointer"))?;
            let found = result
                .pointer(pointer)
                .ok_or_else(|| format!("{pointer}: nothing to capture in {result}"))?;
            variables.insert(name.clone(), found.clone());
        }
        Ok(())
    }
}

/// Whether a value is as expected: equal, or as one of the words `contains`, `length` and `present` says.
fn satisfies(found: Option<&Value>, expected: &Value) -> bool {
    let word =
        expected.as_object().filter(|object| object.len() == 1).and_then(|object| object.iter().next());
    match (found, word.map(|(word, argument)| (word.as_str(), argument))) {
        (found, Some(("present", wanted))) => json!(found.is_some()) == *wanted,
        (Some(Value::String(text)), Some(("contains", part))) => {
            part.as_str().is_some_and(|part| text.contains(part))
        }
        (Some(Value::Array(items)), Some(("contains", item))) => items.contains(item),
        (Some(Value::Array(items)), Some(("length", length))) => json!(items.len()) == *length,
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
            Variables::new(),
            |_, arguments| {
                calls.push(arguments.clone());
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
}
