//! What is configured, reachable and missing, for the person who sets the server up. Looking changes nothing: no
//! folder, key or trail is made.

mod policy;
mod store;
mod window;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use govern::clock::Clock;
use govern::credentials::file::FileTokens;
use govern::gate::Policy;
use govern::language::Language;
use govern::random::Random;
use serde::Serialize;

use crate::access::Access;
use crate::audit::key::StateKey;
use crate::helper::HelperClient;
use crate::model::SourceName;
use crate::sending::gate::GateStatus;
use crate::settings::Settings;
use crate::sources::choice::Sources;
use crate::sources::local::index;

pub use policy::out_of_reach;

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Ok,
    /// Not configured or not there; that may be meant.
    Missing,
    /// Configured and not working.
    Problem,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at: the key of the configuration where there is one.
    pub subject: String,
    /// How it stands.
    pub state: State,
    /// What was found and, unless it is as it should be, what to do.
    pub message: String,
}

/// Looks at everything that the `[isphere]` and `[policy]` sections name. Messages are in `language`. What is wrong with a
/// profile is told with its SQL, so they are for the operator only.
pub async fn examine(settings: &Settings, policy: &Policy, clock: &Clock) -> Vec<Finding> {
    let examiner = Examiner { settings, policy, language: settings.language };
    let mut findings = vec![examiner.state_dir(), examiner.key()];
    findings.extend(examiner.settings());
    findings.extend(examiner.sources(clock).await);
    findings.push(examiner.helper().await);
    findings.push(examiner.folder("inbound_dir", settings.inbound_dir.as_deref(), INBOUND));
    findings.push(examiner.folder("outbound_dir", settings.outbound_dir.as_deref(), OUTBOUND));
    findings.extend([examiner.operator(), examiner.tokens(), examiner.policy(), examiner.gate()]);
    findings
}

/// What a folder of files is good for, in Chinese and English.
type Purpose = (&'static str, &'static str);

const INBOUND: Purpose = ("下载只能预览", "downloads are only previewed");
const OUTBOUND: Purpose = ("不能预览或发送文件", "no file can be previewed or sent");

struct Examiner<'a> {
    settings: &'a Settings,
    policy: &'a Policy,
    language: Language,
}

impl Examiner<'_> {
    fn finding(&self, subject: &str, state: State, chinese: String, english: String) -> Finding {
        Finding { subject: subject.to_owned(), state, message: self.language.pick(chinese, english) }
    }

    fn state_dir(&self) -> Finding {
        const SUBJECT: &str = "[isphere] state_dir";
        let path = self.settings.state_dir.display();
        match fs::metadata(&self.settings.state_dir) {
            Ok(folder) if folder.is_dir() && !folder.permissions().readonly() => {
                self.finding(SUBJECT, State::Ok, format!("{path}"), format!("{path}"))
            }
            Ok(_) => self.finding(
                SUBJECT,
                State::Problem,
                format!("{path} 不是可写的文件夹；请改用别的文件夹，或修改权限"),
                format!(
                    "{path} is not a folder that can be written; name another one, or change its permissions"
                ),
            ),
            Err(_) => self.finding(
                SUBJECT,
                State::Missing,
                format!("{path} 还不存在；服务第一次启动时会创建"),
                format!("{path} is not there yet; the server makes it at its first start"),
            ),
        }
    }

    fn key(&self) -> Finding {
        const SUBJECT: &str = "audit.key";
        match StateKey::load(&StateKey::path(&self.settings.state_dir)) {
            Ok(Some(_)) => self.finding(
                SUBJECT,
                State::Ok,
                "密钥已存在；请把副本保存在别处".to_owned(),
                "the key is there; keep a copy of it elsewhere".to_owned(),
            ),
            Ok(None) => self.finding(
                SUBJECT,
                State::Missing,
                "密钥还不存在；服务第一次启动时会创建".to_owned(),
                "there is no key yet; the server makes it at its first start".to_owned(),
            ),
            Err(error) => {
                self.finding(SUBJECT, State::Problem, format!("密钥不能使用：{error}"), error.to_string())
            }
        }
    }

    fn settings(&self) -> Option<Finding> {
        let fault = self.settings.check().err()?;
        Some(self.finding("[isphere]", State::Problem, fault.chinese().to_owned(), fault.to_string()))
    }

    async fn sources(&self, clock: &Clock) -> Vec<Finding> {
        let helper = Arc::new(HelperClient::new(&self.settings.helper, Random::System));
        let sources = Sources::open(self.settings, &helper, clock);
        let mut findings = Vec::new();
        for name in &self.settings.sources {
            let subject = format!("[isphere] sources: {}", name.as_str());
            match name {
                SourceName::LocalReadonly => findings.extend(self.local_store(&subject, clock).await),
                SourceName::Mock => findings.push(self.finding(
                    &subject,
                    State::Missing,
                    "可以读取，但 mock 是生成的演示数据，不是真实的客户端".to_owned(),
                    "can be read, but mock is a generated organisation, not a real client".to_owned(),
                )),
                SourceName::Uia => findings.extend(self.window(&subject, &sources).await),
                SourceName::Bridge | SourceName::Network => {
                    findings.extend(sources.named(*name).await.err().map(|error| {
                        self.finding(
                            &subject,
                            State::Problem,
                            "这个来源在以后的版本提供；请配置 local_readonly（[isphere] sources 和 [isphere.local_readonly] store）"
                                .to_owned(),
                            error.to_string(),
                        )
                    }));
                }
            }
        }
        findings
    }

    fn index(&self) -> Finding {
        const SUBJECT: &str = "search index";
        let path = index::path(&self.settings.state_dir);
        if path.exists() {
            let shown = path.display();
            return self.finding(SUBJECT, State::Ok, format!("{shown}"), format!("{shown}"));
        }
        self.finding(
            SUBJECT,
            State::Missing,
            "还没有；每次搜索都会读取整个存储。执行 countersign isphere index".to_owned(),
            "none yet, so each search reads the whole store; run countersign isphere index".to_owned(),
        )
    }

    fn folder(&self, key: &str, path: Option<&Path>, purpose: Purpose) -> Finding {
        let subject = format!("[isphere] {key}");
        let without = self.language.pick(purpose.0, purpose.1);
        match path {
            None => self.finding(
                &subject,
                State::Missing,
                format!("未设置，所以{without}"),
                format!("not set, so {without}"),
            ),
            Some(path) if path.is_dir() => {
                self.finding(&subject, State::Ok, path.display().to_string(), path.display().to_string())
            }
            Some(path) => self.finding(
                &subject,
                State::Problem,
                format!("{} 不是文件夹；请创建它", path.display()),
                format!("{} is not a folder; make it", path.display()),
            ),
        }
    }

    fn operator(&self) -> Finding {
        const SUBJECT: &str = "[isphere] operator_id";
        match &self.settings.operator_id {
            Some(name) => self.finding(SUBJECT, State::Ok, name.clone(), name.clone()),
            None => self.finding(
                SUBJECT,
                State::Missing,
                "未设置；经 stdio 的调用在审计记录中记为 local".to_owned(),
                "not set; calls over stdio are recorded as local".to_owned(),
            ),
        }
    }

    fn tokens(&self) -> Finding {
        const SUBJECT: &str = "tokens";
        let live = FileTokens::open(self.settings.tokens_file())
            .and_then(|tokens| tokens.list())
            .map(|tokens| tokens.iter().filter(|token| token.revoked_at.is_none()).count());
        match live {
            Ok(0) => self.finding(
                SUBJECT,
                State::Missing,
                "没有令牌；经 HTTP 调用需要先执行 countersign isphere tokens add".to_owned(),
                "none; over HTTP a caller needs one: countersign isphere tokens add".to_owned(),
            ),
            Ok(count) => self.finding(SUBJECT, State::Ok, format!("{count} 个有效"), format!("{count} live")),
            Err(error) => {
                self.finding(SUBJECT, State::Problem, format!("令牌文件不能使用：{error}"), error.to_string())
            }
        }
    }

    fn policy(&self) -> Finding {
        const SUBJECT: &str = "[policy]";
        if let Err(error) = Access::new(self.policy) {
            return self.finding(SUBJECT, State::Problem, error.chinese(), error.to_string());
        }
        let Policy { read_only, allow, deny, per_minute, .. } = self.policy;
        let limit = |none: &str| per_minute.map_or_else(|| none.to_owned(), |calls| calls.to_string());
        self.finding(
            SUBJECT,
            State::Ok,
            format!(
                "read_only {read_only}，allow {} 条，deny {} 条，每分钟 {} 次",
                allow.len(),
                deny.len(),
                limit("不限")
            ),
            format!(
                "read_only {read_only}, entries in allow: {}, in deny: {}, calls a minute: {}",
                allow.len(),
                deny.len(),
                limit("no limit")
            ),
        )
    }

    fn gate(&self) -> Finding {
        let text = GateStatus::current().explanation(self.language);
        Finding { subject: "sending".to_owned(), state: State::Missing, message: text }
    }
}
