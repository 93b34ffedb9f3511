//! What is found about the Windows helper and the client's window, for their operator.

use govern::gate::Policy;
use govern::language::Language;
use govern::random::Random;

use super::{Examiner, Finding, State};
use crate::helper::{HelperClient, HelperError};
use crate::model::SourceName;
use crate::settings::Settings;
use crate::sources::choice::Sources;
use crate::sources::uia::profile::Profile;

/// That the lists of the policy must name what the window shows, where there are lists and the window is a source.
pub(super) fn policy_goes_by_names(
    settings: &Settings,
    policy: &Policy,
    language: Language,
) -> Option<Finding> {
    let listed = !policy.allow.is_empty() || !policy.deny.is_empty();
    (listed && settings.sources.contains(&SourceName::Uia)).then(|| Finding {
        subject: "[policy] allow, deny".to_owned(),
        state: State::Missing,
        message: language.pick(
            "窗口不提供 ID，uia 来源以显示的名称作为 ID；请把名称也写进去，而且不写类别（写 张三，不写 contact:张三），否则可能不起作用",
            "a window gives no ids, so the source uia knows people by the names that it shows; list these names too, and without a \
             kind (the name alone, not contact:NAME), or the lists may do nothing there",
        )
        .to_owned(),
    })
}

impl Examiner<'_> {
    /// Starts the helper twice: whether it runs, and what it reaches.
    pub(super) async fn helper(&self) -> Finding {
        const SUBJECT: &str = "[isphere.helper]";
        if self.settings.helper.program.is_none() {
            return self.finding(
                SUBJECT,
                State::Missing,
                "未设置 program，所以不读取任何窗口".to_owned(),
                "program is not set, so no window is looked at".to_owned(),
            );
        }
        let helper = HelperClient::new(&self.settings.helper, Random::System);
        let looked = async { Ok::<_, HelperError>((helper.version().await?, helper.self_check().await?)) };
        let (version, reach) = match looked.await {
            Ok((version, reach)) => (version.data, reach.data),
            Err(error) => {
                return self.finding(
                    SUBJECT,
                    State::Problem,
                    format!("不能使用：{}", error.told()),
                    error.told(),
                );
            }
        };
        let name = format!("{} {} ({})", version.helper_name, version.helper_version, version.runtime);
        match (reach.desktop_access, reach.uia_available) {
            (true, true) => self.finding(SUBJECT, State::Ok, name.clone(), name),
            (false, _) => self.finding(
                SUBJECT,
                State::Problem,
                format!("{name} 可以运行，但访问不到桌面；请在已登录用户的会话中启动本服务"),
                format!(
                    "{name} runs, but reaches no desktop; start this server in the session of the signed-in user"
                ),
            ),
            (true, false) => self.finding(
                SUBJECT,
                State::Problem,
                format!("{name} 可以运行，但 UI Automation 不可用；请检查 UIAutomationCore.dll"),
                format!("{name} runs, but UI Automation is not available; check UIAutomationCore.dll"),
            ),
        }
    }

    /// Whether the window can be read; what is wrong with its profile in full, which an agent is not told.
    pub(super) async fn window(&self, subject: &str, sources: &Sources) -> Vec<Finding> {
        let fault =
            |error: String| self.finding(subject, State::Problem, format!("不能读取：{error}"), error);
        let profile = self.settings.uia.profile.as_deref();
        let unusable = profile
            .and_then(|path| Profile::load(path).err().map(|error| format!("{}: {error}", path.display())));
        let found = match (unusable, sources.named(SourceName::Uia).await) {
            (Some(error), _) => fault(error),
            (None, Err(error)) => fault(error.to_string()),
            (None, Ok(_)) => {
                self.finding(subject, State::Ok, "可以读取".to_owned(), "can be read".to_owned())
            }
        };
        let note = policy_goes_by_names(self.settings, self.policy, self.language);
        [Some(found), note].into_iter().flatten().collect()
    }
}
