//! The one gate: it decides what a caller sees and may call, by the same rules at list time and at call time, over
//! stdio and over HTTP, for tools and for their REST twins.

use std::{collections::HashMap, num::NonZeroU32, sync::Mutex};

use serde::Deserialize;
use thiserror::Error;

use crate::{
    credentials::Caller,
    tool::{Effect, Refusal, Tool},
};

/// The `[policy]` section.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// No write at all, whatever else is allowed.
    pub read_only: bool,
    /// The toolsets that are on; absent, all are.
    pub toolsets: Option<Vec<String>>,
    /// Tools that are off.
    pub disabled_tools: Vec<String>,
    /// How many calls a caller may make in a minute; absent, any number.
    pub per_minute: Option<NonZeroU32>,
    /// The conversations and people that may be seen and written to; empty, all may. An entry is `contact:ID`,
    /// `group:ID`, `conversation:ID`, or an id alone, which means any of the three. The gate knows no targets: a half
    /// that has conversations applies this itself.
    pub allow: Vec<String>,
    /// Those that may not, though `allow` names them; entries as there.
    pub deny: Vec<String>,
}

/// A policy that names what does not exist. A misspelt name would silently leave a tool on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PolicyError {
    /// `toolsets` names an unknown toolset.
    #[error("[policy] toolsets names `{name}`, but there is no such toolset; there are: {known}")]
    UnknownToolset {
        /// The name that is unknown.
        name: String,
        /// Those that are known.
        known: String,
    },
    /// `disabled_tools` names an unknown tool.
    #[error("[policy] disabled_tools names `{name}`, but there is no such tool; there are: {known}")]
    UnknownTool {
        /// The name that is unknown.
        name: String,
        /// Those that are known.
        known: String,
    },
}

impl Policy {
    /// Refuses a policy that names what is not among `known`, the pairs of toolset and tool of the whole product: one
    /// file serves all its halves, so a policy may name what only another half has.
    pub fn check(&self, known: &[(&str, &str)]) -> Result<(), PolicyError> {
        let toolsets = || known.iter().map(|(toolset, _)| *toolset);
        let tools = || known.iter().map(|(_, tool)| *tool);
        for name in self.toolsets.iter().flatten() {
            if !toolsets().any(|known| known == name) {
                return Err(PolicyError::UnknownToolset { name: name.clone(), known: listing(toolsets()) });
            }
        }
        for name in &self.disabled_tools {
            if !tools().any(|known| known == name) {
                return Err(PolicyError::UnknownTool { name: name.clone(), known: listing(tools()) });
            }
        }
        Ok(())
    }
}

/// Decides what may be listed and called.
#[derive(Debug)]
pub struct Gate {
    read_only: bool,
    /// Tools that are disabled or outside the chosen toolsets.
    closed: Vec<&'static str>,
    rate: Option<Rate>,
}

impl Gate {
    /// A gate for these tools. Whether the names in the policy exist is [`Policy::check`]'s to say.
    pub fn new<S>(policy: &Policy, tools: &[Tool<S>]) -> Self {
        let off = |tool: &&Tool<S>| {
            let chosen = policy.toolsets.as_ref().is_none_or(|on| on.iter().any(|name| name == tool.toolset));
            !chosen || policy.disabled_tools.iter().any(|name| name == tool.name)
        };
        Self {
            read_only: policy.read_only,
            closed: tools.iter().filter(off).map(|tool| tool.name).collect(),
            rate: policy.per_minute.map(Rate::new),
        }
    }

    /// Whether every write is refused, whoever asks.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Whether `caller` sees this tool.
    pub fn listed<S>(&self, tool: &Tool<S>, caller: &Caller) -> bool {
        self.standing(tool.name, tool.effect, tool.scope, caller).is_ok()
    }

    /// Whether `caller` may call this tool at `now_ms`; counts the call.
    pub fn admit<S>(&self, tool: &Tool<S>, caller: &Caller, now_ms: i64) -> Result<(), Refusal> {
        self.admit_name(tool.name, tool.effect, tool.scope, caller, now_ms)
    }

    /// The same for an operation that is no tool. The REST twin of a tool goes by the tool's name and so is
    /// switched off together with it.
    pub fn admit_name(
        &self,
        name: &str,
        effect: Effect,
        scope: &'static str,
        caller: &Caller,
        now_ms: i64,
    ) -> Result<(), Refusal> {
        self.standing(name, effect, scope, caller)?;
        // 4. How often. Last, so that a refused call costs its caller nothing.
        self.rate.as_ref().map_or(Ok(()), |rate| rate.count(&caller.name, now_ms))
    }

    /// The rules that do not depend on time, in their order.
    fn standing(
        &self,
        name: &str,
        effect: Effect,
        scope: &'static str,
        caller: &Caller,
    ) -> Result<(), Refusal> {
        // 1. What the credential may do at all.
        if !caller.may(scope) {
            return Err(Refusal::ScopeDenied { needs: scope });
        }
        // 2. What the operator switched off, by toolset or by name.
        if self.closed.contains(&name) {
            return Err(Refusal::Disabled);
        }
        // 3. The upper bound that no other setting lifts.
        if self.read_only && effect == Effect::Write {
            return Err(Refusal::ReadOnly);
        }
        Ok(())
    }
}

fn listing<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<_> = names.collect();
    names.dedup();
    names.join(", ")
}

const MINUTE_US: i64 = 60_000_000;

/// Above this many callers, those that are idle are forgotten.
const MANY_CALLERS: usize = 1024;

/// The generic cell rate algorithm: per caller one number, the time at which its bucket is empty again.
#[derive(Debug)]
struct Rate {
    per_call_us: i64,
    empty_at_us: Mutex<HashMap<String, i64>>,
}

impl Rate {
    fn new(per_minute: NonZeroU32) -> Self {
        Self { per_call_us: MINUTE_US / i64::from(per_minute.get()), empty_at_us: Mutex::default() }
    }

    fn count(&self, caller: &str, now_ms: i64) -> Result<(), Refusal> {
        let now = now_ms.saturating_mul(1000);
        let mut callers = self.empty_at_us.lock().expect("no holder of this lock panics");
        if callers.len() > MANY_CALLERS {
            callers.retain(|_, empty_at| *empty_at > now);
        }
        // A bucket is never fuller than a minute, unless the clock was put back.
        let known = callers.get(caller).copied().unwrap_or(now).min(now + MINUTE_US);
        let empty_at = known.max(now) + self.per_call_us;
        let excess = empty_at - now - MINUTE_US;
        if excess > 0 {
            callers.insert(caller.to_owned(), known);
            let retry_after_ms = u64::try_from(excess).unwrap_or(0).div_ceil(1000);
            return Err(Refusal::RateLimited { retry_after_ms });
        }
        callers.insert(caller.to_owned(), empty_at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use serde_json::json;

    use super::*;
    use crate::{
        credentials::Scope,
        tool::{Hints, Outcome},
    };

    const fn tool(
        name: &'static str,
        toolset: &'static str,
        scope: &'static str,
        effect: Effect,
    ) -> Tool<()> {
        Tool {
            name,
            title: name,
            description: name,
            toolset,
            scope,
            effect,
            hints: Hints { destructive: false, idempotent: true, open_world: false },
            input: |_| json!({}),
            output: |_| json!({}),
            run: |(), _| std::future::ready(Outcome::ok(&(), "")).boxed(),
        }
    }

    static TOOLS: [Tool<()>; 3] = [
        tool("find", "queries", "read", Effect::Read),
        tool("show", "queries", "read", Effect::Read),
        tool("submit", "writes", "submit", Effect::Write),
    ];

    fn gate(policy: &Policy) -> Gate {
        Gate::new(policy, &TOOLS)
    }

    fn listed(gate: &Gate, caller: &Caller) -> Vec<&'static str> {
        TOOLS.iter().filter(|tool| gate.listed(tool, caller)).map(|tool| tool.name).collect()
    }

    fn reader() -> Caller {
        Caller { name: "reader".into(), scopes: vec![Scope::new("read")] }
    }

    #[test]
    fn a_caller_sees_and_calls_what_its_scopes_cover() {
        let gate = gate(&Policy::default());
        assert_eq!(listed(&gate, &Caller::local()), ["find", "show", "submit"]);
        assert_eq!(listed(&gate, &reader()), ["find", "show"]);
        assert_eq!(gate.admit(&TOOLS[2], &reader(), 0), Err(Refusal::ScopeDenied { needs: "submit" }));
    }

    #[test]
    fn what_is_switched_off_is_hidden_and_refused() {
        let policy = Policy {
            toolsets: Some(vec!["queries".into()]),
            disabled_tools: vec!["show".into()],
            ..Policy::default()
        };
        let gate = gate(&policy);
        assert_eq!(listed(&gate, &Caller::local()), ["find"]);
        assert_eq!(gate.admit(&TOOLS[1], &Caller::local(), 0), Err(Refusal::Disabled));
        assert_eq!(gate.admit(&TOOLS[2], &Caller::local(), 0), Err(Refusal::Disabled));
    }

    #[test]
    fn read_only_is_an_upper_bound_for_tools_and_their_twins() {
        let policy = Policy {
            read_only: true,
            toolsets: Some(vec!["queries".into(), "writes".into()]),
            ..Policy::default()
        };
        let gate = gate(&policy);
        assert_eq!(listed(&gate, &Caller::local()), ["find", "show"]);
        assert_eq!(gate.admit(&TOOLS[2], &Caller::local(), 0), Err(Refusal::ReadOnly));
        let twin = gate.admit_name("ingest", Effect::Write, "ingest", &Caller::local(), 0);
        assert_eq!(twin, Err(Refusal::ReadOnly));
    }

    #[test]
    fn a_caller_gets_its_calls_a_minute_and_then_waits() {
        let gate = gate(&Policy { per_minute: NonZeroU32::new(2), ..Policy::default() });
        let call = |caller: &Caller, now_ms| gate.admit(&TOOLS[0], caller, now_ms);
        assert_eq!(call(&reader(), 0), Ok(()));
        assert_eq!(call(&reader(), 0), Ok(()));
        assert_eq!(call(&reader(), 1_000), Err(Refusal::RateLimited { retry_after_ms: 29_000 }));
        assert_eq!(call(&Caller::local(), 1_000), Ok(()), "another caller has calls of its own");
        assert_eq!(call(&reader(), 30_000), Ok(()));
    }

    #[test]
    fn a_clock_that_is_put_back_refuses_nobody_for_longer_than_a_minute() {
        let gate = gate(&Policy { per_minute: NonZeroU32::new(1), ..Policy::default() });
        let hour_ms = 3_600_000;
        assert_eq!(gate.admit(&TOOLS[0], &reader(), hour_ms), Ok(()));
        let refused = gate.admit(&TOOLS[0], &reader(), 0);
        assert_eq!(refused, Err(Refusal::RateLimited { retry_after_ms: 60_000 }));
        assert_eq!(gate.admit(&TOOLS[0], &reader(), 60_000), Ok(()));
    }

    #[test]
    fn a_policy_that_names_what_no_half_has_is_refused() {
        let known = [("queries", "find"), ("queries", "show"), ("writes", "submit"), ("mail", "send")];
        let misspelt = Policy { disabled_tools: vec!["submitt".into()], ..Policy::default() };
        let error = misspelt.check(&known).unwrap_err().to_string();
        assert!(error.contains("`submitt`") && error.contains("find, show, submit, send"), "{error}");
        let misspelt = Policy { toolsets: Some(vec!["query".into()]), ..Policy::default() };
        let error = misspelt.check(&known).unwrap_err().to_string();
        assert!(error.contains("queries, writes, mail"), "{error}");
    }

    #[test]
    fn a_policy_may_name_what_only_another_half_has() {
        let known = [("queries", "find"), ("mail", "send")];
        let policy = Policy {
            toolsets: Some(vec!["queries".into(), "mail".into()]),
            disabled_tools: vec!["send".into()],
            ..Policy::default()
        };
        assert_eq!(policy.check(&known), Ok(()));
        assert_eq!(listed(&gate(&policy), &Caller::local()), ["find", "show"]);
    }

    #[test]
    fn no_calls_at_all_is_not_a_rate() {
        assert!(toml::from_str::<Policy>("per_minute = 0").is_err());
        assert_eq!(toml::from_str::<Policy>("per_minute = 1").unwrap().per_minute, NonZeroU32::new(1));
    }
}
