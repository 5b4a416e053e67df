//! One of the two ways to the device: graphs, with everything that happens when one is launched. The other is
//! [`commit`](super::commit), for what was planned just now.

use std::sync::Arc;

use super::{context::ContextInner, queues::QueueCell, schedule::Schedule};
use crate::{
    replay::{
        exec::{ExecState, GraphExec},
        graph::Graph,
        launch::Launch,
    },
    report::list::Summary,
    vk::Submitted,
};

impl Schedule {
    /// Accounts for all launches that were made without it.
    #[inline]
    pub(crate) fn settle_relaunches(&mut self) {
        for exec in self.relaunched.drain(..) {
            exec.settle(&mut self.deps, &mut self.token);
        }
    }
}

impl ContextInner {
    /// Launches a graph. The caller has seen to it that nothing is in its way and that what it reads is readable; and, where it `repeats`, that
    /// its executable finds nothing in the schedule but its own latest launch: then the next ones may do without the schedule.
    pub(crate) fn launch(
        &self,
        schedule: &mut Schedule,
        queue: &QueueCell,
        launch: &Launch<'_>,
        repeats: bool,
    ) -> Option<(Submitted, Arc<Summary>)> {
        let Schedule { deps, token, relaunched, .. } = schedule;
        let mut once = None;
        let state = match launch.exec {
            Some(exec) => exec.state.get(token),
            None => once.insert(ExecState::default()),
        };
        let profile = queue.profiling || self.profiling;
        // What fails here fails again when it is planned, and is dealt with there.
        let submitted = launch.submit(&self.device, deps, queue.lane, state, profile).ok()?;
        let summary = launch.come_into_force(&self.device, state).clone();
        if let Some(exec) = launch.exec.filter(|_| repeats && submitted.profile.is_none())
            && exec.allow(launch.graph, state, (&queue.past, submitted.point))
        {
            relaunched.push(exec.clone());
        }
        queue.past.get(token).launched(&launch.graph.tally, 1, submitted.point);
        tell(queue, launch.graph);
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
        let launched = exec.relaunch(&self.device, &queue.past, may)?;
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
