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
    exec::{ExecState, GraphExec},
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
    vk::{Barrier, Played, Pushes, Submitted},
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
            || (graph.is_as_exposed(buffers) && graph.nodes.all_readable(buffers))
    }

    /// Submits it. `state` is that of its executable, or an empty one.
    #[inline]
    pub(crate) fn submit(
        &self,
        device: &Device,
        deps: &mut Dependencies,
        lane: u32,
        state: &mut ExecState,
        profile: bool,
    ) -> Result<Submitted, Error> {
        let repeated =
            if self.pushes.is_none() { self.repeat(device, deps, lane, state, profile) } else { None };
        repeated.map_or_else(|| self.submit_in_order(device, deps, lane, state, profile), Ok)
    }

    /// Submits the reusable command buffer once more; `None` if other work came between, or nothing was recorded.
    #[inline]
    fn repeat(
        &self,
        device: &Device,
        deps: &mut Dependencies,
        lane: u32,
        state: &ExecState,
        profile: bool,
    ) -> Option<Submitted> {
        let mark = state.mark.filter(|_| state.lane == Some(lane))?;
        // Whether it is pending itself is all that matters of what is.
        deps.seen(lane, device.gpu.done(lane));
        let waits = deps.repeat(mark, lane)? && self.graph.in_order;
        let first = waits.then_some(Barrier::ComputeToCompute);
        let submitted = device.gpu.play(lane, state.reusable(first)?, &[], profile).ok()?;
        deps.repeated(mark, submitted.point, waits);
        Some(submitted)
    }

    /// Submits it after everything that the dependency graph says it comes after.
    #[inline(never)]
    fn submit_in_order(
        &self,
        device: &Device,
        deps: &mut Dependencies,
        lane: u32,
        state: &mut ExecState,
        profile: bool,
    ) -> Result<Submitted, Error> {
        let Launch { graph, buffers, pushes, .. } = *self;
        if state.lane != Some(lane) {
            (state.reusables, state.mark) = Default::default();
        }
        // A reusable command buffer has the push constants that it was recorded with. What ran once is no more likely than not to run on these again.
        let is_reused = state.ran && pushes.is_none();
        device.refresh(deps);
        // What is filled now is filled by a submission of its own, which comes before this one.
        let mut memories = graph.memories(buffers, deps, false)?;
        let mut batch = deps.begin(lane);
        let mut needs = deps.add_all(&mut batch, &graph.label, Stage::Compute, graph.touches(buffers));
        device.pending(deps, lane, &mut needs.waits);
        let (template, first) = (&graph.template, needs.barrier);
        let played = Played { template, first, pushes: pushes.or(state.own.as_ref()) };
        let recorded = state.reusable(first).cloned();
        let reusables = &mut state.reusables;
        let submitted = device.gpu.queue(lane as usize).and_then(|queue| {
            if !is_reused {
                return queue.submit_template(played, &mut memories, &needs.waits, profile);
            }
            let reusable = match recorded {
                Some(reusable) => reusable,
                None => {
                    reusables.push((first, Arc::new(queue.record_template(played, &mut memories)?)));
                    reusables[reusables.len() - 1].1.clone()
                }
            };
            device.gpu.play(lane, &reusable, &needs.waits, profile)
        });
        let submitted = match submitted {
            Ok(submitted) => submitted,
            Err(error) => {
                deps.roll_back(&batch);
                return Err(error.into());
            }
        };
        graph.filled(buffers);
        deps.repeat_no_more(state.mark.take());
        if is_reused {
            state.mark = deps.commit_repeatable(&batch, submitted.point, !needs.waits.is_empty());
        } else {
            deps.commit(&batch, submitted.point);
        }
        (state.ran, state.lane) = (true, Some(lane));
        Ok(submitted)
    }

    /// Applies the effects of a launch to contents, unless they are in force; returns the summary of the launch.
    #[inline]
    pub(crate) fn come_into_force(&self, device: &Device, state: &mut ExecState) -> Arc<Summary> {
        let &Launch { graph, buffers, exec, .. } = self;
        let before = device.contents.load(Acquire);
        let is_in_force = exec.is_some_and(|exec| exec.is_in_force(before));
        if is_in_force && let Some(summary) = &state.summary {
            return summary.clone();
        }
        graph.take_effect(buffers);
        let summary = graph.summary(buffers);
        let known = state.summary.take().filter(|known| is_same(known, &summary));
        let summary = known.unwrap_or_else(|| Arc::new(summary));
        if let Some(exec) = exec {
            state.summary = Some(summary.clone());
            let mut views = graph.views.iter().zip(buffers);
            if device.contents.load(Acquire) == before
                && views.all(|(view, buffer)| view.is_of(buffer.borrow()))
            {
                exec.epoch.store(before, Release);
            }
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
