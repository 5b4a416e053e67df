//! Queues as their handles, their events and the schedule share them, and waiting for one.

use std::{
    mem,
    ops::Deref,
    sync::{Arc, atomic::AtomicBool},
};

use parking_lot::{Mutex, MutexGuard};

use crate::{
    error::Error,
    replay::exec::Past,
    report::outcome::CancelCause,
    runtime::{
        context::ContextInner,
        end::error_source,
        schedule::{Mode, QueueState, Tasks},
    },
    submission::identity::QueueId,
};

/// A queue, in lines of memory of its own: what its threads write here no others read but those whose work meets its lists.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct QueueCell {
    pub(crate) id: QueueId,
    /// The hardware queue it submits to.
    pub(crate) lane: u32,
    pub(crate) profiling: bool,
    pub(crate) state: Mutex<QueueState>,
    /// Whether submissions run, as the state says: a kept list is launched again without a lock of the state, which would be 4 % of its
    /// instructions.
    pub(crate) is_direct: AtomicBool,
    /// What it has run. Who locks it has the schedule, or wants no more than what that knows.
    pub(crate) past: Arc<Mutex<Past>>,
}

/// What work comes from: a queue of a context. Anyone who makes events counts here, and not where all queues would.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) context: Arc<ContextInner>,
    pub(crate) queue: Arc<QueueCell>,
}

impl Deref for Origin {
    type Target = QueueCell;

    fn deref(&self) -> &QueueCell {
        &self.queue
    }
}

impl QueueCell {
    /// A queue that nothing was submitted to.
    pub(crate) fn new(id: QueueId, lane: u32, profiling: bool) -> QueueCell {
        let (state, past) = (Mutex::default(), Arc::default());
        QueueCell { id, lane, profiling, state, is_direct: AtomicBool::new(true), past }
    }

    /// Its state. Anyone who has it does not ask for the schedule.
    #[inline]
    pub(crate) fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }

    /// Its state, if submissions run. None is listed while it is locked.
    #[inline]
    pub(crate) fn direct(&self) -> Option<MutexGuard<'_, QueueState>> {
        Some(self.state()).filter(|state| matches!(state.mode, Mode::Direct))
    }
}

/// Takes tasks to wait for them. One that the calling thread runs is asked to wait for itself, which is an error, and stays.
fn take_tasks(tasks: &mut Tasks) -> Tasks {
    let taken = mem::take(tasks);
    tasks.extend(taken.iter().filter(|task| task.is_own()).cloned());
    taken
}

/// What was waited for, and something more: the first error is the result, another one is logged.
pub(crate) fn both(before: Result<(), Error>, next: Result<(), Error>) -> Result<(), Error> {
    if let (Err(_), Err(error)) = (&before, &next) {
        tracing::error!(%error, cause = error_source(error), "something else that was waited for failed, too");
    }
    before.and(next)
}

/// Waits for tasks, after something else.
fn wait_for(tasks: Tasks, before: Result<(), Error>) -> Result<(), Error> {
    let results = tasks.iter().filter_map(|task| task.wait(None));
    results.map(|result| result.map_err(Error::Earlier)).fold(before, both)
}

impl ContextInner {
    /// Ends a queue's list and waits for all its work.
    pub(crate) fn wait_for_queue(&self, queue: &QueueCell, cause: CancelCause) -> Result<(), Error> {
        self.bury();
        let mut result = self.cancel_list(queue, cause);
        drop(self.lock());
        let last = queue.past.lock().last;
        let tasks = take_tasks(&mut queue.state().tasks);
        result = wait_for(tasks, result);
        if let Some(point) = last {
            self.gpu.wait(point, None)?;
        }
        result
    }

    /// Waits for the host tasks of queues that are gone.
    pub(crate) fn wait_for_orphans(&self) -> Result<(), Error> {
        self.bury();
        let orphans = take_tasks(&mut self.lock().orphans);
        wait_for(orphans, Ok(()))
    }
}
