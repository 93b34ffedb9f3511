//! The list of methods through which the client could be made to send (`data/entrypoints.toml`).

use std::collections::HashSet;

use serde::Deserialize;

use crate::data_file::{self, Origin};
use crate::fault::Fault;

/// The list's file beside the program.
pub const FILE: &str = "entrypoints.toml";

const BUILT_IN: &str = include_str!("../data/entrypoints.toml");
const MOST_ENTRIES: usize = 200;
const MOST_CHARS: usize = 500;

/// A method of an assembly.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entrypoint {
    /// By what answers name it.
    pub id: String,
    /// The assembly's file name, in the client's folder.
    pub assembly: String,
    /// The type, as reflection writes it.
    pub type_name: String,
    /// The method; any overload of it counts.
    pub method_name: String,
    /// Whether the preflight fails without it.
    #[serde(default = "yes")]
    pub required: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    entrypoint: Vec<Entrypoint>,
}

/// The entries that are to be looked for: the operator's, or the published one.
pub fn load() -> Result<(Vec<Entrypoint>, Origin), Fault> {
    let (list, origin): (List, Origin) = data_file::read(FILE, BUILT_IN)?;
    match fault(&list.entrypoint) {
        None => Ok((list.entrypoint, origin)),
        Some(reason) => Err(Fault::DataFile { file: FILE, reason }),
    }
}

/// What is wrong with a list, if anything.
fn fault(entries: &[Entrypoint]) -> Option<String> {
    if entries.len() > MOST_ENTRIES {
        return Some(format!("it has more than {MOST_ENTRIES} entries"));
    }
    if !entries.iter().any(|entry| entry.required) {
        return Some(
            "no entry is required, so that the preflight would pass without having found any".to_owned(),
        );
    }
    let mut ids = HashSet::new();
    entries.iter().find_map(|entry| {
        let Entrypoint { id, assembly, type_name, method_name, .. } = entry;
        let sized = |text: &String| (1..=MOST_CHARS).contains(&text.chars().count());
        if ![id, assembly, type_name, method_name].into_iter().all(sized) {
            return Some(format!(
                "a text of the entry `{id}` is empty or has more than {MOST_CHARS} characters"
            ));
        }
        if !ids.insert(id) {
            return Some(format!("the id `{id}` is there twice"));
        }
        // Only the client's folder is looked at.
        let plain = !assembly.contains(['/', '\\', ':']) && !assembly.starts_with('.');
        (!plain).then(|| format!("the assembly of the entry `{id}` must be a file name without a folder"))
    })
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        [[entrypoint]]
        id = "one"
        assembly = "A.dll"
        type_name = "N.T"
        method_name = "M"
    "#;

    fn fault_of(list: &str) -> Option<String> {
        fault(&toml::from_str::<List>(list).unwrap().entrypoint)
    }

    #[test]
    fn the_built_in_list_is_the_published_entry_alone() {
        let (entries, origin) = load().unwrap();
        assert_eq!(origin, Origin::BuiltIn);
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, ["text_high_level_by_jid"]);
        assert!(entries[0].required);
    }

    #[test]
    fn an_entry_is_required_unless_it_says_otherwise() {
        assert_eq!(fault_of(GOOD), None);
        let optional = format!("{GOOD}\nrequired = false");
        assert!(fault_of(&optional).unwrap().contains("no entry is required"));
    }

    #[test]
    fn a_list_that_could_mislead_is_refused_with_the_reason() {
        for (list, reason) in [
            (format!("{GOOD}{GOOD}"), "there twice"),
            (GOOD.replace("A.dll", "../A.dll"), "without a folder"),
            (GOOD.replace("A.dll", "C:A.dll"), "without a folder"),
            (GOOD.replace("N.T", ""), "is empty"),
            (GOOD.replace("N.T", &"x".repeat(501)), "more than 500"),
        ] {
            assert!(fault_of(&list).unwrap().contains(reason), "{list}");
        }
        assert!(toml::from_str::<List>(&GOOD.replace("method_name", "methods")).is_err());
    }
}
