//! What matches a search, how well, and how sure an agent may be.

use std::borrow::Cow;

use super::fold::{fold, fold_field};
use super::pinyin::{self, Reach, Spelling, Syllables};

/// How a query matches, the best first. An item has the best class that holds.
///
/// | class | confidence |
/// |---|---|
/// | the whole name | 1.00 |
/// | the whole account, or the whole id | 1.00 |
/// | the name's whole pinyin, by any reading | 0.95 |
/// | the name's whole initials | 0.90 |
/// | beginning of the name | 0.85 |
/// | beginning of the account | 0.80 |
/// | beginning of the name's pinyin | 0.75 |
/// | beginning of the name's initials | 0.70 |
/// | within the name | 0.65 |
/// | within the account | 0.60 |
/// | the name's pinyin from a later syllable on | 0.55 |
/// | the whole department | 0.50 |
/// | beginning of the department | 0.45 |
/// | within the department | 0.40 |
/// | the whole title | 0.35 |
/// | beginning of the title | 0.30 |
/// | within the title | 0.25 |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// The whole name.
    Name,
    /// The whole account or the whole id.
    Account,
    /// The name's whole pinyin.
    Pinyin,
    /// The name's whole initials.
    Initials,
    /// The beginning of the name.
    NamePrefix,
    /// The beginning of the account.
    AccountPrefix,
    /// The beginning of the name's pinyin.
    PinyinPrefix,
    /// The beginning of the name's initials.
    InitialsPrefix,
    /// Within the name.
    NamePart,
    /// Within the account.
    AccountPart,
    /// The name's pinyin from a later syllable on.
    PinyinPart,
    /// The whole department.
    Department,
    /// The beginning of the department.
    DepartmentPrefix,
    /// Within the department.
    DepartmentPart,
    /// The whole title.
    Title,
    /// The beginning of the title.
    TitlePrefix,
    /// Within the title.
    TitlePart,
}

impl Class {
    /// All of them, the best first.
    pub const ALL: [Self; 17] = [
        Self::Name,
        Self::Account,
        Self::Pinyin,
        Self::Initials,
        Self::NamePrefix,
        Self::AccountPrefix,
        Self::PinyinPrefix,
        Self::InitialsPrefix,
        Self::NamePart,
        Self::AccountPart,
        Self::PinyinPart,
        Self::Department,
        Self::DepartmentPrefix,
        Self::DepartmentPart,
        Self::Title,
        Self::TitlePrefix,
        Self::TitlePart,
    ];

    /// How sure a match of this class is, 0 to 1.
    pub fn confidence(self) -> f64 {
        const CONFIDENCES: [f64; Class::ALL.len()] =
            [1.0, 1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25];
        CONFIDENCES[self as usize]
    }
}

/// What is known of an item that may match.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fields<'a> {
    /// The source's own id; matches as a whole only.
    pub id: &'a str,
    /// The name people see.
    pub name: &'a str,
    /// The account.
    pub account: Option<&'a str>,
    /// The department.
    pub department: Option<&'a str>,
    /// The title.
    pub title: Option<&'a str>,
}

/// How an item matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    /// The number of its [`Class`]; smaller is better.
    pub class: u8,
    /// See [`Class`].
    pub confidence: f64,
}

/// What someone searches for.
#[derive(Clone, Debug)]
pub struct Query {
    folded: String,
    typed: Option<String>,
}

impl Query {
    /// A query. Spaces around it do not count; a blank one matches nothing.
    pub fn new(query: &str) -> Self {
        let folded = fold(query).trim().to_owned();
        let typed = pinyin::typed(&folded);
        Self { folded, typed }
    }

    /// The query as it is compared.
    pub fn folded(&self) -> &str {
        &self.folded
    }

    /// The query as pinyin, when it can be (see [`pinyin::typed`]).
    pub fn typed(&self) -> Option<&str> {
        self.typed.as_deref()
    }

    /// How the item matches, by the best class that holds; none when it does not.
    pub fn rank(&self, fields: &Fields<'_>) -> Option<Match> {
        let class = self.class(fields)?;
        Some(Match { class: class as u8, confidence: class.confidence() })
    }

    fn class(&self, fields: &Fields<'_>) -> Option<Class> {
        if self.folded.is_empty() {
            return None;
        }
        let name = fold_field(fields.name);
        let account = self.place(fields.account);
        let in_name = place(&name, &self.folded);
        let whole_id = fold(fields.id) == self.folded;
        let pinyin = self.typed().and_then(|typed| Some((Syllables::of(&name)?, typed)));
        let spelt = |spelling, reach| {
            pinyin.as_ref().is_some_and(|(syllables, typed)| syllables.matches(0, spelling, reach, typed))
        };
        let spelt_later = || {
            pinyin.as_ref().is_some_and(|(syllables, typed)| {
                (1..syllables.count())
                    .any(|start| syllables.matches(start, Spelling::Full, Reach::Prefix, typed))
            })
        };
        Class::ALL.into_iter().find(|class| match class {
            Class::Name => in_name == Some(Place::Whole),
            Class::Account => whole_id || account == Some(Place::Whole),
            Class::Pinyin => spelt(Spelling::Full, Reach::Exact),
            Class::Initials => spelt(Spelling::Initials, Reach::Exact),
            Class::NamePrefix => in_name == Some(Place::Beginning),
            Class::AccountPrefix => account == Some(Place::Beginning),
            Class::PinyinPrefix => spelt(Spelling::Full, Reach::Prefix),
            Class::InitialsPrefix => spelt(Spelling::Initials, Reach::Prefix),
            Class::NamePart => in_name.is_some(),
            Class::AccountPart => account.is_some(),
            Class::PinyinPart => spelt_later(),
            Class::Department => self.place(fields.department) == Some(Place::Whole),
            Class::DepartmentPrefix => self.place(fields.department) == Some(Place::Beginning),
            Class::DepartmentPart => self.place(fields.department).is_some(),
            Class::Title => self.place(fields.title) == Some(Place::Whole),
            Class::TitlePrefix => self.place(fields.title) == Some(Place::Beginning),
            Class::TitlePart => self.place(fields.title).is_some(),
        })
    }

    fn place(&self, field: Option<&str>) -> Option<Place> {
        let folded: Cow<'_, str> = fold_field(field?);
        place(&folded, &self.folded)
    }
}

/// Where in a field the query is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Whole,
    Beginning,
    Within,
}

fn place(folded_field: &str, folded_query: &str) -> Option<Place> {
    match folded_field.find(folded_query)? {
        0 if folded_field.len() == folded_query.len() => Some(Place::Whole),
        0 => Some(Place::Beginning),
        _ => Some(Place::Within),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ZHANG: Fields<'_> = Fields {
        id: "u-1001",
        name: "张三丰",
        account: Some("Wudang.Zhang"),
        department: Some("研发中心/平台部"),
        title: Some("高级工程师"),
    };

    fn class(query: &str, fields: &Fields<'_>) -> Option<Class> {
        Query::new(query).rank(fields).map(|found| Class::ALL[usize::from(found.class)])
    }

    #[test]
    fn each_class_is_reached_by_what_its_row_of_the_table_says() {
        for (query, expected) in [
            ("张三丰", Some(Class::Name)),
            (" ＷＵＤＡＮＧ．zhang ", Some(Class::Account)),
            ("U-1001", Some(Class::Account)),
            ("zhang san feng", Some(Class::Pinyin)),
            ("ZSF", Some(Class::Initials)),
            ("张", Some(Class::NamePrefix)),
            ("wud", Some(Class::AccountPrefix)),
            ("zhangs", Some(Class::PinyinPrefix)),
            ("zs", Some(Class::InitialsPrefix)),
            ("三", Some(Class::NamePart)),
            ("zhang", Some(Class::PinyinPrefix)),
            (".zh", Some(Class::AccountPart)),
            ("sanf", Some(Class::PinyinPart)),
            ("研发中心/平台部", Some(Class::Department)),
            ("研发", Some(Class::DepartmentPrefix)),
            ("平台", Some(Class::DepartmentPart)),
            ("高级工程师", Some(Class::Title)),
            ("高级", Some(Class::TitlePrefix)),
            ("工程", Some(Class::TitlePart)),
            ("angsan", None),
            ("1001", None),
            ("李四", None),
            (" ", None),
        ] {
            assert_eq!(class(query, &ZHANG), expected, "{query}");
        }
    }

    #[test]
    fn confidence_never_grows_from_class_to_class() {
        assert!(Class::ALL.windows(2).all(|pair| pair[0].confidence() >= pair[1].confidence()));
        assert!(Class::ALL.iter().enumerate().all(|(number, class)| *class as usize == number));
    }

    #[test]
    fn what_is_not_known_does_not_match() {
        assert_eq!(class("null", &Fields { id: "1", name: "张三", ..Fields::default() }), None);
    }

    proptest! {
        #[test]
        fn any_part_of_a_name_finds_it(name in "[张三李四重庆Ａ-Ｚa-zA-Z0-9👍]{1,12}", from in 0_usize..12, length in 1_usize..12) {
            let characters: Vec<char> = name.chars().collect();
            let from = from % characters.len();
            let part: String = characters[from..(from + length).min(characters.len())].iter().collect();
            let found = Query::new(&part).rank(&Fields { id: "", name: &name, ..Fields::default() });
            prop_assert!(found.is_some_and(|found| found.class <= Class::NamePart as u8), "{} in {}", part, name);
        }

        #[test]
        fn any_query_over_any_fields_gives_the_same_answer_again(
            query in any::<String>(), id in any::<String>(), name in any::<String>(), account in any::<Option<String>>(),
        ) {
            let fields = Fields { id: &id, name: &name, account: account.as_deref(), ..Fields::default() };
            let found = Query::new(&query).rank(&fields);
            prop_assert_eq!(found, Query::new(&query).rank(&fields));
            prop_assert_eq!(found, Query::new(&fold(&query)).rank(&fields));
        }
    }
}
