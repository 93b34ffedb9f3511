//! How surely a window is the client's: a number from 0 to 90, by rules that an operator can check by hand.
//!
//! | finding | points |
//! |---|---|
//! | its title contains `iSphere` | 20 |
//! | its class begins with `WindowsForms10.Window.` | 10 |
//! | its process has one of the client's names | 60 |
//! | else, when title or class have points: its process has loaded one of the client's files | 40 |
//!
//! Case does not count. So a browser that shows a page called iSphere has 20 points, and a renamed client still 60.

use crate::client;
use crate::desktop::{Module, Window};

/// From this score on a window may be taken for the client's without having been named.
pub const CANDIDATE: u8 = 60;
/// From this score on a window is listed among others.
pub const LISTED: u8 = 20;
/// From this score on a hidden window is listed: the client's own, put away into the notification area. Every program
/// has hidden windows of its input method and its framework besides, which have the points of their process.
pub const LISTED_HIDDEN: u8 = 80;

/// The score of a window. `modules` is asked for the files of its process only when they could make the window a
/// candidate: to look into every process of a desktop takes long, and concerns nobody.
pub fn score(window: &Window, modules: impl FnOnce() -> Vec<Module>) -> u8 {
    let title = if contains_ignoring_case(&window.title, client::TITLE_WORD) { 20 } else { 0 };
    let class = if starts_ignoring_case(&window.class_name, client::WINDOW_CLASS_PREFIX) { 10 } else { 0 };
    let program = if is_client_process(&window.process_name) {
        60
    } else if title + class > 0 && modules().iter().any(|module| is_client_file(&module.name)) {
        40
    } else {
        0
    };
    program + title + class
}

fn is_client_process(name: &str) -> bool {
    client::PROCESS_NAMES.iter().any(|known| known.eq_ignore_ascii_case(client::without_exe(name)))
}

fn is_client_file(name: &str) -> bool {
    client::KEY_FILES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn contains_ignoring_case(text: &str, word: &str) -> bool {
    text.to_lowercase().contains(&word.to_lowercase())
}

fn starts_ignoring_case(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desktop::{Bounds, WindowHandle};

    const CLASS: &str = "WindowsForms10.Window.8.app.0.2bf8098_r7_ad1";

    fn window(process: &str, title: &str, class: &str) -> Window {
        Window {
            hwnd: WindowHandle(1),
            pid: 1,
            process_name: process.to_owned(),
            title: title.to_owned(),
            class_name: class.to_owned(),
            visible: true,
            bounds: Bounds::default(),
        }
    }

    fn scored(process: &str, title: &str, class: &str, module: &str) -> u8 {
        let module = Module { name: module.to_owned(), path: String::new() };
        score(&window(process, title, class), || vec![module])
    }

    #[test]
    fn each_finding_has_its_points() {
        assert_eq!(scored("notepad", "Untitled", "Notepad", "ntdll.dll"), 0);
        assert_eq!(scored("IMPlatformClient", "", "", ""), 60);
        assert_eq!(scored("renamed", "", CLASS, "smack.dll"), 40 + 10);
        assert_eq!(scored("", "iSphere", "", ""), 20);
        assert_eq!(scored("", "", CLASS, ""), 10);
    }

    #[test]
    fn the_contracts_example_has_ninety() {
        assert_eq!(scored("IMPlatformClient", "iSphere", CLASS, "smack.dll"), 90);
    }

    #[test]
    fn a_page_about_the_client_is_no_candidate_and_a_renamed_client_is_one() {
        assert!(scored("msedge", "iSphere - Edge", CLASS, "msedge.dll") < CANDIDATE);
        assert!(scored("renamed", "iSphere", "", "IMPP.Service.dll") >= CANDIDATE);
    }

    #[test]
    fn case_does_not_count_and_other_alphabets_do_no_harm() {
        assert_eq!(scored("implatformclient.EXE", "张三 - ISPHERE", "windowsforms10.window.8", ""), 90);
        assert_eq!(scored("张三", "张三", "张三张三张三张三", "张三"), 0);
    }

    #[test]
    fn modules_are_not_asked_for_when_they_would_decide_nothing() {
        for window in [window("importal", "iSphere", CLASS), window("notepad", "Untitled", "Notepad")] {
            score(&window, || panic!("asked for modules"));
        }
    }
}
