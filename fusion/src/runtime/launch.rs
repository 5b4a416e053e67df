//! One of the two ways to the device: graphs, with everything that happens when one is launched. The other is
//! [`commit`](super::commit), for what was planned just now.

use std::sync::{Arc, atomic::Ordering::Acquire};

use super::{context::ContextInner, queues::QueueCell, schedule::Schedule};
use crate::{
    replay::{
        exec::GraphExec,
        graph::{Fills, Graph},
        launch::Launch,
    },
    report::list::Summary,
    vk::Submitted,
};

impl Schedule {
    /// Accounts for all launches that were made without it.
    #[inline]
    pub(crate) fn settle_relaunches(&mut self) {
        self.relaunched.drain(..).for_each(|exec| exec.settle(&mut self.deps));
    }
}

impl ContextInner {
    /// Launches a graph. The caller has seen to it that nothing is in its way and that what it reads is readable. Where it `may_repeat`, and its
    /// executable, in force, finds nothing in the schedule but its own latest launch, the next ones may do without the schedule.
    pub(crate) fn launch(
        &self,
        schedule: &mut Schedule,
        queue: &QueueCell,
        launch: &Launch<'_, impl Fills>,
        may_repeat: bool,
    ) -> Option<(Submitted, Arc<Summary>)> {
        let Launch { graph, pushes, exec, .. } = *launch;
        let repeating = exec.filter(|exec| {
            may_repeat
                && pushes.is_none()
                && exec.is_in_force(self.contents.load(Acquire))
                && exec.repeats(&mut schedule.deps, queue.lane)
        });
        if repeating.is_none() {
            schedule.settle_relaunches();
        }
        let mut state = exec.map(|exec| exec.state.lock());
        let on = (queue.lane, queue.profiling);
        let known = state.as_deref().filter(|_| pushes.is_none());
        let submitted = match known.and_then(|known| known.repeat(&self.device, &mut schedule.deps, on)) {
            Some(submitted) => submitted,
            None => {
                // What it puts in force takes the place of what seems complete, as an executable does that was launched since.
                schedule.settle_relaunches();
                // What fails here fails again when it is planned, and is dealt with there.
                launch.submit(&self.device, &mut schedule.deps, on, state.as_deref_mut()).ok()?
            }
        };
        let summary = launch.come_into_force(&self.device, state.as_deref_mut());
        if let (Some(exec), Some(state)) = (repeating, &mut state)
            && submitted.profile.is_none()
            && state.allow(&graph.tally, &queue.past, submitted.point)
        {
            schedule.relaunched.push(exec.clone());
        }
        queue.past.lock().launched(&graph.tally, 1, submitted.point);
        tell(queue, graph);
        Some((submitted, summary))
    }

    /// Launches an executable once more without the schedule, where that is allowed; returns what `may` makes of the launch's summary as well.
    #[inline]
    pub(crate) fn relaunch<R>(
        &self,
        queue: &QueueCell,
        (graph, exec): (&Graph, &GraphExec),
        may: impl FnOnce(&Arc<Summary>) -> Option<R>,
    ) -> Option<(Submitted, R)> {
        let launched = exec.relaunch(&self.device, (queue.lane, &queue.past), may)?;
        tell(queue, graph);
        Some(launched)
    }
}

/// Tells the log of the launch of a list.
#[inline]
fn tell(queue: &QueueCell, graph: &Graph) {
    if tracing::level_enabled!(tracing::Level::INFO)
        && let Some(outcome) = &graph.tally.outcome
    {
        tracing::info!(queue = queue.id.0, dispatches = graph.tally.dispatches, %outcome, "fusion list ran again");
    }
}
