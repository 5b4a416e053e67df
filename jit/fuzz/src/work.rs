//! Numbered work, done by several threads until none is left or the time is over.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::{available_parallelism, scope};
use std::time::{Duration, Instant};

/// How many threads work, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    threads: usize,
    time: Option<Duration>,
}

/// Work that is left; all threads take from it.
#[derive(Debug)]
pub struct Work {
    next: AtomicUsize,
    /// First number that is not to be done.
    end: AtomicUsize,
    until: Option<Instant>,
}

impl Bounds {
    /// What `PREFIX_THREADS` and `PREFIX_SECONDS` say: by default a thread for each processor, and no limit of time.
    pub fn from_env(prefix: &str) -> Self {
        let number = |name: &str| {
            std::env::var(format!("{prefix}_{name}")).ok().and_then(|text| text.parse::<usize>().ok())
        };
        let all = || available_parallelism().map_or(1, usize::from);
        Self {
            threads: number("THREADS").unwrap_or_else(all).max(1),
            time: number("SECONDS").map(|seconds| Duration::from_secs(seconds as u64)),
        }
    }

    /// Runs `worker` on each thread, with the numbers from 0 to `count` to take from. Returns what they return.
    ///
    /// # Panics
    /// As the workers do.
    pub fn run<T: Send>(&self, count: usize, worker: impl Fn(&Work) -> T + Sync) -> Vec<T> {
        let work = Work {
            next: AtomicUsize::new(0),
            end: AtomicUsize::new(count),
            until: self.time.and_then(|time| Instant::now().checked_add(time)),
        };
        scope(|threads| {
            let started: Vec<_> =
                (0..self.threads.min(count)).map(|_| threads.spawn(|| worker(&work))).collect();
            let done = started.into_iter().map(|thread| thread.join());
            done.map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }
}

impl Work {
    /// The next number that has not been taken.
    pub fn take(&self) -> Option<usize> {
        if self.is_over() {
            return None;
        }
        let number = self.next.fetch_add(1, Relaxed);
        (number < self.end.load(Relaxed)).then_some(number)
    }

    /// Makes [`take`](Self::take) return nothing from now on.
    pub fn stop(&self) {
        self.end.store(0, Relaxed);
    }

    /// Whether work that was begun should end, too: the time is over, or [`stop`](Self::stop) was called.
    pub fn is_over(&self) -> bool {
        self.end.load(Relaxed) == 0 || self.until.is_some_and(|until| Instant::now() >= until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(threads: usize, time: Option<Duration>) -> Bounds {
        Bounds { threads, time }
    }

    #[test]
    fn every_number_is_done_once() {
        let done = bounds(3, None).run(100, |work| std::iter::from_fn(|| work.take()).collect::<Vec<_>>());
        let mut all = done.concat();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_is_taken_after_a_stop_or_when_the_time_is_over() {
        let done = bounds(1, None).run(10, |work| {
            let first = work.take();
            work.stop();
            (first, work.take(), work.is_over())
        });
        assert_eq!(done, [(Some(0), None, true)]);
        let done = bounds(2, Some(Duration::ZERO)).run(10, |work| work.take());
        assert_eq!(done, [None, None]);
    }
}
