//! Launching a graph: on buffers for the first time its template is recorded and submitted at once; what is launched on the same ones
//! once more becomes a reusable command buffer, which is only submitted.
//!
//! # Guarantees
//! - each launch comes after what it has to come after, found in the dependency graph as for any other work
//!
//! What has to come before a reusable command buffer is not known when it is made, so there is one for each kind of barrier that it may have
//! to start with. Barriers between its own dispatches are part of it.

use std::sync::{
    Arc,
    atomic::Ordering::{Acquire, Release},
};

use super::{
    exec::{ExecState, GraphExec, starting_with},
    graph::{Fills, Graph},
};
use crate::{
    error::Error,
    report::list::{Reported, Summary},
    submission::{
        buffer::BufferInner,
        dependencies::{Dependencies, Stage},
        device::Device,
    },
    vk::{Played, Pushes, Submitted},
};

/// A graph that is to be launched.
#[derive(Debug)]
pub(crate) struct Launch<'a, B = Arc<BufferInner>> {
    pub(crate) graph: &'a Graph,
    pub(crate) buffers: &'a [B],
    /// Push constants of its dispatches, where they are others than those of graph and executable.
    pub(crate) pushes: Option<&'a Pushes>,
    /// What is known of it on these buffers, if anything is.
    pub(crate) exec: Option<&'a Arc<GraphExec>>,
}

impl<B: Fills> Launch<'_, B> {
    /// Whether buffers are as it was planned for and hold what it reads, after this many changes of contents.
    #[inline]
    pub(crate) fn is_as_planned(&self, changes: u64) -> bool {
        let Launch { graph, buffers, exec, .. } = *self;
        exec.is_some_and(|exec| exec.is_in_force(changes))
            || (graph.is_as_exposed(buffers) && graph.nodes.are_readable(0..graph.nodes.len(), buffers))
    }

    /// Submits it to a hardware queue, with times or without, after everything that the dependency graph says it comes after. `state` is that of its
    /// executable.
    #[inline(never)]
    pub(crate) fn submit(
        &self,
        device: &Device,
        deps: &mut Dependencies,
        (lane, profile): (u32, bool),
        mut state: Option<&mut ExecState>,
    ) -> Result<Submitted, Error> {
        let Launch { graph, buffers, pushes, .. } = *self;
        let (mut own, mut reusables) = (None, None);
        if let Some(state) = &mut state {
            if state.lane != Some(lane) {
                (state.reusables, state.mark) = Default::default();
            }
            // A reusable command buffer has the push constants that it was recorded with. What ran once is no more likely than not to run on these again.
            let is_reused = state.ran && pushes.is_none();
            own = state.own.as_ref();
            reusables = is_reused.then_some(&mut state.reusables);
        }
        device.refresh(deps);
        // What is filled now is filled by a submission of its own, which comes before this one.
        let mut memories = graph.memories(buffers, deps, false)?;
        let mut batch = deps.begin(lane);
        let mut needs = deps.add_all(&mut batch, &graph.label, Stage::Compute, graph.touches(buffers));
        device.pending(deps, lane, &mut needs.waits);
        let (template, first, is_reused) = (&graph.template, needs.barrier, reusables.is_some());
        let played = Played { template, first, pushes: pushes.or(own) };
        let submitted = device.gpu.queue(lane as usize).and_then(|queue| {
            let Some(reusables) = reusables else {
                return queue.submit_template(played, &mut memories, &needs.waits, profile);
            };
            let known = starting_with(reusables, first).cloned();
            let reusable = match known {
                Some(known) => known,
                None => {
                    let new = Arc::new(queue.record_template(played, &mut memories)?);
                    reusables.push((first, new.clone()));
                    new
                }
            };
            device.gpu.play(lane, &reusable, &needs.waits, profile)
        });
        let submitted = submitted.inspect_err(|_| deps.roll_back(&batch))?;
        graph.filled(buffers);
        deps.repeat_no_more(state.as_mut().and_then(|state| state.mark.take()));
        let mark = if is_reused {
            deps.commit_repeatable(&batch, submitted.point, !needs.waits.is_empty())
        } else {
            deps.commit(&batch, submitted.point);
            None
        };
        if let Some(state) = state {
            (state.ran, state.lane, state.mark) = (true, Some(lane), mark);
        }
        Ok(submitted)
    }

    /// Applies the effects of a launch to contents, unless they are in force; returns the summary of the launch.
    #[inline]
    pub(crate) fn come_into_force(&self, device: &Device, state: Option<&mut ExecState>) -> Arc<Summary> {
        let Launch { graph, buffers, exec, .. } = *self;
        let (Some(exec), Some(state)) = (exec, state) else {
            graph.take_effect(buffers);
            return Arc::new(graph.summary(buffers));
        };
        let before = device.contents.load(Acquire);
        if exec.is_in_force(before)
            && let Some(summary) = &state.summary
        {
            return summary.clone();
        }
        graph.take_effect(buffers);
        let summary = graph.summary(buffers);
        let known = state.summary.take().filter(|known| is_same(known, &summary));
        let summary = state.summary.insert(known.unwrap_or_else(|| Arc::new(summary))).clone();
        if device.contents.load(Acquire) == before && graph.is_as_viewed(buffers) {
            exec.epoch.store(before, Release);
        }
        summary
    }
}

/// Whether two launches of a graph on the same buffers have one summary. Buffers may have been renamed between them.
fn is_same(a: &Summary, b: &Summary) -> bool {
    match (&a.report, &b.report) {
        (Some(Reported::Of(a)), Some(Reported::Of(b))) => a.named == b.named && Arc::ptr_eq(&a.of, &b.of),
        (None, None) => true,
        _ => false,
    }
}
