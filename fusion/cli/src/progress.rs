//! A progress bar on the standard error, where that is a terminal and `--quiet` was not asked for.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const WIDTH: usize = 40;
/// Nothing is drawn for what is done in less, nor more often than this.
const INTERVAL: Duration = Duration::from_millis(100);

static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Draws no bars from now on.
pub(crate) fn be_quiet() {
    IS_QUIET.store(true, Relaxed);
}

/// A bar; its line is wiped when it is dropped. Threads may share it.
pub(crate) struct Bar {
    what: &'static str,
    shows: bool,
    state: Mutex<State>,
}

struct State {
    done: usize,
    total: usize,
    drawn: Instant,
    is_on_screen: bool,
}

impl Bar {
    pub(crate) fn new(what: &'static str, total: usize) -> Bar {
        let state = State { done: 0, total, drawn: Instant::now(), is_on_screen: false };
        let shows = std::io::stderr().is_terminal() && !IS_QUIET.load(Relaxed);
        Bar { what, shows, state: Mutex::new(state) }
    }

    /// One more is done.
    pub(crate) fn step(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.done += 1;
        self.draw(&mut state);
    }

    /// This many are done.
    pub(crate) fn at(&self, done: usize, total: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.done, state.total) = (done, total);
        self.draw(&mut state);
    }

    fn draw(&self, state: &mut State) {
        if !self.shows || state.drawn.elapsed() < INTERVAL {
            return;
        }
        state.drawn = Instant::now();
        state.is_on_screen = true;
        let line = line(self.what, state.done, state.total);
        // A terminal that is gone is no reason to stop.
        let _ = std::io::stderr().lock().write_all(format!("\r{line}").as_bytes());
    }
}

fn line(what: &str, done: usize, total: usize) -> String {
    let filled = (done * WIDTH).checked_div(total).unwrap_or(WIDTH).min(WIDTH);
    format!("[{}{}] {done} of {total} {what}", "#".repeat(filled), ".".repeat(WIDTH - filled))
}

impl Drop for Bar {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if state.is_on_screen {
            let blank = " ".repeat(line(self.what, state.total, state.total).chars().count());
            let _ = std::io::stderr().lock().write_all(format!("\r{blank}\r").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_full_as_the_work_is_done() {
        assert_eq!(line("lists", 0, 4), format!("[{}] 0 of 4 lists", ".".repeat(40)));
        assert_eq!(line("lists", 1, 4), format!("[{}{}] 1 of 4 lists", "#".repeat(10), ".".repeat(30)));
        assert_eq!(line("lists", 4, 4), format!("[{}] 4 of 4 lists", "#".repeat(40)));
        assert_eq!(line("lists", 0, 0), format!("[{}] 0 of 0 lists", "#".repeat(40)));
    }
}
