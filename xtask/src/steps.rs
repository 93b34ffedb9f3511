//! The steps of a command: what is going on, how long it took, and a table at the end.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer command talks to a terminal")]

use std::time::{Duration, Instant};

/// Runs named steps, one after the other, and remembers how each ended.
#[derive(Default)]
pub struct Steps {
    done: Vec<(String, Duration, Result<(), String>)>,
}

impl Steps {
    /// Runs one step. A failed step does not stop the ones after it, so that one run shows all that is wrong.
    pub fn run(&mut self, name: &str, work: impl FnOnce() -> Result<(), String>) {
        say(&format!("\n=== {name}"));
        let start = Instant::now();
        let outcome = work();
        if let Err(message) = &outcome {
            complain(message);
        }
        self.done.push((name.to_owned(), start.elapsed(), outcome));
    }

    /// Prints one line per step with its time, then the counts; fails when a step failed.
    pub fn finish(self) -> Result<(), String> {
        let failed = self.done.iter().filter(|(_, _, outcome)| outcome.is_err()).count();
        say("");
        for (name, time, outcome) in &self.done {
            let word = if outcome.is_ok() { "ok" } else { "FAILED" };
            say(&format!("{word:6} {:7.1} s  {name}", time.as_secs_f64()));
        }
        say(&format!("steps: {} passed, {failed} failed", self.done.len() - failed));
        if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} steps failed", self.done.len())) }
    }
}

/// Tells the developer something.
pub fn say(text: &str) {
    println!("{text}");
}

/// Tells the developer what went wrong.
pub fn complain(text: &str) {
    eprintln!("{text}");
}
