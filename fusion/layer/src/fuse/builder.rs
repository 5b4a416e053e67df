//! A thread that plans lists and builds their code while the program goes on.

use crate::sink::{lock, noted};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Jobs that may wait; those after them are dropped, and asked for again with their lists' next submissions.
const WAITING: usize = 256;

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    is_running: bool,
    is_busy: bool,
    is_over: bool,
}

/// The thread, of one device.
#[derive(Default)]
pub(crate) struct Builder(Arc<(Mutex<Queue>, Condvar)>);

impl Builder {
    /// Whether the job will be done.
    pub(super) fn add(&self, job: Job) -> bool {
        let mut queue = lock(&self.0.0);
        if queue.is_over || queue.jobs.len() >= WAITING {
            return false;
        }
        if !queue.is_running {
            let shared = self.0.clone();
            let spawned =
                std::thread::Builder::new().name("vkfuse layer".to_owned()).spawn(move || work(&shared));
            queue.is_running = spawned.is_ok();
        }
        if !queue.is_running {
            return false;
        }
        queue.jobs.push_back(job);
        self.0.1.notify_all();
        true
    }

    /// Whether all jobs are done.
    pub(super) fn is_idle(&self) -> bool {
        let queue = lock(&self.0.0);
        !queue.is_busy && queue.jobs.is_empty()
    }

    /// Waits until all jobs are done.
    pub(super) fn wait(&self) {
        let queue = lock(&self.0.0);
        let waits = |queue: &mut Queue| queue.is_busy || !queue.jobs.is_empty();
        drop(self.0.1.wait_while(queue, waits).unwrap_or_else(PoisonError::into_inner));
    }

    /// Starts no further job, and waits for the present one up to `patience`.
    pub(super) fn end(&self, patience: Option<Duration>) {
        let mut queue = lock(&self.0.0);
        queue.is_over = true;
        queue.jobs.clear();
        self.0.1.notify_all();
        let busy = |queue: &mut Queue| queue.is_busy;
        match patience {
            Some(patience) => drop(self.0.1.wait_timeout_while(queue, patience, busy)),
            None => drop(self.0.1.wait_while(queue, busy)),
        }
    }
}

fn work(shared: &(Mutex<Queue>, Condvar)) {
    loop {
        let queue = lock(&shared.0);
        let idle = |queue: &mut Queue| queue.jobs.is_empty() && !queue.is_over;
        let mut queue = shared.1.wait_while(queue, idle).unwrap_or_else(PoisonError::into_inner);
        let Some(job) = queue.jobs.pop_front() else { return };
        queue.is_busy = true;
        drop(queue);
        noted("a list", job);
        lock(&shared.0).is_busy = false;
        shared.1.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn jobs_are_done_in_order_and_none_after_the_end() {
        let (builder, done) = (Builder::default(), Arc::new(AtomicU32::new(0)));
        for number in 1..=3 {
            let done = done.clone();
            assert!(builder.add(Box::new(move || {
                assert_eq!(done.fetch_add(1, Ordering::SeqCst) + 1, number);
            })));
        }
        builder.wait();
        assert!(builder.is_idle());
        assert_eq!(done.load(Ordering::SeqCst), 3);
        builder.end(None);
        assert!(!builder.add(Box::new(|| ())));
    }
}
