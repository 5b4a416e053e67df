//! Queues as the schedule sees them, and waiting for one.

use std::{mem, sync::Arc};

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

/// The queues of a context, in the order of their numbers. There are few, and every call looks for one: a map would hash
/// its number each time.
#[derive(Debug, Default)]
pub(crate) struct Queues(Vec<(QueueId, QueueState)>);

impl Queues {
    fn place(&self, id: QueueId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&id, |(known, _)| *known)
    }

    pub(crate) fn get(&self, id: QueueId) -> Option<&QueueState> {
        self.place(id).ok().map(|place| &self.0[place].1)
    }

    pub(crate) fn get_mut(&mut self, id: QueueId) -> Option<&mut QueueState> {
        self.place(id).ok().map(|place| &mut self.0[place].1)
    }

    pub(crate) fn insert(&mut self, id: QueueId, state: QueueState) -> &mut QueueState {
        let place = self.place(id).unwrap_or_else(|place| place);
        self.0.insert(place, (id, state));
        &mut self.0[place].1
    }

    pub(crate) fn remove(&mut self, id: QueueId) -> Option<QueueState> {
        self.place(id).ok().map(|place| self.0.remove(place).1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(QueueId, QueueState)> {
        self.0.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut QueueState> {
        self.0.iter_mut().map(|(_, state)| state)
    }
}

impl QueueState {
    /// A queue that nothing was submitted to.
    pub(crate) fn new(lane: u32, profiling: bool) -> QueueState {
        let (mode, tasks) = (Mode::Direct, Tasks::new());
        QueueState { lane, profiling, mode, completion: None, expects: None, last: None, tasks }
    }

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
        let queue = match self.queues.place(id) {
            Ok(place) => &mut self.queues.0[place].1,
            Err(_) => self.queues.insert(id, QueueState::new(0, false)),
        };
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
        let (last, tasks) = match self.lock().queues.get_mut(queue) {
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
