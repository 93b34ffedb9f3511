//! `countersign isphere doctor`

use clap::Args;
use govern::{clock::Clock, http::session_end_signal, language::Language};
use isphere::doctor::{Finding, State, examine};

use crate::{
    commands::CommandError,
    config::{Config, IsphereFlags, language},
    print,
};

/// Explain what is configured, reachable and missing; exits 1 when something configured does not work
///
/// Looking changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign isphere doctor --language en")]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(super) flags: IsphereFlags,
    /// zh-CN or en [default: that of the configuration]
    #[arg(long, value_parser = language)]
    language: Option<Language>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(crate) async fn run(self, config: &Config) -> Result<(), CommandError> {
        let mut settings = config.isphere.clone();
        settings.language = self.language.unwrap_or(settings.language);
        let end = session_end_signal();
        let findings = tokio::select! {
            findings = examine(&settings, &config.policy, &Clock::System) => findings,
            () = end => return Err(CommandError::BrokenOff),
        };
        if self.json {
            print::json(&findings)?;
        } else {
            print::fields(
                &findings.iter().map(|finding| line(finding, settings.language)).collect::<Vec<_>>(),
            )?;
        }
        let problems = findings.iter().filter(|finding| finding.state == State::Problem).count();
        if problems == 0 { Ok(()) } else { Err(CommandError::Doctor(problems)) }
    }
}

fn line(finding: &Finding, language: Language) -> (&str, print::Field) {
    let word = match finding.state {
        State::Ok => language.pick("正常", "ok"),
        State::Missing => language.pick("提示", "note"),
        State::Problem => language.pick("问题", "PROBLEM"),
    };
    (&finding.subject, print::Field::Line(format!("{word}: {}", finding.message)))
}
