//! The gate of production: closed for a connector until three pieces of evidence are there.

use govern::language::Language;
use serde::Serialize;

/// A piece of evidence that production needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The connector was probed: it can send, and can confirm what it sent.
    Observation,
    /// Idempotent replay, recovery after a crash and the audit chain were exercised against this state folder.
    Verification,
    /// One send to a sandbox target was seen back and approved by a named operator.
    SandboxSend,
}

/// Whether a connector may send, and what it lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateStatus {
    /// The connector that would send.
    pub connector: &'static str,
    /// What is missing, in the order in which it is collected; production is open when nothing is.
    pub missing: Vec<Evidence>,
}

/// The connector that a server names when none is configured (contract: isphere_send_message).
pub const DEFAULT_CONNECTOR: &str = "implatform-sidecar";

impl Evidence {
    /// All of them, in the order in which they are collected.
    pub const ALL: [Self; 3] = [Self::Observation, Self::Verification, Self::SandboxSend];

    /// `observation`, `verification` or `sandbox_send`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Observation => "observation",
            Self::Verification => "verification",
            Self::SandboxSend => "sandbox_send",
        }
    }

    /// What it shows.
    pub fn meaning(self, language: Language) -> &'static str {
        match self {
            Self::Observation => language.pick(
                "已探测连接器，确认它能发送并能核实已发送的内容",
                "the connector was probed and can send and confirm",
            ),
            Self::Verification => language.pick(
                "已在此状态目录上演练幂等重放、崩溃恢复和审计链",
                "idempotent replay, crash recovery and the audit chain were exercised on this state folder",
            ),
            Self::SandboxSend => language.pick(
                "已向沙箱目标发送一次并读回，由具名操作员批准",
                "one send to a sandbox target was seen back and approved by a named operator",
            ),
        }
    }
}

impl GateStatus {
    /// The gate of this release, which has no connector and so no way to collect evidence: all of it is missing.
    pub fn current() -> Self {
        Self { connector: DEFAULT_CONNECTOR, missing: Evidence::ALL.to_vec() }
    }

    /// Why production is closed and what to do instead.
    pub fn explanation(&self, language: Language) -> String {
        let missing: Vec<String> = self
            .missing
            .iter()
            .map(|evidence| format!("{} ({})", evidence.as_str(), evidence.meaning(language)))
            .collect();
        let (connector, missing) = (self.connector, missing.join("; "));
        language.pick(
            format!(
                "正式发送未开放：连接器 {connector} 缺少证据 {missing}。本版本尚无收集证据的命令，它们随连接器一起提供；在此之前请使用 \
                 execution_mode \"preview\"，由人发送。"
            ),
            format!(
                "production sending is closed: the connector {connector} lacks the evidence {missing}. This release has \
                 no command that collects it; that comes with the connectors. Until then use execution_mode \"preview\" \
                 and let a person send."
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_gate_names_the_connector_and_all_that_is_missing() {
        for language in [Language::Chinese, Language::English] {
            let text = GateStatus::current().explanation(language);
            for word in ["implatform-sidecar", "observation", "verification", "sandbox_send", "preview"] {
                assert!(text.contains(word), "{word} in {text}");
            }
        }
    }
}
