//! Whether the lists of the policy reach the conversations of the local store. A list that is silently without effect is
//! worse than none.

use govern::clock::Clock;
use govern::gate::Policy;
use govern::language::Language;

use super::window::policy_goes_by_names;
use super::{Finding, State};
use crate::access::Access;
use crate::model::SourceName;
use crate::settings::Settings;
use crate::sources::local::profile::Table;
use crate::sources::local::survey::{self, Conversations, LOOK_MS, Owned};
use crate::sources::local::{Store, open_configured};

const SUBJECT: &str = "[policy] allow, deny";
/// The most entries that one message lists.
const MOST_SHOWN: usize = 10;

/// What the lists of the policy do not reach in the configured local store, as far as it can be read, and in the client's
/// window.
pub async fn out_of_reach(settings: &Settings, policy: &Policy, clock: &Clock) -> Vec<Finding> {
    let named = settings.sources.contains(&SourceName::LocalReadonly);
    let mut findings = match (Access::new(policy), open_configured(&settings.local_readonly)) {
        (Ok(access), Ok(store)) if named => of_store(&store, &access, clock, settings.language).await,
        _ => Vec::new(),
    };
    findings.extend(policy_goes_by_names(settings, policy, settings.language));
    findings
}

/// The same for a store that is open.
pub(super) async fn of_store(
    store: &Store,
    access: &Access,
    clock: &Clock,
    language: Language,
) -> Vec<Finding> {
    let finding = |state, chinese: String, english: String| Finding {
        subject: SUBJECT.to_owned(),
        state,
        message: language.pick(chinese, english),
    };
    if access.is_open() {
        return Vec::new();
    }
    if store.profile().section(Table::Conversations).is_none() {
        return vec![finding(
            State::Problem,
            "profile 没有 [conversations]，所以有 allow 或 deny 时，所有消息和文件都被隐藏；请补上这一部分".to_owned(),
            "the profile has no [conversations], so with allow or deny all messages and files are hidden; add the section"
                .to_owned(),
        )];
    }
    if !access.names_people() && !access.names_groups() {
        return Vec::new();
    }
    match survey::conversations(store, clock).await {
        Ok(Some(seen)) => {
            let faults = faults(&seen, access);
            faults.into_iter().map(|(chinese, english)| finding(State::Problem, chinese, english)).collect()
        }
        Ok(None) => vec![finding(
            State::Missing,
            format!("{} 毫秒内没能查明这些列表对会话是否有效；请在存储空闲时重试", 2 * LOOK_MS),
            format!(
                "whether they reach the conversations was not known within {} ms; look again when the store is idle",
                2 * LOOK_MS
            ),
        )],
        Err(error) => {
            vec![finding(State::Problem, error.message(Language::Chinese), error.message(Language::English))]
        }
    }
}

/// Which entries name nobody whom the store has. That may be meant, for somebody who left or is still to come.
pub(super) async fn unknown(
    store: &Store,
    policy: &Policy,
    clock: &Clock,
    language: Language,
) -> Option<Finding> {
    let entries: Vec<String> = policy.allow.iter().chain(&policy.deny).cloned().collect();
    let message = match survey::unknown(store, entries, clock).await {
        Ok(Some(unknown)) if unknown.is_empty() => return None,
        Ok(Some(unknown)) => {
            let (shown, all) = (unknown.iter().take(MOST_SHOWN), unknown.len());
            let shown = shown.map(String::as_str).collect::<Vec<_>>().join(", ");
            language.pick(
                format!("存储中没有 {all} 个条目所指的人、群或会话：{shown}；请核对 ID"),
                format!("the store has no person, group or conversation for {all} of the entries: {shown}; check the ids"),
            )
        }
        Ok(None) => language.pick(
            format!("{} 毫秒内没能查明存储中有没有条目所指的 ID；请在存储空闲时重试", 2 * LOOK_MS),
            format!(
                "whether the store has the ids of the entries was not known within {} ms; look again when it is idle",
                2 * LOOK_MS
            ),
        ),
        // What is wrong with the profile was told with its rows.
        Err(_) => return None,
    };
    Some(Finding { subject: SUBJECT.to_owned(), state: State::Missing, message })
}

/// Each fault in Chinese and English.
fn faults(seen: &Conversations, access: &Access) -> Vec<(String, String)> {
    let Conversations { direct, group, mistyped } = *seen;
    let mut faults = Vec::new();
    if access.names_people() && direct.out_of_reach() > 0 {
        faults.push(told(direct, ("人", "单聊"), ("people", "direct conversations")));
    }
    if access.names_groups() && group.out_of_reach() > 0 {
        faults.push(told(group, ("群", "群聊"), ("groups", "conversations of groups")));
    }
    // Without types a group's conversation is a direct one with nobody.
    if access.names_groups() && group.all() == 0 && direct.out_of_reach() > 0 {
        faults.push(told(
            direct,
            ("群", "会话"),
            ("groups", "conversations, none of which counts as a group's"),
        ));
    }
    if mistyped > 0 {
        faults.push((
            format!(
                "针对人或群的条目对 {mistyped} 个会话不起作用：它们是群聊却算作单聊，或者相反；请让 [conversations] 给出正确的 `type` 和 `types`"
            ),
            format!(
                "entries for people and groups do not reach conversations that count as direct though they are a group's, or the \
                 other way round ({mistyped} of those that were looked at); let [conversations] yield the right `type`, with `types`"
            ),
        ));
    }
    faults
}

fn told(owned: Owned, chinese: (&str, &str), english: (&str, &str)) -> (String, String) {
    let (missed, all) = (owned.out_of_reach(), owned.all());
    (
        format!(
            "针对{}的条目对 {missed} 个（共查看 {all} 个）{}不起作用，deny 挡不住其中的消息：[conversations] 没有说明它们是谁的；\
             请给出 `peer`（联系人或群的 ID），或改用 conversation:ID 列出这些会话",
            chinese.0, chinese.1
        ),
        format!(
            "entries for {} do not reach {missed} of the {all} {} that were looked at, so deny does not hide their messages: \
             [conversations] does not say whose they are; let it yield `peer` (the id of the contact or group), or list these \
             conversations as conversation:ID",
            english.0, english.1
        ),
    )
}
