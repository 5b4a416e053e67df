//! Queues as the schedule sees them, and waiting for one.

use std::{mem, sync::Arc};

use smallvec::SmallVec;

use crate::{
    error::Error,
    report::outcome::CancelCause,
    runtime::{
        context::ContextInner,
        end::{End, error_source},
        schedule::{Mode, QueueId, QueueState, Schedule, Tasks},
    },
    submission::graph::Graph,
    vk::Point,
};

impl QueueState {
    /// Notes the latest submission.
    pub(crate) fn ran(&mut self, point: Point) {
        self.last = Some(point);
    }
}

impl Schedule {
    /// The state of a queue that exists, as every queue does whose handle is at hand.
    pub(crate) fn queue(&mut self, id: QueueId) -> &mut QueueState {
        self.queue_and_graph(id).0
    }

    /// A queue, and what is known of memory.
    pub(crate) fn queue_and_graph(&mut self, id: QueueId) -> (&mut QueueState, &Graph) {
        let queue = self.queues.entry(id).or_insert_with(|| QueueState {
            lane: 0,
            profiling: false,
            mode: Mode::Direct,
            completion: None,
            last: None,
            tasks: SmallVec::new(),
        });
        (queue, &self.graph)
    }
}

/// Takes tasks to wait for them. One that the calling thread runs is told to wait for itself, which is an error, and stays.
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
    pub(crate) fn wait_for_queue(self: &Arc<Self>, queue: QueueId, cause: CancelCause) -> Result<(), Error> {
        let mut result = self.end_list(queue, &End::Cancel(cause)).map(drop);
        let (last, tasks) = match self.lock().queues.get_mut(&queue) {
            Some(state) => (state.last, take_tasks(&mut state.tasks)),
            None => return result,
        };
        result = wait_for(tasks, result);
        if let Some(point) = last {
            self.gpu.wait(point, None)?;
        }
        result
    }

    /// Waits for the host tasks of queues that are gone.
    pub(crate) fn wait_for_orphans(&self) -> Result<(), Error> {
        let orphans = take_tasks(&mut self.lock().orphans);
        wait_for(orphans, Ok(()))
    }
}
