//! The words that are searched for: different ones, drawn from what the store holds, so that each is asked for the first
//! time.

use rusqlite::Connection;

use super::Result;

/// A kind of question, and its words.
type Kind = (&'static str, Vec<String>);

const SURNAMES: [&str; 20] = [
    "wang", "li", "zhang", "liu", "chen", "yang", "huang", "zhao", "wu", "zhou", "xu", "sun", "ma", "zhu",
    "hu", "guo", "he", "lin", "ouyang", "zhuge",
];
const SYLLABLES: [&str; 20] = [
    "wei", "fang", "na", "min", "jing", "li", "qiang", "lei", "jun", "yang", "yong", "yan", "jie", "juan",
    "tao", "ming", "chao", "xiu", "xia", "ping",
];
/// Characters that no name, department, title or message of a generated store has.
const NOWHERE: [char; 15] =
    ['龘', '靐', '齉', '爩', '麤', '灪', '龖', '厵', '滟', '爨', '癵', '籱', '饢', '驫', '鱻'];

/// So many words of each kind for people.
pub fn of_people(store: &Connection, count: usize) -> Result<Vec<Kind>> {
    let names = column(store, "SELECT nick_name FROM contact_info", count)?;
    let accounts = column(store, "SELECT login_name FROM contact_info", count)?;
    let places = column(store, "SELECT dept_path || duty FROM contact_info", count)?;
    let texts: Vec<String> = names.iter().chain(&accounts).chain(&places).cloned().collect();
    let pairs = SURNAMES.iter().flat_map(|one| SYLLABLES.iter().map(move |other| (one, other)));
    let spelt = pairs.clone().map(|(one, other)| format!("{one}{other}"));
    let initials = pairs.map(|(one, other)| format!("{}{}", &one[..1], &other[..1]));
    let thirds = SYLLABLES.iter().flat_map(|third| {
        SURNAMES
            .iter()
            .zip(SYLLABLES)
            .map(move |(one, other)| format!("{}{}{}", &one[..1], &other[..1], &third[..1]))
    });
    Ok(vec![
        ("people, 1 character", different(runs(&texts, 1), count)),
        ("people, 2 characters", different(runs(&texts, 2), count)),
        ("people, 3 and more characters", different(runs(&texts, 3).chain(runs(&texts, 5)), count)),
        ("people, pinyin", different(spelt, count)),
        ("people, initials", different(initials.chain(thirds), count)),
        ("people, in the title or department", different(runs(&places, 2).chain(runs(&places, 4)), count)),
        ("people, found nowhere", different(nowhere(&names), count)),
    ])
}

/// So many words of each kind for messages.
pub fn of_messages(store: &Connection, count: usize) -> Result<Vec<Kind>> {
    let texts = column(store, "SELECT content FROM chat_message", count)?;
    Ok(vec![
        ("keyword, 1 character", different(runs(&texts, 1), count)),
        ("keyword, 2 characters", different(runs(&texts, 2), count)),
        ("keyword, 3 and more characters", different(runs(&texts, 3).chain(runs(&texts, 6)), count)),
        ("keyword, found nowhere", different(nowhere(&texts), count)),
    ])
}

/// A column's texts, some twenty times as many as asked for, from all over the table.
fn column(store: &Connection, select: &str, count: usize) -> Result<Vec<String>> {
    let table = select.rsplit(' ').next().unwrap_or_default();
    let rows: usize = store.query_row(&format!("SELECT max(rowid) FROM {table}"), [], |row| row.get(0))?;
    let wanted = count * 20;
    let step = (rows / wanted).max(1);
    let mut statement = store.prepare(&format!("{select} WHERE rowid = ?1"))?;
    let mut texts = Vec::new();
    for rowid in (1..=rows).step_by(step).take(wanted) {
        for text in statement.query_map([rowid], |row| row.get::<_, Option<String>>(0))? {
            texts.extend(text?);
        }
    }
    Ok(texts)
}

/// A run of characters of each text, each time from another place.
fn runs(texts: &[String], length: usize) -> impl Iterator<Item = String> {
    texts.iter().enumerate().filter_map(move |(number, text)| {
        let characters: Vec<char> = text.chars().filter(|character| !character.is_whitespace()).collect();
        let places = (characters.len() + 1).checked_sub(length).filter(|places| *places > 0)?;
        let start = number * 7 % places;
        Some(characters[start..start + length].iter().collect())
    })
}

/// Words that begin as what is there does, and are not.
fn nowhere(texts: &[String]) -> impl Iterator<Item = String> {
    NOWHERE.iter().enumerate().flat_map(move |(number, strange)| {
        runs(texts, 1 + number % 4).take(40).map(move |known| format!("{known}{strange}"))
    })
}

/// The first `count` different ones.
fn different(words: impl Iterator<Item = String>, count: usize) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    words.filter(|word| seen.insert(word.clone())).take(count).collect()
}
