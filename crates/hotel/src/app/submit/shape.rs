//! What a submission may hold, as data: one description gives both the validation, which lists every
//! fault, and the JSON schema of `tools/list` (contract section 7.4; design: submit).

use serde_json::{Map, Value, json};

use crate::error::Fault;
use crate::faults::Faults;

/// The kind of a member's value. A null counts as absent where the kind is nullable.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A string.
    Text,
    /// A string or null.
    NullableText,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// An event's index: a positive integer, or a string that is not blank.
    Index,
    /// The same or null.
    NullableIndex,
    /// A positive integer or its decimal string.
    Number,
    /// A number from 0 to 1, or null.
    NullableConfidence,
    /// Any JSON value.
    Any,
    /// An object with any members, or null.
    NullableFree,
    /// An object with these members only.
    Object(&'static [Member]),
    /// The same or null.
    NullableObject(&'static [Member]),
    /// A list of at most so many values.
    List(&'static Kind, usize),
    /// The same or null.
    NullableList(&'static Kind, usize),
}

/// A member of an object.
#[derive(Debug)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// Whether the adapter refuses an object without it. A nullable member is never refused for being absent.
    pub required: bool,
    /// What its value is.
    pub kind: Kind,
    /// For the agent.
    pub description: &'static str,
}

const fn member(name: &'static str, required: bool, kind: Kind, description: &'static str) -> Member {
    Member { name, required, kind, description }
}

/// Most events in one submission.
pub const MAX_EVENTS: usize = 5_000;

const CASE_KEYS: &[Member] = &[
    member("group_code", false, Kind::NullableText, "Group / Allotment key；没有则为 null"),
    member("confirmation_number", false, Kind::NullableText, "FIT confirmation number；没有则为 null"),
    member("reservation_no", false, Kind::NullableText, "OPERA reservation no；没有则为 null"),
];
const PROPOSED_CHANGE: &[Member] = &[
    member("field", true, Kind::Text, "字段名，例如 arrival"),
    member("from", false, Kind::Any, "原值；未知为 null"),
    member("to", false, Kind::Any, "新值"),
];
const EVIDENCE: &[Member] = &[
    member("source_message_id", false, Kind::NullableText, "证据所在邮件；当前邮件可为 null"),
    member("quote", true, Kind::Text, "原文引用"),
];
const MANUAL_REVIEW: &[Member] = &[
    member("reason_code", false, Kind::NullableText, "复核原因码"),
    member("question", false, Kind::NullableText, "需要人工回答的问题"),
    member("candidates", false, Kind::NullableList(&Kind::Any, 200), "候选对象"),
];
const CASE_CANDIDATE: &[Member] = &[
    member("object_id", false, Kind::NullableText, "ORDER:{order_id}；没有则为 null"),
    member("case_keys", true, Kind::Object(CASE_KEYS), "候选的业务 key"),
    member("reason", false, Kind::NullableText, "为何是候选"),
];
const INTENT: &[Member] = &[
    member("intent", true, Kind::Text, "未覆盖的意图"),
    member("quote", false, Kind::NullableText, "原文引用"),
];
const EXTRACTION_WARNING: &[Member] = &[
    member("code", true, Kind::Text, "警告码"),
    member("message", true, Kind::Text, "警告说明"),
    member("field", false, Kind::NullableText, "相关字段"),
];
const ASSESSMENT: &[Member] = &[
    member("summary", true, Kind::Text, "判断摘要"),
    member("reason", false, Kind::NullableText, "判断理由"),
    member("confidence", false, Kind::NullableConfidence, "0 到 1"),
];
const NOTIFICATION: &[Member] =
    &[member("title", true, Kind::Text, "通知标题"), member("body", false, Kind::NullableText, "通知正文")];
const SOURCE_MESSAGE: &[Member] = &[
    member("source_message_id", true, Kind::Text, "对应 AgentBus source.external_message_id"),
    member("subject", true, Kind::NullableText, "邮件主题"),
    member("from", true, Kind::NullableText, "发件人"),
    member("cc", true, Kind::List(&Kind::Text, 1_000), "抄送"),
    member("received_at", true, Kind::NullableText, "接收时间"),
    member("source_channel", true, Kind::OneOf(&["Email"]), "来源渠道"),
];
const EVENT: &[Member] = &[
    member("source_event_index", true, Kind::Index, "Agent 内部事件 ID，例如 E1；系统按数组顺序重新编号"),
    member("event_type", false, Kind::NullableText, "事件类型，例如 BOOKING_NEW_FIT"),
    member("current_or_history", false, Kind::NullableText, "current 或 history，默认 current"),
    member("object_type", false, Kind::NullableText, "FIT 或 GROUP"),
    member("case_keys", false, Kind::NullableObject(CASE_KEYS), "业务 key，三项都要给出，没有的为 null"),
    member(
        "proposed_changes",
        false,
        Kind::NullableList(&Kind::Object(PROPOSED_CHANGE), 500),
        "建议的字段变化",
    ),
    member("evidence", false, Kind::NullableList(&Kind::Object(EVIDENCE), 200), "原文证据"),
    member("manual_review", false, Kind::NullableObject(MANUAL_REVIEW), "需要人工复核时给出，三项都要给出"),
    member("parent_source_event_index", false, Kind::NullableIndex, "父事件"),
    member("related_source_event_index", false, Kind::NullableIndex, "相关事件"),
    member(
        "related_source_event_indices",
        false,
        Kind::NullableList(&Kind::Index, MAX_EVENTS),
        "相关事件列表",
    ),
    member("summary", false, Kind::NullableText, "给人看的摘要"),
    member("details", false, Kind::NullableFree, "其他信息，原样保存"),
];
const TASK_RESULT: &[Member] = &[
    member("source_event_index", true, Kind::Number, "一基事件索引，原样保留"),
    member("catalog_code", true, Kind::Text, "目录编码，例如 C01"),
    member("skill_id", true, Kind::Text, "产生该结果的技能"),
    member(
        "result_type",
        true,
        Kind::OneOf(&["normal_task", "manual_review", "informational_message"]),
        "结果类型",
    ),
    member("task_type", true, Kind::Text, "任务类型，例如 CREATE_RESERVATION"),
    member("case_keys", false, Kind::NullableObject(CASE_KEYS), "业务 key"),
    member(
        "proposed_changes",
        false,
        Kind::NullableList(&Kind::Object(PROPOSED_CHANGE), 500),
        "建议的字段变化",
    ),
    member("evidence", false, Kind::NullableList(&Kind::Object(EVIDENCE), 200), "原文证据"),
    member("manual_review", false, Kind::NullableObject(MANUAL_REVIEW), "人工复核"),
    member("current_or_history", false, Kind::NullableText, "current 或 history，默认 current"),
    member("details", false, Kind::NullableFree, "其他信息，原样保存"),
];

const HOTEL_ID: Member =
    member("hotel_id", false, Kind::NullableText, "可选酒店上下文 ID；默认由 TH Hotel 后端解析");
const PROVIDER: Member = member("source_provider", false, Kind::NullableText, "兼容字段；写入定位不使用");
const CHANNEL: Member = member("source_channel", false, Kind::NullableText, "兼容字段；写入定位不使用");
const WARNINGS: Member = member(
    "extraction_warnings",
    false,
    Kind::NullableList(&Kind::Object(EXTRACTION_WARNING), 1_000),
    "AI 抽取警告；缺省按空数组处理",
);
// Its absence passes: the service words it (contract section 7.4).
const SOURCE: Member =
    member("source_message", false, Kind::NullableObject(SOURCE_MESSAGE), "V3 来源邮件元数据");

/// V3 root: source_message + message_events.
pub const V3: &[Member] = &[
    HOTEL_ID,
    PROVIDER,
    CHANNEL,
    SOURCE,
    member(
        "message_events",
        true,
        Kind::List(&Kind::Object(EVENT), MAX_EVENTS),
        "V3 业务事件数组，按数组顺序编号",
    ),
    member(
        "case_candidates",
        true,
        Kind::List(&Kind::Object(CASE_CANDIDATE), 1_000),
        "订单候选；无候选传空数组",
    ),
    member(
        "unhandled_current_intents",
        true,
        Kind::List(&Kind::Object(INTENT), 1_000),
        "未覆盖的当前意图；无则空数组",
    ),
    WARNINGS,
];

/// V3 S10 / S99: source_message + route_code.
pub const ROUTE: &[Member] = &[
    HOTEL_ID,
    PROVIDER,
    CHANNEL,
    SOURCE,
    member("route_code", true, Kind::OneOf(&["S10", "S99"]), "V3 S10/S99 入口通知路由码"),
    member("handler_type", true, Kind::NullableText, "V3 Main Agent 输出处理器类型"),
    member("result_type", true, Kind::NullableText, "入口通知的结果类型"),
    member("current_or_history", true, Kind::NullableText, "current 或 history"),
    member("agent_assessment", true, Kind::Object(ASSESSMENT), "V3 S10/S99 入口判断摘要"),
    member("notification", true, Kind::Object(NOTIFICATION), "V3 S10/S99 通知展示信息"),
    member("manual_review", false, Kind::NullableObject(MANUAL_REVIEW), "S10 可为空，S99 必须完整"),
    WARNINGS,
];

/// V2: source_message_id + ai_task_results.
pub const V2: &[Member] = &[
    HOTEL_ID,
    PROVIDER,
    CHANNEL,
    member("source_message_id", false, Kind::NullableText, "外部来源消息 ID"),
    member("ai_task_results", true, Kind::List(&Kind::Object(TASK_RESULT), MAX_EVENTS), "任务结果，顺序保留"),
    WARNINGS,
];

/// Adds to `faults` whatever `value` has against an object of these members.
pub fn check_object(value: &Value, members: &[Member], path: &str, faults: &mut Faults) {
    let Value::Object(object) = value else {
        return faults.push(wrong_type(path, "an object", value));
    };
    for name in object.keys().filter(|name| members.iter().all(|member| member.name != **name)) {
        // A kind of object is known by its first member here; no submission holds two kinds with the same one.
        let known = if faults.is_first(members[0].name) { known(members) } else { String::new() };
        faults.push(Fault {
            path: format!("{path}.{name}"),
            code: "UNKNOWN_FIELD",
            expected: format!("no such field{known}"),
        });
    }
    for member in members {
        let path = format!("{path}.{}", member.name);
        match object.get(member.name) {
            Some(value) => check(value, member.kind, &path, faults),
            None if member.required && !member.kind.nullable() => faults.push(Fault {
                path,
                code: "MISSING_FIELD",
                expected: format!("{}, which is required", member.kind.words()),
            }),
            None => {}
        }
    }
}

fn known(members: &[Member]) -> String {
    let names: Vec<&str> = members.iter().map(|member| member.name).collect();
    format!("; known: {}", names.join(", "))
}

fn check(value: &Value, kind: Kind, path: &str, faults: &mut Faults) {
    if value.is_null() && kind.nullable() {
        return;
    }
    match kind {
        Kind::Any => {}
        Kind::Object(members) | Kind::NullableObject(members) => check_object(value, members, path, faults),
        Kind::List(item, most) | Kind::NullableList(item, most) => match value {
            Value::Array(items) if items.len() > most => faults.push(Fault {
                path: path.to_owned(),
                code: "TOO_MANY",
                expected: format!("at most {most} items, got {}", items.len()),
            }),
            Value::Array(items) => {
                for (position, value) in items.iter().enumerate() {
                    check(value, *item, &format!("{path}[{position}]"), faults);
                }
            }
            other => faults.push(wrong_type(path, kind.words(), other)),
        },
        _ if kind.admits(value) => {}
        Kind::OneOf(words) if value.is_string() => faults.push(Fault {
            path: path.to_owned(),
            code: "UNKNOWN_VALUE",
            expected: format!("one of {}, got {value}", words.join(", ")),
        }),
        Kind::Index | Kind::NullableIndex | Kind::Number if value.is_string() || value.is_number() => {
            faults.push(Fault {
                path: path.to_owned(),
                code: "INVALID_VALUE",
                expected: format!("{}, got {value}", kind.words()),
            });
        }
        _ => faults.push(wrong_type(path, kind.words(), value)),
    }
}

impl Kind {
    fn nullable(self) -> bool {
        matches!(
            self,
            Self::NullableText
                | Self::NullableIndex
                | Self::NullableConfidence
                | Self::NullableFree
                | Self::NullableObject(_)
                | Self::NullableList(..)
                | Self::Any
        )
    }

    /// Whether a value that is neither an object with known members nor a list is of this kind.
    fn admits(self, value: &Value) -> bool {
        match self {
            Self::Text | Self::NullableText => value.is_string(),
            Self::OneOf(words) => value.as_str().is_some_and(|text| words.contains(&text)),
            Self::Index | Self::NullableIndex => {
                positive(value).is_some() || value.as_str().is_some_and(|text| !text.trim().is_empty())
            }
            Self::Number => {
                positive(value).is_some() || value.as_str().is_some_and(|text| decimal(text).is_some())
            }
            Self::NullableConfidence => value.as_f64().is_some_and(|number| (0.0..=1.0).contains(&number)),
            Self::NullableFree => value.is_object(),
            _ => false,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::NullableText => "a string or null",
            Self::OneOf(_) => "one of the listed strings",
            Self::Index => "a non-empty string or a positive integer",
            Self::NullableIndex => "a non-empty string, a positive integer or null",
            Self::Number => "a positive integer or its decimal string",
            Self::NullableConfidence => "a number from 0 to 1, or null",
            Self::Any => "any value",
            Self::Object(_) => "an object",
            Self::NullableFree | Self::NullableObject(_) => "an object or null",
            Self::List(..) => "an array",
            Self::NullableList(..) => "an array or null",
        }
    }

    /// In the portable profile: no null types, an index is a string.
    fn schema(self) -> Value {
        match self {
            Self::Text | Self::NullableText | Self::Index | Self::NullableIndex | Self::Number => {
                json!({"type": "string"})
            }
            Self::OneOf(words) => json!({"type": "string", "enum": words}),
            Self::NullableConfidence => json!({"type": "number", "minimum": 0, "maximum": 1}),
            Self::Any => json!({}),
            Self::NullableFree => json!({"type": "object", "additionalProperties": true}),
            Self::Object(members) | Self::NullableObject(members) => object_schema(members),
            Self::List(item, most) | Self::NullableList(item, most) => {
                json!({"type": "array", "maxItems": most, "items": item.schema()})
            }
        }
    }
}

/// The portable schema of the arguments: all members of the three shapes, none required, because a root
/// `oneOf` is what model APIs refuse.
pub fn portable_schema() -> Value {
    let mut all = properties(V3);
    for (name, schema) in properties(ROUTE).into_iter().chain(properties(V2)) {
        all.entry(name).or_insert(schema);
    }
    json!({"type": "object", "additionalProperties": false, "properties": all, "required": []})
}

/// The schema of a closed object of these members.
pub fn object_schema(members: &[Member]) -> Value {
    let required: Vec<&str> = members
        .iter()
        .filter(|member| member.required && !member.kind.nullable())
        .map(|member| member.name)
        .collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties(members),
        "required": required,
    })
}

fn properties(members: &[Member]) -> Map<String, Value> {
    let property = |member: &Member| {
        let mut schema = member.kind.schema();
        if let Value::Object(schema) = &mut schema {
            schema.insert("description".into(), member.description.into());
        }
        (member.name.to_owned(), schema)
    };
    members.iter().map(property).collect()
}

/// The positive integer that a JSON number is.
pub fn positive(value: &Value) -> Option<u64> {
    value.as_u64().filter(|number| *number > 0)
}

/// The positive integer whose decimal form a text is.
pub fn decimal(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number > 0 && number.to_string() == text).then_some(number)
}

fn wrong_type(path: &str, expected: &str, value: &Value) -> Fault {
    let (got, hint) = match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("a boolean", ""),
        Value::Number(_) => ("a number", ""),
        Value::String(text) if text.trim_start().starts_with(['[', '{']) => {
            ("a string", "; it looks like JSON in a string: send the value itself")
        }
        Value::String(_) => ("a string", ""),
        Value::Array(_) => ("an array", ""),
        Value::Object(_) => ("an object", ""),
    };
    Fault { path: path.to_owned(), code: "WRONG_TYPE", expected: format!("{expected}, got {got}{hint}") }
}
