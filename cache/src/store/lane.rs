//! Background work: a bounded queue, and a thread that exists while there is something in it.
//!
//! The thread is started by the first job and ends a moment after the last, so a store at rest has none. A process that
//! was forked off has the queue without the thread: there everything is done at once, and the queue, whose lock may have been
//! held at the fork, is not touched.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// For how long the thread waits for more before it ends.
const LINGER: Duration = Duration::from_millis(500);

pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// Why a job was not taken.
pub(crate) enum Refused {
    /// There is no room in the queue.
    Full,
    /// There is no thread and none can be started: the caller is to do it.
    NoThread(Job),
}

/// A queue with its thread.
pub(crate) struct Lane {
    name: &'static str,
    most_jobs: usize,
    most_bytes: u64,
    /// The process that the queue belongs to.
    process: u32,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<(Job, u64)>,
    /// What the jobs in the queue hold, and the one that is being done.
    bytes: u64,
    has_thread: bool,
    is_busy: bool,
    is_closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    pub(crate) fn new(name: &'static str, most_jobs: usize, most_bytes: u64) -> Lane {
        Lane { name, most_jobs, most_bytes, process: std::process::id(), shared: Arc::default() }
    }

    /// Whether this is the process that the queue belongs to.
    pub(crate) fn is_here(&self) -> bool {
        std::process::id() == self.process
    }

    /// Puts a job, which holds this many bytes, at the end of the queue. One that alone is over the limit is taken where
    /// the queue is empty.
    pub(crate) fn push(&self, bytes: u64, job: Job) -> Result<(), Refused> {
        if !self.is_here() {
            return Err(Refused::NoThread(job));
        }
        let mut state = self.shared.lock();
        let waiting = state.jobs.len() + usize::from(state.is_busy);
        let is_full = waiting >= self.most_jobs || state.bytes.saturating_add(bytes) > self.most_bytes;
        if is_full && waiting > 0 {
            return Err(Refused::Full);
        }
        if !state.has_thread {
            let shared = Arc::clone(&self.shared);
            let spawned = thread::Builder::new().name(self.name.to_owned()).spawn(move || run(&shared));
            if spawned.is_err() {
                return Err(Refused::NoThread(job));
            }
            state.has_thread = true;
        }
        state.bytes = state.bytes.saturating_add(bytes);
        state.jobs.push_back((job, bytes));
        drop(state);
        self.shared.changed.notify_all();
        Ok(())
    }

    /// Waits until nothing is left to do, for `patience` at most. Says whether that was reached.
    pub(crate) fn drain(&self, patience: Duration) -> bool {
        if !self.is_here() {
            return true;
        }
        let start = Instant::now();
        let mut state = self.shared.lock();
        while !state.jobs.is_empty() || state.is_busy {
            let left = patience.saturating_sub(start.elapsed());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for Lane {
    /// What is still in the queue is done, by the thread and without anybody waiting for it.
    fn drop(&mut self) {
        if self.is_here() {
            self.shared.lock().is_closed = true;
            self.shared.changed.notify_all();
        }
    }
}

fn run(shared: &Shared) {
    let mut state = shared.lock();
    loop {
        if let Some((job, bytes)) = state.jobs.pop_front() {
            state.is_busy = true;
            drop(state);
            // A subscriber of events may panic; other jobs go on. The job is dropped in there as well.
            let _ = catch_unwind(AssertUnwindSafe(job));
            state = shared.lock();
            state.is_busy = false;
            state.bytes = state.bytes.saturating_sub(bytes);
            shared.changed.notify_all();
            continue;
        }
        if state.is_closed {
            break;
        }
        let waited = shared.changed.wait_timeout(state, LINGER);
        let (held, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        state = held;
        if timeout.timed_out() && state.jobs.is_empty() {
            break;
        }
    }
    state.has_thread = false;
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn jobs_are_done_in_order_and_the_queue_is_bounded() {
        let lane = Lane::new("test", 3, 100);
        let (go, gate) = mpsc::channel::<()>();
        let done = Arc::new(Mutex::new(Vec::new()));
        let note = |number: usize| {
            let done = Arc::clone(&done);
            Box::new(move || done.lock().unwrap().push(number)) as Job
        };
        let first = note(0);
        let wait = move || {
            let _ = gate.recv();
            first();
        };
        // Alone, it may be larger than all that the queue holds.
        assert!(lane.push(1000, Box::new(wait)).is_ok());
        assert!(matches!(lane.push(1, note(9)), Err(Refused::Full)), "too many bytes");
        assert!(!lane.drain(Duration::from_millis(20)));
        go.send(()).unwrap();
        assert!(lane.drain(Duration::from_secs(60)));
        let (go, gate) = mpsc::channel::<()>();
        let wait = move || {
            let _ = gate.recv();
        };
        assert!(lane.push(1, Box::new(wait)).is_ok());
        assert!(lane.push(1, note(1)).is_ok());
        assert!(lane.push(1, note(2)).is_ok());
        assert!(matches!(lane.push(1, note(9)), Err(Refused::Full)), "too many jobs");
        drop(go);
        assert!(lane.drain(Duration::from_secs(60)));
        assert_eq!(*done.lock().unwrap(), [0, 1, 2]);
    }

    #[test]
    fn a_job_that_panics_stops_nobody_and_a_dropped_lane_finishes() {
        let count = Arc::new(AtomicUsize::new(0));
        let (told, end) = mpsc::channel::<()>();
        let lane = Lane::new("test", 64, 1 << 20);
        assert!(lane.push(0, Box::new(|| panic!("as a subscriber may"))).is_ok());
        for _ in 0..40 {
            let (count, told) = (Arc::clone(&count), told.clone());
            let job = move || {
                count.fetch_add(1, Ordering::SeqCst);
                drop(told);
            };
            assert!(lane.push(8, Box::new(job)).is_ok());
        }
        drop((lane, told));
        assert!(end.recv().is_err(), "all jobs have let go");
        assert_eq!(count.load(Ordering::SeqCst), 40);
    }
}
