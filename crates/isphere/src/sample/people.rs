//! What people, departments and groups are called.

use super::draw::Draw;

/// A name and the pinyin that its account begins with.
pub(super) struct PersonName {
    /// As people write it.
    pub(super) display: String,
    /// Lower-case ASCII.
    pub(super) pinyin: String,
}

/// A name: mostly Chinese, sometimes not, sometimes with full-width letters as imported lists have them.
pub(super) fn person(draw: &mut Draw) -> PersonName {
    match draw.below(100) {
        0..3 => {
            let (display, pinyin) = draw.pick(&FOREIGN);
            PersonName { display: display.to_owned(), pinyin: pinyin.to_owned() }
        }
        3 => {
            let PersonName { display, pinyin } = chinese(draw);
            PersonName { display: format!("{display}（ＣＲＭ）"), pinyin }
        }
        _ => chinese(draw),
    }
}

/// The department of a team, as a path from the top of the tree.
pub(super) fn department(draw: &mut Draw) -> String {
    let (division, teams) = draw.pick(&DEPARTMENTS);
    if draw.once_in(12) { division.to_owned() } else { format!("{division}/{}", draw.pick(teams)) }
}

/// What a person is; most people have the first ones.
pub(super) fn title(draw: &mut Draw) -> &'static str {
    let number = draw.low_below(TITLES.len() as u64);
    TITLES[usize::try_from(number).expect("it is below a length")]
}

/// The name of a group, about a department or about a matter.
pub(super) fn group(draw: &mut Draw, department: &str, number: u64) -> String {
    let team = department.rsplit('/').next().unwrap_or(department);
    match draw.below(10) {
        0..4 => format!("{team}{}", draw.pick(&["工作群", "沟通群", "日报群", "内部群", "周会"])),
        4..8 => format!("{}{}", draw.pick(&MATTERS), draw.pick(&["项目组", "专项群", "推进群", "评审群"])),
        8 => format!("{}（{}）", draw.pick(&MATTERS), 2024 + number % 3),
        _ => draw.pick(&ODD_GROUPS).to_owned(),
    }
}

/// A matter that people talk about.
pub(super) fn matter(draw: &mut Draw) -> &'static str {
    draw.pick(&MATTERS)
}

fn chinese(draw: &mut Draw) -> PersonName {
    let number = if draw.once_in(8) {
        draw.below(SURNAMES.len() as u64)
    } else {
        draw.low_below(SURNAMES.len() as u64)
    };
    let (surname, pinyin) = SURNAMES[usize::try_from(number).expect("it is below a length")];
    let mut name = PersonName { display: surname.to_owned(), pinyin: pinyin.to_owned() };
    for _ in 0..=u64::from(!draw.once_in(3)) {
        let (character, pinyin) = draw.pick(&GIVEN);
        name.display.push_str(character);
        name.pinyin.push_str(pinyin);
    }
    name
}

/// The most frequent first. The last ones are read otherwise as a surname than elsewhere, or have two characters.
#[rustfmt::skip]
const SURNAMES: [(&str, &str); 88] = [
    ("王", "wang"), ("李", "li"), ("张", "zhang"), ("刘", "liu"), ("陈", "chen"), ("杨", "yang"), ("赵", "zhao"),
    ("黄", "huang"), ("周", "zhou"), ("吴", "wu"), ("徐", "xu"), ("孙", "sun"), ("胡", "hu"), ("朱", "zhu"),
    ("高", "gao"), ("林", "lin"), ("何", "he"), ("郭", "guo"), ("马", "ma"), ("罗", "luo"), ("梁", "liang"),
    ("宋", "song"), ("郑", "zheng"), ("谢", "xie"), ("韩", "han"), ("唐", "tang"), ("冯", "feng"), ("于", "yu"),
    ("董", "dong"), ("萧", "xiao"), ("程", "cheng"), ("曹", "cao"), ("袁", "yuan"), ("邓", "deng"), ("许", "xu"),
    ("傅", "fu"), ("沈", "shen"), ("曾", "zeng"), ("彭", "peng"), ("吕", "lv"), ("苏", "su"), ("卢", "lu"),
    ("蒋", "jiang"), ("蔡", "cai"), ("贾", "jia"), ("丁", "ding"), ("魏", "wei"), ("薛", "xue"), ("叶", "ye"),
    ("阎", "yan"), ("余", "yu"), ("潘", "pan"), ("杜", "du"), ("戴", "dai"), ("夏", "xia"), ("钟", "zhong"),
    ("汪", "wang"), ("田", "tian"), ("任", "ren"), ("姜", "jiang"), ("范", "fan"), ("方", "fang"), ("石", "shi"),
    ("姚", "yao"), ("谭", "tan"), ("廖", "liao"), ("邹", "zou"), ("熊", "xiong"), ("金", "jin"), ("陆", "lu"),
    ("郝", "hao"), ("孔", "kong"), ("白", "bai"), ("崔", "cui"), ("康", "kang"), ("毛", "mao"), ("邱", "qiu"),
    ("单", "shan"), ("仇", "qiu"), ("解", "xie"), ("查", "zha"), ("朴", "piao"), ("区", "ou"), ("盖", "ge"),
    ("欧阳", "ouyang"), ("上官", "shangguan"), ("尉迟", "yuchi"), ("司马", "sima"),
];

#[rustfmt::skip]
const GIVEN: [(&str, &str); 84] = [
    ("伟", "wei"), ("芳", "fang"), ("娜", "na"), ("敏", "min"), ("静", "jing"), ("丽", "li"), ("强", "qiang"),
    ("磊", "lei"), ("军", "jun"), ("洋", "yang"), ("勇", "yong"), ("艳", "yan"), ("杰", "jie"), ("娟", "juan"),
    ("涛", "tao"), ("明", "ming"), ("超", "chao"), ("秀", "xiu"), ("霞", "xia"), ("平", "ping"), ("刚", "gang"),
    ("桂", "gui"), ("英", "ying"), ("华", "hua"), ("慧", "hui"), ("建", "jian"), ("文", "wen"), ("辉", "hui"),
    ("玲", "ling"), ("红", "hong"), ("玉", "yu"), ("萍", "ping"), ("飞", "fei"), ("鹏", "peng"), ("浩", "hao"),
    ("宇", "yu"), ("晨", "chen"), ("佳", "jia"), ("雪", "xue"), ("倩", "qian"), ("婷", "ting"), ("博", "bo"),
    ("凯", "kai"), ("俊", "jun"), ("欣", "xin"), ("怡", "yi"), ("然", "ran"), ("子", "zi"), ("轩", "xuan"),
    ("梓", "zi"), ("涵", "han"), ("睿", "rui"), ("思", "si"), ("雨", "yu"), ("嘉", "jia"), ("诗", "shi"),
    ("乐", "le"), ("长", "chang"), ("行", "xing"), ("朝", "chao"), ("重", "chong"), ("庆", "qing"), ("国", "guo"),
    ("志", "zhi"), ("海", "hai"), ("云", "yun"), ("春", "chun"), ("燕", "yan"), ("东", "dong"), ("峰", "feng"),
    ("龙", "long"), ("晓", "xiao"), ("小", "xiao"), ("亚", "ya"), ("立", "li"), ("新", "xin"), ("永", "yong"),
    ("成", "cheng"), ("光", "guang"), ("天", "tian"), ("心", "xin"), ("悦", "yue"), ("琳", "lin"), ("瑶", "yao"),
];

const FOREIGN: [(&str, &str); 10] = [
    ("Anna Schmidt", "aschmidt"),
    ("David Chen", "davidchen"),
    ("Seán O'Brien", "sobrien"),
    ("María López", "mlopez"),
    ("John_Test 100%", "johntest"),
    ("Yuki Tanaka", "ytanaka"),
    ("Olga Petrova", "opetrova"),
    ("ＶＩＰ客服", "vipkefu"),
    ("Jürgen Groß", "jgross"),
    ("Amélie Dubois", "adubois"),
];

const DEPARTMENTS: [(&str, &[&str]); 11] = [
    ("销售部", &["华东区", "华南区", "华北区", "西南区", "大客户组", "渠道组"]),
    ("研发中心", &["平台组", "客户端组", "测试组", "算法组", "运维组", "架构组"]),
    ("重庆分公司", &["销售部", "综合部", "长寿办事处", "客服中心"]),
    ("财务部", &["会计组", "出纳组", "税务组", "预算组"]),
    ("人力资源部", &["招聘组", "薪酬组", "培训组"]),
    ("供应链", &["采购组", "仓储物流", "质量组", "计划组"]),
    ("酒店事业部", &["预订中心", "前厅部", "客房部", "餐饮部", "宴会销售"]),
    ("市场部", &["品牌组", "活动组", "内容组"]),
    ("法务合规", &["合同组", "知识产权组"]),
    ("行政部", &["前台", "车队", "资产组"]),
    ("总裁办", &["战略组", "秘书组"]),
];

const TITLES: [&str; 18] = [
    "专员",
    "工程师",
    "销售代表",
    "客服专员",
    "会计",
    "高级工程师",
    "主管",
    "经理",
    "采购员",
    "测试工程师",
    "产品经理",
    "设计师",
    "高级经理",
    "架构师",
    "法务顾问",
    "总监",
    "副总裁",
    "总经理助理",
];

const MATTERS: [&str; 26] = [
    "华东区三季度报价",
    "机房巡检",
    "年度预算",
    "合同续签",
    "新员工入职培训",
    "客户回访",
    "系统上线",
    "发票核对",
    "仓库盘点",
    "会议室预订",
    "供应商评审",
    "双十一活动",
    "安全演练",
    "数据迁移",
    "酒店团队订房",
    "差旅报销",
    "产品路线图",
    "季度复盘",
    "接口联调",
    "投诉处理",
    "重庆项目验收",
    "品牌升级",
    "办公室搬迁",
    "Phoenix 迁移",
    "ERP 升级",
    "Q3 launch",
];

const ODD_GROUPS: [&str; 8] = [
    "ＩＴ支持群",
    "🎉团建吃喝玩乐🍜",
    "100%质量_小组",
    "VPN & Wi-Fi 故障",
    "重庆火锅群",
    "单身联谊会",
    "Café ☕ Friday",
    "家属群「自愿」",
];
