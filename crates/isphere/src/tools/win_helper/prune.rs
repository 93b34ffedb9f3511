//! A tree cut to the bytes that an answer may have: what is left out is the deepest part.

use std::collections::VecDeque;

use govern::budget::json_len;

use crate::helper::Element;

/// The first elements of a tree, level by level, whose JSON has at most `budget` bytes; the root always. Says whether some were
/// left out.
pub fn prune(root: Element, budget: usize) -> (Element, bool) {
    let mut kept: Vec<(Element, usize)> = Vec::new();
    let mut waiting = VecDeque::from([(root, 0)]);
    let mut used = 0;
    while let Some((mut element, parent)) = waiting.pop_front() {
        let children = std::mem::take(&mut element.children);
        used += json_len(&element) + 1;
        if used > budget && !kept.is_empty() {
            return (rebuild(kept), true);
        }
        waiting.extend(children.into_iter().map(|child| (child, kept.len())));
        kept.push((element, parent));
    }
    (rebuild(kept), false)
}

/// The tree of elements in the order of their levels, each with the place of its parent; the first is the root.
fn rebuild(mut elements: Vec<(Element, usize)>) -> Element {
    // From the end on, each element has its children, the last of them first.
    while elements.len() > 1
        && let Some((mut element, parent)) = elements.pop()
    {
        element.children.reverse();
        elements[parent].0.children.push(element);
    }
    let (mut root, _) = elements.swap_remove(0);
    root.children.reverse();
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(name: &str, children: Vec<Element>) -> Element {
        let empty = String::new;
        Element {
            name: name.to_owned(),
            control_type: "Pane".to_owned(),
            automation_id: empty(),
            class_name: empty(),
            framework_id: empty(),
            is_enabled: true,
            is_offscreen: false,
            bounds: None,
            children,
        }
    }

    fn tree() -> Element {
        let leaf = |name| element(name, Vec::new());
        let one = element("1", vec![leaf("11"), element("12", vec![leaf("121")])]);
        element("0", vec![one, element("2", vec![leaf("21"), leaf("22")])])
    }

    fn names(tree: &Element) -> Vec<&str> {
        tree.walk().map(|element| element.name.as_str()).collect()
    }

    #[test]
    fn a_tree_that_fits_stays_as_it_is() {
        assert_eq!(prune(tree(), 100_000), (tree(), false));
    }

    #[test]
    fn what_does_not_fit_is_left_out_from_the_deepest_level_on() {
        let each = json_len(&element("11", Vec::new())) + 1;
        for (room, expected) in [
            (0, vec!["0"]),
            (3 * each, vec!["0", "1", "2"]),
            (5 * each, vec!["0", "1", "11", "12", "2"]),
            (7 * each, vec!["0", "1", "11", "12", "2", "21", "22"]),
        ] {
            let (kept, left_out) = prune(tree(), room);
            assert_eq!((names(&kept), left_out), (expected, true), "{room}");
            assert!(room == 0 || json_len(&kept) <= room + each);
        }
    }
}
