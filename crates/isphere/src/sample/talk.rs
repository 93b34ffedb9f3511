//! What people write: threads about one matter, mostly in Chinese, with the numbers, links and emoji of an office.

use std::fmt::Write;

use super::draw::Draw;

/// A line of a thread about `matter`; the first line opens it.
///
/// In a template, `{m}` is the matter, `{n}` a number, `{d}` a day, `{t}` a time, `{o}` an order number, `{u}` a link, `{e}` an emoji.
pub(super) fn line(draw: &mut Draw, matter: &str, first: bool) -> String {
    if draw.once_in(250) {
        return minutes(draw, matter);
    }
    let templates: &[&str] = if first {
        &OPENERS
    } else if draw.once_in(6) {
        &ENGLISH
    } else {
        &REPLIES
    };
    let template = draw.pick(templates);
    fill(draw, template, matter)
}

/// A notice of the client or of an office system.
pub(super) fn notice(draw: &mut Draw, matter: &str) -> String {
    let template = draw.pick(&NOTICES);
    fill(draw, template, matter)
}

/// A formatted message: a quote with an answer, a card with a link, a list.
pub(super) fn rich(draw: &mut Draw, matter: &str) -> String {
    let template = draw.pick(&RICH);
    fill(draw, template, matter)
}

/// The minutes of a meeting: a long text of many lines.
fn minutes(draw: &mut Draw, matter: &str) -> String {
    let mut text = fill(draw, "【会议纪要】{m} {d} {t}\n", matter);
    for number in 1..=8 + draw.below(24) {
        let template = draw.pick(&REPLIES);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{number}. {}", fill(draw, template, matter));
    }
    text
}

fn fill(draw: &mut Draw, template: &str, matter: &str) -> String {
    let mut text = String::with_capacity(template.len() + 32);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (slot, after) = after.split_once('}').unwrap_or((after, ""));
        text.push_str(before);
        // Writing to a String cannot fail.
        let _ = match slot {
            "m" => text.write_str(matter),
            "n" => write!(text, "{}", 1 + draw.low_below(100_000)),
            "d" => write!(text, "{}月{}日", 1 + draw.below(12), 1 + draw.below(28)),
            "t" => write!(text, "{}:{:02}", 8 + draw.below(11), 5 * draw.below(12)),
            "o" => {
                write!(text, "{}-{:08}", draw.pick(&["PO", "HT", "BX", "DD", "INV"]), draw.below(100_000_000))
            }
            "u" => write!(
                text,
                "https://wiki.example.com/{}/{}",
                draw.pick(&["p", "task", "doc"]),
                draw.below(1_000_000)
            ),
            _ => text.write_str(draw.pick(&EMOJI)),
        };
        rest = after;
    }
    text.push_str(rest);
    text
}

const OPENERS: [&str; 14] = [
    "大家好，{m}的事今天需要定下来{e}",
    "@所有人 {m}请在{d}{t}前反馈",
    "{m}进展如何了？客户在催",
    "关于{m}，我整理了一版，见 {u}",
    "早上好！{m}的数据出来了，一共{n}条",
    "请问{m}是谁在负责？",
    "{m}会议改到{d}{t}，三楼会议室",
    "麻烦确认一下订单{o}，和{m}有关",
    "紧急：{m}出了点问题，编号{o}",
    "Hi team, quick sync on {m} at {t}?",
    "{m}的合同{o}法务已经看过了",
    "下周出差，{m}请小李代跟",
    "通知：{m}预算调整为{n}元",
    "Please review the draft for {m}: {u}",
];

const REPLIES: [&str; 36] = [
    "收到{e}",
    "好的，我马上处理",
    "稍等，我查一下{o}",
    "已发邮件，请查收",
    "金额是{n}元，含税",
    "这个数字不对，应该是{n}",
    "我{t}有空，可以过来讨论",
    "同意",
    "谢谢！辛苦了{e}",
    "客户说{d}之前必须交付",
    "链接在这里：{u}",
    "我看不到附件，能重新发一下吗？",
    "测试环境已经部署好了，版本号{n}",
    "日志里有报错，我截图给你",
    "先按原方案执行，{d}再评估",
    "发票抬头发我一下，单号{o}",
    "酒店已经预订，确认号{o}，{d}入住",
    "快递单号{n}，大概明天到",
    "我建议分两步走：先上线，再优化",
    "领导批了，可以走流程",
    "电话没打通，下午再联系",
    "这边网络有点慢，稍后回复",
    "仓库还剩{n}件，够用",
    "报销单{o}被退回了，缺发票",
    "明天{t}开会，别忘了",
    "行",
    "OK",
    "哈哈哈{e}",
    "？？",
    "已更新到文档 {u}",
    "数量改成{n}，其他不变",
    "辛苦把{m}的清单再核对一遍",
    "重庆那边反馈说单价偏高",
    "曾总同意了，单子我来下",
    "长假之后再定也来得及",
    "收到，我转给财务的同事",
];

const ENGLISH: [&str; 14] = [
    "Sounds good {e}",
    "Could you share the latest numbers? I have {n} here.",
    "Done. Ticket {o} is closed.",
    "Let's discuss at {t}.",
    "The build failed again, see {u}",
    "Thanks!",
    "I'll be out of office on {d}.",
    "Invoice {o} is still open, amount {n}.",
    "Looks fine to me, ship it 🚀",
    "Which version is the customer running?",
    "Moved to next sprint.",
    "FYI {u}",
    "Can we get a refund for booking {o}?",
    "Naïve question: why not reuse the old café contract?",
];

const NOTICES: [&str; 10] = [
    "【审批】您有一条新的审批待处理：{m}，单号{o}",
    "【考勤】{d}缺卡，请在三日内补签",
    "【安全】您的账号在新设备登录，时间{d}{t}",
    "【公告】{m}相关制度已更新，详见 {u}",
    "【会议】{m}将于{t}开始",
    "【系统】客户端将于{d}升级到版本 6.{n}",
    "张伟 邀请 李娜 加入了群聊",
    "群主已将群名称修改为「{m}」",
    "【报销】单号{o}已打款，金额{n}元",
    "【IT】{d}{t}起网络维护，预计{n}分钟",
];

const RICH: [&str; 5] = [
    "「引用：{m}什么时候定？」\n- - - - - -\n{d}之前",
    "[卡片] {m}\n编号：{o}\n金额：{n}\n{u}",
    "**{m}**\n1. 确认数量{n}\n2. 回复客户\n3. 归档",
    "<b>{m}</b> 已完成 {n}/100000 {e}",
    "[投票] {m}放在哪天？ A.{d} B.{d}",
];

const EMOJI: [&str; 10] = ["👍", "🙏", "😂", "🎉", "✅", "👌", "😅", "👨‍👩‍👧", "🇨🇳", "❤️"];

#[cfg(test)]
mod tests {
    use super::{
        super::draw::{Draw, Kind},
        line, notice, rich,
    };

    #[test]
    fn every_slot_is_filled() {
        for number in 0..3_000 {
            let mut draw = Draw::new(1, Kind::Message, number);
            for text in [
                line(&mut draw, "年度预算", number % 8 == 0),
                notice(&mut draw, "年度预算"),
                rich(&mut draw, "年度预算"),
            ] {
                assert!(!text.is_empty() && !text.contains(['{', '}']), "{text}");
            }
        }
    }
}
