//! The names of UI Automation's control types.

/// The number of the first; the others follow it without a gap.
const FIRST: i32 = 50_000;

/// By their numbers, from `UIA_ButtonControlTypeId` on.
const NAMES: [&str; 41] = [
    "Button",
    "Calendar",
    "CheckBox",
    "ComboBox",
    "Edit",
    "Hyperlink",
    "Image",
    "ListItem",
    "List",
    "Menu",
    "MenuBar",
    "MenuItem",
    "ProgressBar",
    "RadioButton",
    "ScrollBar",
    "Slider",
    "Spinner",
    "StatusBar",
    "Tab",
    "TabItem",
    "Text",
    "ToolBar",
    "ToolTip",
    "Tree",
    "TreeItem",
    "Custom",
    "Group",
    "Thumb",
    "DataGrid",
    "DataItem",
    "Document",
    "SplitButton",
    "Window",
    "Pane",
    "Header",
    "HeaderItem",
    "Table",
    "TitleBar",
    "Separator",
    "SemanticZoom",
    "AppBar",
];

/// The name of a control type; `Custom` for one without a name, as UI Automation itself calls what fits no other.
pub fn name(control_type: Option<i32>) -> &'static str {
    let index = control_type.and_then(|number| usize::try_from(number.checked_sub(FIRST)?).ok());
    index.and_then(|index| NAMES.get(index)).copied().unwrap_or("Custom")
}

#[cfg(test)]
mod tests {
    use ::windows::Win32::UI::Accessibility::{
        UIA_AppBarControlTypeId, UIA_ButtonControlTypeId, UIA_DocumentControlTypeId, UIA_WindowControlTypeId,
    };

    use super::*;

    #[test]
    fn the_names_are_those_of_the_numbers() {
        for (number, word) in [
            (UIA_ButtonControlTypeId, "Button"),
            (UIA_DocumentControlTypeId, "Document"),
            (UIA_WindowControlTypeId, "Window"),
            (UIA_AppBarControlTypeId, "AppBar"),
        ] {
            assert_eq!(name(Some(number.0)), word);
        }
    }

    #[test]
    fn an_unknown_number_or_none_is_custom() {
        for number in [None, Some(0), Some(49_999), Some(50_041), Some(i32::MIN), Some(i32::MAX)] {
            assert_eq!(name(number), "Custom");
        }
    }
}
