//! The UI Automation tree of a window: how it is walked, within which bounds, and how it is written.

use std::collections::VecDeque;
use std::ops::Range;

use serde::Serialize;
use serde::ser::{SerializeSeq, SerializeStruct};

use crate::desktop::Bounds;
use crate::progress::Progress;

/// The most characters of one text of an element; longer ones are cut.
const MOST_TEXT_CHARS: usize = 1_000;
/// The most bytes that all texts of a tree have together, so that a response stays readable for its caller.
const MOST_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// How much of a tree is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How far below the root; 0 is the root alone.
    pub max_depth: usize,
    /// How many children of one element.
    pub max_children: usize,
    /// How many elements in all.
    pub max_nodes: usize,
}

/// What is read of an element.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Element {
    /// Its name: a label, or in a list what the row says. Never the content of a password field.
    pub name: String,
    /// The control type's name in UI Automation, such as `Button`.
    pub control_type: String,
    /// The id that its program gave it.
    pub automation_id: String,
    /// The class name.
    pub class_name: String,
    /// The framework that drew it, such as `WinForm`.
    pub framework_id: String,
    /// Whether it takes input.
    pub is_enabled: bool,
    /// Whether it is scrolled away or covered.
    pub is_offscreen: bool,
    /// Whether it holds a password; such an element is listed without its name.
    pub is_password: bool,
    /// Where it is; `None` when it has no place.
    pub bounds: Option<Bounds>,
}

/// The children that one call gave.
#[derive(Debug)]
pub struct Children<H> {
    /// Each with its handle, at most as many as were asked for; none when 0 were.
    pub read: Vec<(H, Element)>,
    /// Whether there are more.
    pub more: bool,
}

/// An element's children could not be read; the element may be gone.
#[derive(Debug)]
pub struct Unreadable;

/// A tree, as far as it was read. Elements are in breadth-first order, so that what a time limit cuts off is
/// the deepest part.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    text_bytes: usize,
    truncated: bool,
}

#[derive(Debug)]
struct Node {
    element: Element,
    children: Range<usize>,
}

/// Reads a tree into `progress`, level by level. `children` is asked once for each element above `max_depth`, with the
/// most children to read. What a limit cuts off, or could not be read, makes the tree truncated and gives a warning.
pub fn walk<H>(
    root: (H, Element),
    limits: Limits,
    progress: &Progress,
    mut children: impl FnMut(&H, usize) -> Result<Children<H>, Unreadable>,
) {
    let (handle, element) = root;
    let mut tree = Tree::default();
    tree.add(None, vec![element]);
    *progress.tree() = Some(tree);
    let mut waiting = VecDeque::from([(handle, 0, 0)]);
    let mut reached = Reached::default();
    let mut nodes = 1;
    while let Some((handle, index, depth)) = waiting.pop_front() {
        if depth == limits.max_depth {
            reached.depth = true;
            continue;
        }
        // With no room left this only asks whether there are more.
        let most = limits.max_children.min(limits.max_nodes - nodes);
        let Ok(found) = children(&handle, most) else {
            reached.unreadable += 1;
            continue;
        };
        reached.children |= found.more && most == limits.max_children;
        reached.nodes |= found.more && most < limits.max_children;
        let (handles, elements): (Vec<H>, Vec<Element>) = found.read.into_iter().take(most).unzip();
        nodes += elements.len();
        let Some(added) = progress.tree().as_mut().and_then(|tree| tree.add(Some(index), elements)) else {
            reached.text = true;
            break;
        };
        if reached.nodes {
            break;
        }
        waiting.extend(handles.into_iter().zip(added).map(|(handle, index)| (handle, index, depth + 1)));
    }
    reached.report(limits, progress);
}

/// Which limits a walk ran into.
#[derive(Default)]
struct Reached {
    depth: bool,
    children: bool,
    nodes: bool,
    text: bool,
    unreadable: usize,
}

impl Reached {
    fn report(&self, limits: Limits, progress: &Progress) {
        let Limits { max_depth, max_children, max_nodes } = limits;
        let findings = [
            (self.depth, "MAX_DEPTH", format!("nothing was looked for below depth {max_depth}")),
            (
                self.children,
                "MAX_CHILDREN",
                format!("of some elements only {max_children} children were read"),
            ),
            (self.nodes, "MAX_NODES", format!("only {max_nodes} elements were read")),
            (self.text, "MAX_TEXT", format!("the texts were longer than {MOST_TEXT_BYTES} bytes together")),
            (
                self.unreadable > 0,
                "ELEMENT_NOT_READABLE",
                format!("the children of {} elements could not be read; they may be gone", self.unreadable),
            ),
        ];
        for (_, code, message) in findings.into_iter().filter(|(happened, ..)| *happened) {
            progress.warn(code, message);
            if let Some(tree) = progress.tree().as_mut() {
                tree.truncated = true;
            }
        }
    }
}

impl Tree {
    /// Whether something was left out.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Notes that the reading did not come to its end.
    pub fn cut(&mut self) {
        self.truncated = true;
    }

    /// All elements, level by level.
    pub fn elements(&self) -> impl Iterator<Item = &Element> {
        self.nodes.iter().map(|node| &node.element)
    }

    /// How many elements it has.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Appends the children of a node and gives their indexes; `None`, and nothing is added, past the bound of texts.
    fn add(&mut self, parent: Option<usize>, elements: Vec<Element>) -> Option<Range<usize>> {
        let elements: Vec<Element> = elements.into_iter().map(Element::bounded).collect();
        let bytes: usize = elements.iter().map(Element::text_bytes).sum();
        if self.text_bytes + bytes > MOST_TEXT_BYTES {
            return None;
        }
        self.text_bytes += bytes;
        let start = self.nodes.len();
        self.nodes.extend(elements.into_iter().map(|element| Node { element, children: 0..0 }));
        let added = start..self.nodes.len();
        if let Some(parent) = parent.and_then(|index| self.nodes.get_mut(index)) {
            parent.children = added.clone();
        }
        Some(added)
    }
}

impl Element {
    fn bounded(mut self) -> Self {
        if self.is_password {
            self.name.clear();
        }
        for text in [
            &mut self.name,
            &mut self.control_type,
            &mut self.automation_id,
            &mut self.class_name,
            &mut self.framework_id,
        ] {
            if let Some((end, _)) = text.char_indices().nth(MOST_TEXT_CHARS) {
                text.truncate(end);
                text.push('…');
            }
        }
        self
    }

    fn text_bytes(&self) -> usize {
        self.name.len()
            + self.control_type.len()
            + self.automation_id.len()
            + self.class_name.len()
            + self.framework_id.len()
    }
}

/// A node with all below it, written without a copy.
struct Subtree<'a> {
    tree: &'a Tree,
    index: usize,
}

struct Siblings<'a> {
    tree: &'a Tree,
    range: Range<usize>,
}

/// A tree is written as its root element.
impl Serialize for Tree {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Subtree { tree: self, index: 0 }.serialize(serializer)
    }
}

impl Serialize for Subtree<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let node =
            self.tree.nodes.get(self.index).ok_or_else(|| serde::ser::Error::custom("no such element"))?;
        let element = &node.element;
        let mut written = serializer.serialize_struct("Element", 9)?;
        written.serialize_field("name", &element.name)?;
        written.serialize_field("control_type", &element.control_type)?;
        written.serialize_field("automation_id", &element.automation_id)?;
        written.serialize_field("class_name", &element.class_name)?;
        written.serialize_field("framework_id", &element.framework_id)?;
        written.serialize_field("is_enabled", &element.is_enabled)?;
        written.serialize_field("is_offscreen", &element.is_offscreen)?;
        written.serialize_field("bounds", &element.bounds)?;
        written.serialize_field("children", &Siblings { tree: self.tree, range: node.children.clone() })?;
        written.end()
    }
}

impl Serialize for Siblings<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut written = serializer.serialize_seq(Some(self.range.len()))?;
        for index in self.range.clone() {
            written.serialize_element(&Subtree { tree: self.tree, index })?;
        }
        written.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const ALL: Limits = Limits { max_depth: 60, max_children: 5_000, max_nodes: 20_000 };

    fn named(name: &str) -> Element {
        Element { name: name.to_owned(), ..Element::default() }
    }

    /// Walks a tree in which each element has children as `width` says for its depth, and counts the calls.
    fn walk_wide(width: &[usize], limits: Limits) -> (Tree, Vec<&'static str>, usize) {
        let progress = Progress::default();
        let mut calls = 0;
        walk((0, named("0")), limits, &progress, |depth, most| {
            calls += 1;
            let width = width.get(*depth).copied().unwrap_or(0);
            let child = (depth + 1, named(&(depth + 1).to_string()));
            Ok(Children { read: vec![child; width.min(most)], more: width > most })
        });
        let codes = progress.warnings().iter().map(|warning| warning.code).collect();
        let tree = progress.tree().take().unwrap();
        (tree, codes, calls)
    }

    fn written(tree: &Tree) -> Value {
        serde_json::to_value(tree).unwrap()
    }

    /// An element's name with its children in brackets.
    fn outline(element: &Value) -> String {
        let children: Vec<String> = element["children"].as_array().unwrap().iter().map(outline).collect();
        format!("{}({})", element["name"].as_str().unwrap(), children.join(" "))
    }

    #[test]
    fn an_element_is_written_with_all_its_facts() {
        let progress = Progress::default();
        let element = Element {
            name: "发送".to_owned(),
            control_type: "Button".to_owned(),
            automation_id: "btnSend".to_owned(),
            class_name: "BUTTON".to_owned(),
            framework_id: "WinForm".to_owned(),
            is_enabled: true,
            is_offscreen: false,
            is_password: false,
            bounds: Some(Bounds { x: -1, y: 2, width: 3, height: 4 }),
        };
        walk(((), element), ALL, &progress, |(), _| Ok(Children { read: Vec::new(), more: false }));
        assert_eq!(
            written(progress.tree().as_ref().unwrap()),
            json!({
                "name": "发送", "control_type": "Button", "automation_id": "btnSend", "class_name": "BUTTON",
                "framework_id": "WinForm", "is_enabled": true, "is_offscreen": false,
                "bounds": {"x": -1, "y": 2, "width": 3, "height": 4}, "children": [],
            })
        );
    }

    #[test]
    fn children_are_written_inside_their_parent_in_their_order() {
        let progress = Progress::default();
        walk(("r", named("r")), ALL, &progress, |parent, _| {
            let names: &[&str] = match *parent {
                "r" => &["a", "b", "c"],
                "a" => &["a1"],
                "c" => &["c1", "c2"],
                _ => &[],
            };
            Ok(Children { read: names.iter().map(|name| (*name, named(name))).collect(), more: false })
        });
        let tree = progress.tree().take().unwrap();
        assert_eq!(outline(&written(&tree)), "r(a(a1()) b() c(c1() c2()))");
    }

    #[test]
    fn one_call_is_made_for_each_element() {
        let (tree, codes, calls) = walk_wide(&[3, 3, 3], ALL);
        assert_eq!((tree.node_count(), calls), (40, 40));
        assert!(!tree.is_truncated() && codes.is_empty());
    }

    #[test]
    fn nothing_is_asked_for_below_the_greatest_depth() {
        let (tree, codes, calls) = walk_wide(&[2, 2, 2], Limits { max_depth: 1, ..ALL });
        assert_eq!((tree.node_count(), calls), (3, 1));
        assert!(tree.is_truncated());
        assert_eq!(codes, ["MAX_DEPTH"]);
        assert_eq!(walk_wide(&[2], Limits { max_depth: 0, ..ALL }).2, 0);
    }

    #[test]
    fn children_beyond_their_number_are_left_out() {
        let (tree, codes, _) = walk_wide(&[5], Limits { max_children: 3, ..ALL });
        assert_eq!(tree.node_count(), 4);
        assert!(tree.is_truncated());
        assert_eq!(codes, ["MAX_CHILDREN"]);
    }

    #[test]
    fn elements_beyond_their_number_are_left_out_the_deepest_first() {
        let (tree, codes, _) = walk_wide(&[3, 3], Limits { max_nodes: 6, ..ALL });
        assert_eq!(tree.node_count(), 6);
        assert!(tree.elements().take(4).all(|element| element.name != "2"));
        assert_eq!(codes, ["MAX_NODES"]);
    }

    #[test]
    fn a_tree_of_exactly_the_greatest_numbers_is_whole() {
        let (tree, codes, _) = walk_wide(&[3], Limits { max_children: 3, max_nodes: 4, max_depth: 2 });
        assert_eq!((tree.node_count(), tree.is_truncated()), (4, false), "{codes:?}");
    }

    #[test]
    fn an_element_that_went_away_leaves_out_what_was_below_it_and_no_more() {
        let progress = Progress::default();
        walk((0, named("0")), ALL, &progress, |depth, _| match depth {
            0 => Ok(Children { read: vec![(1, named("gone")), (2, named("here"))], more: false }),
            1 => Err(Unreadable),
            2 => Ok(Children { read: vec![(3, named("below"))], more: false }),
            _ => Ok(Children { read: Vec::new(), more: false }),
        });
        let tree = progress.tree().take().unwrap();
        assert_eq!((tree.node_count(), tree.is_truncated()), (4, true));
        assert_eq!(progress.warnings()[0].code, "ELEMENT_NOT_READABLE");
    }

    #[test]
    fn the_name_of_a_password_field_is_not_kept() {
        let progress = Progress::default();
        let element = Element { is_password: true, automation_id: "pwd".to_owned(), ..named("hunter2") };
        walk(((), element), ALL, &progress, |(), _| Ok(Children { read: Vec::new(), more: false }));
        let tree = progress.tree().take().unwrap();
        let element = tree.elements().next().unwrap();
        assert_eq!((element.name.as_str(), element.automation_id.as_str()), ("", "pwd"));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let progress = Progress::default();
        walk(((), named(&"张".repeat(1_001))), ALL, &progress, |(), _| {
            Ok(Children { read: Vec::new(), more: false })
        });
        let tree = progress.tree().take().unwrap();
        assert_eq!(tree.elements().next().unwrap().name, format!("{}…", "张".repeat(1_000)));
    }

    #[test]
    fn the_texts_of_a_tree_have_a_bound_together() {
        let progress = Progress::default();
        let long = "张".repeat(MOST_TEXT_CHARS);
        let children = MOST_TEXT_BYTES / long.len() + 1;
        walk((0, named("")), ALL, &progress, |depth, most| {
            let width = if *depth == 0 { children } else { 0 };
            Ok(Children { read: vec![(depth + 1, named(&long)); width.min(most)], more: false })
        });
        let tree = progress.tree().take().unwrap();
        assert_eq!((tree.node_count(), tree.is_truncated()), (1, true));
        assert_eq!(progress.warnings()[0].code, "MAX_TEXT");
    }

    #[test]
    fn a_tree_of_the_greatest_depth_can_be_read_by_a_common_json_reader() {
        let (tree, _, _) = walk_wide(&[1; 60], ALL);
        let text = serde_json::to_string(&json!({"data": {"root": written(&tree)}})).unwrap();
        assert!(serde_json::from_str::<Value>(&text).is_ok());
    }
}
