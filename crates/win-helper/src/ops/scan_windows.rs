//! `scan_windows`: lists windows that may be the client's, best first (boundary contract, section 6.3).

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::desktop::{self, Bounds, Module, Window, WindowHandle};
use crate::fault::Fault;
use crate::progress::Progress;
use crate::score::{CANDIDATE, LISTED, LISTED_HIDDEN, score};

/// The op's name.
pub const NAME: &str = "scan_windows";

/// The most windows of one answer.
const MOST_WINDOWS: usize = 500;

/// What it is asked.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Whether to list every visible window, whatever its score.
    #[serde(default)]
    include_all_visible: bool,
}

/// What it answers.
#[derive(Debug, Serialize)]
pub struct Data {
    windows: Vec<Scored>,
    truncated: bool,
}

/// A window with its score.
#[derive(Debug, Serialize)]
pub struct Scored {
    hwnd: WindowHandle,
    pid: u32,
    process_name: String,
    title: String,
    class_name: String,
    visible: bool,
    bounds: Bounds,
    score: u8,
}

/// Lists the windows with at least [`LISTED`] points, or all visible ones as well; of hidden windows only those with
/// [`LISTED_HIDDEN`] points. Windows of one score stay in the order of the screen, the topmost first.
pub fn run(arguments: &Arguments, progress: &Progress) -> Result<Data, Fault> {
    let mut windows = scored(NAME, progress)?;
    windows.retain(|window| {
        let least = if window.visible { LISTED } else { LISTED_HIDDEN };
        window.score >= least || (arguments.include_all_visible && window.visible)
    });
    windows.sort_by_key(|window| std::cmp::Reverse(window.score));
    let truncated = windows.len() > MOST_WINDOWS;
    if truncated {
        progress.warn(
            "MAX_WINDOWS",
            format!("{} windows match; the first {MOST_WINDOWS} are listed", windows.len()),
        );
        windows.truncate(MOST_WINDOWS);
    }
    Ok(Data { windows, truncated })
}

/// The window that a request means which names none: the only visible one with at least [`CANDIDATE`] points.
pub fn only_candidate(op: &'static str, progress: &Progress) -> Result<WindowHandle, Fault> {
    choose(&scored(op, progress)?)
}

fn choose(windows: &[Scored]) -> Result<WindowHandle, Fault> {
    let candidates: Vec<WindowHandle> = windows
        .iter()
        .filter(|window| window.visible && window.score >= CANDIDATE)
        .map(|window| window.hwnd)
        .collect();
    match candidates.as_slice() {
        [] => Err(Fault::NoCandidate),
        [only] => Ok(*only),
        _ => Err(Fault::SeveralCandidates(candidates)),
    }
}

fn scored(op: &'static str, progress: &Progress) -> Result<Vec<Scored>, Fault> {
    let windows = desktop::windows(progress).map_err(|error| error.into_fault(op, None))?;
    // Several windows often belong to one process, whose modules take a while to list.
    let mut modules: HashMap<u32, Vec<Module>> = HashMap::new();
    let with_score = windows.into_iter().map(|window| {
        let score =
            score(&window, || modules.entry(window.pid).or_insert_with(|| modules_of(window.pid)).clone());
        Scored::new(window, score)
    });
    Ok(with_score.collect())
}

/// The modules of a process; none for one that Windows does not let us look into, which then has no points for them.
fn modules_of(pid: u32) -> Vec<Module> {
    desktop::modules(pid).map(|modules| modules.found).unwrap_or_default()
}

impl Scored {
    fn new(window: Window, score: u8) -> Self {
        let Window { hwnd, pid, process_name, title, class_name, visible, bounds } = window;
        Self { hwnd, pid, process_name, title, class_name, visible, bounds, score }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(hwnd: u32, visible: bool, score: u8) -> Scored {
        Scored {
            hwnd: WindowHandle(hwnd),
            pid: 1,
            process_name: String::new(),
            title: String::new(),
            class_name: String::new(),
            visible,
            bounds: Bounds::default(),
            score,
        }
    }

    #[test]
    fn the_only_visible_window_with_sixty_points_is_meant() {
        let windows = [window(1, true, 59), window(2, true, 60), window(3, false, 90)];
        assert_eq!(choose(&windows), Ok(WindowHandle(2)));
    }

    #[test]
    fn without_such_a_window_none_is_guessed() {
        let windows = [window(1, true, 59), window(3, false, 90)];
        assert_eq!(choose(&windows), Err(Fault::NoCandidate));
        assert_eq!(Fault::NoCandidate.code(), "WINDOW_NOT_FOUND");
    }

    #[test]
    fn several_such_windows_are_told_apart_by_nobody_but_the_caller() {
        let error = choose(&[window(1, true, 60), window(0xa0, true, 90)]).unwrap_err();
        assert_eq!(error.code(), "AMBIGUOUS_WINDOW");
        assert!(error.to_string().contains("0x00000001, 0x000000A0"), "{error}");
    }
}
