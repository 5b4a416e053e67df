//! Kept lists in command buffers of the program's own.
//!
//! The program submits, and so it orders: nothing that it runs is in the dependency graph. What happens to contents happens when the
//! list is recorded.

use std::sync::{Arc, atomic::Ordering};

use ash::vk;
use parking_lot::MutexGuard;
use smallvec::SmallVec;

use super::{FusedList, Kept};
use crate::{
    error::{Error, FusionError},
    replay::{
        exec::ExecState,
        graph::{Graph, Ran},
        launch::Launch,
    },
    report::{
        list::{FusionReport, Reported, Summary},
        outcome::{CancelCause, Outcome},
    },
    runtime::{
        context::ContextInner,
        end::{End, Keep},
        event::EventInner,
        schedule::{List, QueueState, Schedule},
    },
    submission::{
        dependencies::{Dependencies, Touch},
        entry::Entry,
    },
    vk::{Point, RawCommandBuffer, Written},
};

type Points = SmallVec<[Point; 2]>;

/// What a list left in a command buffer. It keeps everything alive that the commands use, except for memory of the program's
/// own: see [`RawCommandBuffer::recording`] for how long it has to live.
#[derive(Debug)]
#[must_use = "the commands may only be executed while this lives"]
pub struct Recorded {
    _written: Written,
    dispatches: usize,
    waits: SmallVec<[(vk::Semaphore, u64); 2]>,
    summary: Arc<Summary>,
}

impl Recorded {
    /// Timeline semaphores of the context, with values: work of this crate on the list's buffers that was not seen complete
    /// when the list was recorded. The submission that executes the list waits for them, unless it is made after that work on the
    /// same Vulkan queue and starts with a full barrier. Often there are none: work that was waited for on the host is complete.
    #[must_use]
    pub fn waits(&self) -> &[(vk::Semaphore, u64)] {
        &self.waits
    }

    /// How many dispatches were recorded.
    #[must_use]
    pub fn dispatches(&self) -> usize {
        self.dispatches
    }

    /// What became of the list.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.summary.outcome
    }

    /// What happened to the list.
    #[must_use]
    pub fn report(&self) -> Option<Arc<FusionReport>> {
        self.summary.report.as_ref().map(Reported::report)
    }
}

impl FusedList {
    /// Records the list into a command buffer of the program's, instead of running it: the program submits it, as often as
    /// it likes. Code that is not there yet is built now; nothing is submitted but the zeros of new buffers.
    ///
    /// The list's buffers count as written from now on, and those that stay inside a fused kernel as unreadable, as after a
    /// run. On other buffers, rebind it first ([`FusedList::rebind`]), which plans nothing.
    ///
    /// What a buffer holds that was handed over as constant ([`Accessor::constant`]) counts as numbers here, too: nothing may
    /// write it before the commands are executed for the last time. Of no other buffer do contents count.
    ///
    /// [`Accessor::constant`]: crate::Accessor::constant
    ///
    /// # Errors
    ///
    /// A null handle; a buffer that is read holds nothing readable; [`FusionError::NotRecordable`] for a list whose kernels
    /// follow device addresses, or whose first run is to be compared with the unfused one and is yet to come; code that could not
    /// be built; the device. Nothing was recorded then.
    pub fn record(&self, into: &RawCommandBuffer) -> Result<Recorded, Error> {
        self.inner.family.queue.inner.context.record_kept(&self.inner, into)
    }

    /// Whether [`record`](FusedList::record) has nothing to plan and nothing to build: the list was recorded or run before, or one that
    /// it was rebound from, with push constants that come to the same plan.
    #[must_use]
    pub fn is_planned(&self) -> bool {
        self.inner.planned().is_some()
    }
}

impl ContextInner {
    fn record_kept(self: &Arc<Self>, kept: &Kept, into: &RawCommandBuffer) -> Result<Recorded, Error> {
        if let Some(graph) = kept.planned() {
            let (mut schedule, _direct) = self.locked_for(kept)?;
            let launch = Launch { graph, buffers: &kept.buffers, pushes: None, exec: Some(&kept.exec) };
            if launch.is_as_planned(self.contents.load(Ordering::Acquire)) {
                let state = (&mut *kept.exec.state.lock(), Points::new());
                return self.write_down(&mut schedule.deps, launch, state, into);
            }
        }
        self.record_first(kept, into)
    }

    /// The schedule, with no list and no host in the way of this one; and the queue, where that has its memory: no list begins on it
    /// meanwhile.
    fn locked_for<'a>(
        &'a self,
        kept: &'a Kept,
    ) -> Result<(MutexGuard<'a, Schedule>, Option<MutexGuard<'a, QueueState>>), Error> {
        let id = kept.family.queue.inner.id;
        let mut schedule = self.lock();
        let direct = kept.family.queue.inner.direct();
        if direct.is_some() && schedule.is_free(id, kept.buffers.iter(), || kept.touches()) {
            return Ok((schedule, direct));
        }
        drop(direct);
        drop(schedule);
        let (touches, buffers) = (kept.touches(), kept.buffers.iter());
        Ok((self.observe(&touches, buffers, None, Touch::conflicts, CancelCause::Recorded)?, None))
    }

    /// Plans and builds the list, records it, and remembers how where that may be done again.
    fn record_first(self: &Arc<Self>, kept: &Kept, into: &RawCommandBuffer) -> Result<Recorded, Error> {
        // Before anything is planned: what changes later makes it another list.
        let views = kept.views();
        let mut list = List::new(EventInner::listed(&kept.family.queue.inner.origin));
        let (schedule, _) = self.locked_for(kept)?;
        // What other buffers hold when the commands are executed no one knows.
        list.extend(kept.entries(), |entry| entry.learn_declared(&schedule.deps))?;
        drop(schedule);
        let end = End::Complete(kept.family.properties.clone());
        let prepared = self.prepare(&list, &end, &Keep::Recorded)?;
        if prepared.verify.is_some() {
            return Err(not_recordable(
                "its first run is to be compared with the unfused one; run it once, and record it then",
            ));
        }
        if let Some(error) = prepared.forced {
            return Err(error);
        }
        let (report, planned) = (prepared.report, prepared.planned);
        let effects = list.effects(self, &prepared.pieces, &report.plan);
        let (mut schedule, _direct) = self.locked_for(kept)?;
        let (entries, report, flow) = (&*list.entries, Some(&report), planned.as_ref());
        let readies = self.ready(&mut schedule, prepared.pieces, entries)?;
        let ran = Ran { entries, effects: &effects, readies: &readies, report, flow };
        let on = (kept.variant.list.nodes.clone(), &kept.buffers);
        let Some(graph) = Graph::of(self, ran, on, (views, false)) else {
            return Err(not_recordable("a kernel of it follows device addresses, or has images"));
        };
        let points = list.waits();
        // Push constants are those that were planned with; an executable goes with what is kept.
        let (mut once, buffers) = (ExecState::default(), &kept.buffers);
        let launch = Launch { graph: &graph, buffers, pushes: None, exec: None };
        let recorded = self.write_down(&mut schedule.deps, launch, (&mut once, points.clone()), into)?;
        // A run might plan with what buffers hold, where a kernel depends on it.
        let depends = |entry: &Entry| {
            let mut places = 0..entry.submission.args.len();
            places.any(|at| entry.submission.kernel.number_places(at).next().is_some())
        };
        if planned.is_some()
            && points.is_empty()
            && self.programs.keeps()
            && kept.variant.pushes.is_empty()
            && !entries.iter().any(depends)
        {
            // Another thread may have been faster.
            let _ = kept.variant.list.graph.set(graph);
        }
        Ok(recorded)
    }

    fn write_down(
        &self,
        deps: &mut Dependencies,
        launch: Launch<'_>,
        (state, mut points): (&mut ExecState, Points),
        into: &RawCommandBuffer,
    ) -> Result<Recorded, Error> {
        let Launch { graph, buffers, .. } = launch;
        let work = match &state.for_caller {
            Some(work) => work.clone(),
            None => {
                let memories = graph.memories(buffers, deps, true)?;
                let work = self.gpu.caller_work(&graph.template, state.own.as_ref(), memories)?;
                state.for_caller.insert(work).clone()
            }
        };
        self.refresh(deps);
        points.extend(graph.touches(buffers).flat_map(|touch| deps.conflicts(&touch)));
        // Of each queue the latest.
        points.sort_unstable_by(|a, b| b.cmp(a));
        points.dedup_by_key(|point| point.queue);
        let written = self.gpu.record_for_caller(&work, into)?;
        let summary = launch.come_into_force(&self.device, Some(state));
        let waits = points.iter().map(|point| self.gpu.semaphore(*point)).collect();
        Ok(Recorded { _written: written, dispatches: work.dispatches(), waits, summary })
    }
}

fn not_recordable(problem: &'static str) -> Error {
    FusionError::NotRecordable { problem }.into()
}
