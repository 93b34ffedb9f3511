//! `countersign docs tools`: docs/tools.md, written from the tools themselves.

use std::fmt::Write;

use clap::{Args, ValueEnum};
use govern::tool::{SchemaProfile, Service, Tool};
use hotel::mcp::HotelTools;
use isphere::tools::IsphereTools;
use serde_json::Value;

use super::CommandError;
use crate::print;

/// Print a generated page of the documentation
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign docs tools")]
pub(crate) struct Docs {
    page: Page,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Page {
    /// docs/tools.md
    Tools,
}

impl Docs {
    pub(crate) fn run(&self) -> Result<(), CommandError> {
        let Page::Tools = self.page;
        Ok(print::line(&tools_page())?)
    }
}

fn tools_page() -> String {
    let mut page = String::from(
        "# Tools\n\n\
         Written by `cargo xtask docs`; change the tools instead. Arguments are those of the `portable` schema\n\
         profile. What the answers mean is in the contract pages: TH Hotel [en](hotel/contract.en.md),\n\
         [zh-CN](hotel/contract.zh-CN.md); iSphere [en](isphere/contract.en.md), [zh-CN](isphere/contract.zh-CN.md).\n",
    );
    page.push_str("\n# TH Hotel\n");
    for tool in HotelTools::tools() {
        let output = (tool.output)(SchemaProfile::Contract);
        describe(&mut page, tool, "`data` of the answer", &output["properties"]["data"]);
    }
    page.push_str("\n# iSphere\n");
    for tool in IsphereTools::tools() {
        describe(&mut page, tool, "The answer", &(tool.output)(SchemaProfile::Contract));
    }
    page.trim_end().to_owned()
}

fn describe<S>(page: &mut String, tool: &Tool<S>, answer: &str, output: &Value) {
    let Tool { name, title, description, toolset, scope, effect, .. } = tool;
    // Writing to a String cannot fail.
    let _ = write!(
        page,
        "\n## {name}\n\n**{title}**\n\n{description}\n\n- toolset `{toolset}`, scope `{scope}`, effect `{}`\n- hints: destructive {}, idempotent {}, open world {}\n",
        effect.as_str(),
        tool.hints.destructive,
        tool.hints.idempotent,
        tool.hints.open_world,
    );
    let input = (tool.input)(SchemaProfile::Portable);
    table(page, "Arguments", &input);
    table(page, answer, output);
}

/// The members of an object schema, nested ones under their path.
fn table(page: &mut String, heading: &str, schema: &Value) {
    let mut rows = Vec::new();
    members(&mut rows, "", schema);
    let _ = write!(page, "\n### {heading}\n\n| field | type | required | meaning |\n|---|---|---|---|\n");
    for row in rows {
        page.push_str(&row);
    }
}

fn members(rows: &mut Vec<String>, path: &str, schema: &Value) {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}{name}");
        let is_list = member["type"] == "array";
        let item = if is_list { &member["items"] } else { member };
        let kind = kind(&item["type"]);
        let kind = if is_list { format!("list of {kind}") } else { kind };
        let mut meaning = member["description"].as_str().unwrap_or_default().replace('|', "\\|");
        if let Some(words) = item["enum"].as_array() {
            let words: Vec<String> =
                words.iter().map(|word| format!("`{}`", word.as_str().unwrap_or("null"))).collect();
            meaning = format!("{meaning} ({})", words.join(", "));
        }
        let needed = if required.contains(&name.as_str()) { "yes" } else { "" };
        rows.push(format!("| `{path}` | {kind} | {needed} | {} |\n", meaning.trim()));
        members(rows, &format!("{path}{}.", if is_list { "[]" } else { "" }), item);
    }
}

/// `string`, or `string or null`; a schema without a type takes anything.
fn kind(types: &Value) -> String {
    match types {
        Value::String(one) => one.clone(),
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}
